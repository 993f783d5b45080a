"""`dragoman translate`: lines in, translations out."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING

from dragoman.cli.parsing import (
    Parser,
    add_general_options,
    natural,
    non_negative_float,
    positive_float,
    positive_int,
    probability,
)
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.config.schema import SearchConfig
    from dragoman.search.sampling import Sampling

SUMMARY = "translate lines of text"
DESCRIPTION = (
    "Translates raw text, a line in, a line out, in order; a blank line stays blank. Standard input to standard\n"
    "output by default; files may be .gz, .xz or .zst. What is not said about the search is as the run has it."
)
EXAMPLES = (
    "dragoman translate RUN < new.de > new.en",
    "dragoman translate RUN -i new.de -o new.en --beam 10 --alignments new.align",
    "dragoman translate RUN -i new.de --nbest 5 --beam 5 --format nbest > new.nbest",
    "dragoman translate RUN -i new.de --sample --temperature 0.8 --seed 7",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `translate`."""
    parser.add_argument("run", metavar="RUN", help="a run folder, or one that was exported")
    files = parser.add_argument_group("input and output")
    files.add_argument("-i", "--input", default="-", metavar="FILE", help="lines to translate")
    files.add_argument("-o", "--output", default="-", metavar="FILE", help="where translations go")
    files.add_argument(
        "--format",
        choices=("text", "jsonl", "nbest"),
        default="text",
        help="text: the translation; jsonl: everything, an object a line; nbest: Moses n-best lists",
    )
    files.add_argument(
        "--batch",
        type=positive_int,
        metavar="N",
        help="lines read ahead, sorted by length and answered together; 1 answers each at once (default: 2000)",
    )
    files.add_argument("--alignments", metavar="FILE", help="write word alignments of the raw lines, Pharaoh format")
    files.add_argument(
        "--attention", metavar="FILE.npz", help="write alignment weights: an array for each line, named by its number"
    )
    search = parser.add_argument_group("search (default: as the run's configuration has it)")
    search.add_argument("--beam", type=positive_int, metavar="K", help="hypotheses kept; 1 is greedy")
    search.add_argument("--nbest", type=positive_int, default=1, metavar="N", help="translations for each line")
    search.add_argument("--normalisation", choices=("none", "mean", "gnmt"), help="of scores by length")
    search.add_argument("--alpha", type=non_negative_float, metavar="A", help="exponent of the length for gnmt")
    search.add_argument("--finish", choices=("refill", "shrink"), help="what becomes of a finished hypothesis's place")
    search.add_argument("--max-factor", type=positive_float, metavar="F", help="longest output over source length")
    search.add_argument("--max-extra", type=natural, metavar="N", help="segments added to that")
    search.add_argument("--min-factor", type=non_negative_float, metavar="F", help="shortest output over source length")
    search.add_argument("--block-unknown", action="store_true", default=None, help="never produce the unknown word")
    draw = parser.add_argument_group("sampling")
    draw.add_argument("--sample", action="store_true", help="draw translations from the model instead of searching")
    draw.add_argument("--temperature", type=positive_float, metavar="T", help="below 1 sharper (default: 1)")
    draw.add_argument("--top-k", type=positive_int, metavar="K", help="draw among the K most probable (default: all)")
    draw.add_argument(
        "--top-p", type=probability, metavar="P", help="draw among those that together have P (default: 1)"
    )
    draw.add_argument("--seed", type=natural, metavar="N", help="the same seed draws the same (default: 1)")
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Translate the input as a stream."""
    _require_sense(options)

    from dragoman.cli.outputs import Outputs
    from dragoman.run import open_run
    from dragoman.text.lines import read_lines

    opened = open_run(options.run, device=options.device, threads=options.threads)
    if opened.config.model.decoder.context != "attended":
        for name in ("alignments", "attention"):
            if getattr(options, name) is not None:
                raise ConfigError(
                    f"--{name}: the model of {options.run} has no attention, so there is nothing to write"
                )
    translator = opened.translator(_search(options, opened.config.search), _sampling(options))
    lines = _begun(read_lines(options.input))
    with Outputs(options) as outputs:
        found = translator.translate_lines(outputs.flushed_before(lines), options.nbest, read_ahead=options.batch)
        for number, n_best in enumerate(found):
            outputs.write(number, n_best)


def _require_sense(options: argparse.Namespace) -> None:
    """Refuse options that would be without effect, and outputs that would destroy the input."""
    drawing = [name for name in ("temperature", "top_k", "top_p", "seed") if getattr(options, name) is not None]
    if drawing and not options.sample:
        raise ConfigError(f"--{drawing[0].replace('_', '-')} is about sampling; add --sample")
    if options.sample and options.beam is not None:
        raise ConfigError("--beam is about searching, --sample draws instead; leave one of them out")
    if options.nbest > 1 and options.format == "text":
        raise ConfigError(
            f"--nbest {options.nbest}: plain text has one translation a line; add --format nbest or --format jsonl"
        )
    outputs = [name for name in (options.output, options.alignments, options.attention) if name is not None]
    for position, name in enumerate(outputs):
        if name != "-" and _is_same_file(name, options.input):
            raise ConfigError(f"{name}: is the input as well as an output, which would destroy it; give another file")
        if name in outputs[:position]:
            raise ConfigError(f"{name}: is given for two outputs; each needs a file of its own")


def _is_same_file(one: str, other: str) -> bool:
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def _search(options: argparse.Namespace, config: SearchConfig) -> SearchConfig:
    """The run's settings with those of the command line over them."""
    names = ("beam", "normalisation", "alpha", "finish", "max_factor", "max_extra", "min_factor", "block_unknown")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    search = config.model_copy(update=given)
    if options.alpha is not None and search.normalisation != "gnmt":
        raise ConfigError("--alpha: is the exponent of --normalisation gnmt, and has no meaning without it")
    return search


def _sampling(options: argparse.Namespace) -> Sampling | None:
    if not options.sample:
        return None
    from dragoman.search.sampling import Sampling

    names = ("temperature", "top_k", "top_p", "seed")
    return Sampling(**{name: getattr(options, name) for name in names if getattr(options, name) is not None})


def _begun(lines: Iterator[str]) -> Iterator[str]:
    """The same lines, the first one already read: a missing input is found before any output is touched."""
    first = list(islice(lines, 1))
    return chain(first, lines)
