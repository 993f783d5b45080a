"""`dragoman phrase-table`: neural scores as columns of a Moses phrase table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.rescoring import PhraseTableRequest

SUMMARY = "add neural scores to a Moses phrase table"
DESCRIPTION = (
    "Writes a Moses phrase table with one more score per model: p(target | source), EOS included, as a\n"
    "probability, because Moses takes the logarithm itself. Everything else in the table is unchanged.\n"
    "Prints the lines of moses.ini for the new table. If interrupted, the same command continues where\n"
    "it stopped. Given the folder of a phrase-based system, it writes a new system: the new table, and a\n"
    "moses.ini with its weights, 0.2 for each new score (0 for --unknown)."
)
EXAMPLES = (
    "dragoman phrase-table phrase-table.gz --model RUN -o phrase-table.neural.gz",
    "dragoman phrase-table phrase-table.gz --model RUN --reverse RUN2 --unknown -o phrase-table.neural.gz",
    "dragoman phrase-table SYSTEM --model RUN --filter dev.de test.de -o SYSTEM2",
    "dragoman phrase-table phrase-table.gz --write-pairs pairs.tsv.gz",
)

REQUEST = "dragoman.requests.rescoring.PhraseTableRequest"


def run(request: PhraseTableRequest) -> None:
    """Score all pairs, write the table, and print the lines of moses.ini for it."""
    from dragoman.workflows.phrase_tables import score_phrase_table

    for line in score_phrase_table(request):
        print(line)
