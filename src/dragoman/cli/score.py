"""`dragoman score`: log-probabilities of given translations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.alignment import ScoringRequest

SUMMARY = "score given translations with forced decoding"
DESCRIPTION = (
    "Prints the log-probability of each target sentence given its source: natural logarithm, EOS\n"
    "included, not normalised by length. Several runs with the same target vocabulary form an ensemble."
)
EXAMPLES = (
    "dragoman score RUN test.de test.en > test.scores",
    "dragoman score RUN pairs.tsv.gz --token-counts -o test.scores",
    "dragoman score RUN1 RUN2 test.de test.en --combine log-probabilities --weights 2 1",
)

REQUEST = "dragoman.requests.alignment.ScoringRequest"


def run(request: ScoringRequest) -> None:
    """Print one log-probability per pair."""
    from dragoman.workflows.alignment import score_corpus

    score_corpus(request)
