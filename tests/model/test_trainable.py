from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from dragoman.data.batches import Batch, BatchLinks
from dragoman.model.assembly import build
from dragoman.model.trainable import EPSILON, guided_loss
from dragoman.model.translation import TranslationModel
from tests.compositions import PAIRS, VOCABULARY, make_batch, model_config

LINKS = [[(0, 0), (2, 0), (3, 1)], [(0, 0), (0, 3), (0, 4)], [(6, 0), (1, 0), (0, 0), (3, 0)], []]
"""(source, target) for each of PAIRS; positions with one link, with several, with none, and a line without any."""

GUIDED = {
    "rnnsearch": [],
    "looked at once for all steps": ["decoder.order=update-then-look", "attention.score=general"],
    "fed, the word just read": [
        "decoder.order=update-then-look",
        "decoder.input_feeding=true",
        "attention.score=general",
        "attention.aligned_word=read",
        "readout.kind=attentional",
        "source_eos=false",
    ],
    "reversed": ["encoder.direction=reversed", "attention.aligned_word=read"],
    "covered": ["attention.score=concat", "attention.coverage=true"],
    "local-m": ["attention.scope=local-m", "attention.window=2", "decoder.order=update-then-look"],
    "local-p": ["attention.scope=local-p", "attention.window=3", "attention.aligned_word=read"],
    "location": ["attention.score=location", "attention.max_positions=9", "decoder.order=update-then-look"],
}


def guided_model(name: str) -> TranslationModel:
    torch.manual_seed(3)
    return build(model_config(GUIDED[name]), VOCABULARY, VOCABULARY).double().eval()


def linked_batch(model: TranslationModel) -> Batch:
    flat = np.array([(row, *link) for row, links in enumerate(LINKS) for link in links], np.int64)
    return replace(make_batch(model, PAIRS), links=BatchLinks(*flat.T))


def expected_loss(weights: np.ndarray, shift: int) -> tuple[float, int]:
    """- sum_t sum_s A_ts log a_ts with rows of A that sum to 1, in plain loops; weights [B, T, S]."""
    total, positions = 0.0, 0
    for row, links in enumerate(LINKS):
        for t in range(len(PAIRS[row][1])):
            sources = [source for source, target in links if target == t]
            positions += bool(sources)
            for source in sources:
                weight = weights[row, t + shift, source]
                total -= np.log(weight) / len(sources) if weight > 0 else 0.0
    return total, positions


@pytest.mark.parametrize("name", GUIDED)
def test_the_loss_is_the_cross_entropy_of_the_weights_against_the_links(name: str) -> None:
    model = guided_model(name)
    batch = linked_batch(model)
    weights = model.force(batch).weights
    assert weights is not None
    expected, positions = expected_loss(weights.numpy(), model.attention_shift)
    plain, guided = model.loss(batch, 0.1), model.loss(batch, 0.1, guided_alignment=0.3)
    assert plain.guidance is None
    assert guided.guidance is not None
    assert guided.guidance.positions == positions == 6
    assert guided.guidance.loss.item() == pytest.approx(expected, abs=1e-10)
    assert guided.objective.item() == pytest.approx(plain.objective.item() + 0.3 * expected, abs=1e-10)
    assert guided.nll.item() == plain.nll.item()


@pytest.mark.parametrize("name", GUIDED)
def test_gradients_agree_with_finite_differences(name: str) -> None:
    """Of the guided part alone, in a random direction of every parameter."""
    model = guided_model(name)
    batch = linked_batch(model)

    def guidance() -> float:
        found = model.loss(batch, guided_alignment=1.0).guidance
        assert found is not None
        return found.loss.item()

    gradients = []
    for weight in (0.0, 1.0):
        model.zero_grad()
        model.loss(batch, guided_alignment=weight).objective.backward()
        gradients.append([torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in model.parameters()])
    generator = torch.Generator().manual_seed(7)
    moved = 0
    for (key, parameter), plain, guided in zip(model.named_parameters(), *gradients, strict=True):
        direction = torch.randn(parameter.shape, dtype=torch.float64, generator=generator)
        if key in ("source.weight", "target.weight"):
            direction[0] = 0  # padding stays zero
        along = ((guided - plain) * direction).sum().item()
        values = []
        for sign in (1, -2):
            with torch.no_grad():
                parameter += sign * 1e-5 * direction
            values.append(guidance())
        with torch.no_grad():
            parameter += 1e-5 * direction
        assert along == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-4, abs=1e-6), key
        moved += abs(along) > 1e-4
    assert moved > 3


def test_links_outside_a_window_add_neither_loss_nor_gradient() -> None:
    weights = torch.tensor([[[0.0, 0.25, 0.75], [0.5, 0.5, 0.0]]], requires_grad=True)
    links = BatchLinks(*np.array([(0, 0, 0), (0, 1, 0), (0, 2, 1)], np.int64).T)
    found = guided_loss(weights, links, 0)
    found.loss.backward()
    assert found.loss.item() == pytest.approx(-0.5 * np.log(0.25))
    assert found.positions == 2
    assert weights.grad is not None
    assert weights.grad.tolist() == [[[0.0, -0.5 / 0.25, 0.0], [0.0, 0.0, 0.0]]]


def test_a_weight_near_zero_still_has_its_gradient() -> None:
    energies = torch.tensor([[[-60.0, 0.0]]], requires_grad=True)
    links = BatchLinks(*np.zeros((3, 1), np.int64))
    guided_loss(torch.softmax(energies, -1), links, 0).loss.backward()
    assert energies.grad is not None
    assert energies.grad.flatten().tolist() == pytest.approx([-1.0, 1.0])
    assert torch.tensor(EPSILON) > 0  # in float32 too


def test_a_batch_without_a_single_link_has_no_such_loss() -> None:
    model = guided_model("rnnsearch")
    batch = replace(make_batch(model, PAIRS), links=BatchLinks(*np.zeros((3, 0), np.int64)))
    loss = model.loss(batch, guided_alignment=1.0)
    loss.objective.backward()
    assert loss.guidance is not None
    assert (loss.guidance.loss.item(), loss.guidance.positions) == (0.0, 0)
    assert loss.objective.item() == loss.nll.item()
