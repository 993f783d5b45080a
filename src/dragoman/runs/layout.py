"""The run folder: its files, and checks that they exist.

    RUN/config.yaml          the complete configuration, with the format version of the folder
    RUN/text/                segmentations and vocabularies of both sides
    RUN/data/train, dev      the corpus as ids; only training reads it, it may be deleted afterwards
    RUN/model.safetensors    best weights so far
    RUN/checkpoints/         latest training states
    RUN/log.jsonl            every measurement
    RUN/tensorboard/         the same for TensorBoard
    RUN/report.html          curves, sample translations, data facts

This module does not import torch, so that a mistyped path is reported at once.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dragoman.config.files import dump_config, load_config
from dragoman.config.language_model import LanguageConfig
from dragoman.config.schema import Config
from dragoman.errors import ConfigError, RunError
from dragoman.text.lines import not_found, replace_file
from dragoman.text.side import TextSide

_OURS = ("text", "data", "model.safetensors", "checkpoints", "log.jsonl", "tensorboard", "report.html", "config.yaml")
"""Everything that a run writes; config.yaml last, because it is what marks the folder as ours while we remove."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A run folder; `create`, `open` and `resume` check it first."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def text(self) -> Path:
        return self.path / "text"

    @property
    def train_data(self) -> Path:
        return self.path / "data" / "train"

    @property
    def dev_data(self) -> Path:
        return self.path / "data" / "dev"

    @property
    def inspection(self) -> Path:
        return self.path / "data" / "inspection.json"

    @property
    def weights(self) -> Path:
        return self.path / "model.safetensors"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def log(self) -> Path:
        return self.path / "log.jsonl"

    @property
    def tensorboard(self) -> Path:
        return self.path / "tensorboard"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @classmethod
    def create(cls, path: str | Path, config: Config | LanguageConfig, *, overwrite: bool = False) -> RunFolder:
        """Begin a run: make the folder with its text/ and write config.yaml.

        A folder that holds other things is fine; `overwrite` removes an earlier run's files and nothing else.

        Raises:
            RunError: a run is there and `overwrite` is false; the path is a file; files that look like a run's are
                there, but no config.yaml, so that they may be somebody else's; the folder cannot be made.
        """
        folder = cls(Path(path))
        present = [name for name in _OURS if os.path.lexists(folder.path / name)]
        if present and "config.yaml" not in present:
            raise RunError(
                f"{path}: holds {', '.join(present)} but no config.yaml, so it may be no run folder and is left alone; "
                "give another path"
            )
        if present and not overwrite:
            raise RunError(
                f"{path}: a run is there already; --resume goes on with it, --overwrite starts anew without it, "
                "or give another path"
            )
        try:
            for name in present:
                _remove(folder.path / name)
            folder.text.mkdir(parents=True)
        except (FileExistsError, NotADirectoryError):
            raise RunError(f"{path}: is a file, or lies under one; give the path of a folder") from None
        except OSError as error:
            raise RunError(f"{path}: the run folder cannot be made: {error.strerror}") from None
        folder.save_config(config)
        return folder

    @contextmanager
    def being_prepared(self) -> Iterator[None]:
        """While inside, a failure takes away what has been written: there is no run yet that would be in the way."""
        try:
            yield
        except BaseException:
            for name in _OURS:
                if os.path.lexists(self.path / name):
                    _remove(self.path / name)
            with suppress(OSError):  # other things lie in it
                self.path.rmdir()
            raise

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """A run to translate or score with.

        Raises:
            RunError: there is no such folder (names the nearest one), a part of it is missing, or it is of a newer
                format.
        """
        folder = cls.existing(path)
        folder.load_config()
        folder.require_weights()
        return folder

    def require_weights(self) -> None:
        """Refuse a run without a result.

        Raises:
            RunError: there are no weights.
        """
        if not self.weights.is_file():
            raise RunError(
                f"{self.path}: has no {self.weights.name}: training has not come to its first validation; "
                "go on with it (--resume), or take the file from a copy of the run folder"
            )

    @classmethod
    def resume(cls, path: str | Path) -> RunFolder:
        """A run to go on training with.

        Raises:
            RunError: as for `open`, but what must be there are training states.
        """
        folder = cls.existing(path)
        folder.load_config()
        folder.require_state()
        return folder

    def require_state(self) -> None:
        """Refuse a run that cannot be gone on with.

        Raises:
            RunError: there are no training states.
        """
        if not self.checkpoints.is_dir():
            raise RunError(
                f"{self.path}: has no {self.checkpoints.name}/: it stopped before its first training state was saved; "
                "start it anew with --overwrite"
            )

    @classmethod
    def existing(cls, path: str | Path) -> RunFolder:
        """A run of any kind, whose configuration has not been looked at.

        Raises:
            RunError: there is no such folder (names the nearest one), or it is none that a training wrote.
        """
        folder = cls(Path(path))
        if not os.path.exists(path):  # unlike Path.exists, false for a name that no file can have
            raise RunError(str(not_found(path)))
        if not os.path.isdir(path):
            raise RunError(f"{path}: is a file, not a run folder; give the folder that `dragoman train --out` wrote")
        if not folder.config.is_file():
            raise RunError(f"{path}: not a run folder: it has no {folder.config.name}")
        if not folder.text.is_dir():
            raise RunError(
                f"{path}: has no {folder.text.name}/, the segmentations and vocabularies that its weights belong to; "
                "take it from a copy of the run folder, or train again with --overwrite"
            )
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
        """Write config.yaml, in place of an older one.

        Raises:
            InputError: it cannot be written.
        """
        with replace_file(self.config) as file:
            file.write(dump_config(config))

    def source_side(self) -> TextSide:
        """Segmentation and vocabulary of the source.

        Raises:
            RunError: a file is missing or damaged.
        """
        return TextSide.load(self.text, "source")

    def target_side(self) -> TextSide:
        """Segmentation and vocabulary of the target.

        Raises:
            RunError: a file is missing or damaged.
        """
        return TextSide.load(self.text, "target")


def _remove(path: Path) -> None:
    """Remove a file, a folder with all in it, or a link but not what it leads to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
