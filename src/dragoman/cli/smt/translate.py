"""`dragoman smt translate`: translation with a phrase-based system."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.smt import PhraseTranslationRequest

SUMMARY = "translate text with a phrase-based system"
DESCRIPTION = (
    "Translates tokenised text line by line; it must be prepared like the training text. Each input line\n"
    "gives one output line; an empty line stays empty. Unknown words are copied."
)
EXAMPLES = (
    "dragoman smt translate SYSTEM < test.de > test.out",
    "dragoman smt translate SYSTEM -i test.de -o test.out --feature-weights tuned.weights --alignments test.align",
)

REQUEST = "dragoman.requests.smt.PhraseTranslationRequest"


def run(request: PhraseTranslationRequest) -> None:
    """Translate the input as a stream."""
    from dragoman.workflows.phrase_based import translate_by_phrases

    translate_by_phrases(request)
