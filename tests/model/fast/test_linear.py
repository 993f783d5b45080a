"""The product is the plain one by either library, on every kind of operand the model hands it."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from dragoman.model.fast import linear as module
from dragoman.model.fast.linear import aligned, matmul


@pytest.fixture(params=[True, False], ids=["oneDNN", "MKL"])
def _library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param and not torch.backends.mkldnn.is_available():
        pytest.skip("this torch has no oneDNN")
    monkeypatch.setattr(module, "_mkl_is_slow", lambda: request.param)


@pytest.mark.usefixtures("_library")
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("shape", "added"),
    [*itertools.product([(0,), (1,), (5,), (64,)], ["nothing", "bias", "rows"]), ((3, 4), "nothing"), ((3, 4), "bias")],
)
def test_a_product_is_the_plain_one(shape: tuple[int, ...], turned: bool, added: str) -> None:
    x, weight = _random(*shape, 7), _random(7, 9).t() if turned else _random(9, 7)
    plus = {"nothing": None, "bias": _random(9), "rows": _random(*shape, 9)}[added]
    _assert_near(matmul(x, weight, plus), x, weight, plus)


@pytest.mark.usefixtures("_library")
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("added", ["nothing", "bias", "rows"])
def test_weights_side_by_side_take_their_own_rows(turned: bool, added: str) -> None:
    x, weight = _random(2, 5, 7), _random(2, 7, 9).mT if turned else _random(2, 9, 7)
    plus = {"nothing": None, "bias": _random(2, 9), "rows": _random(2, 5, 9)}[added]
    expected = torch.stack(
        [x[d].double() @ weight[d].double().t() + (0 if plus is None else plus[d].double()) for d in range(2)]
    )
    torch.testing.assert_close(matmul(x, weight, plus).double(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.usefixtures("_library")
def test_weights_and_rows_with_gaps_are_multiplied_too() -> None:
    x, weight = _random(5, 20)[:, :7], _random(9, 20)[:, :7]
    _assert_near(matmul(x, weight), x, weight, None)


@pytest.mark.parametrize("precision", [torch.float64, torch.bfloat16])
def test_other_types_stay_what_they_are(precision: torch.dtype) -> None:
    x, weight = _random(3, 7).to(precision), _random(9, 7).to(precision)
    result = matmul(x, weight)
    assert result.dtype == precision
    torch.testing.assert_close(result.double(), x.double() @ weight.double().t(), atol=0.05, rtol=0.01)


def test_rows_begin_at_whole_cache_lines() -> None:
    assert aligned(9769, torch.empty(0)) == 9776
    assert aligned(9769, torch.empty(0, dtype=torch.bfloat16)) == 9792
    assert aligned(64, torch.empty(0)) == 64


def _random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def _assert_near(result: Tensor, x: Tensor, weight: Tensor, plus: Tensor | None) -> None:
    expected = x.double() @ weight.double().t() + (0 if plus is None else plus.double())
    assert result.shape == expected.shape
    torch.testing.assert_close(result.double(), expected, atol=1e-5, rtol=1e-5)
