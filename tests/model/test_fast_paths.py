"""What is computed in a faster form than plain automatic differentiation has the same values and gradients."""

from __future__ import annotations

import pytest

from dragoman.model.translation import TranslationModel
from tests.model.compositions import MODELS, every_model, make_batch
from tests.model.plain import use_plain_operations

PAIRS = [
    ([4, 9, 12, 5, 8, 7, 6, 16], [7, 5, 9, 11]),
    ([6, 4], [8, 16, 4, 4, 10, 6]),
    ([11, 10, 9, 8, 7, 6, 5], [15, 14]),
    ([13, 13], []),
]


@every_model
def test_the_loss_and_gradients_are_those_of_the_plain_loop_in_float32(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _compare(MODELS[name](), monkeypatch)


def _compare(model: TranslationModel, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = make_batch(model.eval(), PAIRS)
    results = []
    for plain in (False, True):
        with monkeypatch.context() as patch:
            if plain:
                use_plain_operations(patch)
            model.zero_grad()
            loss = model.loss(batch, 0.1)
            loss.objective.backward()
            results.append((loss, {key: weight.grad for key, weight in model.named_parameters()}))
    (fast, fast_gradients), (plain_loss, plain_gradients) = results
    assert fast.objective.item() == pytest.approx(plain_loss.objective.item(), rel=1e-5)
    assert fast.nll.item() == pytest.approx(plain_loss.nll.item(), rel=1e-5)
    for key, gradient in plain_gradients.items():
        ours = fast_gradients[key]
        assert gradient is not None, key
        assert ours is not None, key
        assert (ours - gradient).norm() <= 1e-5 * gradient.norm() + 1e-7, key
