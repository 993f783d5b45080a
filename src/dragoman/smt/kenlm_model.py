"""Queries to n-gram language models through KenLM (package kenlm, extra `smt`), word by word with states."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import kenlm

from dragoman.errors import InputError
from dragoman.smt.arpa import read_arpa
from dragoman.smt.kneser_ney import END

LN_10 = math.log(10)

State = Any
"""The words before that can still matter; hashable, and equal if all that may follow has equal probabilities."""


class LanguageModel:
    """Log-probabilities of words after others, natural logarithms as Moses has them."""

    def __init__(self, path: str | Path) -> None:
        """Load an ARPA file or a binary file of KenLM.

        Raises:
            InputError: it cannot be read or is malformed.
        """
        if not Path(path).is_file():
            next(read_arpa(path))  # says why not
        self._model = _load(str(path))
        self.begin: State = kenlm.State()
        self._model.BeginSentenceWrite(self.begin)
        self.nothing: State = kenlm.State()
        self._model.NullContextWrite(self.nothing)

    def extend(self, state: State, words: Iterable[str]) -> tuple[float, State]:
        """The log-probability of words after a state, and the state after them."""
        score = self._model.BaseScore
        total = 0.0
        for word in words:
            following = kenlm.State()
            total += score(state, word, following)
            state = following
        return total * LN_10, state

    def end(self, state: State) -> float:
        """The log-probability of the end of the sentence."""
        return self.extend(state, (END,))[0]

    def alone(self, words: Iterable[str]) -> float:
        """The log-probability of words of which nothing is known that stands before them."""
        return self.extend(self.nothing, words)[0]


def _load(path: str) -> Any:
    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    try:
        return kenlm.Model(path, config)
    except OSError as error:
        for _ in read_arpa(path):  # names the line
            pass
        raise InputError(f"{path}: KenLM cannot read this language model: {error}") from None
