"""`dragoman rerank`: the best hypothesis of each sentence of an n-best list."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.rescoring import RerankingRequest

SUMMARY = "rerank n-best lists and print the best hypotheses"
DESCRIPTION = (
    "Reranks a Moses n-best list and prints the best hypothesis of each sentence: by default the one\n"
    "with the highest total score. Output lines match source lines: a sentence without hypotheses gives\n"
    "an empty line."
)
EXAMPLES = (
    "dragoman rerank test.rescored.gz --feature-weights tuned.weights > test.out",
    "dragoman rerank test.rescored.gz --average Neural > test.out",
    "dragoman rerank test.nbest --oracle test.en > test.oracle",
)

REQUEST = "dragoman.requests.rescoring.RerankingRequest"


def run(request: RerankingRequest) -> None:
    """Write a line for each sentence."""
    from dragoman.workflows.n_best_lists import rerank_lists

    rerank_lists(request)
