"""The five parts put together: embedding, encoder, bridge, decoder with attention, readout and softmax.

`build` makes a model from its configuration; the parts themselves take plain parameters and other parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dragoman.config.schema import CellConfig, ModelConfig
from dragoman.data.batches import Batch
from dragoman.model.attention import Attention, FixedContext, Memory
from dragoman.model.bridge import Bridge
from dragoman.model.cells import GRU, LSTM, Cell, Tanh
from dragoman.model.decoder import Bound, Decoder, DecoderState
from dragoman.model.dropout import Dropout
from dragoman.model.encoder import Annotations, Encoder, Layer
from dragoman.model.guided import Guidance, guided_loss
from dragoman.model.initial import initialise
from dragoman.model.maps import Map
from dragoman.model.output import Output
from dragoman.model.readout import Attentional, Linear, Maxout, Readout
from dragoman.model.scopes import Global, Monotonic, Predictive, Scope
from dragoman.model.scores import Additive, Dot, General, Location, Score
from dragoman.text.vocabulary import BOS, PAD

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
    """Log-probabilities of given targets [B, T], zero on padding; alignment weights [B, T, S] or None."""

    log_probabilities: Tensor
    weights: Tensor | None


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
        readout, weights = self._unroll(batch, previous)
        words, real = self._target(batch)
        losses = self.output.loss(readout[real], words[real], label_smoothing)
        counts = int(batch.target_lengths.sum()), len(batch.target_lengths)
        if not guided_attention:
            return Loss(losses.smoothed, losses.nll, *counts)
        assert weights is not None, "there is attention to guide"
        assert batch.links is not None, "there are links to guide it by"
        guidance = guided_loss(weights.view(*batch.target.shape, -1), batch.links, self.attention_shift)
        objective = losses.smoothed + guided_attention * guidance.loss
        return Loss(objective, losses.nll, *counts, Guidance(guidance.loss.detach(), guidance.positions))

    @torch.inference_mode()
    def force(self, batch: Batch) -> Forced:
        """Log-probability of each given target word, and the alignment weights of the step that predicted it."""
        readout, weights = self._unroll(batch)
        return self._forced(batch, readout, weights)

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
        return self._forced(batch, output.readout, output.weights, _prefixes(owners, batch.target))

    def _forced(
        self, batch: Batch, readout: Tensor, weights: Tensor | None, prefixes: NDArray[np.int64] | None = None
    ) -> Forced:
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
            logs = self.output.log_probabilities(readout[distinct[start : start + CHUNK]])
            asking = torch.nonzero((which >= start) & (which < start + CHUNK)).squeeze(1)
            places = rows[asking]
            result[places] = logs[which[asking] - start, words[places]].to(result.dtype)
        shape = batch.target.shape
        return Forced(result.view(shape), None if weights is None else weights.view(*shape, -1))

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

    def _unroll(self, batch: Batch, previous: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Readouts [B*T, O] and alignment weights [B*T, S] over the known target, or over other previous words."""
        annotations = self._annotate(batch.source, batch.source_lengths)
        previous = self.previous_words(batch) if previous is None else previous
        output = self.decoder.unroll(
            self._thin_out(self._previous(previous), previous), self.bridge(annotations), annotations
        )
        return output.readout, output.weights

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


