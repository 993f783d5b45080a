"""A new run: prepared beside its place, and exchanged with an old run once it has results (see `text.folders`).

.RUN.dragoman.segments   text that is segmented for the new run: what a kill leaves, the next start goes on with
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from dragoman.config.language_model import LanguageConfig
from dragoman.config.schema import Config
from dragoman.errors import ConfigError, RunError
from dragoman.inputs import noted_inputs, owning
from dragoman.runs.layout import RunFolder
from dragoman.runs.parts import MARK, is_marked, is_part, lies_in_parts, parts_in, segments_of, sort_files, write_mark
from dragoman.text.folders import PreparedFolder, require_exchangeable, restore_folder


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
        self.final = RunFolder(Path(path))
        """The final folder of the run."""
        self.folder = self.final
        """The current folder of the run: inside the block a hidden folder, until `take_place`."""
        self.segments = segments_of(self.final.path)
        """The file for text that is segmented, which a kill leaves for the next start; removed by `take_place`."""
        self._config = config
        self._overwrite, self._inputs, self._outputs = overwrite, [*inputs, *noted_inputs()], outputs
        self._files = ExitStack()

    def __enter__(self) -> NewRun:
        """Create the hidden folder with text/ and config.yaml.

        Raises:
            RunError: as for `require_free`; another process writes to the run; or the folder cannot be created.
            ConfigError: an output is inside a part of the run.
        """
        self._require_free()
        path = self.final.path
        with self._files:
            try:
                if os.path.lexists(path) and not os.path.isdir(path):
                    raise FileExistsError
                self._prepared = self._files.enter_context(PreparedFolder.open(path, what="run", is_part=is_part))
                self.folder = RunFolder(self._prepared.path)
                self.folder.text.mkdir()
            except (FileExistsError, NotADirectoryError):
                raise RunError(f"{path}: is a file, or lies under one; give the path of a folder") from None
            except OSError as error:
                raise RunError(f"{path}: the run folder cannot be created: {error.strerror}") from None
            for owned in (path, self.folder.path):
                self._files.enter_context(owning(owned))
            self.folder.save_config(self._config)
            self._files = self._files.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.__exit__(kind, error, trace)

    def take_place(self) -> RunFolder:
        """Move the run to its place, replacing an old run, which is removed.

        All its files are synchronised to disk first, so that a power failure leaves the old run or the new one.

        Raises:
            RunError: since the preparation, another run or a foreign file has appeared in the folder; or it cannot be
                moved.
        """
        self._require_free()
        write_mark(self.folder.path)
        try:
            self._prepared.take_place(replace=True)
            self.segments.unlink(missing_ok=True)
        except OSError as error:
            raise RunError(f"{self.final.path}: the new run cannot be moved into place: {error.strerror}") from None
        self.folder = self.final
        return self.final

    def _require_free(self) -> None:
        require_free(self.final.path, overwrite=self._overwrite, inputs=self._inputs)
        for output in self._outputs:
            if lies_in_parts(self.final.path, output):
                raise ConfigError(f"{output}: is among the files of the run {self.final.path}; give another path")


def require_free(path: Path, *, overwrite: bool, inputs: Sequence[Path] = ()) -> None:
    """Refuse a folder where a new run would destroy anything other than, with `overwrite`, an old run.

    Raises:
        RunError: there is a run and `overwrite` is false; there are files with the names of a run but no run.json; or
            the folders of the run contain foreign files or an input.
    """
    restore_folder(path)
    if not os.path.isdir(path):  # unlike Path.is_dir, false for a name that no folder can have
        return
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
    if not os.access(path, os.W_OK):
        raise RunError(f"{path}: you are not permitted to write to this folder; give another path")
    require_exchangeable(path)
    ours, foreign = sort_files(path)
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise RunError(
            f"{path}: --overwrite removes the run there, but not {foreign[0]}{more}, which dragoman did not write; "
            "move files that are not part of the run to another folder"
        )
    removed = [os.lstat(file) for file in ours]
    for given in filter(os.path.exists, inputs):
        if any(os.path.samestat(file, same) for file in removed for same in (os.lstat(given), os.stat(given))):
            raise RunError(
                f"{given}: is an input, and --overwrite would remove it with the run in {path}; copy it to another "
                "folder, or give another path to --out"
            )
