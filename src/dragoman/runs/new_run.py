"""A new run: prepared in a hidden folder, and moved into place once it has results; until then an old run is kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType

from dragoman.config.language_model import LanguageConfig
from dragoman.config.schema import Config
from dragoman.errors import ConfigError, RunError
from dragoman.inputs import noted_inputs
from dragoman.runs.layout import RunFolder
from dragoman.runs.lock import lock_for_writing
from dragoman.runs.parts import (
    MARK,
    SEGMENTS,
    complete_placing,
    is_marked,
    lies_in_parts,
    parts_in,
    preparing,
    sort_files,
    take_place,
    write_mark,
)
from dragoman.text.temporary import make_folder

_NAMED = 3
"""The largest number of files that an error names."""


class NewRun:
    """A run that is being prepared; a context manager that removes it at the end unless `take_place` was called."""

    def __init__(
        self,
        path: str | Path,
        config: Config | LanguageConfig,
        *,
        overwrite: bool = False,
        inputs: Sequence[Path] = (),
        outputs: Sequence[Path] = (),
    ) -> None:
        """
        Args:
            overwrite: whether an existing run may be replaced.
            inputs: files that will be read, in addition to those that the command has read; replacing a run must not
                remove them.
            outputs: files that the command writes in addition to the run.
        """
        self.place = RunFolder(Path(path))
        """The final folder of the run."""
        self.folder = self.place
        """The current folder of the run: inside the block a hidden folder, until `take_place`."""
        self._config = config
        self._overwrite, self._inputs, self._outputs = overwrite, [*inputs, *noted_inputs()], outputs
        self._files = ExitStack()
        self._made = False

    def __enter__(self) -> NewRun:
        """Create the hidden folder with text/, config.yaml and run.json.

        Raises:
            RunError: as for `require_free`; another process writes to the run; or the folder cannot be created.
            ConfigError: an output is inside a part of the run.
        """
        self._require_free()
        with ExitStack() as files:
            files.callback(self._remove_if_made)
            self._make_folder(files)
            write_mark(self.folder.path)
            self.folder.save_config(self._config)
            self._files = files.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.__exit__(kind, error, trace)

    @property
    def segments(self) -> Path:
        """The file for text that is segmented, which a kill leaves for the next start; removed by `take_place`."""
        return self.place.path / SEGMENTS

    def take_place(self) -> RunFolder:
        """Move the run to its final folder, replacing an old run.

        Raises:
            RunError: since the preparation, another run or a foreign file has appeared in the folder.
        """
        self._require_free()
        write_mark(self.folder.path)  # again: text/ is complete now
        take_place(self.folder.path, self.place.path)
        self.folder = self.place
        return self.place

    def _require_free(self) -> None:
        require_free(self.place.path, overwrite=self._overwrite, inputs=self._inputs)
        for output in self._outputs:
            if lies_in_parts(self.place.path, output):
                raise ConfigError(f"{output}: is among the files of the run {self.place.path}; give another path")

    def _make_folder(self, files: ExitStack) -> None:
        path = self.place.path
        try:
            self._made = not os.path.exists(path)
            make_folder(path)
            files.enter_context(lock_for_writing(path))
            self.folder = RunFolder(files.enter_context(preparing(path)))
            self.folder.text.mkdir()
        except (FileExistsError, NotADirectoryError):
            raise RunError(f"{path}: is a file, or lies under one; give the path of a folder") from None
        except OSError as error:
            raise RunError(f"{path}: the run folder cannot be created: {error.strerror}") from None

    def _remove_if_made(self) -> None:
        if self._made:
            with suppress(OSError):  # not empty: it contains a run or other files
                self.place.path.rmdir()


def require_free(path: Path, *, overwrite: bool, inputs: Sequence[Path] = ()) -> None:
    """Refuse a folder where a new run would destroy anything other than, with `overwrite`, an old run.

    Raises:
        RunError: there is a run and `overwrite` is false; there are files with the names of a run but no run.json; or
            the folders of the run contain foreign files or an input.
    """
    if not os.path.isdir(path):  # unlike Path.is_dir, false for a name that no folder can have
        return
    complete_placing(path)
    present, marked = parts_in(path), is_marked(path)
    if present and not marked:
        raise RunError(
            f"{path}: contains {', '.join(present)} but no valid {MARK}, the mark of a dragoman run, so it is left "
            "unchanged; give another path"
        )
    if present and not overwrite:
        raise RunError(
            f"{path}: a run is there already; --resume goes on with it, --overwrite starts anew without it, "
            "or give another path"
        )
    ours, foreign = sort_files(path)
    if foreign:
        raise RunError(
            f"{path}: --overwrite removes the run there, but not {_listed(foreign)}, which dragoman did not write; "
            "move files that are not part of the run to another folder"
        )
    removed = {_identity(os.lstat(file)): file for file in ours}
    for given in filter(os.path.exists, inputs):
        for same in (os.lstat(given), os.stat(given)):
            if _identity(same) in removed:
                raise RunError(
                    f"{given}: is an input, and --overwrite would remove it with the run in {path}; copy it "
                    "to another folder, or give another path to --out"
                )


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _listed(files: Sequence[Path]) -> str:
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return ", ".join(map(str, files[:_NAMED])) + more
