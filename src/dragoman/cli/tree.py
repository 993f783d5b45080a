"""`dragoman tree`: the hypotheses that the search for one translation kept and pruned."""

from __future__ import annotations

import argparse
from pathlib import Path

from dragoman.cli.shared.letters import warn_of_letters_without_font
from dragoman.cli.shared.options import add_general_options, add_input, add_output, add_run
from dragoman.cli.shared.parsing import Parser, natural
from dragoman.cli.shared.search_options import add_search_options, override_search
from dragoman.errors import ConfigError, InputError

SUMMARY = "show the search tree of one translation"
DESCRIPTION = (
    "Translates one sentence and shows the tree of the beam search with log-probabilities: which\n"
    "hypotheses were kept at each step, which were finished and which were pruned; * marks the\n"
    "translation. The output is an HTML page, an SVG image or plain text, depending on the suffix of\n"
    "the output file (.html, .svg, other). Search options default to the run's configuration."
)
EXAMPLES = (
    "dragoman tree RUN --text Hallo",
    "dragoman tree RUN --beam 4 --pruned 2 -o tree.html < line.de",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `tree`."""
    add_run(parser)
    sentence = parser.add_mutually_exclusive_group()
    sentence.add_argument("--text", metavar="LINE", help="sentence to translate")
    add_input(sentence, "text; its first line is translated")
    parser.add_argument(
        "--pruned", type=natural, default=3, metavar="N", help="pruned hypotheses to show at each step, best first"
    )
    add_output(parser, "the tree")
    add_search_options(parser)
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Translate and draw the search tree."""
    from dragoman.report.beam_tree import as_page, as_svg, as_text, tokens_of
    from dragoman.runs.opening import open_run
    from dragoman.search.trace import search_tree
    from dragoman.text.lines import replace_output

    opened = open_run(options.run, device=options.device, threads=options.threads)
    search = override_search(opened.config.search, options)
    if search.coverage_penalty and not opened.engine.attends:
        raise ConfigError(f"--coverage-penalty requires attention, and the model of {options.run} has none")
    line = _line(options)
    ids = opened.source.encode(line).ids
    if not ids:
        raise InputError("no text to translate; give a sentence with --text, -i or on standard input")
    root, best = search_tree(opened.engine, ids, search, options.pruned)
    vocabulary, kind = opened.target.vocabulary, Path(options.output).suffix.lower()
    if kind in (".html", ".svg"):
        shown = tokens_of(root, vocabulary)
        warn_of_letters_without_font([line, *shown] if kind == ".html" else shown, page=True)
    if kind == ".html":
        drawn = as_page(root, vocabulary, line, opened.target.decode(best.tokens))
    else:
        drawn = (as_svg if kind == ".svg" else as_text)(root, vocabulary) + "\n"
    with replace_output(options.output) as file:
        file.write(drawn)


def _line(options: argparse.Namespace) -> str:
    from dragoman.text.lines import read_lines

    line: str = options.text if options.text is not None else next(read_lines(options.input), "")
    return line
