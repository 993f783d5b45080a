"""`dragoman export`: one run or an ensemble as ONNX graphs."""

SUMMARY = "export to ONNX: a folder that translates without torch"
DESCRIPTION = (
    "Writes the model of a run as ONNX graphs, together with its vocabularies, segmentation and\n"
    "configuration. `translate`, `score` and `align` accept the folder in place of a run folder and\n"
    "then need no extras (no torch). In float32 it gives the same translations as the run. --int8\n"
    "makes the model smaller and faster by quantising it. --shortlist is faster still: it restricts each\n"
    "sentence to a few likely target words (see docs/how-to/export.md). Several runs with the same\n"
    "vocabularies become one ensemble, as in `translate RUN1 RUN2`.\n"
    "With --web the folder is a web site that translates in the browser (see docs/browser.md)."
)
EXAMPLES = (
    "dragoman export RUN --out LIGHT",
    "dragoman export RUN --out LIGHT --int8 --shortlist 2000 --overwrite",
    "dragoman export RUN --web --out SITE",
    "dragoman export RUN1 RUN2 --out BOTH --combine log-probabilities --weights 2 1",
)

REQUEST = "dragoman.requests.models.ExportRequest"
RUN = "dragoman.workflows.other_formats.export_models"
