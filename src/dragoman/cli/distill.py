"""`dragoman distill`: the training text of a student, written by its teachers."""

SUMMARY = "make training pairs with the translations of a teacher"
DESCRIPTION = (
    "Translates the sources of training pairs with a teacher, one model or an ensemble, and writes them\n"
    "with its translations as targets. A single model that is trained on these pairs comes close to its\n"
    "teachers (sequence-level knowledge distillation, Kim and Rush 2016)."
)
EXAMPLES = (
    "dragoman distill RUN1 RUN2 RUN3 RUN4 train.de train.en -o distilled.tsv",
    "dragoman distill RUN1 RUN2 train.de train.en -o distilled.tsv --candidates 5",
    "dragoman train --train distilled.tsv --dev dev.de dev.en --out STUDENT",
)

REQUEST = "dragoman.requests.translation.DistillationRequest"
RUN = "dragoman.workflows.synthetic_pairs.distill_corpus"
