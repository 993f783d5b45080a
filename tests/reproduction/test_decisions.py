"""The rule of decisions on simulated measurements whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dragoman.reproduction.comparison import parse_comparison
from dragoman.reproduction.decisions import (
    LEAST_SEEDS,
    METRICS,
    Measurements,
    Verdict,
    decide,
    effect_size,
    verdict_of_all,
)

SENTENCES = 400


def _nll(per_token: list[float], noise: float = 0.3) -> NDArray[np.float64]:
    """[K, N, 2] negative log-probabilities and token counts of seeds with these means."""
    random = np.random.default_rng(0)
    tokens = random.integers(5, 20, size=SENTENCES).astype(float)
    return np.stack(
        [np.stack([tokens * (mean + noise * random.standard_normal(SENTENCES)), tokens], axis=1) for mean in per_token]
    )


def _measured(**systems: NDArray[np.float64]) -> Measurements:
    parts = {"all": np.ones(SENTENCES, bool), "short": np.arange(SENTENCES) < SENTENCES // 2}
    return Measurements({("perplexity", name): rows for name, rows in systems.items()}, parts)


WORSE_THAN_BASE = parse_comparison("perplexity(worse) > perplexity(base)")


def test_an_effect_in_every_seed_holds_and_its_opposite_does_not() -> None:
    measured = _measured(base=_nll([2.0, 2.1, 2.05]), worse=_nll([2.3, 2.4, 2.35]))
    right = decide(WORSE_THAN_BASE, measured)
    wrong = decide(parse_comparison("perplexity(worse) < perplexity(base)"), measured)
    assert (right.verdict, wrong.verdict) == (Verdict.HOLDS, Verdict.DOES_NOT_HOLD)
    assert 0 < right.low < right.mean < right.high
    assert wrong.mean == pytest.approx(-right.mean)
    assert right.mean == pytest.approx(np.mean(right.values))


def test_an_effect_of_another_sign_in_one_seed_is_not_decided() -> None:
    measured = _measured(base=_nll([2.0, 2.0, 2.0]), worse=_nll([2.4, 2.4, 1.9]))
    decision = decide(WORSE_THAN_BASE, measured)
    assert decision.verdict is Verdict.NOT_DECIDED
    assert decision.seeds_needed is not None
    assert decision.seeds_needed > 3


def test_the_best_of_several_systems_is_not_known_before_all_are_measured() -> None:
    measured = _measured(base=_nll([2.0, 2.1, 2.05]), worse=_nll([2.3, 2.4, 2.35]), later=_nll([np.nan] * 3))
    decision = decide(parse_comparison("perplexity(worse|later) > perplexity(base)"), measured)
    assert (decision.verdict, decision.values) == (Verdict.NOT_DECIDED, ())


def test_two_seeds_do_not_tell_how_many_would_decide() -> None:
    decision = decide(WORSE_THAN_BASE, _measured(base=_nll([2.0, 2.0]), worse=_nll([2.4, 1.9])))
    assert (decision.verdict, decision.seeds_needed) == (Verdict.NOT_DECIDED, None)


def test_an_ensemble_is_compared_with_its_best_member_and_not_with_the_one_that_is_named_last() -> None:
    measured = _measured(ensemble=_nll([2.0] * 3), good=_nll([1.9] * 3), poor=_nll([2.4] * 3))
    decision = decide(parse_comparison("perplexity(good|poor) > perplexity(ensemble)"), measured)
    assert decision.comparison.text == "perplexity(good) > perplexity(ensemble)"
    assert decision.verdict is Verdict.DOES_NOT_HOLD


def test_effects_are_differences_of_scores_and_of_logarithms_of_perplexities() -> None:
    scores = {("bleu", "a"): [10.0, 12.0], ("bleu", "b"): [13.0, 17.0], ("perplexity", "a"): [8.0, 2.0]}
    scores["perplexity", "b"] = [2.0, 0.5]

    def of(metric: str, system: str) -> NDArray[np.float64] | None:
        return np.array(scores[metric, system]) if (metric, system) in scores else None

    for text, effect in (
        ("bleu(b) > bleu(a)", 4.0),
        ("2 * bleu(b) - bleu(a) > bleu(a)", 8.0),
        ("perplexity(a) > perplexity(b)", np.log(4)),
        ("bleu(c) > bleu(a)", None),
        ("bleu(b) + 1 > bleu(a)", None),
        ("bleu(b, long) > bleu(a, long)", None),
    ):
        assert effect_size(parse_comparison(text), of) == (None if effect is None else pytest.approx(effect)), text


def test_an_effect_within_the_noise_of_the_sentences_is_decided_by_no_number_of_seeds() -> None:
    base = _nll([2.0] * 3, noise=0.0)
    worse = base.copy()
    worse[:, 0, 0] += 3.0  # a single sentence: many resampled test sets do not have it
    decision = decide(WORSE_THAN_BASE, _measured(base=base, worse=worse))
    assert min(decision.values) > 0
    assert (decision.verdict, decision.seeds_needed) == (Verdict.NOT_DECIDED, None)


def test_fewer_seeds_than_the_rule_asks_for_decide_nothing() -> None:
    for seeds in range(1, LEAST_SEEDS):
        decision = decide(WORSE_THAN_BASE, _measured(base=_nll([2.0] * seeds), worse=_nll([3.0] * seeds)))
        assert decision.verdict is Verdict.NOT_DECIDED


def test_a_seed_whose_training_failed_is_left_out() -> None:
    base, worse = _nll([2.0, 2.0, 2.0, 2.0]), _nll([2.5, 2.5, 2.5, 2.5])
    worse[1] = np.nan
    decision = decide(WORSE_THAN_BASE, _measured(base=base, worse=worse))
    assert len(decision.values) == 3
    assert decision.verdict is Verdict.HOLDS
    worse[2] = np.nan
    assert decide(WORSE_THAN_BASE, _measured(base=base, worse=worse)).verdict is Verdict.NOT_DECIDED
    worse[:] = np.nan
    assert decide(WORSE_THAN_BASE, _measured(base=base, worse=worse)).values == ()


def test_a_part_is_scored_on_its_sentences_alone() -> None:
    rows = _nll([2.0, 2.0, 2.0], noise=0.0)
    rows[:, SENTENCES // 2 :, 0] *= 2
    measured = _measured(base=rows)
    assert measured.scores("perplexity", "base", "short") == pytest.approx(np.exp(2.0))
    decision = decide(parse_comparison("perplexity(base) > perplexity(base, short)"), measured)
    assert decision.verdict is Verdict.HOLDS


def test_the_interval_contains_the_truth_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(1)
    inside = 0
    for _ in range(40):
        tokens = np.full(SENTENCES, 10.0)
        shift = 0.05 * random.standard_normal((5, 1))
        base, worse = (
            tokens * (2.0 + effect + shift + 0.2 * random.standard_normal((5, SENTENCES))) for effect in (0.0, 0.1)
        )
        rows = [np.stack([values, np.tile(tokens, (5, 1))], axis=2) for values in (base, worse)]
        decision = decide(WORSE_THAN_BASE, _measured(base=rows[0], worse=rows[1]))
        noise = 0.5 * 0.2**2 / 10  # of exp(mean), to second order
        truth = np.exp(2.1 + noise) - np.exp(2.0 + noise)
        inside += decision.low < truth < decision.high
    assert inside >= 30


def test_a_claim_holds_if_all_of_its_comparisons_do() -> None:
    measured = _measured(base=_nll([2.0] * 3), worse=_nll([2.4] * 3), same=_nll([2.0] * 3))
    holds, fails, open_ = (
        decide(parse_comparison(text), measured)
        for text in (
            "perplexity(worse) > perplexity(base)",
            "perplexity(base) > perplexity(worse)",
            "perplexity(same) > perplexity(base)",
        )
    )
    assert verdict_of_all([holds, holds]) is Verdict.HOLDS
    assert verdict_of_all([holds, open_]) is Verdict.NOT_DECIDED
    assert verdict_of_all([holds, open_, fails]) is Verdict.DOES_NOT_HOLD


def test_every_metric_scores_a_perfect_and_a_poor_row_in_its_direction() -> None:
    perfect = {"perplexity": [0.0, 5], "bleu": [8, 8, 8, 7, 6, 5, 8, 7, 6, 5], "length_ratio": [8, 8], "aer": [8, 8]}
    poor = {"perplexity": [50.0, 5], "bleu": [8, 8, 4, 2, 1, 1, 8, 7, 6, 5], "length_ratio": [4, 8], "aer": [2, 8]}
    for name, row in perfect.items():
        kind = METRICS[name]
        better, worse = (float(kind.score(np.array(values, float))) for values in (row, poor[name]))
        assert (better < worse) == kind.lower_is_better, name
