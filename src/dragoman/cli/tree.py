"""`dragoman tree`: the hypotheses that the search for one translation kept and pruned."""

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
RUN = "dragoman.workflows.pictures.draw_search_tree"
