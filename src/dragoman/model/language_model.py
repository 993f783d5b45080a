"""Neural language models p(word | previous words): a feed-forward network over n-grams, or a recurrent network.

The body maps the previous words of each position to a readout; the output layer is the same as in the translation
model. Positions before the first word hold BOS.

Letters: B sentences, T words of a sentence, E embedding, O units of a readout, M distinct readouts.
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
from dragoman.model.decoder import Decoder
from dragoman.model.dropout import Dropout
from dragoman.model.encoder import InitialState
from dragoman.model.linear import Linear
from dragoman.model.output_layer import OutputLayer
from dragoman.model.trainable import Loss, Trainable
from dragoman.text.vocabulary import BOS

BLOCK = 4096
"""N-gram contexts that the feed-forward network computes together."""

Ids = NDArray[np.int64]


class DistinctReadouts(NamedTuple):
    """Distinct readouts [M, O], and the index of the readout of each position, [B, T]; -1 on padding."""

    readouts: Tensor
    rows: Ids


class Body(Protocol):
    """The part of a language model between the word vectors and the output layer."""

    size: int
    """O, the size of a readout."""
    history: int
    """Number of BOS symbols before each sentence."""

    def __call__(self, vectors: Tensor) -> Tensor:
        """Map the vectors of previous words, [B, history - 1 + T, E], to the readouts of T positions, [B*T, O]."""
        ...

    def distinct(self, embedding: nn.Embedding, target: Ids, lengths: Ids) -> DistinctReadouts:
        """The readouts of given words [B, T], each distinct one computed once."""
        ...


class FeedForward(nn.Module):
    """A feed-forward n-gram network with rectified linear layers over the last n - 1 words (Cho et al. 2014, 4.1):

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
        """Readouts [B*T, O] of the word vectors [B, n - 2 + T, E]."""
        windows = vectors.unfold(1, self.history, 1).transpose(2, 3)  # [B, T, n - 1, E], the oldest word first
        hidden = windows.flatten(2).flatten(0, 1)  # [B, T, (n - 1) * E] -> [B*T, (n - 1) * E]
        for number, layer in enumerate(self.layers):
            hidden = functional.relu(layer(self.dropout(hidden) if number else hidden))
        readout: Tensor = self.readout_dropout(hidden)
        return readout

    def distinct(self, embedding: nn.Embedding, target: Ids, lengths: Ids) -> DistinctReadouts:
        """One readout for each distinct n-gram context."""
        begin = np.full((len(target), self.history), BOS, np.int64)
        windows = sliding_window_view(np.concatenate((begin, target[:, :-1]), axis=1), self.history, axis=1)
        real = np.arange(target.shape[1]) < lengths[:, None]
        contexts, which = np.unique(windows[real], axis=0, return_inverse=True)
        rows = np.full(target.shape, -1, np.int64)
        rows[real] = which.ravel()
        blocks = torch.from_numpy(contexts).to(embedding.weight.device).split(BLOCK)
        return DistinctReadouts(torch.cat([self(embedding(block)) for block in blocks]), rows)


class Recurrent(nn.Module):
    """A recurrent network: the decoder of a translation model without a source, starting from the zero state."""

    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        self.decoder = decoder
        self.history = 1
        self.size = decoder.readout.size

    def forward(self, vectors: Tensor) -> Tensor:
        """Readouts [B*T, O] of the word vectors [B, T, E]."""
        first = vectors[:, 0]  # [B, T, E] -> [B, E]; gives the zero state its rows, type and device
        layers = tuple(layer.cell.zero(first) for layer in self.decoder.layers)
        state = self.decoder.initial_state(InitialState(layers, first))
        return self.decoder.unroll_from(vectors, None, state, len(vectors)).readout

    def distinct(self, embedding: nn.Embedding, target: Ids, lengths: Ids) -> DistinctReadouts:
        """One readout for each distinct prefix; sentences with a common prefix share its steps."""
        shared = prefix_trie(np.zeros(len(target), np.int64), target, lengths)
        device = embedding.weight.device
        row = embedding.weight.new_empty(1, 0)
        layers = tuple(layer.cell.zero(row) for layer in self.decoder.layers)
        state, prepared = self.decoder.initial_state(InitialState(layers, row)), self.decoder.prepare(None, 1)
        readouts = []
        for parents, words in shared.levels:
            vectors: Tensor = embedding(torch.from_numpy(words).to(device))
            output, state = self.decoder.step(
                self.decoder.words(vectors), state.select(torch.from_numpy(parents).to(device)), prepared
            )
            readouts.append(output.readout)
        return DistinctReadouts(torch.cat(readouts), shared.nodes)


class LanguageModel(Trainable):
    """A language model: embedding, body and output layer."""

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
        """The loss of the targets [B, T] of a batch; its sources are not used."""
        assert previous is None, "every step reads the known words"
        assert not guided_alignment, "there is no attention"
        words = torch.from_numpy(batch.target).to(self.device)  # [B, T]
        lengths = torch.from_numpy(batch.target_lengths).to(self.device)
        real = torch.arange(words.shape[1], device=self.device) < lengths[:, None]  # [B, T]
        begin = words.new_full((len(words), self.body.history), BOS)
        vectors: Tensor = self.embedding(torch.cat((begin, words[:, :-1]), dim=1))  # [B, history - 1 + T, E]
        readouts = self.body(self.embedding_dropout(vectors))[real.flatten()]  # [B*T, O] -> [real words, O]
        losses = self.output.loss(readouts, words[real], label_smoothing)
        return Loss(losses.smoothed, losses.nll, int(batch.target_lengths.sum()), len(batch))

    @torch.inference_mode()
    def force(self, target: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
        """Log-probability (natural logarithm) of each word of `target` [B, T]; 0 on padding.

        `lengths` [B] count EOS. Positions with the same previous words share one readout.
        """
        readouts, rows = self.body.distinct(self.embedding, target, lengths)
        real = rows >= 0
        words, wanted = (torch.from_numpy(array[real]).to(self.device) for array in (target, rows))
        result = np.zeros(target.shape, np.float32)
        result[real] = self.output.word_log_probabilities(readouts, words, wanted).float().cpu().numpy()
        return result
