"""`dragoman curves`: the learning curves of several runs in one figure."""

SUMMARY = "plot the learning curves of several runs"
DESCRIPTION = (
    "Reads the log.jsonl of each run folder and plots one metric of all of them in one figure, as Luong\n"
    "et al. 2015 do for perplexity (figure 5). Runs that are still training can be plotted too."
)
EXAMPLES = (
    "dragoman curves RUN1 RUN2 RUN3 -o curves.png",
    "dragoman curves RUN1 RUN2 --metric bleu --x-axis minutes -o bleu.svg",
)

REQUEST = "dragoman.requests.pictures.CurvesRequest"
RUN = "dragoman.workflows.pictures.plot_curves"
