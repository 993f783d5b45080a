"""Faster energies: the gradient of the keys is deferred to the end of the unrolling, and tanh computed by sigmoid.

Letters: B sentences, Q queries of a sentence, T queries of all steps, S positions, H units of a query, A alignment
size.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dragoman.model import scores
from dragoman.model.fast.linear import defer_gradients
from dragoman.model.linear import LinearStep
from dragoman.model.scores import Energies


def dot_energies(keys: Tensor) -> Energies:
    """As `scores.dot_energies`: queries [B, Q, A] -> energies [B, Q, S], for keys [B, S, A].

    The gradient of the keys is one product at the end of the unrolling.
    """
    deferred = _KeyGradients(keys.detach())
    shared = defer_gradients(deferred, keys)

    def energies(queries: Tensor, coverage: Tensor | None = None) -> Tensor:
        e: Tensor = _DotEnergies.apply(queries, shared, deferred)
        return e

    return energies


def additive_energies(query: LinearStep, keys: Tensor, v: Tensor, w: Tensor | None) -> Energies:
    """As `scores.additive_energies`: queries [B, Q, H] -> energies [B, Q, S], for keys [B, S, A] and v [A].

    The gradients of keys and v are summed in place. With coverage (w is given) it is the plain form, since the inner
    sum then differs between queries.
    """
    if w is not None:
        return scores.additive_energies(query, keys, v, w)
    deferred = _AdditiveGradients(keys.detach(), v.detach())
    shared = defer_gradients(deferred, keys, v)

    def energies(queries: Tensor, coverage: Tensor | None = None) -> Tensor:
        e: Tensor = _AdditiveEnergies.apply(query(queries).to(keys.dtype), shared, deferred)
        return e

    return energies


class _KeyGradients:
    """Deferred gradient of the keys in e_t = q_t K^T: sum_t g_t^T q_t, one product."""

    def __init__(self, keys: Tensor) -> None:
        self.keys = keys
        self.queries: list[Tensor] = []
        self.energies: list[Tensor] = []

    def gradients(self) -> tuple[Tensor]:
        queries, energies = torch.cat(self.queries, dim=1), torch.cat(self.energies, dim=1)  # [B, T, ..]
        self.queries.clear()
        self.energies.clear()
        return (torch.bmm(energies.mT, queries),)  # [B, S, T], [B, T, A] -> [B, S, A]


class _DotEnergies(torch.autograd.Function):
    """Queries [B, Q, A] -> energies [B, Q, S]."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, shared: Tensor, deferred: _KeyGradients) -> Tensor:
        ctx.deferred, ctx.queries = deferred, queries
        return torch.bmm(queries, deferred.keys.mT)  # [B, Q, A], [B, A, S] -> [B, Q, S]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        ctx.deferred.queries.append(ctx.queries)
        ctx.deferred.energies.append(gradient)
        return torch.bmm(gradient, ctx.deferred.keys), None, None  # [B, Q, S], [B, S, A] -> [B, Q, A]


class _AdditiveGradients:
    """Deferred gradients of keys and v in v^T tanh(keys + q), summed in place during the backward pass."""

    def __init__(self, keys: Tensor, v: Tensor) -> None:
        self.doubled_keys, self.v = 2 * keys, v
        self.of_keys: Tensor | None = None
        self.of_v: Tensor | None = None
        self._outer: Tensor | None = None

    def outer(self, gradient: Tensor, like: Tensor) -> Tensor:
        """4 g v^T [B, Q, S, A] for gradients g [B, Q, S] of energies, in memory that all steps share."""
        if self._outer is None or self._outer.shape != like.shape:
            self._outer = torch.empty_like(like)
        return torch.mul(gradient.unsqueeze(-1), 4 * self.v, out=self._outer)

    def add(self, of_keys: Tensor, of_v: Tensor) -> None:
        """Add the gradients of one step; `of_keys` [B, S, A] is kept and overwritten."""
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
    """Projected queries [B, Q, A] -> energies [B, Q, S], with tanh x = 2 sigmoid(2x) - 1.

    On a CPU the sigmoid takes a fifth of the time of tanh, and its derivative is one operation. The sigmoids are kept
    for the backward pass.
    """

    @staticmethod
    def forward(ctx: Any, queries: Tensor, shared: Tensor, deferred: _AdditiveGradients) -> Tensor:
        ctx.deferred = deferred
        sigmoids = torch.add(deferred.doubled_keys[:, None], queries[:, :, None], alpha=2).sigmoid_()  # [B, Q, S, A]
        ctx.sigmoids = sigmoids
        return torch.mv(sigmoids.flatten(0, 2), 2 * deferred.v).sub_(deferred.v.sum()).view(sigmoids.shape[:3])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        deferred, sigmoids = ctx.deferred, ctx.sigmoids
        ctx.sigmoids = None  # overwritten below, so there can be no second backward pass
        # [A, B*Q*S], [B*Q*S] -> [A]
        of_v = torch.mv(sigmoids.flatten(0, 2).t(), gradient.flatten()).mul_(2).sub_(gradient.sum())
        # in place, over the sigmoids: allocating memory of this size costs more than the arithmetic
        inner = torch.ops.aten.sigmoid_backward.grad_input(
            deferred.outer(gradient, sigmoids), sigmoids, grad_input=sigmoids
        )
        deferred.add(inner.squeeze(1) if inner.shape[1] == 1 else inner.sum(dim=1), of_v)  # [B, Q, S, A] -> [B, S, A]
        return inner.sum(dim=2), None, None  # [B, Q, S, A] -> [B, Q, A]
