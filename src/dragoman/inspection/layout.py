"""An inspection as JSON, as text for people, and as a few facts for a report."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from dragoman.inspection.advice import advice, counted, lines_seen
from dragoman.inspection.findings import KINDS, Example, Found
from dragoman.inspection.inspect import Inspection, SideFacts
from dragoman.inspection.overlap import HeldOut, Likeness, SideName
from dragoman.inspection.reading import FileCounts
from dragoman.inspection.vocabulary_coverage import Coverage
from dragoman.tables import columns

WIDTH = 100
"""Of running text, in characters."""

SHOWN = 72
"""Characters of an example that are printed."""

SIDES: tuple[SideName, SideName] = ("source", "target")


def to_json(inspection: Inspection) -> dict[str, Any]:
    """Everything, for programs; shares are from 0 to 1."""
    correlation = inspection.ratio.correlation
    return {
        "pairs": inspection.pairs,
        "source": _side_json(inspection.source),
        "target": _side_json(inspection.target),
        "target_per_source": {"characters": inspection.ratio.characters, "words": inspection.ratio.words},
        "length_correlation": None if math.isnan(correlation) else correlation,
        "repetition": inspection.repetition._asdict(),
        "sides_told_apart": inspection.sides_apart,
        "findings": list(map(_found_json, inspection.found)),
        "not_utf8": _bad_files_json(inspection.bad_files),
        "held_out": {held.name: _held_out_json(held) for held in inspection.held_out},
        "subwords": None
        if inspection.subwords is None
        else {
            **inspection.subwords._asdict(),
            "source": _coverage_json(inspection.subwords.source),
            "target": _coverage_json(inspection.subwords.target),
        },
        "advice": advice(inspection),
    }


def _found_json(found: Found) -> dict[str, Any]:
    return {
        "kind": found.kind,
        "meaning": KINDS[found.kind].meaning,
        "pairs": found.pairs,
        "examples": [example._asdict() for example in found.examples],
    }


def _bad_files_json(files: Mapping[str, FileCounts]) -> dict[str, Any]:
    return {
        name: {"lines": counts.bad, "look_like": counts.looks, "other_lines_beyond_ascii": counts.other}
        for name, counts in files.items()
    }


def _side_json(side: SideFacts) -> dict[str, Any]:
    return {
        "lengths": side.lengths._asdict(),
        "characters": side.characters,
        "scripts": side.scripts,
        "lines_with_composed_letters": side.composed,
        "words": _coverage_json(side.words),
    }


def _coverage_json(words: Coverage) -> dict[str, Any]:
    return {
        **words._asdict(),
        "curve": [point._asdict() for point in words.curve],
        "held_out": {name: [point._asdict() for point in curve] for name, curve in words.held_out.items()},
    }


def _held_out_json(held: HeldOut) -> dict[str, Any]:
    return {
        "pairs": held.size,
        "seen": lines_seen(held),
        "findings": list(map(_found_json, held.found)),
        "not_utf8": _bad_files_json(held.bad_files),
        **{
            side: {
                "exact": _exact(held, side),
                "near": len(held.sides[side].found) - _exact(held, side),
                "lines": [_likeness_json(held, likeness) for _, likeness in sorted(held.sides[side].found.items())],
            }
            for side in SIDES
        },
    }


def _likeness_json(held: HeldOut, likeness: Likeness) -> dict[str, Any]:
    return {
        "origin": held.pairs[likeness.place].origin,
        "train_pair": likeness.train + 1,
        "exact": likeness.exact,
        "similarity": min(1.0, likeness.similarity),
    }


def _exact(held: HeldOut, side: SideName) -> int:
    return sum(likeness.exact for likeness in held.sides[side].found.values())


def facts(inspection: Inspection) -> Mapping[str, str]:
    """The main figures by name, as a report shows them."""
    told = {
        "Pairs": f"{inspection.pairs:,}",
        "Words a line": _both(inspection, lambda side: f"{side.lengths.mean_words:.1f}"),
        "Longest line, words": _both(inspection, lambda side: f"{side.lengths.words[100]:,}"),
        "Different words": _both(inspection, lambda side: f"{side.words.different:,}"),
        "Characters of the target for one of the source": f"{inspection.ratio.characters:.2f}",
    }
    found = "; ".join(f"{found.kind} {found.pairs:,}" for found in inspection.found)
    return {**told, "Found in the text": found or "nothing unusual"}


def _both(inspection: Inspection, tell: Any) -> str:
    return f"{tell(inspection.source)} source, {tell(inspection.target)} target"


def text(inspection: Inspection) -> str:
    """Everything, for people."""
    parts = [
        _overview(inspection),
        _coverage(inspection),
        *([] if inspection.subwords is None else [_subwords(inspection)]),
        _findings(inspection.found),
        *map(_held_out, inspection.held_out),
        "advice\n" + "\n".join(map(_point, advice(inspection))),
    ]
    return "\n\n".join(part for part in parts if part)


def _point(sentence: str) -> str:
    return textwrap.fill(
        sentence,
        WIDTH,
        initial_indent="- ",
        subsequent_indent="  ",
        break_on_hyphens=False,  # names of files and encodings stay whole, to be copied
        break_long_words=False,
    )


def _overview(inspection: Inspection) -> str:
    sides = inspection.source, inspection.target
    lengths = [side.lengths for side in sides]
    rows = [
        [f"{inspection.pairs:,} pairs", "source", "target"],
        ["words a line, mean", *(f"{length.mean_words:.1f}" for length in lengths)],
        *(
            [f"  {percent} % have at most", *(f"{length.words[percent]:,}" for length in lengths)]
            for percent in (5, 50, 95, 99, 100)
        ),
        ["characters a line, mean", *(f"{length.mean_characters:.1f}" for length in lengths)],
        ["different characters", *(f"{side.characters:,}" for side in sides)],
        ["scripts", *(_scripts(side) for side in sides)],
        ["running words", *(f"{side.words.running:,}" for side in sides)],
        ["different words", *(f"{side.words.different:,}" for side in sides)],
        ["  of them once", *(f"{side.words.once:,}" for side in sides)],
    ]
    ratio, repetition = inspection.ratio, inspection.repetition
    return (
        f"{columns(rows)}\n\n"
        f"target over source: {ratio.characters:.2f} characters, {ratio.words:.2f} words; correlation of lengths "
        f"{ratio.correlation:.2f}\n"
        f"repeated pairs {repetition.pairs:,}; sources with several targets {repetition.sources:,}, targets with "
        f"several sources {repetition.targets:,}"
    )


def _scripts(side: SideFacts) -> str:
    letters = sum(side.scripts.values())
    main = [(script, count / letters) for script, count in islice(side.scripts.items(), 3)]
    return ", ".join(f"{script} {100 * share:.1f} %" for script, share in main if share >= 0.0005) or "none"


def _coverage(inspection: Inspection) -> str:
    """Share of running words that the most frequent ones cover, of both sides and of held-out sets."""
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


def _subwords(inspection: Inspection) -> str:
    facts = inspection.subwords
    assert facts is not None
    return (
        f"subwords (in {facts.pairs:,} pairs): {facts.mean_source:.1f} a line in the source, {facts.mean_target:.1f} "
        f"in the target;\n{facts.source.different:,} and {facts.target.different:,} different ones in use; "
        f"{100 * facts.too_long:.2f} % of the pairs are too long for training"
    )


def _findings(kinds: Sequence[Found]) -> str:
    lines = []
    for found in kinds:
        lines.append(f"{found.kind}: {counted(found.pairs)}; {KINDS[found.kind].meaning}")
        for example in found.examples:
            lines.extend(_example(example))
    return "\n".join(lines)


def _example(example: Example) -> Iterator[str]:
    where = [example.side] if example.side != "both" else []
    remarks = ", ".join(where + ([example.detail] if example.detail else []))
    yield f"  {example.origin}{f' ({remarks})' if remarks else ''}"
    for line in (example.source, example.target):
        yield f"    {shown(line)}"


def _held_out(held: HeldOut) -> str:
    rows = [[f"{held.name}: {held.size:,} pairs", "in training", "nearly"]]
    lines = []
    for side in SIDES:
        overlap, exact = held.sides[side], _exact(held, side)
        rows.append([f"  {side} lines", f"{exact:,}", f"{len(overlap.found) - exact:,}"])
        for likeness in _telling(list(overlap.found.values())):
            how = "same" if likeness.exact else f"{100 * likeness.similarity:.0f} % common words"
            lines.append(
                f"  {held.pairs[likeness.place].origin}, {side}: {how} as training pair {likeness.train + 1:,}"
            )
            lines.append(f"    {shown(overlap.lines[likeness.place])}")
    return "\n".join([columns(rows), *lines, *([_findings(held.found)] if held.found else [])])


def _telling(found: Sequence[Likeness]) -> list[Likeness]:
    """A few of them: two that are the same, two that are nearly."""
    exact, near = [each for each in found if each.exact], [each for each in found if not each.exact]
    return exact[:2] + near[:2]


def shown(line: str) -> str:
    """A line on a terminal: control characters as escapes, cut off where it is long."""
    visible = "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in line)
    return visible if len(visible) <= SHOWN else visible[: SHOWN - 1] + "…"
