"""`dragoman heatmap`: images of the alignment weights between a sentence and its translation."""

SUMMARY = "draw the alignment weights of translations"
DESCRIPTION = (
    "Translates sentences, or takes given translations, and draws the alignment weights between source\n"
    "words (columns) and target words (rows). For local attention, the window of each row and its\n"
    "centre p_t are drawn too. Writes one image per line, DIR/N.png (N: line number), or all on one\n"
    "page, DIR/heatmaps.html."
)
EXAMPLES = (
    "dragoman heatmap RUN new.de --out pictures",
    "dragoman heatmap RUN test.de test.en --out pictures --format svg --lines 7,12-15 --colormap modern",
    "dragoman heatmap RUN test.tsv --out pictures --format html",
)

REQUEST = "dragoman.requests.pictures.HeatMapRequest"
RUN = "dragoman.workflows.heatmaps.draw_requested"
