"""A short inspection of the training text, kept in the run folder for the report."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from dragoman.corpora.pairs import Corpora
from dragoman.errors import RunError, reason_of
from dragoman.inspection.advice import advice, warnings
from dragoman.inspection.inspect import Inspection, SideFacts, inspect_corpus
from dragoman.stored_files import decode_json, read_regular
from dragoman.text.lines import write_lines

INSPECTED = 20_000
"""Pairs from the beginning that are inspected: about 1.5 seconds of work."""


class TextSummary(Struct, frozen=True):
    """What the report of a run shows about its training text."""

    facts: Mapping[str, str]
    advice: Sequence[str]
    warnings: Sequence[str] = ()
    """The advice that is printed before training; not kept in the run."""


def summarise(corpora: Corpora, dev: Corpora) -> TextSummary:
    """Inspect the beginning of a training text, and its overlap with the dev sets.

    Raises:
        InputError: as for `inspect_corpus`.
    """
    held_out = {f"dev {number}" if len(dev) > 1 else "dev": files for number, files in enumerate(dev, 1)}
    inspection = inspect_corpus(corpora, held_out, limit=INSPECTED)
    return TextSummary(_facts(inspection), advice(inspection), warnings(inspection))


def _facts(inspection: Inspection) -> dict[str, str]:
    """The main figures by name, as a report shows them."""

    def both(figure: Callable[[SideFacts], str]) -> str:
        return f"{figure(inspection.source)} source, {figure(inspection.target)} target"

    pairs = f"{inspection.pairs:,} pairs"
    findings = "; ".join(f"{finding.kind} {finding.pairs:,}" for finding in inspection.findings)
    return {
        "Inspected": f"the first {pairs}" if inspection.pairs == INSPECTED else f"all {pairs}",
        "Words per line": both(lambda side: f"{side.lengths.mean_words:.1f}"),
        "Longest line, words": both(lambda side: f"{side.lengths.words[100]:,}"),
        "Distinct words": both(lambda side: f"{side.words.different:,}"),
        "Target characters per source character": f"{inspection.target_per_source.characters:.2f}",
        "Findings": findings or "none",
    }


def save_summary(path: Path, summary: TextSummary) -> None:
    """Write a summary as JSON into an existing folder.

    Raises:
        InputError: the file cannot be written.
    """
    write_lines(path, [json.dumps({"facts": summary.facts, "advice": summary.advice}, ensure_ascii=False)])


def load_summary(path: Path) -> TextSummary | None:
    """Read what `save_summary` wrote; None for a run from before there were summaries.

    Raises:
        RunError: the file is damaged.
    """
    try:
        return decode_json(read_regular(path), TextSummary)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise RunError(
            f"{path}: is damaged: {reason_of(error)}; delete it, and the report omits the facts about the text"
        ) from None
