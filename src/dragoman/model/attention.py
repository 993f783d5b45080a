"""Attention: energies of a query against every annotation, alignment weights, context vector.

Queries come as rows grouped by sentence: [B*Q, H] holds Q queries for each of B sentences, whether these are the
steps of a known target, the hypotheses of a beam, or one. Annotations are kept once per sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

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


class Look(NamedTuple):
    """One look at the source for each query: context vectors [B*Q, W], alignment weights [B*Q, S]."""

    context: Tensor
    weights: Tensor


class Attention(nn.Module):
    """Global attention: weights are a softmax over all real source positions."""

    def __init__(self, score: Score) -> None:
        super().__init__()
        self.score = score

    def bind(self, annotations: Annotations) -> Callable[[Tensor], Look]:
        """The function from queries [B*Q, H] to what they see; keys are computed here, once."""
        vectors, mask = annotations.vectors, annotations.mask
        energies = self.score.bind(self.score.keys(vectors))
        contexts = _SharedAnnotations(vectors)
        # -inf, not a large number: the weight of padding is exactly zero whatever the energies are
        closed = torch.zeros_like(mask, dtype=vectors.dtype).masked_fill_(~mask, -torch.inf)[:, None]  # [B, 1, S]

        def look(queries: Tensor) -> Look:
            grouped = queries.view(mask.shape[0], -1, queries.shape[-1])  # [B*Q, H] -> [B, Q, H]
            weights = torch.softmax(energies(grouped) + closed, dim=-1)
            return Look(contexts(weights).flatten(0, 1), weights.flatten(0, 1))

        return look


class Additive(nn.Module):
    """e = v_a^T tanh(W_a s + U_a h), W_a [A, H], U_a [A, W] (Bahdanau et al. 2015, A.1.2)."""

    def __init__(self, query: int, annotation: int, size: int) -> None:
        super().__init__()
        self.query = Map(query, size)
        self.annotation = Map(annotation, size)
        self.v = nn.Parameter(torch.empty(size))

    def keys(self, annotations: Tensor) -> Tensor:
        return self.annotation(annotations).to(annotations.dtype)

    def bind(self, keys: Tensor) -> Energies:
        query = self.query.bind()
        shared = _SharedKeys(keys, self.v)
        return lambda queries: shared(query(queries).to(keys.dtype))


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
        return self.annotation(annotations).to(annotations.dtype)

    def bind(self, keys: Tensor) -> Energies:
        turned = keys.mT
        return lambda queries: torch.bmm(queries, turned)


class _SharedAnnotations:
    """c = sum_j a_j h_j at many steps; the gradient of h, a sum over the steps, is one product at the end."""

    def __init__(self, vectors: Tensor) -> None:
        self.vectors = vectors.detach()
        self.weights: list[Tensor] = []
        self.gradients: list[Tensor] = []
        self.anchor = _AnnotationsGradient.apply(vectors, self)

    def __call__(self, weights: Tensor) -> Tensor:
        contexts: Tensor = _Contexts.apply(weights, self.anchor, self)
        return contexts

    def gradient(self) -> Tensor:
        """sum_t a_tj g_t, [B, S, W]."""
        weights, gradients = torch.cat(self.weights, dim=1), torch.cat(self.gradients, dim=1)
        self.weights.clear()
        self.gradients.clear()
        return torch.bmm(weights.mT, gradients)


class _AnnotationsGradient(torch.autograd.Function):
    """An empty tensor that every step takes, so that its backward runs after all of theirs."""

    @staticmethod
    def forward(ctx: Any, vectors: Tensor, shared: _SharedAnnotations) -> Tensor:
        ctx.shared = shared
        return vectors.new_empty(0)

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        return ctx.shared.gradient(), None


class _Contexts(torch.autograd.Function):
    """[B, Q, S] weights -> [B, Q, W]."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, anchor: Tensor, shared: _SharedAnnotations) -> Tensor:
        ctx.shared, ctx.weights = shared, weights
        return torch.bmm(weights, shared.vectors)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[override]
        ctx.shared.weights.append(ctx.weights)
        ctx.shared.gradients.append(gradient)
        return torch.bmm(gradient, ctx.shared.vectors.mT), None, None


class _SharedKeys:
    """v^T tanh(keys + q) at many steps; the gradients of keys and v are summed in place on the way back."""

    def __init__(self, keys: Tensor, v: Tensor) -> None:
        self.keys, self.v = keys.detach(), v.detach()
        self.keys_gradient: Tensor | None = None
        self.v_gradient: Tensor | None = None
        self.anchor = _KeysGradient.apply(keys, v, self)

    def __call__(self, queries: Tensor) -> Tensor:
        energies: Tensor = _AdditiveEnergies.apply(queries, self.anchor, self)
        return energies

    def add(self, keys_gradient: Tensor, v_gradient: Tensor) -> None:
        if self.keys_gradient is None or self.v_gradient is None:
            self.keys_gradient, self.v_gradient = keys_gradient, v_gradient
        else:
            self.keys_gradient += keys_gradient
            self.v_gradient += v_gradient


class _KeysGradient(torch.autograd.Function):
    """An empty tensor that every step takes, so that its backward runs after all of theirs."""

    @staticmethod
    def forward(ctx: Any, keys: Tensor, v: Tensor, shared: _SharedKeys) -> Tensor:
        ctx.shared = shared
        return keys.new_empty(0)

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> tuple[Tensor | None, Tensor | None, None]:  # type: ignore[override]
        shared = ctx.shared
        gradients = shared.keys_gradient, shared.v_gradient
        shared.keys_gradient = shared.v_gradient = None
        return *gradients, None


class _AdditiveEnergies(torch.autograd.Function):
    """[B, Q, A] queries -> [B, Q, S]; the tanh is kept for the way back."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, anchor: Tensor, shared: _SharedKeys) -> Tensor:
        ctx.shared = shared
        ctx.activation = torch.tanh(shared.keys[:, None] + queries[:, :, None])  # [B, Q, S, A]
        return torch.mv(ctx.activation.flatten(0, 2), shared.v).view(ctx.activation.shape[:3])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[override]
        shared, activation = ctx.shared, ctx.activation
        flat = activation.flatten(0, 2)
        v_gradient = torch.mv(flat.t(), gradient.flatten())
        inner = torch.ger(gradient.flatten(), shared.v).view_as(activation)
        inner = torch.ops.aten.tanh_backward(inner, activation)  # [B, Q, S, A]
        keys_gradient = inner.squeeze(1) if inner.shape[1] == 1 else inner.sum(dim=1)
        shared.add(keys_gradient, v_gradient)
        return inner.sum(dim=2), None, None
