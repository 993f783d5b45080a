"""What `dragoman train` does: start or resume a run as the request says, alone or with other ranks."""

from __future__ import annotations

import os
from pathlib import Path

from dragoman.config.building import require_settings
from dragoman.config.files import load_config
from dragoman.corpora.pair_files import files_of
from dragoman.corpora.pairs import as_paths
from dragoman.progress import Console
from dragoman.requests.training import TrainingRequest
from dragoman.runs.layout import RunFolder
from dragoman.stored_files import sha256_of
from dragoman.text.lines import not_found
from dragoman.workflows.configuration import resolve

FREE = ("threads", "quiet")
"""Options that may differ between ranks."""


def train_requested(request: TrainingRequest) -> None:
    """Train, or continue training, and print where the report is.

    Raises:
        DragomanError: as for `train`.
    """
    if os.environ.get("WORLD_SIZE", "1") == "1":  # one process: a mistake is reported before torch is loaded
        _train(request)
    else:
        _train_on_ranks(request)


def _train_on_ranks(request: TrainingRequest) -> None:
    """Train together with the other processes that torchrun started; rank 0 reads the command for all."""
    from dragoman.model.devices import choose_device
    from dragoman.training.joining import joined_ranks
    from dragoman.workflows.other_ranks import follow_training

    device = request.general.device
    gpu, remedy = choose_device(device).type == "cuda", "start all ranks with the same command"
    with joined_ranks(request.ranks.rank_timeout, gpu=gpu, facts=_command_line(request), remedy=remedy) as ranks:
        if ranks.leads:
            _train(request)
        else:
            follow_training(request.run.out, device, ranks, request.general.threads)


def _command_line(request: TrainingRequest) -> dict[str, str]:
    """What all ranks must be given."""
    options, path = request.options(), request.model.config
    given = {f"the option {name}": str(value) for name, value in options.items() if name not in FREE}
    if path is not None:
        try:
            given[f"the SHA-256 of {path}"] = sha256_of(Path(path))
        except OSError:
            given[f"the SHA-256 of {path}"] = "unknown, as it cannot be read,"
    return given


def _require_settings(request: TrainingRequest) -> None:
    """Refuse wrong settings and missing files before the training text is read and the first line is printed."""
    text, config = request.text, request.model.config
    if config is not None:
        load_config(Path(config))
    require_settings(request.model.changes.set)
    for path in files_of(as_paths([*text.train, *text.dev])):
        if not path.exists():
            raise not_found(path)


def _train(request: TrainingRequest) -> None:
    console, text, out = Console(quiet=request.general.quiet), request.text, request.run.out
    # With --train, --resume also begins a run, so that one command does both.
    resume = request.run.resume and (not text.train or RunFolder.is_begun(out))
    if not resume:
        _require_settings(request)
    config = resolve(request, console, resume=resume)

    from dragoman.workflows.training import resume_training, train

    device, threads = request.general.device, request.general.threads
    if resume:
        if text.train or text.dev or text.dropped or text.alignments:
            console.info(
                "--resume uses the corpus stored in the run; --train, --dev, --alignments and --dropped are ignored"
            )
        if request.model.start_from is not None:
            console.info("--resume goes on with the weights and the configuration of the run; --from is ignored")
        trained = resume_training(out, config, device=device, threads=threads, console=console)
    else:
        if request.run.resume:
            console.info(f"--resume: {out} has no run yet, so that a new one begins")
        trained = train(
            config,
            text.train,
            text.dev,
            out,
            alignments=text.alignments,
            overwrite=request.run.overwrite,
            dropped=text.dropped,
            inputs=[] if request.model.config is None else [request.model.config],
            start_from=request.model.start_from,
            extend_vocabulary=request.model.extend_vocabulary,
            device=device,
            threads=threads,
            console=console,
        )
    console.info(f"report: {trained.folder.report}")
