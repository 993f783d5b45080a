"""Writing a stored corpus in one pass, before its vocabularies are known.

Pieces get provisional ids in the order of their appearance and are counted; `finish` replaces the provisional ids by
those of the vocabularies.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dragoman.data.block_digests import DigestingWriter
from dragoman.data.store import FORMAT, LINK_OFFSETS, LINKS, META, SIDES
from dragoman.stored_files import dump_json
from dragoman.text.lines import replace_file
from dragoman.text.segmentation.base import SegmentedPairs, SegmentLinks
from dragoman.text.temporary import writing
from dragoman.text.vocabulary import Vocabulary

_FAILED = "the corpus cannot be written"


class PieceIndex:
    """Provisional ids of pieces, in the order of their appearance, and how often each piece was stored."""

    def __init__(self) -> None:
        self._provisional: dict[str, int] = {}
        self._counts = np.zeros(0, np.int64)  # of the provisional ids, and room for more

    def add(self, pieces: Iterable[str]) -> NDArray[np.uint32]:
        """Give new pieces an id; return the provisional ids of all `pieces`, uint32 [pieces]."""
        ids = [self._provisional.setdefault(piece, len(self._provisional)) for piece in pieces]
        if (missing := len(self._provisional) - len(self._counts)) > 0:
            self._counts = np.concatenate((self._counts, np.zeros(missing + len(self._counts), np.int64)))
        return np.array(ids, np.uint32)

    def count(self, stored: NDArray[np.uint32]) -> None:
        """Count the provisional ids that were written."""
        np.add.at(self._counts, stored, 1)

    def counts(self) -> dict[str, int]:
        """How often each piece was stored; pieces of left-out pairs only are not included."""
        counts = self._counts[: len(self._provisional)].tolist()
        return {piece: count for piece, count in zip(self._provisional, counts, strict=True) if count}

    def vocabulary_ids(self, vocabulary: Vocabulary) -> NDArray[np.int64]:
        """The id in `vocabulary` of every provisional id, int64 [provisional ids]."""
        return np.array(vocabulary.ids(self._provisional), np.int64)


class StoreWriter:
    """Writes a store; a context manager.

    The folder is a store only if it has meta.json, which is removed first and written last.
    """

    def __init__(self, folder: Path, *, joint: bool) -> None:
        self.pairs = 0
        """Pairs written."""
        self._corpora: list[int] = []
        source = PieceIndex()
        self.indexes = (source, source if joint else PieceIndex())
        self._folder = folder
        self._ends = [0, 0]
        self._files = ExitStack()
        self._ids: list[BinaryIO] = []
        self._offsets: list[DigestingWriter] = []
        self._links: list[DigestingWriter] = []
        self._links_end = 0

    def __enter__(self) -> StoreWriter:
        with writing(self._folder, _FAILED):
            self._folder.mkdir(parents=True, exist_ok=True)
            for leftover in (META, LINKS, LINK_OFFSETS):
                (self._folder / leftover).unlink(missing_ok=True)
            for side in SIDES:
                self._ids.append(self._files.enter_context(open(self._folder / f"{side}.provisional", "wb")))
                self._offsets.append(self._open(f"{side}.offsets"))
                self._offsets[-1].write(np.zeros(1, np.int64).tobytes())
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):  # closing flushes; an earlier error is raised already
            self._files.close()
        for side in SIDES:
            with suppress(OSError):  # removed with the run, of which it is a part
                (self._folder / f"{side}.provisional").unlink()

    def _open(self, name: str) -> DigestingWriter:
        return DigestingWriter(self._files.enter_context(open(self._folder / name, "wb")))

    def add(self, segmented: SegmentedPairs, kept: NDArray[np.bool_], corpora: NDArray[np.int64]) -> None:
        """Append the pairs that are `kept`, bool [L], and their links.

        Args:
            corpora: the number of the corpus of each pair, int64 [L], ascending from call to call.
        """
        self.pairs += int(kept.sum())
        self._corpora.extend([0] * (int(corpora[-1]) + 1 - len(self._corpora)))
        for corpus, count in zip(*np.unique(corpora[kept], return_counts=True), strict=True):
            self._corpora[corpus] += int(count)
        with writing(self._folder, _FAILED):
            if segmented.linked is not None:
                self._add_links(segmented.linked, kept)
            sides = (segmented.source, segmented.target)
            for number, (side, index) in enumerate(zip(sides, self.indexes, strict=True)):
                stored = index.add(side.pieces)[side.ids][np.repeat(kept, side.lengths)]  # [segments kept]
                index.count(stored)
                ends = self._ends[number] + np.cumsum(side.lengths[kept])  # [pairs kept]
                self._ends[number] += len(stored)
                self._ids[number].write(stored.tobytes())
                self._offsets[number].write(ends.tobytes())

    def _add_links(self, linked: SegmentLinks, kept: NDArray[np.bool_]) -> None:
        if not self._links:
            self._links = [self._open(name) for name in (LINKS, LINK_OFFSETS)]
            self._links[1].write(np.zeros(1, np.int64).tobytes())
        links, offsets = self._links
        stored = linked.links[np.repeat(kept, linked.lengths)]  # [links kept, 2]
        ends = self._links_end + np.cumsum(linked.lengths[kept])
        self._links_end += len(stored)
        links.write(stored.tobytes())
        offsets.write(ends.tobytes())

    def finish(self, vocabularies: tuple[Vocabulary, Vocabulary], left_out: dict[str, int]) -> None:
        """Replace the provisional ids by those of the vocabularies, and write meta.json."""
        meta: dict[str, Any] = {
            "format": FORMAT,
            "pairs": self.pairs,
            "corpora": self._corpora,
            "left_out": left_out,
        }
        with writing(self._folder, _FAILED):
            self._files.close()
            parts = zip(SIDES, self.indexes, vocabularies, self._ends, self._offsets, strict=True)
            for side, index, vocabulary, end, offsets in parts:
                ids = index.vocabulary_ids(vocabulary)
                dtype = "uint16" if len(vocabulary) <= 1 << 16 else "uint32"
                with (
                    open(self._folder / f"{side}.provisional", "rb") as provisional,
                    open(self._folder / f"{side}.ids", "wb") as final,
                ):
                    written = DigestingWriter(final)
                    while block := provisional.read(1 << 22):
                        written.write(ids[np.frombuffer(block, np.uint32)].astype(dtype).tobytes())
                meta[side] = {
                    "segments": end,
                    "dtype": dtype,
                    "vocabulary": vocabulary.digest,
                    "ids": written.digests(),
                    "offsets": offsets.digests(),
                }
            if self._links:
                pairs, offsets = self._links
                meta["links"] = {"links": self._links_end, "pairs": pairs.digests(), "offsets": offsets.digests()}
        with replace_file(self._folder / META) as file:
            file.write(dump_json(meta, indent=2))
