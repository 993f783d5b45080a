"""`dragoman lm train`: from monolingual text to a language model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.cli.shared.failures import require_one_process

if TYPE_CHECKING:
    from dragoman.requests.training import LanguageModelTrainingRequest

SUMMARY = "train a neural language model on text"
DESCRIPTION = (
    "Trains a neural language model on monolingual text and writes a run folder. Two networks:\n"
    "recurrent, built from the parts of a decoder, and feed-forward, the 7-gram network of Cho et al.\n"
    "2014 (CSLM). Training stops when the dev perplexity has not improved for ten epochs. Ctrl-C saves\n"
    "the training state and --resume continues from it."
)
EXAMPLES = (
    "dragoman lm train --train corpus.en --out LM",
    "dragoman lm train --train corpus.en --dev dev.en --out LM",
    "dragoman lm train --train corpus.en --dev dev.en --out CSLM --set model.network=feed-forward",
    "dragoman lm train mine.yaml --train a.en.gz b.en.gz --dev dev.en --out LM --minutes 20",
    "dragoman lm train --out LM --resume",
)

REQUEST = "dragoman.requests.training.LanguageModelTrainingRequest"


def run(request: LanguageModelTrainingRequest) -> None:
    """Train, or continue training, and print where the run is."""
    require_one_process("lm train")

    from dragoman.workflows.language_model import train_requested

    train_requested(request)
