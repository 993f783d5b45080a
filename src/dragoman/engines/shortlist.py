"""A shortlist: the few target words that the translation of a source may contain, and their part of the output layer.

The shortlist of a source holds the words that are on every shortlist, and for each of its words the most likely
translations (Jean et al. 2015, section 4: a candidate list for each source sentence). The output layer of the former
is in the step graph, which packs it once; the columns of all other words are here. A batch takes the columns of all
words that are on the shortlist of any of its sentences, once. A sentence has logits of -inf at words that are not on
its own shortlist, so that its translation is the same in any batch.

Letters: B sentences, S source length, V target vocabulary, A words on every shortlist, U other words of a batch,
O size of the readout.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.rows import widened
from dragoman.errors import RunError
from dragoman.text.vocabulary import PAD

CHUNK = 32
"""The words in the step graph and those given to it are padded with PAD to multiples of this."""


class OutputColumns(NamedTuple):
    """The output layer of one model for the words that are not on every shortlist."""

    weight: NDArray[Any]
    """[O, V - A] float32, or int8 columns."""
    scale: NDArray[np.float32] | None
    """[V - A] the quantisation scale of each column; None in float32."""
    bias: NDArray[np.float32]
    """[V - A]"""


class BatchShortlist(NamedTuple):
    """The shortlist of a batch of sentences."""

    words: NDArray[np.int64]
    """The ids of the words of the step graph's output: those in the graph, then the others [U]; each part ascending and
    padded."""
    real: int
    """The number of words without the padding."""
    layers: dict[str, NDArray[Any]]
    """limit.weight [O, U] and limit.scale [U], by the names of the step graph's inputs."""
    biases: dict[str, NDArray[np.float32]]
    """limit.bias [B, U], or [1, U] for all sentences."""
    differs: bool
    """Whether each sentence has a shortlist of its own."""

    def select(self, sentences: NDArray[np.int64]) -> BatchShortlist:
        """The shortlist of the sentences with these indices; the words are unchanged."""
        if not self.differs:
            return self
        return self._replace(biases={name: bias[sentences] for name, bias in self.biases.items()})


class Shortlist:
    """The likely translations of each source word, and the output layers of the models."""

    def __init__(
        self,
        always: NDArray[np.integer[Any]],
        offsets: NDArray[np.int64],
        words: NDArray[np.integer[Any]],
        layers: Sequence[OutputColumns],
    ) -> None:
        """`always` [A] are the words on every shortlist, ascending; source word i adds, of the V - A others in
        ascending order, those in the places `words[offsets[i] : offsets[i + 1]]`."""
        self.always = always
        self._in_graph = in_chunks(always, PAD)
        self._offsets, self._words, self._layers = offsets, words, layers
        self._others = other_words(always, len(always) + len(layers[0].bias))

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The sizes of the source and target vocabularies, and A."""
        return len(self._offsets) - 1, len(self.always) + len(self._others), len(self.always)

    def for_batch(self, source: NDArray[np.int64], source_lengths: NDArray[np.int64]) -> BatchShortlist:
        """The shortlist of sources [B, S]."""
        allowed = np.zeros((len(source), len(self._others)), np.bool_)
        for row, line, length in zip(allowed, source, source_lengths, strict=True):
            for word in set(line[:length].tolist()):
                row[self._words[self._offsets[word] : self._offsets[word + 1]]] = True
        places = np.flatnonzero(allowed.any(axis=0))
        return self._taken(places, allowed[:, places], differs=True)

    @cached_property
    def full_vocabulary(self) -> BatchShortlist:
        """The full vocabulary, for any sources."""
        everyone = np.arange(len(self._others))
        return self._taken(everyone, np.ones((1, len(everyone)), np.bool_), differs=False)

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """[V] the place of each word among the `words` of `full_vocabulary`."""
        places = np.empty(self.sizes[1], np.int64)
        places[self.always] = np.arange(len(self.always))
        places[self._others] = len(self._in_graph) + np.arange(len(self._others))
        return places

    def _taken(self, places: NDArray[np.int64], is_allowed: NDArray[np.bool_], *, differs: bool) -> BatchShortlist:
        """The columns in some places, each allowed to some of the sentences."""
        count = len(places)
        width = CHUNK * max(1, -(-count // CHUNK))
        words = np.concatenate((self._in_graph, widened(self._others[places], width, PAD)))
        layers: dict[str, NDArray[Any]] = {}
        biases = {}
        for number, layer in enumerate(self._layers):
            name = "limit." if len(self._layers) == 1 else f"limit.{number}."
            layers[name + "weight"] = widened(layer.weight[:, places], width, 0)
            if layer.scale is not None:
                layers[name + "scale"] = widened(layer.scale[places], width, 0)
            bias = np.where(is_allowed, layer.bias[places], np.float32(-np.inf))
            biases[name + "bias"] = widened(bias, width, -np.inf)
        return BatchShortlist(words, len(self.always) + count, layers, biases, differs)

    def to_bytes(self) -> bytes:
        """A file for `from_bytes`: a numpy archive."""
        arrays: dict[str, NDArray[Any]] = {"always": self.always, "offsets": self._offsets, "words": self._words}
        for number, layer in enumerate(self._layers):
            arrays |= {f"weight{number}": layer.weight, f"bias{number}": layer.bias}
            if layer.scale is not None:
                arrays[f"scale{number}"] = layer.scale
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **arrays)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Shortlist:
        """Read what `to_bytes` wrote.

        Raises:
            RunError: the content is something else.
        """
        try:
            arrays = dict(np.load(io.BytesIO(content), allow_pickle=False).items())
            count = sum(name.startswith("weight") for name in arrays)
            layers = [
                OutputColumns(arrays[f"weight{n}"], arrays.get(f"scale{n}"), arrays[f"bias{n}"]) for n in range(count)
            ]
            return cls(arrays["always"], arrays["offsets"], arrays["words"], layers)
        except (ValueError, KeyError, IndexError, AttributeError, OSError, EOFError, BadZipFile) as error:
            raise RunError(f"the shortlist cannot be used: {error}; export the run again") from None


def other_words(always: NDArray[np.integer[Any]], size: int) -> NDArray[np.int64]:
    """The words of a vocabulary that are not on every shortlist, ascending."""
    others = np.ones(size, np.bool_)
    others[always] = False
    return np.flatnonzero(others)


def in_chunks(x: NDArray[Any], filling: float) -> NDArray[Any]:
    """x [n, ..] filled up to whole chunks of rows; the same array where none is missing."""
    missing = -len(x) % CHUNK
    return np.concatenate((x, np.full_like(x, filling, shape=(missing, *x.shape[1:])))) if missing else x
