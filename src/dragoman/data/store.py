"""A stored corpus: ids in memory-mapped files, so that it may be larger than memory.

    FOLDER/source.ids        ids of all lines one after the other, uint16 where the vocabulary fits, else uint32
    FOLDER/source.offsets    int64 [N + 1]; line i is ids[offsets[i] : offsets[i + 1]], without EOS
    FOLDER/target.ids, FOLDER/target.offsets
    FOLDER/links.pairs       if an alignment was given: (source segment, target segment), both from 0 within their
                             line, uint32; FOLDER/links.offsets as above, int64 [N + 1], counted in links
    FOLDER/meta.json         format version, counts, dtypes, digests of the vocabularies, the SHA-256 of each block of
                             the other files, and its own; written last

`store_writer` writes it in one pass over the text. The counts of the pieces and the digests that the cleaner finds
duplicates by are in memory, and nothing else that grows with the corpus.

Opening reads meta.json and little more. A block of the other files is verified when it is first read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dragoman.data.block_digests import BlockVerifier, count_blocks
from dragoman.errors import RunError
from dragoman.stored_files import JsonFile, open_regular, read_json
from dragoman.text.vocabulary import Vocabulary

FORMAT = 3
"""Version of meta.json."""
SIDES: tuple[Literal["source"], Literal["target"]] = ("source", "target")

META = "meta.json"
LINKS, LINK_OFFSETS = "links.pairs", "links.offsets"
_REMEDY = "take the file from a copy of the run folder, or train again with --overwrite"


@dataclass(frozen=True, slots=True)
class RaggedIds:
    """N lines of ids of different lengths, without EOS; in a store both arrays are memory-mapped."""

    ids: NDArray[np.integer[Any]]
    """All lines, one after the other; read them with the methods, which verify what they read."""
    offsets: NDArray[np.int64]
    """Start of each line in `ids`, and the end of the last one, int64 [N + 1]."""
    verifiers: tuple[BlockVerifier, BlockVerifier] | None = None
    """Of `ids` and `offsets`; None for arrays that are not of a store."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Segments of each line, int64 [N]; computed on every call, so that no array of this size stays in memory.

        Raises:
            RunError: the stored corpus is damaged.
        """
        if self.verifiers is not None:
            self.verifiers[1].require_all()
        return np.diff(self.offsets)

    def lengths_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Segments of the lines `rows` [B], int64 [B].

        Raises:
            RunError: the stored corpus is damaged.
        """
        if self.verifiers is not None:
            self.verifiers[1].require(rows, rows + 2)
        return self.offsets[rows + 1] - self.offsets[rows]

    def spans_of(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The starts of the lines `rows` [B] in `ids`, and their lengths, int64 [B] each; the ids there are verified.

        Raises:
            RunError: the stored corpus is damaged.
        """
        lengths = self.lengths_of(rows)
        starts = self.offsets[rows]
        if self.verifiers is not None:
            self.verifiers[0].require(starts, starts + lengths)
        return starts, lengths

    def line(self, row: int) -> list[int]:
        """The ids of one line.

        Raises:
            RunError: the stored corpus is damaged.
        """
        starts, lengths = self.spans_of(np.array([row]))
        ids: list[int] = self.ids[starts[0] : starts[0] + lengths[0]].tolist()
        return ids


@dataclass(frozen=True, slots=True)
class Links:
    """The links between the segments of N pairs; in a store both arrays are memory-mapped."""

    links: NDArray[np.integer[Any]]
    """(source segment, target segment) of all pairs, one pair after the other, [links, 2]."""
    offsets: NDArray[np.int64]
    """Start of the links of each pair, and the end of the last ones, int64 [N + 1]."""
    verifiers: tuple[BlockVerifier, BlockVerifier] | None = None
    """Of `links`, flat, and `offsets`; None for arrays that are not of a store."""

    def of(self, row: int) -> list[tuple[int, int]]:
        """The links of one pair.

        Raises:
            RunError: the stored corpus is damaged.
        """
        starts, counts = self.spans_of(np.array([row]))
        return [(s, t) for s, t in self.links[starts[0] : starts[0] + counts[0]].tolist()]

    def spans_of(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The starts of the links of `rows` [B] in `links`, and their counts, int64 [B] each; verified.

        Raises:
            RunError: the stored corpus is damaged.
        """
        if self.verifiers is not None:
            self.verifiers[1].require(rows, rows + 2)
        starts, stops = self.offsets[rows], self.offsets[rows + 1]
        if self.verifiers is not None:
            self.verifiers[0].require(2 * starts, 2 * stops)
        return starts, stops - starts


class Store:
    """A stored corpus of N pairs, open for reading."""

    def __init__(
        self,
        source: RaggedIds,
        target: RaggedIds,
        vocabularies: tuple[str, str],
        left_out: dict[str, int],
        links: Links | None = None,
        corpora: Sequence[int] | None = None,
    ) -> None:
        self.source = source
        self.target = target
        self.links = links
        """None where no alignment was given."""
        self.vocabularies = vocabularies
        """Digests of the source and the target vocabulary that the ids belong to."""
        self.left_out = left_out
        """How many pairs were left out, by reason."""
        self.corpora = (len(self),) if corpora is None else tuple(corpora)
        """Pairs of each corpus; they lie one after the other."""

    def __len__(self) -> int:
        return len(self.source.offsets) - 1

    def pair(self, row: int) -> tuple[list[int], list[int]]:
        """The source and the target of a pair, without EOS.

        Raises:
            RunError: a file is damaged.
        """
        return self.source.line(row), self.target.line(row)

    def spread(self, most: int) -> Iterator[tuple[list[int], list[int]]]:
        """Yield at most so many pairs, evenly spread; raises as `pair` does."""
        return map(self.pair, np.unique(np.linspace(0, len(self) - 1, most).astype(int)).tolist())

    @classmethod
    def open(cls, folder: Path, vocabularies: tuple[Vocabulary, Vocabulary]) -> Store:
        """Open a stored corpus as memory-mapped files; what is damaged in them is found when it is read.

        Args:
            vocabularies: those of the run, source and target.

        Raises:
            RunError: it is missing or unfinished, of another format, its files do not fit together, or it belongs to
                other vocabularies.
        """
        meta = _read_meta(folder)
        sides = (meta.source, meta.target)
        for side, stated, vocabulary in zip(SIDES, sides, vocabularies, strict=True):
            if stated.vocabulary != vocabulary.digest:
                raise RunError(
                    f"{folder / META}: {side}.vocabulary: the stored corpus belongs to another {side} vocabulary than "
                    "that of the run; take data/ and text/ from the same copy of the run folder, or train again with "
                    "--overwrite"
                )
        source, target = (
            _open_side(folder, side, stated, meta.pairs, len(vocabulary))
            for side, stated, vocabulary in zip(SIDES, sides, vocabularies, strict=True)
        )
        links = None if meta.links is None else _open_links(folder, meta.links, meta.pairs)
        if sum(meta.corpora) != meta.pairs:
            raise RunError(f"{folder / META}: corpora: their pairs are not {meta.pairs:,} in sum; {_REMEDY}")
        return cls(source, target, (meta.source.vocabulary, meta.target.vocabulary), meta.left_out, links, meta.corpora)


_Count = Annotated[int, Meta(ge=0, lt=1 << 48)]


class _Side(Struct, forbid_unknown_fields=True):
    segments: _Count
    dtype: Literal["uint16", "uint32"]
    vocabulary: str
    ids: list[str]
    offsets: list[str]


class _LinkFiles(Struct, forbid_unknown_fields=True):
    links: _Count
    pairs: list[str]
    offsets: list[str]


class _Meta(JsonFile, frozen=True, kw_only=True):
    """meta.json; the lists are the SHA-256 of the blocks of files."""

    digest: str
    pairs: Annotated[int, Meta(ge=1, lt=1 << 48)]
    left_out: dict[str, int]
    source: _Side
    target: _Side
    links: _LinkFiles | None = None
    corpora: list[_Count]


def _read_meta(folder: Path) -> _Meta:
    try:
        return read_json(folder / META, _Meta, newest=FORMAT, oldest=FORMAT, remedy=_REMEDY)
    except FileNotFoundError:
        raise RunError(f"{folder}: no stored corpus, or an unfinished one: it has no {META}") from None


def _open_side(folder: Path, side: str, stated: _Side, pairs: int, vocabulary_size: int) -> RaggedIds:
    ids_path, offsets_path = folder / f"{side}.ids", folder / f"{side}.offsets"
    ids = _mapped(ids_path, np.dtype(stated.dtype), stated.segments, stated.ids)
    offsets = _mapped(offsets_path, np.dtype(np.int64), pairs + 1, stated.offsets)

    def unknown_id(start: int, stop: int) -> str | None:
        highest = int(ids[start:stop].max())
        return f"id {highest} of a vocabulary of {vocabulary_size:,}" if highest >= vocabulary_size else None

    return RaggedIds(
        ids,
        offsets,
        (
            BlockVerifier(ids_path, ids, stated.ids, _REMEDY, unknown_id),
            _offset_verifier(offsets_path, offsets, stated.offsets, len(ids)),
        ),
    )


def _open_links(folder: Path, stated: _LinkFiles, pairs: int) -> Links:
    links = _mapped(folder / LINKS, np.dtype(np.uint32), 2 * stated.links, stated.pairs)
    offsets = _mapped(folder / LINK_OFFSETS, np.dtype(np.int64), pairs + 1, stated.offsets)
    return Links(
        links.reshape(-1, 2),
        offsets,
        (
            BlockVerifier(folder / LINKS, links, stated.pairs, _REMEDY),
            _offset_verifier(folder / LINK_OFFSETS, offsets, stated.offsets, stated.links),
        ),
    )


_Number = TypeVar("_Number", bound=np.generic)


def _mapped(path: Path, dtype: np.dtype[_Number], count: int, digests: list[str]) -> NDArray[_Number]:
    """A file of `count` numbers as a memory-mapped array.

    Raises:
        RunError: it is missing, cannot be read, or has another length.
    """
    size = count * dtype.itemsize
    try:
        with open_regular(path) as file:
            stored = file.seek(0, 2)
            if stored == size:
                # An empty file cannot be mapped. A plain array over the same memory is indexed faster.
                content = np.asarray(np.memmap(file, dtype, mode="r")) if size else np.empty(0, dtype)
    except FileNotFoundError:
        raise RunError(f"{path}: missing; {_REMEDY}") from None
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}; {_REMEDY}") from None
    if stored != size or len(digests) != count_blocks(size):
        raise RunError(
            f"{path}: is damaged: it has {stored:,} bytes and {len(digests):,} digests where {META} counts {count:,} "
            f"numbers of {dtype.itemsize} bytes; {_REMEDY}"
        )
    return content


def _offset_verifier(path: Path, offsets: NDArray[np.int64], digests: list[str], end: int) -> BlockVerifier:
    """Checks also that the offsets ascend from 0 to `end`."""

    def descending(start: int, stop: int) -> str | None:
        block = offsets[start : stop + 1]  # with the first one of the next block
        starts_right = start > 0 or block[0] == 0
        ends_right = stop < len(offsets) or block[-1] == end
        if starts_right and ends_right and block[0] >= 0 and block[-1] <= end and (np.diff(block) >= 0).all():
            return None
        return f"its numbers do not ascend from 0 to {end:,}"

    return BlockVerifier(path, offsets, digests, _REMEDY, descending)
