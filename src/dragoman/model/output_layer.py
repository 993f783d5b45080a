"""From a decoder state to the loss: the readout, and the output layer with the softmax over the target vocabulary.

The readout is the vector that the output layer reads, from the state, the previous word and the context.

Letters: N rows, H units of a state, E embedding, P units of a word projected for the readout, W units of a context, O
units of a readout, V words of the vocabulary, M words that are scored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

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


class TokenLosses(NamedTuple):
    """The label-smoothed loss (differentiable) and the negative log-likelihood, both summed over the rows, in nats."""

    smoothed: Tensor
    nll: Tensor


def logits_of(readout: Tensor, weight: Tensor, bias: Tensor | None, precision: torch.dtype) -> Tensor:
    """Logits W o + b in the type `precision`, without a gradient: [N, O] -> [N, V]."""
    logits = (readout @ weight.mT).to(precision)  # [N, O] -> [N, V]
    return logits if bias is None else logits + bias


def word_log_probabilities(layer: OutputLayer, readout: Tensor, words: Tensor, rows: Tensor) -> Tensor:
    """Log-probabilities of words [M] from readouts [N, O]; readout `rows[m]` predicts word m. Without a gradient."""
    logs = torch.log_softmax(layer.logits(readout), dim=-1)  # [N, V]
    return logs[rows, words]  # [N, V] -> [M]


def token_losses(layer: OutputLayer, readout: Tensor, words: Tensor, smoothing: float) -> TokenLosses:
    """Cross entropy -sum_i sum_v q_i(v) log p_i(v), q_i(v) = (1 - s) [v = y_i] + s / V; readout [N, O], words y [N]."""
    logits = (readout @ layer.cast(layer.weight).mT).to(layer.weight.dtype)  # [N, O] -> [N, V]
    logits = logits if layer.bias is None else logits + layer.bias
    nll = functional.cross_entropy(logits, words, reduction="sum")
    smoothed = functional.cross_entropy(logits, words, reduction="sum", label_smoothing=smoothing)
    return TokenLosses(smoothed, nll.detach())


class OutputLayer(nn.Module):
    """The output softmax p(v) = softmax(W o + b), W [V, O].

    Products are computed in `precision` (None: the type of the parameters), the softmax in the type of the parameters.
    With a rank, W is the product of G_l [V, rank] and G_r [rank, O] (Cho et al. 2014, appendix).
    """

    logits_of = staticmethod(logits_of)
    words_of = staticmethod(word_log_probabilities)
    losses_of = staticmethod(token_losses)

    def __init__(self, n_in: int, vocabulary: int, *, bias: bool, rank: int | None = None) -> None:
        super().__init__()
        self.narrow = Linear(n_in, rank) if rank else None
        self.weight = nn.Parameter(torch.empty(vocabulary, rank or n_in))
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if bias else None
        self.precision: torch.dtype | None = None

    def loss(self, readout: Tensor, words: Tensor, smoothing: float) -> TokenLosses:
        """Label-smoothed cross entropy and negative log-likelihood of words [N] given readouts [N, O]."""
        return self.losses_of(self, self._narrowed(readout), words, smoothing)

    @torch.no_grad()
    def log_probabilities(self, readout: Tensor) -> Tensor:
        """Log-probabilities of all words, without a gradient: [N, O] -> [N, V]."""
        return torch.log_softmax(self.logits(self._narrowed(readout)), dim=-1)

    @torch.no_grad()
    def word_log_probabilities(self, readout: Tensor, words: Tensor, rows: Tensor | None = None) -> Tensor:
        """Log-probabilities of words [M] from readouts [N, O], without a gradient.

        Readout `rows[m]` predicts word m; without `rows`, readout m does.
        """
        rows = torch.arange(len(words), device=words.device) if rows is None else rows
        return self.words_of(self, self._narrowed(readout), words, rows)

    def logits(self, readout: Tensor) -> Tensor:
        """Logits of narrowed readouts, in the type of the parameters, without a gradient: [N, rank or O] -> [N, V]."""
        return self.logits_of(readout, self.cast(self.weight), self.bias, self.weight.dtype)

    def cast(self, x: Tensor) -> Tensor:
        """x in the type of the products; the shape stays."""
        return x if self.precision is None else x.to(self.precision)

    def _narrowed(self, readout: Tensor) -> Tensor:
        """Readouts in the type of the products; with a rank, multiplied by G_r: [N, O] -> [N, rank]."""
        return self.cast(readout if self.narrow is None else self.narrow(readout))
