"""The gradient of the alignment weights with respect to the annotations: does attention look at the source?

The weights of step t are a function of the query and of the annotations, a_t = f(q_t, H). An attention that reads the
decoder state alone has no gradient with respect to H at a fixed query, however well it seems to work: the annotations
reach its weights only through the states of earlier steps.

Letters: B sentences, S and T positions of source and target, H units of a query, W units of an annotation.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dragoman.data.batches import Batch
from dragoman.model.attention import Attend, Attention, AttentionMemory, AttentionResult
from dragoman.model.translation import TranslationModel

_SEED = 1

_Call = tuple[Tensor, Tensor, Tensor | None]
"""Queries [B, H], times [1] and coverage [B, S] of one step."""


def weight_change(model: TranslationModel, batch: Batch) -> float:
    """The change of the weights, to first order, when each annotation changes by as much as annotations differ.

    It is |J|_F d, a mean over the steps of the given targets: J, [S, S*W], are the derivatives of the weights of a step
    with respect to the annotations at a fixed query, and d is the standard deviation of the units of the annotations.
    |J|_F is estimated as the root of the mean of |J^T r|^2 over vectors r of random signs. 0: the weights do not depend
    on the annotations at all.

    Args:
        model: one with attention, in evaluation mode.
        batch: the pairs whose targets are read.
    """
    attention = model.decoder.alignment
    assert attention is not None, "the model has attention"
    with torch.no_grad():
        memory, calls = _attended(model, attention, batch)
    annotations = memory.vectors.detach().clone().requires_grad_()  # [B, S, W]
    keys = attention.score.keys(annotations, memory.mask)
    attend = attention.prepare(AttentionMemory(annotations.detach(), memory.mask, keys))
    draw = torch.Generator().manual_seed(_SEED)
    lengths = torch.from_numpy(batch.target_lengths).to(model.device)
    total = annotations.new_zeros(())
    for step, (queries, times, coverage) in enumerate(calls):
        weights = attend(queries, times, coverage).weights  # [B, S]
        assert weights is not None, "attention has weights"
        signs = (2 * torch.randint(2, weights.shape, generator=draw) - 1).to(weights)
        total = total + (weights * signs)[lengths > step].sum()
    gradient = torch.autograd.grad(total, annotations, allow_unused=True)[0] if total.requires_grad else None
    if gradient is None:
        return 0.0
    real = annotations.detach()[memory.mask]  # [positions, W]
    deviation = (real - real.mean(dim=0)).square().mean().sqrt()
    return float((gradient.square().sum() / lengths.sum()).sqrt() * deviation)


def _attended(model: TranslationModel, attention: Attention, batch: Batch) -> tuple[AttentionMemory, list[_Call]]:
    """Step through the targets: the encoded sources, and what attention was called with at each step."""
    memory, state = model.start(batch.source, batch.source_lengths)
    assert memory is not None, "attention has a memory"
    calls: list[_Call] = []
    attend = attention.prepare(memory)
    prepared = model.decoder.prepare(memory, len(batch.source))._replace(attend=_recording(attend, calls))
    for words in model.previous_words(batch).unbind(1):
        _, state = model.advance(words, state, prepared)
    return memory, calls


def _recording(attend: Attend, calls: list[_Call]) -> Attend:
    """The same attention, which keeps what it was called with."""

    def recorded(queries: Tensor, times: Tensor, coverage: Tensor | None = None) -> AttentionResult:
        calls.append((queries, times, coverage))
        return attend(queries, times, coverage)

    return recorded
