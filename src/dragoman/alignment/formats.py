"""File formats of word alignments with sure and possible links: Pharaoh, Talp, and NAACL (also called WPT).

format   a line is      words from   a link      possible
pharaoh  a sentence     0            3-4         3p4 or 3?4
talp     a sentence     1            3-4         3p4 or 3?4
naacl    a link         1            12 3 4 S    12 3 4 P     sentence (from 1), source word, target word, mark

A sure link may also have an s between its numbers. In the NAACL format the mark may be missing (sure) and may be
followed by a confidence, which is ignored; the order of lines has no meaning, and word 0 is the empty word: a link to
it means an unaligned word and is skipped (Mihalcea and Pedersen 2003). Streams of plain Pharaoh lines are in
`text/links.py`.

Alignment weights of many lines are an archive of numpy (.npz), written as a stream.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import numpy as np
from numpy.lib.format import write_array
from numpy.typing import NDArray

from dragoman.errors import InputError
from dragoman.text.lines import read_lines, replace_file, shown_name
from dragoman.text.links import Link, LinkFormat, format_links


class MarkedLinks(NamedTuple):
    """The sure and possible links of one sentence pair, from 0."""

    sure: frozenset[Link]
    possible: frozenset[Link]
    """All links, sure ones included."""


@dataclass(frozen=True)
class Alignments:
    """The contents of an alignment file."""

    format: LinkFormat
    """`talp` for lines like Pharaoh's with words from 1."""
    sentences: tuple[MarkedLinks, ...]


_LINK = re.compile(r"([0-9]{1,9})([-sSpP?])([0-9]{1,9})")
_NAACL = re.compile(r"([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})(?:\s+([SP]))?(?:\s+[0-9.eE+-]+)?")

_MOST_SENTENCES = 1_000_000
"""The largest number of a sentence in NAACL files, where all before it may be left out."""

_SHAPES = (
    "a Pharaoh or Talp line holds links such as 3-4, or 3p4 where they are only possible; a NAACL line is one link: "
    "sentence, source word, target word and S or P"
)


def read_alignments(path: str | Path, form: LinkFormat | None = None, *, one_based: bool = False) -> Alignments:
    """Read a whole alignment file, and detect its format unless it is given.

    NAACL is recognised by its lines. A file like Pharaoh's counts words from 0 if some word has number 0; otherwise it
    is ambiguous, and `one_based` decides that it counts from 1.

    Raises:
        InputError: the file cannot be read or is malformed, or its first word number is ambiguous.
    """
    lines, name = list(read_lines(path)), shown_name(path)
    first = next((line.strip() for line in lines if line.strip()), "")
    if form == "naacl" or (form is None and _NAACL.fullmatch(first)):
        return Alignments("naacl", tuple(_read_naacl(lines, name)))
    sentences = [_parse_line(line, f"{name}:{number}") for number, line in enumerate(lines, 1)]
    form = form or _way_of_counting(sentences, name, one_based)
    first_word = 1 if form == "talp" else 0
    for number, links in enumerate(sentences, 1):
        if first_word and any(0 in link[:2] for link in links):
            raise InputError(f"{name}:{number}: has word 0, but Talp counts words from 1; pharaoh counts from 0")
    return Alignments(
        form, tuple(_marked((i - first_word, j - first_word, sure) for i, j, sure in links) for links in sentences)
    )


_Numbered = tuple[int, int, bool]
"""A link as written in the file: source word, target word, whether it is sure."""


def _parse_line(line: str, origin: str) -> list[_Numbered]:
    links = []
    for word in line.split():
        match = _LINK.fullmatch(word)
        if match is None:
            raise InputError(f"{origin}: {word!r} is not an alignment link; {_SHAPES}")
        links.append((int(match[1]), int(match[3]), match[2] in "-sS"))
    return links


def _way_of_counting(sentences: Sequence[Sequence[_Numbered]], path: str, one_based: bool) -> LinkFormat:
    numbers = {number for links in sentences for source, target, _ in links for number in (source, target)}
    if 0 in numbers or not numbers:
        return "pharaoh"
    if one_based:
        return "talp"
    raise InputError(
        f"{path}: no link has word 0, so words may be counted from 0 or from 1; give its format "
        "(--gold-format, --hyp-format): pharaoh counts from 0, talp from 1"
    )


def _read_naacl(lines: Sequence[str], path: str) -> Iterator[MarkedLinks]:
    sentences: dict[int, list[_Numbered]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        match = _NAACL.fullmatch(line.strip())
        if match is None:
            raise InputError(f"{path}:{number}: {line.strip()!r} is not a NAACL link; {_SHAPES}")
        sentence, source, target = int(match[1]), int(match[2]), int(match[3])
        if not 1 <= sentence <= _MOST_SENTENCES:
            raise InputError(
                f"{path}:{number}: sentence {sentence}; the NAACL format counts sentences from 1, here to "
                f"{_MOST_SENTENCES:,} at most"
            )
        links = sentences.setdefault(sentence, [])
        if source and target:
            links.append((source - 1, target - 1, match[4] != "P"))
    for sentence in range(1, max(sentences, default=0) + 1):
        yield _marked(sentences.get(sentence, ()))


def _marked(links: Iterable[_Numbered]) -> MarkedLinks:
    links = list(links)
    return MarkedLinks(
        frozenset((i, j) for i, j, sure in links if sure),
        frozenset((i, j) for i, j, _ in links),
    )


# Writing -------------------------------------------------------------------------------------------------------------


def format_alignments(
    sentences: Iterable[Iterable[Link]], form: LinkFormat, *, one_based: bool = False
) -> Iterator[str]:
    """Lines of an alignment file whose links are all sure, as a stream; `one_based` applies to Pharaoh only."""
    first = 0 if form == "pharaoh" and not one_based else 1
    write = _WRITERS[form]
    for number, links in enumerate(sentences, 1):
        yield from write(number, sorted({(source + first, target + first) for source, target in links}))


_WRITERS: dict[str, Callable[[int, list[Link]], list[str]]] = {
    "pharaoh": lambda number, links: [format_links(links)],
    "talp": lambda number, links: [format_links(links)],
    "naacl": lambda number, links: [f"{number} {source} {target} S" for source, target in links],
}


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
        """Append an array [T + 1, S]; the name is the number of its line, or begins with it."""
        array = np.zeros((0, 0), np.float32) if weights is None else np.ascontiguousarray(weights)
        with self._opened().open(f"{name}.npy", "w", force_zip64=True) as entry:
            write_array(entry, array, allow_pickle=False)

    def _opened(self) -> zipfile.ZipFile:
        """The archive; only with its first entry, so that nothing is kept of a command that failed before."""
        if self._archive is None:
            self._archive = self._files.enter_context(zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED))
        return self._archive
