"""The guard: a limit to the BLEU that learning may lose on a sample of the dev set."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.corpora.pairs import Pair, evenly_spaced
from dragoman.evaluation.metrics import bleu
from dragoman.evaluation.tokenizers import Tokenizer
from dragoman.runs.opening import Run

LINES = 300
"""Pairs of the dev set that are measured, evenly spread."""
LOST = 0.5
"""BLEU that may be lost against the base run."""


class Guard:
    """Measures a run on its dev set, before and while it learns; without a dev set everything passes."""

    def __init__(self, run: Run, dev: Sequence[Pair], tokenizer: Tokenizer) -> None:
        """`run` has the weights of the base run."""
        self._pairs = evenly_spaced(dev, LINES)
        self._translator = run.translator(run.config.search.replaced(beam=1, search_again=False))
        self._tokenizer = tokenizer
        self._before = self._bleu()

    def lost(self) -> float:
        """How much lower BLEU is than it was before."""
        return self._before - self._bleu()

    def _bleu(self) -> float:
        if not self._pairs:
            return 0.0
        translated = self._translator.translate_lines(pair.source for pair in self._pairs)
        return bleu([best.text for [best] in translated], [pair.target for pair in self._pairs], self._tokenizer)
