"""Faster context vectors: the gradient of the annotations is deferred to the end of the unrolling.

Letters: B sentences, Q queries of a sentence, T queries of all steps, S positions, W units of an annotation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from dragoman.model.fast.linear import defer_gradients


def weighted_sums(vectors: Tensor) -> Callable[[Tensor], Tensor]:
    """As `attention.weighted_sums`: weights [B, Q, S] -> contexts [B, Q, W], for vectors [B, S, W].

    The gradient of each annotation h_j, sum_t a_tj g_t, is part of one product.
    """
    deferred = _AnnotationGradients(vectors.detach())
    shared = defer_gradients(deferred, vectors)

    def contexts(weights: Tensor) -> Tensor:
        result: Tensor = _WeightedSums.apply(weights, shared, deferred)
        return result

    return contexts


class _AnnotationGradients:
    """Collects the weights [B, Q, S] and the gradients of the contexts [B, Q, W] of every step."""

    def __init__(self, vectors: Tensor) -> None:
        self.vectors = vectors
        self.weights: list[Tensor] = []
        self.contexts: list[Tensor] = []

    def gradients(self) -> tuple[Tensor]:
        weights, contexts = torch.cat(self.weights, dim=1), torch.cat(self.contexts, dim=1)  # [B, T, ..]
        self.weights.clear()
        self.contexts.clear()
        return (torch.bmm(weights.mT, contexts),)  # [B, S, T], [B, T, W] -> [B, S, W]


class _WeightedSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, shared: Tensor, deferred: _AnnotationGradients) -> Tensor:
        ctx.deferred, ctx.weights = deferred, weights
        return torch.bmm(weights, deferred.vectors)  # [B, Q, S], [B, S, W] -> [B, Q, W]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        ctx.deferred.weights.append(ctx.weights)
        ctx.deferred.contexts.append(gradient)
        return torch.bmm(gradient, ctx.deferred.vectors.mT), None, None  # [B, Q, W], [B, W, S] -> [B, Q, S]