def build(config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> TranslationModel:
    """The model of a configuration for vocabularies of the given sizes, its parameters drawn as it says."""
    model = assemble(config, source_vocabulary, target_vocabulary)
    initialise(model, config.initial, config.spread)
    return model


def assemble(config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> TranslationModel:
    """The model of a configuration, its parameters not yet drawn; on the device `meta` it takes no memory."""
    annotation = config.encoder.size * _directions(config)
    source = nn.Embedding(source_vocabulary, config.embedding.source, padding_idx=PAD)
    target = nn.Embedding(target_vocabulary, config.embedding.target, padding_idx=PAD)
    decoder = _decoder(config, annotation)
    model = TranslationModel(
        source,
        target,
        _encoder(config),
        _bridge(config, annotation, [layer.cell for layer in decoder.layers]),
        decoder,
        Output(decoder.readout.size, target_vocabulary, bias=config.biases, rank=config.readout.rank),
        zero_first=config.decoder.first_word == "zero",
        source_eos=config.source_eos,
        attention_shift=int(config.attention.aligned_word == "read"),
        embedding_dropout=_dropout(config, config.dropout.embedding),
        word_dropout=config.dropout.words,
        annotation_dropout=_dropout(config, config.dropout.annotations),
    )
    if config.embedding.tied != "none":
        model.output.weight = cast(nn.Parameter, target.weight)
    if config.embedding.tied == "all":
        model.source = target
    return model


def _directions(config: ModelConfig) -> int:
    return 2 if config.encoder.direction == "both" else 1


def _encoder(config: ModelConfig) -> Encoder:
    settings, directions = config.encoder, _directions(config)
    layers, n_in = [], config.embedding.source
    for _ in range(settings.layers):
        layers.append(_layer(config, settings, n_in, directions, kernel=settings.cell.endswith("fused")))
        n_in = settings.size * directions
    return Encoder(
        layers,
        settings.direction,
        source_eos=config.source_eos,
        residual=settings.residual,
        dropout=_dropout(config, config.dropout.layers),
        recurrent_dropout=_recurrent_dropout(config),
    )


def _bridge(config: ModelConfig, annotation: int, cells: list[Cell]) -> Bridge:
    settings = config.bridge
    summed = settings.kind == "tanh-last" or config.decoder.context == "fixed"
    return Bridge(
        settings.kind,
        cells,
        config.encoder.size if settings.kind == "tanh-backward" else annotation,
        compressed=Map(annotation, annotation, bias=config.biases) if summed and settings.summary == "tanh" else None,
        memory=settings.memory == "hidden",
        biases=config.biases,
    )


def _decoder(config: ModelConfig, annotation: int) -> Decoder:
    settings = config.decoder
    layers, n_in = [], config.embedding.target
    for _ in range(settings.layers):
        layers.append(_layer(config, settings, n_in))
        n_in = settings.size
    source = _source(config, annotation)
    second = None
    if source and settings.order == "two-step":
        second = _layer(config, settings, annotation)
    return Decoder(
        layers,
        source,
        annotation,
        _readout(config, annotation if source else 0),
        order=settings.order,
        reads_previous=settings.readout_state == "prev",
        context_in_reset=settings.context_in_reset,
        second=second,
        input_feeding=settings.input_feeding,
        coverage=config.attention.coverage,
        residual=settings.residual,
        dropout=_dropout(config, config.dropout.layers),
        recurrent_dropout=_recurrent_dropout(config),
        feed_dropout=_dropout(config, config.dropout.feed),
        readout_dropout=_dropout(config, config.dropout.readout),
    )


def _readout(config: ModelConfig, context: int) -> Readout:
    settings, state = config.readout, config.decoder.size
    if settings.kind == "linear":
        return Linear(state)
    if settings.kind == "maxout":
        return Maxout(state, config.embedding.target, context, settings.size, config.biases)
    return Attentional(state, context, settings.size, config.biases, affine=settings.kind == "affine")


def _layer(config: ModelConfig, settings: CellConfig, n_in: int, directions: int = 1, *, kernel: bool = False) -> Layer:
    cell = _cell(settings, config.biases, directions)
    unbiased = 0 if config.gate_biases else 2 * settings.size  # r and z stand before the candidate
    return Layer(n_in, cell, directions, config.biases, unbiased=unbiased, kernel=kernel)


def _cell(settings: CellConfig, biases: bool, directions: int = 1) -> Cell:
    if settings.cell == "tanh":
        return Tanh(settings.size, directions=directions)
    if settings.cell.startswith("lstm"):
        return LSTM(settings.size, peepholes=settings.peepholes, directions=directions)
    inner_bias = biases and settings.cell == "gru-fused"
    return GRU(settings.size, settings.reset, settings.update, inner_bias=inner_bias, directions=directions)


def _source(config: ModelConfig, annotation: int) -> Attention | FixedContext | None:
    if config.decoder.context == "attended":
        return Attention(_score(config, annotation), _scope(config))
    return FixedContext() if config.decoder.context == "fixed" else None


def _score(config: ModelConfig, annotation: int) -> Score:
    settings, query = config.attention, config.decoder.size
    if settings.score in ("additive", "normed-additive"):
        normed = settings.score == "normed-additive"
        return Additive(query, annotation, settings.size, normed=normed, coverage=settings.coverage)
    if settings.score == "concat":
        return Additive(query, annotation, query, coverage=settings.coverage)
    if settings.score == "concat-identity":
        return Additive(query, annotation, annotation, identity=True, coverage=settings.coverage)
    if settings.score == "location":
        backwards = config.encoder.direction == "reversed"
        return Location(query, settings.slots, masked=settings.masked, reads_backwards=backwards)
    if settings.score == "general":
        return General(query, annotation)
    return Dot(query, scaled=settings.score == "scaled-dot")


def _scope(config: ModelConfig) -> Scope:
    settings = config.attention
    if settings.scope == "local-m":
        return Monotonic(settings.window)
    if settings.scope == "local-p":
        return Predictive(config.decoder.size, settings.window)
    return Global(normalised=settings.score == "location" and not settings.masked)


def _dropout(config: ModelConfig, probability: float) -> Dropout:
    return Dropout(probability, variational=config.dropout.variational)


def _recurrent_dropout(config: ModelConfig) -> Dropout:
    return Dropout(config.dropout.recurrent, variational=True)
