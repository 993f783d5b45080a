"""Training pairs with one side written by a model: back-translation, with noise in the sources, and sequence-level
knowledge distillation.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import tee
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dragoman.config.sampling import Sampling
from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.pairs import Pair
from dragoman.corpora.writing import require_pair_file, write_pairs
from dragoman.errors import InputError, OptionError
from dragoman.evaluation.bleu import ReferenceNgrams, bleu_statistics, sentence_bleu
from dragoman.evaluation.metrics import bleu_tokens
from dragoman.progress import Console
from dragoman.requests.translation import BackTranslationRequest, DistillationRequest
from dragoman.runs.opening import open_models
from dragoman.text.raw_lines import is_blank
from dragoman.text.words import words_in
from dragoman.translation.result import Translation
from dragoman.translation.translator import Translator
from dragoman.workflows.evaluation import tokenizer_of
from dragoman.workflows.input_lines import InputLines
from dragoman.workflows.translation import warn_of_searched_again, warn_of_truncated
from dragoman.workflows.unexpected_text import checked_lines, checked_pairs


class SyntheticPair(NamedTuple):
    """A pair for training."""

    source: str
    target: str
    truncated: bool
    """Whether the translation reached the maximum length."""
    searched_again: bool
    """Whether the translation looped or reached the maximum length, and was searched again."""

    @property
    def is_usable(self) -> bool:
        """Whether both sides have text."""
        return not is_blank(self.source) and not is_blank(self.target)


def distill_corpus(request: DistillationRequest) -> None:
    """Write the pairs that a teacher makes of training pairs.

    Raises:
        ConfigError, InputError, RunError: as for `open_models` and `read_pairs`.
    """
    files = request.files
    require_pair_file(files.output)
    models = open_models(request.runs, request.ensemble, request.general)
    teacher = models.translator(request.searching.search)
    if files.candidates > teacher.search.beam:
        message = "{option} {values[candidates]} requires a beam of at least that size; add {beam} N"
        raise OptionError(message, "candidates", {"candidates": files.candidates})
    tokenise = bleu_tokens(tokenizer_of(models.first.config)) if files.candidates > 1 else str
    paths = [Path(name) for name in request.pairs]
    corpus = checked_pairs(read_pairs([paths]), paths, request.runs[0], models.first)
    pairs = distill(teacher, corpus, candidates=files.candidates, tokenise=tokenise)
    write_synthetic_pairs(pairs, files.output, quiet=request.general.quiet)


def back_translate_text(request: BackTranslationRequest) -> None:
    """Write the pairs of lines of the target language and their translations.

    Raises:
        ConfigError, InputError, RunError: as for `open_models` and `InputLines`.
    """
    files, drawing, quiet = request.files, request.drawing, request.general.quiet
    require_pair_file(files.output)
    models = open_models(request.runs, request.ensemble, request.general)
    translator = models.translator(request.searching.search)
    if drawing.sample:
        translator = translator.with_options(sample=True, **drawing.sampling)
    seed = drawing.sampling.get("seed", Sampling().seed) if files.noise else None
    with InputLines(files.input, "translate", quiet=quiet) as lines:
        read = checked_lines(lines, files.input, request.runs[0], models.first)
        pairs = back_translate(translator, read, tag=files.tag.strip(), noise_seed=seed)
        write_synthetic_pairs(pairs, files.output, quiet=quiet)


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
        yield SyntheticPair(tagged, line, not n_best[0].finished, n_best[0].searched_again)


def distill(
    teacher: Translator, pairs: Iterable[Pair], *, candidates: int = 1, tokenise: Callable[[str], str] = str
) -> Iterator[SyntheticPair]:
    """Yield each source with the teacher's translation as the target (Kim and Rush 2016, section 3.2).

    Args:
        teacher: a model or an ensemble.
        candidates: number of best translations from which the one with the highest sentence BLEU against the target of
        the pair is taken, and the better one of equals (section 3.3, sequence-level interpolation); 1 takes the best.
        tokenise: divides a line into the tokens of BLEU, separated by spaces.

    Raises:
        RunError, InputError: as for `Translator.translate_lines`.
    """
    given, translated = tee(pairs)
    n_best_lists = teacher.translate_lines((pair.source for pair in translated), candidates)
    for pair, n_best in zip(given, n_best_lists, strict=True):
        best = n_best[0] if candidates == 1 else _nearest(n_best, pair.target, tokenise)
        yield SyntheticPair(pair.source, best.text, not best.finished, best.searched_again)


def _nearest(n_best: Sequence[Translation], reference: str, tokenise: Callable[[str], str]) -> Translation:
    statistics = bleu_statistics([tokenise(each.text) for each in n_best], ReferenceNgrams([tokenise(reference)]))
    return n_best[int(np.argmax(sentence_bleu(statistics)))]  # the first of equals


def write_synthetic_pairs(pairs: Iterable[SyntheticPair], path: str, *, quiet: bool) -> None:
    """Write the pairs that have text on both sides, and say how many there are, and how many were left out.

    Raises:
        InputError: there is none, or the file cannot be written.
    """
    console = Console(quiet=quiet)
    written = truncated = again = read = 0
    with write_pairs(path) as write, console.counter("pairs") as progress:
        for read, pair in enumerate(pairs, 1):
            if pair.is_usable:
                write(pair.source, pair.target)
                written, truncated, again = written + 1, truncated + pair.truncated, again + pair.searched_again
            progress(read)
        if not written:
            raise InputError(f"{path}: there is no pair to write: no line has text on both sides")
    left_out = f"; left out {read - written:,} with an empty side" if read > written else ""
    console.info(f"{path}: {written:,} pairs{left_out}")
    warn_of_searched_again(again, written)
    warn_of_truncated(truncated, written, ", or leave such pairs out by cleaning.max_ratio")


DROPPED = 0.1
"""Probability that a word is left out."""
DISTANCE = 3
"""Most positions that a word moves."""


def add_noise(words: Sequence[str], draw: random.Random) -> list[str]:
    """Leave words out and exchange near ones (Lample et al. 2018, section 2.3); at least one word stays.

    A word at position i goes to the rank of i + U(0, k + 1), so that none moves by more than k positions.
    """
    kept = [word for word in words if draw.random() >= DROPPED] or list(words[:1])
    keys = [position + draw.uniform(0, DISTANCE + 1) for position in range(len(kept))]
    return [word for _, word in sorted(zip(keys, kept, strict=True), key=lambda item: item[0])]
