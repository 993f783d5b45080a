"""Writing a stored corpus, whose vocabularies are known only at its end."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dragoman.data.segmenting import SegmentedPairs, SegmentLinks
from dragoman.data.store import FORMAT, LINK_OFFSETS, LINKS, META, SIDES
from dragoman.errors import InputError
from dragoman.text.lines import replace_file
from dragoman.text.vocabulary import Vocabulary


class PieceNumbers:
    """Pieces numbered in the order of their appearance, and how often each was stored."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._counts: list[int] = []

    def of(self, pieces: Iterable[str]) -> NDArray[np.uint32]:
        """The numbers of some pieces, new ones for those not met before."""
        numbers = [self._numbers.setdefault(piece, len(self._numbers)) for piece in pieces]
        self._counts.extend([0] * (len(self._numbers) - len(self._counts)))
        return np.array(numbers, np.uint32)

    def count(self, stored: NDArray[np.uint32]) -> None:
        for number, count in zip(*np.unique(stored, return_counts=True), strict=True):
            self._counts[number] += int(count)

    def counts(self) -> dict[str, int]:
        """How often each piece was stored; those of dropped pairs only are not there."""
        return {piece: count for piece, count in zip(self._numbers, self._counts, strict=True) if count}

    def ids(self, vocabulary: Vocabulary) -> NDArray[np.int64]:
        """The id of every number, int64 [numbers]."""
        return np.array(vocabulary.ids(self._numbers), np.int64)


class StoreWriter:
    """Writes a store: first with provisional numbers, then, in `finish`, with the ids of the vocabularies.

    The folder is a store only when meta.json is there, which is removed first and written last.
    """

    def __init__(self, folder: Path, *, joint: bool) -> None:
        self.pairs = 0
        source = PieceNumbers()
        self.numbers = (source, source if joint else PieceNumbers())
        self._folder = folder
        self._ends = [0, 0]
        self._files = ExitStack()
        self._ids: list[BinaryIO] = []
        self._offsets: list[BinaryIO] = []
        self._links: list[BinaryIO] = []
        self._links_end = 0

    def __enter__(self) -> StoreWriter:
        with _naming_folder(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            for leftover in (META, LINKS, LINK_OFFSETS):
                (self._folder / leftover).unlink(missing_ok=True)
            for side in SIDES:
                self._ids.append(self._files.enter_context(open(self._folder / f"{side}.numbers", "wb")))
                self._offsets.append(self._files.enter_context(open(self._folder / f"{side}.offsets", "wb")))
                self._offsets[-1].write(np.zeros(1, np.int64).tobytes())
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):  # closing flushes; what failed there has failed before, or is not needed any more
            self._files.close()
        for side in SIDES:
            (self._folder / f"{side}.numbers").unlink(missing_ok=True)

    def add(self, segmented: SegmentedPairs, kept: NDArray[np.bool_]) -> None:
        """Append those lines of both sides that are `kept`, bool [lines], and their links."""
        self.pairs += int(kept.sum())
        with _naming_folder(self._folder):
            if segmented.linked is not None:
                self._add_links(segmented.linked, kept)
            sides = (segmented.source, segmented.target)
            for index, (side, numbers) in enumerate(zip(sides, self.numbers, strict=True)):
                stored = numbers.of(side.pieces)[side.numbers][np.repeat(kept, side.lengths)]
                numbers.count(stored)
                ends = self._ends[index] + np.cumsum(side.lengths[kept])
                self._ends[index] += len(stored)
                self._ids[index].write(stored.tobytes())
                self._offsets[index].write(ends.tobytes())

    def _add_links(self, linked: SegmentLinks, kept: NDArray[np.bool_]) -> None:
        if not self._links:
            for name in (LINKS, LINK_OFFSETS):
                self._links.append(self._files.enter_context(open(self._folder / name, "wb")))  # noqa: SIM115
            self._links[1].write(np.zeros(1, np.int64).tobytes())
        links, offsets = self._links
        stored = linked.links[np.repeat(kept, linked.lengths)]
        ends = self._links_end + np.cumsum(linked.lengths[kept])
        self._links_end += len(stored)
        links.write(stored.tobytes())
        offsets.write(ends.tobytes())

    def finish(self, vocabularies: tuple[Vocabulary, Vocabulary], left_out: dict[str, int]) -> None:
        """Rewrite the numbers as ids and say what is in the folder."""
        meta: dict[str, Any] = {"format": FORMAT, "pairs": self.pairs, "left_out": left_out}
        with _naming_folder(self._folder):
            self._files.close()
            for side, numbers, vocabulary, end in zip(SIDES, self.numbers, vocabularies, self._ends, strict=True):
                ids = numbers.ids(vocabulary)
                dtype = "uint16" if len(vocabulary) <= 1 << 16 else "uint32"
                with (
                    open(self._folder / f"{side}.numbers", "rb") as provisional,
                    open(self._folder / f"{side}.ids", "wb") as final,
                ):
                    while block := provisional.read(1 << 22):
                        final.write(ids[np.frombuffer(block, np.uint32)].astype(dtype).tobytes())
                meta[side] = {"segments": end, "dtype": dtype, "vocabulary": vocabulary.digest}
            if self._links:
                meta["links"] = self._links_end
        with replace_file(self._folder / META) as file:
            file.write(json.dumps(meta, indent=2) + "\n")


@contextmanager
def _naming_folder(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{folder}: the corpus cannot be written: {error.strerror}") from error
