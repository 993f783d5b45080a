"""`dragoman smt translate`: translation with a phrase-based system."""

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
RUN = "dragoman.workflows.phrase_based.translate_by_phrases"
