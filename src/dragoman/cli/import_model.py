"""`dragoman import`: a model of another toolkit as a run folder."""

SUMMARY = "convert a JoeyNMT or OpenNMT-py model to a run folder"
DESCRIPTION = (
    "Reads a recurrent model of JoeyNMT 2.x or OpenNMT-py 3.x without executing code from the\n"
    "checkpoint, and writes a run folder that gives the same scores. The config.yaml and vocabularies\n"
    "of JoeyNMT are looked up beside the checkpoint; an OpenNMT-py checkpoint contains both. The run\n"
    "expects text segmented as in training, tokens separated by spaces, unless a SentencePiece model is\n"
    "given."
)
EXAMPLES = (
    "dragoman import --from joeynmt models/deen/best.ckpt --out RUN",
    "dragoman import --from opennmt model_step_10000.pt --source-model de.model --target-model en.model --out RUN",
)

REQUEST = "dragoman.requests.models.ImportRequest"
RUN = "dragoman.workflows.other_formats.import_model"
