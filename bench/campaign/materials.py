"""Small text and small trained runs, made once and used by several parts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from campaign.children import run_command
from campaign.result import Settings

TINY = (
    "text.joint=false",
    *(f"text.{side}.segmentation=characters" for side in ("source", "target")),
    *("model.embedding.source=8", "model.embedding.target=8", "model.embedding.tied=none"),
    *("model.encoder.layers=1", "model.encoder.size=8", "model.decoder.layers=1", "model.decoder.size=8"),
    *("model.attention.size=8", "model.readout.size=8", "model.initialisation=uniform", "model.init_scale=0.2"),
    *("training.precision=fp32", "training.schedule.name=constant", "training.average_decay=0", "training.epochs=2"),
    *("training.batch.unit=sentences", "training.batch.size=16", "training.validation.metric=perplexity"),
)
"""Settings over the preset `demo` with which a training takes a fraction of a second."""

LANGUAGE_MODEL = (
    *("text.segmentation=characters", "model.embedding=8", "model.recurrent.size=8", "model.recurrent.layers=1"),
    *("training.precision=fp32", "training.epochs=1", "training.validation.every=4"),
    *("training.checkpoint_minutes=0.000001", "training.batch.unit=sentences", "training.batch.size=16"),
)
"""Settings with which a language model is trained in a fraction of a second."""

QUIET = ("--threads", "1", "--quiet")


class Text(NamedTuple):
    """Parallel lines of letters; the target is the source in upper case."""

    train: tuple[Path, Path]
    dev: tuple[Path, Path]

    @property
    def options(self) -> list[str]:
        """The options of `dragoman train` that name the files."""
        return ["--train", *map(str, self.train), "--dev", *map(str, self.dev)]


def small_text(settings: Settings) -> Text:
    """100 training pairs and 10 of dev."""
    files = {}
    for name, count in (("train", 100), ("dev", 10)):
        draw = random.Random(count)
        lines = [_line(draw) for _ in range(count)]
        files[name] = write_pair(settings.shared / name, "low", "up", lines)
    return Text(**files)


def write_pair(stem: Path, source: str, target: str, lines: Sequence[str]) -> tuple[Path, Path]:
    """Write lines to STEM.source, and in upper case to STEM.target, where they are not there yet."""
    files = stem.with_suffix(f".{source}"), stem.with_suffix(f".{target}")
    if not files[1].exists():
        files[0].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
        files[1].write_text("".join(f"{line.upper()}\n" for line in lines), encoding="utf-8", newline="")
    return files


def _line(draw: random.Random) -> str:
    """One to three words of one to three letters."""
    return " ".join("".join(draw.choices("abcdef", k=draw.randint(1, 3))) for _ in range(draw.randint(1, 3)))


def made(folder: Path, command: Sequence[str | Path], *settings: str, seconds: float = 120) -> Path:
    """A folder that `dragoman COMMAND --out FOLDER` makes where it is not there yet; it must not be changed."""
    if not folder.exists():
        more = ["--set", *settings] if settings else []
        run_command([*command, "--out", folder, "--quiet", *more], seconds=seconds).require(f"making {folder.name}")
    return folder


def small_run(settings: Settings) -> Path:
    """A run folder trained on `small_text`."""
    command = ["train", "--preset", "demo", *small_text(settings).options, "--threads", "1"]
    return made(settings.shared / "run", command, *TINY)


def small_export(settings: Settings, name: str = "export", options: Sequence[str] = ()) -> Path:
    """`small_run` exported."""
    return made(settings.shared / name, ["export", small_run(settings), *options])


def small_language_model(settings: Settings) -> Path:
    """The run folder of a language model of the targets of `small_text`."""
    text = small_text(settings)
    command = ["lm", "train", "--train", text.train[1], "--dev", text.dev[1], "--threads", "1"]
    return made(settings.shared / "language-model", command, *LANGUAGE_MODEL)


def small_system(settings: Settings) -> Path:
    """A phrase-based system trained on `small_text`; `train.links` beside it has the links."""
    text, links = small_text(settings), settings.shared / "train.links"
    lengths = [len(line.split()) for line in text.train[0].read_text("utf-8").splitlines()]
    links.write_text("".join(" ".join(f"{i}-{i}" for i in range(n)) + "\n" for n in lengths))
    command = ["smt", "train", "--train", *text.train, "--alignments", links, "--order", "2"]
    return made(settings.shared / "system", command)
