"""Recurrent cells: the state update of GRU, LSTM and tanh units.

The gate inputs of a cell are the sum of its projected inputs (words, context, fed readout); they are projected outside
the cell, and outside the loop over steps where possible. A cell owns its recurrent layers only. Its state is a tuple of
tensors, hidden state first, so that callers treat GRU, LSTM and tanh alike. Shapes are those of one layer; with both
directions of an encoder side by side they begin with [D, ..].

Letters: B sentences or rows, H units, G gate inputs, D directions.
"""

from __future__ import annotations

from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from dragoman.model.dropout import DropUnits
from dragoman.model.linear import Linear

CellState = tuple[Tensor, ...]
"""Hidden state first: (h,) for GRU and tanh, (h, c) for LSTM; each [B, H] or [D, B, H]."""


def gru_state(a: Tensor, h: Tensor, z: Tensor, *, keep: bool) -> Tensor:
    """The next state [B, H] of a GRU with h~ = tanh(a): z * h + (1 - z) * h~ if `keep`, else (1 - z) * h + z * h~."""
    candidate = torch.tanh(a.to(h.dtype))
    return z * h + (1 - z) * candidate if keep else (1 - z) * h + z * candidate


def lstm_state(a: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """The next (h, c) of an LSTM, [B, H] each, from its gate sums a [B, 4H] (order i, f, o, g) and the previous c."""
    i, f, o, g = a.to(c.dtype).chunk(4, dim=-1)  # [B, 4H] -> [B, H] each
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


class CellStep(Protocol):
    """One step of a cell: maps gate inputs [B, G] and a state to the next state.

    `below` [B, n_in] is the input of the linear layer that the cell was prepared with; with it the gate inputs may be
    None. `reset_gated_input` [B, H] is added to U h before a GRU's reset gate multiplies the sum.
    """

    def __call__(
        self,
        inputs: Tensor | None,  # [B, G]
        state: CellState,
        *,
        below: Tensor | None = None,  # [B, n_in]
        reset_gated_input: Tensor | None = None,  # [B, H]
    ) -> CellState: ...


class Cell(Protocol):
    """The interface of a recurrent cell to encoder and decoder."""

    kind: str
    """gru, lstm or tanh; the ONNX export selects its operators by it."""
    parts: int
    """Number of tensors in the state."""
    size: int
    """H, the number of units."""
    gates: int
    """G, the width of the gate inputs, a multiple of H."""

    def prepare(self, drop: DropUnits, below: Linear | None = None) -> CellStep:
        """Prepare the step function of one unrolling; `drop` is applied to h before the recurrent layers.

        `below` is a linear layer over an input that is only known step by step; its product with that input is added to
        the gate inputs.
        """
        ...

    def zero(self, like: Tensor) -> CellState:
        """The zero state for as many rows as `like` has: [B, n] or [D, B, n] -> tensors [B, H] or [D, B, H]."""
        ...

    def state(self, hidden: Tensor) -> CellState:
        """The state with a given hidden state [B, H]; the cell state of an LSTM is zero."""
        ...


class GRU(nn.Module):
    """Gated recurrent unit (Cho et al. 2014, section 2.3; Bahdanau et al. 2015, A.1.1).

    r = sigmoid(a_r + U_r h);  z = sigmoid(a_z + U_z h)
    reset "before": h~ = tanh(a + U (r * h));  "after": h~ = tanh(a + r * (U h + b + q))
    update "write": h' = (1 - z) * h + z * h~ (Bahdanau);  "keep": h' = z * h + (1 - z) * h~ (Cho)

    Gate inputs are [B, 3H] in the order r, z, candidate. q, the reset-gated input, is C c in the decoder of Cho et al.
    2014 (appendix). torch's own GRU is "after" and "keep" with the bias b (`inner_bias`) and so matches neither paper.
    """

    kind, parts = "gru", 1
    gru_state = staticmethod(gru_state)

    def __init__(
        self,
        size: int,
        reset: Literal["before", "after"],
        update: Literal["keep", "write"],
        *,
        inner_bias: bool = False,
        directions: int = 1,
    ) -> None:
        super().__init__()
        self.size, self.gates = size, 3 * size
        self.reset, self.update = reset, update
        self.recurrent_gates = Linear(size, 2 * size, directions=directions)
        self.recurrent = Linear(size, size, directions=directions, bias=inner_bias)

    def prepare(self, drop: DropUnits, below: Linear | None = None) -> CellStep:
        project = below.prepare() if below else None
        gates, candidate = self.recurrent_gates.prepare(), self.recurrent.prepare()
        before, keep, size = self.reset == "before", self.update == "keep", self.size

        def step(
            inputs: Tensor | None,
            state: CellState,
            *,
            below: Tensor | None = None,
            reset_gated_input: Tensor | None = None,
        ) -> CellState:
            (h,) = state
            if project is not None and below is not None:
                inputs = project(below, plus=inputs)
            assert inputs is not None, "there are gate inputs"
            h_in = drop(h)  # [B, H]
            to_gates, to_candidate = inputs.split((2 * size, size), dim=-1)  # [B, 3H] -> [B, 2H], [B, H]
            r, z = torch.sigmoid(gates(h_in, plus=to_gates).to(h.dtype)).chunk(2, dim=-1)  # [B, 2H] -> [B, H] each
            if before:
                a = candidate(r * h_in, plus=to_candidate)
            else:
                a = to_candidate + r * candidate(h_in, plus=reset_gated_input)
            return (self.gru_state(a, h, z, keep=keep),)

        return step

    def zero(self, like: Tensor) -> CellState:
        return (_zeros(like, self.size),)  # [B, n] -> [B, H]

    def state(self, hidden: Tensor) -> CellState:
        return (hidden,)


class LSTM(nn.Module):
    """Long short-term memory (Zaremba et al. 2014, used by Luong et al. 2015), with or without peepholes (Graves 2013).

    i = sigmoid(a_i + U_i h + p_i * c);  f = sigmoid(a_f + U_f h + p_f * c);  g = tanh(a_g + U_g h)
    c' = f * c + i * g;  o = sigmoid(a_o + U_o h + p_o * c');  h' = o * tanh(c')

    Gate inputs are [B, 4H] in the order i, f, o, g. `peepholes` are p_i, p_f, p_o: [3, H] or [D, 3, 1, H].
    """

    kind, parts = "lstm", 2
    lstm_state = staticmethod(lstm_state)

    def __init__(self, size: int, *, peepholes: bool = False, directions: int = 1) -> None:
        super().__init__()
        self.size, self.gates = size, 4 * size
        self.recurrent_gates = Linear(size, 4 * size, directions=directions)
        shape = (directions, 3, 1, size) if directions > 1 else (3, size)
        self.peepholes = nn.Parameter(torch.zeros(shape)) if peepholes else None

    def prepare(self, drop: DropUnits, below: Linear | None = None) -> CellStep:
        gates = self.recurrent_gates.prepare(*([below] if below else []))
        peepholes = None if self.peepholes is None else self.peepholes.unbind(1 if self.peepholes.dim() == 4 else 0)

        def step(
            inputs: Tensor | None,
            state: CellState,
            *,
            below: Tensor | None = None,
            reset_gated_input: Tensor | None = None,
        ) -> CellState:
            h, c = state
            a = gates(*_recurrent_inputs(below, drop(h)), plus=inputs)
            if peepholes is None:
                return self.lstm_state(a, c)
            p_i, p_f, p_o = peepholes
            a_i, a_f, a_o, a_g = a.to(c.dtype).chunk(4, dim=-1)  # [B, 4H] -> [B, H] each
            c = torch.sigmoid(a_f + p_f * c) * c + torch.sigmoid(a_i + p_i * c) * torch.tanh(a_g)
            return torch.sigmoid(a_o + p_o * c) * torch.tanh(c), c

        return step

    def zero(self, like: Tensor) -> CellState:
        h = _zeros(like, self.size)  # [B, n] -> [B, H]
        return h, h

    def state(self, hidden: Tensor) -> CellState:
        return hidden, torch.zeros_like(hidden)  # [B, H] each


class TanhCell(nn.Module):
    """The plain recurrent unit h' = tanh(a + U h), the ablation of Cho et al. 2014, section 2.3. Inputs are [B, H]."""

    kind, parts = "tanh", 1

    def __init__(self, size: int, *, directions: int = 1) -> None:
        super().__init__()
        self.size, self.gates = size, size
        self.recurrent = Linear(size, size, directions=directions)

    def prepare(self, drop: DropUnits, below: Linear | None = None) -> CellStep:
        recurrent = self.recurrent.prepare(*([below] if below else []))

        def step(
            inputs: Tensor | None,
            state: CellState,
            *,
            below: Tensor | None = None,
            reset_gated_input: Tensor | None = None,
        ) -> CellState:
            (h,) = state
            return (torch.tanh(recurrent(*_recurrent_inputs(below, drop(h)), plus=inputs).to(h.dtype)),)  # [B, H]

        return step

    def zero(self, like: Tensor) -> CellState:
        return (_zeros(like, self.size),)  # [B, n] -> [B, H]

    def state(self, hidden: Tensor) -> CellState:
        return (hidden,)


def unroll(
    cell: Cell, inputs: Tensor, state: CellState, drop: DropUnits, alive: Tensor | None = None, shortest: int = 0
) -> tuple[Tensor, CellState]:
    """Run a cell over all steps: the hidden state after each, [T, B, H] or [D, T, B, H], and the last state.

    Args:
        inputs: gate inputs of every step, [T, B, G] or [D, T, B, G].
        alive: False where a sentence has ended and its state stays the same, [B, T]; None: every sentence has T steps.
        shortest: steps that every sentence has, if `alive` is given.
    """
    step = cell.prepare(drop)
    hidden = []
    for t, gates in enumerate(inputs.unbind(-3)):  # its gradient is a single stack
        new = step(gates, state)
        if alive is not None and t >= shortest:
            stays = alive[:, t, None]  # [B, T] -> [B, 1]
            new = tuple(torch.where(stays, after, before) for after, before in zip(new, state, strict=True))
        state = new
        hidden.append(state[0])
    return torch.stack(hidden, dim=-3), state  # T of [.., B, H] -> [.., T, B, H]


def _recurrent_inputs(below: Tensor | None, hidden: Tensor) -> tuple[Tensor, ...]:
    """The inputs of the fused recurrent layers: `below` [B, n_in] if there is one, then the hidden state [B, H]."""
    return (hidden,) if below is None else (below, hidden)


def _zeros(like: Tensor, size: int) -> Tensor:
    """Zeros [B, H] for `like` [B, n]; states are float32 or wider, whatever the precision of products."""
    return like.new_zeros(*like.shape[:-1], size, dtype=torch.promote_types(like.dtype, torch.float32))
