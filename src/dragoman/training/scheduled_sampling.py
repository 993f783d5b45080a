"""Scheduled sampling: some previous words in training are samples of the model (Bengio et al. 2015).

In search the model reads its own words, and a model trained on reference words only never sees what follows a mistake.
Here each previous word is, with a probability, a sample of the model's distribution after the words before it, be they
reference words or samples. The probability grows linearly over the training, from zero to the configured value. The
targets stay the reference words, and no gradient flows through the samples.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dragoman.data.batches import Batch
from dragoman.model.translation import TranslationModel
from dragoman.text.vocabulary import BOS, EOS, PAD


@torch.no_grad()
def sample_previous_words(model: TranslationModel, batch: Batch, share: float) -> Tensor:
    """The previous word of each step, [B, T]: BOS, then a sample with probability `share`, else the reference word.

    Samples are drawn step by step as in search, without dropout. PAD, BOS and EOS, which search never reads, are never
    drawn. All random numbers are torch's.
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
    """Draw a word for each row: the argmax of log p_v - log E_v, E_v exponential, is v with probability p_v."""
    waiting = torch.empty_like(log_probabilities).exponential_().log_()
    keys = log_probabilities - waiting
    keys[:, [PAD, BOS, EOS]] = -torch.inf
    return keys.argmax(dim=1)  # [B, V] -> [B]
