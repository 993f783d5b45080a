"""Lexical weights against those that Moses computed."""

from __future__ import annotations

import pytest

from dragoman.smt.lexical_weights import LexicalTable, count_lexical_table
from dragoman.smt.phrase_scoring import PhraseCounts
from dragoman.text.links import parse_links

from .conftest import lines_of


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
