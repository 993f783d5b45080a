"""A corpus as memory-mapped ids: segmented once, larger than memory if need be.

    FOLDER/source.ids        ids of all lines one after the other, uint16 where the vocabulary fits, else uint32
    FOLDER/source.offsets    int64 [N + 1]; line i is ids[offsets[i] : offsets[i + 1]], without end of sentence
    FOLDER/target.ids, FOLDER/target.offsets
    FOLDER/links.pairs       where an alignment was given: (source segment, target segment), each counted within its
                             line, uint32; FOLDER/links.offsets as above, int64 [N + 1], counted in links
    FOLDER/meta.json         format version, counts, dtypes, digests of the vocabularies; written last

One pass over the text: lines are segmented (by all cores, once that pays), the pieces numbered in the order of
their appearance and counted; then the vocabulary is known, and the numbers are rewritten as its ids. In memory are
the counts and what the cleaner keeps to find duplicates, nothing else that grows with the corpus.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.config.schema import SideConfig, TextConfig
from dragoman.data.segmenting import SegmentedPairs, SegmentLinks, segment_pairs
from dragoman.errors import InputError, RunError
from dragoman.progress import ProgressCallback
from dragoman.text.corpus import Cleaner, Pair
from dragoman.text.lines import replace_file
from dragoman.text.segmentation import Segmentation
from dragoman.text.segmentation.whitespace import WhitespaceSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary

FORMAT = 1
SIDES: tuple[Literal["source"], Literal["target"]] = ("source", "target")


@dataclass(frozen=True, slots=True)
class RaggedIds:
    """The lines of one language as ids, without end of sentence; in a store both arrays are memory-mapped."""

    ids: NDArray[np.integer[Any]]
    """All lines, one after the other."""
    offsets: NDArray[np.int64]
    """Where each line begins, and where the last one ends, int64 [N + 1]."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Segments in each line, int64 [N]; computed anew, so that nothing of this size stays in memory."""
        return np.diff(self.offsets)

    def lengths_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Segments in some lines."""
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
    """Where the links of each pair begin, and where those of the last one end, int64 [N + 1]."""

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
        """How many pairs were read and not stored, by reason."""

    def __len__(self) -> int:
        return len(self.source.offsets) - 1

    def source_ids(self, row: int) -> list[int]:
        """The source of a pair, without end of sentence."""
        return self.source.line(row)

    def target_ids(self, row: int) -> list[int]:
        """The target of a pair, without end of sentence."""
        return self.target.line(row)

    @classmethod
    def open(cls, folder: Path) -> Store:
        """Map a stored corpus.

        Raises:
            RunError: it is missing or unfinished, of a newer format, or its files do not fit together.
        """
        meta = _read_meta(folder)
        source, target = (_open_side(folder, side, meta[side], meta["pairs"]) for side in SIDES)
        digests = (meta["source"]["vocabulary"], meta["target"]["vocabulary"])
        links = _open_links(folder, meta["links"], meta["pairs"]) if "links" in meta else None
        return cls(source, target, digests, meta["left_out"], links)


@dataclass(frozen=True, slots=True)
class PreparedCorpus:
    """A stored training corpus and the text sides that were made for it."""

    store: Store
    source: TextSide
    target: TextSide


def build_store(
    folder: Path,
    pairs: Iterable[Pair],
    segmentations: tuple[Segmentation, Segmentation],
    config: TextConfig,
    cleaner: Cleaner,
    *,
    progress: ProgressCallback | None = None,
    workers: int | None = None,
) -> PreparedCorpus:
    """Segment, clean and store the training pairs, and make the vocabularies from what is kept.

    The result does not depend on the number of workers. With `config.joint` both sides share one vocabulary, of the
    source's size and minimum count.

    Args:
        workers: processes that segment; None for as many as there are cores. A small corpus is segmented here.

    Raises:
        InputError: no pair is left after cleaning, or the folder cannot be written.
    """
    with _Writer(folder, joint=config.joint) as writer:
        left_out = _store_segments(writer, pairs, segmentations, cleaner.check, progress, workers)
        if not writer.pairs:
            raise InputError(
                f"no training pair is left after cleaning ({_listed(left_out)}); "
                "look at the text, or relax cleaning.max_length and cleaning.max_ratio"
            )
        settings = (config.source, config.source if config.joint else config.target)
        vocabularies = [
            Vocabulary.from_counts(numbers.counts(), side.vocabulary, side.minimum_count)
            for numbers, side in zip(writer.numbers, settings, strict=True)
        ]
        if config.joint:
            vocabularies[1] = vocabularies[0]
        writer.finish((vocabularies[0], vocabularies[1]), left_out)
    sides = [TextSide(*parts) for parts in zip(segmentations, vocabularies, strict=True)]
    return PreparedCorpus(Store.open(folder), *sides)


def store_pairs(
    folder: Path,
    pairs: Iterable[Pair],
    source: TextSide,
    target: TextSide,
    *,
    progress: ProgressCallback | None = None,
    workers: int | None = None,
) -> Store:
    """Store pairs (the dev set) with the text sides of a run; nothing is cleaned away.

    A pair with an empty side has no perplexity: it is not stored, but counted in `Store.left_out`.

    Raises:
        InputError: every pair has an empty side, or the folder cannot be written.
    """
    with _Writer(folder, joint=False) as writer:
        segmentations = (source.segmentation, target.segmentation)
        left_out = _store_segments(writer, pairs, segmentations, _empty_side, progress, workers)
        if not writer.pairs:
            raise InputError(f"the dev set has no pair with text on both sides ({_listed(left_out)})")
        writer.finish((source.vocabulary, target.vocabulary), left_out)
    return Store.open(folder)


def store_lines(
    folder: Path,
    lines: Iterable[Pair],
    segmentation: Segmentation,
    vocabulary: Vocabulary | SideConfig,
    check: Callable[[Pair, int, int], str | None],
    *,
    progress: ProgressCallback | None = None,
    workers: int | None = None,
) -> tuple[Store, TextSide]:
    """Store text of one language as the targets of pairs whose sources are empty.

    Args:
        vocabulary: the one to number segments with, or the settings of one to be made from what is kept.
        check: why a line (with 0 source segments and so many target segments) is left out; None where it is kept.

    Raises:
        InputError: no line is left, or the folder cannot be written.
    """
    with _Writer(folder, joint=False) as writer:
        left_out = _store_segments(writer, lines, (WhitespaceSegmentation(), segmentation), check, progress, workers)
        if not writer.pairs:
            raise InputError(f"no line is left after cleaning ({_listed(left_out)}); look at the text")
        if isinstance(vocabulary, SideConfig):
            counts = writer.numbers[1].counts()
            vocabulary = Vocabulary.from_counts(counts, vocabulary.vocabulary, vocabulary.minimum_count)
        writer.finish((Vocabulary(()), vocabulary), left_out)
    return Store.open(folder), TextSide(segmentation, vocabulary)


def _empty_side(pair: Pair, source_segments: int, target_segments: int) -> str | None:
    return None if source_segments and target_segments else "empty side"


def _listed(left_out: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in left_out.items()) or "there was none"


def _store_segments(
    writer: _Writer,
    pairs: Iterable[Pair],
    segmentations: tuple[Segmentation, Segmentation],
    check: Callable[[Pair, int, int], str | None],
    progress: ProgressCallback | None,
    workers: int | None,
) -> dict[str, int]:
    """Write what `check` lets through; return how many pairs it held back, by reason."""
    left_out: dict[str, int] = {}
    done = 0
    for chunk, segmented in segment_pairs(pairs, segmentations, workers):
        lengths = (segmented.source.lengths.tolist(), segmented.target.lengths.tolist())
        reasons = [check(*checked) for checked in zip(chunk, *lengths, strict=True)]
        for reason in filter(None, reasons):
            left_out[reason] = left_out.get(reason, 0) + 1
        writer.add(segmented, np.array([reason is None for reason in reasons]))
        done += len(chunk)
        if progress is not None:
            progress(done)
    return left_out


# Files ---------------------------------------------------------------------------------------------------------------


class _Numbers:
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


class _Writer:
    """Writes a store: first with provisional numbers, then, in `finish`, with the ids of the vocabularies.

    The folder is a store only when meta.json is there, which is removed first and written last.
    """

    def __init__(self, folder: Path, *, joint: bool) -> None:
        self.pairs = 0
        source = _Numbers()
        self.numbers = (source, source if joint else _Numbers())
        self._folder = folder
        self._ends = [0, 0]
        self._files = ExitStack()
        self._ids: list[BinaryIO] = []
        self._offsets: list[BinaryIO] = []
        self._links: list[BinaryIO] = []
        self._links_end = 0

    def __enter__(self) -> _Writer:
        with _naming_folder(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            for leftover in (_META, _LINKS, _LINK_OFFSETS):
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
            for name in (_LINKS, _LINK_OFFSETS):
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
        with replace_file(self._folder / _META) as file:
            file.write(json.dumps(meta, indent=2) + "\n")


_META = "meta.json"
_LINKS, _LINK_OFFSETS = "links.pairs", "links.offsets"


@contextmanager
def _naming_folder(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{folder}: the corpus cannot be written: {error.strerror}") from error


def _read_meta(folder: Path) -> dict[str, Any]:
    try:
        meta = json.loads((folder / _META).read_text(encoding="utf-8"))
        newer = meta["format"] > FORMAT
        complete = newer or {"pairs", "left_out", *SIDES} <= meta.keys()
    except FileNotFoundError:
        raise RunError(f"{folder}: no stored corpus, or an unfinished one: it has no {_META}") from None
    except (OSError, ValueError, TypeError, KeyError):
        complete = newer = False
    if not complete:
        raise RunError(f"{folder / _META}: damaged; {_AGAIN}")
    if newer:
        raise RunError(
            f"{folder}: stored corpus of format {meta['format']}, but this program reads up to {FORMAT}; update it"
        )
    return dict(meta)


def _open_side(folder: Path, side: str, meta: dict[str, Any], pairs: int) -> RaggedIds:
    try:
        path = folder / f"{side}.ids"
        # a file of nothing cannot be mapped
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
        # a file of nothing cannot be mapped
        links = np.memmap(folder / _LINKS, np.uint32, mode="r") if count else np.empty(0, np.uint32)
        offsets = np.memmap(folder / _LINK_OFFSETS, np.int64, mode="r")
    except (OSError, ValueError) as error:
        raise RunError(f"{folder}: {_LINKS} or {_LINK_OFFSETS} is missing or damaged ({error}); {_AGAIN}") from None
    if len(offsets) != pairs + 1 or offsets[-1] != count or len(links) != 2 * count:
        raise RunError(
            f"{folder}: {_LINKS} and {_LINK_OFFSETS} do not fit together: {len(offsets) - 1:,} pairs that end at "
            f"{offsets[-1]:,}, but {pairs:,} pairs and {len(links) / 2:,.0f} links; {_AGAIN}"
        )
    return Links(np.asarray(links).reshape(-1, 2), np.asarray(offsets))


_AGAIN = "store the corpus again"
