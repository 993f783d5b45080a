"""`dragoman tree`: the hypotheses that the search for one translation kept and pruned."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.pictures import SearchTreeRequest

SUMMARY = "show the search tree of one translation"
DESCRIPTION = (
    "Translates one sentence and shows the tree of the beam search with log-probabilities: which\n"
    "hypotheses were kept at each step, which were finished and which were pruned; * marks the\n"
    "translation. The output is an HTML page, an SVG image or plain text, depending on the suffix of\n"
    "the output file (.html, .svg, other). Search options default to the run's configuration."
)
EXAMPLES = (
    "dragoman tree RUN --text Hallo",
    "dragoman tree RUN --beam 4 --pruned 2 -o tree.html < line.de",
)

REQUEST = "dragoman.requests.pictures.SearchTreeRequest"


def run(request: SearchTreeRequest) -> None:
    """Translate and draw the search tree."""
    from dragoman.workflows.pictures import draw_search_tree

    draw_search_tree(request)
