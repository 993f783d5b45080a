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

from dragoman.config import ModelConfig
from dragoman.data.batches import Batch
from dragoman.model.attention import Additive, Attention, Dot, General, Memory, Score
from dragoman.model.bridge import Bridge
from dragoman.model.cells import GRU, LSTM, Cell
from dragoman.model.decoder import Bound, Decoder, DecoderState
from dragoman.model.dropout import dropout
from dragoman.model.encoder import Annotations, Encoder, Layer
from dragoman.model.initial import initialise
from dragoman.model.maps import Map
from dragoman.model.output import Output
from dragoman.model.readout import Attentional, Linear, Maxout, Readout
from dragoman.text.vocabulary import BOS, PAD


class Loss(NamedTuple):
    """Sums over the real target tokens of a batch, end of sentence counted, in nats."""

    objective: Tensor
    nll: Tensor
    tokens: int
    sentences: int


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
        embedding_dropout: float,
        word_dropout: float,
        annotation_dropout: float,
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

    def loss(self, batch: Batch, label_smoothing: float = 0.0) -> Loss:
        """Teacher-forced loss of a batch, summed over its real target tokens."""
        readout, _ = self._unroll(batch)
        words, real = self._target(batch)
        losses = self.output.loss(readout[real], words[real], label_smoothing)
        return Loss(losses.smoothed, losses.nll, int(batch.target_lengths.sum()), len(batch.target_lengths))

    @torch.inference_mode()
    def force(self, batch: Batch) -> Forced:
        """Log-probability of each given target word, and the alignment weights of the step that predicted it."""
        readout, weights = self._unroll(batch)
        words, real = self._target(batch)
        result = torch.zeros(words.shape, dtype=self.output.weight.dtype, device=self.device)
        rows = torch.nonzero(real).squeeze(1)
        for part in rows.split(1024):  # a vocabulary's worth of numbers per row: a few rows at a time
            logs = self.output.log_probabilities(readout[part])
            result[part] = logs.gather(1, words[part, None]).squeeze(1).to(result.dtype)
        shape = batch.target.shape
        return Forced(result.view(shape), None if weights is None else weights.view(*shape, -1))

    def start(self, source: NDArray[np.int64], lengths: NDArray[np.int64]) -> Start:
        """Encode a source batch [B, S]."""
        annotations = self._annotate(source, lengths)
        return Start(self.decoder.remember(annotations), self.decoder.begin(self.bridge(annotations)))

    def step(self, words: Tensor, state: DecoderState, bound: Bound) -> Step:
        """One step from previous words [N], rows grouped by source sentence; BOS where there is none."""
        output, state = self.decoder.step(self.decoder.words(self._previous(words)), state, bound)
        return Step(self.output.log_probabilities(output.readout), output.weights, state)

    def _unroll(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Readouts [B*T, O] and alignment weights [B*T, S] over the known target."""
        annotations = self._annotate(batch.source, batch.source_lengths)
        target = torch.from_numpy(batch.target).to(self.device)
        previous = torch.cat((torch.full_like(target[:, :1], BOS), target[:, :-1]), dim=1)
        output = self.decoder.unroll(
            self._thin_out(self._previous(previous), previous), self.bridge(annotations), annotations
        )
        return output.readout, output.weights

    def _annotate(self, source: NDArray[np.int64], lengths: NDArray[np.int64]) -> Annotations:
        words = torch.from_numpy(source).to(self.device)
        vectors = self._thin_out(self.source(words), words)
        annotations: Annotations = self.encoder(vectors, torch.from_numpy(lengths))
        return annotations._replace(vectors=dropout(annotations.vectors, self.annotation_dropout, self.training))

    def _previous(self, words: Tensor) -> Tensor:
        """Vectors of previous target words; of BOS the symbol's own, or zero."""
        vectors: Tensor = self.target(words)
        return vectors * (words != BOS).unsqueeze(-1) if self.zero_first else vectors

    def _thin_out(self, vectors: Tensor, words: Tensor) -> Tensor:
        """In training, some units of word vectors [B, n, E], and some whole words, are zero."""
        vectors = dropout(vectors, self.embedding_dropout, self.training)
        if self.training and self.word_dropout:
            kept = torch.rand(words.shape, device=words.device) >= self.word_dropout
            vectors = vectors * kept.unsqueeze(-1)
        return vectors

    def _target(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Target words [B*T] and where they are real."""
        lengths = torch.from_numpy(batch.target_lengths)
        real = torch.arange(batch.target.shape[1]) < lengths[:, None]
        return torch.from_numpy(batch.target).flatten().to(self.device), real.flatten().to(self.device)


def build(config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> TranslationModel:
    """The model of a configuration for vocabularies of the given sizes, its parameters drawn as it says."""
    directions = 2 if config.encoder.direction == "both" else 1
    annotation = config.encoder.size * directions
    source = nn.Embedding(source_vocabulary, config.embedding.source, padding_idx=PAD)
    target = nn.Embedding(target_vocabulary, config.embedding.target, padding_idx=PAD)
    encoder = _encoder(config, directions)
    decoder = _decoder(config, annotation)
    cells: list[Cell] = [layer.cell for layer in decoder.layers]
    summary = config.encoder.size if config.bridge.kind == "tanh-backward" else annotation
    model = TranslationModel(
        source,
        target,
        encoder,
        Bridge(config.bridge.kind, cells, summary, config.biases),
        decoder,
        Output(decoder.readout.size, target_vocabulary, bias=config.biases),
        zero_first=config.decoder.first_word == "zero",
        source_eos=config.source_eos,
        attention_shift=int(config.attention.aligned_word == "read"),
        embedding_dropout=config.dropout.embedding,
        word_dropout=config.dropout.words,
        annotation_dropout=config.dropout.annotations,
    )
    initialise(model, config.initial, config.spread)
    if config.embedding.tied != "none":
        model.output.weight = cast(nn.Parameter, target.weight)
    if config.embedding.tied == "all":
        model.source = target
    return model


def _encoder(config: ModelConfig, directions: int) -> Encoder:
    settings, layers, n_in = config.encoder, [], config.embedding.source
    for _ in range(settings.layers):
        cell = _cell(settings.cell, settings.size, settings.reset, settings.update, directions)
        layers.append(Layer(n_in, cell, directions, config.biases))
        n_in = settings.size * directions
    return Encoder(layers, settings.direction, config.source_eos, config.dropout.layers)


def _decoder(config: ModelConfig, annotation: int) -> Decoder:
    settings, layers, n_in = config.decoder, [], config.embedding.target
    for _ in range(settings.layers):
        cell = _cell(settings.cell, settings.size, settings.reset, settings.update, 1)
        layers.append(Layer(n_in, cell, 1, config.biases))
        n_in = settings.size
    attention = Attention(_score(config, annotation)) if settings.context == "attended" else None
    context = annotation if attention else 0
    readout: Readout
    if config.readout.kind == "linear":
        readout = Linear(settings.size)
    elif config.readout.kind == "maxout":
        readout = Maxout(settings.size, config.embedding.target, context, config.readout.size, config.biases)
    else:
        readout = Attentional(settings.size, context, config.readout.size, config.biases)
    return Decoder(
        layers,
        attention,
        annotation,
        readout,
        order=settings.order,
        input_feeding=settings.input_feeding,
        dropout=config.dropout.layers,
        readout_dropout=config.dropout.readout,
    )


def _cell(kind: str, size: int, reset: str, update: str, directions: int) -> Cell:
    return LSTM(size, directions) if kind == "lstm" else GRU(size, reset, update, directions)  # type: ignore[arg-type]


def _score(config: ModelConfig, annotation: int) -> Score:
    query = config.decoder.size
    if config.attention.score == "additive":
        return Additive(query, annotation, config.attention.size)
    return Dot() if config.attention.score == "dot" else General(query, annotation)
