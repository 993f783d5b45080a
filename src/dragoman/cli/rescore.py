"""`dragoman rescore`: neural scores as features of Moses n-best lists."""

SUMMARY = "add neural scores to n-best lists"
DESCRIPTION = (
    "Reads a Moses n-best list and adds features. Each model adds the log-probability of the hypothesis\n"
    "given the source. Each language model adds that of the hypothesis alone. Logarithms are natural, and\n"
    "EOS is included. --length adds the number of words. Everything else in the list is unchanged."
)
EXAMPLES = (
    "dragoman rescore dev.nbest.gz --source dev.fr --model RUN -o dev.rescored.gz",
    "dragoman rescore dev.nbest --source dev.fr --model RUN1 RUN2 --reverse RUN3 --feature Net > dev.rescored",
    "dragoman rescore dev.nbest --lm LM --length > dev.rescored",
    "dragoman rescore dev.nbest.gz --source dev.raw.fr --model RUN --tokenised en -o dev.rescored.gz",
)

REQUEST = "dragoman.requests.rescoring.RescoringRequest"
RUN = "dragoman.workflows.n_best_lists.rescore_lists"
