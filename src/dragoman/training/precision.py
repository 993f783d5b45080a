"""The faster precision for a model on this machine, timed once before training."""

from __future__ import annotations

import time
from typing import Literal, NamedTuple

import numpy as np
import torch

from dragoman.data.batches import Batch
from dragoman.model.devices import choose_precision
from dragoman.model.trainable import Trainable
from dragoman.model.translation import TranslationModel
from dragoman.text.padding import pad

SENTENCES, LENGTH = 64, 15
"""Size of the batch that is timed."""
FASTER = 0.9
"""Time of an update in bfloat16, by that in float32, below which it is chosen. A gain of a few percent is within the
noise of the measurement: without a margin, trainings with one seed would differ from day to day."""
REPEATS = 3
"""Updates timed in each precision, after an untimed one."""


class PrecisionChoice(NamedTuple):
    """The precision that `auto` stands for, and the reason as text."""

    precision: Literal["fp32", "bf16"]
    reason: str


def fastest_precision(model: Trainable) -> PrecisionChoice:
    """bfloat16 if loss and gradients of a batch take a tenth less time with it, else float32.

    The model stays as it was.

    Nothing is timed without fast bfloat16 products, nor on a GPU that has them.
    """
    if choose_precision("auto", model.device) is None:
        return PrecisionChoice("fp32", "no fast bfloat16 products here")
    if model.device.type == "cuda":
        return PrecisionChoice("bf16", "the GPU has fast bfloat16 products")
    seconds = {"fp32": _seconds(model, None), "bf16": _seconds(model, torch.bfloat16)}
    words = f"{1000 * seconds['bf16']:.0f} ms a batch in bfloat16, {1000 * seconds['fp32']:.0f} in float32"
    if seconds["bf16"] <= FASTER * seconds["fp32"]:
        return PrecisionChoice("bf16", words)
    return PrecisionChoice("fp32", f"{words}; bf16 has to be 10 % faster")


def _seconds(model: Trainable, precision: torch.dtype | None) -> float:
    """The shortest time of `REPEATS` updates; an update before them compiles kernels and allocates memory."""
    batch = random_batch(model)
    before = model.precision
    model.set_precision(precision)
    times = []
    for _ in range(REPEATS + 1):
        began = time.perf_counter()
        model.loss(batch).objective.backward()
        times.append(time.perf_counter() - began)
    model.zero_grad()
    model.set_precision(before)
    return min(times[1:])


def random_batch(model: Trainable, sentences: int = SENTENCES) -> Batch:
    """Sentences of `LENGTH` random words, the same on any machine; a language model does not read its source."""
    rng = np.random.default_rng(0)
    source_words, source_eos = 1, False
    if isinstance(model, TranslationModel):
        source_words, source_eos = model.source.num_embeddings, model.source_eos
    source, target = (
        rng.integers(0, words, (sentences, LENGTH)).tolist() for words in (source_words, len(model.output.weight))
    )
    return Batch(*pad(source, eos=source_eos), *pad(target, eos=True), np.arange(sentences))
