"""Recurrent layers of the library, cells and kernels alike, in our layout.

The library's GRU is reset "after", update "keep", with a bias inside the reset gate's bracket: `gru-fused`. Its LSTM
has the gates in the order i, f, g, o where ours has i, f, o, g. Its two biases of a gate are added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dragoman.importing.checkpoints import CheckpointTensors

CELLS = {1: "tanh", 3: "gru-fused", 4: "lstm-fused"}
"""Our name of the cell, by the number of its gates."""


class LayerParameters(NamedTuple):
    """One direction of one layer: W [G, n], U [G, H], and the biases beside them [G]."""

    w: Tensor
    u: Tensor
    b: Tensor
    b_u: Tensor

    @property
    def size(self) -> int:
        """Units, H."""
        return self.u.shape[1]

    @property
    def gates(self) -> int:
        """3 for a GRU, 4 for an LSTM, 1 for a plain tanh."""
        return self.u.shape[0] // self.u.shape[1]


def stack_parts(tensors: CheckpointTensors, prefix: str) -> list[list[LayerParameters]]:
    """The layers of the library's `nn.GRU` or `nn.LSTM`, in each of them the directions."""
    layers: list[list[LayerParameters]] = []
    while f"{prefix}.weight_ih_l{len(layers)}" in tensors:
        names = [f"l{len(layers)}{suffix}" for suffix in ("", "_reverse")]
        found = [name for name in names if f"{prefix}.weight_ih_{name}" in tensors]
        layers.append([_part(tensors, prefix, f"_{name}") for name in found])
    return layers or [[_part(tensors, prefix, "_l0")]]  # which says what is missing


def cell_parts(tensors: CheckpointTensors, prefix: str) -> list[list[LayerParameters]]:
    """The layers of a list of `nn.GRUCell` or `nn.LSTMCell`."""
    layers: list[list[LayerParameters]] = []
    while f"{prefix}.{len(layers)}.weight_ih" in tensors:
        layers.append([_part(tensors, f"{prefix}.{len(layers)}", "")])
    return layers


class LayerStack(NamedTuple):
    """The recurrent layers of an encoder or a decoder: keys of the configuration, and our parameters by name."""

    model: dict[str, Any]
    weights: dict[str, Tensor]


def encoder(layers: Sequence[Sequence[LayerParameters]]) -> LayerStack:
    """An encoder that reads forward, or both ways."""
    first, directions = layers[0][0], len(layers[0])
    model = {**_cell(first), "layers": len(layers), "direction": "both" if directions == 2 else "forward"}
    weights: dict[str, Tensor] = {}
    for number, parts in enumerate(layers):
        weights |= _layer(f"encoder.layers.{number}", parts)
    return LayerStack(model, weights)


def decoder(layers: Sequence[Sequence[LayerParameters]], words: int) -> LayerStack:
    """A decoder whose first layer reads [previous word; fed vector], a word being a vector of size `words`.

    Without input feeding it reads the word alone.
    """
    first = layers[0][0]
    fed = first.w.shape[1] > words
    model = {**_cell(first), "layers": len(layers), "input_feeding": fed, "order": "update-then-look"}
    weights: dict[str, Tensor] = {}
    for number, parts in enumerate(layers):
        weights |= _layer(f"decoder.layers.{number}", parts)
    if fed:  # cut after the gates are in our order
        inputs = weights.pop("decoder.layers.0.inputs.weight")
        weights |= {"decoder.layers.0.inputs.weight": inputs[:, :words], "decoder.feed.weight": inputs[:, words:]}
    return LayerStack(model, weights)


def _cell(part: LayerParameters) -> dict[str, Any]:
    model = {"cell": CELLS[part.gates], "size": part.size}
    return {**model, "reset": "after", "update": "keep"} if part.gates == 3 else model


def _layer(name: str, parts: Sequence[LayerParameters]) -> dict[str, Tensor]:
    """Our parameters of a layer; two directions lie side by side."""
    converted = [{1: _tanh, 3: _gru, 4: _lstm}[part.gates](part) for part in parts]
    return {
        f"{name}.{key}": torch.stack([direction[key] for direction in converted]) if len(parts) > 1 else tensor
        for key, tensor in converted[0].items()
    }


def _part(tensors: CheckpointTensors, prefix: str, suffix: str) -> LayerParameters:
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    return LayerParameters(*(tensors.take(f"{prefix}.{name}{suffix}") for name in names))


def _gru(part: LayerParameters) -> dict[str, Tensor]:
    both = 2 * part.size  # reset and update gate
    return {
        "inputs.weight": part.w,
        "inputs.bias": torch.cat((part.b[:both] + part.b_u[:both], part.b[both:])),
        "cell.recurrent_gates.weight": part.u[:both],
        "cell.recurrent.weight": part.u[both:],
        "cell.recurrent.bias": part.b_u[both:],
    }


def _tanh(part: LayerParameters) -> dict[str, Tensor]:
    return {"inputs.weight": part.w, "inputs.bias": part.b + part.b_u, "cell.recurrent.weight": part.u}


def _lstm(part: LayerParameters) -> dict[str, Tensor]:
    i_f, g, o = torch.arange(4 * part.size).split((2 * part.size, part.size, part.size))
    order = torch.cat((i_f, o, g))
    return {
        "inputs.weight": part.w[order],
        "inputs.bias": (part.b + part.b_u)[order],
        "cell.recurrent_gates.weight": part.u[order],
    }
