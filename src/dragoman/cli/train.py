"""`dragoman train`: from parallel text to a run folder."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.shared.configuration import add_configuration_options, apply_configuration_options, config_for_text
from dragoman.cli.shared.files import require_corpora
from dragoman.cli.shared.options import add_corpora, add_general_options, add_training_run_options, length_settings
from dragoman.cli.shared.parsing import Parser, language, output_file, positive_float
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.config.schema import Config
    from dragoman.progress import Console

SUMMARY = "train a translation model on parallel text"
DESCRIPTION = (
    "Trains a translation model on parallel text and writes a run folder with everything that\n"
    'translation needs. A corpus is two files, or one .tsv (two columns) or .jsonl ("source", "target")\n'
    "file, or an inflection table (.trn, .dev, .tst: lemma, form, tags); each may be compressed (.gz,\n"
    ".xz, .zst). Settings come from the preset, then CONFIG.yaml, then --scale and --set. Ctrl-C saves\n"
    "the training state and --resume continues from it; with --train it also begins a run where there is\n"
    "none. Several processes train one model together: torchrun --nproc-per-node 2 -m dragoman train ...\n"
    "(docs/scale.md)."
)
EXAMPLES = (
    "dragoman train --train corpus.de corpus.en --out RUN",
    "dragoman train --train corpus.de corpus.en --dev dev.de dev.en --out RUN",
    "dragoman train mine.yaml --train a.tsv.gz --train b.jsonl --dev dev.tsv --out RUN --minutes 20",
    "dragoman train --train own.de own.en --train web.de web.en --mix 2 1 --out RUN",
    "dragoman train --preset bahdanau2015 --train c.en c.fr --dev d.en d.fr --out RUN --scale 0.25",
    "dragoman train --from RUN --train corrections.de corrections.en --out NEW",
    "dragoman train --out RUN --resume",
)

FREE = ("threads", "quiet")
"""Options that need not be the same on all ranks."""


def add_options(parser: Parser) -> None:
    """Declare the options of `train`."""
    what = parser.add_argument_group("configuration")
    what.add_argument(
        "config", nargs="?", type=Path, metavar="CONFIG.yaml", help="configuration file, complete or partial"
    )
    what.add_argument(
        "--from",
        dest="start_from",
        metavar="RUN",
        help="fine-tune a trained model: begin with its weights, vocabularies, segmentation and configuration, with "
        "a quarter of its learning rate, no warm-up and 10 epochs unless --set changes them",
    )
    what.add_argument(
        "--extend-vocabulary",
        action="store_true",
        help="with --from: add the segments and characters of the text that the model does not know; they begin as the "
        "mean of known ones that they are made of",
    )
    what.add_argument(
        "--preset",
        metavar="P",
        help="preset to start from (default: the preset named in CONFIG.yaml; without one standard, or characters for "
        "a text of single words: pronunciations, inflected forms, transliterations)",
    )
    add_configuration_options(what)
    text = parser.add_argument_group("corpora")
    add_corpora(text, "--train", "training corpus")
    add_corpora(text, "--dev", "development set for validation (default: a part of the training corpus is held out)")
    text.add_argument(
        "--mix",
        nargs="+",
        type=positive_float,
        metavar="W",
        help="share of each --train in the pairs of an epoch, up to a factor: --mix 2 1 draws two pairs of the first "
        "for one of the second (default: every pair once; see also training.mix.temperature)",
    )
    text.add_argument(
        "--languages",
        nargs=2,
        type=language,
        metavar=("SRC", "TGT"),
        help="languages of the text, such as de en (default: those of the file names, such as train.de train.en)",
    )
    text.add_argument(
        "--alignments",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="word alignments for training.guided_alignment, Pharaoh format; one file for each --train",
    )
    text.add_argument(
        "--dropped",
        type=output_file,
        metavar="FILE",
        help="list the training pairs that cleaning removes, with the reason",
    )
    add_training_run_options(parser)
    several = parser.add_argument_group("several processes, started by torchrun")
    several.add_argument(
        "--rank-timeout",
        type=positive_float,
        default=30.0,
        metavar="MINUTES",
        help="how long processes wait for each other, longer than a validation takes (default: 30.0)",
    )
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Train, or continue training, and print where the report is."""
    if os.environ.get("WORLD_SIZE", "1") == "1":  # one process: a mistake is reported before torch is loaded
        _train(options)
    else:
        _train_on_ranks(options)


def _train_on_ranks(options: argparse.Namespace) -> None:
    """Train together with the other processes that torchrun started; rank 0 reads the command for all."""
    from dragoman.model.devices import choose_device
    from dragoman.training.joining import joined_ranks
    from dragoman.workflows.other_ranks import follow_training

    with joined_ranks(options.rank_timeout, gpu=choose_device(options.device).type == "cuda") as ranks:
        ranks.require_same("command line", _command_line(options), "start all ranks with the same command")
        if ranks.leads:
            _train(options)
        else:
            follow_training(options.out, options.device, ranks, options.threads)


