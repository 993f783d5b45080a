"""`dragoman learn`: a run learns from corrections of its translations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.learning import LearningRequest

SUMMARY = "learn from corrections, one after the other"
DESCRIPTION = (
    "Makes a few updates of the weights on each correction, together with pairs of the training text\n"
    "and earlier corrections that are like it. The run is not changed: the corrections and what was\n"
    "learnt are in a folder beside it, which grows with each call. Every 10 corrections a sample of the\n"
    "dev set is translated: what costs more than 0.5 BLEU there is taken back. --out writes a run with\n"
    "what was learnt, to translate with, to export, or to correct further."
)
EXAMPLES = (
    "dragoman learn RUN --pairs corrections.tsv --out RUN2",
    "dragoman learn RUN --pairs monday.en monday.de",
    "dragoman learn RUN --list",
    "dragoman learn RUN --undo 3 --out RUN2 --overwrite",
)

REQUEST = "dragoman.requests.learning.LearningRequest"


def run(request: LearningRequest) -> None:
    """Learn, undo, write, list."""
    from dragoman.workflows.learning import learn_corrections

    corrections = learn_corrections(request)
    for number, one in enumerate(corrections if request.corrections.list else (), 1):
        print(number, one.source, one.target, sep="\t")
