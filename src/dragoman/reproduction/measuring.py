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
from dragoman.reproduction.decisions import METRICS, Array, Measurements
from dragoman.reproduction.experiment import KNOWN, KNOWN_BLEU, MAP_METRICS, PHRASE_METRICS, SOURCE_EFFECT, TEST_SET
from dragoman.reproduction.maps import map_statistics, read_map
from dragoman.reproduction.phrase_based import table_step
from dragoman.reproduction.phrases import phrase_statistics
from dragoman.reproduction.plan import Plan
from dragoman.reproduction.steps import Outcome, is_done
from dragoman.runs.layout import RunFolder
from dragoman.text.lines import read_lines, write_lines
from dragoman.text.links import read_links
from dragoman.text.scripts import line_lengths
from dragoman.text.vocabulary import SPECIALS, UNK

_UNKNOWN_WORD = "⁇"
"""One word for each tokeniser of sacreBLEU; 13a would make three of `<unk>`."""


def read_measurements(plan: Plan, outcomes: Mapping[str, Outcome]) -> Measurements:
    """The statistics of all systems; NaN for a seed whose steps have not succeeded."""
    sentences = len(plan.corpus.lines("test", "source"))
    rows, parts = {}, _parts(plan, outcomes)
    for name in plan.experiment.needed_systems():
        seeds = plan.seeds_of(name)
        bleu = bleu_metric(bleu_tokenizer(plan, name))
        for metric in plan.experiment.measured(name):
            by_seed = {
                seed: _statistics(plan, metric, name, seed, bleu)
                for seed in seeds
                if all(is_done(outcomes, step) for step in measuring_steps(plan, metric, name, seed))
            }
            units = {len(statistics) for statistics in by_seed.values()}
            missing = np.full((units.pop() if units else sentences, METRICS[metric].size), np.nan)
            rows[metric, name] = np.stack([by_seed.get(seed, missing) for seed in seeds])
            if metric == KNOWN_BLEU:
                rows[metric, name] *= parts[KNOWN][:, None]
    return Measurements(rows, parts)


def measuring_steps(plan: Plan, metric: str, system: str, seed: int) -> list[str]:
    """The steps that write what a metric of a system is computed from."""
    steps = [f"{METRICS[metric].step}-{system}-seed{seed}"] if METRICS[metric].step else []
    row = plan.experiment.systems[system].phrase_based
    if metric in PHRASE_METRICS and row is not None:
        steps.append(table_step(row, seed))
    if metric == "aer" and plan.gold is None:
        steps.append("gold")
    return steps


def read_hypotheses(plan: Plan, system: str, seed: int, step: str = "translate") -> list[str]:
    """The translations of a system as raw text; the phrase-based system writes words."""
    lines = read_lines(plan.folder / plan.output(step, system, seed))
    if plan.experiment.systems[system].phrase_based is None:
        return list(lines)
    join = plan.corpus.segmentation("target").join
    return [join(line.split()) for line in lines]


def scored_hypotheses(plan: Plan, system: str, seed: int, step: str = "translate") -> list[str]:
    """The translations of a system as BLEU counts them: an unknown word is one word, as it is for the papers' scorer,
    which divides text at spaces.
    """
    return [line.replace(SPECIALS[UNK], _UNKNOWN_WORD) for line in read_hypotheses(plan, system, seed, step)]


def bleu_tokenizer(plan: Plan, system: str) -> Tokenizer:
    """The tokenizer of BLEU that fits the language into which a system translates."""
    return fitting_tokenizer(plan.languages_of(system)[1]).name


def _statistics(plan: Plan, metric: str, system: str, seed: int, bleu: SacreBleu) -> Array:
    """[N, F] the statistics of one metric of one system and seed."""
    row, step = plan.experiment.systems[system].phrase_based, METRICS[metric].step
    if metric in PHRASE_METRICS and row is not None:
        return phrase_statistics(plan, metric, system, row, seed)
    if metric in MAP_METRICS:
        return map_statistics(plan, metric, system, seed)
    if metric in ("perplexity", SOURCE_EFFECT):
        lines = read_lines(plan.folder / plan.output(step, system, seed))
        values = np.array([line.split("\t") for line in lines], dtype=np.float64)  # [N, 2]
        return np.asarray(values * (-1.0, 1.0))
    if metric == "aer":
        return _agreements(plan, system, seed)
    if metric == "monotone":
        return _monotone(plan, system, seed)
    if step == "map":
        return _distances(plan, metric, system, seed)
    side = plan.sides(plan.swapped(system))[1]
    references = plan.corpus.lines("dev" if metric == "dev_bleu" else "test", side)
    statistics = bleu.statistics(scored_hypotheses(plan, system, seed, step), references)
    return statistics[:, :2] if metric == "length_ratio" else statistics


def _agreements(plan: Plan, system: str, seed: int) -> Array:
    """[N, 2] links in S plus links in P, and links plus sure links, of each sentence.

    Raises:
        InputError: the gold links have another number of sentences.
    """
    gold = read_alignments(plan.folder / plan.gold_links()).sentences
    swapped = plan.swapped(system)
    path = plan.output("align", system, seed)
    predicted = [{(j, i) if swapped else (i, j) for i, j in links} for links in read_links(plan.folder / path)]
    if len(gold) != len(predicted):
        raise InputError(f"{plan.gold_links()}: has {len(gold)} lines, but the test set has {len(predicted)}")
    return np.array(
        [
            (len(links & marked.sure) + len(links & marked.possible), len(links) + len(marked.sure))
            for links, marked in zip(predicted, gold, strict=True)
        ],
        dtype=np.float64,
    )


def _monotone(plan: Plan, system: str, seed: int) -> Array:
    """[N, 2] neighbouring linked target words whose source words do not go back, and all neighbouring linked target
    words."""
    rows = []
    for links in read_links(plan.folder / plan.output("align", system, seed)):
        sources = [source for source, _ in sorted(links, key=lambda link: link[1])]
        rows.append((sum(left <= right for left, right in pairwise(sources)), max(0, len(sources) - 1)))
    return np.array(rows, dtype=np.float64)


def _distances(plan: Plan, metric: str, system: str, seed: int) -> Array:
    """[N, 2] distance between the projected states of two sentences of each contrast, and the mean of all distances."""
    points = read_states(plan, system, seed)
    everything = points.reshape(-1, 2)
    mean = np.linalg.norm(everything[:, None] - everything[None], axis=-1).mean()
    other = points[:, 1] if metric == "order_distance" else points[:, 2]
    distances = np.linalg.norm(points[:, 0] - other, axis=-1)
    return np.stack([distances, np.full(len(distances), mean)], axis=1)


def read_states(plan: Plan, system: str, seed: int) -> Array:
    """[contrasts, 3, 2] the coordinates of the sentences of each contrast that `dragoman map` wrote."""
    points = {point.text: (point.x, point.y) for point in read_map(plan, "map", system, seed)}
    return np.array([[points[text] for text in contrast.sentences] for contrast in plan.experiment.contrasts])


def _parts(plan: Plan, outcomes: Mapping[str, Outcome]) -> dict[str, NDArray[np.bool_]]:
    used = {value.part for claim in plan.experiment.claims.values() for value in claim.values()}
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
    if any(KNOWN_BLEU in plan.experiment.measured(name) for name in plan.experiment.needed_systems()):
        models = [name for name in plan.experiment.used_models() if is_done(outcomes, f"train-{name}-seed1")]
        parts[KNOWN] = np.logical_and.reduce([parts[WHOLE], *(_known_to(plan, model) for model in models)])
    return parts


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
