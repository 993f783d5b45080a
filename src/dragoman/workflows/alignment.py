"""Aligns and scores given translations: pairs of files in, links or scores out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import tee
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.formats import AttentionFile, format_alignments
from dragoman.alignment.symmetrize import DEFAULT_METHOD, symmetrize
from dragoman.corpora.corpus import read_pairs
from dragoman.errors import ConfigError
from dragoman.progress import Console
from dragoman.requests.alignment import AlignmentRequest, ScoringRequest
from dragoman.requests.shared import PairsRequest
from dragoman.runs.opening import OpenedModels, make_aligner, open_models
from dragoman.scoring.scorer import format_score
from dragoman.text.lines import replace_output, write_lines
from dragoman.text.links import Link
from dragoman.text.scripts import SpacingWatch
from dragoman.text.words import UNITS, RawUnit
from dragoman.workflows.unexpected_text import checked_pairs

Lines = tuple[str, str]
"""A source line and a target line."""


class Aligned(NamedTuple):
    """A pair with its links."""

    links: list[Link]
    source: Sequence[str]
    """The units of the source that links count."""
    target: Sequence[str]
    weights: NDArray[np.float32] | None = None
    """[T, S] from model attention; None from a statistical aligner."""
    end: NDArray[np.float32] | None = None
    """[T] the weights of EOS."""


def align_corpus(request: AlignmentRequest) -> None:
    """Align the pairs of a request and write the outputs.

    Raises:
        ConfigError, InputError, RunError: as for `open_models`, `make_aligner` and `read_pairs`.
    """
    if request.units.unit == "morphemes":
        UNITS["morphemes"]("-")  # fails before a model is loaded, if the library is not installed
    aligned = _by_models(request) if request.baseline.aligner is None else _by_aligner(request)
    with ExitStack() as files:
        matrix = None if request.matrix is None else files.enter_context(AttentionFile(request.matrix))
        path = request.units.write_tokens
        tokens = None if path is None else files.enter_context(replace_output(path, keep_partial=True))

        def links() -> Iterator[list[Link]]:
            for number, pair in enumerate(aligned):
                if tokens is not None:
                    tokens.write(f"{' '.join(pair.source)}\t{' '.join(pair.target)}\n")
                if matrix is not None:
                    matrix.write(number, pair.weights)
                    matrix.write(f"{number}.eos", pair.end)
                yield pair.links

        lines = format_alignments(links(), request.format, one_based=request.one_based)
        write_lines(request.output, lines, keep_partial=True)


def _by_models(request: AlignmentRequest) -> Iterator[Aligned]:
    """Links extracted from attention weights, as a stream."""
    unit = request.units.unit
    models = open_models(request.runs, request.ensemble, request.general)
    reverse = open_models(request.reverse, compute=request.general) if request.reverse else None
    aligner = make_aligner(
        models,
        reverse,
        unit=unit,
        threshold=request.threshold,
        symmetrization=request.symmetrize or DEFAULT_METHOD,
    )
    lines = _checked(request, models)
    if unit in ("words", "unicode-words"):
        watch = SpacingWatch("--segments or --characters links smaller units, or segment the text before training")
        lines = watch.watch(lines)
    lines, again = tee(lines)
    for pair, raw in zip(aligner.align(lines), again, strict=True):
        scored = pair.scored
        source, target = (
            (scored.source_tokens, scored.target_tokens)
            if unit == "segments"
            else (_split(raw[0], unit), _split(raw[1], unit))
        )
        weights, end = pair.weights.weights.astype(np.float32), pair.weights.end.astype(np.float32)
        yield Aligned(pair.links, source, target, weights, end)


def _by_aligner(request: AlignmentRequest) -> Iterator[Aligned]:
    """Links of a statistical aligner, which reads all pairs first."""
    try:
        from dragoman.alignment.statistical import align_statistically
    except ModuleNotFoundError as error:
        if error.name != "thot":
            raise
        message = "--aligner needs sil-thot, which is not installed; pip install 'dragoman[align]'"
        raise ConfigError(message) from None

    aligner, unit, method = request.baseline.aligner, request.units.unit, request.symmetrize
    assert aligner is not None
    assert unit != "segments", "refused with an aligner"
    watch = SpacingWatch("--characters links their letters, or segment the text first")

    def words(files: Sequence[Sequence[str]]) -> list[tuple[list[str], list[str]]]:
        lines = _read(files) if unit == "characters" else watch.watch(_read(files))
        return [(_split(source, unit), _split(target, unit)) for source, target in lines]

    def swapped(pairs: Sequence[tuple[list[str], list[str]]]) -> list[tuple[list[str], list[str]]]:
        return [(target, source) for source, target in pairs]

    console = Console(quiet=request.general.quiet)
    pairs = words([request.pairs])
    more = words(request.baseline.train) if request.baseline.train else []
    links = align_statistically(pairs, aligner, more=more, console=console)
    if method is not None:
        back = align_statistically(swapped(pairs), aligner, more=swapped(more), console=console)
        both = zip(links, back, strict=True)
        links = [symmetrize(ahead, [(i, j) for j, i in behind], method) for ahead, behind in both]
    for pair, own in zip(pairs, links, strict=True):
        yield Aligned(own, *pair)


def _checked(request: PairsRequest, models: OpenedModels) -> Iterator[Lines]:
    """The pairs of a request, with a warning of text that its models have not learnt."""
    paths = [Path(name) for name in request.pairs]
    return (
        (pair.source, pair.target) for pair in checked_pairs(read_pairs([paths]), paths, request.runs[0], models.first)
    )


def _read(files: Sequence[Sequence[str]]) -> Iterator[Lines]:
    return ((pair.source, pair.target) for pair in read_pairs([[Path(name) for name in names] for names in files]))


def _split(line: str, unit: RawUnit) -> list[str]:
    return [line[start:end] for start, end in UNITS[unit](line)]


def score_corpus(request: ScoringRequest) -> None:
    """Write the log-probability of each target given its source.

    Raises:
        ConfigError, InputError, RunError: as for `open_models` and `read_pairs`.
    """
    models = open_models(request.runs, request.ensemble, request.general)
    scores = models.scorer().score(_checked(request, models))
    lines = (format_score(scored, token_count=request.token_counts) for scored in scores)
    write_lines(request.output, lines, keep_partial=True)
