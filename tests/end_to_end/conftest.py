"""A tiny translator, trained once through the command, and the text it was trained on."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.cluster import command
from dragoman.cluster.worker import ShardWorker
from dragoman.translation import length_batching
from tests.cluster.local_pool import LocalPool

SMALL = (
    "text.joint=false",
    "text.source.segmentation=characters",
    "text.target.segmentation=characters",
    "model.embedding.source=16",
    "model.embedding.target=16",
    "model.embedding.tied=none",
    "model.encoder.layers=1",
    "model.encoder.size=24",
    "model.decoder.layers=1",
    "model.decoder.size=32",
    "model.attention.size=24",
    "model.readout.size=16",
    "model.initialisation=uniform",
    "model.init_scale=0.2",
    "training.precision=fp32",
    "training.optimiser.learning_rate=0.005",
    "training.schedule.name=constant",
    "training.average_decay=0",
    "training.batch.unit=sentences",
    "training.batch.size=16",
)
"""A configuration small enough to train in seconds; it asks only for what every preset with attention can be."""


@dataclass(frozen=True)
class Corpus:
    """Lines of letters in two files, and the same letters in upper case in two others."""

    train: tuple[Path, Path]
    dev: tuple[Path, Path]
    test: tuple[Path, Path]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """300 training pairs, 20 of dev and of test: source "ab c", target "AB C"."""
    folder, draw = tmp_path_factory.mktemp("corpus"), random.Random(1)

    def line() -> str:
        return " ".join("".join(draw.choices("abcdef", k=draw.randint(1, 3))) for _ in range(draw.randint(1, 3)))

    files = {}
    for name, count in (("train", 300), ("dev", 20), ("test", 20)):
        lines = [line() for _ in range(count)]
        files[name] = folder / f"{name}.low", folder / f"{name}.up"
        files[name][0].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        files[name][1].write_text("".join(f"{line.upper()}\n" for line in lines), encoding="utf-8")
    return Corpus(**files)


@pytest.fixture(autouse=True)
def charts_are_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports have all of their charts but what matplotlib draws, which takes half of a short training.

    `run_folder` has the pictures, and so have the reports of tests/report.
    """
    empty = b'<svg xmlns="http://www.w3.org/2000/svg"></svg>'
    monkeypatch.setattr("dragoman.report.charts.as_file", lambda figure, kind: empty)


@pytest.fixture(scope="session")
def train(corpus: Corpus) -> Callable[..., int]:
    """`train(out, *more, settings=...)`: `dragoman train` of the small model on the corpus; gives the exit code.

    It begins with the preset `demo`, so that what it learns does not depend on the recipe of the day.
    """

    def run(out: Path, *more: str, settings: Sequence[str] = ()) -> int:
        text = ["--train", *map(str, corpus.train), "--dev", *map(str, corpus.dev)]
        preset = [] if "--preset" in more else ["--preset", "demo"]
        return main(["train", *preset, *text, "--out", str(out), "--threads", "1", *more, "--set", *SMALL, *settings])

    return run


@pytest.fixture(scope="session")
def run_folder(train: Callable[..., int], shared_folder: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """A run that has learnt its task. Tests must not change it."""
    # chrF, because lines as short as these have no four words in a row, so that their BLEU is mostly 0
    settings = ["training.epochs=30", "training.validation.every=100", "training.validation.metric=chrf"]
    settings += ["training.optimiser.learning_rate=0.01", "training.schedule.name=cosine"]

    def fill(folder: Path) -> None:
        assert train(folder, "--quiet", settings=settings) == 0

    return shared_folder("tiny", fill)


@pytest.fixture(scope="session")
def light(run_folder: Path, shared_folder: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """The small model, exported: it writes letters in upper case. Tests must not change it."""

    def fill(folder: Path) -> None:
        assert main(["export", str(run_folder), "--out", str(folder), "--quiet"]) == 0

    return shared_folder("tiny-exported", fill)


@pytest.fixture
def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of `dragoman cluster` in this process, and several shards a file."""

    @contextmanager
    def open_workers(
        opener: Callable[[], ShardWorker], address: str | None, workers: int | None
    ) -> Iterator[LocalPool]:
        yield LocalPool(opener())

    monkeypatch.setattr(command, "workers_of_ray", lambda: open_workers)
    monkeypatch.setattr(length_batching, "WINDOW_ITEMS", 8)
