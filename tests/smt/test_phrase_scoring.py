from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from dragoman.scoring.phrases import read_table
from dragoman.smt.phrase_scoring import (
    LexicalTable,
    PhraseCounts,
    consistent_pairs,
    count_lexical_table,
    count_pairs,
    phrase_table,
    reordering_table,
)
from dragoman.text.links import parse_links

from .conftest import lines_of


def by_definition(source_length, target_length, links, limit):
    """All pairs of spans within the limit that hold a link, and no link with one end inside only."""
    found = Counter()
    for start in range(source_length):
        for end in range(start + 1, min(source_length, start + limit) + 1):
            for first in range(target_length):
                for last in range(first + 1, min(target_length, first + limit) + 1):
                    inside = [(start <= i < end, first <= j < last) for i, j in links]
                    if (True, True) in inside and all(one == other for one, other in inside):
                        found[(start, end), (first, last)] += 1
    return found


@pytest.mark.parametrize("seed", range(30))
def test_extracted_pairs_are_consistent_with_the_links(seed):
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 8, size=2)
    grid = random.random(lengths) < random.choice([0.1, 0.2, 0.4])
    links = [(int(i), int(j)) for i, j in np.argwhere(grid)]
    limit = int(random.integers(1, 8))
    found = Counter((pair.source, pair.target) for pair in consistent_pairs(*map(int, lengths), links, limit))
    assert found == by_definition(*map(int, lengths), links, limit)


def test_phrases_extend_over_unaligned_words():
    pairs = {(pair.source, pair.target) for pair in consistent_pairs(3, 2, [(1, 0)], 7)}
    sources = {(1, 2), (0, 2), (1, 3), (0, 3)}
    assert pairs == {(source, target) for source in sources for target in ((0, 1), (0, 2))}


def test_a_sentence_without_links_has_no_pairs():
    assert list(consistent_pairs(4, 4, [], 7)) == []


def test_translation_probabilities_equal_those_of_moses(shared_data):
    folder = shared_data / "moses-phrase-scoring"
    french, english, links = (lines_of(folder / f"lexw.{name}.xz") for name in ("fr", "en", "align.fr-en"))
    lexicon = count_lexical_table(
        (source.split(), target.split(), parse_links(line, "lexw"))
        for source, target, line in zip(french, english, links, strict=True)
    )
    found = [
        f"{word} {given} {value:.7f}"
        for table in (lexicon.target_given_source, lexicon.source_given_target)
        for (word, given), value in table.items()
    ]
    assert len(found) == 106
    assert sorted(found) == sorted(lines_of(folder / "lexw.expected.xz"))


def test_lexical_weights_and_counts_equal_those_of_moses(shared_data):
    folder = shared_data / "moses-phrase-scoring"
    table = {}
    for line in lines_of(folder / "score.lex.f2e.xz"):
        target, source, value = line.split(" ")
        table[target, source] = float(value)
    lexicon = LexicalTable(table, {})
    seen: dict[tuple[str, str], PhraseCounts] = {}
    for line in lines_of(folder / "score.extract-sorted.xz"):
        source, target, links = (field.strip() for field in line.split("|||"))
        by_target = tuple(sorted(parse_links(links, "extract"), key=lambda link: (link[1], link[0])))
        seen.setdefault((source, target), PhraseCounts()).alignments[by_target] += 1
    expected = lines_of(folder / "score.expected.xz")
    assert len(expected) == len(seen) == 1739
    for line in expected:
        source, target, _, weight, counts, _ = (field.strip() for field in line.split("|||"))
        one = seen[source, target]
        _, found = lexicon.weights(source.split(), target.split(), one.alignment)
        assert found == pytest.approx(float(weight), rel=1e-5)
        assert int(counts.split()[1]) == one.count
        assert int(counts.split()[0]) == sum(other.count for pair, other in seen.items() if pair[0] == source)


