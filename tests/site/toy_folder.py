"""The folder in which the commands of pages run: the files that pages name, and the runs that they were made with."""

from __future__ import annotations

import gzip
import lzma
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import dragoman

CONSTRAINED = (  # how-to/constraints.md, how-to/score.md
    "23 Jahre und 30 Monate",
    "Costa Rica, Österreich oder Deutschland",
    "28,7 Kilometer pro Stunde",
    "27. Januar 2035, 15:25",
)
CHECKED = (
    ("12 Fuß", "12 feet"),
    ("7.700 Kanadische Dollar", "7,700 Canadian dollars"),
    ("28,7 Kilometer pro Stunde", "28.7 kilometers per hour"),
    ("27. Januar 2035, 15:25", "January 27, 2025, 3:25 PM"),
    ("94 Yards", "94 yards"),
    ("28. Dezember 2030, 01:45", "94 yards"),
)
CHOICES = ("12 feet", "12 yards", "12 metric tons")

DEV = "--dev dev.de dev.en"
QUICK = (
    "--updates 80 --set training.optimiser.learning_rate=0.02 training.schedule.warmup=10 training.average_decay=0.9 "
    "training.validation.every=1000"
)
"""A training of seconds after which translations are words, wrong ones for the most part, and end."""

Command = Callable[[str], None]
"""Runs a line of a shell in the folder."""


def make_corpus_small(set_attribute: Callable[[str, object], None]) -> None:
    """Let the demonstration corpus have some hundred pairs."""
    for name, value in (("TRAIN", 300), ("HELD_OUT", 20), ("FAMILIAR", 0)):
        set_attribute(f"dragoman.workflows.demo_corpus.{name}", value)


def fill(folder: Path, command: Command) -> None:
    """Make everything; `command` makes the runs, in the folder itself."""
    _texts(folder)
    _word_lists(folder)
    _checkpoints(folder)
    for line in (
        f"dragoman train --preset demo --train train.de train.en --train dogs.de dogs.en {DEV} --out RUN {QUICK}",
        "dragoman train --preset demo --train train.en train.de --dev dev.en dev.de --out REVERSE",
        "dragoman export RUN --out LIGHT --int8",
        "dragoman export REVERSE --out LIGHT2",
        "dragoman translate RUN -i test.de --nbest 4 --format nbest -o test.nbest.gz",
        "dragoman translate RUN -i dev.de --nbest 4 --format nbest -o dev.nbest.gz",
        "dragoman align test.de test.en --aligner ibm1 > forward.align",
        "dragoman align test.de test.en --aligner fast-align > backward.align",
        "dragoman align train.de train.en --aligner fast-align > train.links",
        "dragoman align train.en train.de --aligner fast-align > en-de.links",
        "dragoman dictionary train.en train.de en-de.links -o en-de.dictionary --min-count 1",
        "dragoman smt train --train train.de train.en --out SYSTEM",
    ):
        command(line)
    runs = {
        "RUN": ("RUN1", "RUN2", "RUN3", "DE-EN", "demo-run"),
        "REVERSE": ("EN-DE", "REVERSE2"),
        "LIGHT": ("EXPORTED",),
    }
    files = {
        "forward.align": ("test.gold", "test.align"),
        "SYSTEM/phrase-table.gz": ("phrase-table.gz",),
    }
    for name, copies in {**runs, **files}.items():
        for copy in copies:
            (shutil.copytree if (folder / name).is_dir() else shutil.copy)(folder / name, folder / copy)
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "bin" / "activate").touch()  # the environment is the one of the tests
    (folder / "RUN" / "report.html").touch()  # which trainings do not write here
    _folders_of_a_cluster(folder)


