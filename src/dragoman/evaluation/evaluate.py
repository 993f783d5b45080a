"""Scores of translations against references, for a corpus and its slices, as JSON and as a table.

Translations and forced scores are inputs; this module computes neither.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import InputError
from dragoman.evaluation.error_rates import SymbolErrorRate, Symbols, WordErrorRate
from dragoman.evaluation.metrics import (
    ExactMatch,
    Metric,
    Preparation,
    References,
    SacreBleu,
    bleu_metric,
    check_counts,
    chrf_metric,
    reference_list,
    ter_metric,
    tokenised_bleu_metric,
)
from dragoman.evaluation.robustness import Robustness
from dragoman.evaluation.slices import Slicing
from dragoman.evaluation.tokenizers import Tokenizer
from dragoman.text.display import columns


@dataclass(frozen=True, slots=True)
class ReferencePerplexity:
    """Perplexity of a model on the references, from forced decoding; natural logarithms."""

    nll: float
    """Negative log-probability, summed over all tokens."""
    tokens: int
    """Target tokens, EOS included."""
    sentences: int

    @property
    def per_token(self) -> float:
        """exp(NLL / tokens), EOS included in both; infinite where that overflows."""
        try:
            return math.exp(self.nll / self.tokens)
        except OverflowError:
            return math.inf

    @property
    def nll_per_sentence(self) -> float:
        """Mean NLL per sentence, as in Bahdanau et al. 2015, table 2."""
        return self.nll / self.sentences


@dataclass(frozen=True, slots=True)
class MetricScore:
    """The score of one metric, with the signature needed to reproduce it.

    >>> pairs = list(dragoman.read_test_set(["test.low", "test.up"]))
    >>> scores = dragoman.measure(dragoman.open_run("RUN"), pairs).evaluation.scores
    >>> scores[0].name, scores[0].signature.split("|")[0], scores[0].higher_is_better
    ('BLEU', 'nrefs:1', True)
    """

    name: str
    value: float
    signature: str
    higher_is_better: bool


@dataclass(frozen=True, slots=True)
class Slice:
    """The scores of a subset of the sentences."""

    label: str
    sentences: int
    scores: tuple[MetricScore, ...]


@dataclass(frozen=True, slots=True)
class SliceTable:
    """The scores of all slices of one division of a corpus; empty slices are left out."""

    name: str
    slices: tuple[Slice, ...]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All scores of one set of translations: BLEU, chrF, TER and exact match in percent, perplexity per token.

    >>> pairs = list(dragoman.read_test_set(["test.low", "test.up"]))
    >>> evaluation = dragoman.measure(dragoman.open_run("RUN"), pairs).evaluation
    >>> evaluation.sentences, 0 <= evaluation.score("BLEU") <= 100, evaluation.perplexity.per_token > 1
    (20, True, True)
    """

    sentences: int
    scores: tuple[MetricScore, ...]
    length_ratio: float
    """Tokens of the translations divided by tokens of the references, as BLEU's brevity penalty counts them."""
    perplexity: ReferencePerplexity | None
    slicings: tuple[SliceTable, ...]
    references: tuple[int, int] = (1, 1)
    """Fewest and most references of a sentence."""
    robustness: Robustness | None = None
    """Scores of the test set as people might write it, where that was asked for."""

    def score(self, name: str) -> float:
        """Return the score of the metric of that name, such as "BLEU" or "chrF".

        Raises:
            KeyError: there is no metric of that name.
        """
        return {score.name: score.value for score in self.scores}[name]

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values; infinite figures are null."""
        result: dict[str, Any] = {
            "sentences": self.sentences,
            "scores": {score.name: {"score": score.value, "signature": score.signature} for score in self.scores},
            "length_ratio": _finite(self.length_ratio),
        }
        if self.references[1] > 1:
            result["references"] = dict(zip(("fewest", "most"), self.references, strict=True))
        if self.perplexity is not None:
            result["perplexity"] = {
                "per_token": _finite(self.perplexity.per_token),
                "nll_per_sentence": self.perplexity.nll_per_sentence,
                "nll": self.perplexity.nll,
                "tokens": self.perplexity.tokens,
                "sentences": self.perplexity.sentences,
            }
        result["slices"] = {
            slicing.name: [
                {
                    "label": part.label,
                    "sentences": part.sentences,
                    "scores": {score.name: score.value for score in part.scores},
                }
                for part in slicing.slices
            ]
            for slicing in self.slicings
        }
        if self.robustness is not None:
            result["robustness"] = self.robustness.to_json()
        return result

    def table(self) -> str:
        """Return everything as aligned columns, signatures last, without a final line break."""
        figures = [(score.name, f"{score.value:.2f}") for score in self.scores]
        figures.append(("length ratio", f"{self.length_ratio:.3f}"))
        if self.perplexity is not None:
            figures.append(("perplexity per token", f"{self.perplexity.per_token:.3f}"))
            figures.append(("NLL per sentence", f"{self.perplexity.nll_per_sentence:.2f}"))
        figures.append(("sentences", str(self.sentences)))
        if self.references[1] > 1:
            figures.append(("references each", " to ".join(dict.fromkeys(map(str, self.references)))))
        blocks = [columns(figures)]
        for slicing in self.slicings:
            head = (slicing.name, "sentences", *(score.name for score in self.scores))
            rows = [
                (part.label, str(part.sentences), *(f"{score.value:.2f}" for score in part.scores))
                for part in slicing.slices
            ]
            blocks.append(columns([head, *rows]))
        if self.robustness is not None:
            blocks.append(self.robustness.table())
        blocks.append("\n".join(f"{score.name}  {score.signature}" for score in self.scores))
        return "\n\n".join(blocks)


def evaluate(
    hypotheses: Sequence[str],
    references: Sequence[References],
    *,
    slicings: Sequence[Slicing] = (),
    perplexity: ReferencePerplexity | None = None,
    tokenizer: Tokenizer = "13a",
    tokenised: Preparation | None = None,
    symbols: Symbols | None = None,
) -> Evaluation:
    """Score translations, each line against its reference or references; raw (detokenised), cased text.

        evaluate(hypotheses, references, slicings=[by_length(sources, "source")]).score("BLEU")

    With `tokenised`, also compute BLEU as multi-bleu.perl does, on text prepared in that way; with `symbols`, also the
    error rates of single words.

    Raises:
        InputError: there are no sentences, or the numbers of sentences differ, also from that of a slicing.
    """
    check_counts(hypotheses, references)
    for slicing in slicings:
        if slicing.sentences != len(hypotheses):
            raise InputError(
                f"{len(hypotheses)} translations cannot be sliced by the {slicing.name} of {slicing.sentences} "
                "sentences; line n of one must belong to line n of the other"
            )
    metrics: list[Metric] = [*corpus_metrics(tokenizer, tokenised), ExactMatch()]
    if symbols is not None:
        metrics += [WordErrorRate(symbols), SymbolErrorRate(symbols)]
    statistics = [metric.statistics(hypotheses, references) for metric in metrics]
    everything = np.arange(len(hypotheses))
    counts = [len(reference_list(one)) for one in references]
    words, reference_words = statistics[0][:, :2].sum(axis=0)
    return Evaluation(
        sentences=len(hypotheses),
        scores=_scores(metrics, statistics, everything),
        length_ratio=float(words / reference_words) if reference_words else math.inf if words else 1.0,
        perplexity=perplexity,
        slicings=tuple(_slice_table(slicing, metrics, statistics) for slicing in slicings),
        references=(min(counts), max(counts)),
    )


def corpus_metrics(tokenizer: Tokenizer = "13a", tokenised: Preparation | None = None) -> list[SacreBleu]:
    """Return the sacreBLEU metrics of an evaluation."""
    extra = [] if tokenised is None else [tokenised_bleu_metric(tokenised)]
    return [bleu_metric(tokenizer), *extra, chrf_metric(), ter_metric(tokenizer)]


def _slice_table(slicing: Slicing, metrics: Sequence[Metric], statistics: Sequence[NDArray[np.float64]]) -> SliceTable:
    slices = []
    for label, members in zip(slicing.labels, slicing.members, strict=True):
        if members:
            slices.append(Slice(label, len(members), _scores(metrics, statistics, np.array(members))))
    return SliceTable(slicing.name, tuple(slices))


def _scores(
    metrics: Sequence[Metric], statistics: Sequence[NDArray[np.float64]], members: NDArray[np.int64]
) -> tuple[MetricScore, ...]:
    """Score the sentences with these indices."""
    return tuple(
        MetricScore(metric.name, metric.score(rows[members].sum(axis=0)), metric.signature(), metric.higher_is_better)
        for metric, rows in zip(metrics, statistics, strict=True)
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
