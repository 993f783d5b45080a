"""`dragoman lm score`: log-probabilities of sentences under a language model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.training import LanguageModelScoringRequest

SUMMARY = "score text with a language model"
DESCRIPTION = "Prints the log-probability of each line: natural logarithm, EOS included, not normalised by\nlength."
EXAMPLES = ("dragoman lm score LM -i test.en > test.scores", "dragoman lm score LM --tokens < test.en")

REQUEST = "dragoman.requests.training.LanguageModelScoringRequest"


def run(request: LanguageModelScoringRequest) -> None:
    """Print the scores of each line."""
    from dragoman.workflows.language_model import score_text

    score_text(request)
