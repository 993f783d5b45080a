"""Repeated pairs and lines."""

from dragoman.inspection.repetition import Repetition


def test_repetitions_are_counted_and_placed():
    repetition = Repetition()
    for source, target in ["ax", "by", "ax", "ay", "yb", "ax"]:
        repetition.add(source, target)
    assert repetition.first_places().tolist() == [0, 1, 0, 3, 4, 0]
    # a stands with x and y; y with b and a
    assert repetition.facts() == (2, 1, 1)
