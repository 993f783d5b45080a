"""The corpus of an experiment: joined pairs, and the same corpus again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from dragoman.corpora.pairs import Corpora
from dragoman.errors import InputError, RunError
from dragoman.reproduction.corpus import LONGEST_JOINED, write_corpus

LINES = {"train": 300, "dev": 60, "test": 90}


def _given(folder: Path) -> dict[str, Corpora]:
    given: dict[str, Corpora] = {}
    for name, count in LINES.items():
        for side in ("de", "en"):
            text = "".join(f"{side} {name} {number} {'word ' * (number % 12)}.\n" for number in range(count))
            (folder / f"{name}.{side}").write_text(text, encoding="utf-8")
        given[name] = [[folder / f"{name}.de", folder / f"{name}.en"]]
    return given


def test_pairs_are_written_as_they_are_and_wrong_sources_belong_to_other_lines(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus", _given(tmp_path), join=1)
    for name in LINES:
        for side, suffix in (("source", "de"), ("target", "en")):
            written = [line.strip() for line in corpus.lines(name, side)]
            given = (tmp_path / f"{name}.{suffix}").read_text(encoding="utf-8").splitlines()
            assert written == [line.strip() for line in given]
    for side in ("source", "target"):
        right, wrong = corpus.lines("test", side), corpus.lines("test", f"wrong-{side}")
        assert Counter(right) == Counter(wrong)
        assert all(one != other for one, other in zip(right, wrong, strict=True))


def test_joined_pairs_have_the_same_pairs_on_both_sides_in_the_same_order(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus", _given(tmp_path), join=5)
    for name, repeats in (("train", 2), ("dev", 1), ("test", 1)):
        used: Counter[str] = Counter()
        for source, target in zip(corpus.lines(name, "source"), corpus.lines(name, "target"), strict=True):
            numbers = [part.split()[2] for part in source.split("de ")[1:] for part in [f"de {part}"]]
            assert numbers == [f"en {part}".split()[2] for part in target.split("en ")[1:]]
            assert 1 <= len(numbers) <= 5
            assert len(numbers) == 1 or len(source.split()) <= LONGEST_JOINED
            used.update(numbers)
        assert set(used.values()) == {repeats}
        assert len(used) == LINES[name]
    given = (tmp_path / "train.de").read_text(encoding="utf-8").splitlines()
    assert corpus.lines("train", "source")[: LINES["train"]] == given  # each by itself, then joined


def test_the_same_corpus_is_kept_and_another_is_refused(tmp_path: Path) -> None:
    given = _given(tmp_path)
    write_corpus(tmp_path / "corpus", given, join=1)
    write_corpus(tmp_path / "corpus", given, join=1)
    with pytest.raises(RunError, match="has another corpus"):
        write_corpus(tmp_path / "corpus", given, join=3)
    with (tmp_path / "train.de").open("a") as file, (tmp_path / "train.en").open("a") as other:
        file.write("one more\n")
        other.write("one more\n")
    with pytest.raises(RunError, match=r"train differ"):
        write_corpus(tmp_path / "corpus", given, join=1)
    (tmp_path / "corpus" / "corpus.json").write_text("{", encoding="utf-8")
    with pytest.raises(RunError, match="is not JSON"):
        write_corpus(tmp_path / "corpus", given, join=1)


def test_files_that_are_missing_are_written_again(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus", _given(tmp_path), join=5)
    files = {path.name: path.read_bytes() for path in corpus.folder.iterdir()}
    for name in files:
        if name != "corpus.json":
            (corpus.folder / name).unlink()

    write_corpus(tmp_path / "corpus", _given(tmp_path), join=5)

    assert {path.name: path.read_bytes() for path in corpus.folder.iterdir()} == files


def test_a_test_set_that_is_too_small_is_refused(tmp_path: Path) -> None:
    given = _given(tmp_path)
    for side in ("de", "en"):
        (tmp_path / f"test.{side}").write_text("a line\n" * 5, encoding="utf-8")
    with pytest.raises(InputError, match="5 pairs"):
        write_corpus(tmp_path / "corpus", given, join=1)
