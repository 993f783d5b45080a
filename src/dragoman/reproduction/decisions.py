"""Decides from measurements whether a claim holds: paired bootstrap over seeds and over test sentences.

Every system is trained with the same K seeds and measured on the same N sentences. A comparison (comparison.py) has a
value for each seed, and their mean is what is reported. Its 95 % interval comes from resampling seeds and sentences
together, paired between systems (Koehn 2004; runs as observations: Clark et al. 2011). The rule, fixed before any
experiment was run:

    holds            the value is above 0 for every seed, and so is the whole interval
    does not hold    the value is below 0 for every seed, and so is the whole interval
    not decided      anything else, or fewer than `LEAST_SEEDS` seeds

A claim of several comparisons holds if all of them do, and does not hold if one of them does not.

The rule asks for the sign alone. Where the paper has values for all systems of a comparison, a second verdict tells
whether the effect is at least half as large as the paper's (`effect_size`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.bleu import corpus_bleu
from dragoman.reproduction.comparison import WHOLE, Comparison

LEAST_SEEDS = 3
"""Fewest seeds that decide."""
SAMPLES = 1000
"""Bootstrap samples."""
SEED = 12345
_NORMAL = 1.96
"""Half width of a 95 % interval in standard deviations."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MetricKind:
    """A metric, computed from sufficient statistics that are summed over sentences."""

    heading: str
    decimals: int
    lower_is_better: bool
    score: Callable[[Array], Array] = field(repr=False)
    """[..., F] -> [...]"""
    step: str = ""
    """The step that writes what the metric is computed from (`plan.OUTPUTS`); "" if only a phrase table has it."""
    size: int = 2
    """F, statistics of a sentence."""


def _ratio(statistics: Array) -> Array:
    return statistics[..., 0] / np.maximum(statistics[..., 1], 1e-9)


def _correlation(sums: Array) -> Array:
    """Pearson's correlation from the sums of [1, x, y, x * x, y * y, x * y]."""
    count, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    varied = np.maximum(count * xx - x**2, 0.0) * np.maximum(count * yy - y**2, 0.0)
    return np.asarray((count * xy - x * y) / np.sqrt(np.maximum(varied, 1e-9)))


METRICS: Mapping[str, MetricKind] = {
    "perplexity": MetricKind("perplexity", 2, True, lambda rows: np.exp(_ratio(rows)), "score"),
    "wrong_source_perplexity": MetricKind(
        "perplexity, wrong sources", 2, True, lambda rows: np.exp(_ratio(rows)), "score-wrong"
    ),
    "dev_bleu": MetricKind("BLEU, dev", 2, False, corpus_bleu, "translate-dev", 10),
    "bleu": MetricKind("BLEU", 2, False, corpus_bleu, "translate", 10),
    "known_bleu": MetricKind("BLEU, no UNK", 2, False, corpus_bleu, "translate", 10),
    "log_bleu": MetricKind(
        "ln BLEU", 2, False, lambda rows: np.log(np.maximum(corpus_bleu(rows), 0.01)), "translate", 10
    ),
    "length_ratio": MetricKind("length ratio", 3, False, _ratio, "translate"),
    "aer": MetricKind("AER", 3, True, lambda rows: 1 - _ratio(rows), "align"),
    "monotone": MetricKind("monotone links", 3, False, _ratio, "align"),
    "order_distance": MetricKind("distance, agents exchanged", 3, False, _ratio, "map"),
    "voice_distance": MetricKind("distance, passive voice", 3, True, _ratio, "map"),
    "preferred_words": MetricKind("words of the best target", 2, False, _ratio),
    "score_correlation": MetricKind("correlation with the table", 3, False, _correlation, size=6),
    "samples_in_table": MetricKind("samples that the table has", 3, False, _ratio, "samples"),
    "samples_in_text": MetricKind("samples that the training text has", 3, False, _ratio, "samples"),
    "word_neighbours": MetricKind("similarity of neighbours, words", 2, False, _ratio, "map-words"),
    "phrase_neighbours": MetricKind("similarity of neighbours, phrases", 2, False, _ratio, "map-phrases"),
}
"""Statistics of a sentence: [negative log-probability, target tokens with EOS] for perplexities; those of
`evaluation/bleu.py`, 0 for known_bleu where a model does not know a word; [words of the hypothesis, of the reference];
[links in S + links in P, links + sure links]; [neighbouring target words whose source words are in the same order,
neighbouring target words]. Statistics of a contrast (`Experiment.contrasts`): [distance between the states of two
sentences, mean distance of all]. Those of phrases are described in `phrases.py`, those of maps in `maps.py`."""
_LOGARITHMIC = ("perplexity", "wrong_source_perplexity")
"""Metrics whose effects are differences of logarithms."""


