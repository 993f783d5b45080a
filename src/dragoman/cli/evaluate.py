"""`dragoman evaluate`: scores of the translations of a test set."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.evaluation import EvaluationRequest

SUMMARY = "evaluate a run or given translations on a test set"
DESCRIPTION = (
    "Translates a test set and scores the translations against the references: BLEU, tokenised BLEU,\n"
    "chrF, TER and exact match with their signatures, scores on slices of the test set, and the\n"
    "perplexity of the references. With --hyp it scores given translations instead, and needs RUN only\n"
    "for the perplexity. Search options default to the run's configuration."
)
EXAMPLES = (
    "dragoman evaluate RUN test.de test.en",
    "dragoman evaluate RUN test.de test.en --beam 1 --json > scores.json",
    "dragoman evaluate RUN test.tsv --report report --output test.hyp",
    "dragoman evaluate RUN test.de test.en.0 test.en.1 test.en.2",
    "dragoman evaluate RUN test.de test.en --against RUN2 --report report",
    "dragoman evaluate test.de test.en --hyp one.hyp --against other.hyp --by reference-groups",
)

REQUEST = "dragoman.requests.evaluation.EvaluationRequest"


def run(request: EvaluationRequest) -> None:
    """Translate, measure, compare, print."""
    from dragoman.workflows.test_sets import evaluate_requested

    for text in evaluate_requested(request):
        print(text)
