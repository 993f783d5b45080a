"""`dragoman smt nbest`: n-best lists of a phrase-based system."""

SUMMARY = "write n-best lists of a phrase-based system"
DESCRIPTION = (
    "Writes the best translations of each line as a Moses n-best list, `id ||| text ||| Name= v v ...\n"
    "||| total`, for `dragoman rescore`, `rerank` and `tune`. The total is the weighted sum of the\n"
    "printed features."
)
EXAMPLES = (
    "dragoman smt nbest SYSTEM -i dev.de -o dev.nbest.gz",
    "dragoman smt nbest SYSTEM -i test.de --nbest 1000 --distinct --with-alignments -o test.nbest.gz",
)

REQUEST = "dragoman.requests.smt.NBestRequest"
RUN = "dragoman.workflows.phrase_based.write_n_best_lists"
