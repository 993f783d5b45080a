"""A shortlist: the few target words that the translation of a source may hold, and their part of the output layer.

A source lists the words that are always listed, and for each of its words those that are likeliest as its translation
(Jean et al. 2015, section 4: a candidate list for each source sentence). For a batch the columns of the output layer
are taken once, those of all words that any of its sentences lists. At words that a sentence does not list itself its
logits are -inf: its translation is the same in any batch.

Letters: B sentences, S source length, V target vocabulary, U words taken for a batch, O size of the readout.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import RunError
from dragoman.text.vocabulary import PAD

CHUNK = 32
"""The step graph wants a multiple of as many words; PAD fills up."""


class OutputLayer(NamedTuple):
    """The output layer of one model."""

    weight: NDArray[Any]
    """[O, V] float32, or int8 columns."""
    scale: NDArray[np.float32] | None
    """[V] what the columns count in; None in float32."""
    bias: NDArray[np.float32]
    """[V]"""


class Listed(NamedTuple):
    """What a batch takes."""

    words: NDArray[np.int64]
    """[U] their ids, ascending, then filled up."""
    real: int
    """U without the filling."""
    layers: dict[str, NDArray[Any]]
    """limit.weight [O, U] and limit.scale [U], as the step graph calls them."""
    biases: dict[str, NDArray[np.float32]]
    """limit.bias [B, U], or [1, U] for all sentences."""
    differs: bool
    """Whether each sentence has a list of its own."""

    def of_some(self, sentences: NDArray[np.int64]) -> Listed:
        """For these of the sentences only; the words stay as they are."""
        if not self.differs:
            return self
        return self._replace(biases={name: bias[sentences] for name, bias in self.biases.items()})


class Shortlist:
    """The words that each source word lists, and the output layers of the models."""

    def __init__(
        self,
        always: NDArray[np.integer[Any]],
        offsets: NDArray[np.int64],
        words: NDArray[np.integer[Any]],
        layers: Sequence[OutputLayer],
    ) -> None:
        """Source word i lists `words[offsets[i] : offsets[i + 1]]`; `always` those that every source lists."""
        self._always, self._offsets, self._words = always, offsets, words
        self._layers = layers
        self._size = len(layers[0].bias)
        self._whole: Listed | None = None

    @property
    def sizes(self) -> tuple[int, int]:
        """Of the source and the target vocabulary."""
        return len(self._offsets) - 1, self._size

    def listed(self, source: NDArray[np.int64], source_lengths: NDArray[np.int64]) -> Listed:
        """For sources [B, S]."""
        open_words = np.zeros((len(source), self._size), np.bool_)
        open_words[:, self._always] = True
        for row, line, length in zip(open_words, source, source_lengths, strict=True):
            for word in np.unique(line[:length]):
                row[self._words[self._offsets[word] : self._offsets[word + 1]]] = True
        words = np.flatnonzero(open_words.any(axis=0))
        return self._taken(words, open_words[:, words], differs=True)

    def whole(self) -> Listed:
        """The whole vocabulary, for any sources."""
        if self._whole is None:
            self._whole = self._taken(np.arange(self._size), np.ones((1, self._size), np.bool_), differs=False)
        return self._whole

    def _taken(self, words: NDArray[np.int64], is_open: NDArray[np.bool_], *, differs: bool) -> Listed:
        """The columns of `words`, each open to some of the sentences."""
        count = len(words)
        filling = -count % CHUNK
        words = np.pad(words, (0, filling), constant_values=PAD)
        closed = np.pad(~is_open, ((0, 0), (0, filling)), constant_values=True)
        layers: dict[str, NDArray[Any]] = {}
        biases = {}
        for number, layer in enumerate(self._layers):
            name = "limit." if len(self._layers) == 1 else f"limit.{number}."
            layers[name + "weight"] = np.take(layer.weight, words, axis=1)
            if layer.scale is not None:
                layers[name + "scale"] = layer.scale[words]
            biases[name + "bias"] = np.where(closed, np.float32(-np.inf), layer.bias[words])
        return Listed(words, count, layers, biases, differs)

    def to_bytes(self) -> bytes:
        """A file for `from_bytes`: a numpy archive."""
        arrays: dict[str, NDArray[Any]] = {"always": self._always, "offsets": self._offsets, "words": self._words}
        for number, layer in enumerate(self._layers):
            arrays |= {f"weight{number}": layer.weight, f"bias{number}": layer.bias}
            if layer.scale is not None:
                arrays[f"scale{number}"] = layer.scale
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **arrays)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Shortlist:
        """What `to_bytes` made.

        Raises:
            RunError: it is something else.
        """
        try:
            arrays = dict(np.load(io.BytesIO(content), allow_pickle=False).items())
            count = sum(name.startswith("weight") for name in arrays)
            layers = [
                OutputLayer(arrays[f"weight{n}"], arrays.get(f"scale{n}"), arrays[f"bias{n}"]) for n in range(count)
            ]
            return cls(arrays["always"], arrays["offsets"], arrays["words"], layers)
        except (ValueError, KeyError, IndexError, AttributeError, OSError, EOFError, BadZipFile) as error:
            raise RunError(f"the shortlist cannot be used: {error}; export the run again") from None
