"""`dragoman map`: two-dimensional projections of word, phrase or sentence vectors."""

SUMMARY = "project word, phrase or sentence vectors to 2-D and draw them"
DESCRIPTION = (
    "Projects the vectors that a model computes for texts to two dimensions and draws them as an\n"
    "interactive page, an image or a table of coordinates. Each line of FILE is a text, optionally\n"
    "followed by a tab and a group label that sets the colour. Needs the extra `maps`.\n\n"
    "--of:\n"
    "  words      embeddings (Cho et al. 2014, figure 4); without -i, the most frequent words of the vocabulary\n"
    "  phrases    summary vector c of the encoder (Cho et al. 2014, figure 5)\n"
    "  sentences  final states of all encoder layers (Sutskever et al. 2014, figure 2)"
)
EXAMPLES = (
    "dragoman map RUN --of words -o words.html",
    "dragoman map RUN -i phrases.txt --of phrases -o phrases.html -o phrases.tsv",
    "dragoman map RUN -i sentences.txt --of sentences --method pca -o sentences.svg",
)

REQUEST = "dragoman.requests.pictures.MapRequest"
RUN = "dragoman.workflows.pictures.draw_map"
