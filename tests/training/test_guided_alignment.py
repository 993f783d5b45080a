"""Attention learns where to look from links, long before it finds out by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.config.building import override
from dragoman.config.schema import Config, OptimiserConfig, TrainingConfig
from dragoman.data.batches import BEGINNING, Batches, Budget
from dragoman.data.store import Links, RaggedIds, Store
from dragoman.errors import ConfigError
from dragoman.model.translation import TranslationModel
from dragoman.training.log import read_log
from dragoman.training.objective import TrainingObjective, accumulate_gradients
from dragoman.training.optimisers import build_optimiser

Make = Callable[..., Any]


KEYS = "decoder.attention.score.annotation.weight"


def reversing_store(pairs: int = 200) -> Store:
    """Lines of five words; the target is the source backwards, and the links say so."""
    words = np.random.default_rng(5).integers(4, 16, (pairs, 5))
    offsets = np.arange(0, 5 * pairs + 1, 5)
    links = np.array([(4 - position, position) for position in range(5)] * pairs)
    sides = RaggedIds(words.ravel(), offsets), RaggedIds(words[:, ::-1].ravel(), offsets)
    return Store(*sides, ("", ""), {}, Links(links, offsets))


def weight_on_links(model: TranslationModel, store: Store) -> float:
    """Mean of the alignment weights that target words give to the words they are linked with."""
    batch, _ = next(Batches(store, Budget("sentences", 200), pool=1, seed=2, source_eos=True).from_position(BEGINNING))
    model.eval()
    weights = model.force(batch).weights
    assert weights is not None
    assert batch.links is not None
    return weights.numpy()[batch.links.rows, batch.links.target, batch.links.source].mean().item()


@pytest.fixture
def model(tiny: Make) -> TranslationModel:
    """With first weights large enough to learn from at once."""
    model: TranslationModel = tiny(dropout=0.0)
    rng = np.random.default_rng(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.tensor(rng.normal(size=parameter.shape) * 0.3))
    return model


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_the_weights_follow_the_links_after_a_few_updates(model: TranslationModel, weight: float) -> None:
    store = reversing_store()
    optimiser = build_optimiser(model.parameters(), OptimiserConfig(learning_rate=0.02))
    batches = Batches(store, Budget("sentences", 20), pool=5, seed=1, source_eos=True).from_position(BEGINNING)
    for _ in range(80):
        batch, _ = next(batches)
        accumulate_gradients(model, [batch], TrainingObjective(guided_alignment=weight))
        optimiser.step()
        optimiser.clear_gradients()
    found = weight_on_links(model, store)
    assert found > 0.9 if weight else found < 0.6


def test_its_loss_is_divided_as_that_of_words_is(model: TranslationModel) -> None:
    """By tokens, sentences or nothing, over all batches of an update together."""
    store = reversing_store(20)
    stream = Batches(store, Budget("sentences", 5), pool=5, seed=1, source_eos=True).from_position(BEGINNING)
    batches = [next(stream)[0] for _ in range(3)]
    gradients = {}
    for unit in ("tokens", "sentences", "none"):
        model.zero_grad()
        totals = accumulate_gradients(model, batches, TrainingObjective(unit, guided_alignment=0.5))  # type: ignore[arg-type]
        gradients[unit] = {name: parameter.grad for name, parameter in model.named_parameters()}[KEYS].clone()
        assert totals.linked == 75
        assert totals.objective.item() == pytest.approx(totals.nll.item() + 0.5 * float(totals.guidance))
    rounding = 1e-6 * gradients["none"].abs().max().item()  # of float32; small ones are differences of large ones
    assert rounding > 0
    torch.testing.assert_close(gradients["tokens"] * (3 * 5 * 6), gradients["none"], rtol=1e-4, atol=rounding)
    torch.testing.assert_close(gradients["sentences"] * (3 * 5), gradients["none"], rtol=1e-4, atol=rounding)


def test_the_log_shows_its_loss_per_linked_word(harness: Make, recipe: Callable[..., TrainingConfig]) -> None:
    run = harness()
    run.run(recipe(epochs=8.0, guided_alignment=0.5, optimiser__learning_rate=0.03))
    lines = [record for record in read_log(run.folder.log) if record["kind"] == "train"]
    assert lines[0]["alignment_loss"] == pytest.approx(np.log(3), abs=0.3)  # evenly over two to four positions
    assert lines[-1]["alignment_loss"] < 0.7 * lines[0]["alignment_loss"]
    assert "alignment 1." in run.screen.getvalue()


@pytest.mark.parametrize("context", ["none", "fixed"])
def test_a_model_without_attention_cannot_be_guided(context: str) -> None:
    settings = [f"model.decoder.context={context}", "training.guided_alignment=0.5"]
    with pytest.raises(
        ConfigError, match=f"there is no attention with model.decoder.context: {context}; use attended, or 0"
    ):
        override(Config(), settings)


def test_without_it_the_log_has_no_such_figure(harness: Make, recipe: Callable[..., TrainingConfig]) -> None:
    run = harness()
    run.run(recipe(epochs=1.0))
    assert not any("alignment_loss" in record for record in read_log(run.folder.log))
