"""`dragoman distill`: the training text of a student, written by its teachers."""

from __future__ import annotations

import argparse

from dragoman.cli.shared.options import add_ensemble_options, add_general_options, add_pairs, add_runs
from dragoman.cli.shared.parsing import Parser, output_file, positive_int
from dragoman.cli.shared.runs import make_translator, open_several, require_several_runs, split_runs
from dragoman.cli.shared.search_options import add_search_options
from dragoman.errors import ConfigError

SUMMARY = "make training pairs with the translations of a teacher"
DESCRIPTION = (
    "Translates the sources of training pairs with a teacher, one model or an ensemble, and writes them\n"
    "with its translations as targets. A single model that is trained on these pairs comes close to its\n"
    "teachers (sequence-level knowledge distillation, Kim and Rush 2016)."
)
EXAMPLES = (
    "dragoman distill RUN1 RUN2 RUN3 RUN4 train.de train.en -o distilled.tsv",
    "dragoman distill RUN1 RUN2 train.de train.en -o distilled.tsv --candidates 5",
    "dragoman train --train distilled.tsv --dev dev.de dev.en --out STUDENT",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `distill`."""
    add_runs(parser)
    add_pairs(parser)
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o",
        "--output",
        type=output_file,
        required=True,
        metavar="PAIRS",
        help="write the pairs to this .tsv or .jsonl file",
    )
    group.add_argument(
        "--candidates",
        type=positive_int,
        default=1,
        metavar="K",
        help="of the K best translations take the one with the highest sentence BLEU against the target of the pair "
        "(section 3.3 of Kim and Rush; default: 1, the best)",
    )
    add_search_options(parser)
    add_ensemble_options(parser)
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Translate the sources and write the pairs."""
    names, files = split_runs(options)
    require_several_runs(options, names)

    from dragoman.cli.shared.synthetic_pairs import write_synthetic_pairs
    from dragoman.evaluation.metrics import bleu_tokens
    from dragoman.text.corpus import read_pairs
    from dragoman.text.pair_writing import require_pair_file
    from dragoman.workflows.evaluation import tokenizer_of
    from dragoman.workflows.synthetic_pairs import distill
    from dragoman.workflows.unexpected_text import checked_pairs

    require_pair_file(options.output)
    models = open_several(names, options)
    teacher = make_translator(models, options)
    if options.candidates > teacher.search.beam:
        raise ConfigError(f"--candidates {options.candidates} requires a beam of at least that size; add --beam N")
    tokenise = bleu_tokens(tokenizer_of(models.first.config)) if options.candidates > 1 else str
    read = checked_pairs(read_pairs([files]), files, names[0], models.first)
    pairs = distill(teacher, read, candidates=options.candidates, tokenise=tokenise)
    write_synthetic_pairs(pairs, options.output, quiet=options.quiet)
