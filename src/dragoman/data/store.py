"""A stored corpus: ids in memory-mapped files, so that it may be larger than memory.

    FOLDER/source.ids        ids of all lines one after the other, uint16 where the vocabulary fits, else uint32
    FOLDER/source.offsets    int64 [N + 1]; line i is ids[offsets[i] : offsets[i + 1]], without EOS
    FOLDER/target.ids, FOLDER/target.offsets
    FOLDER/links.pairs       if an alignment was given: (source segment, target segment), both from 0 within their
                             line, uint32; FOLDER/links.offsets as above, int64 [N + 1], counted in links
    FOLDER/meta.json         format version, counts, dtypes, digests of the vocabularies; written last

`store_writer` writes it in one pass over the text. The counts of the pieces and the digests that the cleaner finds
duplicates by are in memory, and nothing else that grows with the corpus.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import RunError

FORMAT = 1
SIDES: tuple[Literal["source"], Literal["target"]] = ("source", "target")

META = "meta.json"
LINKS, LINK_OFFSETS = "links.pairs", "links.offsets"


@dataclass(frozen=True, slots=True)
class RaggedIds:
    """N lines of ids of different lengths, without EOS; in a store both arrays are memory-mapped."""

    ids: NDArray[np.integer[Any]]
    """All lines, one after the other."""
    offsets: NDArray[np.int64]
    """Start of each line in `ids`, and the end of the last one, int64 [N + 1]."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Segments of each line, int64 [N]; computed on every call, so that no array of this size stays in memory."""
        return np.diff(self.offsets)

    def lengths_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Segments of the lines `rows` [B], int64 [B]."""
        return self.offsets[rows + 1] - self.offsets[rows]

    def line(self, row: int) -> list[int]:
        """The ids of one line."""
        ids: list[int] = self.ids[self.offsets[row] : self.offsets[row + 1]].tolist()
        return ids


@dataclass(frozen=True, slots=True)
class Links:
    """The links between the segments of N pairs; in a store both arrays are memory-mapped."""

    links: NDArray[np.integer[Any]]
    """(source segment, target segment) of all pairs, one pair after the other, [links, 2]."""
    offsets: NDArray[np.int64]
    """Start of the links of each pair, and the end of the last ones, int64 [N + 1]."""

    def of(self, row: int) -> list[tuple[int, int]]:
        """The links of one pair."""
        return [(s, t) for s, t in self.links[self.offsets[row] : self.offsets[row + 1]].tolist()]


class Store:
    """A stored corpus of N pairs, open for reading."""

    def __init__(
        self,
        source: RaggedIds,
        target: RaggedIds,
        vocabularies: tuple[str, str],
        left_out: dict[str, int],
        links: Links | None = None,
    ) -> None:
        self.source = source
        self.target = target
        self.links = links
        """None where no alignment was given."""
        self.vocabularies = vocabularies
        """Digests of the source and the target vocabulary that the ids belong to."""
        self.left_out = left_out
        """How many pairs were left out, by reason."""

    def __len__(self) -> int:
        return len(self.source.offsets) - 1

    def source_ids(self, row: int) -> list[int]:
        """The source of a pair, without EOS."""
        return self.source.line(row)

    def target_ids(self, row: int) -> list[int]:
        """The target of a pair, without EOS."""
        return self.target.line(row)

    @classmethod
    def open(cls, folder: Path) -> Store:
        """Open a stored corpus as memory-mapped files.

        Raises:
            RunError: it is missing or unfinished, of a newer format, or its files do not fit together.
        """
        meta = _read_meta(folder)
        source, target = (_open_side(folder, side, meta[side], meta["pairs"]) for side in SIDES)
        digests = (meta["source"]["vocabulary"], meta["target"]["vocabulary"])
        links = _open_links(folder, meta["links"], meta["pairs"]) if "links" in meta else None
        return cls(source, target, digests, meta["left_out"], links)


def _read_meta(folder: Path) -> dict[str, Any]:
    try:
        meta = json.loads((folder / META).read_text(encoding="utf-8"))
        newer = meta["format"] > FORMAT
        complete = newer or {"pairs", "left_out", *SIDES} <= meta.keys()
    except FileNotFoundError:
        raise RunError(f"{folder}: no stored corpus, or an unfinished one: it has no {META}") from None
    except (OSError, ValueError, TypeError, KeyError):
        complete = newer = False
    if not complete:
        raise RunError(f"{folder / META}: damaged; {_AGAIN}")
    if newer:
        raise RunError(
            f"{folder}: stored corpus of format {meta['format']}, but this program reads up to {FORMAT}; update it"
        )
    return dict(meta)


def _open_side(folder: Path, side: str, meta: dict[str, Any], pairs: int) -> RaggedIds:
    try:
        path = folder / f"{side}.ids"
        # an empty file cannot be memory-mapped
        ids = np.memmap(path, meta["dtype"], mode="r") if meta["segments"] else np.empty(0, meta["dtype"])
        offsets = np.memmap(folder / f"{side}.offsets", np.int64, mode="r")
    except (OSError, ValueError) as error:  # ValueError: empty, or cut in mid-number
        raise RunError(f"{folder}: {side}.ids or {side}.offsets is missing or damaged ({error}); {_AGAIN}") from None
    if len(offsets) != pairs + 1 or offsets[-1] != len(ids) or len(ids) != meta["segments"]:
        raise RunError(
            f"{folder}: {side}.ids and {side}.offsets do not fit together: {len(offsets) - 1:,} lines that end at "
            f"{offsets[-1]:,}, but {pairs:,} pairs and {len(ids):,} ids; {_AGAIN}"
        )
    return RaggedIds(np.asarray(ids), np.asarray(offsets))  # plain arrays over the same memory index faster


def _open_links(folder: Path, count: int, pairs: int) -> Links:
    try:
        # an empty file cannot be memory-mapped
        links = np.memmap(folder / LINKS, np.uint32, mode="r") if count else np.empty(0, np.uint32)
        offsets = np.memmap(folder / LINK_OFFSETS, np.int64, mode="r")
    except (OSError, ValueError) as error:
        raise RunError(f"{folder}: {LINKS} or {LINK_OFFSETS} is missing or damaged ({error}); {_AGAIN}") from None
    if len(offsets) != pairs + 1 or offsets[-1] != count or len(links) != 2 * count:
        raise RunError(
            f"{folder}: {LINKS} and {LINK_OFFSETS} do not fit together: {len(offsets) - 1:,} pairs that end at "
            f"{offsets[-1]:,}, but {pairs:,} pairs and {len(links) / 2:,.0f} links; {_AGAIN}"
        )
    return Links(np.asarray(links).reshape(-1, 2), np.asarray(offsets))


_AGAIN = "store the corpus again"
