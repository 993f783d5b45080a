"""`dragoman train`: from parallel text to a run folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.requests.training import TrainingRequest

SUMMARY = "train a translation model on parallel text"
DESCRIPTION = (
    "Trains a translation model on parallel text and writes a run folder with everything that\n"
    "translation needs. A corpus is two files, or one file with both sides (.tsv, .csv, .jsonl, .json,\n"
    ".tmx, .xliff, .po), or an inflection table (.trn, .dev, .tst: lemma, form, tags); each may be\n"
    "compressed (.gz, .xz, .zst). Settings come from the preset, then CONFIG.yaml, then --scale and\n"
    "--set. Ctrl-C saves the training state and --resume continues from it; with --train it also begins\n"
    "a run where there is none. Several processes train one model together:\n"
    "torchrun --nproc-per-node 2 -m dragoman train ... (docs/scale.md)."
)
EXAMPLES = (
    "dragoman train --train corpus.de corpus.en --out RUN",
    "dragoman train --train corpus.de corpus.en --dev dev.de dev.en --out RUN",
    "dragoman train mine.yaml --train a.tsv.gz --train b.jsonl --dev dev.tsv --out RUN --minutes 20",
    "dragoman train --train own.de own.en --train web.de web.en --mix 2 1 --out RUN",
    "dragoman train --preset bahdanau2015 --train c.en c.fr --dev d.en d.fr --out RUN --scale 0.25",
    "dragoman train --from RUN --train corrections.de corrections.en --out NEW",
    "dragoman train --out RUN --resume",
)

REQUEST = "dragoman.requests.training.TrainingRequest"


def run(request: TrainingRequest) -> None:
    """Train, or continue training, and print where the report is."""
    from dragoman.workflows.training_command import TranslationTraining

    TranslationTraining(request).run()
