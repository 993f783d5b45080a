"""`dragoman import`: a model of another toolkit as a run folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from dragoman.cli.shared.options import add_general_options
from dragoman.cli.shared.parsing import Parser, output_folder
from dragoman.errors import ConfigError

SUMMARY = "convert a JoeyNMT or OpenNMT-py model to a run folder"
DESCRIPTION = (
    "Reads a recurrent model of JoeyNMT 2.x or OpenNMT-py 3.x without executing code from the\n"
    "checkpoint, and writes a run folder that gives the same scores. The config.yaml and vocabularies\n"
    "of JoeyNMT are looked up beside the checkpoint; an OpenNMT-py checkpoint contains both. The run\n"
    "expects text segmented as in training, tokens separated by spaces, unless a SentencePiece model is\n"
    "given."
)
EXAMPLES = (
    "dragoman import --from joeynmt models/deen/best.ckpt --out RUN",
    "dragoman import --from opennmt model_step_10000.pt --source-model de.model --target-model en.model --out RUN",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `import`."""
    parser.add_argument(
        "checkpoint", type=Path, metavar="CHECKPOINT", help="checkpoint: .ckpt (JoeyNMT) or .pt (OpenNMT-py)"
    )
    parser.add_argument(
        "--from", dest="toolkit", required=True, choices=("joeynmt", "opennmt"), help="toolkit of the checkpoint"
    )
    parser.add_argument("--out", required=True, type=output_folder, metavar="RUN", help="run folder to write")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing run")
    joeynmt = parser.add_argument_group("JoeyNMT")
    joeynmt.add_argument(
        "--config", type=Path, metavar="FILE", help="configuration file (default: config.yaml beside CHECKPOINT)"
    )
    joeynmt.add_argument(
        "--vocabulary",
        nargs=2,
        type=Path,
        metavar=("SRC", "TGT"),
        help="vocabulary files (default: src_vocab.txt and trg_vocab.txt beside CHECKPOINT)",
    )
    text = parser.add_argument_group("segmentation")
    for side in ("source", "target"):
        text.add_argument(f"--{side}-model", type=Path, metavar="FILE", help=f"SentencePiece model of the {side} side")
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Import, and print notes for the user and where the run is."""
    segmenters = (options.source_model, options.target_model)
    if options.toolkit == "opennmt" and (options.config or options.vocabulary):
        raise ConfigError("--config and --vocabulary require --from joeynmt; an OpenNMT-py checkpoint contains both")

    from dragoman.importing.imported_model import write_run
    from dragoman.importing.joeynmt import read_joeynmt
    from dragoman.importing.opennmt import read_opennmt
    from dragoman.progress import Console

    if options.toolkit == "joeynmt":
        imported = read_joeynmt(
            options.checkpoint, config=options.config, vocabularies=options.vocabulary or (), segmenters=segmenters
        )
    else:
        imported = read_opennmt(options.checkpoint, segmenters=segmenters)
    folder = write_run(imported, options.checkpoint, options.out, overwrite=options.overwrite)
    console = Console(quiet=options.quiet)
    for note in imported.notes:
        console.info(note)
    console.info(f"run: {folder.path}")