def test_several_links_are_averaged_and_unaligned_words_are_linked_to_null():
    lexicon = LexicalTable({("x", "a"): 0.5, ("x", "b"): 0.1, ("y", "NULL"): 0.2}, {("a", "x"): 0.4, ("b", "x"): 0.3})
    backward, forward = lexicon.weights(["a", "b"], ["x", "y"], [(0, 0), (1, 0)])
    assert forward == pytest.approx((0.5 + 0.1) / 2 * 0.2)
    assert backward == pytest.approx(0.4 * 0.3)


IN_ORDER = [(0, 0), (1, 1)]
SENTENCES = (
    (["das", "haus"], ["the", "house"], IN_ORDER),
    (["das", "haus"], ["the", "building"], IN_ORDER),
    (["ein", "haus"], ["a", "house"], IN_ORDER),
    (["haus", "das"], ["the", "house"], [(0, 1), (1, 0)]),
)


def test_a_phrase_table_by_hand():
    rows = list(phrase_table(count_pairs(SENTENCES, 7), count_lexical_table(SENTENCES)))
    # w(house | haus) = 3/4, w(the | das) = 1, w(haus | house) = 1, w(das | the) = 1.
    assert "haus ||| house ||| 1 1 0.75 0.75 ||| 0-0 ||| 3 4 3 ||| |||" in rows
    assert "das haus ||| the house ||| 0.5 1 0.5 0.75 ||| 0-0 1-1 ||| 2 2 1 ||| |||" in rows
    assert "haus das ||| the house ||| 0.5 1 1 0.75 ||| 1-0 0-1 ||| 2 1 1 ||| |||" in rows
    assert len(rows) == 8
    assert rows == sorted(rows)


def test_a_reordering_table_by_hand():
    rows = list(reordering_table(count_pairs(SENTENCES, 7)))
    # house: after the twice, once swapped with it; the end of the sentence follows twice, and once does not.
    assert "haus ||| house ||| 0.555556 0.333333 0.111111 0.555556 0.111111 0.333333" in rows
    assert [row.split(" ||| ")[:2] for row in rows] == [
        row.split(" ||| ")[:2] for row in phrase_table(count_pairs(SENTENCES, 7), count_lexical_table(SENTENCES))
    ]


def test_lines_are_sorted_by_their_bytes():
    words = ["a", "a b", "a-b", "Z", "é", "的", "𐐷"]
    sentences = [(word.split(), ["x"], [(0, 0)]) for word in words]
    pairs = count_pairs(sentences, 7)
    rows = [row.encode() for row in reordering_table(pairs)]
    assert len(rows) == len(words)
    assert rows == sorted(rows)


def test_the_most_frequent_alignment_counts_and_ties_go_to_the_largest():
    one, other, third = ((0, 0), (1, 1)), ((1, 0), (0, 1)), ((0, 0), (0, 1))
    seen = PhraseCounts()
    seen.alignments.update([one, other, other, third])
    assert seen.alignment == other
    seen.alignments.update([one, third])
    assert seen.alignment == other  # its first target word comes from the later source word
    seen.alignments[third] += 1
    assert seen.alignment == third


def test_the_pairs_and_scores_of_a_moses_table_are_reproduced(shared_data):
    rows = list(read_table(shared_data / "moses-phrase-tables" / "de-en.model2.phrase-table.xz"))
    assert len(rows) == 10587
    for row in rows[::4]:
        source, target = row.source.split(), row.target.split()
        pairs = consistent_pairs(len(source), len(target), parse_links(row.fields[3], row.line), 7)
        assert ((0, len(source)), (0, len(target))) in {(pair.source, pair.target) for pair in pairs}, row.line
        of_target, of_source, of_both = map(float, row.fields[4].split())
        assert row.scores[0] == pytest.approx(of_both / of_target, rel=1e-5)
        assert row.scores[2] == pytest.approx(of_both / of_source, rel=1e-5)
