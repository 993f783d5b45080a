"""The run folder: its files, and checks that they exist.

    RUN/run.json             marks the folder as a dragoman run; format version
    RUN/config.yaml          the complete configuration
    RUN/text/                segmentations and vocabularies of both sides
    RUN/data/train, dev      the corpus as ids, read by training only; may be deleted afterwards
    RUN/model.safetensors    best weights so far
    RUN/checkpoints/         latest training states
    RUN/log.jsonl            all measurements of the training
    RUN/tensorboard/         the same measurements for TensorBoard
    RUN/confidence.json      how far its translations can be trusted
    RUN/report.html          curves, sample translations, data facts

This module does not import torch, so that a mistyped path is reported at once.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dragoman.config.files import dump_config, load_config
from dragoman.config.language_model import LanguageConfig
from dragoman.config.schema import Config
from dragoman.errors import ConfigError, RunError
from dragoman.inputs import note_input_at
from dragoman.runs.parts import parts_in, read_mark, require_intact, sort_files
from dragoman.text.folders import restore_folder
from dragoman.text.lines import not_found, replace_file
from dragoman.text.side import TextSide


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A run folder; `open` and `resume` check it first. A new one is made by `new_run.NewRun`."""

    path: Path

    @property
    def config(self) -> Path:
        """The complete configuration."""
        return self.path / "config.yaml"

    @property
    def text(self) -> Path:
        """The folder of segmentations and vocabularies."""
        return self.path / "text"

    @property
    def train_data(self) -> Path:
        """The folder of the stored training corpus."""
        return self.path / "data" / "train"

    @property
    def dev_data(self) -> Path:
        """The folder of the stored dev set."""
        return self.path / "data" / "dev"

    @property
    def dev_text(self) -> Path:
        """The raw text of the dev set, which a resumed training translates too."""
        return self.path / "data" / "dev.jsonl"

    @property
    def inspection(self) -> Path:
        """Facts about the text and advice, for the report."""
        return self.path / "data" / "inspection.json"

    @property
    def weights(self) -> Path:
        """The best weights so far."""
        return self.path / "model.safetensors"

    @property
    def checkpoints(self) -> Path:
        """The folder of training states."""
        return self.path / "checkpoints"

    @property
    def log(self) -> Path:
        """Every measurement, a JSON object a line."""
        return self.path / "log.jsonl"

    @property
    def tensorboard(self) -> Path:
        """The folder of the same measurements for TensorBoard."""
        return self.path / "tensorboard"

    @property
    def report(self) -> Path:
        """The report as one HTML page."""
        return self.path / "report.html"

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """Check a run for translating or scoring.

        Raises:
            RunError: the folder does not exist (the message names the nearest one), a part is missing, or its format is
                newer.
        """
        folder = cls.existing(path)
        folder.load_config()
        folder.require_weights()
        return folder

    def note_files(self) -> None:
        """Note the files of the run as inputs of the command."""
        for file in sort_files(self.path).ours:
            if file != self.report:  # the one file of a run that an evaluation may write, too
                note_input_at(file)

    def require_weights(self) -> None:
        """Refuse a run without weights.

        Raises:
            RunError: there are none.
        """
        if not self.weights.is_file():
            raise RunError(
                f"{self.path}: has no {self.weights.name}: training has not reached its first validation; "
                "continue it (--resume), or take the file from a copy of the run folder"
            )

    @staticmethod
    def is_begun(path: str | Path) -> bool:
        """Whether a training has begun in a folder: there is a run, or a part of one."""
        restore_folder(Path(path))
        return os.path.isdir(path) and bool(parts_in(Path(path)))

    @classmethod
    def resume(cls, path: str | Path) -> RunFolder:
        """Check a run for continuing its training.

        Raises:
            RunError: as for `open`, with training states in place of weights.
        """
        folder = cls.existing(path)
        folder.load_config()
        folder.require_state()
        return folder

    def require_state(self) -> None:
        """Refuse a run without training states.

        Raises:
            RunError: there are none.
        """
        if not self.checkpoints.is_dir():
            raise RunError(
                f"{self.path}: has no {self.checkpoints.name}/, so there is no training state to resume from (an "
                "imported run has none); take the folder from a copy of the run, or train again with --overwrite"
            )

    @classmethod
    def existing(cls, path: str | Path) -> RunFolder:
        """Check that a folder is a run of either kind, and note its files as inputs; its configuration is not read.

        Raises:
            RunError: the folder does not exist (the message names the nearest one), is not a run, or has a newer
                format.
        """
        folder = cls(Path(path))
        restore_folder(folder.path)
        if not os.path.exists(path):  # unlike Path.exists, false for a name that no file can have
            raise RunError(str(not_found(path)))
        if not os.path.isdir(path):
            raise RunError(f"{path}: is a file, not a run folder; give the folder that `dragoman train --out` wrote")
        read_mark(folder.path)
        if not folder.config.is_file():
            exists = os.path.lexists(folder.config)
            raise RunError(
                f"{folder.config}: is not a regular file; take it from a copy of the run folder"
                if exists
                else f"{path}: not a run folder: it has no {folder.config.name}"
            )
        if not folder.text.is_dir():
            raise RunError(
                f"{path}: has no {folder.text.name}/, the segmentations and vocabularies that its weights belong to; "
                "take it from a copy of the run folder, or train again with --overwrite"
            )
        folder.note_files()
        return folder

    def load_config(self) -> Config:
        """The configuration of the run.

        Raises:
            RunError: it cannot be read, has a wrong key or value, or is of a newer format.
        """
        try:
            return load_config(self.config)
        except ConfigError as error:
            raise RunError(str(error)) from None

    def save_config(self, config: Config | LanguageConfig) -> None:
        """Write config.yaml, replacing an old one.

        Raises:
            InputError: it cannot be written.
        """
        with replace_file(self.config) as file:
            file.write(dump_config(config))

    def require_intact(self, path: Path) -> None:
        """Compare `dev_text` or `inspection` with its digest.

        Raises:
            RunError: the file was altered.
        """
        require_intact(self.path, path.relative_to(self.path).as_posix())

    def source_side(self) -> TextSide:
        """Load the segmentation and the vocabulary of the source.

        Raises:
            RunError: a file is missing or damaged.
        """
        return self._side("source")

    def target_side(self) -> TextSide:
        """Load the segmentation and the vocabulary of the target. Raises as `source_side`."""
        return self._side("target")

    def _side(self, side: Literal["source", "target"]) -> TextSide:
        require_intact(self.path, f"text/{side}.*")
        return TextSide.load(self.text, side)
