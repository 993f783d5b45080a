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
    "text.source.segmentation=characters",
    "text.target.segmentation=characters",
    "model.embedding.source=8",
    "model.embedding.target=8",
    "model.embedding.tied=none",
    "model.encoder.layers=1",
    "model.encoder.size=8",
    "model.decoder.layers=1",
    "model.decoder.size=8",
    "model.attention.size=8",
    "model.readout.size=8",
    "model.initialisation=uniform",
    "model.init_scale=0.2",
    "training.precision=fp32",
    "training.schedule.name=constant",
    "training.average_decay=0",
    "training.batch.unit=sentences",
    "training.batch.size=16",
    "training.epochs=2",
    "training.validation.metric=perplexity",
)
"""Settings over the preset `demo` with which a training takes a fraction of a second."""

LANGUAGE_MODEL = (
    "text.segmentation=characters",
    "model.embedding=8",
    "model.recurrent.size=8",
    "model.recurrent.layers=1",
    "training.precision=fp32",
    "training.epochs=1",
    "training.validation.every=4",
    "training.checkpoint_minutes=0.000001",
    "training.batch.unit=sentences",
    "training.batch.size=16",
)
"""Settings with which a language model is trained in a fraction of a second."""


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
        files[name] = settings.shared / f"{name}.low", settings.shared / f"{name}.up"
        if not files[name][1].exists():
            draw = random.Random(count)
            lines = [random_line(draw) for _ in range(count)]
            files[name][0].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            files[name][1].write_text("".join(f"{line.upper()}\n" for line in lines), encoding="utf-8")
    return Text(**files)


def random_line(draw: random.Random) -> str:
    """One to three words of one to three letters."""
    return " ".join("".join(draw.choices("abcdef", k=draw.randint(1, 3))) for _ in range(draw.randint(1, 3)))


def small_run(settings: Settings, name: str = "run", more: Sequence[str] = ()) -> Path:
    """A run folder trained on `small_text`, with `more` settings over `TINY`; it must not be changed."""
    folder = settings.shared / name
    if not folder.exists():
        arguments = ["train", "--preset", "demo", *small_text(settings).options, "--out", str(folder)]
        ended = run_command([*arguments, "--threads", "1", "--quiet", "--set", *TINY, *more])
        if ended.code:
            raise RuntimeError(f"the run of the campaign cannot be trained: {ended.message}")
    return folder


def small_export(settings: Settings, name: str = "export", options: Sequence[str] = ()) -> Path:
    """`small_run` exported; it must not be changed."""
    folder = settings.shared / name
    if not folder.exists():
        ended = run_command(["export", small_run(settings), "--out", folder, "--quiet", *options])
        if ended.code:
            raise RuntimeError(f"the run of the campaign cannot be exported: {ended.message}")
    return folder


def small_language_model(settings: Settings) -> Path:
    """The run folder of a language model of the targets of `small_text`; it must not be changed."""
    folder, text = settings.shared / "language-model", small_text(settings)
    if not folder.exists():
        arguments = ["lm", "train", "--train", text.train[1], "--dev", text.dev[1], "--out", folder]
        ended = run_command([*arguments, "--threads", "1", "--quiet", "--set", *LANGUAGE_MODEL])
        if ended.code:
            raise RuntimeError(f"the language model of the campaign cannot be trained: {ended.message}")
    return folder
