"""Recurrent cells: what one step does with the state.

A cell is handed the sum of everything that enters its gates from below (words, context, fed vector: projected
elsewhere, outside the loop where possible) and knows only its own recurrent maps. Its state is a tuple of tensors,
hidden state first, so that GRU, LSTM and tanh look alike to everyone else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from dragoman.model.dropout import Drop
from dragoman.model.maps import Map, bind_sum
from dragoman.model.pointwise import new_lstm_state, new_state, reset_and_update

State = tuple[Tensor, ...]
"""Hidden state first: (h,) for GRU and tanh, (h, c) for LSTM; each [B, H] or [D, B, H]."""


class CellStep(Protocol):
    """(gate inputs [.., G], state) -> next state.

    `below` are the inputs of the maps from below that the cell was bound with, in their order; the gate inputs may be
    None where there are some. `bracket` [.., H] joins U h inside the bracket that a GRU's reset gate multiplies.
    """

    def __call__(
        self, inputs: Tensor | None, state: State, *, below: Sequence[Tensor] = (), bracket: Tensor | None = None
    ) -> State: ...


class Cell(Protocol):
    """What encoder and decoder ask of a cell."""

    size: int
    gates: int

    def bind(self, drop: Drop, below: Sequence[Map] = ()) -> CellStep:
        """The step function of one unrolling; `drop` is what happens to h where it enters the recurrent maps.

        `below` are maps into the gates of what is known at its step only: they join the recurrent maps.
        """
        ...

    def zero(self, like: Tensor) -> State:
        """The state of zeros for rows like [B, n] or [D, B, n]."""
        ...

    def state(self, hidden: Tensor) -> State:
        """The state that begins from a given hidden state; an LSTM's memory is zero."""
        ...


class GRU(nn.Module):
    """Gated recurrent unit (Cho et al. 2014, section 2.3; Bahdanau et al. 2015, A.1.1), written out.

    r = sigmoid(a_r + U_r h);  z = sigmoid(a_z + U_z h)
    reset "before": h~ = tanh(a + U (r * h));  "after": h~ = tanh(a + r * (U h + b + bracket))
    update "write": h' = (1 - z) * h + z * h~ (Bahdanau);  "keep": h' = z * h + (1 - z) * h~ (Cho)

    Gate inputs are [.., 3H] in the order r, z, candidate. The bracket is C c in the decoder of Cho et al. 2014
    (appendix). The library kernel is "after" and "keep" with the bias b (`inner_bias`) and so matches neither paper.
    """

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
        self.recurrent_gates = Map(size, 2 * size, directions=directions)
        self.recurrent = Map(size, size, directions=directions, bias=inner_bias)

    def bind(self, drop: Drop, below: Sequence[Map] = ()) -> CellStep:
        enters = bind_sum(below) if below else None
        gates, candidate = self.recurrent_gates.bind(), self.recurrent.bind()
        before, keep, size = self.reset == "before", self.update == "keep", self.size

        def step(
            inputs: Tensor | None, state: State, *, below: Sequence[Tensor] = (), bracket: Tensor | None = None
        ) -> State:
            (h,) = state
            if enters is not None:
                inputs = enters(below, inputs)
            assert inputs is not None, "something comes from below"
            seen = drop(h)
            into_gates, into_candidate = inputs.split((2 * size, size), dim=-1)
            a = gates(seen, into_gates)
            if before:
                reset, z = reset_and_update(a, seen)
                return (new_state(candidate(reset, into_candidate), h, z, keep=keep),)
            r, z = torch.sigmoid(a.to(h.dtype)).chunk(2, dim=-1)
            return (new_state(into_candidate + r * candidate(seen, bracket), h, z, keep=keep),)

        return step

    def zero(self, like: Tensor) -> State:
        return (_zeros(like, self.size),)

    def state(self, hidden: Tensor) -> State:
        return (hidden,)


class LSTM(nn.Module):
    """Long short-term memory (Zaremba et al. 2014, used by Luong et al. 2015), with or without peepholes (Graves 2013).

    i = sigmoid(a_i + U_i h + p_i * c);  f = sigmoid(a_f + U_f h + p_f * c);  g = tanh(a_g + U_g h)
    c' = f * c + i * g;  o = sigmoid(a_o + U_o h + p_o * c');  h' = o * tanh(c')

    Gate inputs are [.., 4H] in the order i, f, o, g. `peepholes` are p_i, p_f, p_o: [3, H] or [D, 3, 1, H].
    """

    def __init__(self, size: int, *, peepholes: bool = False, directions: int = 1) -> None:
        super().__init__()
        self.size, self.gates = size, 4 * size
        self.recurrent_gates = Map(size, 4 * size, directions=directions)
        shape = (directions, 3, 1, size) if directions > 1 else (3, size)
        self.peepholes = nn.Parameter(torch.zeros(shape)) if peepholes else None

    def bind(self, drop: Drop, below: Sequence[Map] = ()) -> CellStep:
        gates = bind_sum([*below, self.recurrent_gates])
        peepholes = None if self.peepholes is None else self.peepholes.unbind(1 if self.peepholes.dim() == 4 else 0)

        def step(
            inputs: Tensor | None, state: State, *, below: Sequence[Tensor] = (), bracket: Tensor | None = None
        ) -> State:
            h, c = state
            a = gates([*below, drop(h)], inputs)
            if peepholes is None:
                return new_lstm_state(a, c)
            p_i, p_f, p_o = peepholes
            a_i, a_f, a_o, a_g = a.to(c.dtype).chunk(4, dim=-1)
            c = torch.sigmoid(a_f + p_f * c) * c + torch.sigmoid(a_i + p_i * c) * torch.tanh(a_g)
            return torch.sigmoid(a_o + p_o * c) * torch.tanh(c), c

        return step

    def zero(self, like: Tensor) -> State:
        h = _zeros(like, self.size)
        return h, h

    def state(self, hidden: Tensor) -> State:
        return hidden, torch.zeros_like(hidden)


class Tanh(nn.Module):
    """The plain recurrent unit h' = tanh(a + U h), the ablation of Cho et al. 2014, section 2.3. Inputs are [.., H]."""

    def __init__(self, size: int, *, directions: int = 1) -> None:
        super().__init__()
        self.size, self.gates = size, size
        self.recurrent = Map(size, size, directions=directions)

    def bind(self, drop: Drop, below: Sequence[Map] = ()) -> CellStep:
        recurrent = bind_sum([*below, self.recurrent])

        def step(
            inputs: Tensor | None, state: State, *, below: Sequence[Tensor] = (), bracket: Tensor | None = None
        ) -> State:
            (h,) = state
            return (torch.tanh(recurrent([*below, drop(h)], inputs).to(h.dtype)),)

        return step

    def zero(self, like: Tensor) -> State:
        return (_zeros(like, self.size),)

    def state(self, hidden: Tensor) -> State:
        return (hidden,)


def _zeros(like: Tensor, size: int) -> Tensor:
    """States are kept in float32 at least, whatever products are computed in."""
    return like.new_zeros(*like.shape[:-1], size, dtype=torch.promote_types(like.dtype, torch.float32))
