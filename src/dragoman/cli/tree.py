"""`dragoman tree`: the hypotheses that the search for one translation kept and pruned."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.shared.letters import warn_of_letters_without_font
from dragoman.cli.shared.options import add_general_options, add_input, add_output, add_run
from dragoman.cli.shared.parsing import Parser, bounded, natural
from dragoman.errors import ConfigError, InputError

if TYPE_CHECKING:
    from dragoman.config.schema import SearchConfig
    from dragoman.config.section import Key


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


def add_search_options(parser: Parser) -> argparse._ArgumentGroup:
    """Declare an option for each key of `SearchConfig`; None where it is not given. Returns the group."""
    group = parser.add_argument_group("search (default: the configuration of the run)")
    for name, key in _search_keys().items():
        group.add_argument(f"--{name.replace('_', '-')}", dest=name, help=key.description, **_kind(key))
    return group


def given_search_options(options: argparse.Namespace) -> dict[str, Any]:
    """The search options that the command line gives, by key."""
    return {name: getattr(options, name) for name in _search_keys() if getattr(options, name) is not None}


def override_search(config: SearchConfig, options: argparse.Namespace) -> SearchConfig:
    """The search configuration of a run with the options of the command line over it.

    Raises:
        ConfigError: an option that has no effect under the others.
    """
    from dragoman.translation.options import changed_search

    return changed_search(config, given_search_options(options))


def _search_keys() -> Mapping[str, Key]:
    """The keys of `SearchConfig`; the schema is imported here, so that the list of verbs does not need its library."""
    from dragoman.config.schema import SearchConfig
    from dragoman.config.section import keys_of

    return keys_of(SearchConfig)


def _kind(key: Key) -> dict[str, Any]:
    """The arguments with which argparse parses and checks the values of a key."""
    if key.choices:
        return {"choices": key.choices}
    kind = key.types[0]
    if kind is bool:
        return {"action": argparse.BooleanOptionalAction}
    return {"type": bounded(kind, key.minimum, key.above, key.maximum), "metavar": "N" if kind is int else "X"}
