"""`dragoman learn`: a run learns from corrections of its translations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.learning import LearningRequest

SUMMARY = "learn from corrections, one after the other"
DESCRIPTION = (
    "Trains the model a little on each correction, together with similar pairs from the training text\n"
    "and from earlier corrections. The run itself does not change. A folder beside it keeps the\n"
    "corrections and the new weights, and grows with each call. After every 10 corrections a sample of\n"
    "the dev set is translated. If its BLEU has fallen by more than 0.5, these corrections are unlearnt.\n"
    "--out writes a run with the new weights: translate with it, export it, or correct it further."
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
