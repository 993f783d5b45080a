from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.config.schema import TrainingConfig
from dragoman.data.batches import Batch, Budget, batch_ids
from dragoman.model.translation import TranslationModel
from dragoman.text.vocabulary import BOS, EOS, PAD, UNK
from dragoman.training import updater
from dragoman.training.objective import TrainingObjective, UpdateTotals, accumulate_gradients, sample_previous_words

Make = Callable[..., Any]


def batch_of(sources: list[list[int]], targets: list[list[int]]) -> Batch:
    (batch,) = batch_ids(sources, targets, Budget("sentences", 10**6), source_eos=True)
    return batch


def many(count: int) -> Batch:
    """The same pair again and again."""
    return batch_of([[5, 6, 7]] * count, [[8, 9, 10]] * count)


@pytest.fixture
def model(tiny: Make) -> TranslationModel:
    """With distributions far from uniform, and in training mode: dropout must play no part."""
    model: TranslationModel = tiny(dropout=0.5)
    rng = np.random.default_rng(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.tensor(rng.normal(size=parameter.shape) * 0.5))
    return model.train()


def after(model: TranslationModel, prefix: list[int]) -> torch.Tensor:
    """The distribution over words after some words, [V], computed over the known target and not step by step."""
    distribution = torch.zeros(16)
    model.eval()
    for word in (UNK, *range(4, 16)):
        forced = model.force(batch_of([[5, 6, 7]], [[*prefix, word]]))
        distribution[word] = forced.log_probabilities[0, len(prefix)].exp()
    model.train()
    return distribution / distribution.sum()


def test_samples_are_drawn_from_the_distribution_after_the_words_before_them(model: TranslationModel) -> None:
    torch.manual_seed(0)
    count = 20_000
    words = sample_previous_words(model, many(count), 1.0)
    first = torch.bincount(words[:, 1], minlength=16) / count
    torch.testing.assert_close(first, after(model, []), rtol=0, atol=4 * math.sqrt(0.25 / count))
    usual = int(first.argmax())
    seconds = words[words[:, 1] == usual, 2]
    second = torch.bincount(seconds, minlength=16) / len(seconds)
    torch.testing.assert_close(second, after(model, [usual]), rtol=0, atol=4 * math.sqrt(0.25 / len(seconds)))
    assert (second - first).abs().max() > 0.05  # the two could be told apart


def test_what_search_never_reads_is_never_drawn(model: TranslationModel) -> None:
    with torch.no_grad():
        model.output.bias[[PAD, BOS, EOS]] = 50.0  # type: ignore[index]
    words = sample_previous_words(model, many(50), 1.0)
    assert (words[:, 0] == BOS).all()
    assert not torch.isin(words[:, 1:], torch.tensor([PAD, BOS, EOS])).any()


def test_the_share_is_that_of_the_words_replaced(model: TranslationModel) -> None:
    torch.manual_seed(0)
    with torch.no_grad():
        model.output.bias[8:11] = -50.0  # type: ignore[index]  # a sample is never the known word
    batch = many(5000)
    replaced = sample_previous_words(model, batch, 0.3) != model.previous_words(batch)
    assert not replaced[:, 0].any()
    for position in (1, 2, 3):
        assert replaced[:, position].float().mean().item() == pytest.approx(0.3, abs=0.03)


def test_no_share_leaves_the_known_words(model: TranslationModel) -> None:
    batch = batch_of([[5, 6], [7]], [[8, 9, 10], [11]])
    words = sample_previous_words(model, batch, 0.0)
    assert torch.equal(words, model.previous_words(batch))
    rows = sorted(words.tolist())
    assert rows == [[BOS, 8, 9, 10], [BOS, 11, EOS, PAD]]


def test_the_model_is_left_as_it_was(model: TranslationModel) -> None:
    words = sample_previous_words(model, many(3), 0.5)
    assert all(module.training for module in model.modules())
    assert not words.requires_grad
    assert all(parameter.grad is None for parameter in model.parameters())


def test_the_loss_is_that_of_the_known_targets_after_the_mixed_words(model: TranslationModel) -> None:
    model.eval()
    batch = batch_of([[5, 6, 7], [8]], [[8, 9], [12, 11]])
    mixed = torch.tensor([[BOS, 13, 9], [BOS, 12, 4]])
    loss = model.loss(batch, previous=mixed)
    start = model.start(batch.source, batch.source_lengths)
    prepared, state = model.decoder.prepare(start.memory, 2), start.state
    total = 0.0
    for t in range(3):
        step = model.step(mixed[:, t], state, prepared)
        state = step.state
        total -= step.log_probabilities.gather(1, torch.from_numpy(batch.target[:, t : t + 1])).sum().item()
    assert loss.nll.item() == pytest.approx(total, rel=1e-6)
    assert abs(loss.nll.item() - model.loss(batch).nll.item()) > 0.1


def test_the_gradient_is_that_of_the_mixed_words(tiny: Make) -> None:
    model, batch = tiny(dropout=0.0), many(4)
    torch.manual_seed(1)
    accumulate_gradients(model, [batch], TrainingObjective("none", sampled=0.7))
    ours = [parameter.grad.clone() for parameter in model.parameters()]
    torch.manual_seed(1)
    model.zero_grad()
    model.loss(batch, previous=sample_previous_words(model, batch, 0.7)).objective.backward()
    assert all(torch.equal(one, other.grad) for one, other in zip(ours, model.parameters(), strict=True))


def test_the_share_grows_linearly_with_the_training(
    harness: Make, recipe: Callable[..., TrainingConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = []

    def noting(model: TranslationModel, batches: list[Batch], objective: TrainingObjective) -> UpdateTotals:
        shares.append(objective.sampled)
        return accumulate_gradients(model, batches, objective)

    monkeypatch.setattr(updater, "accumulate_gradients", noting)
    harness().run(recipe(epochs=2.0, scheduled_sampling=0.5))
    assert shares == pytest.approx([0.5 * update / 20 for update in range(20)])
