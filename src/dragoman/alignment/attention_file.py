"""Alignment weights of many lines in one .npz file, written as a stream."""

from __future__ import annotations

import zipfile
from types import TracebackType

import numpy as np
from numpy.lib.format import write_array
from numpy.typing import NDArray

from dragoman.errors import InputError


class AttentionFile:
    """A .npz file with an array [T + 1, S] for each line, named by line number from 0; [0, 0] for an empty line.

    `numpy.load` reads the array of one line at a time; `numpy.savez` would have to hold all of them in memory.
    """

    def __init__(self, path: str) -> None:
        """Create the file.

        Raises:
            InputError: the file cannot be written.
        """
        self._path = path
        try:
            self._archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        except OSError as error:
            raise self._unwritable(error) from error

    def __enter__(self) -> AttentionFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._archive.close()
        except OSError as failure:
            raise self._unwritable(failure) from failure

    def write(self, name: int | str, weights: NDArray[np.float32] | None) -> None:
        """Append an array; the name is or starts with the number of its line.

        Raises:
            InputError: the disk is full.
        """
        array = np.zeros((0, 0), np.float32) if weights is None else np.ascontiguousarray(weights)
        try:
            with self._archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                write_array(entry, array, allow_pickle=False)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(f"{self._path}: cannot be written: {error.strerror}")
