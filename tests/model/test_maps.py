from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from dragoman.model.maps import ROUND, Map, bind_sum, padding


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("rows", [1, 5, ROUND, ROUND + 1])
def test_map_is_the_linear_map_for_any_number_of_rows(rows: int, bias: bool) -> None:
    map = _random(Map(4, 3, bias=bias))
    x = torch.randn(rows, 4, dtype=torch.float64)
    torch.testing.assert_close(map(x), functional.linear(x, map.weight, map.bias))


def test_maps_side_by_side_each_take_their_own_rows() -> None:
    map = _random(Map(4, 3, directions=2, bias=True))
    x = torch.randn(2, 5, 6, 4, dtype=torch.float64)
    expected = torch.stack([functional.linear(x[d], map.weight[d], map.bias[d]) for d in range(2)])
    torch.testing.assert_close(map(x), expected)


@pytest.mark.parametrize("directions", [1, 2])
def test_bound_map_has_the_gradients_of_the_plain_product_at_every_step(directions: int) -> None:
    map = _random(Map(4, 4, directions=directions))
    shape = (directions, 3, 4) if directions > 1 else (3, 4)
    x, plus = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for _ in range(2))

    def unroll(product: object) -> torch.Tensor:
        h = x
        for _ in range(5):
            h = torch.tanh(product(h))  # type: ignore[operator]
        return (h * torch.arange(h.numel()).view(shape)).sum()

    step = map.bind()
    collected = torch.autograd.grad(unroll(lambda h: step(h, plus)), (map.weight, x, plus))
    plain = torch.autograd.grad(unroll(lambda h: h @ map.weight.mT + plus), (map.weight, x, plus))
    for ours, theirs in zip(collected, plain, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("directions", [1, 2])
def test_sum_of_bound_maps_has_the_gradients_of_the_plain_sum(directions: int) -> None:
    wide, square = (_random(Map(n_in, 4, directions=directions, bias=True)) for n_in in (3, 4))
    shape = (directions, 2) if directions > 1 else (2,)
    below = [torch.randn(*shape, 3, dtype=torch.float64, requires_grad=True) for _ in range(5)]
    start = torch.randn(*shape, 4, dtype=torch.float64, requires_grad=True)
    tensors = [*wide.parameters(), *square.parameters(), *below, start]

    def unroll(summed: Callable[[Tensor, Tensor], Tensor]) -> tuple[Tensor, ...]:
        h = start
        for x in below:
            h = torch.tanh(summed(x, h))
        return torch.autograd.grad((h * torch.arange(h.numel()).view(h.shape)).sum(), tensors)

    bound = bind_sum([wide, square])
    ours, plain = unroll(lambda x, h: bound([x, h])), unroll(lambda x, h: wide(x) + square(h))
    for one, other in zip(ours, plain, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=1e-12)


def test_a_step_that_nothing_follows_from_has_no_part_in_the_gradient() -> None:
    map = _random(Map(4, 4))
    x = torch.randn(3, 4, dtype=torch.float64)
    step = map.bind()
    used, _unused = step(x), step(1e9 * x)
    used.sum().backward()
    torch.testing.assert_close(map.weight.grad, x.sum(0).expand(4, 4))


@pytest.mark.parametrize("directions", [1, 2])
def test_bound_map_adds_its_bias_with_a_gradient(directions: int) -> None:
    map = _random(Map(4, 3, directions=directions, bias=True))
    x = torch.randn(2, 2, 4, dtype=torch.float64) if directions > 1 else torch.randn(2, 4, dtype=torch.float64)
    torch.testing.assert_close(map.bind()(x), map(x))
    map.bind()(x).sum().backward()
    assert map.bias is not None
    assert map.bias.grad is not None
    torch.testing.assert_close(map.bias.grad, torch.full_like(map.bias, 2.0))


@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("rows", [1, ROUND, ROUND + 1])
def test_padded_products_are_near_the_exact_ones(rows: int, directions: int) -> None:
    map = _random(Map(4, 3, directions=directions, bias=True)).float()
    x = torch.randn(directions, rows, 4) if directions > 1 else torch.randn(rows, 4)
    exact = map(x)
    map.precision = torch.bfloat16
    assert map(x).shape == exact.shape
    torch.testing.assert_close(map(x).float(), exact, atol=0.1, rtol=0.05)


def test_bfloat16_products_have_float32_gradients() -> None:
    map = Map(8, 8)
    torch.nn.init.normal_(map.weight)
    map.precision = torch.bfloat16
    x = torch.randn(4, 8)
    y = map.bind()(x)
    assert y.dtype == torch.bfloat16
    y.float().sum().backward()
    assert map.weight.grad is not None
    assert map.weight.grad.dtype == torch.float32
    torch.testing.assert_close(map.weight.grad, x.sum(0).expand(8, 8), atol=0.1, rtol=0.02)


@pytest.mark.parametrize("rows", [1, ROUND - 1, ROUND, 3 * ROUND + 7])
def test_padding_makes_a_multiple(rows: int) -> None:
    missing = padding(rows, torch.bfloat16)
    assert 0 <= missing < ROUND
    assert (rows + missing) % ROUND == 0


def test_float32_products_are_not_padded() -> None:
    assert padding(5, torch.float32) == 0


def test_an_unrolling_is_forgotten_when_it_goes_out_of_use() -> None:
    """The collector and its anchor must not keep each other, and a whole batch, alive."""
    import gc
    import weakref

    map = _random(Map(4, 4))
    x = torch.randn(2, 4, dtype=torch.float64)
    gc.disable()
    try:
        y = map.bind()(x).sum()
        node = weakref.ref(y.grad_fn.next_functions[0][0])  # type: ignore[union-attr]
        y.backward()
        del y
        assert node() is None
    finally:
        gc.enable()


def _random(map: Map) -> Map:
    torch.manual_seed(1)
    for parameter in map.parameters():
        torch.nn.init.normal_(parameter)
    return map.double()
