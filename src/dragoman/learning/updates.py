"""The updates that a correction makes: on its pair, on pairs that are like it, and on some that are not.

Plain SGD has no state, so the weights and the pairs alone decide what a correction changes. The values below were
chosen on pages that the run had not seen (docs/lab-book/2026-11-corrections.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from dragoman.config.schema import OptimiserConfig
from dragoman.data.batches import Batch, Budget, batch_ids
from dragoman.learning.pool import IdPair
from dragoman.model.translation import TranslationModel
from dragoman.training.objective import TrainingObjective, accumulate_gradients
from dragoman.training.optimisers import build_optimiser, clip_gradients

UPDATES = 3
"""Most updates for a correction."""
RATE = 0.1
CLIPPED = 1.0
"""Largest norm of a gradient; it bounds what one correction can change."""
COPIES = 3
"""How often the pair itself stands in each batch."""
ENOUGH = 0.1
"""A pair counts as learnt, and is updated no further, below this loss in nats a token."""

PULL = 0.02
"""After a correction the weights move this share of the way back to those of the base run. Without it every correction
makes the run forget a little, and a hundred corrections make it forget more than the guard allows."""
DROPOUT, SMOOTHING = 0.5, 0.1
"""The share of the run's dropout that applies, and the label smoothing."""

_OBJECTIVE = TrainingObjective("tokens", SMOOTHING)


def learn_pair(
    model: TranslationModel, pair: IdPair, beside: Sequence[IdPair], base: Mapping[str, Tensor], seed: int
) -> int:
    """Update the weights on a pair and on others beside it.

    Args:
        model: its weights are changed.
        pair: the correction.
        beside: other pairs of each batch.
        base: the weights of the base run, by name.
        seed: of the dropout.

    Returns:
        the number of updates; with none the weights are as before.
    """
    parameters = list(model.parameters())
    optimiser = build_optimiser(parameters, OptimiserConfig(name="sgd", learning_rate=RATE))
    own, batch = _batch(model, [pair]), _batch(model, [*[pair] * COPIES, *beside])
    model.set_dropout_strength(DROPOUT)
    updates = 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        while updates < UPDATES and _nats(model, own) >= ENOUGH:
            model.train()
            accumulate_gradients(model, [batch], _OBJECTIVE)
            model.eval()
            clip_gradients(parameters, CLIPPED)
            optimiser.step()
            optimiser.clear_gradients()
            updates += 1
    if updates:
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.lerp_(base[name], PULL)
    return updates


@torch.no_grad()
def _nats(model: TranslationModel, batch: Batch) -> float:
    loss = model.loss(batch)
    return float(loss.nll) / loss.tokens


def _batch(model: TranslationModel, pairs: Sequence[IdPair]) -> Batch:
    everything = Budget("sentences", len(pairs))
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    [batch] = batch_ids(sources, targets, everything, source_eos=model.source_eos)
    return batch
