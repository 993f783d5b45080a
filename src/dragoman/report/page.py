"""The report page: one self-contained HTML file that needs neither network nor server.

`template.html` has the structure, `style.css` the style, `script.js` the sentences and their interaction; they are
combined when the page is written. Sentences are stored as JSON and become elements when they are shown, so that a page
with a thousand sentences opens at once. All user text is escaped by the template, by `sentences.py` or by the charts.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import jinja2
import numpy as np
from markupsafe import Markup
from matplotlib import colormaps

from dragoman.evaluation.evaluate import Evaluation, SliceTable
from dragoman.evaluation.metrics import chrf_metric
from dragoman.evaluation.significance import Comparisons, MetricComparison
from dragoman.report.charts import FEW
from dragoman.report.curves import Curve, Records, learning_curves, slice_curves
from dragoman.report.differences import OovCounts, confusions, missed
from dragoman.report.facts import Facts, language_name
from dragoman.report.heat_map_file import SCALES
from dragoman.report.samples import Sample
from dragoman.report.sentences import pack
from dragoman.requests.pictures import Scale
from dragoman.text.display import LONGEST_LABEL, visible
from dragoman.text.lines import replace_file

SIGNIFICANT = 0.05
"""Significance level: a difference counts if p is smaller in both tests."""

_CURVED = ("BLEU", "chrF")
"""Metrics that are charted over the slices of the test set."""

_SHADES = 16
"""Colours of the modern scale that are stored in the page, which interpolates between them."""


@dataclass(frozen=True, slots=True)
class ReportedSystem:
    """A translation system: a run, or the origin of a file of translations."""

    name: str
    samples: Sequence[Sample]
    """One for each sentence shown; all systems of a page have the same sentences."""
    evaluation: Evaluation | None = None
    """The evaluation of the whole test set."""


@dataclass(frozen=True, slots=True)
class Report:
    """The content of a page; sections without content are left out."""

    title: str
    facts: Facts = field(default_factory=dict)
    facts_about: str = "The run"
    text_facts: Facts = field(default_factory=dict)
    """Facts about the training text."""
    advice: Sequence[str] = ()
    """Advice on the training text."""
    records: Records = ()
    """The records of log.jsonl."""
    systems: Sequence[ReportedSystem] = ()
    """The system that the page is about, then those it is compared with."""
    comparisons: Sequence[Comparisons] = ()
    """One for each system that the first is compared with."""
    numbers: Sequence[int] | None = None
    """Line numbers of the sentences shown, from 1; None: 1, 2, 3, ..."""
    unknown_source: OovCounts | None = None
    """Out-of-vocabulary tokens of the sources shown."""
    unknown_target: OovCounts | None = None
    """Out-of-vocabulary tokens of the references shown."""
    source_language: str | None = None
    """ISO code; browsers choose fonts and voices by it."""
    target_language: str | None = None
    test_set: str | None = None
    """Name of the sentences that were evaluated, such as "the dev set"."""
    notes: Sequence[str] = ()
    """Remarks on the sentences shown."""
    heat_maps_open: bool = False
    scale: Scale = "paper"
    """Initial colour scale of heat maps."""


def write_report(path: Path, report: Report) -> None:
    """Write the page.

    Raises:
        InputError: the file cannot be written.
    """
    page = _environment().get_template("template.html").render(**_content(report))
    with replace_file(path) as file:
        file.write(page)


@cache
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
    """Return the variables of the template."""
    languages = report.source_language, report.target_language
    script = files("dragoman.report").joinpath("script.js").read_text(encoding="utf-8")
    evaluation = report.systems[0].evaluation if report.systems else None
    return {
        "report": report,
        "evaluation": evaluation,
        "languages": [language_name(code) for code in languages if code],
        "curves": learning_curves(report.records),
        "divisions": [] if evaluation is None else [_division(report, table) for table in evaluation.slicings],
        "outcomes": [] if evaluation is None else [_outcomes(one, evaluation) for one in report.comparisons],
        "few": FEW,
        "words": _words(report),
        "sentences": _sentences(report, languages),
        "script": Markup(script),
        "script_hash": base64.b64encode(hashlib.sha256(f"\n{script}\n".encode()).digest()).decode(),
    }


class _Division(NamedTuple):
    """One slicing of the test set, with the scores of all systems that have it."""

    table: SliceTable
    others: list[tuple[str, list[float]]]
    """For each other system its name, and its BLEU on each slice."""
    curves: list[Curve]


def _division(report: Report, table: SliceTable) -> _Division:
    evaluations = {system.name: system.evaluation for system in report.systems if system.evaluation is not None}
    others = [
        (name, [part.scores[0].value for part in slicing.slices])
        for name, evaluation in list(evaluations.items())[1:]
        for slicing in evaluation.slicings
        if slicing.name == table.name
    ]
    return _Division(table, others, slice_curves(evaluations, table.name, _CURVED))


def _outcomes(comparisons: Comparisons, evaluation: Evaluation) -> list[tuple[MetricComparison, str]]:
    """Return the significance test of each metric with its outcome: better, worse or even, which are CSS classes."""
    higher_is_better = {score.name: score.higher_is_better for score in evaluation.scores}

    def outcome(metric: MetricComparison) -> str:
        if max(metric.bootstrap_p, metric.randomisation_p) >= SIGNIFICANT:
            return "even"
        return "better" if (metric.score > metric.other_score) == higher_is_better[metric.name] else "worse"

    return [(metric, outcome(metric)) for metric in comparisons.metrics]


def _words(report: Report) -> dict[str, object] | None:
    """Return the tables of single words."""
    pairs = [
        (sample.translation, _closest_reference(sample, sample.reference))
        for sample in (report.systems[0].samples if report.systems else ())
        if sample.reference is not None
    ]
    if not pairs:
        return None
    hypotheses, references = zip(*pairs, strict=True)
    return {"confusions": confusions(hypotheses, references), "missed": missed(hypotheses, references)}


def _closest_reference(sample: Sample, first: str) -> str:
    """Return the reference that shares most with the translation, by sentence chrF; the earlier of equals."""
    if not sample.other_references:
        return first
    metric = chrf_metric()
    references = first, *sample.other_references
    return max(references, key=lambda one: metric.score(metric.statistics([sample.translation], [one])[0]))


def _sentences(report: Report, languages: tuple[str | None, str | None]) -> dict[str, Markup] | None:
    """Return the two blocks of data that script.js reads."""
    if not report.systems or not report.systems[0].samples:
        return None
    shades = 255 * colormaps[SCALES["modern"]](np.linspace(0, 1, _SHADES))[:, :3]
    packed = pack(
        [system.name for system in report.systems],
        [system.samples for system in report.systems],
        report.numbers or range(1, len(report.systems[0].samples) + 1),
        {
            "languages": [code and code.replace("_", "-") for code in languages],  # as in HTML: pt-BR
            "open": report.heat_maps_open,
            "scale": report.scale,
            "modern": np.rint(shades).astype(int).tolist(),  # red, green, blue, 0-255, for weights from 0 to 1
            "longest": LONGEST_LABEL,
        },
    )
    return {"texts": Markup(packed.texts), "weights": Markup(packed.weights)}
