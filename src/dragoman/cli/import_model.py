"""`dragoman import`: a model of another toolkit as a run folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.models import ImportRequest

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


def run(request: ImportRequest) -> None:
    """Import, and print notes for the user and where the run is."""
    from dragoman.workflows.other_formats import import_model

    import_model(request)
