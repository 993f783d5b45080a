"""`dragoman score`: how probable the model finds given translations."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.shared.parsing import Parser, add_general_options, positive_float
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.engines.ensemble_engine import Combination
    from dragoman.runs.opening import Run
    from dragoman.scoring.scorer import Scorer

SUMMARY = "score given translations"
DESCRIPTION = (
    "Prints for each pair of lines the log-probability of the target given the source: natural logarithm, end of\n"
    "sentence included, not divided by the length. Several runs with one target vocabulary judge each word together."
)
EXAMPLES = (
    "dragoman score RUN test.de test.en > test.scores",
    "dragoman score RUN pairs.tsv.gz -o test.scores",
    "dragoman score RUN1 RUN2 test.de test.en --combine log-probabilities --weights 2 1",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `score`."""
    add_runs_and_pairs(parser)
    add_several_runs(parser)
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where the numbers go")
    add_general_options(parser)


def add_pair_options(parser: Parser) -> None:
    """A run folder and pairs of lines, the same for every verb that looks at given translations."""
    parser.add_argument("run", metavar="RUN", help="a run folder, or one that was exported")
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="SRC TGT, or one .tsv or .jsonl; may be .gz, .xz or .zst"
    )


def add_runs_and_pairs(parser: Parser) -> None:
    """The same for the verbs that take several runs; `split_runs` tells them from the files."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run folder, or one that was exported; or several")
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="SRC TGT, or one .tsv or .jsonl; may be .gz, .xz or .zst"
    )


def add_several_runs(parser: Parser) -> None:
    """How several runs judge together; the same in `translate`."""
    group = parser.add_argument_group("several runs")
    group.add_argument(
        "--combine",
        choices=("probabilities", "log-probabilities", "logits"),
        help="whose mean is taken at each word (default: probabilities)",
    )
    group.add_argument(
        "--weights", type=positive_float, nargs="+", metavar="W", help="of the runs, in their order (default: alike)"
    )


def require_several(options: argparse.Namespace, runs: Sequence[str]) -> None:
    """Refuse what is about several `runs` where there is one.

    Raises:
        ConfigError: such an option.
    """
    for name in ("combine", "weights"):
        if len(runs) == 1 and getattr(options, name) is not None:
            raise ConfigError(f"--{name} is about several runs, but {runs[0]} is the only one")


def split_runs(options: argparse.Namespace) -> tuple[list[str], list[Path]]:
    """Runs and files out of all names given: the files are the last one if it holds pairs, else the last two.

    Raises:
        ConfigError: no run is left.
    """
    from dragoman.text.corpus import holds_pairs

    names = [*options.runs, *map(str, options.files)]
    files = 1 if holds_pairs(Path(names[-1])) else 2
    if len(names) == files:
        raise ConfigError(
            f"{' '.join(names)}: a run and two files, source and target, are needed, or a run and one .tsv or .jsonl"
        )
    return names[:-files], [Path(name) for name in names[-files:]]


def make_scorer(
    names: Sequence[str],
    runs: Sequence[Run],
    combination: Combination = "probabilities",
    weights: Sequence[float] | None = None,
) -> Scorer:
    """One run's, or that of all of them together.

    Raises:
        ConfigError: they write other words, or cut them in another way; the weights are not one a run.
    """
    from dragoman.scoring.scorer import Scorer
    from dragoman.translation.ensemble import Ensemble, require_same_segmentation, require_same_target

    if len(runs) == 1:
        return runs[0].scorer()
    require_same_target(names, [run.target.vocabulary for run in runs])
    require_same_segmentation(names, [run.target for run in runs])
    ensemble = Ensemble([(run.engine, run.source) for run in runs], combination, weights)
    return Scorer.of_ensemble(ensemble, runs[0].target)


def run(options: argparse.Namespace) -> None:
    """Print a number for each pair."""
    names, files = split_runs(options)
    require_several(options, names)

    from dragoman.runs.opening import open_run
    from dragoman.text.corpus import read_pairs
    from dragoman.text.lines import write_lines

    runs = [open_run(name, device=options.device, threads=options.threads) for name in names]
    scorer = make_scorer(names, runs, options.combine or "probabilities", options.weights)
    pairs = ((pair.source, pair.target) for pair in read_pairs([files]))
    write_lines(options.output, (f"{scored.log_probability:.6f}" for scored in scorer.score(pairs)), keep_partial=True)
