"""Another toolkit's vocabulary as ours: the special symbols in our places, everything else in the old order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from dragoman.errors import InputError
from dragoman.text.vocabulary import SPECIALS


class SpecialSymbols(NamedTuple):
    """How a toolkit spells the special symbols, in the order of our ids."""

    pad: str
    unknown: str
    begin: str
    end: str


class ImportedVocabulary(NamedTuple):
    """A vocabulary, and where its entries came from.

    pieces: without the special symbols, in the order of our ids
    rows:   for each of our ids, the special symbols included, the id that the toolkit has for it, int64 [V]
    where:  names the vocabulary
    """

    pieces: list[str]
    rows: Tensor
    where: str

    def arrange(self, parameter: Tensor) -> Tensor:
        """A matrix or a vector of the toolkit with a row for each entry, [V, ..], in our order.

        Raises:
            InputError: it has more rows, or fewer.
        """
        if len(parameter) != len(self.rows):
            raise InputError(
                f"{self.where}: has {len(self.rows):,} entries, but the model has {len(parameter):,}; it belongs to "
                "another model"
            )
        return parameter[self.rows]


def read_vocabulary_lines(path: Path) -> list[str]:
    """The lines of a vocabulary file.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        return path.read_bytes().decode().removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise InputError(f"{path}: cannot read the vocabulary: {reason}") from None


def import_vocabulary(tokens: Sequence[str], symbols: SpecialSymbols, where: str) -> ImportedVocabulary:
    """Our order of another toolkit's entries.

    An entry that our file could not hold, or that is spelled like one of our special symbols without being one, keeps
    its row under a name that no text has: it must stay in the softmax.

    Raises:
        InputError: a special symbol is missing; `where` names the vocabulary.
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