@dataclass(frozen=True)
class Measurements:
    """The statistics of all systems of an experiment."""

    rows: Mapping[tuple[str, str], Array]
    """(metric, system) -> [K, N, F], or [1, N, F] for a system that has the same models with each of K seeds; NaN for a
    seed whose training failed. N sentences of the test set, or N contrasts."""
    parts: Mapping[str, NDArray[np.bool_]]
    """Part of the test set -> [N], true for its sentences; contrasts have no parts."""

    def scores(self, metric: str, system: str, part: str = WHOLE) -> Array:
        """[K] the score of each seed; NaN where training failed."""
        rows = self.rows[metric, system]
        return np.asarray(METRICS[metric].score(rows[:, self.inside(part, rows.shape[1])].sum(axis=1)))

    def inside(self, part: str, count: int) -> NDArray[np.bool_]:
        """[count] whether each sentence, or each contrast, belongs to a part."""
        return np.ones(count, dtype=np.bool_) if part == WHOLE else self.parts[part]


class Verdict(StrEnum):
    """What the measurements say of a claim."""

    HOLDS = "holds"
    DOES_NOT_HOLD = "does not hold"
    NOT_DECIDED = "not decided at this size"


@dataclass(frozen=True)
class Decision:
    """The result of one comparison."""

    comparison: Comparison
    """The comparison with one system in each value: the best one where the claim names several."""
    values: tuple[float, ...]
    """The value for each seed for which all systems were trained."""
    mean: float
    low: float
    high: float
    """The 95 % interval of the mean."""
    verdict: Verdict
    seeds_needed: int | None
    """Seeds that would decide if further ones are like these. None if the claim is decided, no number would decide it,
    or there are too few seeds to tell how much they vary."""


def decide(comparison: Comparison, measured: Measurements) -> Decision:
    """Apply the rule to one comparison. The best of several systems is known when all of them are measured.

    Raises:
        KeyError: a value of the comparison was not measured.
    """
    rivals = [(value, one) for _, value in comparison.terms if len(value.systems) > 1 for one in value.systems]
    missing = any(np.isnan(measured.scores(value.metric, one, value.part)).all() for value, one in rivals)
    comparison = of_best_systems(comparison, measured.scores)
    values = _values(comparison, measured, None)  # [1, K]
    valid = np.isfinite(values[0]) & (not missing)
    values = values[:, valid]
    seeds = values.shape[1]
    if seeds == 0:
        return Decision(comparison, (), math.nan, math.nan, math.nan, Verdict.NOT_DECIDED, None)
    mean = float(values.mean())
    random = np.random.default_rng(SEED)
    units = {measured.rows[value.metric, value.system].shape[1] for _, value in comparison.terms}
    counts = {unit: random.multinomial(unit, np.full(unit, 1 / unit), size=SAMPLES).astype(float) for unit in units}
    sampled = _values(comparison, measured, counts)[:, valid]  # [samples, K]
    weights = random.multinomial(seeds, np.full(seeds, 1 / seeds), size=SAMPLES) / seeds  # [samples, K]
    low, high = (float(bound) for bound in np.nanpercentile((sampled * weights).sum(axis=1), (2.5, 97.5)))
    verdict = _verdict(values[0], low, high)
    needed = None
    if verdict is Verdict.NOT_DECIDED and seeds >= LEAST_SEEDS:
        needed = _seeds_needed(values[0], float(sampled.mean(axis=1).std()))
    return Decision(comparison, tuple(values[0].tolist()), mean, low, high, verdict, needed)


