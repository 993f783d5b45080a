"""`dragoman aer`: the alignment error rate of word alignments."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.alignment import AerRequest

SUMMARY = "compute the alignment error rate against gold alignments"
DESCRIPTION = (
    "Prints alignment error rate, precision, recall and F1 of the links in HYP against GOLD over all\n"
    "sentences. GOLD may distinguish sure and possible links; such marks in HYP are ignored.\n\n"
    "formats:\n"
    "  pharaoh  one sentence per line, links 3-4, possible links 3p4 or 3?4, words counted from 0\n"
    "  talp     as pharaoh, words counted from 1\n"
    "  naacl    one link per line, `SENTENCE SOURCE TARGET S|P`, everything counted from 1\n"
    "By default the format is detected; a file in Pharaoh or Talp style that has a word 0 is Pharaoh."
)
EXAMPLES = (
    "dragoman aer test.gold test.align",
    "dragoman aer --gold-format talp test.gold test.align --json",
    "dragoman aer test.naacl - < test.align",
)

REQUEST = "dragoman.requests.alignment.AerRequest"


def run(request: AerRequest) -> None:
    """Compare the alignments and print the scores."""
    from dragoman.workflows.links import compare_links

    result, formats = compare_links(request)
    if request.json:
        print(json.dumps({**result.to_json(), **formats}, indent=2))
    else:
        print(f"{result.table()}\n\ngold {formats['gold_format']}, hypothesis {formats['hyp_format']}")
