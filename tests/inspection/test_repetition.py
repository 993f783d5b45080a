"""Repeated pairs and lines."""

from dragoman.inspection.repetition import Repetition, RepetitionFacts


def test_repetitions_are_counted_and_placed():
    repetition = Repetition()
    for source, target in ["ax", "by", "ax", "ay", "yb", "ax"]:
        repetition.add(source, target)
    assert repetition.first_positions().tolist() == [0, 1, 0, 3, 4, 0]
    # a stands with x and y; y with b and a
    assert repetition.facts() == RepetitionFacts(pairs=2, sources=1, targets=1)


def test_lines_that_are_read_alike_are_repetitions():
    repetition = Repetition()
    for source in ["a b", "a\u2028b", "a\0b", "a b\x85", "a\tb", "a\u00a0b"]:
        repetition.add(source, "x")
    assert repetition.first_positions().tolist() == [0, 0, 0, 0, 4, 5]
