"""The readout: the vector that the output layer reads, from the state, the previous word and the context.

Letters: N rows, H units of a state, E embedding, P units of a word projected for the readout, W units of a
context, O units of a readout.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn

from dragoman.model.linear import Linear

ReadoutStep = Callable[[Tensor, Tensor, Tensor | None], Tensor]
"""Maps states [N, H], projected words [N, P] and contexts [N, W] (or None) to readouts [N, O]."""


class Readout(Protocol):
    """The interface of a readout to the decoder; O is `size`."""

    kind: str
    """state, maxout or attentional; the ONNX export selects its operators by it."""
    size: int
    bounded: bool
    """Whether the readout ends in a tanh, so that its values are in [-1, 1]."""

    def words(self, words: Tensor) -> Tensor:
        """Project previous words outside the loop over steps: [..., E] -> [..., P]."""
        ...

    def prepare(self) -> ReadoutStep:
        """Prepare the readout for one unrolling."""
        ...


class StateReadout(nn.Module):
    """The decoder state as the readout (Sutskever et al. 2014: softmax(W_s h))."""

    kind, bounded = "state", False

    def __init__(self, state: int) -> None:
        super().__init__()
        self.size = state

    def words(self, words: Tensor) -> Tensor:
        return words[..., :0]  # [..., E] -> [..., 0]

    def prepare(self) -> ReadoutStep:
        return lambda state, words, context: state


class MaxoutReadout(nn.Module):
    """Deep output with maxout over adjacent pairs of t~ = U_o s + V_o e(y) + C_o c (Bahdanau et al. 2015, A.2.2)."""

    kind, bounded = "maxout", False

    def __init__(self, state: int, word: int, context: int, size: int, biases: bool) -> None:
        super().__init__()
        self.size = size
        self.state = Linear(state, 2 * size)
        self.word = Linear(word, 2 * size, bias=biases)
        self.context = Linear(context, 2 * size) if context else None

    def words(self, words: Tensor) -> Tensor:
        projected: Tensor = self.word(words)  # [..., E] -> [..., 2O]
        return projected

    def prepare(self) -> ReadoutStep:
        project_state, project_context = self.state.prepare(), self.context.prepare() if self.context else None

        def read(state: Tensor, words: Tensor, context: Tensor | None) -> Tensor:
            pairs = project_state(state, plus=words)  # [N, H] -> [N, 2O]
            if project_context is not None and context is not None:
                pairs = project_context(context, plus=pairs)  # [N, W] -> [N, 2O]
            return torch.maximum(*pairs.unflatten(-1, (-1, 2)).unbind(-1))  # [N, 2O] -> [N, O, 2] -> [N, O]

        return read


class AttentionalReadout(nn.Module):
    """Attentional state h~ = tanh(W_c [c; h]) (Luong et al. 2015, eq. 5).

    affine: without the tanh (OpenNMT-py with additive scores)
    """

    kind = "attentional"

    def __init__(self, state: int, context: int, size: int, biases: bool, *, affine: bool = False) -> None:
        super().__init__()
        self.size, self.affine, self.bounded = size, affine, not affine
        self.combine = Linear(context + state, size)
        self.bias = nn.Parameter(torch.zeros(size)) if biases else None

    def words(self, words: Tensor) -> Tensor:
        return words[..., :0]  # [..., E] -> [..., 0]

    def prepare(self) -> ReadoutStep:
        combine = self.combine.prepare()

        def read(state: Tensor, words: Tensor, context: Tensor | None) -> Tensor:
            assert context is not None
            mixed = combine(torch.cat((context, state), dim=-1))  # [N, W + H] -> [N, O]
            mixed = mixed if self.bias is None else mixed + self.bias
            return mixed if self.affine else torch.tanh(mixed)

        return read
