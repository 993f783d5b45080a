"""A GPU is kept busy: an update asks nothing of its device, and a decoder's unrolling brings nothing to it.

Tensors of torch's device "meta" have shapes and no values: whoever asks for a value gets an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from dragoman.config.presets import preset_names
from dragoman.training.objective import TrainingObjective, accumulate_gradients
from dragoman.training.optimisers import clip_gradients
from tests.compositions import build_scaled, make_batch

every_preset = pytest.mark.parametrize("name", preset_names())
PAIRS = [([4, 9, 12], [7, 5]), ([6], [8]), ([13, 13], [])]
"""Short ones, for every step takes long on "meta"; a step after the second asks for no more than the second."""

precisions = pytest.mark.parametrize("precision", [None, torch.bfloat16], ids=["fp32", "bf16"])


@every_preset
@precisions
def test_an_update_asks_nothing_of_its_device(name: str, precision: torch.dtype | None) -> None:
    model = build_scaled(name).to("meta").train()
    model.set_precision(precision)
    batches = [make_batch(model, PAIRS), make_batch(model, PAIRS[:2])]
    totals = accumulate_gradients(model, batches, TrainingObjective(label_smoothing=0.1))
    norm = clip_gradients(model.parameters(), 1.0)
    assert (totals.objective.device.type, norm.device.type) == ("meta", "meta")
    assert all(weight.grad is not None for weight in model.output.parameters())


@every_preset
@precisions
def test_an_unrolling_stays_on_its_device(name: str, precision: torch.dtype | None) -> None:
    """No step copies anything to it."""
    model = build_scaled(name).to("meta").train()
    model.set_precision(precision)
    batch = make_batch(model, PAIRS)
    start = model.start(batch.source, batch.source_lengths)
    words = model.target(model.previous_words(batch))
    with _OnlyMeta():
        output = model.decoder.unroll_from(words, start.memory, start.state, len(words))
        output.readout.sum().backward()


def test_a_value_that_is_asked_for_is_noticed() -> None:
    with pytest.raises((RuntimeError, NotImplementedError)):
        torch.ones(2, device="meta").sum().item()


def test_a_tensor_from_elsewhere_is_noticed() -> None:
    elsewhere = torch.from_numpy(np.ones(2))
    with pytest.raises(AssertionError, match="from elsewhere"), _OnlyMeta():
        elsewhere.to("meta")


class _OnlyMeta(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves((args, kwargs, result)):
            if isinstance(leaf, torch.Tensor):
                assert leaf.device.type == "meta", f"{func}: a tensor from elsewhere, {leaf.device}"
        return result
