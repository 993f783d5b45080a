"""Held-out lines that are also in training."""

import random
from collections import Counter

from dragoman.corpora.pairs import Pair
from dragoman.inspection.overlap import NEAR, HeldOutSet
from dragoman.inspection.words import folded_words


def found(held_lines, train_lines):
    """place -> (train, similarity) of the source side."""
    held = HeldOutSet("dev", [Pair(line, "", f"dev:{number}") for number, line in enumerate(held_lines, 1)])
    counts = Counter(word for line in train_lines for word in folded_words(line))
    side = held.sides["source"]
    side.prepare(counts)
    for number, line in enumerate(train_lines):
        side.compare(number, line)
    return {place: (duplicate.train, duplicate.similarity) for place, duplicate in side.duplicates.items()}


def test_exact_near_and_new_lines():
    train = ["one two three four five", "Hello, world", "a b", "six seven eight nine ten"]
    held = ["One two three, four five!", "hello world", "a c", "six seven eight nine eleven", "Hello, world", ""]
    # 4 of 6 different words in common are too few; "a c" is too short to be near.
    assert found(held, train) == {0: (0, 1.0), 1: (1, 1.0), 4: (1, 2.0)}


def test_no_near_duplicate_is_missed():
    draw = random.Random(1)
    words = [f"w{number}" for number in range(40)]
    train = [" ".join(draw.choices(words, weights=range(40, 0, -1), k=draw.randint(1, 12))) for _ in range(300)]
    held = []
    for line in train[:100]:
        changed = line.split()
        changed[draw.randrange(len(changed))] = draw.choice(words)
        held.append(" ".join(changed))

    def similarity(one, other):
        one, other = folded_words(one), folded_words(other)
        value = len(one & other) / len(one | other)
        return value if value == 1 or (value >= NEAR and max(len(one), len(other)) >= 4) else 0

    expected = {}
    for place, line in enumerate(held):
        best = max(2.0 if line == other else similarity(line, other) for other in train)
        if best:
            expected[place] = best
    assert {place: best for place, (_, best) in found(held, train).items()} == expected
    assert len(expected) > 30
