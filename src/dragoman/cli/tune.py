"""`dragoman tune`: log-linear weights for the features of n-best lists."""

SUMMARY = "tune log-linear weights on n-best lists"
DESCRIPTION = (
    "Finds weights for the features of n-best lists that maximise BLEU or chrF of the 1-best hypotheses\n"
    "(MERT, batch MIRA or PRO). Runs several times with different seeds, prints the score of each run\n"
    "with mean and standard deviation, and writes the weights of the best run as `Name= weight ...`.\n"
    "Hypotheses and references are compared as tokenised text. Several lists of the same sentences are\n"
    "merged. With --against, prints the significance of the difference to other weights (paired\n"
    "bootstrap, approximate randomisation)."
)
EXAMPLES = (
    "dragoman tune dev.rescored.gz --reference dev.en -o tuned.weights",
    "dragoman tune run1.nbest run2.nbest --reference dev.en.0 dev.en.1 --method mira --runs 5 -o tuned.weights",
    "dragoman tune dev.nbest --reference dev.en --test test.nbest --test-reference test.en -o tuned.weights",
    "dragoman tune dev.rescored.gz --reference dev.en --against baseline.weights --metric chrf -o tuned.weights",
)

REQUEST = "dragoman.requests.rescoring.TuningRequest"
RUN = "dragoman.workflows.n_best_lists.tune_weights"
