"""`dragoman tune`: log-linear weights for the features of n-best lists."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dragoman.cli.shared.options import add_general_options, add_output
from dragoman.cli.shared.parsing import Parser, natural, positive_int
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np

    from dragoman.progress import Console
    from dragoman.tuning.mert import TunedWeights
    from dragoman.tuning.pool import HypothesisPool, Vector

SUMMARY = "tune log-linear weights on n-best lists"
DESCRIPTION = (
    "Finds weights for the features of n-best lists that maximise BLEU or chrF of the 1-best hypotheses\n"
    "(MERT, batch MIRA or PRO). Runs several times with different seeds, prints the score of each run\n"
    "with mean and standard deviation, and writes the weights of the best run as `Name= weight ...`.\n"
    "Hypotheses and references are compared as tokenised text. Several lists of the same sentences are\n"
    "merged. With --against, prints the significance of the difference to other weights (paired\n"
    "bootstrap, approximate randomisation)."
)
EXAMPLES = (
    "dragoman tune dev.rescored.gz --reference dev.en -o tuned.weights",
    "dragoman tune run1.nbest run2.nbest --reference dev.en.0 dev.en.1 --method mira --runs 5 -o tuned.weights",
    "dragoman tune dev.nbest --reference dev.en --test test.nbest --test-reference test.en -o tuned.weights",
    "dragoman tune dev.rescored.gz --reference dev.en --against baseline.weights --metric chrf -o tuned.weights",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `tune`."""
    from dragoman.requests.shared import COMPRESSION, NBEST

    parser.add_argument("nbest", nargs="+", metavar="NBEST", help=f"{NBEST}s; {COMPRESSION}")
    parser.add_argument(
        "--reference",
        nargs="+",
        required=True,
        metavar="REF",
        help="reference translations, tokenised; several files for several references",
    )
    parser.add_argument("--method", choices=("mert", "mira", "pro"), default="mert", help="tuning algorithm")
    parser.add_argument("--metric", choices=("bleu", "chrf"), default="bleu", help="metric to maximise")
    parser.add_argument(
        "--initial-weights", metavar="FILE", help="weights to start from, 0 for missing features (default: equal)"
    )
    parser.add_argument("--runs", type=positive_int, default=3, metavar="N", help="number of runs with different seeds")
    parser.add_argument("--restarts", type=natural, metavar="N", help="random restarts per run of mert (default: 20)")
    parser.add_argument("--seed", type=natural, default=1, metavar="N", help="seed of the first run")
    parser.add_argument(
        "--test", metavar="NBEST", help="n-best list of a test set, to score the weights of each run on"
    )
    parser.add_argument("--test-reference", nargs="+", metavar="REF", help="references of the test set")
    parser.add_argument(
        "--against",
        nargs="+",
        default=[],
        metavar="FILE",
        help="weights of another system, one file per tuning run; missing features get weight 0",
    )
    add_output(parser, "the weights")
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Tune several times, print the scores, and write the best weights."""
    require_sense(options)

    import numpy as np

    from dragoman.progress import Console
    from dragoman.tuning.feature_weights import as_vector, as_weights, read_weights, write_weights
    from dragoman.tuning.mert import warn_of_flat_metric

    console = Console(quiet=options.quiet)
    pools = _read_pools(options)
    pool = pools["dev"]
    size = pool.features.shape[1]
    start = np.full(size, 1 / size)
    if options.initial_weights is not None:
        start = as_vector(read_weights(options.initial_weights), pool.shape, options.initial_weights, lacking=0.0)
    others = [as_vector(read_weights(path), pool.shape, path, lacking=0.0) for path in options.against]
    console.info(f"{len(pool.starts)} sentences, {len(pool.features)} distinct hypotheses, {size} weights")
    console.info(f"start: {_shown(pools, start)}")
    vectors = []
    for seed in range(options.seed, options.seed + options.runs):
        vectors.append(_tune(options, pool, start, np.random.default_rng(seed)))
        console.info(f"{options.method}, seed {seed}: {_shown(pools, vectors[-1].weights)}")
    _print_summary(pools, [tuned.weights for tuned in vectors], others, console)
    best = max(vectors, key=lambda tuned: tuned.score)
    warn_of_flat_metric(pool, [start, *(tuned.weights for tuned in vectors)], "use --metric chrf")
    write_weights(options.output, as_weights(best.weights, pool.shape))


def require_sense(options: argparse.Namespace) -> None:
    """Refuse options that have no effect."""
    if (options.test is None) != (options.test_reference is None):
        raise ConfigError("--test and --test-reference require each other")
    if options.restarts is not None and options.method != "mert":
        raise ConfigError("--restarts requires --method mert")


def _read_pools(options: argparse.Namespace) -> dict[str, HypothesisPool]:
    """The lists of dev and, if given, of test."""
    from dragoman.tuning.pool import METRICS, read_pool

    metric = METRICS[options.metric]
    pools = {"dev": read_pool(options.nbest, options.reference, metric)}
    if options.test is not None:
        pools["test"] = read_pool([options.test], options.test_reference, metric)
        if list(pools["test"].shape.items()) != list(pools["dev"].shape.items()):
            raise ConfigError(f"--test: {options.test} and {options.nbest[0]} have different features")
    return pools


def _tune(
    options: argparse.Namespace, pool: HypothesisPool, start: Vector, random: np.random.Generator
) -> TunedWeights:
    from dragoman.tuning.mert import RESTARTS, tune_mert
    from dragoman.tuning.mira import tune_mira
    from dragoman.tuning.pro import tune_pro

    if options.method == "mert":
        return tune_mert(pool, start, random, restarts=RESTARTS if options.restarts is None else options.restarts)
    return tune_mira(pool, start, random) if options.method == "mira" else tune_pro(pool, start, random)


def _shown(pools: dict[str, HypothesisPool], weights: Vector) -> str:
    dev, *test = (f"{pool.score(weights):.2f}" for pool in pools.values())
    return f"{pools['dev'].metric.name} {dev}" + "".join(f", test {score}" for score in test)


def _print_summary(
    pools: dict[str, HypothesisPool], vectors: Sequence[Vector], others: Sequence[Vector], console: Console
) -> None:
    """Print mean and standard deviation over the runs, and the difference to the other weights, for each set."""
    from dragoman.tuning.multi_run_tests import compare_weights

    for name, pool in pools.items():
        if len(vectors) > 1:
            console.info(f"{name}: {_spread([pool.score(weights) for weights in vectors])}")
        if others:
            compared = compare_weights(pool, vectors, others)
            mean, other = compared.scores.mean(), compared.other_scores.mean()
            console.info(
                f"{name}: {mean:.2f} against {other:.2f}, {mean - other:+.2f}; "
                f"p {compared.bootstrap_p:.4f} (bootstrap), {compared.randomisation_p:.4f} (randomisation)"
            )


def _spread(scores: list[float]) -> str:
    """Mean and standard deviation of several runs."""
    import numpy as np

    return f"mean {np.mean(scores):.2f}, standard deviation {np.std(scores, ddof=1):.2f}, {len(scores)} runs"
