"""`dragoman lm train`: from monolingual text to a language model."""

from __future__ import annotations

import argparse
from pathlib import Path

from dragoman.cli.shared.configuration import add_set
from dragoman.cli.shared.options import (
    COMPRESSION_HELP,
    add_general_options,
    add_training_run_options,
    length_settings,
)
from dragoman.cli.shared.parsing import Parser, language
from dragoman.cli.shared.torchrun import require_one_process
from dragoman.errors import ConfigError

SUMMARY = "train a neural language model on text"
DESCRIPTION = (
    "Trains a neural language model on monolingual text and writes a run folder. Two networks:\n"
    "recurrent, built from the parts of a decoder, and feed-forward, the 7-gram network of Cho et al.\n"
    "2014 (CSLM). Training stops when the dev perplexity has not improved for ten epochs. Ctrl-C saves\n"
    "the training state and --resume continues from it."
)
EXAMPLES = (
    "dragoman lm train --train corpus.en --out LM",
    "dragoman lm train --train corpus.en --dev dev.en --out LM",
    "dragoman lm train --train corpus.en --dev dev.en --out CSLM --set model.network=feed-forward",
    "dragoman lm train mine.yaml --train a.en.gz b.en.gz --dev dev.en --out LM --minutes 20",
    "dragoman lm train --out LM --resume",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `lm train`."""
    what = parser.add_argument_group("configuration")
    what.add_argument(
        "config", nargs="?", type=Path, metavar="CONFIG.yaml", help="configuration file, complete or partial"
    )
    add_set(what, "model.recurrent.size=256")
    text = parser.add_argument_group("corpora")
    text.add_argument(
        "--train", nargs="+", type=Path, default=[], metavar="FILE", help=f"training text; {COMPRESSION_HELP}"
    )
    text.add_argument(
        "--dev",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="text for validation (default: a part of the training text is held out)",
    )
    text.add_argument(
        "--language",
        type=language,
        metavar="LANG",
        help="language of the text, such as en (default: that of the file names, such as train.en)",
    )
    add_training_run_options(parser)
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Train, or continue training, and print where the run is."""
    require_one_process("lm train")
    if not options.resume:
        if not options.train:
            raise ConfigError("--train is required: give a text file (see dragoman lm train --help)")
    elif options.config is not None or options.train or options.dev:
        raise ConfigError(
            "--resume uses the configuration and text of the run; leave CONFIG.yaml, --train and --dev out"
        )

    from dragoman.config.language_model import LanguageConfig, override_language
    from dragoman.model.devices import set_threads
    from dragoman.progress import Console
    from dragoman.runs.language_model import read_language_config
    from dragoman.workflows.language_model import resume_language_model, train_language_model

    set_threads(options.threads)
    console = Console(quiet=options.quiet)
    languages = [] if options.language is None else [f'text.language="{options.language}"']
    changes = [*options.set, *languages, *length_settings(options)]
    if options.resume:
        trained = resume_language_model(
            options.out, changes, device=options.device, threads=options.threads, console=console
        )
    else:
        config = LanguageConfig() if options.config is None else read_language_config(options.config)
        trained = train_language_model(
            override_language(config, changes),
            options.train,
            options.dev,
            options.out,
            overwrite=options.overwrite,
            inputs=[] if options.config is None else [options.config],
            device=options.device,
            console=console,
        )
    console.info(f"language model: {trained.folder.path}")