def _command_line(options: argparse.Namespace) -> dict[str, str]:
    """What all ranks must be given."""
    given = {f"the option {name}": str(value) for name, value in vars(options).items() if name not in FREE}
    if options.config is not None:
        from dragoman.stored_files import sha256_of

        try:
            given[f"the SHA-256 of {options.config}"] = sha256_of(options.config)
        except OSError:
            given[f"the SHA-256 of {options.config}"] = "unknown, as it cannot be read,"
    return given


def _train(options: argparse.Namespace) -> None:
    resume = _resumes(options)
    if not resume:
        _require_corpora(options)

    from dragoman.progress import Console

    console = Console(quiet=options.quiet)
    config = _load_config(options, console, resume=resume)

    from dragoman.workflows.training import resume_training, train

    if resume:
        if options.train or options.dev or options.dropped or options.alignments:
            console.info(
                "--resume uses the corpus stored in the run; --train, --dev, --alignments and --dropped are ignored"
            )
        if options.start_from is not None:
            console.info("--resume goes on with the weights and the configuration of the run; --from is ignored")
        trained = resume_training(options.out, config, device=options.device, threads=options.threads, console=console)
    else:
        if options.resume:
            console.info(f"--resume: {options.out} has no run yet, so that a new one begins")
        trained = train(
            config,
            options.train,
            options.dev,
            options.out,
            alignments=options.alignments,
            overwrite=options.overwrite,
            dropped=options.dropped,
            inputs=[] if options.config is None else [options.config],
            start_from=options.start_from,
            extend_vocabulary=options.extend_vocabulary,
            device=options.device,
            threads=options.threads,
            console=console,
        )
    console.info(f"report: {trained.folder.report}")


def _resumes(options: argparse.Namespace) -> bool:
    """Whether there is a run to resume; with --train, --resume also begins one, so that one command does both."""
    from dragoman.runs.layout import RunFolder

    return options.resume and (not options.train or RunFolder.is_begun(options.out))


def _require_corpora(options: argparse.Namespace) -> None:
    """Refuse missing files and wrong settings before the training text is read and the first line is printed."""
    from dragoman.config.building import require_settings
    from dragoman.text.lines import not_found

    if options.extend_vocabulary and options.start_from is None:
        raise ConfigError("--extend-vocabulary requires --from RUN: it adds to the vocabulary of a trained model")
    if not options.train:
        raise ConfigError("--train is required: give the source and the target file (see dragoman train --help)")
    require_corpora("--train", options.train)
    require_corpora("--dev", options.dev)
    for path in (path for files in (*options.train, *options.dev) for path in files):
        if not path.exists():
            raise not_found(path)
    require_settings(options.set)


def _load_config(options: argparse.Namespace, console: Console, *, resume: bool) -> Config:
    """The preset, with the file and then the options over it; a resumed run starts from its own configuration."""
    from dragoman.config.building import override
    from dragoman.config.files import load_config
    from dragoman.config.presets import load_preset
    from dragoman.runs.layout import RunFolder

    if options.start_from is not None and not resume:
        config = _fine_tuning_config(options)
    elif options.config is not None:
        config = load_config(options.config, load_preset(options.preset) if options.preset else None)
    elif options.preset is not None:
        config = load_preset(options.preset)
    elif not resume:
        config = config_for_text(options.train, console)
    else:
        if options.scale is not None:
            raise ConfigError("--scale cannot change the sizes of an existing run; leave it out with --resume")
        config = RunFolder.resume(options.out).load_config()
    sides = zip(("source", "target"), options.languages or (), strict=False)
    languages = [f'text.{side}.language="{code}"' for side, code in sides]  # in YAML no, Norwegian, is false
    mix = [] if options.mix is None else [f"training.mix.weights={options.mix}"]
    return override(apply_configuration_options(config, options), [*languages, *mix, *length_settings(options)])


def _fine_tuning_config(options: argparse.Namespace) -> Config:
    """The configuration of the trained run for fine-tuning, with that of the file over it."""
    from dragoman.config.files import load_config
    from dragoman.config.fine_tuning import fine_tuning
    from dragoman.runs.opening import trained_folder

    given = {"--preset": options.preset is not None, "--scale": options.scale is not None}
    for option in (name for name, is_given in given.items() if is_given):
        raise ConfigError(f"{option} cannot be combined with --from, which takes the model of RUN; leave it out")
    config = fine_tuning(trained_folder(options.start_from).load_config())
    return config if options.config is None else load_config(options.config, config)
