"""N-best lists from files to files: rescored, reranked, and weights tuned on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from dragoman.errors import ConfigError, InputError
from dragoman.evaluation.minimum_risk import pairwise_bleu, pairwise_chrf
from dragoman.evaluation.tokenised_text import warn_of_lines_without_spaces
from dragoman.progress import Console
from dragoman.requests.rescoring import RerankingRequest, RescoringRequest, TuningRequest
from dragoman.scoring.lists import NBestSentence, add_features, with_sources
from dragoman.scoring.nbest import NBestEntry, by_sentence, read_nbest
from dragoman.text.lines import read_lines, replace_output
from dragoman.text.scripts import SpacingCounter
from dragoman.tuning.feature_weights import as_vector, as_weights, read_weights, weights_file
from dragoman.tuning.mert import RESTARTS, TunedWeights, tune_mert, warn_of_flat_metric
from dragoman.tuning.mira import tune_mira
from dragoman.tuning.multi_run_tests import compare_weights
from dragoman.tuning.pool import METRICS, HypothesisPool, Vector, read_pool, read_references
from dragoman.tuning.pro import tune_pro
from dragoman.tuning.reranking import Criterion, by_average, by_expectation, by_oracle, by_total, by_weights, rerank
from dragoman.workflows.smt_features import open_features


def rescore_lists(request: RescoringRequest) -> None:
    """Write the list with more features, as a stream.

    Raises:
        ConfigError, InputError, RunError: as for `open_features`, `read_nbest` and `with_sources`.
    """
    features = open_features(request.features, device=request.general.device, threads=request.general.threads)
    lists = by_sentence(read_nbest(request.nbest))
    if request.source is None:
        sentences: Iterable[NBestSentence] = (NBestSentence("", entries) for entries in lists)
    else:
        sentences = with_sources(lists, read_lines(request.source), request.source)
    rescored = add_features(sentences, features, request.nbest)
    with replace_output(request.output, keep_partial=True) as file:
        for line in _counted(rescored, Console(quiet=request.general.quiet)):
            file.write(line + "\n")


def _counted(lists: Iterable[Sequence[NBestEntry]], console: Console) -> Iterator[str]:
    """The lines of the lists, with a progress counter on a terminal."""
    done = 0
    with console.counter("hypotheses") as advance:
        for entries in lists:
            yield from (entry.line for entry in entries)
            done += len(entries)
            advance(done)


def rerank_lists(request: RerankingRequest) -> None:
    """Write the best hypothesis of each sentence; a sentence without hypotheses gives an empty line.

    Raises:
        InputError: a file cannot be read, is malformed or has too many sentences; weights or features do not match.
    """
    chosen = request.criterion
    criterion = _criterion(request)
    if chosen.mbr:
        utility = pairwise_chrf if chosen.metric == "chrf" else pairwise_bleu
        criterion = by_expectation(criterion, chosen.mbr_scale or 1.0, chosen.mbr_size or 100, utility)
    spacing = SpacingCounter()
    with replace_output(request.output) as file:
        written = 0
        for entry in rerank(by_sentence(read_nbest(request.nbest)), criterion):
            file.write("\n" * (entry.sentence - written) + entry.text + "\n")
            written = entry.sentence + 1
            spacing.add(entry.text)
        if request.sentences is not None:
            if written > request.sentences:
                raise InputError(f"{request.nbest}: has more than {request.sentences} sentences (--sentences)")
            file.write("\n" * (request.sentences - written))
    if chosen.mbr and chosen.metric != "chrf" and spacing.unsegmented:
        warn_of_lines_without_spaces("hypotheses", "BLEU", "divide them into words, or use --metric chrf")


def _criterion(request: RerankingRequest) -> Criterion:
    chosen = request.criterion
    if chosen.feature_weights is not None:
        return by_weights(read_weights(chosen.feature_weights), chosen.feature_weights, request.nbest)
    if chosen.average:
        return by_average(chosen.average, request.nbest)
    if chosen.oracle:
        metric = METRICS[chosen.metric or "bleu"]
        return by_oracle(read_references(chosen.oracle, metric), chosen.oracle[0], metric)
    return by_total


def tune_weights(request: TuningRequest) -> None:
    """Tune several times, say the scores, and write the weights of the best run.

    Raises:
        ConfigError: the lists of the test set have other features.
        InputError: a file cannot be read or is malformed, or weights do not match the features.
    """
    console = Console(quiet=request.general.quiet)
    with weights_file(request.output) as write:
        pools = _read_pools(request)
        pool = pools["dev"]
        size = pool.features.shape[1]
        start, initial = np.full(size, 1 / size), request.initial_weights
        if initial is not None:
            start = as_vector(read_weights(initial), pool.shape, initial, lacking=0.0)
        others = [as_vector(read_weights(path), pool.shape, path, lacking=0.0) for path in request.against]
        console.info(f"{len(pool.starts)} sentences, {len(pool.features)} distinct hypotheses, {size} weights")
        console.info(f"start: {_shown(pools, start)}")
        vectors = []
        for seed in range(request.seed, request.seed + request.runs):
            vectors.append(_tune(request, pool, start, np.random.default_rng(seed)))
            console.info(f"{request.method}, seed {seed}: {_shown(pools, vectors[-1].weights)}")
        _say_summary(pools, [tuned.weights for tuned in vectors], others, console)
        best = max(vectors, key=lambda tuned: tuned.score)
        warn_of_flat_metric(pool, [start, *(tuned.weights for tuned in vectors)], "use --metric chrf")
        write(as_weights(best.weights, pool.shape))


def _read_pools(request: TuningRequest) -> dict[str, HypothesisPool]:
    """The lists of dev and, if given, of test."""
    metric = METRICS[request.metric]
    pools = {"dev": read_pool(request.nbest, request.reference, metric)}
    if request.test is not None:
        pools["test"] = read_pool([request.test], request.test_reference, metric)
        if list(pools["test"].shape.items()) != list(pools["dev"].shape.items()):
            raise ConfigError(f"--test: {request.test} and {request.nbest[0]} have different features")
    return pools


def _tune(request: TuningRequest, pool: HypothesisPool, start: Vector, random: np.random.Generator) -> TunedWeights:
    if request.method == "mert":
        return tune_mert(pool, start, random, restarts=RESTARTS if request.restarts is None else request.restarts)
    return tune_mira(pool, start, random) if request.method == "mira" else tune_pro(pool, start, random)


def _shown(pools: dict[str, HypothesisPool], weights: Vector) -> str:
    dev, *test = (f"{pool.score(weights):.2f}" for pool in pools.values())
    return f"{pools['dev'].metric.name} {dev}" + "".join(f", test {score}" for score in test)


def _say_summary(
    pools: dict[str, HypothesisPool], vectors: Sequence[Vector], others: Sequence[Vector], console: Console
) -> None:
    """Say mean and standard deviation over the runs, and the difference to the other weights, for each set."""
    for name, pool in pools.items():
        if len(vectors) > 1:
            scores = [pool.score(weights) for weights in vectors]
            spread = f"mean {np.mean(scores):.2f}, standard deviation {np.std(scores, ddof=1):.2f}"
            console.info(f"{name}: {spread}, {len(scores)} runs")
        if others:
            compared = compare_weights(pool, vectors, others)
            mean, other = compared.scores.mean(), compared.other_scores.mean()
            console.info(
                f"{name}: {mean:.2f} against {other:.2f}, {mean - other:+.2f}; "
                f"p {compared.bootstrap_p:.4f} (bootstrap), {compared.randomisation_p:.4f} (randomisation)"
            )
