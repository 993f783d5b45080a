"""`dragoman smt train`: a phrase-based system from parallel text."""

SUMMARY = "train a phrase-based system in Moses format"
DESCRIPTION = (
    "Aligns the words of a parallel corpus, extracts and scores phrase pairs, trains lexicalised\n"
    "reordering and an n-gram language model, and writes a folder that Moses can read too: moses.ini,\n"
    "phrase-table.gz, the reordering table, lm.arpa. The corpus must be tokenised (and usually\n"
    "lower-cased). The weights are initial values for `dragoman smt tune`."
)
EXAMPLES = (
    "dragoman smt train --train train.de train.en --out SYSTEM",
    "dragoman smt train --train train.de train.en --alignments train.align --order 3 --out SYSTEM",
)

REQUEST = "dragoman.requests.smt.SystemTrainingRequest"
RUN = "dragoman.smt.system_training.train_system"
