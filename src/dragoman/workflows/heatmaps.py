"""Heat maps of the alignment weights of a run, for some sentences, drawn into files."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.heat_map import HeatMap, segment_heat_map
from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.pair_files import INFLECTIONS, holds_pairs, pair_format
from dragoman.errors import ConfigError, InputError
from dragoman.progress import Console
from dragoman.report.fonts import warn_of_missing_letters
from dragoman.report.heat_map_file import write_heat_map
from dragoman.report.page import Report, ReportedSystem, write_report
from dragoman.report.samples import Sample, Window, segment_windows
from dragoman.requests.pictures import MOST_HEAT_MAPS, HeatMapRequest, Scale
from dragoman.runs.opening import Run, open_run
from dragoman.scoring.scorer import ScoredPair
from dragoman.text.lines import read_lines
from dragoman.text.temporary import make_folder, writing
from dragoman.workflows.reports import given_samples, run_name, translated_samples

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class AlignedSentences:
    """Sentence pairs with the alignment weights of a run."""

    heat_maps: list[HeatMap]
    samples: list[Sample] | None
    """The same for the report page, which shows words; None for heat maps of tokens."""


def draw_requested(request: HeatMapRequest) -> None:
    """Translate or score the lines of a request, draw them, and say the names of the files.

    Raises:
        ConfigError, InputError, RunError: as for `open_run` and `draw_heat_maps`; the model has no attention.
    """
    opened = open_run(request.run, device=request.general.device, threads=request.general.threads)
    if not opened.engine.attends:
        raise ConfigError(f"the model of {request.run} has no attention, so there are no alignment weights to draw")
    pairs = _pairs([Path(name) for name in request.files or ("-",)])
    numbers = request.lines or range(1, min(MOST_HEAT_MAPS, len(pairs)) + 1)
    if request.lines and request.lines[-1] > len(pairs):
        raise ConfigError(f"--lines: there is no line {request.lines[-1]}, the input has {len(pairs)}")
    aligned = align_sentences(opened, [pairs[number - 1] for number in numbers], segments=request.segments)
    console = Console(quiet=request.general.quiet)
    formats = request.format or ("png",)
    for path in draw_heat_maps(Path(request.out), opened, aligned, numbers, formats, request.colormap):
        console.info(str(path))


def _pairs(files: Sequence[Path]) -> list[tuple[str, str | None]]:
    """The sources of the input with their given translations."""
    if len(files) == 1 and not holds_pairs(files[0]) and pair_format(files[0]) not in INFLECTIONS:
        return [(line, None) for line in read_lines(files[0])]
    return [(pair.source, pair.target) for pair in read_pairs([files])]


def align_sentences(run: Run, pairs: Sequence[tuple[str, str | None]], *, segments: bool = False) -> AlignedSentences:
    """Compute the alignment weights of (source, target) pairs; a target of None is translated first.

    Weights are between words, or with `segments` between the model's own tokens, EOS included.

    Raises:
        RunError: the model computes values that are not finite.
    """
    wanted = [source for source, target in pairs if target is None]
    translations = iter([n_best[0] for n_best in run.translator().translate_lines(wanted)])
    if segments or len(wanted) < len(pairs):
        given = [(source, next(translations).text if target is None else target) for source, target in pairs]
        if segments:
            return AlignedSentences([_of_segments(run, scored) for scored in run.scorer().score(given)], None)
        samples = given_samples(run, given)
    else:
        samples = translated_samples(run, list(translations))
    return AlignedSentences([_of_words(run, sample) for sample in samples], samples)


def draw_heat_maps(
    folder: Path,
    run: Run,
    aligned: AlignedSentences,
    numbers: Sequence[int],
    formats: Sequence[str],
    scale: Scale = "paper",
) -> Iterator[Path]:
    """Write FOLDER/N.FORMAT for each sentence, N its number, and one page for the format `html`; yield the paths.

    A sentence that is empty on one side has no weights: it is left out, with a warning.

    Raises:
        InputError: no sentence is left, or a file or the folder cannot be written.
    """
    aligned, numbers = _with_weights(aligned, numbers)
    with writing(folder, "the folder for the pictures cannot be created"):
        make_folder(folder)
    pictures = [kind for kind in dict.fromkeys(formats) if kind != "html"]
    words = [word for heat_map in aligned.heat_maps for word in (*heat_map.source_words, *heat_map.target_words)]
    warn_of_missing_letters(words, pictures=bool(pictures), page="html" in formats, instead="--format html")
    for number, heat_map in zip(numbers, aligned.heat_maps, strict=True):
        for kind in pictures:
            path = folder / f"{number}.{kind}"
            write_heat_map(path, heat_map, scale)
            yield path
    if "html" in formats:
        assert aligned.samples is not None, "a page shows words"
        yield _write_page(folder / "heatmaps.html", run, aligned.samples, numbers, scale)


def _with_weights(aligned: AlignedSentences, numbers: Sequence[int]) -> tuple[AlignedSentences, list[int]]:
    """The sentences that have weights to draw, and their numbers."""
    kept = [index for index, heat_map in enumerate(aligned.heat_maps) if heat_map.weights.size]
    if not kept:
        raise InputError("nothing to draw: every line is empty, or has an empty translation")
    left_out = [str(number) for index, number in enumerate(numbers) if index not in kept]
    if left_out:
        log.warning("no picture of line %s: it is empty, or its translation is", ", ".join(left_out))
    samples = aligned.samples
    return (
        AlignedSentences(
            [aligned.heat_maps[index] for index in kept],
            None if samples is None else [samples[index] for index in kept],
        ),
        [numbers[index] for index in kept],
    )


def _write_page(path: Path, run: Run, samples: Sequence[Sample], numbers: Sequence[int], scale: Scale) -> Path:
    source_language, target_language = run.config.text.languages
    write_report(
        path,
        Report(
            title=f"Heat maps of {run_name(run)}",
            systems=[ReportedSystem(run_name(run), samples)],
            numbers=numbers,
            source_language=source_language,
            target_language=target_language,
            heat_maps_open=True,
            scale=scale,
        ),
    )
    return path


def _of_words(run: Run, sample: Sample) -> HeatMap:
    source = [sample.source[start:end] for start, end in sample.source_words]
    target = [sample.translation[start:end] for start, end in sample.target_words]
    weights: NDArray[np.floating] | None = sample.weights
    if weights is None:  # an empty line
        weights = np.zeros((len(target), len(source)))
    return HeatMap(weights, source, target, sample.windows, run.config.text.languages)


def _of_segments(run: Run, scored: ScoredPair) -> HeatMap:
    """Return the heat map of the tokens, with EOS on the sides where the model has weights for it."""
    if not scored.source_tokens or not scored.target_tokens:
        return HeatMap(np.zeros((0, 0)), [], [])
    assert scored.attention is not None, "the model has attention"
    shift = run.engine.attention_shift
    weights = scored.attention[shift:]  # [T + 1, S or S + 1] -> [T + 1 - shift, ...]: with a shift EOS has no row
    columns = weights.shape[1]
    windows = None
    if scored.centres is not None:
        window = Window(np.append(scored.centres, 0.0), run.config.model.attention.window)
        windows = segment_windows(window, shift, columns)[: len(weights)]
    return segment_heat_map(weights, scored.source_tokens, scored.target_tokens, windows, run.config.text.languages)
