"""`dragoman tune`: weights of the features of n-best lists that choose well."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dragoman.cli.parsing import Parser, add_general_options, natural, positive_int
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np

    from dragoman.tuning.mert import Tuned
    from dragoman.tuning.pool import Pool, Vector

SUMMARY = "tune weights of n-best features"
DESCRIPTION = (
    "Finds weights for the features of n-best lists whose choices have a good BLEU against references, several times\n"
    "over, says the BLEU of each run and their spread, and writes the weights of the best run as `Name= weight ...`.\n"
    "Words stand between blanks, as Moses has them: references must be tokenised as the lists are. Several lists of\n"
    "the same sentences count as one."
)
EXAMPLES = (
    "dragoman tune dev.rescored.gz --reference dev.en -o tuned.weights",
    "dragoman tune run1.nbest run2.nbest --reference dev.en.0 dev.en.1 --method mira --runs 5 -o tuned.weights",
    "dragoman tune dev.nbest --reference dev.en --test test.nbest --test-reference test.en -o tuned.weights",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `tune`."""
    parser.add_argument("nbest", nargs="+", metavar="NBEST", help="Moses n-best lists, .gz, .xz or .zst too")
    parser.add_argument("--reference", nargs="+", required=True, metavar="REF", help="one or several references")
    parser.add_argument("--method", choices=("mert", "mira", "pro"), default="mert", help="how weights are found")
    parser.add_argument("--start", metavar="FILE", help="weights to start from (default: all alike)")
    parser.add_argument("--runs", type=positive_int, default=3, metavar="N", help="runs that differ by their seed")
    parser.add_argument("--restarts", type=natural, metavar="N", help="random starts of a run of mert (default: 20)")
    parser.add_argument("--seed", type=natural, default=1, metavar="N", help="seed of the first run")
    parser.add_argument("--test", metavar="NBEST", help="lists to measure each run's weights on")
    parser.add_argument("--test-reference", nargs="+", metavar="REF", help="their references")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where the weights go")
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Tune several times, tell, and write the best weights."""
    if (options.test is None) != (options.test_reference is None):
        raise ConfigError("--test and --test-reference belong together; give both or none")
    if options.restarts is not None and options.method != "mert":
        raise ConfigError(f"--restarts is about mert; --method {options.method} starts once")

    import numpy as np

    from dragoman.narration import Narrator
    from dragoman.tuning.pool import read_pool
    from dragoman.tuning.weights import as_vector, as_weights, read_weights, write_weights

    narrator = Narrator(quiet=options.quiet)
    pool = read_pool(options.nbest, options.reference)
    test = None if options.test is None else read_pool([options.test], options.test_reference)
    if test is not None and list(test.shape.items()) != list(pool.shape.items()):
        raise ConfigError(f"--test: the features of {options.test} are not those of {options.nbest[0]}")
    size = pool.features.shape[1]
    start = np.full(size, 1 / size)
    if options.start is not None:
        start = as_vector(read_weights(options.start), pool.shape, options.start)
    narrator.say(f"{len(pool.starts)} sentences, {len(pool.features)} distinct hypotheses, {size} weights")
    narrator.say(f"start: {_shown(pool, test, start)}")
    found = []
    for seed in range(options.seed, options.seed + options.runs):
        found.append(_tune(options, pool, start, np.random.default_rng(seed)))
        narrator.say(f"{options.method}, seed {seed}: {_shown(pool, test, found[-1].weights)}")
    best = max(found, key=lambda tuned: tuned.bleu)
    if options.runs > 1:
        narrator.say(f"dev: {_spread([tuned.bleu for tuned in found])}")
        if test is not None:
            narrator.say(f"test: {_spread([test.bleu(tuned.weights) for tuned in found])}")
    write_weights(options.output, as_weights(best.weights, pool.shape))


def _tune(options: argparse.Namespace, pool: Pool, start: Vector, random: np.random.Generator) -> Tuned:
    from dragoman.tuning.mert import RESTARTS, tune_mert
    from dragoman.tuning.mira import tune_mira
    from dragoman.tuning.pro import tune_pro

    if options.method == "mert":
        return tune_mert(pool, start, random, restarts=RESTARTS if options.restarts is None else options.restarts)
    return tune_mira(pool, start, random) if options.method == "mira" else tune_pro(pool, start, random)


def _shown(pool: Pool, test: Pool | None, weights: Vector) -> str:
    shown = f"BLEU {pool.bleu(weights):.2f}"
    return shown if test is None else f"{shown}, test {test.bleu(weights):.2f}"


def _spread(bleus: list[float]) -> str:
    """Mean and standard deviation of several runs."""
    import numpy as np

    return f"mean {np.mean(bleus):.2f}, standard deviation {np.std(bleus, ddof=1):.2f}, {len(bleus)} runs"
