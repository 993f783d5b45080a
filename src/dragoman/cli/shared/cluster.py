"""The options that all verbs of `dragoman cluster` share, and their one way from options to outputs."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.shared.options import add_general_options
from dragoman.cli.shared.parsing import Parser, output_folder, positive_int
from dragoman.errors import ConfigError, InputError

if TYPE_CHECKING:
    from dragoman.cluster.inputs import InputFile
    from dragoman.cluster.output_folder import OutputFolder
    from dragoman.cluster.pool import Pool
    from dragoman.cluster.progress import Summary
    from dragoman.cluster.shards import Inputs
    from dragoman.cluster.verbs import Models
    from dragoman.cluster.worker import WorkerPlan
    from dragoman.progress import Console

FILES_HELP = "plain or compressed (.gz, .xz, .zst), on this machine or a URI (s3://, gs://, hdfs://); with * and ?"

log = logging.getLogger(__name__)


def add_cluster_options(parser: Parser, what: str, *more: tuple[str, str]) -> None:
    """Declare inputs, of which the first are `what`, output and workers; `more` are an option and what it names."""
    files = parser.add_argument_group("input and output")
    files.add_argument(
        "--input", nargs="+", required=True, metavar="PATTERN", help=f"{what}; {FILES_HELP}, in quotation marks"
    )
    for option, meaning in more:
        files.add_argument(
            option, nargs="+", metavar="PATTERN", help=f"{meaning}: as many files as --input, in the same order"
        )
    files.add_argument(
        "--output",
        type=output_folder,
        required=True,
        metavar="DIR",
        help="folder with an output file for each input file, of its name",
    )
    workers = parser.add_argument_group("workers")
    workers.add_argument(
        "--address",
        metavar="ADDRESS",
        help="Ray cluster: HOST:PORT, or auto for the one that this machine belongs to (default: Ray is started on "
        "this machine, for this command)",
    )
    workers.add_argument(
        "--workers", type=positive_int, metavar="N", help="workers, one thread each (default: one for each CPU)"
    )
    add_general_options(parser, device=False)


def run_on_cluster(
    options: argparse.Namespace,
    verb: str,
    models: Models,
    settings: Mapping[str, Any],
    check: Callable[[InputFile], None] = lambda file: None,
    second: str | None = None,
) -> None:
    """Make the outputs of all inputs.

    Args:
        settings: the options of the verb's worker.
        check: refuses an input file by its name, where there is no second one.
        second: the option of the files that are read beside the inputs.
    """
    require_ray()

    from dragoman.cluster.coordinator import missing_inputs
    from dragoman.cluster.output_folder import FAILED, open_output_folder
    from dragoman.cluster.verbs import VERBS
    from dragoman.cluster.worker import WorkerPlan
    from dragoman.progress import Console

    console = Console(quiet=options.quiet)
    absolute = {use: [str(Path(name).resolve()) for name in names] for use, names in models.items()}
    plan = WorkerPlan(verb, absolute, settings)
    inputs = _inputs(options.input, None if second is None else getattr(options, second), second, check)
    output = options.output
    for one in inputs:
        if Path(one.files[0].path).resolve().parent == output.resolve():
            raise ConfigError(f"--output {output}: holds the input {one.files[0].path}; give another folder")
    with open_output_folder(output, plan.identity(), [one.name for one in inputs]) as folder:
        missing = missing_inputs(inputs, folder, VERBS[verb])
        if missing:
            summary = _compute(options, plan, missing, folder, console)
            if summary.unfinished:
                log.warning(
                    "%d of %d translations (%.1f %%) were truncated at the maximum length; raise --max-length-factor "
                    "or --max-length-extra",
                    summary.unfinished,
                    summary.lines,
                    100 * summary.unfinished / summary.lines,
                )
        console.info(f"{output}: {len(inputs)} files are complete")
        failed = sum(folder.finished[one.name].failed for one in inputs)
        if failed:
            log.warning("%d lines have no output; %s lists them with the reasons", failed, output / FAILED)


def _compute(
    options: argparse.Namespace, plan: WorkerPlan, inputs: Sequence[Inputs], folder: OutputFolder, console: Console
) -> Summary:
    from dragoman.cluster.coordinator import Coordinator
    from dragoman.cluster.verbs import VERBS

    with open_pool(options, plan) as pool:
        summary = Coordinator(VERBS[plan.verb], pool, folder, console).run(inputs)
    console.info(str(summary))
    return summary


def require_ray() -> None:
    """Import the extra, so that it is missed before a folder is made."""
    import dragoman.cluster.ray_pool  # noqa: F401


@contextmanager
def open_pool(options: argparse.Namespace, plan: WorkerPlan) -> Iterator[Pool]:
    """The workers that the command line asks for."""
    from dragoman.cluster.ray_pool import RayPool, connected

    with connected(options.address, options.workers) as workers:
        yield RayPool(plan.opener(), workers)


def require_pairs(file: InputFile) -> None:
    """Refuse a file that is given without target sentences, and holds no pairs by its name."""
    from dragoman.text.corpus import holds_pairs

    if not holds_pairs(Path(file.name)):
        raise ConfigError(
            f"{file.path}: a file of pairs is .tsv or .jsonl (also .gz, .xz, .zst); give target sentences with --target"
        )


def _inputs(
    patterns: Sequence[str],
    seconds: Sequence[str] | None,
    second: str | None,
    check: Callable[[InputFile], None],
) -> list[Inputs]:
    from dragoman.cluster.inputs import find_inputs
    from dragoman.cluster.shards import Inputs

    firsts = find_inputs(patterns)
    if seconds is None:
        for file in firsts:
            check(file)
        return [Inputs([file]) for file in firsts]
    others = find_inputs(seconds)
    if len(firsts) != len(others):
        raise InputError(
            f"--input matches {len(firsts)} files and --{second} {len(others)}; the k-th of one belongs to the k-th of "
            "the other, both sorted by name"
        )
    return [Inputs([one, other]) for one, other in zip(firsts, others, strict=True)]
