"""`dragoman import`: a model that another toolkit trained becomes a run folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from dragoman.cli.shared.parsing import Parser, add_general_options
from dragoman.errors import ConfigError

SUMMARY = "turn a model of JoeyNMT or OpenNMT-py into a run folder"
DESCRIPTION = (
    "Reads a recurrent model that JoeyNMT 2.x or OpenNMT-py 3.x trained, without running any code of the file, and\n"
    "writes a run folder that gives the same scores. JoeyNMT's config.yaml and vocabularies are looked for beside the\n"
    "checkpoint; OpenNMT-py keeps both in it. The run takes text as the model was trained on it: segmented, pieces\n"
    "between blanks, unless there is a SentencePiece model."
)
EXAMPLES = (
    "dragoman import --from joeynmt models/deen/best.ckpt --out RUN",
    "dragoman import --from opennmt model_step_10000.pt --source-model de.model --target-model en.model --out RUN",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `import`."""
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="a .ckpt of JoeyNMT, a .pt of OpenNMT-py")
    parser.add_argument(
        "--from", dest="toolkit", required=True, choices=("joeynmt", "opennmt"), help="the toolkit that trained it"
    )
    parser.add_argument("--out", required=True, type=Path, metavar="RUN", help="the run folder to write")
    parser.add_argument("--overwrite", action="store_true", help="replace a run that is there")
    joeynmt = parser.add_argument_group("JoeyNMT")
    joeynmt.add_argument(
        "--config", type=Path, metavar="FILE", help="its configuration (default: config.yaml beside CHECKPOINT)"
    )
    joeynmt.add_argument(
        "--vocabulary",
        nargs=2,
        type=Path,
        metavar=("SRC", "TGT"),
        help="its vocabularies (default: src_vocab.txt and trg_vocab.txt beside CHECKPOINT)",
    )
    text = parser.add_argument_group("text")
    for side in ("source", "target"):
        text.add_argument(
            f"--{side}-model", type=Path, metavar="FILE", help=f"the SentencePiece model that cut the {side} text"
        )
    add_general_options(parser, device=False)


def run(options: argparse.Namespace) -> None:
    """Import, say what its user has to know and where the result is."""
    segmenters = (options.source_model, options.target_model)
    if options.toolkit == "opennmt" and (options.config or options.vocabulary):
        raise ConfigError("--config and --vocabulary are for --from joeynmt; a checkpoint of OpenNMT-py holds both")

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
