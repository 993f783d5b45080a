"""`dragoman backtranslate`: training pairs from text of the target language alone."""

from __future__ import annotations

import argparse

from dragoman.cli.shared.options import add_ensemble_options, add_general_options, add_input, add_runs
from dragoman.cli.shared.parsing import Parser, output_file
from dragoman.cli.shared.search_options import add_sampling_options, add_search_options, spelt
from dragoman.errors import ConfigError

SUMMARY = "make training pairs from text of the target language"
DESCRIPTION = (
    "Translates text of the target language with a model of the reverse direction, and writes pairs for\n"
    "training: the translation as the source, the text as the target (Sennrich et al. 2016). Train on\n"
    "them together with real pairs; --mix weighs the two. Lines without text are left out and counted."
)
EXAMPLES = (
    "dragoman backtranslate RUN-en-de -i news.en -o news.tsv",
    "dragoman backtranslate RUN-en-de -i news.en -o news.tsv --sample --seed 1 --tag '<BT>'",
    "dragoman train --train real.de real.en --train news.tsv --mix 1 1 --languages de en --out RUN",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `backtranslate`."""
    add_runs(parser)
    group = parser.add_argument_group("input and output")
    add_input(group, "text of the target language, one sentence a line")
    group.add_argument(
        "-o",
        "--output",
        type=output_file,
        required=True,
        metavar="PAIRS",
        help="write the pairs to this .tsv or .jsonl file",
    )
    group.add_argument(
        "--tag",
        default="",
        metavar="WORD",
        help="put this word in front of each source, so that the model can tell such pairs from real ones "
        "(Caswell et al. 2019)",
    )
    group.add_argument(
        "--noise",
        action="store_true",
        help="leave out a tenth of the words of each translation and move words by up to 3 places, drawn by --seed "
        "(Lample et al. 2018)",
    )
    add_search_options(parser)
    add_sampling_options(parser)
    add_ensemble_options(parser)
    add_general_options(parser)


def run(options: argparse.Namespace) -> None:
    """Translate the lines and write the pairs."""
    _require_sense(options)

    from dragoman.cli.shared.runs import make_translator, open_several
    from dragoman.cli.shared.synthetic_pairs import write_synthetic_pairs
    from dragoman.config.sampling import Sampling
    from dragoman.config.section import keys_of
    from dragoman.text.pair_writing import require_pair_file
    from dragoman.workflows.input_lines import InputLines
    from dragoman.workflows.synthetic_pairs import back_translate
    from dragoman.workflows.unexpected_text import checked_lines

    require_pair_file(options.output)
    models = open_several(options.runs, options)
    translator = make_translator(models, options)
    if options.sample:
        given = {name: getattr(options, name) for name in keys_of(Sampling) if getattr(options, name) is not None}
        translator = translator.with_options(sample=True, **given)
    seed = Sampling().seed if options.seed is None else options.seed
    with InputLines(options.input, "translate", quiet=options.quiet) as lines:
        read = checked_lines(lines, options.input, options.runs[0], models.first)
        pairs = back_translate(translator, read, tag=options.tag.strip(), noise_seed=seed if options.noise else None)
        write_synthetic_pairs(pairs, options.output, quiet=options.quiet)


def _require_sense(options: argparse.Namespace) -> None:
    from dragoman.cli.shared.runs import require_several_runs
    from dragoman.translation.options import require_consistent

    given = {name: value for name, value in vars(options).items() if value is not None}
    if options.noise:
        given.pop("seed", None)
    require_consistent(given, samples=options.sample, replaces=False, spell=spelt)
    require_several_runs(options, options.runs)
    if len(options.tag.split()) > 1:
        raise ConfigError(f"--tag: {options.tag!r} is several words; give one, such as <BT>")
