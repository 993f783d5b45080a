"""`dragoman smt tune`: weights of a phrase-based system by minimum error rate training."""

SUMMARY = "tune the weights of a phrase-based system"
DESCRIPTION = (
    "Minimum error rate training (MERT): alternately translates the development set to n-best lists and\n"
    "finds the weights with the best BLEU on all lists so far. Writes the weights of the best iteration\n"
    "into the moses.ini of the system, or as `Name= weight ...` to a file."
)
EXAMPLES = (
    "dragoman smt tune SYSTEM --source dev.de --reference dev.en",
    "dragoman smt tune SYSTEM --source dev.de --reference dev.en --seed 2 -o run2.weights",
)

REQUEST = "dragoman.requests.smt.SystemTuningRequest"
RUN = "dragoman.smt.system_tuning.tune_system"
