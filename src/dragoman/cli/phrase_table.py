"""`dragoman phrase-table`: neural scores as columns of a Moses phrase table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from dragoman.cli.shared.files import is_same_file
from dragoman.cli.shared.parsing import Parser, add_general_options
from dragoman.errors import ConfigError
from dragoman.text.lines import is_standard_output

SUMMARY = "add neural scores to a phrase table"
DESCRIPTION = (
    "Writes a Moses phrase table with one more score for each model, p(target | source) with the end of sentence:\n"
    "the probability, because Moses takes the logarithm itself. The rest of each line stays as it was. Prints the\n"
    "lines of moses.ini for the new table. After a kill, the same command goes on where it stopped."
)
EXAMPLES = (
    "dragoman phrase-table phrase-table.gz --model RUN --out phrase-table.neural.gz",
    "dragoman phrase-table phrase-table.gz --model RUN --reverse RUN2 --unknown --out phrase-table.neural.gz",
    "dragoman phrase-table phrase-table.gz --pairs pairs.tsv.gz",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `phrase-table`."""
    parser.add_argument("table", metavar="TABLE", help="a Moses phrase table, .gz, .xz or .zst too")
    parser.add_argument("--model", nargs="+", metavar="RUN", help="run folders, a score for each")
    parser.add_argument("--reverse", nargs="+", default=[], metavar="RUN", help="runs for p(source | target)")
    parser.add_argument(
        "--unknown", action="store_true", help="a score for target words unknown to the first model: e to their number"
    )
    parser.add_argument("-o", "--out", metavar="TABLE2", help="where the table goes; TABLE2.scores while it is made")
    parser.add_argument("--name", default="TranslationModel0", metavar="NAME", help="the table's name in moses.ini")
    parser.add_argument(
        "--pairs", metavar="FILE.tsv", help="instead: write the distinct phrase pairs, for `dragoman train --train`"
    )
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Score all pairs, then write the table."""
    if options.table == "-":
        raise ConfigError("a phrase table is read twice, so standard input will not do; give a file")
    if options.pairs is not None:
        if options.model or options.reverse or options.unknown or options.out:
            raise ConfigError("--pairs writes pairs of phrases and scores nothing; leave the other options out")
        _write_pairs(options.table, options.pairs)
        return
    if not options.model or options.out is None:
        raise ConfigError("--model and --out are needed, or --pairs (see dragoman phrase-table --help)")
    if is_standard_output(options.out) or is_same_file(options.table, options.out):
        raise ConfigError(f"--out {options.out}: give a file of its own; it is written when all scores are there")
    _add_columns(options)


def _write_pairs(table: str, out: str) -> None:
    from dragoman.scoring.phrases import distinct_pairs, read_table
    from dragoman.text.lines import replace_output

    if not any(suffix == ".tsv" for suffix in Path(out).suffixes):
        raise ConfigError(f"--pairs {out}: `dragoman train` knows pairs by the ending .tsv; give such a name")
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
        raise ConfigError(f"{options.table}: no phrase pairs in it")
    models = [open_run(path, device=options.device, threads=options.threads) for path in options.model]
    others = [open_run(path, device=options.device, threads=options.threads) for path in options.reverse]
    columns: list[Column] = [target_given_source(one.scorer()) for one in models]
    columns += [source_given_target(one.scorer()) for one in others]
    columns += [unknown_word_penalty(models[0].target)] if options.unknown else []
    names = _column_names(len(models), len(others), options.unknown)
    what = identity(options.table, [*options.model, *options.reverse], names)
    journal = Journal(Path(f"{options.out}.scores"), what)
    with console.counter("phrase pairs") as advance:
        before = compute(options.table, columns, journal, advance)
    if before:
        console.info(f"{before} phrase pairs had been scored before")
    write(options.table, journal, len(columns), options.out)
    for line in moses_lines(options.out, len(first.scores) + len(columns), len(columns), options.name):
        print(line)


def _column_names(forward: int, reverse: int, unknown: bool) -> Sequence[str]:
    return ["forward"] * forward + ["reverse"] * reverse + ["unknown"] * unknown
