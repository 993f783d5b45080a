"""The result of an experiment as JSON values: settings, scores of every seed, verdicts, points of figures."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.metrics import bleu_metric
from dragoman.evaluation.slices import by_length_groups, by_rarity, mean_ranks
from dragoman.report.facts import machine_name
from dragoman.reproduction.comparison import WHOLE, Comparison
from dragoman.reproduction.decisions import (
    METRICS,
    Decision,
    Measurements,
    decide,
    effect_size,
    of_best_systems,
    verdict_of_all,
)
from dragoman.reproduction.experiment import KNOWN, KNOWN_BLEU, Claim, Experiment, Figure
from dragoman.reproduction.maps import read_map
from dragoman.reproduction.measuring import (
    bleu_tokenizer,
    measuring_steps,
    read_hypotheses,
    read_states,
    scored_hypotheses,
)
from dragoman.reproduction.phrase_based import table_step
from dragoman.reproduction.phrases import log_scores, shown_phrases
from dragoman.reproduction.plan import Plan
from dragoman.reproduction.steps import Outcome, is_done
from dragoman.reproduction.trainings import language_model_settings
from dragoman.runs.layout import RunFolder
from dragoman.text.scripts import line_lengths
from dragoman.training.log import read_log

Values = dict[str, Any]
_DRAWN_PAIRS = 1000
"""Points of a scatter plot."""
_MAPS = {"word-map": "map-words", "phrase-map": "map-phrases"}
"""Kind of a map -> the step that writes its points."""


def collect(plan: Plan, outcomes: Mapping[str, Outcome], measured: Measurements, command: str) -> Values:
    """The result of an experiment; numbers that do not exist are null."""
    experiment = plan.experiment
    return {
        "experiment": experiment.name,
        "definition": experiment.digest,
        "title": experiment.title,
        "paper": experiment.paper,
        "item": experiment.item,
        "note": experiment.note,
        "command": command,
        "dragoman": version("dragoman"),
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine_name(),
        "budget": asdict(plan.budget) | ({"updates": None} if plan.budget.minutes else {}),
        "settings": {**experiment.settings, **plan.settings},
        "corpus": plan.corpus.facts,
        "parts": {name: int(inside.sum()) for name, inside in measured.parts.items()},
        "gold": "given" if plan.gold else "links of a statistical aligner",
        "metrics": {name: _heading(name, measured) for name in experiment.metrics},
        "systems": {name: _system(plan, name, outcomes, measured) for name in experiment.needed_systems()},
        "shown": experiment.rows(),
        "models": {
            name: _model(plan, name, outcomes)
            for name in (*experiment.used_models(), *experiment.used_language_models())
        },
        "claims": {name: _claim(experiment, claim, measured) for name, claim in experiment.claims.items()},
        "figures": {name: _figure(plan, figure, outcomes) for name, figure in experiment.figures.items()},
        "samples": _samples(plan, outcomes),
        "phrases": _phrases(plan, outcomes),
        "heat maps": _heat_maps(plan, outcomes),
        "failed": {name: outcome.message for name, outcome in outcomes.items() if outcome.state == "failed"},
    }


def _heading(metric: str, measured: Measurements) -> str:
    heading, known = METRICS[metric].heading, measured.parts.get(KNOWN)
    return f"{heading} ({known.sum():,} sentences)" if metric == KNOWN_BLEU and known is not None else heading


def _system(plan: Plan, name: str, outcomes: Mapping[str, Outcome], measured: Measurements) -> Values:
    system = plan.experiment.systems[name]
    scores: dict[str, Values] = {}
    for metric in plan.experiment.measured(name):
        values = measured.scores(metric, name)
        finite = values[np.isfinite(values)]
        scores[metric] = {
            "values": [_number(value) for value in values],
            "mean": _mean(values),
            "deviation": _number(finite.std(ddof=1)) if len(finite) > 1 else None,
            "not run": sum(
                any(step not in outcomes for step in measuring_steps(plan, metric, name, seed))
                for seed in plan.seeds_of(name)
            ),
            "paper": system.paper.get(metric),
        }
        if metric in ("bleu", "dev_bleu"):
            scores[metric]["tokenizer"] = bleu_tokenizer(plan, name)
        if metric in ("bleu", "perplexity"):
            scores[metric]["test sets"] = {
                part: _mean(measured.scores(metric, name, part)) for part in plan.corpus.facts.get("test sets", ())
            }
    for metric, value in system.paper.items():
        scores.setdefault(metric, {"values": [], "mean": None, "deviation": None, "not run": 0, "paper": value})
    return {"label": system.label, "models": list(system.models), "seeds": system.seeds, "scores": scores}


def _model(plan: Plan, name: str, outcomes: Mapping[str, Outcome]) -> Values:
    """Facts of the trainings of a model: means over the seeds that succeeded."""
    if name in plan.experiment.models:
        preset, settings = plan.experiment.models[name].preset, dict(plan.experiment.models[name].set)
    else:
        preset, settings = "lm", language_model_settings(plan.experiment, name, plan.budget.scale)
    facts: dict[str, list[float]] = {"updates": [], "epochs": [], "minutes": [], "dev perplexity": []}
    machines = set()
    for seed in range(1, plan.budget.seeds + 1):
        if not is_done(outcomes, step := f"train-{name}-seed{seed}"):
            continue
        machines.add(outcomes[step].machine)
        validations = _validations(plan, name, seed)
        if validations:
            last = validations[-1]
            facts["updates"].append(last["update"])
            facts["epochs"].append(last["epoch"])
            facts["minutes"].append(last["seconds"] / 60)
            facts["dev perplexity"].append(min(record["perplexity"] or math.inf for record in validations))
    means = {key: _number(sum(values) / len(values)) if values else None for key, values in facts.items()}
    return {"preset": preset, "set": settings, **means, "machines": sorted(machines - {""})}


def _claim(experiment: Experiment, claim: Claim, measured: Measurements) -> Values:
    comparisons = claim.comparisons()
    decisions = [decide(comparison, measured) for comparison in comparisons]
    return {
        "claim": claim.claim,
        "where": claim.where,
        "verdict": str(verdict_of_all(decisions)),
        "comparisons": [
            _decision(decision, measured, paper_effect(experiment, comparison))
            for comparison, decision in zip(comparisons, decisions, strict=True)
        ],
    }


def paper_effect(experiment: Experiment, comparison: Comparison) -> float | None:
    """The effect that the paper has for a comparison, as `effect_size`; the paper's values decide which of several
    systems is best."""

    def scores(metric: str, system: str, part: str = WHOLE) -> NDArray[np.float64] | None:
        value = experiment.systems[system].paper.get(metric)
        return np.array([value]) if isinstance(value, float) else None

    return effect_size(of_best_systems(comparison, scores), scores)


def _decision(decision: Decision, measured: Measurements, paper: float | None) -> Values:
    ours = effect_size(decision.comparison, measured.scores)
    effect = None
    if decision.values and ours is not None and paper is not None:
        effect = {"ours": _number(ours), "paper": _number(paper)}
    return {
        "expected": decision.comparison.text,
        "values": [_number(value) for value in decision.values],
        "mean": _number(decision.mean),
        "interval": [_number(decision.low), _number(decision.high)],
        "verdict": str(decision.verdict),
        "effect": effect,
        "seeds that would decide": decision.seeds_needed,
    }


# Figures -------------------------------------------------------------------------------------------------------------


def _figure(plan: Plan, figure: Figure, outcomes: Mapping[str, Outcome]) -> Values:
    about: Values = {"title": figure.title, "kind": figure.kind}
    paper = {name: sorted(points.items()) for name, points in figure.paper.items()}
    if figure.kind == "states":
        return {**about, "ours": _states(plan, figure.systems[0], outcomes), "paper": {}}
    if figure.kind == "phrase-scores":
        return {**about, "ours": _scores(plan, figure.systems[0], outcomes), "paper": {}}
    if figure.kind in _MAPS:
        return {**about, "paper": {}, **_map(plan, _MAPS[figure.kind], figure.systems[0], outcomes)}
    if figure.kind == "learning-curves":
        curves = {name: _learning_curve(plan, name, outcomes) for name in figure.systems}
    else:
        curves = {name: _slices(plan, figure, name, outcomes) for name in figure.systems}
    labels = plan.experiment.systems
    return {**about, "ours": {labels[name].label: points for name, points in curves.items()}, "paper": paper}


def _states(plan: Plan, system: str, outcomes: Mapping[str, Outcome]) -> dict[str, list[list[float]]]:
    """The projected states of the first seed by kind of sentence; {} where there are none."""
    seeds = _done(plan, f"map-{system}", outcomes)
    if not seeds:
        return {}
    points = read_states(plan, system, seeds[0])
    return {kind: points[:, index].tolist() for index, kind in enumerate(("active", "agents exchanged", "passive"))}


def _scores(plan: Plan, name: str, outcomes: Mapping[str, Outcome]) -> dict[str, list[tuple[float, float]]]:
    """The scores of phrase pairs of the first seed by the network and by the table; {} where there are none."""
    row = plan.experiment.systems[name].phrase_based
    if row is None or not is_done(outcomes, table_step(row, 1)):
        return {}
    points = log_scores(plan, row, 1)[:_DRAWN_PAIRS]
    return {"phrase pairs": [(round(network, 3), round(table, 3)) for table, network in points]}


def _map(plan: Plan, step: str, system: str, outcomes: Mapping[str, Outcome]) -> Values:
    """The points of a map of the first seed, with their labels; no points where there are none."""
    if not is_done(outcomes, f"{step}-{system}-seed1"):
        return {"ours": {}, "labels": []}
    points = read_map(plan, step, system, 1)
    return {"ours": {"points": [(point.x, point.y) for point in points]}, "labels": [point.text for point in points]}


def _phrases(plan: Plan, outcomes: Mapping[str, Outcome]) -> dict[str, list[Values]]:
    """Label of a system -> source phrases with their best targets and samples, of the first seed."""
    shown = {}
    for name in plan.experiment.samples.phrases_of:
        system = plan.experiment.systems[name]
        if system.phrase_based is None or not is_done(outcomes, f"samples-{name}-seed1"):
            continue
        shown[system.label] = [one._asdict() for one in shown_phrases(plan, name, system.phrase_based, 1)]
    return shown


def _samples(plan: Plan, outcomes: Mapping[str, Outcome]) -> list[Values]:
    """The longest test sentences with the translations of the first seed."""
    wanted = plan.experiment.samples
    sources, references = (plan.corpus.lines("test", side) for side in ("source", "target"))
    longest = sorted(range(len(sources)), key=lambda number: -len(sources[number].split()))[: wanted.longest]
    outputs = {
        plan.experiment.systems[name].label: read_hypotheses(plan, name, 1)
        for name in wanted.systems
        if 1 in _done(plan, f"translate-{name}", outcomes)
    }
    return [
        {
            "line": number + 1,
            "source": sources[number],
            "reference": references[number],
            "translations": {label: lines[number] for label, lines in outputs.items()},
        }
        for number in longest
    ]


def _heat_maps(plan: Plan, outcomes: Mapping[str, Outcome]) -> Values:
    """Model -> the heat maps that were drawn, relative to the folder of the family."""
    done = (name for name in plan.experiment.samples.heat_maps if is_done(outcomes, f"heatmap-{name}"))
    return {name: [str(plan.heat_maps(name) / f"{line}.svg") for line in plan.drawn_lines()] for name in done}


def _learning_curve(plan: Plan, system: str, outcomes: Mapping[str, Outcome]) -> list[tuple[float, float]]:
    """Updates and ln(dev perplexity), the mean over the seeds that were validated there."""
    points: dict[float, list[float]] = {}
    model = plan.experiment.systems[system].models[0]
    for seed in _done(plan, f"train-{model}", outcomes):
        for record in _validations(plan, model, seed):
            if record["perplexity"]:
                points.setdefault(record["update"], []).append(math.log(record["perplexity"]))
    return [(update, sum(values) / len(values)) for update, values in sorted(points.items())]


def _validations(plan: Plan, model: str, seed: int) -> list[Values]:
    """The validations of a training; none if its folder was deleted."""
    log = RunFolder(plan.folder / plan.run(model, seed)).log
    return [record for record in read_log(log) if record["kind"] == "validation"] if log.is_file() else []


def _slices(plan: Plan, figure: Figure, system: str, outcomes: Mapping[str, Outcome]) -> list[tuple[float, float]]:
    """BLEU of groups of test sentences by length or rarity, the mean over seeds, at the mean key of each group.

    Groups that end with the same length are one. The axis of Luong et al. 2015, figure 6, shows the last length of each
    group instead, which is that of the longest sentence for the last one.
    """
    sides = plan.sides(plan.swapped(system))
    source, target = (plan.corpus.lines("test", side) for side in sides)
    if figure.kind == "rarity":
        counts = Counter(word for line in plan.corpus.lines("train", sides[0]) for word in line.split())
        ranks = {word: rank for rank, (word, _) in enumerate(counts.most_common(), 1)}
        keys = mean_ranks((line.split() for line in source), ranks)
        slicing = by_rarity(keys, figure.group)
    else:
        lines = source if figure.kind == "source-length" else target
        keys = [float(length) for length in line_lengths(lines)[1]]
        slicing = by_length_groups(lines, "source" if figure.kind == "source-length" else "reference", figure.group)
    ends = [max(keys[member] for member in members) for members in slicing.members]
    groups = [
        np.concatenate([members for _, members in equal])
        for _, equal in groupby(zip(ends, slicing.members, strict=True), itemgetter(0))
    ]
    bleu = bleu_metric(bleu_tokenizer(plan, system))
    curves = []
    for seed in _done(plan, f"translate-{system}", outcomes):
        statistics = bleu.statistics(scored_hypotheses(plan, system, seed), target)
        curves.append([bleu.score(statistics[members].sum(axis=0)) for members in groups])
    if not curves:
        return []
    positions = [round(float(np.mean([keys[member] for member in members])), 2) for members in groups]
    return list(zip(positions, np.mean(curves, axis=0).tolist(), strict=True))


def _done(plan: Plan, step: str, outcomes: Mapping[str, Outcome]) -> list[int]:
    """The seeds for which a step succeeded."""
    return [seed for seed in range(1, plan.budget.seeds + 1) if is_done(outcomes, f"{step}-seed{seed}")]


def _mean(values: NDArray[np.float64]) -> float | None:
    """The mean over the seeds that succeeded; None if none did."""
    finite = values[np.isfinite(values)]
    return _number(finite.mean()) if len(finite) else None


def _number(value: float) -> float | None:
    return round(float(value), 4) if math.isfinite(value) else None
