"""Vocabularies: segments to ids and back, the special symbols, ids as padded arrays, and what a new segment is like.

The file is plain text: a first line with the format version and the number of entries, then an entry a line, in
the order of their ids.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import RunError
from dragoman.stored_files import read_regular
from dragoman.text.lines import replace_file
from dragoman.text.words import parse_count

PAD, UNK, BOS, EOS = 0, 1, 2, 3
SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")
"""Padding, unknown segment, BOS and EOS; their ids are PAD, UNK, BOS and EOS."""

_FORMAT = 1
_HEADER = "#dragoman-vocabulary"


class Vocabulary:
    """The segments that a model knows, with ids from 0, the special symbols first.

    A segment that is spelled like a special symbol is unknown, so text never contains EOS.
    """

    def __init__(self, pieces: Iterable[str]) -> None:
        """`pieces` without the special symbols, each once, in the order of their ids."""
        self._pieces = [*SPECIALS, *pieces]
        self._ids = {piece: index for index, piece in enumerate(self._pieces)}
        assert len(self._ids) == len(self._pieces), "each piece occurs once"
        for special in SPECIALS:
            del self._ids[special]
        self.digest = hashlib.sha256("\n".join(self._pieces).encode()).hexdigest()
        """SHA-256 of the entries in order: two vocabularies with the same digest give the same ids."""

    @classmethod
    def from_counts(
        cls, counts: Mapping[str, int], size: int | None, minimum: int = 1, always: Sequence[str] = ()
    ) -> Vocabulary:
        """Make a vocabulary of the most frequent pieces; ties are in the order of their code points.

        Args:
            size: largest number of entries, special symbols included; None for no limit.
            minimum: a piece with a lower count is left out.
            always: pieces that come first, whatever their counts.
        """
        excluded = {*SPECIALS, *always}
        frequent = [piece for piece, count in counts.items() if count >= minimum and piece not in excluded]
        frequent.sort(key=lambda piece: (-counts[piece], piece))
        pieces = [*always, *frequent]
        return cls(pieces if size is None else pieces[: max(0, size - len(SPECIALS))])

    def extended(self, pieces: Sequence[str]) -> Vocabulary:
        """A vocabulary with more pieces at its end; the ids of the others stay."""
        return Vocabulary([*self._pieces[len(SPECIALS) :], *pieces])

    def ids(self, pieces: Iterable[str]) -> list[int]:
        """The id of each piece; UNK for an unknown one."""
        get = self._ids.get
        return [get(piece, UNK) for piece in pieces]

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The piece of each id, special symbols included."""
        return [self._pieces[index] for index in ids]

    def __len__(self) -> int:
        return len(self._pieces)

    def __contains__(self, piece: object) -> bool:
        return piece in self._ids

    def save(self, path: Path) -> None:
        """Write the file, in place of an older one.

        Raises:
            InputError: the file cannot be written.
        """
        with replace_file(path) as file:
            file.write(f"{_HEADER} {_FORMAT} {len(self)}\n")
            file.writelines(f"{piece}\n" for piece in self._pieces)

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """Read what `save` wrote.

        Raises:
            RunError: the file is missing, damaged, or of a newer format.
        """
        try:
            # Not read_lines: a piece may end in a carriage return or begin with a byte order mark.
            lines = read_regular(path).decode().split("\n")
        except FileNotFoundError:
            raise RunError(f"{path}: missing; the run folder is not complete") from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise RunError(f"{path}: damaged: {reason}; take the file from a copy of the run folder") from None
        _check(path, lines)
        return cls(lines[1 + len(SPECIALS) : -1])


def _check(path: Path, lines: Sequence[str]) -> None:
    pieces = lines[1:-1]
    fields = lines[0].split(" ")
    version, entries = map(parse_count, fields[1:]) if len(fields) == 3 else (None, None)
    if fields[0] != _HEADER or version is None or entries is None:
        raise RunError(f"{path}:1: not a vocabulary: the first line must be '{_HEADER} {_FORMAT} ENTRIES'")
    if version > _FORMAT:
        raise RunError(f"{path}: format {version} is newer than this program, which reads up to {_FORMAT}; update it")
    fault = None
    if len(pieces) != entries or lines[-1]:
        fault = f"it should have {entries:,} entries but has {len(pieces):,}"
    elif tuple(pieces[: len(SPECIALS)]) != SPECIALS:
        fault = f"its first entries must be {' '.join(SPECIALS)}"
    elif len(set(pieces)) != len(pieces):
        fault = "an entry occurs twice"
    if fault:
        raise RunError(f"{path}: damaged: {fault}; take the file from a copy of the run folder")


class Padded(NamedTuple):
    """Rows of ids, int64 [B, L], with PAD on the right, and their lengths, int64 [B]."""

    ids: NDArray[np.int64]
    lengths: NDArray[np.int64]


def pad(rows: Sequence[Sequence[int]], *, eos: bool = False) -> Padded:
    """Pad rows of ids to the longest of them; with `eos`, EOS follows each row and counts in its length."""
    lengths = np.array([len(row) for row in rows], np.int64)
    flat = np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum()))
    return pad_slices(flat, np.cumsum(lengths) - lengths, lengths, eos=eos)


def pad_slices(
    flat: NDArray[np.integer[Any]], starts: NDArray[np.int64], lengths: NDArray[np.int64], *, eos: bool
) -> Padded:
    """Pad the rows flat[starts[b] : starts[b] + lengths[b]], as `pad` does.

    A few array operations for all rows take a sixth of the time of a loop over them.
    """
    padded_lengths = lengths + eos
    ids = np.full((len(lengths), int(padded_lengths.max(initial=0))), PAD, np.int64)  # [B, L]
    columns = np.arange(ids.shape[1])
    is_id = columns < lengths[:, None]  # [B, L]
    ids[is_id] = flat[(starts[:, None] + columns)[is_id]]
    if eos:
        ids[np.arange(len(lengths)), lengths] = EOS
    return Padded(ids, padded_lengths)


SHORTEST_PART = 3
"""Characters of a part of a longer segment; shorter ones are found in most words by chance."""


def parts_of(segment: str, vocabulary: Vocabulary) -> list[int]:
    """Return the ids of known segments whose meanings make up that of a new one; none where nothing is known.

    They are the same word in other cases; else the characters of its compatibility decomposition (é: e and U+0301,
    Ａ: A); else the longest known parts from left to right (Hundehütte: Hunde, Hütte).
    """
    for form in _cases(segment):
        if form in vocabulary:
            return vocabulary.ids([form])
    if len(segment) == 1:
        return _known(unicodedata.normalize("NFKD", segment), vocabulary)
    found: list[str] = []
    start = 0
    while start <= len(segment) - SHORTEST_PART:
        for end in range(len(segment), start + SHORTEST_PART - 1, -1):
            part = next((form for form in _cases(segment[start:end]) if form in vocabulary), None)
            if part is not None:
                found.append(part)
                start = end
                break
        else:
            start += 1
    return vocabulary.ids(found)


def _cases(text: str) -> tuple[str, ...]:
    """The text as it is, in small letters, with a capital, in capitals."""
    return text, text.lower(), text.capitalize(), text.upper()


def _known(text: str, vocabulary: Vocabulary) -> list[int]:
    return vocabulary.ids([character for character in text if character in vocabulary])
