"""Which precision is faster for this model on this machine: tried out once, before training."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import torch

from dragoman.config.language_model import LanguageConfig
from dragoman.config.schema import Config
from dragoman.data.batches import Batch
from dragoman.model.devices import choose_precision
from dragoman.model.trainable import Trainable
from dragoman.model.translation import TranslationModel
from dragoman.progress import Console
from dragoman.runs.layout import RunFolder
from dragoman.text.padding import pad

SENTENCES, LENGTH = 64, 15
"""Of the batch that is tried."""
TRIES = 3
"""Updates timed in each precision, after one that is not."""


Configured = TypeVar("Configured", Config, LanguageConfig)


class PrecisionChoice(NamedTuple):
    """What `auto` came to, and why, in words."""

    precision: Literal["fp32", "bf16"]
    reason: str


def fastest_precision(model: Trainable) -> PrecisionChoice:
    """The precision in which loss and gradients of a batch take less time; the model is left as it was.

    Without fast bfloat16 products there is nothing to try, and on a GPU that has them nothing to doubt.
    """
    if choose_precision("auto", model.device) is None:
        return PrecisionChoice("fp32", "no fast bfloat16 products here")
    if model.device.type == "cuda":
        return PrecisionChoice("bf16", "the GPU has fast bfloat16 products")
    seconds = {"fp32": _seconds(model, None), "bf16": _seconds(model, torch.bfloat16)}
    words = f"{1000 * seconds['bf16']:.0f} ms a batch in bfloat16, {1000 * seconds['fp32']:.0f} in float32"
    return PrecisionChoice("bf16" if seconds["bf16"] < seconds["fp32"] else "fp32", words)


def settle_precision(
    config: Configured,
    override: Callable[[Configured, Sequence[str]], Configured],
    model: Trainable,
    folder: RunFolder,
    console: Console,
) -> Configured:
    """Put in the place of `auto` what is faster here; written down, so that a resumed run does not choose anew."""
    if config.training.precision != "auto":
        return config
    choice = fastest_precision(model)
    console.info(f"training.precision: auto is {choice.precision} here ({choice.reason})")
    settled = override(config, [f"training.precision={choice.precision}"])
    folder.save_config(settled)
    return settled


def _seconds(model: Trainable, precision: torch.dtype | None) -> float:
    """The shortest time of a few tries; the first, which compiles kernels and asks for memory, does not count."""
    batch = _batch(model)
    before = model.precision
    model.set_precision(precision)
    times = []
    for _ in range(TRIES + 1):
        began = time.perf_counter()
        model.loss(batch).objective.backward()
        times.append(time.perf_counter() - began)
    model.zero_grad()
    model.set_precision(before)
    return min(times[1:])


def _batch(model: Trainable) -> Batch:
    """Random words; on any machine the same. A model without a source has none to look at."""
    rng = np.random.default_rng(0)
    source_words, source_eos = 1, False
    if isinstance(model, TranslationModel):
        source_words, source_eos = model.source.num_embeddings, model.source_eos
    source, target = (
        rng.integers(0, words, (SENTENCES, LENGTH)).tolist() for words in (source_words, len(model.output.weight))
    )
    return Batch(*pad(source, eos=source_eos), *pad(target, eos=True), np.arange(SENTENCES))
