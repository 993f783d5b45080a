"""Stateful queries to n-gram language models through KenLM (package kenlm, extra `smt`)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import kenlm

from dragoman.errors import InputError
from dragoman.inputs import note_input_at
from dragoman.smt.arpa import read_arpa
from dragoman.smt.kneser_ney import EOS

LN_10 = math.log(10)

LanguageModelState = Any
"""A KenLM state: the history that can still matter. Hashable; equal states give equal probabilities."""


class KenlmModel:
    """An n-gram model with natural logarithms, as in Moses."""

    def __init__(self, path: str | Path) -> None:
        """Load an ARPA file or a binary file of KenLM.

        Raises:
            InputError: it cannot be read or is malformed.
        """
        if not Path(path).is_file():
            next(read_arpa(path))  # raises the error with its reason
        note_input_at(path)
        self._model = _load(str(path))
        self.begin: LanguageModelState = kenlm.State()
        self._model.BeginSentenceWrite(self.begin)
        self.null_context: LanguageModelState = kenlm.State()
        self._model.NullContextWrite(self.null_context)

    def extend(self, state: LanguageModelState, words: Iterable[str]) -> tuple[float, LanguageModelState]:
        """Return the log-probability of words after a state, and the next state."""
        score = self._model.BaseScore
        total = 0.0
        for word in words:
            following = kenlm.State()
            total += score(state, word, following)
            state = following
        return total * LN_10, state

    def end(self, state: LanguageModelState) -> float:
        """Return the log-probability of EOS after a state."""
        return self.extend(state, (EOS,))[0]

    def without_context(self, words: Iterable[str]) -> float:
        """Return the log-probability of words without context (KenLM's null context, not the sentence start)."""
        return self.extend(self.null_context, words)[0]


def _load(path: str) -> Any:
    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    try:
        return kenlm.Model(path, config)
    except (OSError, UnicodeDecodeError) as error:  # the latter hides KenLM's message about a line that is not UTF-8
        for _ in read_arpa(path):  # raises an error that names the line
            pass
        raise InputError(f"{path}: KenLM cannot read this language model: {error}") from None
