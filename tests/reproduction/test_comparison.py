"""Comparisons are parsed into weighted values, and mistakes are reported."""

from __future__ import annotations

import pytest

from dragoman.errors import ConfigError
from dragoman.reproduction.comparison import ScoreOf, parse_comparison
from dragoman.reproduction.experiment import experiment_names, load_experiment


def test_a_difference_is_what_should_be_greater_minus_the_rest() -> None:
    for text in ("bleu(b) > bleu(a)", "bleu(a) < bleu(b)", "bleu(b) - bleu(a) > 0"):
        found = parse_comparison(text)
        assert {value: weight for weight, value in found.terms} == {
            ScoreOf("bleu", ("b",)): 1.0,
            ScoreOf("bleu", ("a",)): -1.0,
        }, text
        assert found.constant == 0, text


def test_factors_parts_and_margins_are_kept() -> None:
    found = parse_comparison("2 * perplexity(local-p, long) + 0.5 > perplexity(a.b, all) - 3*bleu(c)")
    assert found.terms == (
        (2.0, ScoreOf("perplexity", ("local-p",), "long")),
        (-1.0, ScoreOf("perplexity", ("a.b",))),
        (3.0, ScoreOf("bleu", ("c",))),
    )
    assert found.constant == 0.5


def test_a_text_that_is_no_comparison_is_refused() -> None:
    for text in (
        *("", "bleu(a)", "bleu(a) > ", "bleu(a) > bleu(b) > bleu(c)", "bleu(a) bleu(b) > 1", "bleu() > 1"),
        *("2 > 1", "1 * > 2", "bleu(a) + > 2", "bleu[a] > 1"),
    ):
        with pytest.raises(ConfigError, match="comparison"):
            parse_comparison(text)


def test_one_of_several_systems_takes_their_place() -> None:
    found = parse_comparison("bleu(all) > bleu(a|b|c, long)")
    several = ScoreOf("bleu", ("a", "b", "c"), "long")
    assert found.terms == ((1.0, ScoreOf("bleu", ("all",))), (-1.0, several))
    chosen = found.with_systems({several: "b"})
    assert chosen == parse_comparison("bleu(all) > bleu(b, long)")


def test_the_best_member_of_an_ensemble_is_found_among_all_of_its_members() -> None:
    compared = set()
    for name in experiment_names():
        experiment = load_experiment(name)
        for claim in experiment.claims.values():
            if "best member" not in claim.claim:
                continue
            for comparison in claim.comparisons():
                (_, ensemble), (_, members) = comparison.terms
                found = {model for system in members.systems for model in experiment.systems[system].models}
                assert found == set(experiment.systems[ensemble.system].models), name
                compared.add(ensemble.system)
    assert compared == {"ensemble", "ensemble-8"}
