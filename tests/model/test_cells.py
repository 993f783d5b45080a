from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.model.cells import GRU, LSTM
from tests.model import reference


@pytest.mark.parametrize("reset", ["before", "after"])
@pytest.mark.parametrize("update", ["keep", "write"])
def test_gru_follows_the_equations(reset: str, update: str) -> None:
    cell, (inputs, h) = _random(GRU(5, reset, update)), _draw(15, 5)  # type: ignore[arg-type]
    (new,) = cell.bind(_same)(_tensor(inputs), (_tensor(h),))
    gates, candidate = _array(cell.recurrent_gates.weight), _array(cell.recurrent.weight)
    expected = reference.gru(inputs, h, gates, candidate, reset=reset, update=update)
    np.testing.assert_allclose(_array(new)[0], expected, atol=1e-10)


def test_lstm_follows_the_equations() -> None:
    cell, (inputs, h, c) = _random(LSTM(5)), _draw(20, 5, 5)
    new_h, new_c = cell.bind(_same)(_tensor(inputs), (_tensor(h), _tensor(c)))
    expected = reference.lstm(inputs, h, c, _array(cell.recurrent_gates.weight))
    np.testing.assert_allclose(_array(new_h)[0], expected[0], atol=1e-10)
    np.testing.assert_allclose(_array(new_c)[0], expected[1], atol=1e-10)


@pytest.mark.parametrize(("update", "expected"), [("keep", 0.88828), ("write", 0.89707)])
def test_gru_gives_the_scalars_computed_by_hand(update: str, expected: float) -> None:
    """h = 0.9, Wx = 0.5, U = 1, r = 1, z = 0.2: the candidate is tanh(1.4) = 0.88535."""
    cell = GRU(1, "before", update).double()  # type: ignore[arg-type]
    torch.nn.init.zeros_(cell.recurrent_gates.weight)
    torch.nn.init.ones_(cell.recurrent.weight)
    inputs = torch.tensor([[100.0, np.log(0.2 / 0.8), 0.5]], dtype=torch.float64)
    (new,) = cell.bind(_same)(inputs, (torch.tensor([[0.9]], dtype=torch.float64),))
    assert new.item() == pytest.approx(expected, abs=1e-5)


def test_keep_is_write_with_the_update_gate_negated() -> None:
    keep, write = _random(GRU(4, "before", "keep")), GRU(4, "before", "write").double()
    write.load_state_dict(keep.state_dict())
    with torch.no_grad():
        write.recurrent_gates.weight[4:] *= -1
    inputs, h = _draw(12, 4)
    turned = inputs.copy()
    turned[4:8] *= -1
    (kept,), (written,) = (
        keep.bind(_same)(_tensor(inputs), (_tensor(h),)),
        write.bind(_same)(_tensor(turned), (_tensor(h),)),
    )
    np.testing.assert_allclose(_array(kept), _array(written), atol=1e-12)


def test_reset_before_and_after_differ_as_computed_by_hand() -> None:
    """U swaps two units, r = (1, 0), h = (0.5, -0.3): before gives (0, 0.5), after (-0.3, 0)."""
    for reset, expected in (("before", (0.0, 0.5)), ("after", (-0.3, 0.0))):
        cell = GRU(2, reset, "write").double()  # type: ignore[arg-type]
        torch.nn.init.zeros_(cell.recurrent_gates.weight)
        with torch.no_grad():
            cell.recurrent.weight.copy_(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
        inputs = torch.tensor([[100.0, -100.0, 100.0, 100.0, 0.0, 0.0]], dtype=torch.float64)
        (new,) = cell.bind(_same)(inputs, (torch.tensor([[0.5, -0.3]], dtype=torch.float64),))
        np.testing.assert_allclose(_array(new)[0], np.tanh(expected), atol=1e-10)


def test_two_directions_side_by_side_are_two_cells() -> None:
    both = _random(GRU(3, "before", "write", directions=2))
    inputs = torch.randn(2, 4, 9, dtype=torch.float64)
    h = torch.randn(2, 4, 3, dtype=torch.float64)
    (together,) = both.bind(_same)(inputs, (h,))
    for direction in range(2):
        one = GRU(3, "before", "write").double()
        one.load_state_dict({name: weight[direction] for name, weight in both.state_dict().items()})
        (alone,) = one.bind(_same)(inputs[direction], (h[direction],))
        torch.testing.assert_close(together[direction], alone, atol=1e-12, rtol=0)


def test_states_stay_float32_when_products_are_bfloat16() -> None:
    cell = GRU(4, "before", "write")
    torch.nn.init.normal_(cell.recurrent.weight)
    torch.nn.init.normal_(cell.recurrent_gates.weight)
    for module in (cell.recurrent, cell.recurrent_gates):
        module.precision = torch.bfloat16
    inputs = torch.zeros(2, 12, dtype=torch.bfloat16)
    (new,) = cell.bind(_same)(inputs, cell.zero(inputs))
    assert new.dtype == torch.float32


def _same(x: torch.Tensor) -> torch.Tensor:
    return x


def _random(cell: torch.nn.Module) -> torch.nn.Module:
    torch.manual_seed(1)
    for parameter in cell.parameters():
        torch.nn.init.normal_(parameter)
    return cell.double()


def _draw(*sizes: int) -> list[np.ndarray]:
    rng = np.random.default_rng(2)
    return [rng.normal(size=size) for size in sizes]


def _tensor(x: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(x)[None]


def _array(x: torch.Tensor) -> np.ndarray:
    return x.detach().numpy()
