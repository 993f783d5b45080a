"""`dragoman inspect`: statistics and problems of a corpus before training."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.corpora import InspectionRequest

SUMMARY = "check a parallel corpus for problems"
DESCRIPTION = (
    "Reads a corpus twice and reports lengths, vocabulary coverage, repetitions, lines in the wrong\n"
    "language or script, encoding errors, and overlap with the --dev and --test sets, with examples and\n"
    "advice. The corpus is not changed and nothing is downloaded; no extras are needed."
)
EXAMPLES = (
    "dragoman inspect train.de train.en",
    "dragoman inspect train.tsv.gz --dev dev.de dev.en --test test.de test.en --listing trouble.tsv",
    "dragoman inspect train.de train.en --subwords 8000 --json > inspection.json",
)

REQUEST = "dragoman.requests.corpora.InspectionRequest"


def run(request: InspectionRequest) -> None:
    """Inspect the corpus and print the findings."""
    from dragoman.workflows.corpora import inspect_files

    print(inspect_files(request))
