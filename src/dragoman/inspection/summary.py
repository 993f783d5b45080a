"""A short inspection of a training text, kept in the run folder for the report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.errors import RunError
from dragoman.inspection.advice import advice
from dragoman.inspection.inspect import inspect_corpus
from dragoman.inspection.layout import facts
from dragoman.text.corpus import Corpora
from dragoman.text.lines import write_lines

INSPECTED = 20_000
"""Pairs that are looked at, from the beginning: about 1.5 seconds of work."""


class Summary(NamedTuple):
    """What a reader of a report ought to know of the text behind it."""

    facts: Mapping[str, str]
    advice: Sequence[str]


def summarise(corpora: Corpora, dev: Corpora) -> Summary:
    """Look at the beginning of a training text, and for its lines in the dev sets.

    Raises:
        InputError: as for `inspect_corpus`.
    """
    held_out = {f"dev {number}" if len(dev) > 1 else "dev": files for number, files in enumerate(dev, 1)}
    inspection = inspect_corpus(corpora, held_out, limit=INSPECTED)
    told = dict(facts(inspection))
    pairs = told.pop("Pairs")
    looked_at = f"the first {pairs} pairs" if inspection.pairs == INSPECTED else f"all {pairs} pairs"
    return Summary({"Looked at": looked_at, **told}, advice(inspection))


def save_summary(path: Path, summary: Summary) -> None:
    """Write it as JSON into an existing folder.

    Raises:
        InputError: the file cannot be written.
    """
    write_lines(path, [json.dumps(summary._asdict(), ensure_ascii=False)])


def load_summary(path: Path) -> Summary | None:
    """Read what `save_summary` wrote; None for a run that was trained before there were any.

    Raises:
        RunError: the file is damaged.
    """
    if not path.exists():
        return None
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        return Summary({str(name): str(told) for name, told in read["facts"].items()}, list(map(str, read["advice"])))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise RunError(f"{path}: damaged; delete it, and the report goes without the facts about the text") from None
