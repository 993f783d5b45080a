"""`dragoman lm score`: log-probabilities of sentences under a language model."""

SUMMARY = "score text with a language model"
DESCRIPTION = "Prints the log-probability of each line: natural logarithm, EOS included, not normalised by\nlength."
EXAMPLES = ("dragoman lm score LM -i test.en > test.scores", "dragoman lm score LM --tokens < test.en")

REQUEST = "dragoman.requests.training.LanguageModelScoringRequest"
RUN = "dragoman.workflows.language_model.score_text"
