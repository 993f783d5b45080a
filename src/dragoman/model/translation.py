"""The translation model: embeddings, encoder, bridge, decoder with attention and readout, output layer.

Letters: B sentences, N rows grouped by sentence, S and T positions of source and target, E embedding, V vocabulary, O
units of a readout.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dragoman.data.batches import Batch
from dragoman.model.attention import AttentionMemory
from dragoman.model.bridge import Bridge
from dragoman.model.decoder import Decoder, DecoderOutput, DecoderState, PreparedDecoder
from dragoman.model.dropout import Dropout
from dragoman.model.encoder import Annotations, Encoder
from dragoman.model.guided_alignment import GuidedLoss, guided_loss
from dragoman.model.output_layer import OutputLayer
from dragoman.model.trainable import Loss, Trainable
from dragoman.text.vocabulary import BOS


class ModelStart(NamedTuple):
    """An encoded source batch: what the decoder's steps attend to, and the state before the first word."""

    memory: AttentionMemory | None
    state: DecoderState


class ModelStep(NamedTuple):
    """One decoding step of N rows: log-probabilities [N, V], alignment weights [N, S] or None, next state."""

    log_probabilities: Tensor
    weights: Tensor | None
    state: DecoderState


class ModelForced(NamedTuple):
    """Log-probabilities of given targets [B, T], zero on padding; alignment weights [B, T, S] or None, and where their
    scope is local its centres p_t [B, T]."""

    log_probabilities: Tensor
    weights: Tensor | None
    centres: Tensor | None = None


class TranslationModel(Trainable):
    """p(target | source), with the alignment weights behind it."""

    def __init__(
        self,
        source: nn.Embedding,
        target: nn.Embedding,
        encoder: Encoder,
        bridge: Bridge,
        decoder: Decoder,
        output: OutputLayer,
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

    def loss(
        self,
        batch: Batch,
        label_smoothing: float = 0.0,
        *,
        guided_alignment: float = 0.0,
        previous: Tensor | None = None,
    ) -> Loss:
        """Teacher-forced loss of a batch, summed over its real target tokens.

        Args:
            guided_alignment: weight of the loss of the alignment weights against the links of the batch.
            previous: the words that each step reads instead of the known ones, [B, T], BOS first.
        """
        output = self._unroll(batch, previous)
        words, rows = self._target(batch)
        losses = self.output.loss(output.readout.index_select(0, rows), words, label_smoothing)
        counts = int(batch.target_lengths.sum()), len(batch.target_lengths)
        if not guided_alignment:
            return Loss(losses.smoothed, losses.nll, *counts)
        assert output.weights is not None, "there is an attention to guide"
        assert batch.links is not None, "there are links to guide it by"
        guidance = guided_loss(output.weights.view(*batch.target.shape, -1), batch.links, self.attention_shift)
        objective = losses.smoothed + guided_alignment * guidance.loss
        return Loss(objective, losses.nll, *counts, GuidedLoss(guidance.loss.detach(), guidance.positions))

    @torch.inference_mode()
    def force(self, batch: Batch) -> ModelForced:
        """Log-probability of each given target word, and the alignment weights of the step that predicted it."""
        return self._forced(batch, self._unroll(batch))

    def _forced(self, batch: Batch, output: DecoderOutput) -> ModelForced:
        """Gather the log-probabilities of the target words from readouts [N*T, O]."""
        words, rows = self._target(batch)
        result = torch.zeros(batch.target.size, dtype=self.output.weight.dtype, device=self.device)
        result[rows] = self.output.word_log_probabilities(output.readout.index_select(0, rows), words)
        shape = batch.target.shape
        return ModelForced(
            result.view(shape),
            None if output.weights is None else output.weights.view(*shape, -1),
            None if output.centres is None else output.centres.view(shape),
        )

    def start(self, source: NDArray[np.int64], lengths: NDArray[np.int64]) -> ModelStart:
        """Encode a source batch [B, S]."""
        annotations = self._annotate(source, lengths)
        initial = self.bridge(annotations)
        return ModelStart(self.decoder.precompute(annotations, initial), self.decoder.initial_state(initial))

    def step(self, words: Tensor, state: DecoderState, prepared: PreparedDecoder) -> ModelStep:
        """One step from previous words [N], rows grouped by source sentence; BOS where there is none."""
        output, state = self.advance(words, state, prepared)
        return ModelStep(self.output.log_probabilities(output.readout), output.weights, state)

    def advance(
        self, words: Tensor, state: DecoderState, prepared: PreparedDecoder
    ) -> tuple[DecoderOutput, DecoderState]:
        """A step without the output layer, which a caller with many readouts applies to all at once."""
        return self.decoder.step(self.decoder.words(self._previous(words)), state, prepared)

    def previous_words(self, batch: Batch) -> Tensor:
        """The known word that each step reads, [B, T]: BOS first."""
        target = torch.from_numpy(batch.target).to(self.device)
        return torch.cat((torch.full_like(target[:, :1], BOS), target[:, :-1]), dim=1)

    def _unroll(self, batch: Batch, previous: Tensor | None = None) -> DecoderOutput:
        """Readouts [B*T, O] and alignment weights [B*T, S] over the known target, or over other previous words."""
        annotations = self._annotate(batch.source, batch.source_lengths)
        previous = self.previous_words(batch) if previous is None else previous
        words, initial = self._drop_words(self._previous(previous), previous), self.bridge(annotations)
        memory, state = self.decoder.precompute(annotations, initial), self.decoder.initial_state(initial)
        return self.decoder.unroll_from(words, memory, state, len(words))

    def _annotate(self, source: NDArray[np.int64], lengths: NDArray[np.int64]) -> Annotations:
        words = torch.from_numpy(source).to(self.device)
        vectors = self._drop_words(self.source(words), words)
        annotations: Annotations = self.encoder(vectors, torch.from_numpy(lengths))
        return annotations._replace(vectors=self.annotation_dropout(annotations.vectors))

    def _previous(self, words: Tensor) -> Tensor:
        """Vectors of previous target words; of BOS the symbol's own, or zero."""
        vectors: Tensor = self.target(words)
        return vectors * (words != BOS).unsqueeze(-1) if self.zero_first else vectors

    def _drop_words(self, vectors: Tensor, words: Tensor) -> Tensor:
        """In training, some units of word vectors [B, n, E], and some whole words, are zero."""
        vectors = self.embedding_dropout(vectors)
        if self.training and self.word_dropout:
            kept = torch.rand(words.shape, device=words.device) >= self.word_dropout  # [B, n]
            vectors = vectors * kept.unsqueeze(-1)  # [B, n, E] * [B, n, 1]
        return vectors

    def _target(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The real target words [n], and their rows [n] among B*T; found on the CPU, so that no GPU is waited for."""
        real = np.arange(batch.target.shape[1]) < batch.target_lengths[:, None]
        words, rows = torch.from_numpy(batch.target[real]), torch.from_numpy(np.flatnonzero(real))
        return words.to(self.device), rows.to(self.device)
