"""`dragoman align`: which source word each target word of given translations came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.alignment import AlignmentRequest

SUMMARY = "align the words of given translations"
DESCRIPTION = (
    "Prints word alignments of sentence pairs, read off the attention weights of forced decoding: one\n"
    "line per pair, Pharaoh format i-j, source-target, words counted from 0 and separated by spaces.\n"
    "Each target word is linked to the source word with the largest weight. Several runs with the same\n"
    "target vocabulary form an ensemble. With a run of the opposite direction (--reverse) the\n"
    "alignments of both directions are symmetrized.\n\n"
    "With --aligner, a statistical word aligner is trained on the pairs themselves and no RUN is given."
)
EXAMPLES = (
    "dragoman align RUN test.de test.en > test.align",
    "dragoman align RUN test.de test.en --threshold 0.3 --matrix test.npz -o test.align",
    "dragoman align RUN test.ja test.en --segments --write-tokens test.tokens > test.align",
    "dragoman align RUN1 RUN2 test.de test.en --weights 2 1 > test.align",
    "dragoman align DE-EN test.de test.en --reverse EN-DE --symmetrize intersection --format naacl",
    "dragoman align test.de test.en --aligner hmm --symmetrize grow-diag-final-and --train train.de train.en",
)

REQUEST = "dragoman.requests.alignment.AlignmentRequest"


def run(request: AlignmentRequest) -> None:
    """Print the links of each pair."""
    from dragoman.workflows.alignment import CorpusAlignment

    CorpusAlignment(request).run()
