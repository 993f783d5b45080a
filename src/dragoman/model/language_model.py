"""Neural language models: p(word | words before it), by a feed-forward network of n-grams or a recurrent one.

A body reads the previous words of each position and gives a readout; the output layer is the translation model's.
Positions before the first word hold BOS.

Letters: B sentences, T words of a sentence, E embedding, O units of a readout.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, cast

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from dragoman.data.batches import Batch
from dragoman.data.prefix_trie import prefix_trie
from dragoman.model.bridge import InitialState
from dragoman.model.decoder import Decoder
from dragoman.model.dropout import Dropout
from dragoman.model.linear import Linear
from dragoman.model.output_layer import OutputLayer
from dragoman.model.trainable import Loss, Trainable
from dragoman.text.vocabulary import BOS

BLOCK = 4096
"""Contexts of n-grams that go through the feed-forward network together."""

Ids = NDArray[np.int64]


class DistinctReadouts(NamedTuple):
    """Readouts [M, O], and which of them each position of [B, T] has; -1 on padding."""

    readouts: Tensor
    rows: Ids


class Body(Protocol):
    """What stands between word vectors and output layer."""

    size: int
    """O, of a readout."""
    history: int
    """BOS symbols that stand before each sentence."""

    def __call__(self, vectors: Tensor) -> Tensor:
        """[B, history - 1 + T, E] of the words before each of T positions -> readouts [B*T, O]."""
        ...

    def distinct(self, embedding: nn.Embedding, target: Ids, lengths: Ids) -> DistinctReadouts:
        """The readouts of given words [B, T], each different one once."""
        ...


class FeedForward(nn.Module):
    """The last n - 1 words, their vectors side by side, through rectified linear layers (Cho et al. 2014, 4.1):

    x_t = [e(y_{t-n+1}); ...; e(y_{t-1})];  h_1 = max(0, W_1 x_t + b_1);  h_2 = max(0, W_2 h_1 + b_2); ...
    """

    def __init__(
        self, embedding: int, order: int, layers: tuple[int, ...], *, dropout: Dropout, readout_dropout: Dropout
    ) -> None:
        super().__init__()
        self.history = order - 1
        widths = (embedding * self.history, *layers)
        stack = [Linear(n_in, n_out, bias=True) for n_in, n_out in zip(widths, layers, strict=False)]
        self.layers = cast("list[Linear]", nn.ModuleList(stack))
        self.size = layers[-1]
        self.dropout, self.readout_dropout = dropout, readout_dropout

    def forward(self, vectors: Tensor) -> Tensor:
        windows = vectors.unfold(1, self.history, 1).transpose(2, 3)  # [B, T, n - 1, E], the oldest word first
        hidden = windows.flatten(2).flatten(0, 1)  # [B, T, (n - 1) * E] -> [B*T, (n - 1) * E]
        for number, layer in enumerate(self.layers):
            hidden = functional.relu(layer(self.dropout(hidden) if number else hidden))
        readout: Tensor = self.readout_dropout(hidden)
        return readout

    def distinct(self, embedding: nn.Embedding, target: Ids, lengths: Ids) -> DistinctReadouts:
        """One for each n-gram context."""
        begin = np.full((len(target), self.history), BOS, np.int64)
        windows = sliding_window_view(np.concatenate((begin, target[:, :-1]), axis=1), self.history, axis=1)
        real = np.arange(target.shape[1]) < lengths[:, None]
        contexts, which = np.unique(windows[real], axis=0, return_inverse=True)
        rows = np.full(target.shape, -1, np.int64)
        rows[real] = which.ravel()
        blocks = torch.from_numpy(contexts).to(embedding.weight.device).split(BLOCK)
        return DistinctReadouts(torch.cat([self(embedding(block)) for block in blocks]), rows)


class Recurrent(nn.Module):
    """The decoder of a translation model that attends to nothing and begins with zeros."""

    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        self.decoder = decoder
        self.history = 1
        self.size = decoder.readout.size

    def forward(self, vectors: Tensor) -> Tensor:
        nothing = vectors[:, 0]
        layers = tuple(layer.cell.zero(nothing) for layer in self.decoder.layers)
        state = self.decoder.initial_state(InitialState(layers, nothing))
        return self.decoder.unroll_from(vectors, None, state, len(vectors)).readout

    def distinct(self, embedding: nn.Embedding, target: Ids, lengths: Ids) -> DistinctReadouts:
        """One for each beginning of a sentence: rows that begin alike are stepped together."""
        shared = prefix_trie(np.zeros(len(target), np.int64), target, lengths)
        device = embedding.weight.device
        nothing = embedding.weight.new_empty(1, 0)
        layers = tuple(layer.cell.zero(nothing) for layer in self.decoder.layers)
        state, prepared = self.decoder.initial_state(InitialState(layers, nothing)), self.decoder.prepare(None, 1)
        readouts = []
        for parents, words in shared.levels:
            vectors: Tensor = embedding(torch.from_numpy(words).to(device))
            output, state = self.decoder.step(
                self.decoder.words(vectors), state.select(torch.from_numpy(parents).to(device)), prepared
            )
            readouts.append(output.readout)
        return DistinctReadouts(torch.cat(readouts), shared.nodes)


class LanguageModel(Trainable):
    """Word vectors, body, output layer."""

    def __init__(self, embedding: nn.Embedding, body: Body, output: OutputLayer, *, embedding_dropout: Dropout) -> None:
        super().__init__()
        self.embedding, self.body, self.output = embedding, body, output
        self.embedding_dropout = embedding_dropout

    def loss(
        self,
        batch: Batch,
        label_smoothing: float = 0.0,
        *,
        guided_alignment: float = 0.0,
        previous: Tensor | None = None,
    ) -> Loss:
        """The loss of the batch's targets; its sources are not read."""
        assert previous is None, "every step reads the known words"
        assert not guided_alignment, "there is no attention"
        words, real = self._words(batch)
        losses = self.output.loss(self._readouts(words)[real.flatten()], words[real], label_smoothing)
        return Loss(losses.smoothed, losses.nll, int(batch.target_lengths.sum()), len(batch))

    @torch.inference_mode()
    def force(self, target: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
        """Natural logarithm of the probability of each word of `target` [B, T], EOS counted in `lengths` [B]; 0 on
        padding. Words with the same words before them share one readout."""
        readouts, rows = self.body.distinct(self.embedding, target, lengths)
        real = rows >= 0
        words, wanted = (torch.from_numpy(array[real]).to(self.device) for array in (target, rows))
        result = np.zeros(target.shape, np.float32)
        result[real] = self.output.word_log_probabilities(readouts, words, wanted).float().cpu().numpy()
        return result

    def _readouts(self, words: Tensor) -> Tensor:
        """[B*T, O] from what stands before each of the words [B, T]."""
        begin = words.new_full((len(words), self.body.history), BOS)
        vectors: Tensor = self.embedding(torch.cat((begin, words[:, :-1]), dim=1))
        return self.body(self.embedding_dropout(vectors))

    def _words(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Target words [B, T], and where they are real."""
        words = torch.from_numpy(batch.target).to(self.device)
        lengths = torch.from_numpy(batch.target_lengths).to(self.device)
        return words, torch.arange(words.shape[1], device=self.device) < lengths[:, None]
