from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.model.assembly import build
from dragoman.text.vocabulary import BOS, PAD
from tests.compositions import COMPOSITIONS, PAIRS, VOCABULARY, make_batch, model_config, small_model

every_composition = pytest.mark.parametrize("name", COMPOSITIONS)


@every_composition
def test_gradients_agree_with_finite_differences(name: str) -> None:
    """In a random direction of each parameter, label smoothing included."""
    model = small_model(name)
    batch = make_batch(model, PAIRS)
    model.loss(batch, 0.1).objective.backward()
    generator = torch.Generator().manual_seed(7)
    for key, parameter in model.named_parameters():
        assert parameter.grad is not None, key
        direction = torch.randn(parameter.shape, dtype=torch.float64, generator=generator)
        if key.startswith(("source.", "target.")) and parameter.shape[0] == VOCABULARY:
            direction[PAD] = 0  # its vector stays zero, so its gradient is not taken
        if key.startswith("target.") and model.output.weight is parameter:
            direction[PAD] = 0
        along = (parameter.grad * direction).sum().item()
        step, losses = 1e-5, []
        for sign in (1, -1):
            with torch.no_grad():
                parameter += sign * step * direction
                losses.append(model.loss(batch, 0.1).objective.item())
                parameter -= sign * step * direction
        assert along == pytest.approx((losses[0] - losses[1]) / (2 * step), rel=1e-5, abs=1e-6), key


@every_composition
def test_a_sentence_has_the_same_loss_alone_and_in_a_padded_batch(name: str) -> None:
    model = small_model(name)
    together = model.force(make_batch(model, PAIRS))
    for row, pair in enumerate(PAIRS):
        alone = model.force(make_batch(model, [pair]))
        ours, expected = together.log_probabilities[row], alone.log_probabilities[0]
        torch.testing.assert_close(ours[: len(expected)], expected, atol=1e-12, rtol=0)
        assert (ours[len(expected) :] == 0).all()
    total = model.loss(make_batch(model, PAIRS))
    assert total.nll.item() == pytest.approx(-together.log_probabilities.sum().item())
    assert (total.tokens, total.sentences) == (sum(len(pair[1]) + 1 for pair in PAIRS), len(PAIRS))


@every_composition
def test_steps_one_by_one_give_the_probabilities_and_weights_of_the_unrolling(name: str) -> None:
    model = small_model(name)
    batch = make_batch(model, PAIRS)
    forced = model.force(batch)
    start = model.start(batch.source, batch.source_lengths)
    bound, state = model.decoder.prepare(start.memory, len(PAIRS)), start.state
    previous = torch.full((len(PAIRS),), BOS)
    for t in range(batch.target.shape[1]):
        step = model.step(previous, state, bound)
        state, previous = step.state, torch.from_numpy(batch.target[:, t])
        for row in np.flatnonzero(t < batch.target_lengths):
            ours = step.log_probabilities[row, batch.target[row, t]]
            torch.testing.assert_close(ours, forced.log_probabilities[row, t], atol=1e-12, rtol=0)
            if forced.weights is not None and step.weights is not None:
                torch.testing.assert_close(step.weights[row], forced.weights[row, t], atol=1e-12, rtol=0)


@every_composition
def test_bfloat16_products_change_the_loss_little_and_leave_parameters_in_float32(name: str) -> None:
    model = small_model(name).float()
    batch = make_batch(model, PAIRS)
    exact = model.loss(batch).nll.item()
    model.set_precision(torch.bfloat16)
    loss = model.loss(batch)
    loss.objective.backward()
    assert loss.nll.item() == pytest.approx(exact, rel=0.02)
    assert {parameter.grad.dtype for parameter in model.parameters() if parameter.grad is not None} == {torch.float32}
    with model.full_precision():
        assert model.loss(batch).nll.item() == exact


def test_dropout_acts_in_training_only() -> None:
    torch.manual_seed(1)
    model = build(model_config(["dropout.embedding=0.5", "dropout.words=0.3", "dropout.readout=0.5"]), 17, 17).double()
    batch = make_batch(model, PAIRS)
    losses = {model.train().loss(batch).nll.item() for _ in range(3)}
    assert len(losses) == 3
    assert len({model.eval().loss(batch).nll.item() for _ in range(3)}) == 1


def test_dropout_of_the_fed_readout_leaves_what_enters_the_softmax() -> None:
    torch.manual_seed(1)
    model = build(model_config([*COMPOSITIONS["luong"], "dropout.input_feed=0.5"]), VOCABULARY, VOCABULARY).double()
    batch = make_batch(model, PAIRS)
    fed, whole = model.train().force(batch).log_probabilities, model.eval().force(batch).log_probabilities
    assert torch.equal(fed[:, 0], whole[:, 0])  # nothing is fed to the first step
    assert not torch.isclose(fed[0, 1], whole[0, 1])


def test_tied_matrices_are_one() -> None:
    model = build(model_config(["embedding.tied=all"]), VOCABULARY, VOCABULARY)
    assert model.output.weight is model.target.weight is model.source.weight


def test_the_same_seed_draws_the_same_weights() -> None:
    models = []
    for _ in range(2):
        torch.manual_seed(4)
        models.append(build(model_config(["initialisation=orthogonal"]), VOCABULARY, VOCABULARY).state_dict())
    assert all(torch.equal(models[0][name], models[1][name]) for name in models[0])


def test_bahdanau_starts_with_uniform_attention_and_orthogonal_recurrences() -> None:
    torch.manual_seed(1)
    model = build(model_config(["initialisation=orthogonal", "init_scale=0.01"]), VOCABULARY, VOCABULARY)
    weights = model.force(make_batch(model, PAIRS)).weights
    assert weights is not None
    torch.testing.assert_close(weights[0, 0, :5], torch.full((5,), 1 / 5))
    recurrent = model.decoder.layers[0].cell.recurrent.weight
    torch.testing.assert_close(recurrent @ recurrent.T, torch.eye(6), atol=1e-5, rtol=0)
