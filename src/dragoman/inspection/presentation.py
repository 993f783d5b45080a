"""An inspection as JSON, and as text for a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from msgspec import to_builtins

from dragoman.errors import escaped
from dragoman.inspection.advice import advice, counted
from dragoman.inspection.findings import Finding
from dragoman.inspection.inspect import Inspection, SideFacts
from dragoman.inspection.overlap import HeldOutSet
from dragoman.inspection.words import SubwordFacts
from dragoman.text.display import columns, shortened

WIDTH = 100
"""Width of running text, in characters."""

SHOWN = 72
"""Characters of an example that are printed."""


def to_json(inspection: Inspection) -> dict[str, Any]:
    """Return everything as plain values; fields keep their names, shares are from 0 to 1, NaN becomes null."""
    correlation = inspection.length_correlation
    return {
        **to_builtins(inspection, enc_hook=lambda held: None),  # of held-out sets only what follows
        "length_correlation": None if math.isnan(correlation) else correlation,
        "held_out": {held.name: _held_out_json(held) for held in inspection.held_out},
        "advice": advice(inspection),
    }


def _held_out_json(held: HeldOutSet) -> dict[str, Any]:
    overlaps = {
        side: {
            "exact": overlap.count(exact=True),
            "near": overlap.count(exact=False),
            "lines": [
                {
                    "origin": held.pairs[index].origin,
                    "train_pair": duplicate.train + 1,
                    "exact": duplicate.exact,
                    "similarity": min(1.0, duplicate.similarity),
                }
                for index, duplicate in sorted(overlap.duplicates.items())
            ],
        }
        for side, overlap in held.sides.items()
    }
    about = {
        "pairs": held.size,
        "seen": held.seen,
        "known_words": held.known_words,
        "findings": held.findings,
        "not_utf8": held.not_utf8,
    }
    return {**to_builtins(about), **overlaps}


def text(inspection: Inspection) -> str:
    """Return everything as text for a terminal."""
    # Names of files and encodings stay whole, to be copied.
    items = textwrap.TextWrapper(
        WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
    )
    parts = [
        _overview(inspection),
        _coverage(inspection),
        _subwords(inspection.subwords),
        "\n".join(_findings(inspection.findings)),
        *map(_held_out, inspection.held_out),
        "\n".join(["advice", *map(items.fill, advice(inspection))]),
    ]
    return "\n\n".join(part for part in parts if part)


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
    correlation = "" if math.isnan(inspection.length_correlation) else f"{inspection.length_correlation:.2f}"
    return (
        f"{columns([head, *rows])}\n\n"
        f"target per source: {ratio.characters:.2f} characters, {ratio.words:.2f} words"
        f"{correlation and f'; correlation of lengths {correlation}'}\n"
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
    for name, side in inspection.sides.items():
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


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings:
        yield f"{finding.kind}: {counted(finding.pairs)}; {finding.meaning}"
        for example in finding.examples:
            side = "" if example.side == "both" else example.side
            remarks = ", ".join(filter(None, (side, example.detail)))
            yield f"  {example.origin}{f' ({remarks})' if remarks else ''}"
            yield from map(_shown, (example.source, example.target))


def _held_out(held: HeldOutSet) -> str:
    rows = [[f"{held.name}: {held.size:,} pairs", "in training", "nearly"]]
    lines = []
    for side, overlap in held.sides.items():
        rows.append([f"  {side} lines", *(f"{overlap.count(exact=exact):,}" for exact in (True, False))])
        exact, near = (
            [item for item in overlap.duplicates.items() if item[1].exact == exact] for exact in (True, False)
        )
        for index, duplicate in (*exact[:2], *near[:2]):
            how = "same" if duplicate.exact else f"{100 * duplicate.similarity:.0f} % common words"
            lines.append(f"  {held.pairs[index].origin}, {side}: {how} as training pair {duplicate.train + 1:,}")
            lines.append(_shown(overlap.lines[index]))
    return "\n".join([columns(rows), *lines, *_findings(held.findings)])


def _shown(line: str) -> str:
    return f"    {shortened(escaped(line), SHOWN)}"
