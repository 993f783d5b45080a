"""`dragoman tree`: the hypotheses that the search for one translation kept and dropped."""

from __future__ import annotations

import argparse
from pathlib import Path

from dragoman.cli.shared.parsing import Parser, add_general_options, natural, positive_int
from dragoman.errors import ConfigError, InputError

SUMMARY = "show what the search for a translation kept and dropped"
DESCRIPTION = (
    "Translates one line and shows the tree of the beam search: which hypotheses were kept at each step, which ended,\n"
    "which were dropped, with their log-probabilities; * marks the translation. The end of a file's name says what is\n"
    "written there: .html or .svg draws the tree, anything else is the text."
)
EXAMPLES = (
    "dragoman tree RUN --text Hallo",
    "dragoman tree RUN --beam 4 --dropped 2 -o tree.html < line.de",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `tree`."""
    parser.add_argument("run", metavar="RUN", help="a run folder, or one that was exported")
    parser.add_argument("--text", metavar="LINE", help="the line to translate (default: the first of standard input)")
    parser.add_argument("--beam", type=positive_int, metavar="K", help="hypotheses kept (default: as the run has it)")
    parser.add_argument(
        "--dropped", type=natural, default=3, metavar="N", help="dropped hypotheses shown of each step, the best ones"
    )
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where the tree goes")
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Translate, draw."""
    from dragoman.report.beam_tree import as_page, as_svg, as_text
    from dragoman.runs.opening import open_run
    from dragoman.search.trace import search_tree
    from dragoman.text.lines import replace_output

    opened = open_run(options.run, device=options.device, threads=options.threads)
    search = opened.config.search
    if options.beam is not None:
        search = search.replaced(beam=options.beam)
    if search.coverage_penalty and opened.config.model.decoder.context != "attended":
        raise ConfigError(f"{options.run}: its search asks for a coverage penalty, but the model has no attention")
    line = _line(options)
    ids = opened.source.encode(line).ids
    if not ids:
        raise InputError("there is no text to translate; give a line with --text, or on standard input")
    root, best = search_tree(opened.engine, ids, search, options.dropped)
    vocabulary, kind = opened.target.vocabulary, Path(options.output).suffix.lower()
    if kind == ".html":
        drawn = as_page(root, vocabulary, line, opened.target.decode(best.tokens))
    else:
        drawn = (as_svg if kind == ".svg" else as_text)(root, vocabulary) + "\n"
    with replace_output(options.output) as file:
        file.write(drawn)


def _line(options: argparse.Namespace) -> str:
    from dragoman.text.lines import read_lines

    line: str = options.text if options.text is not None else next(read_lines("-"), "")
    return line
