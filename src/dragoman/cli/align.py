"""`dragoman align`: which source word each target word of given translations came from."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from dragoman.cli.shared.options import (
    ALIGNERS,
    DEFAULT_SYMMETRIZATION,
    PAIRS_HELP,
    SYMMETRIZATIONS,
    add_ensemble_options,
    add_general_options,
    add_output,
    add_pairs,
    add_runs,
)
from dragoman.cli.shared.parsing import Parser, output_file, probability
from dragoman.cli.shared.runs import open_several, require_several_runs, split_runs
from dragoman.errors import ConfigError
from dragoman.workflows.spacing import SpacingWatch

if TYPE_CHECKING:
    from dragoman.alignment.attention_file import AttentionFile
    from dragoman.scoring.scorer import AlignmentUnit, ScoredPair
    from dragoman.text.links import Link
    from dragoman.text.words import RawUnit

SUMMARY = "align the words of given translations"
DESCRIPTION = (
    "Prints word alignments of sentence pairs, read off the attention weights of forced decoding: one\n"
    "line per pair, Pharaoh format i-j, source-target, words counted from 0 and separated by spaces.\n"
    "Each target word is linked to the source word with the largest weight. Several runs with the same\n"
    "target vocabulary form an ensemble. With a run of the opposite direction (--reverse) the\n"
    "alignments of both directions are symmetrized.\n\n"
    "With --aligner, a statistical word aligner is trained on the pairs themselves and no RUN is given."
)
EXAMPLES = (
    "dragoman align RUN test.de test.en > test.align",
    "dragoman align RUN test.de test.en --threshold 0.3 --matrix test.npz -o test.align",
    "dragoman align RUN test.ja test.en --segments --write-tokens test.tokens > test.align",
    "dragoman align RUN1 RUN2 test.de test.en --weights 2 1 > test.align",
    "dragoman align DE-EN test.de test.en --reverse EN-DE --symmetrize intersection --format naacl",
    "dragoman align test.de test.en --aligner hmm --symmetrize grow-diag-final-and --train train.de train.en",
)


def add_options(parser: Parser) -> None:
    """Declare the options of `align`."""
    add_runs(parser)
    add_pairs(parser)
    add_output(parser, "the alignments")
    parser.add_argument(
        "--format",
        choices=("pharaoh", "talp", "naacl"),
        default="pharaoh",
        help="pharaoh: i-j, words counted from 0; talp: the same, counted from 1; naacl: one link per line, counted "
        "from 1",
    )
    parser.add_argument(
        "--matrix",
        type=output_file,
        metavar="FILE.npz",
        help="write the word-to-word weights to this file: arrays N and N.eos for line N, counted from 0",
    )
    units = add_link_options(parser)
    units.add_argument(
        "--write-tokens",
        type=output_file,
        metavar="FILE",
        help="write what the links count to this file: source and target of each pair, divided by a tab, with a space "
        "between tokens",
    )
    baseline = parser.add_argument_group("statistical word alignment")
    baseline.add_argument(
        "--aligner",
        choices=ALIGNERS,
        help="align with this aligner, in both directions if --symmetrize is given (needs the extra `align`)",
    )
    baseline.add_argument(
        "--train",
        nargs="+",
        action="append",
        type=Path,
        metavar="FILE",
        help=f"additional text to train the aligner on: {PAIRS_HELP}; may be repeated",
    )
    add_ensemble_options(parser)
    add_general_options(parser)


def add_link_options(parser: Parser) -> argparse._ArgumentGroup:
    """Declare how links are extracted from weights, and the units that they count, whose group is returned."""
    parser.add_argument("--one-based", action="store_true", help="count words from 1 in Pharaoh format")
    parser.add_argument(
        "--threshold",
        type=probability,
        metavar="T",
        help="print all links with a weight of at least T instead of the largest for each target word",
    )
    parser.add_argument(
        "--reverse", action="append", default=[], metavar="RUN2", help="target-to-source run; may be repeated"
    )
    parser.add_argument(
        "--symmetrize",
        choices=SYMMETRIZATIONS,
        metavar="METHOD",
        help=f"symmetrization heuristic: {', '.join(SYMMETRIZATIONS)} (default: {DEFAULT_SYMMETRIZATION})",
    )
    units = parser.add_argument_group("what links count, in place of words between spaces")
    unit = units.add_mutually_exclusive_group()
    unit.add_argument("--segments", action="store_true", help="link the model's segments instead of words")
    unit.add_argument(
        "--characters",
        action="store_true",
        help="link single letters of scripts without spaces (Chinese, Japanese, Thai, ...); other scripts keep words",
    )
    unit.add_argument(
        "--unicode-spaces",
        action="store_true",
        help="let any Unicode space end a word (no-break, ideographic, ...), not the space and the tab alone",
    )
    return units


def run(options: argparse.Namespace) -> None:
    """Print the links of each pair."""
    require_sense(options)

    from dragoman.alignment.attention_file import AttentionFile
    from dragoman.alignment.formats import format_alignments
    from dragoman.text.lines import replace_output, write_lines

    with ExitStack() as files:
        matrix = None if options.matrix is None else files.enter_context(AttentionFile(options.matrix))
        tokens = (
            None
            if options.write_tokens is None
            else files.enter_context(replace_output(options.write_tokens, keep_partial=True))
        )
        sentences = _by_model(options, matrix, tokens) if options.aligner is None else _by_aligner(options, tokens)
        lines = format_alignments(sentences, options.format, one_based=options.one_based)
        write_lines(options.output, lines, keep_partial=True)


def require_sense(options: argparse.Namespace) -> None:
    """Refuse options that have no effect."""
    if options.aligner is None:
        require_consistent_links(options)
        if options.train is not None:
            raise ConfigError("--train requires a statistical aligner; choose one with --aligner")
        return
    for name in ("threshold", "matrix", "segments", "reverse", "combine", "weights"):
        if getattr(options, name) not in (None, False, []):
            raise ConfigError(f"--{name} has no effect with --aligner {options.aligner}; leave it out")


def require_consistent_links(options: argparse.Namespace) -> None:
    """Refuse options of `add_link_options` that need a second direction, or have no meaning with one."""
    if options.symmetrize is not None and not options.reverse:
        raise ConfigError("--symmetrize requires a run of the opposite direction; give it with --reverse RUN2")
    if options.segments and options.reverse:
        raise ConfigError("--segments has no meaning with --reverse: two models divide text in two ways")


def _by_aligner(options: argparse.Namespace, tokens: TextIO | None) -> list[list[Link]]:
    """Links of a statistical aligner; the names parsed as RUN are files here."""
    from dragoman.alignment.symmetrize import symmetrize
    from dragoman.progress import Console
    from dragoman.text.corpus import read_pairs

    try:
        from dragoman.alignment.statistical import align_statistically
    except ModuleNotFoundError as error:
        if error.name != "thot":
            raise
        raise ConfigError("--aligner needs sil-thot, which is not installed; pip install 'dragoman[align]'") from None

    unit = unit_of(options)
    assert unit != "segments", "refused with an aligner"
    watch = SpacingWatch("--characters links their letters, or segment the text first")

    def words(files: Sequence[Sequence[Path]]) -> list[tuple[list[str], list[str]]]:
        lines: Iterable[tuple[str, str]] = ((pair.source, pair.target) for pair in read_pairs(files))
        if unit != "characters":
            lines = watch.watch(lines)
        return [(_split(source, unit), _split(target, unit)) for source, target in lines]

    def swapped(pairs: Sequence[tuple[list[str], list[str]]]) -> list[tuple[list[str], list[str]]]:
        return [(target, source) for source, target in pairs]

    console = Console(quiet=options.quiet)
    pairs = words([[*map(Path, options.runs), *options.files]])
    if tokens is not None:
        for source, target in pairs:
            tokens.write(f"{' '.join(source)}\t{' '.join(target)}\n")
    more = [] if options.train is None else words(options.train)
    ahead = align_statistically(pairs, options.aligner, more=more, console=console)
    if options.symmetrize is None:
        return ahead
    back = align_statistically(swapped(pairs), options.aligner, more=swapped(more), console=console)
    both = zip(ahead, back, strict=True)
    return [symmetrize(there, [(i, j) for j, i in home], options.symmetrize) for there, home in both]


def unit_of(options: argparse.Namespace) -> AlignmentUnit:
    """What the links count."""
    if options.segments:
        return "segments"
    return "characters" if options.characters else "unicode-words" if options.unicode_spaces else "words"


def _split(line: str, unit: RawUnit) -> list[str]:
    from dragoman.text.words import UNITS

    return [line[start:end] for start, end in UNITS[unit](line)]


def _by_model(options: argparse.Namespace, matrix: AttentionFile | None, tokens: TextIO | None) -> Iterator[list[Link]]:
    """Links extracted from attention weights, as a stream."""
    import numpy as np

    from dragoman.runs.opening import make_aligner, open_models
    from dragoman.text.corpus import read_pairs
    from dragoman.workflows.unexpected_text import checked_pairs

    names, files = split_runs(options)
    require_several_runs(options, names)
    unit = unit_of(options)
    opposite = {"device": options.device, "threads": options.threads}
    models = open_several(names, options)
    aligner = make_aligner(
        models,
        open_models(options.reverse, **opposite) if options.reverse else None,
        unit=unit,
        threshold=options.threshold,
        symmetrization=options.symmetrize or DEFAULT_SYMMETRIZATION,
    )
    read = checked_pairs(read_pairs([files]), files, names[0], models.first)
    lines: Iterator[tuple[str, str]] = ((pair.source, pair.target) for pair in read)
    if unit in ("words", "unicode-words"):
        watch = SpacingWatch("--segments or --characters links smaller units, or segment the text before training")
        lines = watch.watch(lines)
    lines, again = tee(lines)
    for number, (aligned, pair) in enumerate(zip(aligner.align(lines), again, strict=True)):
        if tokens is not None:
            source, target = _tokens(aligned.scored, pair, unit)
            tokens.write(f"{' '.join(source)}\t{' '.join(target)}\n")
        if matrix is not None:
            matrix.write(number, aligned.weights.weights.astype(np.float32))
            matrix.write(f"{number}.eos", aligned.weights.end.astype(np.float32))
        yield aligned.links


def _tokens(scored: ScoredPair, lines: tuple[str, str], unit: AlignmentUnit) -> tuple[list[str], list[str]]:
    if unit == "segments":
        return scored.source_tokens, scored.target_tokens
    return _split(lines[0], unit), _split(lines[1], unit)
