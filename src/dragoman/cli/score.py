"""`dragoman score`: log-probabilities of given translations."""

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
RUN = "dragoman.workflows.alignment.score_corpus"
