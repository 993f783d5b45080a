"""An inspection as JSON, as text for a terminal, and as a few facts for a report."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any

from dragoman.errors import escaped
from dragoman.inspection.advice import advice, counted
from dragoman.inspection.findings import Finding, FindingExample
from dragoman.inspection.inspect import Inspection, SideFacts
from dragoman.inspection.overlap import Duplicate, HeldOutSet
from dragoman.inspection.words import SubwordFacts
from dragoman.tables import columns
from dragoman.text.display import shortened

WIDTH = 100
"""Width of running text, in characters."""

SHOWN = 72
"""Characters of an example that are printed."""


def to_json(inspection: Inspection) -> dict[str, Any]:
    """Return everything as plain values; fields keep their names, shares are from 0 to 1, NaN becomes null."""
    held_out = {held.name: _held_out_json(held) for held in inspection.held_out}
    return {**_plain(inspection), "held_out": held_out, "advice": advice(inspection)}


def _plain(value: Any) -> Any:
    """Convert dataclasses and named tuples to dictionaries, recursively."""
    if isinstance(value, HeldOutSet):
        return None  # `to_json` adds it under its name
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _held_out_json(held: HeldOutSet) -> dict[str, Any]:
    return {
        "pairs": held.size,
        "seen": held.seen,
        "known_words": _plain(held.known_words),
        "findings": _plain(held.findings),
        "not_utf8": _plain(held.not_utf8),
        **{
            side: {
                "exact": overlap.count(exact=True),
                "near": overlap.count(exact=False),
                "lines": [_duplicate_json(held, duplicate) for _, duplicate in sorted(overlap.duplicates.items())],
            }
            for side, overlap in held.sides.items()
        },
    }


def _duplicate_json(held: HeldOutSet, duplicate: Duplicate) -> dict[str, Any]:
    return {
        "origin": held.pairs[duplicate.place].origin,
        "train_pair": duplicate.train + 1,
        "exact": duplicate.exact,
        "similarity": min(1.0, duplicate.similarity),
    }


def facts(inspection: Inspection) -> Mapping[str, str]:
    """Return the main figures by name, as a report shows them."""
    figures = {
        "Pairs": f"{inspection.pairs:,}",
        "Words per line": _both(inspection, lambda side: f"{side.lengths.mean_words:.1f}"),
        "Longest line, words": _both(inspection, lambda side: f"{side.lengths.words[100]:,}"),
        "Distinct words": _both(inspection, lambda side: f"{side.words.different:,}"),
        "Target characters per source character": f"{inspection.target_per_source.characters:.2f}",
    }
    findings = "; ".join(f"{finding.kind} {finding.pairs:,}" for finding in inspection.findings)
    return {**figures, "Findings": findings or "none"}


def _both(inspection: Inspection, figure: Callable[[SideFacts], str]) -> str:
    return f"{figure(inspection.source)} source, {figure(inspection.target)} target"


def text(inspection: Inspection) -> str:
    """Return everything as text for a terminal."""
    parts = [
        _overview(inspection),
        _coverage(inspection),
        _subwords(inspection.subwords),
        _findings(inspection.findings),
        *map(_held_out, inspection.held_out),
        "advice\n" + "\n".join(map(_list_item, advice(inspection))),
    ]
    return "\n\n".join(part for part in parts if part)


def _list_item(sentence: str) -> str:
    return textwrap.fill(
        sentence,
        WIDTH,
        initial_indent="- ",
        subsequent_indent="  ",
        break_on_hyphens=False,  # names of files and encodings stay whole, to be copied
        break_long_words=False,
    )


_OVERVIEW: dict[str, Callable[[SideFacts], str]] = {
    "words per line, mean": lambda side: f"{side.lengths.mean_words:.1f}",
    "  5 % have at most": lambda side: f"{side.lengths.words[5]:,}",
    "  50 % have at most": lambda side: f"{side.lengths.words[50]:,}",
    "  95 % have at most": lambda side: f"{side.lengths.words[95]:,}",
    "  99 % have at most": lambda side: f"{side.lengths.words[99]:,}",
    "  100 % have at most": lambda side: f"{side.lengths.words[100]:,}",
    "characters per line, mean": lambda side: f"{side.lengths.mean_characters:.1f}",
    "distinct characters": lambda side: f"{side.characters:,}",
    "scripts": lambda side: _scripts(side),
    "running words": lambda side: f"{side.words.running:,}",
    "distinct words": lambda side: f"{side.words.different:,}",
    "  occurring once": lambda side: f"{side.words.once:,}",
}
"""Rows of the table of both sides: name and figure."""


def _overview(inspection: Inspection) -> str:
    head = [f"{inspection.pairs:,} pairs", "source", "target"]
    rows = [[name, figure(inspection.source), figure(inspection.target)] for name, figure in _OVERVIEW.items()]
    ratio, repetition = inspection.target_per_source, inspection.repetition
    return (
        f"{columns([head, *rows])}\n\n"
        f"target per source: {ratio.characters:.2f} characters, {ratio.words:.2f} words; correlation of lengths "
        f"{inspection.length_correlation:.2f}\n"
        f"repeated pairs {repetition.pairs:,}; sources with several targets {repetition.sources:,}, targets with "
        f"several sources {repetition.targets:,}"
    )


def _scripts(side: SideFacts) -> str:
    letters = sum(side.scripts.values())
    main = [(script, count / letters) for script, count in islice(side.scripts.items(), 3)]
    return ", ".join(f"{script} {100 * share:.1f} %" for script, share in main if share >= 0.0005) or "none"


def _coverage(inspection: Inspection) -> str:
    """The share of running words that the most frequent ones cover, for both sides and held-out sets."""
    tables = []
    for name, side in (("source", inspection.source), ("target", inspection.target)):
        head = [f"{name} vocabulary", "covers", *side.words.held_out]
        curves = [side.words.curve, *side.words.held_out.values()]
        rows = [
            [f"{points[0].size:,}", *(f"{100 * point.share:.1f} %" for point in points)]
            for points in zip(*curves, strict=True)
        ]
        tables.append(columns([head, *rows]))
    return "\n\n".join(tables)


def _subwords(facts: SubwordFacts | None) -> str:
    if facts is None:
        return ""
    return (
        f"subwords (in {facts.pairs:,} pairs): {facts.mean_source:.1f} per line in the source, {facts.mean_target:.1f} "
        f"in the target;\n{facts.source.different:,} and {facts.target.different:,} distinct ones in use; "
        f"{100 * facts.too_long:.2f} % of the pairs are too long for training"
    )


def _findings(findings: Sequence[Finding]) -> str:
    lines = []
    for finding in findings:
        lines.append(f"{finding.kind}: {counted(finding.pairs)}; {finding.meaning}")
        for example in finding.examples:
            lines.extend(_example(example))
    return "\n".join(lines)


def _example(example: FindingExample) -> Iterator[str]:
    side = [example.side] if example.side != "both" else []
    remarks = ", ".join(side + ([example.detail] if example.detail else []))
    yield f"  {example.origin}{f' ({remarks})' if remarks else ''}"
    for line in (example.source, example.target):
        yield f"    {shortened(escaped(line), SHOWN)}"


def _held_out(held: HeldOutSet) -> str:
    rows = [[f"{held.name}: {held.size:,} pairs", "in training", "nearly"]]
    lines = []
    for side, overlap in held.sides.items():
        rows.append([f"  {side} lines", *(f"{overlap.count(exact=exact):,}" for exact in (True, False))])
        for duplicate in _examples(list(overlap.duplicates.values())):
            how = "same" if duplicate.exact else f"{100 * duplicate.similarity:.0f} % common words"
            origin = held.pairs[duplicate.place].origin
            lines.append(f"  {origin}, {side}: {how} as training pair {duplicate.train + 1:,}")
            lines.append(f"    {shortened(escaped(overlap.lines[duplicate.place]), SHOWN)}")
    return "\n".join([columns(rows), *lines, *([_findings(held.findings)] if held.findings else [])])


def _examples(found: Sequence[Duplicate]) -> list[Duplicate]:
    """At most two exact and two near duplicates."""
    exact, near = [each for each in found if each.exact], [each for each in found if not each.exact]
    return exact[:2] + near[:2]
