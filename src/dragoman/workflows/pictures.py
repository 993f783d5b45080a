"""Pictures that a command draws: the search tree of a translation, learning curves of runs, maps of vectors."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.errors import ConfigError, InputError, RunError
from dragoman.progress import Console
from dragoman.report.beam_tree import as_page, as_svg, as_text, tokens_of
from dragoman.requests.pictures import CurvesRequest, MapRequest, SearchTreeRequest
from dragoman.runs.layout import RunFolder
from dragoman.runs.opening import Run, open_run
from dragoman.search.constraints import IdConstraints
from dragoman.search.trace import search_tree
from dragoman.text.lines import not_found, read_lines, replace_output
from dragoman.training.log import read_log
from dragoman.translation.options import changed_search

if TYPE_CHECKING:
    from dragoman.projection.vectors import Points

log = logging.getLogger(__name__)

_IN_ALL_FONTS = 0x0530
"""Latin, Greek and Cyrillic letters come before this one; they need no search among the fonts, which takes time."""


def draw_search_tree(request: SearchTreeRequest) -> None:
    """Translate a line and draw the tree of its search, as a page, a picture or text by the name of the output.

    Raises:
        ConfigError, InputError, RunError: as for `open_run` and `changed_search`, or there is no text.
    """
    opened = open_run(request.run, device=request.general.device, threads=request.general.threads)
    search = changed_search(opened.config.search, request.searching.search)
    if search.coverage_penalty and not opened.engine.attends:
        raise ConfigError(f"--coverage-penalty requires attention, and the model of {request.run} has none")
    line = request.text if request.text is not None else next(read_lines(request.input), "")
    source, placeholders = opened.source.encode(line), opened.target.placeholders
    if not source.ids:
        raise InputError("no text to translate; give a sentence with --text, -i or on standard input")
    for wanted in (IdConstraints(placeholders=len(source.items)), IdConstraints((), (), len(source.items), True)):
        root, best = search_tree(opened.engine, source.ids, search, request.pruned, wanted, placeholders)
        if set(placeholders[: len(source.items)]) <= set(best.tokens):  # as a translator, which else searches again
            break
    vocabulary, kind = opened.target.vocabulary, Path(request.output).suffix.lower()
    if kind in (".html", ".svg"):
        shown = tokens_of(root, vocabulary)
        _warn_of_letters_without_font([line, *shown] if kind == ".html" else shown, page=True)
    if kind == ".html":
        drawn = as_page(root, vocabulary, line, opened.target.decode(best.tokens))
    else:
        drawn = (as_svg if kind == ".svg" else as_text)(root, vocabulary) + "\n"
    with replace_output(request.output) as file:
        file.write(drawn)


def plot_curves(request: CurvesRequest) -> None:
    """Plot one measurement of the logs of several runs in one figure.

    Raises:
        ConfigError: the name of the output is not that of a picture.
        InputError, RunError: a run has no log or not this measurement, or the figure cannot be written.
    """
    from dragoman.report.curves import MEASUREMENTS, draw_curves, require_picture

    require_picture(request.output)
    logs = {name: _log(path) for name, path in zip(_names(request.runs), request.runs, strict=True)}
    records = {name: read_log(log) for name, log in logs.items()}
    draw_curves(request.output, records, MEASUREMENTS[request.metric], request.x_axis)


def _log(path: str) -> Path:
    """The log of a run folder, which may be incomplete because training is still running."""
    if not os.path.exists(path):
        raise RunError(str(not_found(path)))
    folder = RunFolder(Path(path))
    if not folder.log.is_file():
        raise RunError(f"{path}: has no {folder.log.name}; give a run folder written by `dragoman train`")
    folder.note_files()
    return folder.log


def _names(paths: Sequence[str]) -> Sequence[str]:
    """The last part of each path, or the whole paths if two names are equal."""
    last = [os.path.basename(os.path.realpath(path)) for path in paths]
    return last if len(set(last)) == len(last) else paths


def draw_map(request: MapRequest) -> None:
    """Project the vectors of texts to the plane and write them to each output.

    Raises:
        ConfigError, InputError, RunError: as for `open_run`, `project` and `write_map`, or the run was exported.
    """
    from dragoman.projection.drawing import require_format, write_map
    from dragoman.projection.reduction import project

    for path in request.output:
        require_format(path)
    opened = open_run(request.run, device=request.general.device, threads=request.general.threads)
    points = _points(opened, request)
    method = request.method or ("pca" if request.of == "sentences" else "tsne")
    projection = project(points.vectors, method, seed=request.seed)
    title = f"{len(points.lines):,} {request.of} of {opened.folder.path.resolve().name}"
    kinds = {Path(path).suffix.lower() for path in request.output}
    shown = [words for line in points.lines for words in line]
    _warn_of_letters_without_font(shown, pictures=".png" in kinds, page=bool(kinds & {".html", ".svg"}))
    for path in request.output:
        write_map(path, title, points.lines, projection)
    left_out = f"; {points.left_out:,} empty or unknown ones left out" if points.left_out else ""
    Console(quiet=request.general.quiet).info(f"{title}, {points.vectors.shape[1]:,} dimensions each{left_out}")


def _points(opened: Run, request: MapRequest) -> Points:
    from dragoman.projection.vectors import (
        embed_words,
        frequent_words,
        read_lines_and_groups,
        sentence_states,
        summarise_phrases,
    )

    side, given, limit = request.side or "source", request.input, request.limit
    if given is None:
        return embed_words(opened, side, frequent_words(opened, side, limit), entries=True)
    texts = list(islice(read_lines(given), limit + 1))
    if len(texts) > limit:
        log.warning("only the first %d lines of %s are drawn; raise --limit", limit, given)
    lines = read_lines_and_groups(texts[:limit], given)
    if request.of == "words":
        return embed_words(opened, side, lines)
    return summarise_phrases(opened, lines) if request.of == "phrases" else sentence_states(opened, lines)


def _warn_of_letters_without_font(words: Iterable[str], *, pictures: bool = False, page: bool = False) -> None:
    """Warn as `report.fonts.warn_of_missing_letters` does; not without matplotlib, which finds the installed fonts."""
    words = list(words)
    if not (pictures or page) or all(ord(letter) < _IN_ALL_FONTS for word in words for letter in word):
        return
    with suppress(ModuleNotFoundError):
        from dragoman.report.fonts import warn_of_missing_letters

        warn_of_missing_letters(words, pictures=pictures, page=page)
