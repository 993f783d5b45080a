"""`dragoman phrase-table`: neural scores as columns of a Moses phrase table."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.shared.options import add_general_options
from dragoman.cli.shared.parsing import Parser, output_file
from dragoman.errors import ConfigError, InputError
from dragoman.inputs import is_standard_output

if TYPE_CHECKING:
    from dragoman.smt.moses_ini import MosesConfiguration

SUMMARY = "add neural scores to a Moses phrase table"
DESCRIPTION = (
    "Writes a Moses phrase table with one more score per model: p(target | source), EOS included, as a\n"
    "probability, because Moses takes the logarithm itself. Everything else in the table is unchanged.\n"
    "Prints the lines of moses.ini for the new table. If interrupted, the same command continues where\n"
    "it stopped. Given the folder of a phrase-based system, it writes a new system: the new table, and a\n"
    "moses.ini with its weights, 0.2 for each new score (0 for --unknown)."
)
EXAMPLES = (
    "dragoman phrase-table phrase-table.gz --model RUN -o phrase-table.neural.gz",
    "dragoman phrase-table phrase-table.gz --model RUN --reverse RUN2 --unknown -o phrase-table.neural.gz",
    "dragoman phrase-table SYSTEM --model RUN --filter dev.de test.de -o SYSTEM2",
    "dragoman phrase-table phrase-table.gz --write-pairs pairs.tsv.gz",
)

NEW_WEIGHT, UNKNOWN_WEIGHT = 0.2, 0.0
"""Weights of new scores in the moses.ini of a new system, from which tuning starts."""
DEFAULT_NAME = "TranslationModel0"


def add_options(parser: Parser) -> None:
    """Declare the options of `phrase-table`."""
    from dragoman.requests.shared import COMPRESSION

    parser.add_argument(
        "table",
        metavar="TABLE",
        help=f"Moses phrase table, {COMPRESSION}; or a folder with the moses.ini of a phrase-based system",
    )
    add_models(parser)
    parser.add_argument(
        "--filter",
        nargs="+",
        default=[],
        metavar="SRC",
        help="write only the phrase pairs whose source phrase occurs in these texts, tokenised as for the system",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=output_file,
        metavar="TABLE2",
        help="phrase table to write, or folder of the new system; scores are collected in TABLE2.scores",
    )
    parser.add_argument(
        "--name", metavar="NAME", help=f"name of the table in the printed lines (default: {DEFAULT_NAME})"
    )
    parser.add_argument(
        "--write-pairs",
        type=output_file,
        metavar="FILE.tsv",
        help="write the distinct phrase pairs for `dragoman train --train` instead of scoring",
    )
    add_general_options(parser)


def add_models(parser: Parser, *, required: bool = False) -> None:
    """Declare the models that score."""
    parser.add_argument(
        "--model", nargs="+", required=required, metavar="RUN", help="source-to-target runs; one score each"
    )
    parser.add_argument(
        "--reverse",
        nargs="+",
        default=[],
        metavar="RUN",
        help="target-to-source runs; one score p(source | target) each",
    )
    parser.add_argument(
        "--unknown",
        action="store_true",
        help="add exp(number of target words unknown to the first model) as a score",
    )


def run(options: argparse.Namespace) -> None:
    """Score all pairs, then write the table."""
    if options.table == "-":
        raise ConfigError("the phrase table is read twice; give a file instead of standard input")
    if options.write_pairs is not None:
        if options.model or options.reverse or options.unknown or options.output or options.filter:
            raise ConfigError("--write-pairs computes no scores; leave the other options out")
        system = _system(options)
        _write_pairs(str(system.phrase_table) if system else options.table, options.write_pairs)
        return
    if not options.model or options.output is None:
        raise ConfigError("--model and --output are required, or --write-pairs (see dragoman phrase-table --help)")
    if is_standard_output(options.output):
        raise ConfigError(
            f"--output {options.output}: give another file, because the table is written after all pairs are scored"
        )
    system = _system(options)
    if system is None:
        _add_columns(options, options.table, options.output)
    else:
        _extend(options, system)


def _system(options: argparse.Namespace) -> MosesConfiguration | None:
    """The configuration of the system, where a folder is given."""
    if not Path(options.table).is_dir():
        return None
    if options.name is not None:
        raise ConfigError("--name: the table has its name from the moses.ini of the system; leave it out")

    from dragoman.smt.moses_ini import read_configuration

    return read_configuration(options.table)


def _extend(options: argparse.Namespace, system: MosesConfiguration) -> None:
    """Make a system with more scores; its moses.ini is written when all else is there."""
    from dragoman.smt.moses_ini import FILE, PHRASE_TABLE, extend_configuration

    folder = Path(options.output)
    if (folder / FILE).exists():
        raise InputError(f"{folder}: has a system already; give a new folder, or remove it")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
    _add_columns(options, str(system.phrase_table), str(folder / PHRASE_TABLE))
    added = [NEW_WEIGHT] * (len(options.model) + len(options.reverse)) + [UNKNOWN_WEIGHT] * options.unknown
    extend_configuration(system, folder, added)


def _write_pairs(table: str, out: str) -> None:
    from dragoman.scoring.phrases import distinct_pairs, read_table
    from dragoman.text.lines import replace_output

    if not any(suffix == ".tsv" for suffix in Path(out).suffixes):
        raise ConfigError(
            f"--write-pairs {out}: give a name that ends in .tsv, by which `dragoman train` recognises pairs"
        )
    with replace_output(out) as file:
        for source, target in distinct_pairs(read_table(table)):
            file.write(f"{source.replace(chr(9), ' ')}\t{target.replace(chr(9), ' ')}\n")


def _add_columns(options: argparse.Namespace, table: str, out: str) -> None:
    from dragoman.progress import Console
    from dragoman.scoring.phrase_scores import compute, identity, moses_lines, write
    from dragoman.scoring.phrases import PhrasesOfText, read_table
    from dragoman.text.journal import Journal
    from dragoman.text.lines import read_lines
    from dragoman.workflows.smt_features import open_columns

    console = Console(quiet=options.quiet)
    sources = PhrasesOfText(line for path in options.filter for line in read_lines(path)) if options.filter else None
    first = next(read_table(table, sources), None)
    if first is None:
        raise ConfigError(f"{table}: no phrase pairs{' of the phrases in --filter' if options.filter else ''}")
    columns = open_columns(
        options.model, options.reverse, unknown=options.unknown, device=options.device, threads=options.threads
    )
    names = ["forward"] * len(options.model) + ["reverse"] * len(options.reverse) + ["unknown"] * options.unknown
    what = identity(table, [*options.model, *options.reverse], names, options.filter)
    with Journal(Path(f"{out}.scores"), {"phrase-scores": what}) as journal:
        with console.counter("phrase pairs") as advance:
            before = compute(table, columns, journal, advance, sources)
        if before:
            console.info(f"{before} phrase pairs were scored before")
        write(table, journal, len(columns), out, sources)
    if table == options.table:
        name = options.name or DEFAULT_NAME
        for line in moses_lines(out, len(first.scores) + len(columns), len(columns), name):
            print(line)
