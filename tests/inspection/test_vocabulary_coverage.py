"""Coverage by vocabularies of the most frequent words."""

from collections import Counter

from dragoman.inspection.words import Point, vocabulary_coverage


def test_the_curve_counts_running_words():
    counts = Counter({f"w{number:04}": 1 for number in range(1500)}) + Counter({"the": 500})
    words = vocabulary_coverage(counts, {"dev": Counter({"the": 3, "new": 1}), "empty": Counter()})
    assert (words.running, words.different, words.once) == (2000, 1501, 1500)
    assert words.curve == [Point(1000, (500 + 999) / 2000), Point(1501, 1.0)]
    assert words.held_out == {
        "dev": [Point(1000, 0.75), Point(1501, 0.75)],
        "empty": [Point(1000, 0.0), Point(1501, 0.0)],
    }
