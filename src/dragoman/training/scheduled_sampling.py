"""Scheduled sampling: some of the words that a step reads in training are the model's own (Bengio et al. 2015).

A translation is written after words of the model's own choice; training on known words only never shows it what comes
after a mistake. Here each previous word is, with a probability, a sample of the model's distribution after the words
before it, be they known or sampled. The share of samples grows linearly over the training, from none to the
configured one. The targets stay the known words, and no gradient goes through the choice.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dragoman.data.batches import Batch
from dragoman.model.translation import TranslationModel
from dragoman.text.vocabulary import BOS, EOS, PAD


@torch.no_grad()
def sample_previous_words(model: TranslationModel, batch: Batch, share: float) -> Tensor:
    """The words that each step reads, [B, T]: BOS first, then each a sample with probability `share`, else known.

    Samples are drawn on the path of search: step by step, and without dropout. What search never reads (padding, the
    two ends of a sentence) is never drawn. All random numbers are torch's.
    """
    words = model.previous_words(batch)
    chosen = torch.rand(words.shape, device=words.device) < share
    training = model.training
    model.eval()
    try:
        memory, state = model.start(batch.source, batch.source_lengths)
        prepared = model.decoder.prepare(memory, len(batch))
        for t in range(1, words.shape[1]):
            step = model.step(words[:, t - 1], state, prepared)
            state = step.state
            words[:, t] = torch.where(chosen[:, t], _draw(step.log_probabilities), words[:, t])
    finally:
        model.train(training)
    return words


def _draw(log_probabilities: Tensor) -> Tensor:
    """A word for each row of [B, V]: the largest of log p_v - log E_v, E_v exponential, is v with probability p_v."""
    waiting = torch.empty_like(log_probabilities).exponential_().log_()
    keys = log_probabilities - waiting
    keys[:, [PAD, BOS, EOS]] = -torch.inf
    return keys.argmax(dim=1)
