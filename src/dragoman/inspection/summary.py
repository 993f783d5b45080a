"""A short inspection of the training text, kept in the run folder for the report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from dragoman.corpora.pairs import Corpora
from dragoman.errors import RunError
from dragoman.inspection.advice import advice, warnings
from dragoman.inspection.inspect import inspect_corpus
from dragoman.inspection.presentation import facts
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
    figures = dict(facts(inspection))
    pairs = figures.pop("Pairs")
    inspected = f"the first {pairs} pairs" if inspection.pairs == INSPECTED else f"all {pairs} pairs"
    return TextSummary({"Inspected": inspected, **figures}, advice(inspection), warnings(inspection))


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
        reason = error.strerror if isinstance(error, OSError) else error
        raise RunError(
            f"{path}: is damaged: {reason}; delete it, and the report omits the facts about the text"
        ) from None
