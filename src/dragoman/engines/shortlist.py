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
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple
from zipfile import ZIP_STORED, ZipFile

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.protocol import widened
from dragoman.errors import RunError, quoted
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
        """The shortlist of the sentences with these indices [B]; the words are unchanged."""
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
        ascending order, those in the columns `words[offsets[i] : offsets[i + 1]]`."""
        self.always = always
        self._in_graph = in_chunks(always, PAD)
        self._offsets, self._words, self._layers = offsets, words, layers
        self._others = other_words(always, len(always) + len(layers[0].bias))

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The sizes of the source and target vocabularies, and A."""
        return len(self._offsets) - 1, len(self.always) + len(self._others), len(self.always)

    @property
    def input_names(self) -> set[str]:
        """The inputs of the step graph that come from the shortlist."""
        names = {"owners"}
        for number, layer in enumerate(self._layers):
            prefix = self._prefix(number)
            names |= {f"{prefix}weight", f"{prefix}bias"} | ({f"{prefix}scale"} if layer.scale is not None else set())
        return names

    def _prefix(self, number: int) -> str:
        return "limit." if len(self._layers) == 1 else f"limit.{number}."

    def for_batch(self, source: NDArray[np.int64], source_lengths: NDArray[np.int64]) -> BatchShortlist:
        """The shortlist of sources [B, S]."""
        allowed = np.zeros((len(source), len(self._others)), np.bool_)
        for row, line, length in zip(allowed, source, source_lengths, strict=True):
            for word in set(line[:length].tolist()):
                row[self._words[self._offsets[word] : self._offsets[word + 1]]] = True
        columns = np.flatnonzero(allowed.any(axis=0))
        return self._taken(columns, allowed[:, columns], differs=True)

    def spread(self, values: NDArray[np.float32], listed: BatchShortlist) -> NDArray[np.float32]:
        """Values [R, words] of the words of a batch's shortlist, by their ids, and -inf elsewhere: [R, V]."""
        count, first = len(self.always), len(self._in_graph)
        # those without the padding
        columns = np.concatenate((np.arange(count), first + np.arange(listed.real - count)))
        spread = np.full((len(values), self.sizes[1]), -np.inf, np.float32)
        spread[:, listed.words[columns]] = values[:, columns]
        return spread

    @cached_property
    def full_vocabulary(self) -> BatchShortlist:
        """The full vocabulary, for any sources."""
        everyone = np.arange(len(self._others))
        return self._taken(everyone, np.ones((1, len(everyone)), np.bool_), differs=False)

    @cached_property
    def columns(self) -> NDArray[np.int64]:
        """[V] the column of each word among the `words` of `full_vocabulary`."""
        columns = np.empty(self.sizes[1], np.int64)
        columns[self.always] = np.arange(len(self.always))
        columns[self._others] = len(self._in_graph) + np.arange(len(self._others))
        return columns

    def _taken(self, columns: NDArray[np.int64], is_allowed: NDArray[np.bool_], *, differs: bool) -> BatchShortlist:
        """The shortlist with these columns [U]; `is_allowed` is [B, U], or [1, U] for all sentences."""
        count = len(columns)
        width = CHUNK * max(1, -(-count // CHUNK))
        words = np.concatenate((self._in_graph, widened(self._others[columns], width, PAD)))
        layers: dict[str, NDArray[Any]] = {}
        biases = {}
        for number, layer in enumerate(self._layers):
            name = self._prefix(number)
            layers[name + "weight"] = widened(layer.weight[:, columns], width, 0)
            if layer.scale is not None:
                layers[name + "scale"] = widened(layer.scale[columns], width, 0)
            bias = np.where(is_allowed, layer.bias[columns], np.float32(-np.inf))
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
            arrays = _read_archive(content)
            count = sum(name.startswith("weight") for name in arrays)
            layers = [
                OutputColumns(arrays[f"weight{n}"], arrays.get(f"scale{n}"), arrays[f"bias{n}"]) for n in range(count)
            ]
            always, offsets, words = (arrays[name] for name in ("always", "offsets", "words"))
            _require_fitting(always, offsets, words, layers)
            return cls(always, offsets, words, layers)
        except KeyError as error:
            raise _unusable(f"it lacks {error}") from None
        except ValueError as error:
            raise _unusable(str(error)) from None


def _unusable(reason: str) -> RunError:
    return RunError(f"the shortlist cannot be used: {reason}; export the run again")


def _read_archive(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of a numpy archive without compression; no more memory is used than the archive has bytes.

    Raises:
        ValueError: it is damaged, compressed, or has something else than numbers.
    """
    arrays = {}
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            for entry in archive.infolist():
                if entry.compress_type != ZIP_STORED or entry.file_size > len(content):
                    raise ValueError(f"{quoted(entry.filename)} is compressed")
                arrays[entry.filename.removesuffix(".npy")] = _read_array(archive.read(entry))
    except ValueError:
        raise
    except Exception as error:  # zipfile and numpy's reader of headers raise errors of a dozen types
        raise ValueError(f"it is damaged ({type(error).__name__})") from None
    return arrays


def _read_array(content: bytes) -> NDArray[Any]:
    """The array of a .npy file.

    Raises:
        ValueError: it is damaged, or has objects or another number of bytes than its header states.
    """
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"an array has version {version} of its format")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    data = content[file.tell() :]
    if dtype.kind not in "iuf" or any(size < 0 for size in shape) or len(data) != dtype.itemsize * math.prod(shape):
        raise ValueError(f"an array of type {dtype} and shape {shape} has {len(data):,} bytes")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")


def _require_fitting(
    always: NDArray[Any], offsets: NDArray[Any], words: NDArray[Any], layers: Sequence[OutputColumns]
) -> None:
    """Check types, shapes and ranges.

    Raises:
        ValueError: an array does not fit the others.
    """
    if not layers or layers[0].bias.ndim != 1:
        raise ValueError("it has no output layer")
    others = len(layers[0].bias)
    size = len(always) + others
    fitting = {
        "always": _is_ascending(always, size - 1) and len(np.unique(always)) == len(always) > 0,
        "offsets": _is_ascending(offsets, len(words)) and len(offsets) > 1 and offsets[0] == 0,
        "words": words.ndim == 1 and words.dtype.kind in "iu" and (len(words) == 0 or _is_within(words, others - 1)),
    }
    for number, layer in enumerate(layers):
        fitting[f"weight{number}"] = layer.weight.ndim == 2 and layer.weight.shape[1] == others
        fitting[f"bias{number}"] = layer.bias.shape == (others,) and layer.bias.dtype == np.float32
        is_int8 = layer.scale is not None
        fitting[f"weight{number}"] &= layer.weight.dtype.kind == ("i" if is_int8 else "f")
        if layer.scale is not None:
            fitting[f"scale{number}"] = layer.scale.shape == (others,) and layer.scale.dtype == np.float32
    for name, is_fitting in fitting.items():
        if not is_fitting:
            raise ValueError(f"{name} does not fit the other arrays")


def _is_ascending(numbers: NDArray[Any], highest: int) -> bool:
    """Whether a vector of whole numbers ascends within 0 to `highest`."""
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not len(numbers):
        return False
    return _is_within(numbers, highest) and bool((np.diff(numbers.astype(np.int64)) >= 0).all())


def _is_within(numbers: NDArray[Any], highest: int) -> bool:
    return bool(numbers.min() >= 0 and numbers.max() <= highest)


def other_words(always: NDArray[np.integer[Any]], size: int) -> NDArray[np.int64]:
    """The words of a vocabulary of `size` V that are not on every shortlist, ascending: [A] -> [V - A]."""
    others = np.ones(size, np.bool_)
    others[always] = False
    return np.flatnonzero(others)


def in_chunks(x: NDArray[Any], filling: float) -> NDArray[Any]:
    """x [n, ..] filled up to whole chunks of rows; the same array where none is missing."""
    missing = -len(x) % CHUNK
    return np.concatenate((x, np.full_like(x, filling, shape=(missing, *x.shape[1:])))) if missing else x
