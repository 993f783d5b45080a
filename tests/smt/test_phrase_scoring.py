from __future__ import annotations

import pytest

from dragoman.scoring.phrases import read_table
from dragoman.smt.extraction import consistent_pairs
from dragoman.smt.lexical_weights import count_lexical_table
from dragoman.smt.phrase_scoring import PhraseCounts, count_pairs, phrase_table, reordering_table
from dragoman.text.links import parse_links

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
