"""A summary of a model: its parts, the shapes and the number of their parameters, and the order of a decoder step.

The model is built on the device `meta`, where parameters take no memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import nn

from dragoman.config.schema import CellConfig, ModelConfig
from dragoman.errors import ConfigError
from dragoman.model.assembly import assemble

Model = TypeVar("Model", bound=nn.Module)


def without_memory(assemble: Callable[[], Model]) -> Model:
    """The assembled model on the device `meta`, where parameters take no memory.

    Raises:
        ConfigError: a matrix has more than 2^63 bytes.
    """
    try:
        with torch.device("meta"):
            return assemble()
    except RuntimeError as error:
        if "overflow" not in str(error):
            raise
        raise ConfigError(
            "the model is too large for any machine: one of its matrices alone has more than 2^63 bytes (9.2 EB); use "
            "smaller sizes (--scale)"
        ) from None


PARTS = {
    "embedding": ("source.", "target."),
    "encoder": ("encoder.",),
    "bridge": ("bridge.",),
    "attention": ("decoder.attention.",),
    "readout": ("decoder.readout.",),
    "decoder": ("decoder.",),
    "output": ("output.",),
}
"""Prefixes of the parameter names of each part; the first match counts."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter tensor, by its name in the weights file."""

    name: str
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        """The number of its elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the model, described in words, and its parameters."""

    name: str
    words: str
    parameters: tuple[Parameter, ...]

    @property
    def count(self) -> int:
        """The number of elements of its parameters."""
        return sum(parameter.count for parameter in self.parameters)


@dataclass(frozen=True, slots=True)
class Description:
    """The summary of a model for a given configuration and given vocabulary sizes.

    state: size of the decoder state of a hypothesis, in numbers; the fed readout is not counted
    step:  the computation between one target word and the next, in words
    """

    parts: tuple[Part, ...]
    state: int
    step: str

    @property
    def count(self) -> int:
        """The total number of parameters; a tied matrix counts once."""
        return sum(part.count for part in self.parts)


def describe(config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> Description:
    """Describe a model; its parts are in the order of the computation.

    Raises:
        ConfigError: a matrix has more than 2^63 bytes.
    """
    model = without_memory(lambda: assemble(config, source_vocabulary, target_vocabulary))
    parameters: dict[str, list[Parameter]] = {part: [] for part in PARTS}
    for name, tensor in model.named_parameters():
        part = next(part for part, prefixes in PARTS.items() if name.startswith(prefixes))
        parameters[part].append(Parameter(name, tuple(tensor.shape)))
    words = {
        "embedding": _embedding(config),
        "encoder": f"{_cells(config.encoder)}, {_DIRECTIONS[config.encoder.direction]}",
        "bridge": _bridge(config),
        "decoder": _cells(config.decoder) + (", with input feeding" if config.decoder.input_feeding else ""),
        "attention": _attention(config),
        "readout": _readout(config),
        "output": _output(config, target_vocabulary),
    }
    parts = tuple(Part(name, text, tuple(parameters[name])) for name, text in words.items())
    row = torch.empty(1, 1, device="meta")
    state = sum(part.shape[-1] for layer in model.decoder.layers for part in layer.cell.zero(row))
    return Description(parts, state, _step(config))


def multiplications(config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> int:
    """The multiplications by parameters for one source and one target token: each entry of a matrix counts once.

    Embeddings are looked up, not multiplied; products of annotations with states and the bridge are left out.
    """
    parts = {part.name: part for part in describe(config, source_vocabulary, target_vocabulary).parts}
    matrices = (
        parameter.count
        for name in ("encoder", "attention", "readout", "decoder", "output")
        for parameter in parts[name].parameters
        if len(parameter.shape) > 1
    )
    tied = 0 if config.embedding.tied == "none" else target_vocabulary * config.embedding.target
    return sum(matrices) + tied


_DIRECTIONS = {"forward": "read forward", "reversed": "read backwards", "both": "read in both directions"}

_BRIDGES = {
    "zero": "zeros",
    "copy": "every layer's last state, copied",
    "last": "the top layer's last state, in every layer",
    "tanh-last": "tanh of a projection of the summary",
    "tanh-backward": "tanh of a projection of the backward state at the first word",
    "mean": "tanh of a projection of the mean annotation",
}


def _embedding(config: ModelConfig) -> str:
    sizes = f"source {config.embedding.source}, target {config.embedding.target}"
    return sizes + (", one matrix" if config.embedding.tied == "all" else "")


def _cells(cell: CellConfig) -> str:
    gates = f" (reset {cell.reset}, update {cell.update})" if cell.cell.startswith("gru") else ""
    peepholes = " with peepholes" if cell.peepholes else ""
    return f"{cell.cell}{gates}{peepholes}, {cell.layers} {'layer' if cell.layers == 1 else 'layers'} of {cell.size}"


def _bridge(config: ModelConfig) -> str:
    first = f"initial state: {_BRIDGES[config.bridge.kind]}"
    if config.bridge.kind != "tanh-last" and config.decoder.context != "fixed":
        return first
    return f"{first}; summary: {'tanh of a projection of ' if config.bridge.summary == 'tanh' else ''}the last state"


def _attention(config: ModelConfig) -> str:
    settings = config.attention
    if config.decoder.context == "none":
        return "none: the source is read through the initial state only"
    if config.decoder.context == "fixed":
        return "none: the summary of the source at every step"
    score = f"{settings.score} of {settings.size}" if settings.score.endswith("additive") else settings.score
    window = "" if settings.scope == "global" else f", window {settings.window}"
    slots = f", {settings.max_positions} slots" if settings.score == "location" else ""
    heads = f", {settings.heads} heads" if settings.heads > 1 else ""
    return f"{score}, {settings.scope}{window}{slots}{heads}{', with coverage' if settings.coverage else ''}"


def _readout(config: ModelConfig) -> str:
    return "the state itself" if config.readout.kind == "linear" else f"{config.readout.kind}, {config.readout.size}"


def _output(config: ModelConfig, vocabulary: int) -> str:
    matrix = ", matrix: the target embedding" if config.embedding.tied != "none" else ""
    rank = f", matrix of rank {config.readout.rank}" if config.readout.rank else ""
    return f"softmax over {vocabulary:,} words{rank}{matrix}"


def _step(config: ModelConfig) -> str:
    """The order of a step in words, from the previous word to the next."""
    decoder, attended = config.decoder, config.decoder.context == "attended"
    context = "the context" if attended else "the summary of the source"
    word = "the previous word" + (" and the previous readout" if decoder.input_feeding else "")
    look = ["attend to the source from the new state"] if attended else []
    if decoder.context == "none":
        moves = [f"update the state with {word}"]
    elif decoder.order == "look-then-update":
        before = ["attend to the source from the previous state"] if attended else []
        moves = [*before, f"update the state with {word} and {context}"]
    elif decoder.order == "update-then-look":
        moves = [f"update the state with {word}", *look]
    elif decoder.order == "groundhog":
        seen = "the context that it was predicted from" if attended else context
        moves = [f"update the state with {word} and {seen} (not at the first step)", *look]
    else:
        moves = [f"update the state with {word}", *look, f"update it once more with {context}"]
    state = "the previous state" if decoder.readout_state == "prev" else "the state"
    seen = "" if decoder.context == "none" else f", {context}"
    read = {
        "linear": f"take {state}",
        "maxout": f"maxout over {state}{seen} and the previous word",
        "attentional": f"tanh over {context} and {state}",
        "affine": f"a linear layer over {context} and {state}",
    }
    return "; ".join([*moves, read[config.readout.kind], "softmax"])
