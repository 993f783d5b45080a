"""`dragoman lm perplexity`: the perplexity of a text under a language model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.training import PerplexityRequest

SUMMARY = "compute the perplexity of text"
DESCRIPTION = (
    "Prints the perplexity of a text: exp of the mean negative log-likelihood per token, EOS included.\n"
    "Tokens are the segments of the model, so only perplexities of models with the same vocabulary are\n"
    "comparable. The number of unknown tokens is printed too."
)
EXAMPLES = ("dragoman lm perplexity LM -i test.en", "dragoman lm perplexity LM -i test.en.gz --json")

REQUEST = "dragoman.requests.training.PerplexityRequest"


def run(request: PerplexityRequest) -> None:
    """Compute and print the perplexity."""
    from dragoman.workflows.language_model import measure_perplexity

    measured, unknown = measure_perplexity(request)
    if request.json:
        figures = {"perplexity": measured.value, "lines": measured.lines, "tokens": measured.tokens}
        print(json.dumps({**figures, "unknown": unknown}))
    else:
        print(
            f"perplexity {measured.value:.2f}  {measured.lines:,} lines, {measured.tokens:,} tokens, {unknown:,} of "
            "them unknown"
        )
