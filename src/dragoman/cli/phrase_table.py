"""`dragoman phrase-table`: neural scores as columns of a Moses phrase table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from dragoman.cli.shared.files import is_same_file
from dragoman.cli.shared.options import COMPRESSION_HELP, add_general_options
from dragoman.cli.shared.parsing import Parser
from dragoman.errors import ConfigError
from dragoman.text.lines import is_standard_output

SUMMARY = "add neural scores to a Moses phrase table"
DESCRIPTION = (
    "Writes a Moses phrase table with one more score per model: p(target | source), EOS included, as a\n"
    "probability, because Moses takes the logarithm itself. Everything else in the table is unchanged.\n"
    "Prints the lines of moses.ini for the new table. If interrupted, the same command continues where\n"
    "it stopped."
)
EXAMPLES = (
    "dragoman phrase-table phrase-table.gz --model RUN -o phrase-table.neural.gz",
    "dragoman phrase-table phrase-table.gz --model RUN --reverse RUN2 --unknown -o phrase-table.neural.gz",
    "dragoman phrase-table phrase-table.gz --write-pairs pairs.tsv.gz",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `phrase-table`."""
    parser.add_argument("table", metavar="TABLE", help=f"Moses phrase table; {COMPRESSION_HELP}")
    parser.add_argument("--model", nargs="+", metavar="RUN", help="source-to-target runs; one score each")
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
    parser.add_argument(
        "-o", "--output", metavar="TABLE2", help="phrase table to write; scores are collected in TABLE2.scores"
    )
    parser.add_argument("--name", default="TranslationModel0", metavar="NAME", help="name of the table in moses.ini")
    parser.add_argument(
        "--write-pairs",
        metavar="FILE.tsv",
        help="write the distinct phrase pairs for `dragoman train --train` instead of scoring",
    )
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Score all pairs, then write the table."""
    if options.table == "-":
        raise ConfigError("the phrase table is read twice; give a file instead of standard input")
    if options.write_pairs is not None:
        if options.model or options.reverse or options.unknown or options.output:
            raise ConfigError("--write-pairs computes no scores; leave the other options out")
        _write_pairs(options.table, options.write_pairs)
        return
    if not options.model or options.output is None:
        raise ConfigError("--model and --output are required, or --write-pairs (see dragoman phrase-table --help)")
    if is_standard_output(options.output) or is_same_file(options.table, options.output):
        raise ConfigError(
            f"--output {options.output}: give another file, because the table is written after all pairs are scored"
        )
    _add_columns(options)


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


def _add_columns(options: argparse.Namespace) -> None:
    from dragoman.progress import Console
    from dragoman.runs.opening import open_run
    from dragoman.scoring.phrase_scores import (
        Column,
        Journal,
        compute,
        identity,
        moses_lines,
        source_given_target,
        target_given_source,
        unknown_word_penalty,
        write,
    )
    from dragoman.scoring.phrases import read_table

    console = Console(quiet=options.quiet)
    first = next(read_table(options.table), None)
    if first is None:
        raise ConfigError(f"{options.table}: no phrase pairs")
    models = [open_run(path, device=options.device, threads=options.threads) for path in options.model]
    others = [open_run(path, device=options.device, threads=options.threads) for path in options.reverse]
    columns: list[Column] = [target_given_source(one.scorer()) for one in models]
    columns += [source_given_target(one.scorer()) for one in others]
    columns += [unknown_word_penalty(models[0].target)] if options.unknown else []
    names = _column_names(len(models), len(others), options.unknown)
    what = identity(options.table, [*options.model, *options.reverse], names)
    journal = Journal(Path(f"{options.output}.scores"), what)
    with console.counter("phrase pairs") as advance:
        before = compute(options.table, columns, journal, advance)
    if before:
        console.info(f"{before} phrase pairs were scored before")
    write(options.table, journal, len(columns), options.output)
    for line in moses_lines(options.output, len(first.scores) + len(columns), len(columns), options.name):
        print(line)


def _column_names(forward: int, reverse: int, unknown: bool) -> Sequence[str]:
    return ["forward"] * forward + ["reverse"] * reverse + ["unknown"] * unknown
