"""Vocabularies: segments to ids and back, and the special symbols.

The file is plain text: a first line with the format version and the number of entries, then an entry a line, in
the order of their ids.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dragoman.errors import RunError, reason_of
from dragoman.stored_files import read_regular
from dragoman.text.lines import parse_count, replace_file

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
            raise RunError(
                f"{path}: damaged: {reason_of(error)}; take the file from a copy of the run folder"
            ) from None
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
