"""Recorded unrollings have the loss and the gradients of plain ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman.data.batches import Batch
from dragoman.model import recorded
from dragoman.model.dropout import Dropout
from dragoman.model.translation import TranslationModel
from dragoman.training.objective import Objective, accumulate_gradients
from tests.model.compositions import MODELS, PAIRS, build_scaled, every_model, make_batch
from tests.model.tape import Tapes

SAME_SHAPES = [(source[::-1], target[::-1]) for source, target in PAIRS]
OTHER_SHAPES = PAIRS[:2]


@every_model
def test_the_loss_and_gradients_are_those_of_the_plain_unrolling(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(MODELS[name](), monkeypatch)


@every_model
def test_a_batch_that_is_filled_up_has_the_same_loss(name: str) -> None:
    """As batches are that will be recorded."""
    model = MODELS[name]().eval()
    batch = make_batch(model, PAIRS)
    source, target = (np.pad(ids, ((0, 0), (0, 5))) for ids in (batch.source, batch.target))
    wide, narrow = model.loss(replace(batch, source=source, target=target)), model.loss(batch)
    assert wide.nll.item() == pytest.approx(narrow.nll.item(), rel=1e-6)


def test_a_replay_drops_the_units_that_the_plain_unrolling_would() -> None:
    model, tapes = build_scaled("standard").train(), Tapes()
    model.record(tapes)
    batch = make_batch(model, PAIRS)
    losses = []
    for seed in (1, 1, 1, 1, 2, 1):
        torch.manual_seed(seed)
        objective = model.loss(batch).objective
        objective.backward()
        losses.append(objective.item())
    assert tapes.replayed == 2 * (len(losses) - recorded.AFTER)
    assert losses[:4] == [pytest.approx(losses[0], rel=1e-6)] * 4
    assert losses[5] == pytest.approx(losses[0], rel=1e-6) != losses[4]


def test_a_batch_may_not_come_before_the_last_one_has_gone_back() -> None:
    model = build_scaled("standard").train()
    model.record(Tapes())
    losses = [model.loss(make_batch(model, PAIRS)).objective for _ in range(recorded.AFTER + 2)]
    with pytest.raises(AssertionError, match="another batch has overwritten"):
        losses[-2].backward()


def test_shapes_beyond_the_most_that_are_recorded_are_unrolled_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "MOST", 1)
    model, tapes = build_scaled("standard").train(), Tapes()
    model.record(tapes)
    for pairs in 2 * (recorded.AFTER + 1) * [PAIRS, OTHER_SHAPES]:
        model.loss(make_batch(model, pairs)).objective.backward()
    assert tapes.recorded == 2  # there and back


def test_what_asks_for_no_gradient_is_not_replayed() -> None:
    model, tapes = build_scaled("standard").train(), Tapes()
    model.record(tapes)
    batch = make_batch(model, PAIRS)
    for _ in range(recorded.AFTER + 1):
        model.loss(batch).objective.backward()
    before = tapes.replayed
    with torch.no_grad():
        model.loss(batch)
    model.eval().loss(batch)
    model.force(batch)
    assert tapes.replayed == before > 0


def _compare(model: TranslationModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two updates of three batches of two shapes, by weights that change in between."""
    monkeypatch.setattr(recorded, "AFTER", 1)
    for module in model.modules():
        if isinstance(module, Dropout):
            module.probability = 0.0
    begin = {name: weight.clone() for name, weight in model.state_dict().items()}
    batches = [make_batch(model, pairs) for pairs in (PAIRS, SAME_SHAPES, OTHER_SHAPES)]
    tapes = Tapes()
    plain = [_update(model.train(), batches) for _ in range(2)]
    model.load_state_dict(begin)
    model.record(tapes)
    replayed = [_update(model, batches) for _ in range(2)]
    # Recorded when they come again: the first shape, of which there are two batches, in the first update.
    assert (tapes.recorded, tapes.replayed) == (2 * 2, 2 * (1 + 2 + 1))
    for ours, expected in zip(replayed, plain, strict=True):
        assert ours.keys() == expected.keys()
        for name, value in expected.items():
            torch.testing.assert_close(ours[name], value, rtol=1e-5, atol=1e-7, msg=lambda text, name=name: name + text)


def _update(model: TranslationModel, batches: list[Batch]) -> dict[str, Tensor]:
    """The loss and all gradients of one update."""
    totals = accumulate_gradients(model, batches, Objective(label_smoothing=0.1))
    gradients = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
    with torch.no_grad():
        for weight in model.parameters():
            if weight.grad is not None:
                weight -= 0.1 * weight.grad
    model.zero_grad()
    return {"loss": totals.objective, **gradients}
