"""The dev set that training holds out where none is given, and what is said about bad text before training."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.corpora.corpus import read_pairs
from dragoman.text.lines import read_lines, write_lines

from .conftest import SMALL, Corpus

BRIEF = ["training.epochs=0.1", "training.validation.metric=perplexity"]


@pytest.fixture
def train(tmp_path: Path) -> Callable[..., int]:
    """`train(*words)`: train the small model for an update or two in RUN; gives the exit code."""

    def run(*words: object) -> int:
        given = ["train", "--preset", "demo", "--out", str(tmp_path / "RUN"), *map(str, words), "--threads", "1"]
        return main([*given, "--set", *SMALL, *BRIEF])

    return run


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, Sequence[tuple[str, str]]], list[Path]]:
    """`write(name, pairs)`: two files."""

    def run(name: str, pairs: Sequence[tuple[str, str]]) -> list[Path]:
        files = [tmp_path / f"{name}.low", tmp_path / f"{name}.up"]
        for side, path in enumerate(files):
            write_lines(path, (pair[side] for pair in pairs))
        return files

    return run


def test_without_a_dev_set_a_part_of_all_corpora_is_held_out(
    corpus: Corpus, train: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = [(pair.source, pair.target) for pair in read_pairs([corpus.train])]
    write_lines(
        tmp_path / "more.tsv.gz", (f"{number} {source}\t{target}" for number, (source, target) in enumerate(pairs))
    )
    files = ["--train", *corpus.train, "--train", tmp_path / "more.tsv.gz"]
    assert train(*files) == 0
    kept = tmp_path / "RUN" / "data" / "dev.jsonl"
    entries = [json.loads(line) for line in read_lines(kept)]
    said = capsys.readouterr().err
    assert f"dev set: {len(entries)} pairs held out of the training text, in {kept}\n" in said
    different = len({*pairs}) + len(pairs)
    assert len(entries) == int(0.05 * different)
    # Each is found at its origin, in both corpora, and none is trained on.
    assert {entry["origin"].rpartition(":")[0] for entry in entries} == {
        str(corpus.train[0]),
        str(tmp_path / "more.tsv.gz"),
    }
    lines = {pair.origin: (pair.source, pair.target) for pair in read_pairs([corpus.train, [tmp_path / "more.tsv.gz"]])}
    assert all(lines[entry["origin"]] == (entry["source"], entry["target"]) for entry in entries)
    assert f"pairs: kept {different - len(entries)}, " in said
    page = (tmp_path / "RUN" / "report.html").read_text(encoding="utf-8")
    assert f"{len(entries)} pairs, held out of the training text (data/dev.jsonl)" in page

    # A resumed run goes on with them, and `evaluate` takes them as they are.
    assert main(["train", "--out", str(tmp_path / "RUN"), "--resume", "--set", "training.epochs=0.2"]) == 0
    assert [json.loads(line) for line in read_lines(kept)] == entries
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path / "RUN"), str(kept), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sentences"] == len(entries)


def test_a_language_model_holds_out_lines_too(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["text.segmentation=characters", "model.embedding=8", "model.recurrent.size=8", "training.epochs=0.1"]
    words = ["lm", "train", "--train", str(corpus.train[0]), "--out", str(tmp_path / "LM"), "--threads", "1"]
    assert main([*words, "--set", *small]) == 0
    kept = tmp_path / "LM" / "data" / "dev.txt"
    held = list(read_lines(kept))
    said = capsys.readouterr().err
    assert f"dev text: {len(held)} lines held out of the training text, in {kept}\n" in said
    rest = [line for line in read_lines(corpus.train[0]) if line not in held]
    assert f"lines: kept {len(rest)}, " in said
    assert main(["lm", "train", "--out", str(tmp_path / "LM"), "--resume", "--set", "training.epochs=0.2"]) == 0
    assert main(["lm", "train", *words[2:], "--overwrite", "--set", *small]) == 0  # its dev.txt is one of our files


def _sentences(count: int, seed: int = 1) -> list[tuple[str, str]]:
    draw = random.Random(seed)

    def line() -> str:
        return " ".join("".join(draw.choices("abcdef", k=draw.randint(1, 3))) for _ in range(draw.randint(2, 9)))

    return [(line, line.upper()) for line in (line() for _ in range(count))]


BAD = {
    "three pairs": (_sentences(3), None, ["3 pairs are few: expect a model only for very narrow text"]),
    "swapped": (
        _sentences(300),
        [(target, source) for source, target in _sentences(40, seed=2)],
        ["dev: source and target look swapped: "],
    ),
    "copied": (
        [(source, source) for source, _ in _sentences(150)],
        [(source, source) for source, _ in _sentences(9, seed=2)],
        ["copied (150 pairs, 100.0 %): A few names and numbers are harmless."],
    ),
    "numbers": (
        [(str(number), str(number * number)) for number in range(1000, 1150)],
        None,
        ["The source consists almost only of digits", "The target consists almost only of digits"],
    ),
    "dev in training": (
        _sentences(300),
        [*_sentences(30), *_sentences(10, seed=3)],
        ["dev: 30 of 40 pairs (75.0 %) have a side that is in the training text"],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_text_is_named_before_training(
    name: str,
    train: Callable[..., int],
    write: Callable[[str, Sequence[tuple[str, str]]], list[Path]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    pairs, dev, expected = BAD[name]
    given = ["--dev", *write("dev", dev)] if dev is not None else []
    assert train("--train", *write("train", pairs), *given) == 0
    said = capsys.readouterr().err
    before = said[: said.index("parameters")]
    warnings = re.findall("^warning: (.*)$", before, re.MULTILINE)
    assert all(any(warning.startswith(start) for warning in warnings) for start in expected)
    few = sum("pairs are few" in warning for warning in warnings)
    assert len(warnings) == len(expected) + few - (name == "three pairs")


def test_a_single_pair_is_an_error(
    train: Callable[..., int],
    write: Callable[[str, Sequence[tuple[str, str]]], list[Path]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert train("--train", *write("train", [("a b", "A B")] * 5)) == 2
    assert "1 usable line, too few to hold out a dev set" in capsys.readouterr().err
    assert not (tmp_path / "RUN").exists()
