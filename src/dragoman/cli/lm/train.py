"""`dragoman lm train`: from text of one language to a language model."""

from __future__ import annotations

import argparse
from pathlib import Path

from dragoman.cli.shared.parsing import Parser, add_general_options
from dragoman.cli.train import add_run_options
from dragoman.errors import ConfigError

SUMMARY = "train a language model on text"
DESCRIPTION = (
    "Trains a neural language model on lines of text and writes a run folder. Two networks: recurrent, made of the\n"
    "parts of a decoder, and feed-forward, the 7-gram network that Cho et al. 2014 use beside theirs. Training stops\n"
    "when the perplexity of the dev text has not fallen for ten epochs; Ctrl-C saves the state, --resume goes on."
)
EXAMPLES = (
    "dragoman lm train --train corpus.en --dev dev.en --out LM",
    "dragoman lm train --train corpus.en --dev dev.en --out CSLM --set model.network=feed-forward",
    "dragoman lm train mine.yaml --train a.en.gz b.en.gz --dev dev.en --out LM --minutes 20",
    "dragoman lm train --out LM --resume",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `lm train`."""
    what = parser.add_argument_group("what to train")
    what.add_argument(
        "config", nargs="?", type=Path, metavar="CONFIG.yaml", help="a configuration file, or part of one"
    )
    what.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="change values: dotted keys, YAML values, such as model.recurrent.size=256",
    )
    text = parser.add_argument_group("text")
    text.add_argument(
        "--train", nargs="+", type=Path, default=[], metavar="FILE", help="training text, .gz, .xz or .zst too"
    )
    text.add_argument("--dev", nargs="+", type=Path, default=[], metavar="FILE", help="text to validate on")
    add_run_options(parser)
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Train, or go on training; say where the result is."""
    if not options.resume:
        for name in ("train", "dev"):
            if not getattr(options, name):
                raise ConfigError(f"--{name} is missing: give a file of text (see dragoman lm train --help)")
    elif options.config is not None or options.train or options.dev:
        raise ConfigError("--resume: the run has its configuration and its text; leave CONFIG.yaml, --train, --dev out")

    from dragoman.config.language_model import LanguageConfig, override_language
    from dragoman.model.devices import set_threads
    from dragoman.progress import Console
    from dragoman.runs.language_model import read_language_config
    from dragoman.workflows.language_model import resume_language_model, train_language_model

    set_threads(options.threads)
    console = Console(quiet=options.quiet)
    changes = [*options.set, *([] if options.minutes is None else [f"training.minutes={options.minutes}"])]
    if options.resume:
        trained = resume_language_model(options.out, changes, device=options.device, console=console)
    else:
        config = LanguageConfig() if options.config is None else read_language_config(options.config)
        trained = train_language_model(
            override_language(config, changes),
            options.train,
            options.dev,
            options.out,
            overwrite=options.overwrite,
            device=options.device,
            console=console,
        )
    console.info(f"language model: {trained.folder.path}")
