"""The five parts put together: embedding, encoder, bridge, decoder with attention, readout and softmax."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dragoman.data.batches import Batch
from dragoman.model.attention import Memory
from dragoman.model.bridge import Bridge
from dragoman.model.decoder import Bound, Decoder, DecoderState
from dragoman.model.decoder import Output as Unrolled
from dragoman.model.dropout import Dropout
from dragoman.model.encoder import Annotations, Encoder
from dragoman.model.guided import Guidance, guided_loss
from dragoman.model.maps import Map
from dragoman.model.output import Output
from dragoman.text.vocabulary import BOS

CHUNK = 1024
"""Rows whose log-probabilities of the whole vocabulary are held at a time."""


class Loss(NamedTuple):
    """Sums over the real target tokens of a batch, end of sentence counted, in nats.

    objective: what is minimised: the label-smoothed negative log-likelihood, and the weighted loss of guided attention
    guidance:  the latter unweighted and detached; None where attention is not guided
    """

    objective: Tensor
    nll: Tensor
    tokens: int
    sentences: int
    guidance: Guidance | None = None


class Start(NamedTuple):
    """A source batch ready to be decoded: what steps look at, and the state before the first word."""

    memory: Memory | None
    state: DecoderState


class Step(NamedTuple):
    """One decoding step of N rows: log-probabilities [N, V], alignment weights [N, S] or None, next state."""

    log_probabilities: Tensor
    weights: Tensor | None
    state: DecoderState


class Forced(NamedTuple):
    """Log-probabilities of given targets [B, T], zero on padding; alignment weights [B, T, S] or None, and where their
    scope is local its centres p_t [B, T]."""

    log_probabilities: Tensor
    weights: Tensor | None
    centres: Tensor | None = None


class TranslationModel(nn.Module):
    """p(target | source), with the alignment weights behind it."""

    def __init__(
        self,
        source: nn.Embedding,
        target: nn.Embedding,
        encoder: Encoder,
        bridge: Bridge,
        decoder: Decoder,
        output: Output,
        *,
        zero_first: bool,
        source_eos: bool,
        attention_shift: int,
        embedding_dropout: Dropout,
        word_dropout: float,
        annotation_dropout: Dropout,
    ) -> None:
        super().__init__()
        self.source, self.target = source, target
        self.encoder, self.bridge, self.decoder, self.output = encoder, bridge, decoder, output
        self.zero_first = zero_first
        self.source_eos, self.attention_shift = source_eos, attention_shift
        self.embedding_dropout, self.word_dropout = embedding_dropout, word_dropout
        self.annotation_dropout = annotation_dropout
        self.precision: torch.dtype | None = None

    @property
    def device(self) -> torch.device:
        return self.output.weight.device

    def set_precision(self, precision: torch.dtype | None) -> None:
        """The type of matrix products; None is the parameters' own, which states and softmax keep in any case."""
        self.precision = precision
        for module in self.modules():
            if isinstance(module, Map | Output):
                module.precision = precision

    @contextmanager
    def full_precision(self) -> Iterator[None]:
        """Products in the parameters' own type for a while: what a finished model is used with."""
        before = self.precision
        self.set_precision(None)
        try:
            yield
        finally:
            self.set_precision(before)

    def loss(
        self,
        batch: Batch,
        label_smoothing: float = 0.0,
        *,
        guided_attention: float = 0.0,
        previous: Tensor | None = None,
    ) -> Loss:
        """Teacher-forced loss of a batch, summed over its real target tokens.

        Args:
            guided_attention: weight of the loss of the alignment weights against the links of the batch.
            previous: the words that each step reads instead of the known ones, [B, T], BOS first.
        """
        output = self._unroll(batch, previous)
        words, real = self._target(batch)
        losses = self.output.loss(output.readout[real], words[real], label_smoothing)
        counts = int(batch.target_lengths.sum()), len(batch.target_lengths)
        if not guided_attention:
            return Loss(losses.smoothed, losses.nll, *counts)
        assert output.weights is not None, "there is attention to guide"
        assert batch.links is not None, "there are links to guide it by"
        guidance = guided_loss(output.weights.view(*batch.target.shape, -1), batch.links, self.attention_shift)
        objective = losses.smoothed + guided_attention * guidance.loss
        return Loss(objective, losses.nll, *counts, Guidance(guidance.loss.detach(), guidance.positions))

    @torch.inference_mode()
    def force(self, batch: Batch) -> Forced:
        """Log-probability of each given target word, and the alignment weights of the step that predicted it."""
        return self._forced(batch, self._unroll(batch))

    @torch.inference_mode()
    def force_from(self, start: Start, owners: NDArray[np.int64], batch: Batch) -> Forced:
        """The same for the targets of a batch whose sources have been encoded: target n belongs to sentence
        `owners[n]` [N] of the start, ascending; of the batch's source nothing is used. Where targets begin alike, the
        softmax over the vocabulary, most of the work, is taken once."""
        sentences, counts = np.unique(owners, return_counts=True)
        if counts.min() != counts.max():
            sentences = owners  # each target has a copy of its source
        kept = torch.from_numpy(sentences).to(self.device)
        memory = start.memory.select(kept) if start.memory else None
        state = start.state.select(torch.from_numpy(owners).to(self.device))
        previous = self._previous(self.previous_words(batch))
        output = self.decoder.unroll_from(previous, memory, state, len(sentences))
        return self._forced(batch, output, _prefixes(owners, batch.target))

    def _forced(self, batch: Batch, output: Unrolled, prefixes: NDArray[np.int64] | None = None) -> Forced:
        """Gather the log-probabilities of the target words from readouts [N*T, O]; positions with the same number in
        `prefixes` [N, T] have the same readout."""
        words, real = self._target(batch)
        result = torch.zeros(words.shape, dtype=self.output.weight.dtype, device=self.device)
        rows = torch.nonzero(real).squeeze(1)
        if prefixes is None:
            distinct, which = rows, torch.arange(len(rows), device=self.device)
        else:
            _, first, inverse = np.unique(prefixes.ravel()[rows.cpu().numpy()], return_index=True, return_inverse=True)
            distinct, which = rows[torch.from_numpy(first).to(self.device)], torch.from_numpy(inverse).to(self.device)
        for start in range(0, len(distinct), CHUNK):
            logs = self.output.log_probabilities(output.readout[distinct[start : start + CHUNK]])
            asking = torch.nonzero((which >= start) & (which < start + CHUNK)).squeeze(1)
            places = rows[asking]
            result[places] = logs[which[asking] - start, words[places]].to(result.dtype)
        shape = batch.target.shape
        return Forced(
            result.view(shape),
            None if output.weights is None else output.weights.view(*shape, -1),
            None if output.centres is None else output.centres.view(shape),
        )

    def start(self, source: NDArray[np.int64], lengths: NDArray[np.int64]) -> Start:
        """Encode a source batch [B, S]."""
        annotations = self._annotate(source, lengths)
        opening = self.bridge(annotations)
        return Start(self.decoder.remember(annotations, opening), self.decoder.begin(opening))

    def step(self, words: Tensor, state: DecoderState, bound: Bound) -> Step:
        """One step from previous words [N], rows grouped by source sentence; BOS where there is none."""
        output, state = self.decoder.step(self.decoder.words(self._previous(words)), state, bound)
        return Step(self.output.log_probabilities(output.readout), output.weights, state)

    def previous_words(self, batch: Batch) -> Tensor:
        """The known word that each step reads, [B, T]: BOS first."""
        target = torch.from_numpy(batch.target).to(self.device)
        return torch.cat((torch.full_like(target[:, :1], BOS), target[:, :-1]), dim=1)

    def _unroll(self, batch: Batch, previous: Tensor | None = None) -> Unrolled:
        """Readouts [B*T, O] and alignment weights [B*T, S] over the known target, or over other previous words."""
        annotations = self._annotate(batch.source, batch.source_lengths)
        previous = self.previous_words(batch) if previous is None else previous
        words = self._thin_out(self._previous(previous), previous)
        return self.decoder.unroll(words, self.bridge(annotations), annotations)

    def _annotate(self, source: NDArray[np.int64], lengths: NDArray[np.int64]) -> Annotations:
        words = torch.from_numpy(source).to(self.device)
        vectors = self._thin_out(self.source(words), words)
        annotations: Annotations = self.encoder(vectors, torch.from_numpy(lengths))
        return annotations._replace(vectors=self.annotation_dropout(annotations.vectors))

    def _previous(self, words: Tensor) -> Tensor:
        """Vectors of previous target words; of BOS the symbol's own, or zero."""
        vectors: Tensor = self.target(words)
        return vectors * (words != BOS).unsqueeze(-1) if self.zero_first else vectors

    def _thin_out(self, vectors: Tensor, words: Tensor) -> Tensor:
        """In training, some units of word vectors [B, n, E], and some whole words, are zero."""
        vectors = self.embedding_dropout(vectors)
        if self.training and self.word_dropout:
            kept = torch.rand(words.shape, device=words.device) >= self.word_dropout
            vectors = vectors * kept.unsqueeze(-1)
        return vectors

    def _target(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Target words [B*T] and where they are real."""
        lengths = torch.from_numpy(batch.target_lengths)
        real = torch.arange(batch.target.shape[1]) < lengths[:, None]
        return torch.from_numpy(batch.target).flatten().to(self.device), real.flatten().to(self.device)


def _prefixes(owners: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers [N, T] that are equal where the words before a position, and the source, are."""
    numbers = np.empty(target.shape, np.int64)
    number = np.unique(owners, return_inverse=True)[1]
    offset = 0
    for step in range(target.shape[1]):
        if step:
            pairs = number * (1 + int(target.max())) + target[:, step - 1]
            number = np.unique(pairs, return_inverse=True)[1]
        numbers[:, step] = number + offset
        offset += len(owners)
    return numbers
