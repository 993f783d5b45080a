"""The report: one HTML file that needs nothing else, neither network nor server.

`template.html` has the structure, `style.css` the looks, `script.js` the sentences and the pointing at words; they are
put together when the page is written. Sentences lie in the page as JSON and become elements when they are looked at,
so that a thousand of them open at once. Everything that comes from a user passes through the template's escaping,
`sentences.py`'s, or the charts'.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import jinja2
import numpy as np
from markupsafe import Markup
from matplotlib import colormaps

from dragoman.evaluation.evaluate import Evaluation, SliceTable
from dragoman.evaluation.significance import Comparison, Comparisons
from dragoman.report.differences import Confusion, Missed, confusions, missed
from dragoman.report.facts import Facts, language_name
from dragoman.report.heat_map_file import SCALES, Scale
from dragoman.report.out_of_vocabulary import OovCounts
from dragoman.report.page_curves import Curve, Records, learning_curves, slice_curves
from dragoman.report.samples import Sample
from dragoman.report.sentences import pack
from dragoman.text.display import LONGEST_LABEL, visible
from dragoman.text.lines import replace_file

SIGNIFICANT = 0.05
"""Both tests must find a smaller p before the page calls a difference one."""

_CURVED = ("BLEU", "chrF")
"""Metrics that a curve over parts of the test set shows."""

_SHADES = 16
"""Colours of the modern scale that the page carries; those between are mixed."""


@dataclass(frozen=True, slots=True)
class System:
    """What translated: a run, or whoever wrote a file of translations."""

    name: str
    samples: Sequence[Sample]
    """One for each sentence shown, the same sentences for every system of a page."""
    evaluation: Evaluation | None = None
    """Of the whole test set."""


@dataclass(frozen=True, slots=True)
class Report:
    """All that a page can show; a part without content is left out."""

    title: str
    facts: Facts = field(default_factory=dict)
    facts_about: str = "The run"
    text_facts: Facts = field(default_factory=dict)
    """Of the text that was trained on."""
    advice: Sequence[str] = ()
    """What they mean for training."""
    records: Records = ()
    """Those of log.jsonl."""
    systems: Sequence[System] = ()
    """The one that the page is about, then those it is compared with."""
    comparisons: Sequence[Comparisons] = ()
    """One for each of the latter."""
    numbers: Sequence[int] | None = None
    """Lines that the sentences shown stand on, from 1; None: they are the first ones, without a gap."""
    unknown_source: OovCounts | None = None
    """Of the sources shown."""
    unknown_target: OovCounts | None = None
    """Of the references shown."""
    source_language: str | None = None
    """ISO code; it tells the browser which letter forms and voices to use."""
    target_language: str | None = None
    test_set: str | None = None
    """What the sentences measured are: "the dev set"."""
    notes: Sequence[str] = ()
    """What a reader must know about the sentences shown."""
    heat_maps_open: bool = False
    scale: Scale = "paper"
    """Of heat maps, until the reader chooses."""


def write_report(path: Path, report: Report) -> None:
    """Write the page.

    Raises:
        InputError: the file cannot be written.
    """
    page = _environment().get_template("template.html").render(**_content(report))
    with replace_file(path) as file:
        file.write(page)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dragoman.report", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = visible
    return environment


def _content(report: Report) -> dict[str, object]:
    """What the template asks for."""
    languages = report.source_language, report.target_language
    if languages[0] == languages[1]:  # configurations that name no language say "en" for both sides
        languages = None, None
    script = files("dragoman.report").joinpath("script.js").read_text(encoding="utf-8")
    evaluation = report.systems[0].evaluation if report.systems else None
    return {
        "report": report,
        "evaluation": evaluation,
        "languages": [language_name(code) for code in languages if code],
        "curves": [_marked_up(curve) for curve in learning_curves(report.records)],
        "divisions": [] if evaluation is None else [_division(report, table) for table in evaluation.slicings],
        "verdicts": [] if evaluation is None else [_verdicts(found, evaluation) for found in report.comparisons],
        "words": _words(report),
        "sentences": _sentences(report, languages),
        "script": Markup(script),
        "script_hash": base64.b64encode(hashlib.sha256(f"\n{script}\n".encode()).digest()).decode(),
    }


def _marked_up(curve: Curve) -> tuple[str, Markup]:
    return curve.title, Markup(curve.svg)


class _Division(NamedTuple):
    """The test set divided in one way, of all systems that were measured so."""

    table: SliceTable
    others: list[tuple[str, dict[str, float]]]
    """Name and BLEU by label of each other system."""
    curves: list[tuple[str, Markup]]


def _division(report: Report, table: SliceTable) -> _Division:
    evaluations = {system.name: system.evaluation for system in report.systems if system.evaluation is not None}
    others = [
        (name, {part.label: part.scores[0].value for part in found.slices})
        for name, evaluation in list(evaluations.items())[1:]
        for found in evaluation.slicings
        if found.name == table.name
    ]
    return _Division(table, others, [_marked_up(curve) for curve in slice_curves(evaluations, table.name, _CURVED)])


class _Verdict(NamedTuple):
    """A comparison of one metric, in words."""

    found: Comparison
    difference: float
    words: str
    kind: str
    """better, worse, or even: how the page shows it."""


def _verdicts(comparisons: Comparisons, evaluation: Evaluation) -> list[_Verdict]:
    higher_is_better = {score.name: score.higher_is_better for score in evaluation.scores}
    return [_verdict(found, higher_is_better[found.name]) for found in comparisons.metrics]


def _verdict(found: Comparison, higher_is_better: bool) -> _Verdict:
    difference = found.score - found.other_score
    if max(found.bootstrap_p, found.randomisation_p) >= SIGNIFICANT:
        return _Verdict(found, difference, "no clear difference", "even")
    kind = "better" if (difference > 0) == higher_is_better else "worse"
    return _Verdict(found, difference, kind, kind)


class _Words(NamedTuple):
    """Tables of single words."""

    confusions: list[Confusion]
    missed: list[Missed]


def _words(report: Report) -> _Words | None:
    pairs = [
        (sample.translation, sample.reference)
        for sample in (report.systems[0].samples if report.systems else ())
        if sample.reference is not None
    ]
    if not pairs:
        return None
    hypotheses, references = zip(*pairs, strict=True)
    return _Words(confusions(hypotheses, references), missed(hypotheses, references))


def _sentences(report: Report, languages: tuple[str | None, str | None]) -> dict[str, Markup] | None:
    """The two blocks of data that script.js reads."""
    if not report.systems or not report.systems[0].samples:
        return None
    packed = pack(
        [system.name for system in report.systems],
        [system.samples for system in report.systems],
        report.numbers or range(1, len(report.systems[0].samples) + 1),
        {
            "languages": [code and code.replace("_", "-") for code in languages],  # as HTML writes them: pt-BR
            "open": report.heat_maps_open,
            "scale": report.scale,
            "modern": _modern_shades(),
            "longest": LONGEST_LABEL,
        },
    )
    return {"texts": Markup(packed.texts), "weights": Markup(packed.weights)}


def _modern_shades() -> list[list[int]]:
    """Red, green and blue, 0-255, of the modern scale of heat maps from weight 0 to 1."""
    shades = colormaps[SCALES["modern"]](np.linspace(0, 1, _SHADES))[:, :3]
    return [[round(255 * part) for part in shade] for shade in shades.tolist()]
