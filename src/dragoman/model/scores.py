"""Scores: energies of queries against every annotation, the ways the papers compare the two.

Queries come as [B, Q, H], keys as [B, S, A] once per sentence, energies go out as [B, Q, S].
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from dragoman.model.deferred import anchor
from dragoman.model.maps import BoundMap, Map


class Energies(Protocol):
    """Queries [B, Q, H] -> energies e [B, Q, S] against the keys it was bound to.

    `coverage` [B, Q, S] is the sum of each position's weights so far, for a score that looks at it.
    """

    def __call__(self, queries: Tensor, coverage: Tensor | None = None) -> Tensor: ...


class Score(Protocol):
    """A way to compare a query with the annotations."""

    def keys(self, annotations: Tensor, mask: Tensor) -> Tensor:
        """What each annotation contributes, once per sentence: [B, S, W] and mask [B, S] -> [B, S, A]."""
        ...

    def bind(self, keys: Tensor) -> Energies:
        """The energies function of one unrolling."""
        ...


class Additive(nn.Module):
    """e = v_a^T tanh(W_a s + U_a h), W_a [A, H], U_a [A, W] (Bahdanau et al. 2015, A.1.2).

    The concat score of Luong et al. 2015, section 3.1, v_a^T tanh(W_a [h_t; h_s]), is this with two blocks of W_a.

    identity: U_a is fixed to the identity, so A = W (what the authors of Luong et al. 2015 ran as concat)
    normed:   e = g v_a^T / |v_a| tanh(W_a s + U_a h + b), the length g of v_a trained apart
    coverage: U_a h_j + w_c k_j stands for U_a h_j, k_j the sum of position j's weights so far (Tu et al. 2016)
    """

    def __init__(
        self,
        query: int,
        annotation: int,
        size: int,
        *,
        identity: bool = False,
        normed: bool = False,
        coverage: bool = False,
    ) -> None:
        super().__init__()
        assert not identity or size == annotation, "the identity changes no size"
        self.query = Map(query, size, bias=normed)
        self.annotation = None if identity else Map(annotation, size)
        self.v = nn.Parameter(torch.empty(size))
        self.length = nn.Parameter(torch.empty(())) if normed else None
        self.coverage = nn.Parameter(torch.empty(size)) if coverage else None

    def keys(self, annotations: Tensor, mask: Tensor) -> Tensor:
        if self.annotation is None:
            return annotations
        keys: Tensor = self.annotation(annotations)
        return keys.to(annotations.dtype)

    def bind(self, keys: Tensor) -> Energies:
        query = self.query.bind()
        v = self.v if self.length is None else self.length * self.v / self.v.norm()
        if self.coverage is not None:
            return _covered_energies(query, keys, v, self.coverage)
        sums = _KeySums(keys.detach(), v.detach())
        shared = anchor(sums, keys, v)

        def energies(queries: Tensor, coverage: Tensor | None = None) -> Tensor:
            e: Tensor = _AdditiveEnergies.apply(query(queries).to(keys.dtype), shared, sums)
            return e

        return energies


class Dot(nn.Module):
    """e = h_t^T h_s (Luong et al. 2015, section 3.1); scaled: over the root of the size (Vaswani et al. 2017)."""

    def __init__(self, size: int, *, scaled: bool = False) -> None:
        super().__init__()
        self.scale = 1 / math.sqrt(size) if scaled else 1.0

    def keys(self, annotations: Tensor, mask: Tensor) -> Tensor:
        return annotations if self.scale == 1.0 else annotations * self.scale

    def bind(self, keys: Tensor) -> Energies:
        return _products(keys)


class General(nn.Module):
    """e = h_t^T W_a h_s, W_a [H, W] (Luong et al. 2015, section 3.1); W_a h_s is computed once per sentence."""

    def __init__(self, query: int, annotation: int) -> None:
        super().__init__()
        self.annotation = Map(annotation, query)

    def keys(self, annotations: Tensor, mask: Tensor) -> Tensor:
        keys: Tensor = self.annotation(annotations)
        return keys.to(annotations.dtype)

    def bind(self, keys: Tensor) -> Energies:
        return _products(keys)


class Location(nn.Module):
    """a_t = softmax(W_a h_t), W_a [S_max, H] (Luong et al. 2015, eq. 8): a slot for each position, words do not count.

    Slots are aligned to the end of what the encoder reads: the last slot belongs to the last word read, which is the
    first word of the source where that is read backwards. A source longer than S_max is looked at in its first S_max
    words only. Unmasked, the softmax runs over all slots, so that the weights of a short sentence sum to less than 1
    (the authors' code of June 2015); the energies are then logarithms of weights.
    """

    def __init__(self, query: int, slots: int, *, masked: bool, reads_backwards: bool) -> None:
        super().__init__()
        self.slots, self.masked, self.reads_backwards = slots, masked, reads_backwards
        self.query = Map(query, slots)

    def keys(self, annotations: Tensor, mask: Tensor) -> Tensor:
        """The slot of each position, int64 [B, S]; -1 where there is none."""
        position = torch.arange(mask.shape[1], device=mask.device)
        length = mask.sum(dim=1, keepdim=True).clamp(max=self.slots)
        slot = self.slots - 1 - position if self.reads_backwards else self.slots - length + position
        return torch.where(position < length, slot, -1)

    def bind(self, keys: Tensor) -> Energies:
        query = self.query.bind()
        nowhere = (keys < 0).unsqueeze(1)  # [B, 1, S]
        slot = keys.clamp(min=0).unsqueeze(1)

        def energies(queries: Tensor, coverage: Tensor | None = None) -> Tensor:
            by_slot = query(queries).to(queries.dtype)
            if not self.masked:
                by_slot = torch.log_softmax(by_slot, dim=-1)
            by_position = by_slot.gather(2, slot.expand(-1, queries.shape[1], -1))
            return by_position.masked_fill(nowhere, -torch.inf)

        return energies


def _covered_energies(query: BoundMap, keys: Tensor, v: Tensor, w: Tensor) -> Energies:
    """The additive energies with w_c k_j beside U_a h_j; the keys differ from step to step."""

    def energies(queries: Tensor, coverage: Tensor | None = None) -> Tensor:
        inner = keys[:, None] + query(queries).to(keys.dtype)[:, :, None]  # [B, Q, S, A]
        if coverage is not None:
            inner = inner + coverage.unsqueeze(-1) * w
        return torch.tanh(inner) @ v

    return energies


def _products(keys: Tensor) -> Energies:
    factors = _KeyFactors(keys.detach())
    shared = anchor(factors, keys)

    def energies(queries: Tensor, coverage: Tensor | None = None) -> Tensor:
        e: Tensor = _ProductEnergies.apply(queries, shared, factors)
        return e

    return energies


class _KeyFactors:
    """e_t = q_t K^T at many steps; the gradient of the keys is sum_t g_t^T q_t, one product at the end."""

    def __init__(self, keys: Tensor) -> None:
        self.keys = keys
        self.queries: list[Tensor] = []
        self.energies: list[Tensor] = []

    def gradients(self) -> tuple[Tensor]:
        queries, energies = torch.cat(self.queries, dim=1), torch.cat(self.energies, dim=1)
        self.queries.clear()
        self.energies.clear()
        return (torch.bmm(energies.mT, queries),)


class _ProductEnergies(torch.autograd.Function):
    """[B, Q, H] queries -> [B, Q, S]."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, shared: Tensor, factors: _KeyFactors) -> Tensor:
        ctx.factors, ctx.queries = factors, queries
        return torch.bmm(queries, factors.keys.mT)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        ctx.factors.queries.append(ctx.queries)
        ctx.factors.energies.append(gradient)
        return torch.bmm(gradient, ctx.factors.keys), None, None


class _KeySums:
    """v^T tanh(keys + q) at many steps; the gradients of keys and v are summed in place on the way back."""

    def __init__(self, keys: Tensor, v: Tensor) -> None:
        self.doubled_keys, self.v = 2 * keys, v
        self.of_keys: Tensor | None = None
        self.of_v: Tensor | None = None
        self._outer: Tensor | None = None

    def outer(self, gradient: Tensor, like: Tensor) -> Tensor:
        """4 g v^T, [B, Q, S, A], for gradients [B, Q, S] of energies, in memory that serves every step."""
        if self._outer is None or self._outer.shape != like.shape:
            self._outer = torch.empty_like(like)
        return torch.mul(gradient.unsqueeze(-1), 4 * self.v, out=self._outer)

    def add(self, of_keys: Tensor, of_v: Tensor) -> None:
        """`of_keys` must be the caller's own to give away."""
        if self.of_keys is None or self.of_v is None:
            self.of_keys, self.of_v = of_keys, of_v
        else:
            self.of_keys += of_keys
            self.of_v += of_v

    def gradients(self) -> tuple[Tensor | None, Tensor | None]:
        sums = self.of_keys, self.of_v
        self.of_keys = self.of_v = self._outer = None
        return sums


class _AdditiveEnergies(torch.autograd.Function):
    """[B, Q, A] queries -> [B, Q, S], by way of tanh x = 2 sigmoid(2x) - 1.

    The processor takes a fifth of the time for a sigmoid, and the derivative is one operation. The sigmoids are kept
    for the way back.
    """

    @staticmethod
    def forward(ctx: Any, queries: Tensor, shared: Tensor, sums: _KeySums) -> Tensor:
        ctx.sums = sums
        sigmoids = torch.add(sums.doubled_keys[:, None], queries[:, :, None], alpha=2).sigmoid_()  # [B, Q, S, A]
        ctx.sigmoids = sigmoids
        return torch.mv(sigmoids.flatten(0, 2), 2 * sums.v).sub_(sums.v.sum()).view(sigmoids.shape[:3])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        sums, sigmoids = ctx.sums, ctx.sigmoids
        ctx.sigmoids = None  # overwritten below, so there is no going back twice
        of_v = torch.mv(sigmoids.flatten(0, 2).t(), gradient.flatten()).mul_(2).sub_(gradient.sum())
        # in place, in the memory of the sigmoids: new memory of this size costs more than the arithmetic
        inner = torch.ops.aten.sigmoid_backward.grad_input(
            sums.outer(gradient, sigmoids), sigmoids, grad_input=sigmoids
        )
        sums.add(inner.squeeze(1) if inner.shape[1] == 1 else inner.sum(dim=1), of_v)
        return inner.sum(dim=2), None, None
