"""The report: one HTML file that needs nothing else, neither network nor server.

`template.html` has the structure, `style.css` the looks, `script.js` the pointing at words; they are put together
when the page is written. Everything that comes from a user passes through the template's escaping or `heat_map`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import jinja2
import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from dragoman.alignment.extract import Span
from dragoman.evaluation.evaluate import Evaluation
from dragoman.evaluation.metrics import chrf
from dragoman.report.curves import Records, learning_curves
from dragoman.report.facts import Facts, language_name
from dragoman.report.heatmap import heat_map, visible
from dragoman.report.samples import Sample
from dragoman.text.lines import replace_file

FAINTEST_LINK = 0.01
"""A smaller weight lights nothing up."""

LARGEST_HEAT_MAP = 120
"""Words on a side; a larger picture could not be read, and would weigh more than the rest of the page."""


def write_report(
    path: Path,
    *,
    title: str,
    facts: Facts,
    records: Records = (),
    evaluation: Evaluation | None = None,
    samples: Sequence[Sample] = (),
    source_language: str | None = None,
    target_language: str | None = None,
) -> None:
    """Write the page; a part without content is left out.

    `records` are those of log.jsonl. The languages (ISO codes) tell the browser which letter forms and voices to use.

    Raises:
        InputError: the file cannot be written.
    """
    if source_language == target_language:  # configurations that name no language say "en" for both sides
        source_language = target_language = None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dragoman.report", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = visible
    page = environment.get_template("template.html").render(
        title=title,
        facts=facts,
        curves=[(curve.title, Markup(curve.svg)) for curve in learning_curves(records)],
        evaluation=evaluation,
        samples=[_shown(sample) for sample in samples],
        languages=[language_name(code) for code in (source_language, target_language) if code],
        source_language=_language_tag(source_language),
        target_language=_language_tag(target_language),
    )
    with replace_file(path) as file:
        file.write(page)


def _language_tag(code: str | None) -> str | None:
    """The code as HTML writes it: pt-BR, not pt_BR."""
    return code and code.replace("_", "-")


class _Piece(NamedTuple):
    """A stretch of a line: a word, or what stands between words."""

    text: str
    is_word: bool
    links: str
    """For a target word "INDEX:WEIGHT ..." of its source words, as script.js reads it."""


class _Shown(NamedTuple):
    """A sample as the template needs it."""

    source: list[_Piece]
    target: list[_Piece]
    reference: str | None
    score: float | None
    heat_map: Markup | None
    too_large: bool


def _shown(sample: Sample) -> _Shown:
    weights = sample.weights
    if weights is None or not weights.size:
        source_words: Sequence[Span] = ()
        target_words: Sequence[Span] = ()
        links: list[str] = []
    else:
        assert weights.shape == (len(sample.target_words), len(sample.source_words))
        source_words, target_words = sample.source_words, sample.target_words
        links = [_links(row) for row in weights]
    drawable = bool(links) and max(len(source_words), len(target_words)) <= LARGEST_HEAT_MAP
    return _Shown(
        source=list(_pieces(sample.source, source_words, [""] * len(source_words))),
        target=list(_pieces(sample.translation, target_words, links)),
        reference=sample.reference,
        score=None if sample.reference is None else chrf([sample.translation], [sample.reference]),
        heat_map=Markup(
            heat_map(
                weights,
                [sample.source[start:end] for start, end in source_words],
                [sample.translation[start:end] for start, end in target_words],
            )
        )
        if drawable and weights is not None
        else None,
        too_large=bool(links) and not drawable,
    )


def _links(row: NDArray[np.floating]) -> str:
    return " ".join(f"{source}:{row[source]:.2f}" for source in np.flatnonzero(row >= FAINTEST_LINK))


def _pieces(line: str, words: Sequence[Span], links: Sequence[str]) -> Iterator[_Piece]:
    position = 0
    for (start, end), link in zip(words, links, strict=True):
        if start > position:
            yield _Piece(line[position:start], False, "")
        yield _Piece(line[start:end], True, link)
        position = end
    if position < len(line):
        yield _Piece(line[position:], False, "")
