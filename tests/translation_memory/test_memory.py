"""Translation memories: equal sources, near matches in scripts with and without spaces, and words that differ."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from rapidfuzz.distance import Levenshtein

from dragoman.errors import InputError
from dragoman.translation_memory import similar
from dragoman.translation_memory.memory import LEAST, TranslationMemory, differing_words, make_memory


def memory(*sources: str) -> TranslationMemory:
    return TranslationMemory(((source, f"to {source}") for source in sources), str)


def test_an_equal_source_has_the_target_that_was_given_last() -> None:
    kept = TranslationMemory([("a b", "1"), ("c", "2"), ("a b ", "3"), ("d", ""), ("", "4")], str)
    assert len(kept) == 2
    assert [kept.exact(line) for line in ("a b", " a b", "a  b", "c", "A b", "d", "")] == [
        "3",
        "3",
        "3",
        "2",
        None,
        None,
        None,
    ]
    kept.add("A b", "5")
    assert kept.exact("A b") == "5"
    assert [match.target for match in kept.near("a b")] == ["3"]


def test_a_translation_is_one_line() -> None:
    kept = TranslationMemory([("a b", " A\n\u2028B ")], str)
    assert kept.exact("a b") == "A  B"
    assert [match.target for match in kept.near("a b")] == ["A  B"]


def test_sources_are_compared_in_their_normal_form() -> None:
    kept = TranslationMemory([("Straße", "street")], str.casefold)
    assert kept.exact("STRASSE") == "street"
    [match] = kept.near("STRASSE")
    assert (match.source, match.score) == ("Straße", 1.0)


@pytest.mark.parametrize(
    ("line", "near"),
    [
        ("Open the file in the editor.", ["Open this file in the editor.", "Open the file in an editor."]),
        ("Opens a file.", ["Opened a file."]),  # no word but the most frequent is the same
        ("파일을 저장합니다", ["파일을 저장했습니다"]),
        ("彼は本を読む。", ["彼女は本を読む。", "彼は本を読む"]),
        ("ファイルを開く", []),
        ("Close everything", []),
        ("%", []),
        ("", []),
    ],
)
def test_near_matches_are_found_best_first(line: str, near: list[str]) -> None:
    sources = [
        "Open this file in the editor.",
        "Open an editor",
        "Open the file in an editor.",
        "Opened a file.",
        "파일을 저장했습니다",
        "彼は本を読む",
        "彼女は本を読む。",
        "a",
    ]
    found = memory(*sources).near(line)
    assert [match.source for match in found] == near
    for match in found:
        assert match.target == f"to {match.source}"
        assert match.score == Levenshtein.normalized_similarity(line, match.source) >= LEAST


def test_no_near_match_is_missed_among_lines_that_share_rare_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similar, "MEASURED", 20)
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghij", k=draw.randint(2, 7))) for _ in range(200)]
    sources = [" ".join(draw.choices(words, k=draw.randint(3, 9))) for _ in range(500)]
    kept = memory(*sources)
    for source in sources[::10]:
        changed = source.split()
        changed[draw.randrange(len(changed))] = "zz"
        line = " ".join(changed)
        best = max(Levenshtein.normalized_similarity(line, one) for one in sources)
        assert [match.score for match in kept.near(line, 1)] == [best] * (best >= LEAST), line


def test_the_words_that_differ_are_marked() -> None:
    for line, other, places in (
        ("a b c", "a b c", []),
        ("a red house", "a house", [("red", "")]),
        ("a house", "a red house", [("", "red")]),
        ("see page 3.", "see the page 4.", [("", "the"), ("3.", "4.")]),
        ("彼は読む", "私は読む", [("彼", "私")]),
        ("a", "a b", [("", "b")]),
    ):
        found = differing_words(line, other)
        assert [(line[slice(*one)], other[slice(*two)]) for one, two in found] == places


def test_a_memory_is_made_of_files_or_a_mapping(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("x\ty\n", encoding="utf-8")
    (tmp_path / "b.en").write_text("p\n", encoding="utf-8")
    (tmp_path / "b.de").write_text("q\n", encoding="utf-8")
    assert make_memory(tmp_path / "a.tsv", str).exact("x") == "y"
    assert make_memory([[tmp_path / "a.tsv"], [tmp_path / "b.en", tmp_path / "b.de"]], str).exact("p") == "q"
    assert make_memory({"x": "z"}, str).exact("x") == "z"
    with pytest.raises(InputError, match="does not exist"):
        make_memory(tmp_path / "no.tsv", str)
