"""`dragoman rerank`: the best hypothesis of each sentence of an n-best list."""

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
RUN = "dragoman.workflows.n_best_lists.rerank_lists"
