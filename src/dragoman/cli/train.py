"""`dragoman train`: from parallel text to a run folder."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.config import add_change_options, changed
from dragoman.cli.shared.parsing import Parser, add_general_options, positive_float
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.config.schema import Config

SUMMARY = "train a translator on parallel text"
DESCRIPTION = (
    "Trains a translator on parallel text and writes a run folder, which holds all that translating needs.\n"
    'A corpus is two files, or one .tsv (two columns) or .jsonl ("source", "target"); all may be .gz, .xz or .zst.\n'
    "Values come from the preset, then CONFIG.yaml, --scale, --set; Ctrl-C saves the state, --resume goes on from it."
)
EXAMPLES = (
    "dragoman train --train corpus.de corpus.en --dev dev.de dev.en --out RUN",
    "dragoman train mine.yaml --train a.tsv.gz --train b.jsonl --dev dev.tsv --out RUN --minutes 20",
    "dragoman train --preset bahdanau2015 --train c.en c.fr --dev d.en d.fr --out RUN --scale 0.25",
    "dragoman train --out RUN --resume",
)
DEFAULT_PRESET = "standard"


def add_options(parser: Parser) -> None:
    """Declare the options of `train`."""
    what = parser.add_argument_group("what to train")
    what.add_argument(
        "config", nargs="?", type=Path, metavar="CONFIG.yaml", help="a configuration file, or part of one"
    )
    what.add_argument(
        "--preset",
        metavar="P",
        help=f"a name that `dragoman presets` lists (default: CONFIG.yaml's, or {DEFAULT_PRESET})",
    )
    add_change_options(what)
    text = parser.add_argument_group("text")
    for name, meaning in (("train", "training text"), ("dev", "text to validate on while training")):
        text.add_argument(
            f"--{name}",
            nargs="+",
            action="append",
            type=Path,
            default=[],
            metavar="FILE",
            help=f"{meaning}: SRC TGT, or one .tsv or .jsonl; may be given several times",
        )
    text.add_argument(
        "--alignments",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="for training.guided_alignment: Pharaoh lines (0-0 1-2) over the words of --train; one for each --train",
    )
    text.add_argument(
        "--dropped", metavar="FILE", help="list the training pairs that cleaning leaves out, with the reason"
    )
    add_run_options(parser)
    add_general_options(parser)


def add_run_options(parser: Parser) -> None:
    """Which run folder is written, for how long, and what if one is there; the same for every verb that trains."""
    run = parser.add_argument_group("the run")
    run.add_argument("--out", required=True, type=Path, metavar="RUN", help="the run folder to write")
    run.add_argument(
        "--minutes", type=positive_float, metavar="N", help="stop after so much time, with the best weights"
    )
    again = run.add_mutually_exclusive_group()
    again.add_argument("--resume", action="store_true", help="go on with the run in RUN, exactly where it stopped")
    again.add_argument("--overwrite", action="store_true", help="start anew where a run is")


def run(options: argparse.Namespace) -> None:
    """Train, or go on training; say where the result is."""
    if not options.resume:
        _require_corpora(options)
    config = _wanted_config(options)

    from dragoman.model.devices import set_threads
    from dragoman.progress import Console
    from dragoman.workflows.training import resume, train

    set_threads(options.threads)
    console = Console(quiet=options.quiet)
    if options.resume:
        if options.train or options.dev or options.dropped or options.alignments:
            console.info(
                "--resume: the corpus stored in the run is used; --train, --dev, --alignments and --dropped are not "
                "read again"
            )
        trained = resume(options.out, config, device=options.device, console=console)
    else:
        trained = train(
            config,
            options.train,
            options.dev,
            options.out,
            alignments=options.alignments,
            overwrite=options.overwrite,
            dropped=options.dropped,
            device=options.device,
            console=console,
        )
    console.info(f"report: {trained.folder.report}")


def _require_corpora(options: argparse.Namespace) -> None:
    for name, corpora in (("--train", options.train), ("--dev", options.dev)):
        if not corpora:
            raise ConfigError(f"{name} is missing: give the source and the target file (see dragoman train --help)")
        for files in corpora:
            if len(files) > 2:
                raise ConfigError(
                    f"{name}: one file or two (source and target), not {len(files)}: {' '.join(map(str, files))}; "
                    f"repeat {name} for every further corpus"
                )


def _wanted_config(options: argparse.Namespace) -> Config:
    """Preset, then file, then options; a resumed run begins with its own."""
    from dragoman.config.building import override
    from dragoman.config.files import load_config
    from dragoman.config.presets import load_preset
    from dragoman.runs.layout import RunFolder

    if options.config is not None:
        config = load_config(options.config, load_preset(options.preset) if options.preset else None)
    elif options.preset is not None or not options.resume:
        config = load_preset(options.preset or DEFAULT_PRESET)
    else:
        if options.scale is not None:
            raise ConfigError("--scale: a run that is resumed has its sizes already; leave --scale out")
        config = RunFolder.resume(options.out).load_config()
    minutes = [] if options.minutes is None else [f"training.minutes={options.minutes}"]
    return override(changed(config, options), minutes)
