"""The options that all verbs of `dragoman cluster` share, and their one way from options to outputs."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.shared.options import add_general_options
from dragoman.cli.shared.parsing import Parser, output_folder, positive_int
from dragoman.errors import ConfigError, InputError

if TYPE_CHECKING:
    from dragoman.cluster.inputs import Inputs
    from dragoman.cluster.verbs import Models
    from dragoman.cluster.worker import Pool

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
    options: argparse.Namespace, verb: str, models: Models, settings: Mapping[str, Any], second: str | None = None
) -> None:
    """Make the outputs of all inputs.

    Args:
        settings: the options of the verb's worker.
        second: the option of the files that are read beside the inputs.
    """
    open_workers = workers_of_ray()

    from dragoman.cluster.coordinator import Coordinator
    from dragoman.cluster.outputs import FAILED, open_output_folder
    from dragoman.cluster.verbs import VERBS
    from dragoman.cluster.worker import WorkerPlan
    from dragoman.progress import Console

    console = Console(quiet=options.quiet)
    absolute = {use: [str(Path(name).resolve()) for name in names] for use, names in models.items()}
    plan = WorkerPlan(verb, absolute, settings)
    inputs = _inputs(options, second)
    output = options.output
    for one in inputs:
        if Path(one.files[0].path).resolve().parent == output.resolve():
            raise ConfigError(f"--output {output}: holds the input {one.files[0].path}; give another folder")
    with open_output_folder(output, plan.identity(), [one.name for one in inputs]) as folder:
        missing = [one for one in inputs if not folder.is_complete(one, VERBS[verb])]
        if missing:
            with open_workers(plan.opener(), options.address, options.workers) as pool:
                done = Coordinator(VERBS[verb], pool, folder, console).run(missing)
            console.info(str(done))
            if done.unfinished:
                log.warning(
                    "%d of %d translations (%.1f %%) were truncated at the maximum length; raise --max-length-factor "
                    "or --max-length-extra",
                    done.unfinished,
                    done.lines,
                    100 * done.unfinished / done.lines,
                )
        console.info(f"{output}: {len(inputs)} files are complete")
        failed = sum(len(folder.finished[one.name].failed) for one in inputs)
        if failed:
            log.warning("%d lines have no output; %s lists them with the reasons", failed, output / FAILED)


def workers_of_ray() -> Callable[[Any, str | None, int | None], AbstractContextManager[Pool]]:
    """Import Ray, whose absence is noticed before a folder is made, and return the function that opens its workers."""
    from dragoman.cluster.ray_pool import open_workers

    return open_workers


def _inputs(options: argparse.Namespace, second: str | None) -> list[Inputs]:
    from dragoman.cluster.inputs import Inputs, find_inputs
    from dragoman.text.corpus import holds_pairs

    firsts = find_inputs(options.input)
    patterns = None if second is None else getattr(options, second)
    if patterns is None:
        for file in firsts:
            if second == "target" and not holds_pairs(Path(file.name)):
                raise ConfigError(
                    f"{file.path}: a file of pairs is .tsv or .jsonl (also .gz, .xz, .zst); give target sentences with "
                    "--target"
                )
        return [Inputs([file]) for file in firsts]
    others = find_inputs(patterns)
    if len(firsts) != len(others):
        raise InputError(
            f"--input matches {len(firsts)} files and --{second} {len(others)}; the k-th of one belongs to the k-th of "
            "the other, both sorted by name"
        )
    return [Inputs([one, other]) for one, other in zip(firsts, others, strict=True)]
