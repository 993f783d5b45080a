"""The derivatives of the weights with respect to the annotations, against a full Jacobian."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.data.batches import Batch
from dragoman.model.attention import AttentionMemory
from dragoman.model.attention_gradients import weight_change
from dragoman.model.translation import TranslationModel
from dragoman.text.padding import pad
from tests.compositions import COMPOSITIONS, PAIRS, make_batch, random_model, small_model, small_preset

ATTENDING = [name for name in COMPOSITIONS if small_model(name).decoder.alignment is not None]


@pytest.mark.parametrize("name", ["rnnsearch", "luong"])
def test_one_step_is_the_jacobian_times_signs(name: str) -> None:
    model = small_model(name)
    batch = Batch(*pad([[4, 9, 12, 5]], eos=model.source_eos), *pad([[]], eos=True), np.arange(1))
    with torch.no_grad():
        memory, state = model.start(batch.source, batch.source_lengths)
        query = _query(model, state, memory, batch)
    attention = model.decoder.alignment

    def weights(annotations: torch.Tensor) -> torch.Tensor:
        keys = attention.score.keys(annotations, memory.mask)
        memory_of = AttentionMemory(annotations, memory.mask, keys)
        return attention.prepare(memory_of)(query, torch.zeros(1)).weights[0]

    vectors = memory.vectors.clone().requires_grad_()
    positions = range(vectors.shape[1])  # each by a pass of its own, because the fast scores have no second one
    rows = [torch.autograd.grad(weights(vectors)[position], vectors)[0].flatten() for position in positions]
    jacobian = torch.stack(rows)  # [S, S*W]
    signs = 2 * torch.randint(2, (1, len(jacobian)), generator=torch.Generator().manual_seed(1))[0] - 1
    vectors = memory.vectors[0]
    deviation = (vectors - vectors.mean(dim=0)).square().mean().sqrt()
    expected = (jacobian.T @ signs.double()).norm() * deviation
    assert weight_change(model, batch) == pytest.approx(float(expected), rel=1e-9)


def _query(model: TranslationModel, state, memory, batch) -> torch.Tensor:
    """What the first step attends with: the state before the update, or after it."""
    if model.decoder.order == "look-then-update":
        return state.layers[-1][0]
    prepared = model.decoder.prepare(memory, 1)
    _, after = model.advance(model.previous_words(batch)[:, 0], state, prepared)
    return after.layers[-1][0]


@pytest.mark.parametrize("name", ATTENDING)
def test_weights_of_content_change_and_others_do_not(name: str) -> None:
    model = small_model(name)
    change = weight_change(model, make_batch(model, PAIRS))
    location = model.decoder.alignment is not None and model.decoder.alignment.score.kind == "location"
    assert change == 0 if location else change > 1e-3


def test_a_score_that_is_always_zero_has_no_gradient() -> None:
    model = small_model("rnnsearch")
    with torch.no_grad():
        model.decoder.alignment.score.v.zero_()
    assert weight_change(model, make_batch(model, PAIRS)) == 0


def test_attention_that_reads_the_state_alone_is_found_out() -> None:
    """Keys that are constant: the weights still vary with the words, through the state."""
    model = random_model(small_preset("bahdanau2015").model)
    score = model.decoder.alignment.score
    batch = make_batch(model, PAIRS)
    assert weight_change(model, batch) > 1e-3
    with torch.no_grad():
        score.annotation.weight.zero_()
    assert weight_change(model, batch) == 0
