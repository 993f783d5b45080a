"""`dragoman tune`: weights of the features of n-best lists that choose well."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dragoman.cli.shared.parsing import Parser, add_general_options, natural, positive_int
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np

    from dragoman.progress import Console
    from dragoman.tuning.mert import TunedWeights
    from dragoman.tuning.pool import Pool, Vector

SUMMARY = "tune weights of n-best features"
DESCRIPTION = (
    "Finds weights for the features of n-best lists whose choices have a good BLEU or chrF against references,\n"
    "several times over, says the score of each run and their spread, and writes the weights of the best run as\n"
    "`Name= weight ...`. Words stand between blanks, as Moses has them: references must be tokenised as lists are.\n"
    "Several lists of the same sentences count as one. With --against, says how likely chance alone would give\n"
    "such a difference to what other weights choose (paired bootstrap, approximate randomisation)."
)
EXAMPLES = (
    "dragoman tune dev.rescored.gz --reference dev.en -o tuned.weights",
    "dragoman tune run1.nbest run2.nbest --reference dev.en.0 dev.en.1 --method mira --runs 5 -o tuned.weights",
    "dragoman tune dev.nbest --reference dev.en --test test.nbest --test-reference test.en -o tuned.weights",
    "dragoman tune dev.rescored.gz --reference dev.en --against baseline.weights --metric chrf -o tuned.weights",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `tune`."""
    parser.add_argument("nbest", nargs="+", metavar="NBEST", help="Moses n-best lists, .gz, .xz or .zst too")
    parser.add_argument("--reference", nargs="+", required=True, metavar="REF", help="one or several references")
    parser.add_argument("--method", choices=("mert", "mira", "pro"), default="mert", help="how weights are found")
    parser.add_argument("--metric", choices=("bleu", "chrf"), default="bleu", help="what the weights make large")
    parser.add_argument("--start", metavar="FILE", help="weights to start from (default: all alike)")
    parser.add_argument("--runs", type=positive_int, default=3, metavar="N", help="runs that differ by their seed")
    parser.add_argument("--restarts", type=natural, metavar="N", help="random starts of a run of mert (default: 20)")
    parser.add_argument("--seed", type=natural, default=1, metavar="N", help="seed of the first run")
    parser.add_argument("--test", metavar="NBEST", help="lists to measure each run's weights on")
    parser.add_argument("--test-reference", nargs="+", metavar="REF", help="their references")
    parser.add_argument(
        "--against",
        nargs="+",
        default=[],
        metavar="FILE",
        help="weights of another system, one file a run of tuning; a feature that they lack weighs 0",
    )
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where the weights go")
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Tune several times, tell, and write the best weights."""
    if (options.test is None) != (options.test_reference is None):
        raise ConfigError("--test and --test-reference belong together; give both or none")
    if options.restarts is not None and options.method != "mert":
        raise ConfigError(f"--restarts is about mert; --method {options.method} starts once")

    import numpy as np

    from dragoman.progress import Console
    from dragoman.tuning.feature_weights import as_vector, as_weights, read_weights, write_weights

    console = Console(quiet=options.quiet)
    pools = _read_pools(options)
    pool = pools["dev"]
    size = pool.features.shape[1]
    start = np.full(size, 1 / size)
    if options.start is not None:
        start = as_vector(read_weights(options.start), pool.shape, options.start)
    others = [as_vector(read_weights(path), pool.shape, path, lacking=0.0) for path in options.against]
    console.info(f"{len(pool.starts)} sentences, {len(pool.features)} distinct hypotheses, {size} weights")
    console.info(f"start: {_shown(pools, start)}")
    found = []
    for seed in range(options.seed, options.seed + options.runs):
        found.append(_tune(options, pool, start, np.random.default_rng(seed)))
        console.info(f"{options.method}, seed {seed}: {_shown(pools, found[-1].weights)}")
    _tell_summary(pools, [tuned.weights for tuned in found], others, console)
    best = max(found, key=lambda tuned: tuned.score)
    write_weights(options.output, as_weights(best.weights, pool.shape))


def _read_pools(options: argparse.Namespace) -> dict[str, Pool]:
    """The lists of dev and, where they are given, of test."""
    from dragoman.tuning.pool import read_pool
    from dragoman.tuning.tuning_metric import METRICS

    metric = METRICS[options.metric]
    pools = {"dev": read_pool(options.nbest, options.reference, metric)}
    if options.test is not None:
        pools["test"] = read_pool([options.test], options.test_reference, metric)
        if list(pools["test"].shape.items()) != list(pools["dev"].shape.items()):
            raise ConfigError(f"--test: the features of {options.test} are not those of {options.nbest[0]}")
    return pools


def _tune(options: argparse.Namespace, pool: Pool, start: Vector, random: np.random.Generator) -> TunedWeights:
    from dragoman.tuning.mert import RESTARTS, tune_mert
    from dragoman.tuning.mira import tune_mira
    from dragoman.tuning.pro import tune_pro

    if options.method == "mert":
        return tune_mert(pool, start, random, restarts=RESTARTS if options.restarts is None else options.restarts)
    return tune_mira(pool, start, random) if options.method == "mira" else tune_pro(pool, start, random)


def _shown(pools: dict[str, Pool], weights: Vector) -> str:
    dev, *test = (f"{pool.score(weights):.2f}" for pool in pools.values())
    return f"{pools['dev'].metric.name} {dev}" + "".join(f", test {score}" for score in test)


def _tell_summary(pools: dict[str, Pool], found: Sequence[Vector], others: Sequence[Vector], console: Console) -> None:
    """Of each set the spread over the runs, and the difference to the other weights."""
    from dragoman.tuning.multi_run_tests import compare_weights

    for name, pool in pools.items():
        if len(found) > 1:
            console.info(f"{name}: {_spread([pool.score(weights) for weights in found])}")
        if others:
            compared = compare_weights(pool, found, others)
            mean, other = compared.scores.mean(), compared.other_scores.mean()
            console.info(
                f"{name}: {mean:.2f} against {other:.2f}, {mean - other:+.2f}; "
                f"p {compared.bootstrap_p:.4f} (bootstrap), {compared.randomisation_p:.4f} (randomisation)"
            )


def _spread(scores: list[float]) -> str:
    """Mean and standard deviation of several runs."""
    import numpy as np

    return f"mean {np.mean(scores):.2f}, standard deviation {np.std(scores, ddof=1):.2f}, {len(scores)} runs"
