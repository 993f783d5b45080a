"""What a configuration may leave open, and what decides it: when a run begins, or when its training ends.

    text.*.language                 null: names of the files (`languages`)
    training.validation.tokenizer   auto: the language of the target (`languages`)
    model.attention.window          with a reference_length: the mean length of the sources
    training.precision              auto: the time of an update
    model.attention.aligned_word    measured: links of the dev set, when the training ends

What is settled stands in RUN/config.yaml, so that a resumed run goes on with it.
"""

from __future__ import annotations

import json
from typing import TypeVar

from dragoman.config.building import override
from dragoman.config.language_model import LanguageConfig
from dragoman.config.schema import Config
from dragoman.config.section import differences
from dragoman.data.store import Store
from dragoman.model.trainable import Trainable
from dragoman.model.translation import TranslationModel
from dragoman.progress import Console
from dragoman.runs.layout import RunFolder
from dragoman.training.precision import fastest_precision
from dragoman.workflows.aligned_word import measure_readings

OPEN = {
    "text.source.language": None,
    "text.target.language": None,
    "training.validation.tokenizer": "auto",
    "training.precision": "auto",
    "model.attention.aligned_word": "measured",
}
"""The values that leave a key open."""

Configured = TypeVar("Configured", Config, LanguageConfig)


def as_settled(config: Config, saved: Config) -> Config:
    """The configuration given to a resumed run; what it leaves open is taken from the saved one."""
    settled = {key: was for key, was, now in differences(saved, config) if key in OPEN and now == OPEN[key]}
    if config.model.attention.reference_length is not None:
        settled["model.attention.window"] = saved.model.attention.window
        settled["model.attention.reference_length"] = None
    return override(config, [f"{key}={json.dumps(was)}" for key, was in settled.items()])


def settle_window(config: Config, store: Store, folder: RunFolder, console: Console) -> Config:
    """Replace a window that is stated for another length of sentences by one for the stored text."""
    attention = config.model.attention
    if attention.reference_length is None:
        return config
    mean = len(store.source.ids) / len(store)
    window = max(1, round(attention.window * mean / attention.reference_length))
    console.info(
        f"model.attention.window: {window} ({attention.window} for {attention.reference_length:g} source segments a "
        f"line, here {mean:.1f})"
    )
    settled = override(config, [f"model.attention.window={window}", "model.attention.reference_length=null"])
    folder.save_config(settled)
    return settled


def settle_precision(config: Configured, model: Trainable, folder: RunFolder, console: Console) -> Configured:
    """Replace `auto` by the faster precision for a new model on this machine."""
    if config.training.precision != "auto":
        return config
    choice = fastest_precision(model)
    console.info(f"training.precision: auto is {choice.precision} here ({choice.reason})")
    settled = config.replaced(training=config.training.replaced(precision=choice.precision))
    folder.save_config(settled)
    return settled


def settle_aligned_word(
    config: Config, model: TranslationModel, text: Store, dev: Store, folder: RunFolder, console: Console
) -> bool:
    """Measure which word the weights of a trained model align, print it, and write it into the run's configuration.

    Guided weights are taught to align the predicted word, which is then not measured.

    Args:
        config: that of the run.
        model: the trained model.
        text, dev: the stored training text and dev set.

    Returns:
        whether the configuration was written.
    """
    if config.model.attention.aligned_word != "measured":
        return False
    aligned_word = "predicted"
    if config.model.decoder.context == "attended" and not config.training.guided_alignment:
        readings = measure_readings(model, text, dev)
        aligned_word = readings.better
        console.info(
            f"attention: weights are taken for the word {aligned_word}; of {readings.links:,} links of the dev set "
            f"{readings.predicted:,} are right for the word predicted, {readings.read:,} for the word just read"
        )
    folder.save_config(override(config, [f"model.attention.aligned_word={aligned_word}"]))
    return True