def of_best_systems(comparison: Comparison, scores: Callable[[str, str, str], Array | None]) -> Comparison:
    """The comparison in which the best of several systems replaces them: the system with the best mean of its scores
    [K].

    `scores` takes a metric, a system and a part; if no system has scores, the first system stays.
    """
    best = {}
    for _, value in comparison.terms:
        if len(value.systems) > 1:
            measured = {system: scores(value.metric, system, value.part) for system in value.systems}
            known = {system: some[np.isfinite(some)] for system, some in measured.items() if some is not None}
            means = {system: float(some.mean()) for system, some in known.items() if len(some)}
            choose = min if METRICS[value.metric].lower_is_better else max
            best[value] = choose(means, key=means.__getitem__, default=value.systems[0])
    return comparison.with_systems(best)


def effect_size(comparison: Comparison, scores: Callable[[str, str], Array | None]) -> float | None:
    """The mean over seeds of the value that a comparison expects to be above 0; `scores` gives the scores [K] of a
    metric and a system.

    Perplexities are compared by their logarithms, which do not depend on how hard a text is. None if a score is
    missing, and for comparisons of parts of the test set or with a margin, which no table of a paper has.
    """
    if comparison.constant or any(value.part != WHOLE for _, value in comparison.terms):
        return None
    total: Array = np.zeros(1)
    for weight, value in comparison.terms:
        values = scores(value.metric, value.system)
        if values is None:
            return None
        total = total + weight * (np.log(values) if value.metric in _LOGARITHMIC else values)
    total = total[np.isfinite(total)]
    return float(total.mean()) if len(total) else None


def verdict_of_all(decisions: Sequence[Decision]) -> Verdict:
    """The verdict on a claim of several comparisons."""
    verdicts = {decision.verdict for decision in decisions}
    if Verdict.DOES_NOT_HOLD in verdicts:
        return Verdict.DOES_NOT_HOLD
    return Verdict.NOT_DECIDED if Verdict.NOT_DECIDED in verdicts else Verdict.HOLDS


def _values(comparison: Comparison, measured: Measurements, counts: Mapping[int, Array] | None) -> Array:
    """[D, K] the value of each seed on D resampled test sets; `counts`: N -> how often each sentence occurs, [D, N]."""
    draws = SAMPLES if counts else 1
    total: Array = np.full((draws, 1), comparison.constant)
    for weight, value in comparison.terms:
        rows = measured.rows[value.metric, value.system]  # [K, N, F]
        inside = measured.inside(value.part, rows.shape[1]).astype(np.float64)[None]  # [1, N]
        times = counts[rows.shape[1]] * inside if counts else inside  # [D, N]
        present = np.array([np.isfinite(seed).all() for seed in rows])  # [K]
        sums = np.matmul(times, np.where(present[:, None, None], rows, 0.0))  # [K, D, F]
        scores = METRICS[value.metric].score(sums).T  # [D, K]
        total = total + weight * np.where(present, scores, np.nan)
    return total


def _verdict(values: Array, low: float, high: float) -> Verdict:
    if len(values) < LEAST_SEEDS:
        return Verdict.NOT_DECIDED
    if (values > 0).all() and low > 0:
        return Verdict.HOLDS
    if (values < 0).all() and high < 0:
        return Verdict.DOES_NOT_HOLD
    return Verdict.NOT_DECIDED


def _seeds_needed(values: Array, deviation_of_sentences: float) -> int | None:
    """Seeds with which the interval of a mean like this one would exclude 0; None if the sentences are too few."""
    allowed = (abs(float(values.mean())) / _NORMAL) ** 2 - deviation_of_sentences**2
    if allowed <= 0:
        return None
    return max(LEAST_SEEDS, math.ceil(float(values.var(ddof=1)) / allowed))
