"""Attention: energies of a query against every annotation, alignment weights, context vector.

Queries come as rows grouped by sentence: [B*Q, H] holds Q queries for each of B sentences, whether these are the
steps of a known target, the hypotheses of a beam, or one. Annotations are kept once per sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from dragoman.model.deferred import anchor
from dragoman.model.encoder import Annotations
from dragoman.model.maps import Map

Energies = Callable[[Tensor], Tensor]
"""Queries [B, Q, H] -> energies e [B, Q, S] against the keys it was bound to."""


class Score(Protocol):
    """A way to compare a query with the annotations."""

    def keys(self, annotations: Tensor) -> Tensor:
        """What each annotation contributes, once per sentence: [B, S, W] -> [B, S, A]."""
        ...

    def bind(self, keys: Tensor) -> Energies:
        """The energies function of one unrolling."""
        ...


class Memory(NamedTuple):
    """The annotations of a batch of sentences as a decoder looks at them.

    vectors: h_j, [B, S, W]
    mask:    True on real positions, [B, S]
    keys:    what each annotation contributes to the energies, [B, S, A]
    """

    vectors: Tensor
    mask: Tensor
    keys: Tensor

    def select(self, sentences: Tensor) -> Memory:
        """Some of the sentences, cut to the longest of them."""
        mask = self.mask.index_select(0, sentences)
        length = int(mask.sum(dim=1).max())
        vectors, keys = (part.index_select(0, sentences)[:, :length] for part in (self.vectors, self.keys))
        return Memory(vectors, mask[:, :length], keys)


class Look(NamedTuple):
    """One look at the source for each query: context vectors [B*Q, W], alignment weights [B*Q, S]."""

    context: Tensor
    weights: Tensor


class Attention(nn.Module):
    """Global attention: weights are a softmax over all real source positions."""

    def __init__(self, score: Score) -> None:
        super().__init__()
        self.score = score

    def remember(self, annotations: Annotations) -> Memory:
        """Compute the keys, once for a batch of sentences."""
        return Memory(annotations.vectors, annotations.mask, self.score.keys(annotations.vectors))

    def bind(self, memory: Memory) -> Callable[[Tensor], Look]:
        """The function from queries [B*Q, H] to what they see."""
        vectors, mask = memory.vectors, memory.mask
        energies = self.score.bind(memory.keys)
        factors = _ContextFactors(vectors.detach())
        shared = anchor(factors, vectors)
        # -inf, not a large number: the weight of padding is exactly zero whatever the energies are
        closed = torch.zeros_like(mask, dtype=vectors.dtype).masked_fill_(~mask, -torch.inf)[:, None]  # [B, 1, S]

        def look(queries: Tensor) -> Look:
            grouped = queries.view(mask.shape[0], -1, queries.shape[-1])  # [B*Q, H] -> [B, Q, H]
            weights = torch.softmax(energies(grouped) + closed, dim=-1)
            contexts: Tensor = _Contexts.apply(weights, shared, factors)
            return Look(contexts.flatten(0, 1), weights.flatten(0, 1))

        return look


class Additive(nn.Module):
    """e = v_a^T tanh(W_a s + U_a h), W_a [A, H], U_a [A, W] (Bahdanau et al. 2015, A.1.2)."""

    def __init__(self, query: int, annotation: int, size: int) -> None:
        super().__init__()
        self.query = Map(query, size)
        self.annotation = Map(annotation, size)
        self.v = nn.Parameter(torch.empty(size))

    def keys(self, annotations: Tensor) -> Tensor:
        keys: Tensor = self.annotation(annotations)
        return keys.to(annotations.dtype)

    def bind(self, keys: Tensor) -> Energies:
        query = self.query.bind()
        sums = _KeySums(keys.detach(), self.v.detach())
        shared = anchor(sums, keys, self.v)

        def energies(queries: Tensor) -> Tensor:
            e: Tensor = _AdditiveEnergies.apply(query(queries).to(keys.dtype), shared, sums)
            return e

        return energies


class Dot(nn.Module):
    """e = h_t^T h_s (Luong et al. 2015, eq. 8)."""

    def keys(self, annotations: Tensor) -> Tensor:
        return annotations

    def bind(self, keys: Tensor) -> Energies:
        turned = keys.mT
        return lambda queries: torch.bmm(queries, turned)


class General(nn.Module):
    """e = h_t^T W_a h_s, W_a [H, W] (Luong et al. 2015, eq. 8); W_a h_s is computed once per sentence."""

    def __init__(self, query: int, annotation: int) -> None:
        super().__init__()
        self.annotation = Map(annotation, query)

    def keys(self, annotations: Tensor) -> Tensor:
        keys: Tensor = self.annotation(annotations)
        return keys.to(annotations.dtype)

    def bind(self, keys: Tensor) -> Energies:
        turned = keys.mT
        return lambda queries: torch.bmm(queries, turned)


class _ContextFactors:
    """c_t = sum_j a_tj h_j at many steps; the gradient of h is sum_t a_tj g_t, one product at the end."""

    def __init__(self, vectors: Tensor) -> None:
        self.vectors = vectors
        self.weights: list[Tensor] = []
        self.contexts: list[Tensor] = []

    def gradients(self) -> tuple[Tensor]:
        weights, contexts = torch.cat(self.weights, dim=1), torch.cat(self.contexts, dim=1)
        self.weights.clear()
        self.contexts.clear()
        return (torch.bmm(weights.mT, contexts),)


class _Contexts(torch.autograd.Function):
    """[B, Q, S] weights -> [B, Q, W]."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, shared: Tensor, factors: _ContextFactors) -> Tensor:
        ctx.factors, ctx.weights = factors, weights
        return torch.bmm(weights, factors.vectors)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        ctx.factors.weights.append(ctx.weights)
        ctx.factors.contexts.append(gradient)
        return torch.bmm(gradient, ctx.factors.vectors.mT), None, None