def _write(path: Path, lines: Sequence[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    data = "".join(f"{line}\n" for line in lines).encode()
    packed = {".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)(data)
    path.write_bytes(packed)


def _texts(folder: Path) -> None:
    texts: dict[str, list[str]] = {}
    with pytest.MonkeyPatch.context() as patch:
        make_corpus_small(patch.setattr)
        for other in ("de", "ja"):
            for paths in dragoman.write_demo_corpus(folder / "corpora" / other, other, "en").values():
                for path in paths:
                    texts.setdefault(path.name, path.read_text(encoding="utf-8").splitlines())
    shutil.rmtree(folder / "corpora")
    for name, lines in texts.items():
        _write(folder / name, lines)
    english, german = texts["test.en"], texts["test.de"]
    for language in ("de", "en"):
        dev, train = texts[f"dev.{language}"], texts[f"train.{language}"]
        for name in ("corrections", "invoices", "invoices-dev", "new-dev", "own", "d", "phrases"):
            _write(folder / f"{name}.{language}", dev)
        for name in ("c", "corpus", "pairs", "source", "web"):
            _write(folder / f"{name}.{language}", train)
        _write(folder / f"train.{language}.gz", train)
    for name in ("c", "d", "phrases", "pairs", "dev", "test"):  # French is German here: nothing depends on it
        shutil.copy(folder / f"{name}.de", folder / f"{name}.fr")
    shutil.copy(folder / "source.de", folder / "hypotheses.fr")
    for name in ("test.hyp", "one.hyp", "other.hyp", "any.hyp", "test.baseline", "replaced.de"):
        _write(folder / name, german if name.endswith("de") else [*english[1:], english[0]])
    _write(folder / "hyp", [line.replace("年", "月") for line in texts["dev.ja"]])
    for name in ("dev.en.0", "dev.en.1"):
        _write(folder / name, texts["dev.en"])
    _write(folder / "news.en", [*english[:10], "", *english[10:]])
    _write(folder / "new.en", english)
    _write(folder / "new.de", CONSTRAINED)
    for part in ("train", "dev", "test"):
        pairs = [f"{one}\t{other}" for one, other in zip(texts[f"{part}.de"], texts[f"{part}.en"], strict=True)]
        for suffix in ("tsv", "tsv.gz"):
            _write(folder / f"{part}.{suffix}", pairs)
    _write(folder / "pairs.tsv", [f"{source}\t{target}" for source, target in CHECKED])
    for number, language in enumerate(("de", "en")):
        _write(folder / f"check.{language}", [pair[number] for pair in CHECKED])
    _write(folder / "choices.tsv", [f"12 Fuß\t{choice}" for choice in CHOICES])
    _write(folder / "never.txt", ["of"])
    _write(folder / "begins.en", ["", "", "28.7 miles", "1"])
    _write(folder / "terms.tsv", ["1\t2"])
    _write(folder / "mine.tsv", ["a b\tx y"])
    _write(
        folder / "memory.tmx",
        [
            '<tmx version="1.4"><header srclang="en"/><body><tu>',
            '<tuv xml:lang="en"><seg>1</seg></tuv><tuv xml:lang="de"><seg>2</seg></tuv></tu></body></tmx>',
        ],
    )
    _write(folder / "phrases.txt", german[:8])
    _write(folder / "dogs.de", ["Ein Hund läuft durch den Schnee.", "Ein Hund.", "Eine Katze."])
    _write(folder / "dogs.en", ["A dog runs through the snow.", "A dog.", "A cat."])
    (folder / "old.de").write_bytes((folder / "train.de").read_bytes().decode().encode("cp1252", errors="replace"))
    _mixed(folder)


def _mixed(folder: Path) -> None:
    """Pairs of which two have a French side in another encoding, the first that of how-to/inspect.md."""
    lines = [f"la page {number} du rapport est longue ." for number in range(80)]
    lines[40] = "la page est déjà longue ."
    lines[39] = "elle sera , je l' espère , examinée dans un esprit positif ."
    encoded = [line.encode("cp1252" if number in (39, 40) else "utf-8") for number, line in enumerate(lines)]
    (folder / "mixed.fr").write_bytes(b"".join(line + b"\n" for line in encoded))
    english = [f"page {number} of the report is long ." for number in range(80)]
    english[39] = "it will , i hope , be examined in a positive light ."
    _write(folder / "mixed.en", english)


def _word_lists(folder: Path) -> None:
    draw = random.Random(1)
    words = ["".join(draw.choices("abdegiklmnorstu", k=draw.randint(3, 8))) for _ in range(200)]
    for part, some in (("train", words), ("dev", words[:20]), ("test", words[:20])):
        _write(folder / f"ice_{part}.tsv", [f"{word}\t{' '.join(word)}" for word in some])
    for part, some in (("trn", words), ("dev", words[:20]), ("tst", words[:20])):
        _write(folder / f"deu.{part}.xz", [f"{word}\t{word}st\tV;SBJV;SG;3;PRS" for word in some])


def _checkpoints(folder: Path) -> None:
    from tests.importing.toolkits import JoeyNMT, OpenNMT

    JoeyNMT().save(folder / "models" / "deen").rename(folder / "models" / "deen" / "best.ckpt")
    saved = OpenNMT().save(folder / "opennmt")
    saved.rename(folder / "model_step_10000.pt")


def _folders_of_a_cluster(folder: Path) -> None:
    english, german = ((folder / f"test.{language}").read_text("utf-8").splitlines() for language in ("en", "de"))
    pairs = (folder / "test.tsv").read_text("utf-8").splitlines()
    nbest = gzip.decompress((folder / "test.nbest.gz").read_bytes()).decode().splitlines()
    table = gzip.decompress((folder / "phrase-table.gz").read_bytes()).decode().splitlines()
    for number, part in enumerate((slice(None, 10), slice(10, None)), start=1):
        _write(folder / "news" / f"{number}.gz", german[part])
        _write(folder / "corpus" / f"{number}.de", german[part])
        _write(folder / "corpus" / f"{number}.en", english[part])
        _write(folder / "pairs" / f"{number}.tsv.gz", pairs[part])
    _write(folder / "lists" / "1.gz", nbest)
    _write(folder / "text" / "1.fr", german)
    _write(folder / "table" / "1.gz", table[:50])
