"""The translation model: embeddings, encoder, bridge, decoder with attention and readout, output layer.

It also represents whole sources as vectors: the summary, and the final encoder states.

Letters: B sentences, N rows grouped by sentence, S and T positions of source and target, E embedding, V vocabulary, O
units of a readout, W units of a summary or of a state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dragoman.data.batches import Batch
from dragoman.model.attention import AttentionMemory
from dragoman.model.decoder import Decoder, DecoderOutput, DecoderState, PreparedDecoder
from dragoman.model.dropout import Dropout
from dragoman.model.encoder import Annotations, Bridge, Encoder
from dragoman.model.output_layer import OutputLayer
from dragoman.model.trainable import GuidedLoss, Loss, Trainable, guided_loss
from dragoman.text.vocabulary import BOS


class ModelStart(NamedTuple):
    """An encoded source batch: the memory that decoder steps attend to, and the initial decoder state."""

    memory: AttentionMemory | None
    state: DecoderState


class ModelStep(NamedTuple):
    """The result of one step of N rows: log-probabilities [N, V], alignment weights [N, S] or None, next state."""

    log_probabilities: Tensor
    weights: Tensor | None
    state: DecoderState


class ModelForced(NamedTuple):
    """The result of forced decoding.

    log_probabilities: of the target words, [B, T], zero on padding
    weights:           alignment weights [B, T, S]; None without attention
    centres:           window centres p_t of local attention, [B, T]
    """

    log_probabilities: Tensor
    weights: Tensor | None
    centres: Tensor | None = None


class TranslationModel(Trainable):
    """The translation model p(target | source)."""

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
            previous: previous words to read in place of the reference words, [B, T], BOS first (scheduled sampling).
        """
        output = self._unroll(batch, previous)
        words, rows = self._target(batch)
        losses = self.output.loss(output.readout.index_select(0, rows), words, label_smoothing)
        counts = int(batch.target_lengths.sum()), len(batch.target_lengths)
        if not guided_alignment:
            return Loss(losses.smoothed, losses.nll, *counts)
        assert output.weights is not None, "guided alignment needs attention"
        assert batch.links is not None, "guided alignment needs links"
        guidance = guided_loss(output.weights.view(*batch.target.shape, -1), batch.links, self.attention_shift)
        objective = losses.smoothed + guided_alignment * guidance.loss
        return Loss(objective, losses.nll, *counts, GuidedLoss(guidance.loss.detach(), guidance.positions))

    @torch.inference_mode()
    def force(self, batch: Batch) -> ModelForced:
        """Forced decoding: the log-probability of each target word, and the weights of the step that predicted it."""
        output = self._unroll(batch)
        words, rows = self._target(batch)
        result = torch.zeros(batch.target.size, dtype=self.output.weight.dtype, device=self.device)
        result[rows] = self.output.word_log_probabilities(output.readout.index_select(0, rows), words)
        shape = batch.target.shape
        return ModelForced(
            result.view(shape),  # [B*T] -> [B, T]
            None if output.weights is None else output.weights.view(*shape, -1),  # [B*T, S] -> [B, T, S]
            None if output.centres is None else output.centres.view(shape),
        )

    def start(self, source: NDArray[np.int64], lengths: NDArray[np.int64]) -> ModelStart:
        """Encode a source batch [B, S] with lengths [B]."""
        annotations = self.annotate(source, lengths)
        initial = self.bridge(annotations)
        return ModelStart(self.decoder.precompute(annotations, initial), self.decoder.initial_state(initial))

    def step(self, words: Tensor, state: DecoderState, prepared: PreparedDecoder) -> ModelStep:
        """One step from previous words [N] to log-probabilities [N, V]; rows are grouped by source sentence.

        The previous word of the first step is BOS.
        """
        output, state = self.advance(words, state, prepared)
        return ModelStep(self.output.log_probabilities(output.readout), output.weights, state)

    def advance(
        self, words: Tensor, state: DecoderState, prepared: PreparedDecoder
    ) -> tuple[DecoderOutput, DecoderState]:
        """One step without the output layer, for callers that apply it to the readouts of many steps at once.

        `words` [N] are the previous words, rows grouped by source sentence; readouts are [N, O], weights [N, S].
        """
        return self.decoder.step(self.decoder.words(self._previous(words)), state, prepared)

    def previous_words(self, batch: Batch) -> Tensor:
        """The previous words of the reference, [B, T]: BOS, then the target without its last column."""
        target = torch.from_numpy(batch.target).to(self.device)
        return torch.cat((torch.full_like(target[:, :1], BOS), target[:, :-1]), dim=1)

    def _unroll(self, batch: Batch, previous: Tensor | None = None) -> DecoderOutput:
        """Unroll over the target, or over other previous words [B, T]: readouts [B*T, O] and weights [B*T, S]."""
        annotations = self.annotate(batch.source, batch.source_lengths)
        previous = self.previous_words(batch) if previous is None else previous
        words, initial = self._drop_words(self._previous(previous), previous), self.bridge(annotations)
        memory, state = self.decoder.precompute(annotations, initial), self.decoder.initial_state(initial)
        return self.decoder.unroll_from(words, memory, state, len(words))

    def annotate(self, source: NDArray[np.int64], lengths: NDArray[np.int64]) -> Annotations:
        """The annotations [B, S, W] of a source batch [B, S] with lengths [B]; with dropout in training."""
        words = torch.from_numpy(source).to(self.device)
        vectors = self._drop_words(self.source(words), words)
        annotations: Annotations = self.encoder(vectors, torch.from_numpy(lengths))
        return annotations._replace(vectors=self.annotation_dropout(annotations.vectors))

    def _previous(self, words: Tensor) -> Tensor:
        """Embed previous words, [N] -> [N, E] or [B, T] -> [B, T, E]; with `zero_first` BOS is a zero vector."""
        vectors: Tensor = self.target(words)
        return vectors * (words != BOS).unsqueeze(-1) if self.zero_first else vectors

    def _drop_words(self, vectors: Tensor, words: Tensor) -> Tensor:
        """Apply embedding dropout and word dropout to word vectors [B, n, E]."""
        vectors = self.embedding_dropout(vectors)
        dropped = self.dropout_strength * self.word_dropout
        if self.training and dropped:
            kept = torch.rand(words.shape, device=words.device) >= dropped  # [B, n]
            vectors = vectors * kept.unsqueeze(-1)  # [B, n, E] * [B, n, 1]
        return vectors

    def _target(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The real target words [n] and their rows [n] in B*T; computed on the CPU to avoid a GPU synchronisation."""
        real = np.arange(batch.target.shape[1]) < batch.target_lengths[:, None]
        words, rows = torch.from_numpy(batch.target[real]), torch.from_numpy(np.flatnonzero(real))
        return words.to(self.device), rows.to(self.device)


@torch.inference_mode()
def summaries(model: TranslationModel, source: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
    """The summary c of each source of a batch: [B, S] -> [B, W] (Cho et al. 2014, section 2.2 and appendix).

    The model is in evaluation mode, as for `final_states`.
    """
    return _array(model.bridge(model.annotate(source, lengths)).summary)


@torch.inference_mode()
def final_states(model: TranslationModel, source: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
    """The states of all layers after the last symbol, side by side: [B, S] -> [B, layers * parts * W]."""
    last = model.annotate(source, lengths).last
    return _array(torch.cat([part for state in last for part in state], dim=1))


def _array(tensor: Tensor) -> NDArray[np.float32]:
    return np.asarray(tensor.float().cpu().numpy(), np.float32)
