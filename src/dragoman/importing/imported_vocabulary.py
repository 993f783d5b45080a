"""Conversion of another toolkit's vocabulary: special symbols at Dragoman's ids, all other entries in their order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from dragoman.errors import InputError
from dragoman.stored_files import read_regular
from dragoman.text.vocabulary import SPECIALS


class SpecialSymbols(NamedTuple):
    """A toolkit's spelling of the special symbols, in the order of Dragoman's ids."""

    pad: str
    unknown: str
    begin: str
    end: str


class ImportedVocabulary(NamedTuple):
    """A converted vocabulary with the original ids of its entries.

    pieces: the entries without special symbols, in the order of their new ids
    rows:   the toolkit's id for each new id, special symbols included, int64 [V]
    where:  the vocabulary's name in error messages
    """

    pieces: list[str]
    rows: Tensor
    where: str

    def arrange(self, parameter: Tensor) -> Tensor:
        """Reorder a parameter with one row for each entry, [V, ...] -> [V, ...], to the new ids.

        Raises:
            InputError: the parameter has another number of rows.
        """
        if len(parameter) != len(self.rows):
            raise InputError(
                f"{self.where}: has {len(self.rows):,} entries, but the model has {len(parameter):,}; it belongs to "
                "another model"
            )
        return parameter[self.rows]


def read_vocabulary_lines(path: Path) -> list[str]:
    """Read the lines of a vocabulary file.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        return read_regular(path).decode().removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise InputError(f"{path}: cannot read the vocabulary: {reason}") from None


def import_vocabulary(tokens: Sequence[str], symbols: SpecialSymbols, where: str) -> ImportedVocabulary:
    """Reorder the entries of a vocabulary; `where` names it in error messages.

    An entry that a vocabulary file cannot represent, or that is spelled like a special symbol without being one, keeps
    its row under a name that occurs in no text: it must stay in the softmax.

    Raises:
        InputError: a special symbol is missing.
    """
    known = {token: index for index, token in reversed(list(enumerate(tokens)))}
    for symbol in symbols:
        if symbol not in known:
            raise InputError(f"{where}: has no {symbol}, which the model cannot do without")
    special = [known[symbol] for symbol in symbols]
    others = [index for index in range(len(tokens)) if index not in special]
    taken = set(SPECIALS)
    pieces = []
    for index in others:
        piece = tokens[index]
        pieces.append(f"<entry {index}>" if not piece or "\n" in piece or piece in taken else piece)
        taken.add(piece)
    return ImportedVocabulary(pieces, torch.tensor(special + others), where)
