"""A verb over many files: what its inputs lack outputs for is computed by workers of Ray."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cluster.coordinator import Coordinator
from dragoman.cluster.inputs import Inputs, find_inputs
from dragoman.cluster.outputs import FAILED, open_output_folder
from dragoman.cluster.verbs import VERBS, Models
from dragoman.cluster.worker import WorkerPlan
from dragoman.corpora.pair_files import KINDS, holds_pairs
from dragoman.errors import ConfigError, InputError
from dragoman.progress import Console
from dragoman.requests.cluster import ClusterRequest, ListFiles, PairFiles, TableFiles, TextFiles

if TYPE_CHECKING:
    from dragoman.cluster.worker import WorkerPool

log = logging.getLogger(__name__)


def run_over_files(request: ClusterRequest) -> None:
    """Make the outputs of all inputs that have none.

    Raises:
        ConfigError, InputError, RunError: as for `open_output_folder`, `Coordinator.run` and `find_inputs`; the numbers
            of files differ; the output folder holds an input.
    """
    open_workers = workers_of_ray()
    options, console, verb = request.worker_options(), Console(quiet=request.general.quiet), VERBS[request.verb]
    models: Models = {
        use: [os.path.realpath(name) for name in options.pop(use)]
        for use in ("runs", "model", "reverse", "lm")
        if use in options
    }
    plan = WorkerPlan(request.verb, models, options)
    inputs, output = _find_inputs(request.files), Path(request.files.output)
    for one in inputs:
        if os.path.dirname(os.path.realpath(one.files[0].path)) == os.path.realpath(output):
            raise ConfigError(f"--output {output}: holds the input {one.files[0].path}; give another folder")
    with open_output_folder(output, plan.identity(), [one.name for one in inputs]) as folder:
        missing = [one for one in inputs if not folder.is_complete(one, verb)]
        if missing:
            with open_workers(plan.opener(), request.workers.address, request.workers.workers) as pool:
                done = Coordinator(verb, pool, folder, console).run(missing)
            console.info(str(done))
            if done.searched_again or done.unfinished:
                from dragoman.workflows.translation import warn_of_searched_again, warn_of_truncated

                warn_of_searched_again(done.searched_again, done.lines)
                warn_of_truncated(done.unfinished, done.lines)
        console.info(f"{output}: {len(inputs)} files are complete")
        failed = sum(len(folder.finished[one.name].failed) for one in inputs)
        if failed:
            log.warning("%d lines have no output; %s lists them with the reasons", failed, output / FAILED)


def _find_inputs(files: TextFiles | PairFiles | ListFiles | TableFiles) -> list[Inputs]:
    """The inputs, each with the file beside it if there are any."""
    firsts = find_inputs(files.input)
    option = "target" if isinstance(files, PairFiles) else "source"
    patterns = getattr(files, option, ())
    if not patterns:
        for file in firsts:
            if option == "target" and not holds_pairs(Path(file.name)):
                raise ConfigError(
                    f"{file.path}: a file of pairs is {', '.join(KINDS)} (also .gz, .xz, .zst); "
                    "give target sentences with --target"
                )
        return [Inputs([file]) for file in firsts]
    seconds = find_inputs(patterns)
    if len(firsts) != len(seconds):
        raise InputError(
            f"--input matches {len(firsts)} files and --{option} {len(seconds)}; the k-th of one belongs to the "
            "k-th of the other, both sorted by name"
        )
    return [Inputs([first, second]) for first, second in zip(firsts, seconds, strict=True)]


def workers_of_ray() -> Callable[[Any, str | None, int | None], AbstractContextManager[WorkerPool]]:
    """Import Ray, whose absence is noticed before a folder is made, and return the function that opens its workers."""
    from dragoman.cluster.ray_pool import open_workers

    return open_workers
