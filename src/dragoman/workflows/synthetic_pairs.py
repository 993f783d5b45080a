"""Training pairs of which a model wrote one side: back-translation and sequence-level knowledge distillation."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import tee
from typing import NamedTuple

import numpy as np

from dragoman.evaluation.bleu import ReferenceNgrams, bleu_statistics, sentence_bleu
from dragoman.text.corpus import Pair
from dragoman.text.noise import add_noise
from dragoman.text.words import is_blank, words_in
from dragoman.translation.result import Translation
from dragoman.translation.translator import Translator


class SyntheticPair(NamedTuple):
    """A pair for training."""

    source: str
    target: str
    truncated: bool
    """Whether the translation reached the maximum length."""

    @property
    def is_usable(self) -> bool:
        """Whether both sides have text."""
        return not is_blank(self.source) and not is_blank(self.target)


def back_translate(
    translator: Translator, lines: Iterable[str], *, tag: str = "", noise_seed: int | None = None
) -> Iterator[SyntheticPair]:
    """Yield, for each line of the target language, a pair whose source is its translation (Sennrich et al. 2016).

    Args:
        translator: from the target language to the source language; it may sample (Edunov et al. 2018).
        tag: a word in front of each source, by which a model can tell them from real ones (Caswell et al. 2019).
        noise_seed: leave out and exchange words of the translations; the draws of a line depend on the seed and its
            number alone.

    Raises:
        RunError, InputError: as for `Translator.translate_lines`.
    """
    given, translated = tee(lines)
    for number, (line, n_best) in enumerate(zip(given, translator.translate_lines(translated), strict=True)):
        source = n_best[0].text
        if noise_seed is not None:
            source = " ".join(add_noise(words_in(source), random.Random(f"{noise_seed} {number}")))
        tagged = f"{tag} {source}" if tag and not is_blank(source) else source
        yield SyntheticPair(tagged, line, not n_best[0].finished)


def distill(
    teacher: Translator, pairs: Iterable[Pair], *, candidates: int = 1, tokenise: Callable[[str], str] = str
) -> Iterator[SyntheticPair]:
    """Yield each source with the teacher's translation as the target (Kim and Rush 2016, section 3.2).

    Args:
        teacher: a model or an ensemble.
        candidates: of so many best translations the one with the highest sentence BLEU against the target of the
            pair is taken, the better one of equals (section 3.3, sequence-level interpolation); 1 for the best.
        tokenise: divides a line into the tokens of BLEU, separated by spaces.

    Raises:
        RunError, InputError: as for `Translator.translate_lines`.
    """
    given, translated = tee(pairs)
    found = teacher.translate_lines((pair.source for pair in translated), candidates)
    for pair, n_best in zip(given, found, strict=True):
        best = n_best[0] if candidates == 1 else _nearest(n_best, pair.target, tokenise)
        yield SyntheticPair(pair.source, best.text, not best.finished)


def _nearest(n_best: Sequence[Translation], reference: str, tokenise: Callable[[str], str]) -> Translation:
    statistics = bleu_statistics([tokenise(each.text) for each in n_best], ReferenceNgrams([tokenise(reference)]))
    return n_best[int(np.argmax(sentence_bleu(statistics)))]  # the first of equals
