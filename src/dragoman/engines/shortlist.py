"""A shortlist: the few target words that the translation of a source may hold, and their part of the output layer.

A source lists the words that are always listed, and for each of its words those that are likeliest as its translation
(Jean et al. 2015, section 4: a candidate list for each source sentence). The part of the output layer for the former
lies in the step graph, which packs it once; here are the columns of all other words. For a batch they are taken once,
those of all words that any of its sentences lists. At words that a sentence does not list itself its logits are -inf:
its translation is the same in any batch.

Letters: B sentences, S source length, V target vocabulary, A words that are always listed, U words taken for a batch,
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
"""The step graph wants multiples of as many words, of those in it and of those handed in; PAD fills up."""


class OutputLayer(NamedTuple):
    """The output layer of one model, of the words that are not always listed."""

    weight: NDArray[Any]
    """[O, V - A] float32, or int8 columns."""
    scale: NDArray[np.float32] | None
    """[V - A] what the columns count in; None in float32."""
    bias: NDArray[np.float32]
    """[V - A]"""


class Listed(NamedTuple):
    """What a batch takes."""

    words: NDArray[np.int64]
    """The ids of the words that the step graph speaks of: those that lie in it, then those handed in [U]; each part
    ascending and filled up."""
    real: int
    """How many these are without the filling."""
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
        """`always` [A] are those that every source lists, ascending; source word i lists besides, of the V - A others
        in ascending order, those in the places `words[offsets[i] : offsets[i + 1]]`."""
        self.always = always
        self._in_graph = in_chunks(always, PAD)
        self._offsets, self._words, self._layers = offsets, words, layers
        self._others = other_words(always, len(always) + len(layers[0].bias))

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Of the source and the target vocabulary, and A."""
        return len(self._offsets) - 1, len(self.always) + len(self._others), len(self.always)

    def listed(self, source: NDArray[np.int64], source_lengths: NDArray[np.int64]) -> Listed:
        """For sources [B, S]."""
        open_words = np.zeros((len(source), len(self._others)), np.bool_)
        for row, line, length in zip(open_words, source, source_lengths, strict=True):
            for word in set(line[:length].tolist()):
                row[self._words[self._offsets[word] : self._offsets[word + 1]]] = True
        places = np.flatnonzero(open_words.any(axis=0))
        return self._taken(places, open_words[:, places], differs=True)

    @cached_property
    def whole(self) -> Listed:
        """The whole vocabulary, for any sources."""
        everyone = np.arange(len(self._others))
        return self._taken(everyone, np.ones((1, len(everyone)), np.bool_), differs=False)

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """[V] where each word stands among the `words` of the whole vocabulary."""
        places = np.empty(self.sizes[1], np.int64)
        places[self.always] = np.arange(len(self.always))
        places[self._others] = len(self._in_graph) + np.arange(len(self._others))
        return places

    def _taken(self, places: NDArray[np.int64], is_open: NDArray[np.bool_], *, differs: bool) -> Listed:
        """The columns in some places, each open to some of the sentences."""
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
            bias = np.where(is_open, layer.bias[places], np.float32(-np.inf))
            biases[name + "bias"] = widened(bias, width, -np.inf)
        return Listed(words, len(self.always) + count, layers, biases, differs)

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


def other_words(always: NDArray[np.integer[Any]], size: int) -> NDArray[np.int64]:
    """The words of a vocabulary that are not always listed, ascending."""
    others = np.ones(size, np.bool_)
    others[always] = False
    return np.flatnonzero(others)


def in_chunks(x: NDArray[Any], filling: float) -> NDArray[Any]:
    """x [n, ..] with more rows, until they are whole chunks; the same array where none is missing."""
    missing = -len(x) % CHUNK
    return np.concatenate((x, np.full_like(x, filling, shape=(missing, *x.shape[1:])))) if missing else x
