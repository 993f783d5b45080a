"""Significance of the difference between two systems: sacreBLEU's paired tests.

Both tests estimate the probability of a difference at least as large as the one observed if the systems were equally
good. Paired bootstrap resampling (Koehn 2004) draws test sets of the same size from this one; approximate randomisation
(Riezler and Maxwell 2005) swaps the two translations of a sentence at random. The seed is fixed. Equal scores get
p = 1: sacreBLEU counts the draws with a larger difference, and would return its smallest p if all differences are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from sacrebleu.metrics.base import Metric as SacreMetric
from sacrebleu.significance import PairedTest, Result

from dragoman.evaluation.metrics import References, SacreBleu, check_counts

BOOTSTRAP_SAMPLES = 1000
RANDOMISATION_TRIALS = 10_000


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """One metric of two systems."""

    name: str
    score: float
    """Score of the evaluated system."""
    other_score: float
    """Score of the system that it is compared with."""
    interval: float
    """Half the width of the 95 % confidence interval of `score`, from the bootstrap samples."""
    other_interval: float
    bootstrap_p: float
    """p-value of the paired bootstrap test."""
    randomisation_p: float
    """p-value of the approximate randomisation test."""
    signature: str


@dataclass(frozen=True, slots=True)
class Comparisons:
    """All metrics of two systems."""

    other: str
    """Name of the system that the first is compared with."""
    metrics: tuple[MetricComparison, ...]

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "against": self.other,
            "scores": {
                metric.name: {
                    "score": metric.score,
                    "other_score": metric.other_score,
                    "interval": metric.interval,
                    "other_interval": metric.other_interval,
                    "bootstrap_p": metric.bootstrap_p,
                    "randomisation_p": metric.randomisation_p,
                    "signature": metric.signature,
                }
                for metric in self.metrics
            },
        }

    def rows(self) -> list[tuple[str, ...]]:
        """Return the rows of a table, its head first."""
        head = (f"against {self.other}", "this", "other", "difference", "p (bootstrap)", "p (randomisation)")
        return [
            head,
            *(
                (
                    metric.name,
                    f"{metric.score:.2f} ± {metric.interval:.2f}",
                    f"{metric.other_score:.2f} ± {metric.other_interval:.2f}",
                    f"{metric.score - metric.other_score:+.2f}",
                    f"{metric.bootstrap_p:.4f}",
                    f"{metric.randomisation_p:.4f}",
                )
                for metric in self.metrics
            ),
        ]


def compare(
    hypotheses: Sequence[str],
    others: Sequence[str],
    references: Sequence[References],
    metrics: Sequence[SacreBleu],
    other: str,
    *,
    samples: int = BOOTSTRAP_SAMPLES,
    trials: int = RANDOMISATION_TRIALS,
) -> Comparisons:
    """Test the hypotheses against those of another system on the same sources.

    Raises:
        InputError: there are no sentences, or their numbers differ.
    """
    check_counts(hypotheses, references)
    check_counts(others, references)
    return Comparisons(
        other, tuple(_compare(hypotheses, others, references, metric, samples, trials) for metric in metrics)
    )


class _Counted:
    """A metric for sacreBLEU's tests whose hypotheses are their statistics already.

    Each test would count them again for each system; for TER this takes longer than everything else.
    """

    def __init__(self, metric: SacreBleu) -> None:
        self._metric = metric

    def _extract_corpus_statistics(self, rows: list[list[float]], references: None) -> list[list[float]]:
        return rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self._metric.sacrebleu, name)


def _compare(
    hypotheses: Sequence[str],
    others: Sequence[str],
    references: Sequence[References],
    metric: SacreBleu,
    samples: int,
    trials: int,
) -> MetricComparison:
    systems: list[tuple[str, Any]] = [
        (name, metric.statistics(lines, references).tolist())
        for name, lines in (("other", others), ("this", hypotheses))
    ]
    counted = cast("SacreMetric", _Counted(metric))

    def test(kind: str, count: int) -> tuple[list[Result], str]:
        # One metric at a time: sacreBLEU names results by metric, and two of the metrics are called BLEU.
        paired = PairedTest(systems, {metric.name: counted}, None, test_type=kind, n_samples=count)
        signatures, results = paired()
        (name,) = signatures
        return cast("list[Result]", results[name]), metric.described(signatures[name])

    (other, this), signature = test("bs", samples)
    equal = this.score == other.score
    return MetricComparison(
        name=metric.name,
        score=float(this.score),
        other_score=float(other.score),
        interval=_number(this.ci),
        other_interval=_number(other.ci),
        bootstrap_p=1.0 if equal else _number(this.p_value),
        randomisation_p=1.0 if equal else _number(test("ar", trials)[0][1].p_value),
        signature=f"{signature}|ar:{trials}",
    )


def _number(value: float | None) -> float:
    assert value is not None
    return float(value)
