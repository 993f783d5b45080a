"""Reads what the steps wrote, as sufficient statistics of every system, seed and sentence."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.formats import read_alignments
from dragoman.errors import InputError
from dragoman.evaluation.metrics import SacreBleu, bleu_metric
from dragoman.evaluation.tokenizers import Tokenizer, fitting_tokenizer
from dragoman.reproduction.comparison import WHOLE
from dragoman.reproduction.decisions import Array, Measurements
from dragoman.reproduction.experiment import KNOWN, MAP_METRICS, PHRASE_METRICS, SOURCE_EFFECT, TEST_SET
from dragoman.reproduction.maps import map_statistics
from dragoman.reproduction.phrase_based import table_step
from dragoman.reproduction.phrases import phrase_statistics
from dragoman.reproduction.plan import Plan
from dragoman.reproduction.steps import Outcome
from dragoman.runs.layout import RunFolder
from dragoman.text.lines import read_lines, write_lines
from dragoman.text.links import read_links
from dragoman.text.scripts import line_lengths
from dragoman.text.vocabulary import UNK

_DEFAULT_SIZE = 2
_SIZES = {"bleu": 10, "log_bleu": 10, "dev_bleu": 10, "score_correlation": 6}
"""Statistics of a sentence, where they are not two."""
_STEPS = {
    "perplexity": "score",
    SOURCE_EFFECT: "score-wrong",
    "bleu": "translate",
    "log_bleu": "translate",
    "length_ratio": "translate",
    "aer": "align",
    "monotone": "align",
    "order_distance": "map",
    "voice_distance": "map",
    "dev_bleu": "translate-dev",
    "samples_in_table": "samples",
    "samples_in_text": "samples",
    "word_neighbours": "map-words",
    "phrase_neighbours": "map-phrases",
}
"""The step that writes what a metric is computed from; see also `_measuring_steps`."""


def read_measurements(plan: Plan, outcomes: Mapping[str, Outcome]) -> Measurements:
    """The statistics of all systems; NaN for a seed whose steps have not succeeded."""
    sentences = len(plan.corpus.lines("test", "source"))
    rows = {}
    for name in plan.experiment.needed_systems():
        bleu = bleu_metric(bleu_tokenizer(plan, name))
        for metric in plan.experiment.measured(name):
            found = {
                seed: _statistics(plan, metric, name, seed, bleu)
                for seed in range(1, plan.budget.seeds + 1)
                if is_measured(plan, outcomes, metric, name, seed)
            }
            units = {len(statistics) for statistics in found.values()}
            missing = np.full((units.pop() if units else sentences, _SIZES.get(metric, _DEFAULT_SIZE)), np.nan)
            rows[metric, name] = np.stack([found.get(seed, missing) for seed in range(1, plan.budget.seeds + 1)])
    return Measurements(rows, _parts(plan, outcomes))


def is_measured(plan: Plan, outcomes: Mapping[str, Outcome], metric: str, system: str, seed: int) -> bool:
    """Whether the steps have succeeded that write what a metric of a system is computed from."""
    return all(_is_done(outcomes, step) for step in measuring_steps(plan, metric, system, seed))


def measuring_steps(plan: Plan, metric: str, system: str, seed: int) -> list[str]:
    """The steps that write what a metric of a system is computed from."""
    steps = [f"{_STEPS[metric]}-{system}-seed{seed}"] if metric in _STEPS else []
    row = plan.experiment.systems[system].phrase_based
    if metric in PHRASE_METRICS and row is not None:
        steps.append(table_step(row, seed))
    if metric == "aer" and plan.gold is None:
        steps.append("gold")
    return steps


def _is_done(outcomes: Mapping[str, Outcome], step: str) -> bool:
    return step in outcomes and outcomes[step].state == "done"


def read_hypotheses(plan: Plan, system: str, seed: int, kind: str = "hypotheses.xz") -> list[str]:
    """The translations of a system as raw text; the phrase-based system writes words."""
    lines = read_lines(plan.folder / plan.output(system, seed, kind))
    if plan.experiment.systems[system].phrase_based is None:
        return list(lines)
    join = plan.corpus.segmentation("target").join
    return [join(line.split()) for line in lines]


def bleu_tokenizer(plan: Plan, system: str) -> Tokenizer:
    """The tokenizer of BLEU that fits the language into which a system translates."""
    return fitting_tokenizer(plan.languages_of(system)[1]).name


def _statistics(plan: Plan, metric: str, system: str, seed: int, bleu: SacreBleu) -> Array:
    """[N, F] the statistics of one metric of one system and seed."""
    row = plan.experiment.systems[system].phrase_based
    if metric in PHRASE_METRICS and row is not None:
        return phrase_statistics(plan, metric, system, row, seed)
    if metric in MAP_METRICS:
        return map_statistics(plan, metric, system, seed)
    if metric in ("perplexity", SOURCE_EFFECT):
        path = plan.output(system, seed, "scores.xz" if metric == "perplexity" else "wrong-scores.xz")
        values = np.array([line.split("\t") for line in read_lines(plan.folder / path)], dtype=np.float64)  # [N, 2]
        return np.asarray(values * (-1.0, 1.0))
    if metric == "aer":
        return _agreements(plan, system, seed)
    if metric == "monotone":
        return _monotone(plan, system, seed)
    if _STEPS[metric] == "map":
        return _distances(plan, metric, system, seed)
    which, kind = ("dev", "dev-hypotheses.xz") if metric == "dev_bleu" else ("test", "hypotheses.xz")
    references = plan.corpus.lines(which, plan.sides_of(system)[1])
    statistics = bleu.statistics(read_hypotheses(plan, system, seed, kind), references)
    return statistics[:, :2] if metric == "length_ratio" else statistics


def _agreements(plan: Plan, system: str, seed: int) -> Array:
    """[N, 2] links in S plus links in P, and links plus sure links, of each sentence.

    Raises:
        InputError: the gold links are those of another number of sentences.
    """
    gold = read_alignments(plan.folder / plan.gold_links()).sentences
    swapped = plan.swapped(system)
    path = plan.output(system, seed, "links.xz")
    found = [{(j, i) if swapped else (i, j) for i, j in links} for links in read_links(plan.folder / path)]
    if len(gold) != len(found):
        raise InputError(f"{plan.gold_links()}: has {len(gold)} lines, but the test set has {len(found)}")
    return np.array(
        [
            (len(links & marked.sure) + len(links & marked.possible), len(links) + len(marked.sure))
            for links, marked in zip(found, gold, strict=True)
        ],
        dtype=np.float64,
    )


def _monotone(plan: Plan, system: str, seed: int) -> Array:
    """[N, 2] neighbouring linked target words whose source words do not go back, and all neighbouring ones."""
    rows = []
    for links in read_links(plan.folder / plan.output(system, seed, "links.xz")):
        sources = [source for source, _ in sorted(links, key=lambda link: link[1])]
        rows.append((sum(left <= right for left, right in pairwise(sources)), max(0, len(sources) - 1)))
    return np.array(rows, dtype=np.float64)


def _distances(plan: Plan, metric: str, system: str, seed: int) -> Array:
    """[N, 2] distance between the projected states of two sentences of each contrast, and the mean of all distances."""
    points = read_states(plan, system, seed).reshape(-1, 3, 2)  # [contrasts, active exchanged passive, 2]
    everything = points.reshape(-1, 2)
    mean = np.linalg.norm(everything[:, None] - everything[None], axis=-1).mean()
    other = points[:, 1] if metric == "order_distance" else points[:, 2]
    distances = np.linalg.norm(points[:, 0] - other, axis=-1)
    return np.stack([distances, np.full(len(distances), mean)], axis=1)


def read_states(plan: Plan, system: str, seed: int) -> Array:
    """[3 * contrasts, 2] the coordinates that `dragoman map` wrote: active, exchanged, passive of each contrast."""
    path = plan.folder / plan.output(system, seed, "states.tsv")
    rows = [line.split("\t") for line in read_lines(path)][1:]
    coordinates = {text: (float(x), float(y)) for x, y, _, text in rows}
    return np.array(
        [
            coordinates[text]
            for contrast in plan.experiment.contrasts
            for text in (contrast.active, contrast.exchanged, contrast.passive)
        ]
    )


def _parts(plan: Plan, outcomes: Mapping[str, Outcome]) -> dict[str, NDArray[np.bool_]]:
    used = {
        value.part
        for claim in plan.experiment.claims.values()
        for comparison in claim.comparisons()
        for _, value in comparison.terms
    }
    sources = plan.corpus.lines("test", "source")
    shares = np.empty(len(sources))  # of the sentences of the same test set that are shorter
    for test_set in plan.corpus.facts.get("test sets", (WHOLE,)):
        lines = plan.corpus.test_set(test_set)
        lengths = np.array(line_lengths(sources[lines])[1])
        shares[lines] = np.argsort(np.argsort(lengths, kind="stable")) / len(lengths)
    parts = {WHOLE: np.ones(len(sources), dtype=np.bool_)}
    for name, part in plan.experiment.parts.items():
        parts[name] = (shares >= part.start) & (shares < part.end)
    for name in sorted(
        {*plan.corpus.facts.get("test sets", ()), *(part for part in used if part.startswith(TEST_SET))}
    ):
        parts[name] = np.zeros(len(sources), dtype=np.bool_)
        parts[name][plan.corpus.test_set(name)] = True
    if KNOWN in used:
        parts[KNOWN] = _without_unknown(plan, outcomes)
    return parts


def _without_unknown(plan: Plan, outcomes: Mapping[str, Outcome]) -> NDArray[np.bool_]:
    """[N] whether no word of a test pair is unknown to any of the models."""
    known = np.ones(len(plan.corpus.lines("test", "source")), dtype=np.bool_)
    for model in plan.experiment.used_models():
        outcome = outcomes.get(f"train-{model}-seed1")
        if outcome is not None and outcome.state == "done":
            known &= _known_to(plan, model)
    return known


def _known_to(plan: Plan, model: str) -> NDArray[np.bool_]:
    """[N] whether a model knows all words of a test pair; kept in a file, since its run folder may be deleted."""
    kept = plan.folder / "systems" / f"{model}.known"
    if not kept.exists():
        folder = RunFolder(plan.folder / plan.run(model, 1))
        known = np.ones(len(plan.corpus.lines("test", "source")), dtype=np.bool_)
        for text, side in zip(
            (folder.source_side(), folder.target_side()),
            plan.sides(plan.experiment.models[model].swapped),
            strict=True,
        ):
            known &= [UNK not in text.encode(line).ids for line in plan.corpus.lines("test", side)]
        write_lines(kept, map(str, known.astype(int)))
    return np.array([line == "1" for line in read_lines(kept)])
