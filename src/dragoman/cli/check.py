"""`dragoman check`: does a model read its source, and does its attention look at it?"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.models import CheckRequest
    from dragoman.workflows.checking import Check

SUMMARY = "check that a model reads its source and that its attention looks at it"
DESCRIPTION = (
    "Asks five questions about a trained model, each answered by a measurement on sentence pairs: does\n"
    "the loss depend on the source, does the order of the source words matter, is the loss the same with\n"
    "and without padding, do the alignment weights depend on the annotations, and are they not uniform?\n"
    "The verdict is yes, weak, no, or - where the question has no meaning for the model."
)
EXAMPLES = (
    "dragoman check RUN",
    "dragoman check RUN test.de test.en --sentences 500",
    "dragoman check RUN --json",
)

REQUEST = "dragoman.requests.models.CheckRequest"


def run(request: CheckRequest) -> None:
    """Measure and print the verdicts."""
    from dragoman.workflows.checking import check_requested

    pairs, checks = check_requested(request)
    print(_as_json(pairs, checks) if request.json else _as_table(pairs, checks))


def _as_table(pairs: int, checks: Sequence[Check]) -> str:
    width = max(len(check.question) for check in checks)
    rows = [f"{check.question:<{width}}  {check.verdict:<4}  {check.explanation}" for check in checks]
    return "\n".join([f"{pairs} pairs", *rows])


def _as_json(pairs: int, checks: Sequence[Check]) -> str:
    return json.dumps({"pairs": pairs, "checks": [dataclasses.asdict(check) for check in checks]}, indent=1)
