"""Alignment weights of many lines in one .npz file, written as a stream."""

from __future__ import annotations

import zipfile
from contextlib import ExitStack
from types import TracebackType

import numpy as np
from numpy.lib.format import write_array
from numpy.typing import NDArray

from dragoman.text.lines import replace_file


class AttentionFile:
    """A .npz file with an array [T + 1, S] for each line, named by line number from 0; [0, 0] for an empty line.

    `numpy.load` reads one line's array at a time; `numpy.savez` would have to hold them all to write them. After a
    failure the output so far is also a valid archive, in the partial file that `replace_file` keeps.

    Raises (in the `with` block too):
        InputError: the file cannot be written, for example because the disk is full.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._files = ExitStack()
        self._archive: zipfile.ZipFile | None = None

    def __enter__(self) -> AttentionFile:
        self._file = self._files.enter_context(replace_file(self._path, binary=True, keep_partial=True))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._opened()  # without a line it is an empty archive
        self._files.__exit__(kind, error, trace)

    def write(self, name: int | str, weights: NDArray[np.float32] | None) -> None:
        """Append an array; the name is the number of its line, or begins with it."""
        array = np.zeros((0, 0), np.float32) if weights is None else np.ascontiguousarray(weights)
        with self._opened().open(f"{name}.npy", "w", force_zip64=True) as entry:
            write_array(entry, array, allow_pickle=False)

    def _opened(self) -> zipfile.ZipFile:
        """The archive; only with its first entry, so that nothing is kept of a command that failed before."""
        if self._archive is None:
            self._archive = self._files.enter_context(zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED))
        return self._archive
