from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from dragoman.model import cells
from dragoman.model.cells import GRU, LSTM, Cell, TanhCell
from dragoman.model.dropout import keep_all
from dragoman.model.encoder import RecurrentLayer
from dragoman.model.fast import cells as fast_cells
from dragoman.model.linear import Linear
from tests.model.forms import both_forms, in_form, randomised
from tests.model.gradients import assert_gradients
from tests.model.naming import array, cell_weights
from tests.model.reference import cells as reference

B, N, M, K = 3, 4, 5, 6
"""Rows, units of the cell, of what it reads, of the context."""

Reset, Update = ("before", "after"), ("keep", "write")


@pytest.mark.parametrize("inner_bias", [False, True])
@pytest.mark.parametrize("context", ["none", "outside", "reset-gated"])
@pytest.mark.parametrize("reset", Reset)
@pytest.mark.parametrize("update", Update)
def test_gru_follows_the_equations_under_every_switch(reset: str, update: str, context: str, inner_bias: bool) -> None:
    if reset == "before" and (inner_bias or context == "reset-gated"):
        return  # nothing but U h is reset-gated
    layer, c_map = _layer(GRU(N, reset, update, inner_bias=inner_bias)), randomised(Linear(K, 3 * N))  # type: ignore[arg-type]
    x, h, c = _draw(M), _draw(N), _draw(K)
    of_words, of_context = layer.inputs(x), c_map(c)
    gated = None
    if context == "outside":
        of_words = of_words + of_context
    if context == "reset-gated":
        of_words = torch.cat((of_words[:, : 2 * N] + of_context[:, : 2 * N], of_words[:, 2 * N :]), dim=1)
        gated = of_context[:, 2 * N :]
    (new,) = layer.cell.prepare(_same)(of_words, (h,), reset_gated_input=gated)
    w = cell_weights(layer, context=c_map)
    for row in range(B):
        expected = reference.gru(
            w,
            array(x[row]),
            array(h[row]),
            None if context == "none" else array(c[row]),
            reset=reset,
            update=update,
            context_in_reset=context == "reset-gated",
        )
        np.testing.assert_allclose(array(new[row]), expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("peepholes", [False, True])
def test_lstm_follows_the_equations(peepholes: bool) -> None:
    layer, x, h, c = _layer(LSTM(N, peepholes=peepholes)), _draw(M), _draw(N), _draw(N)
    new_h, new_c = layer.cell.prepare(_same)(layer.inputs(x), (h, c))
    w = cell_weights(layer)
    assert (np.abs(w["p_o"]) > 0).all() == peepholes
    for row in range(B):
        expected_h, expected_c = reference.lstm(w, array(x[row]), array(h[row]), array(c[row]))
        np.testing.assert_allclose(array(new_h[row]), expected_h, atol=1e-10, rtol=0)
        np.testing.assert_allclose(array(new_c[row]), expected_c, atol=1e-10, rtol=0)


def test_tanh_follows_the_equation() -> None:
    layer, x, h = _layer(TanhCell(N)), _draw(M), _draw(N)
    (new,) = layer.cell.prepare(_same)(layer.inputs(x), (h,))
    for row in range(B):
        expected = reference.tanh(cell_weights(layer), array(x[row]), array(h[row]))
        np.testing.assert_allclose(array(new[row]), expected, atol=1e-10, rtol=0)


CELLS: dict[str, Callable[[int], Cell]] = {
    **{
        f"gru, {reset}, {update}": lambda directions, reset=reset, update=update: GRU(
            2, reset, update, inner_bias=reset == "after", directions=directions
        )
        for reset in Reset
        for update in Update
    },
    "lstm": lambda directions: LSTM(2, directions=directions),
    "lstm, peepholes": lambda directions: LSTM(2, peepholes=True, directions=directions),
    "tanh": lambda directions: TanhCell(2, directions=directions),
}
every_cell = pytest.mark.parametrize("name", CELLS)


@every_cell
@both_forms
def test_gradients_of_parameters_states_and_inputs_over_three_steps(name: str, fast: bool) -> None:
    cell = in_form(CELLS[name](1), fast)
    randomised(cell)
    inputs = [_draw(cell.gates, rows=2) for _ in range(3)]
    reset_gated = [_draw(2, rows=2) for _ in range(3)] if name.startswith("gru, after") else [None] * 3
    start = tuple(_draw(2, rows=2) for _ in cell.zero(inputs[0]))

    def run() -> torch.Tensor:
        step, state = cell.prepare(_same), start
        for gates, gated in zip(inputs, reset_gated, strict=True):
            state = step(gates, state, reset_gated_input=gated)
        return torch.cat(state)

    parameters = dict(cell.named_parameters())  # type: ignore[attr-defined]
    entering = {f"inputs {t}": x for t, x in enumerate(inputs)} | {f"state {n}": x for n, x in enumerate(start)}
    within = {f"reset-gated input {t}": x for t, x in enumerate(reset_gated) if x is not None}
    assert_gradients(run, {**parameters, **entering, **within})


@every_cell
@both_forms
def test_two_directions_side_by_side_are_two_cells(name: str, fast: bool) -> None:
    both = in_form(randomised(CELLS[name](2)), fast)
    inputs = torch.randn(2, B, both.gates, dtype=torch.float64)
    state = tuple(torch.randn(2, B, 2, dtype=torch.float64) for _ in both.zero(inputs))
    together = both.prepare(_same)(inputs, state)
    for direction in range(2):
        one = CELLS[name](1)
        parameters = {key: weight[direction] for key, weight in both.state_dict().items()}
        shapes = {key: weight.shape for key, weight in one.state_dict().items()}  # type: ignore[attr-defined]
        one.load_state_dict({key: weight.view(shapes[key]) for key, weight in parameters.items()})  # type: ignore[attr-defined]
        alone = one.double().prepare(_same)(inputs[direction], tuple(part[direction] for part in state))  # type: ignore[attr-defined]
        for ours, expected in zip(together, alone, strict=True):
            torch.testing.assert_close(ours[direction], expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("of", ["hidden", "last", "both"])
@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("update", Update)
def test_a_run_of_a_gru_has_the_results_and_gradients_of_its_steps(update: str, directions: int, of: str) -> None:
    cell = randomised(GRU(N, "before", update, directions=directions))  # type: ignore[arg-type]
    lead = (2,) if directions == 2 else ()
    inputs = torch.randn(*lead, 5, B, cell.gates, dtype=torch.float64, requires_grad=True)
    start = torch.randn(*lead, B, N, dtype=torch.float64, requires_grad=True)
    alive = torch.arange(5) < torch.tensor([5, 2, 3])[:, None]
    factors = torch.randn(*lead, 6, B, N, dtype=torch.float64)
    found = []
    for unroll in (cells.unroll, fast_cells.unroll):
        hidden, (last,) = unroll(cell, inputs, (start,), keep_all, alive, 2)
        parts = {"hidden": hidden, "last": last.unsqueeze(-3), "both": torch.cat((hidden, last.unsqueeze(-3)), -3)}
        loss = (parts[of] * factors[..., : parts[of].shape[-3], :, :]).sum()
        found.append((hidden, last, *torch.autograd.grad(loss, (inputs, start, *cell.parameters()))))
    for plain, fast in zip(*found, strict=True):
        torch.testing.assert_close(fast, plain, atol=1e-12, rtol=0)
    hidden, last = found[1][:2]
    torch.testing.assert_close(hidden[..., 2:, 1, :], hidden[..., 1:2, 1, :].expand(*lead, 3, N), atol=0, rtol=0)
    torch.testing.assert_close(last, hidden[..., -1, :, :], atol=0, rtol=0)


@pytest.mark.parametrize("directions", [1, 2])
def test_a_run_of_a_gru_in_bfloat16_has_gradients_near_those_in_float32(directions: int) -> None:
    cell = randomised(GRU(8, "before", "write", directions=directions)).float()
    lead = (2,) if directions == 2 else ()
    inputs = torch.randn(*lead, 4, B, cell.gates)
    start = torch.randn(*lead, B, 8)
    found = []
    for precision in (torch.float32, torch.bfloat16):
        entering = inputs.to(precision).requires_grad_(), start.clone().requires_grad_()
        hidden, _ = fast_cells.unroll(cell, entering[0], (entering[1],), keep_all)
        gradients = torch.autograd.grad(hidden.sum(), (*entering, *cell.parameters()))
        assert [gradient.dtype for gradient in gradients[1:]] == [torch.float32] * 3
        found.append((hidden, *(gradient.float() for gradient in gradients)))
    for exact, rounded in zip(*found, strict=True):
        assert 0 < (rounded - exact).norm() <= 0.03 * exact.norm()


@pytest.mark.parametrize(("update", "expected"), [("keep", 0.88828), ("write", 0.89707)])
def test_gru_gives_the_scalars_computed_by_hand(update: str, expected: float) -> None:
    """h = 0.9, Wx = 0.5, U = 1, r = 1, z = 0.2: the candidate is tanh(1.4) = 0.88535."""
    cell = GRU(1, "before", update).double()  # type: ignore[arg-type]
    torch.nn.init.zeros_(cell.recurrent_gates.weight)
    torch.nn.init.ones_(cell.recurrent.weight)
    inputs = torch.tensor([[100.0, np.log(0.2 / 0.8), 0.5]], dtype=torch.float64)
    (new,) = cell.prepare(_same)(inputs, (torch.tensor([[0.9]], dtype=torch.float64),))
    assert new.item() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("reset", Reset)
def test_keep_is_write_with_the_update_gate_negated(reset: str) -> None:
    keep, write = randomised(GRU(N, reset, "keep")), GRU(N, reset, "write").double()  # type: ignore[arg-type]
    write.load_state_dict(keep.state_dict())
    with torch.no_grad():
        write.recurrent_gates.weight[N:] *= -1
    inputs, h = _draw(3 * N), _draw(N)
    turned = torch.cat((inputs[:, :N], -inputs[:, N : 2 * N], inputs[:, 2 * N :]), dim=1)
    (kept,), (written,) = keep.prepare(_same)(inputs, (h,)), write.prepare(_same)(turned, (h,))
    torch.testing.assert_close(kept, written, atol=1e-12, rtol=0)


def test_reset_before_and_after_differ_as_computed_by_hand() -> None:
    """U swaps two units, r = (1, 0), h = (0.5, -0.3): before gives (0, 0.5), after (-0.3, 0)."""
    for reset, expected in (("before", (0.0, 0.5)), ("after", (-0.3, 0.0))):
        cell = GRU(2, reset, "write").double()  # type: ignore[arg-type]
        torch.nn.init.zeros_(cell.recurrent_gates.weight)
        with torch.no_grad():
            cell.recurrent.weight.copy_(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
        inputs = torch.tensor([[100.0, -100.0, 100.0, 100.0, 0.0, 0.0]], dtype=torch.float64)
        (new,) = cell.prepare(_same)(inputs, (torch.tensor([[0.5, -0.3]], dtype=torch.float64),))
        np.testing.assert_allclose(array(new)[0], np.tanh(expected), atol=1e-10)


def test_states_stay_float32_when_products_are_bfloat16() -> None:
    cell = GRU(4, "before", "write")
    torch.nn.init.normal_(cell.recurrent.weight)
    torch.nn.init.normal_(cell.recurrent_gates.weight)
    for module in (cell.recurrent, cell.recurrent_gates):
        module.precision = torch.bfloat16
    inputs = torch.zeros(2, 12, dtype=torch.bfloat16)
    (new,) = cell.prepare(_same)(inputs, cell.zero(inputs))
    assert new.dtype == torch.float32


@every_cell
def test_a_state_begins_from_a_hidden_state_and_an_empty_cell_state(name: str) -> None:
    cell, hidden = CELLS[name](1), _draw(2)
    state = cell.state(hidden)
    assert torch.equal(state[0], hidden)
    assert [part.abs().sum().item() for part in state[1:]] == [0.0] * name.startswith("lstm")
    assert all((part == 0).all() for part in cell.zero(hidden))


def _same(x: torch.Tensor) -> torch.Tensor:
    return x


def _layer(cell: Cell) -> RecurrentLayer:
    return in_form(randomised(RecurrentLayer(M, cell, 1, biases=True)), fast=True)


def _draw(size: int, rows: int = B) -> torch.Tensor:
    return torch.randn(rows, size, dtype=torch.float64)