class _KeySums:
    """v^T tanh(keys + q) at many steps; the gradients of keys and v are summed in place on the way back."""

    def __init__(self, keys: Tensor, v: Tensor) -> None:
        self.keys, self.v = keys, v
        self.of_keys: Tensor | None = None
        self.of_v: Tensor | None = None

    def add(self, of_keys: Tensor, of_v: Tensor) -> None:
        """`of_keys` must be the caller's own to give away."""
        if self.of_keys is None or self.of_v is None:
            self.of_keys, self.of_v = of_keys, of_v
        else:
            self.of_keys += of_keys
            self.of_v += of_v

    def gradients(self) -> tuple[Tensor | None, Tensor | None]:
        sums = self.of_keys, self.of_v
        self.of_keys = self.of_v = None
        return sums


class _AdditiveEnergies(torch.autograd.Function):
    """[B, Q, A] queries -> [B, Q, S]; the tanh is kept for the way back."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, shared: Tensor, sums: _KeySums) -> Tensor:
        ctx.sums = sums
        ctx.activation = (sums.keys[:, None] + queries[:, :, None]).tanh_()  # [B, Q, S, A]
        return torch.mv(ctx.activation.flatten(0, 2), sums.v).view(ctx.activation.shape[:3])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        sums, activation = ctx.sums, ctx.activation
        ctx.activation = None  # overwritten below, so there is no going back twice
        of_v = torch.mv(activation.flatten(0, 2).t(), gradient.flatten())
        # in place, in the memory of the activation: new memory of this size costs more than the arithmetic
        inner = activation.square_().neg_().add_(1).mul_(sums.v).mul_(gradient.unsqueeze(-1))  # [B, Q, S, A]
        sums.add(inner.squeeze(1) if inner.shape[1] == 1 else inner.sum(dim=1), of_v)
        return inner.sum(dim=2), None, None
