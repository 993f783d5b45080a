"""The readout: what the state, the previous word and the context become before the softmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn

from dragoman.model.maps import Map

Read = Callable[[Tensor, Tensor, Tensor | None], Tensor]
"""(state [N, H], projected words [N, P], context [N, W] or None) -> readout [N, O]."""


class Readout(Protocol):
    """What the decoder asks of a readout; O is `size`."""

    size: int

    def words(self, words: Tensor) -> Tensor:
        """The part that depends on the previous word alone, outside the loop: [..., E] -> [..., P]."""
        ...

    def bind(self) -> Read:
        """The readout function of one unrolling."""
        ...


class Linear(nn.Module):
    """The state itself (Sutskever et al. 2014: softmax(W_s h))."""

    def __init__(self, state: int) -> None:
        super().__init__()
        self.size = state

    def words(self, words: Tensor) -> Tensor:
        return words[..., :0]

    def bind(self) -> Read:
        return lambda state, words, context: state


class Maxout(nn.Module):
    """Deep output: t~ = U_o s + V_o e(y) + C_o c, of each adjacent pair the larger (Bahdanau et al. 2015, A.2.2)."""

    def __init__(self, state: int, word: int, context: int, size: int, biases: bool) -> None:
        super().__init__()
        self.size = size
        self.state = Map(state, 2 * size)
        self.word = Map(word, 2 * size, bias=biases)
        self.context = Map(context, 2 * size) if context else None

    def words(self, words: Tensor) -> Tensor:
        projected: Tensor = self.word(words)
        return projected

    def bind(self) -> Read:
        of_state, of_context = self.state.bind(), self.context.bind() if self.context else None

        def read(state: Tensor, words: Tensor, context: Tensor | None) -> Tensor:
            pairs = of_state(state, words)
            if of_context is not None and context is not None:
                pairs = of_context(context, pairs)
            return torch.maximum(*pairs.unflatten(-1, (-1, 2)).unbind(-1))

        return read


class Attentional(nn.Module):
    """h~ = tanh(W_c [c; h]) (Luong et al. 2015, eq. 5); affine: without the tanh (OpenNMT-py with additive scores)."""

    def __init__(self, state: int, context: int, size: int, biases: bool, *, affine: bool = False) -> None:
        super().__init__()
        self.size, self.affine = size, affine
        self.combine = Map(context + state, size)
        self.bias = nn.Parameter(torch.zeros(size)) if biases else None

    def words(self, words: Tensor) -> Tensor:
        return words[..., :0]

    def bind(self) -> Read:
        combine = self.combine.bind()

        def read(state: Tensor, words: Tensor, context: Tensor | None) -> Tensor:
            assert context is not None
            mixed = combine(torch.cat((context, state), dim=-1))
            mixed = mixed if self.bias is None else mixed + self.bias
            return mixed if self.affine else torch.tanh(mixed)

        return read
