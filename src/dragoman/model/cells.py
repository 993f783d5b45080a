"""Recurrent cells: what one step does with the state.

A cell is handed the sum of everything that enters its gates from below (words, context, fed vector: projected
elsewhere, outside the loop where possible) and knows only its own recurrent maps. Its state is a tuple of tensors,
hidden state first, so that GRU and LSTM look alike to everyone else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from dragoman.model.maps import Map

State = tuple[Tensor, ...]
"""Hidden state first: (h,) for GRU and tanh, (h, c) for LSTM; each [B, H] or [D, B, H]."""

CellStep = Callable[[Tensor, State], State]
"""(gate inputs [B, G], state) -> next state."""


class Cell(Protocol):
    """What encoder and decoder ask of a cell."""

    size: int
    gates: int

    def bind(self) -> CellStep:
        """The step function of one unrolling."""
        ...

    def zero(self, like: Tensor) -> State:
        """The state of zeros for rows like [B, n] or [D, B, n]."""
        ...

    def state(self, hidden: Tensor) -> State:
        """The state that begins from a given hidden state."""
        ...


class GRU(nn.Module):
    """Gated recurrent unit (Cho et al. 2014, section 2.3; Bahdanau et al. 2015, A.1.1), written out.

    r = sigmoid(a_r + U_r h);  z = sigmoid(a_z + U_z h)
    reset "before": h~ = tanh(a + U (r * h));  "after": h~ = tanh(a + r * (U h))
    update "write": h' = (1 - z) * h + z * h~ (Bahdanau);  "keep": h' = z * h + (1 - z) * h~ (Cho)

    Gate inputs are [.., 3H] in the order r, z, candidate. The library kernel is "after" and "keep" with a further bias
    and so matches neither paper.
    """

    def __init__(
        self, size: int, reset: Literal["before", "after"], update: Literal["keep", "write"], directions: int = 1
    ) -> None:
        super().__init__()
        self.size, self.gates = size, 3 * size
        self.reset, self.update = reset, update
        self.recurrent_gates = Map(size, 2 * size, directions=directions)
        self.recurrent = Map(size, size, directions=directions)

    def bind(self) -> CellStep:
        gates, candidate = self.recurrent_gates.bind(), self.recurrent.bind()
        before, write, size = self.reset == "before", self.update == "write", self.size

        def step(inputs: Tensor, state: State) -> State:
            (h,) = state
            below_gates, below = inputs.split((2 * size, size), dim=-1)
            r, z = torch.sigmoid(gates(h, below_gates).to(h.dtype)).chunk(2, dim=-1)
            new = torch.tanh(candidate(r * h, below).to(h.dtype) if before else below + r * candidate(h))
            return (torch.lerp(h, new, z) if write else torch.lerp(new, h, z),)

        return step

    def zero(self, like: Tensor) -> State:
        return (_zeros(like, self.size),)

    def state(self, hidden: Tensor) -> State:
        return (hidden,)


class LSTM(nn.Module):
    """Long short-term memory without peepholes (Zaremba et al. 2014, used by Luong et al. 2015).

    i, f, o = sigmoid(a + U h);  g = tanh(a_g + U_g h);  c' = f * c + i * g;  h' = o * tanh(c')

    Gate inputs are [.., 4H] in the order i, f, o, g.
    """

    def __init__(self, size: int, directions: int = 1) -> None:
        super().__init__()
        self.size, self.gates = size, 4 * size
        self.recurrent_gates = Map(size, 4 * size, directions=directions)

    def bind(self) -> CellStep:
        gates, size = self.recurrent_gates.bind(), self.size

        def step(inputs: Tensor, state: State) -> State:
            h, c = state
            a = gates(h, inputs).to(c.dtype)
            i, f, o = torch.sigmoid(a[..., : 3 * size]).chunk(3, dim=-1)
            c = torch.addcmul(f * c, i, torch.tanh(a[..., 3 * size :]))
            return o * torch.tanh(c), c

        return step

    def zero(self, like: Tensor) -> State:
        h = _zeros(like, self.size)
        return h, h

    def state(self, hidden: Tensor) -> State:
        return hidden, torch.zeros_like(hidden)


def _zeros(like: Tensor, size: int) -> Tensor:
    """States are kept in float32 at least, whatever products are computed in."""
    return like.new_zeros(*like.shape[:-1], size, dtype=torch.promote_types(like.dtype, torch.float32))
