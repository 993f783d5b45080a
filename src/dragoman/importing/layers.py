"""Recurrent layers of PyTorch (`nn.GRU`, `nn.LSTM`, `nn.RNN` and their cells) in Dragoman's layout.

PyTorch's GRU has reset "after", update "keep" and a bias inside the reset-gated term: `gru-fused`. Its LSTM has the
gates in the order i, f, g, o instead of i, f, o, g. Its two biases of each gate are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dragoman.importing.checkpoints import CheckpointTensors

CELLS = {1: "tanh", 3: "gru-fused", 4: "lstm-fused"}
"""Cell name by the number of row blocks in its weight matrices."""


class LayerParameters(NamedTuple):
    """One direction of one layer: input weights W [G, E], recurrent weights U [G, H] and their biases [G]; G is the
    number of gates times H."""

    w: Tensor
    u: Tensor
    b: Tensor
    b_u: Tensor

    @property
    def size(self) -> int:
        """Hidden size H."""
        return self.u.shape[1]

    @property
    def gates(self) -> int:
        """G / H: 3 for a GRU, 4 for an LSTM, 1 for a tanh layer."""
        return self.u.shape[0] // self.u.shape[1]


def stack_parts(tensors: CheckpointTensors, prefix: str) -> list[list[LayerParameters]]:
    """Read the layers of an `nn.GRU`, `nn.LSTM` or `nn.RNN`, each as a list of its directions."""
    layers: list[list[LayerParameters]] = []
    while f"{prefix}.weight_ih_l{len(layers)}" in tensors:
        directions = [f"_l{len(layers)}{suffix}" for suffix in ("", "_reverse")]
        layers.append([_part(tensors, prefix, name) for name in directions if f"{prefix}.weight_ih{name}" in tensors])
    return layers or [[_part(tensors, prefix, "_l0")]]  # raises an error that names the missing tensor


def cell_parts(tensors: CheckpointTensors, prefix: str) -> list[list[LayerParameters]]:
    """Read the layers of a list of `nn.GRUCell` or `nn.LSTMCell`, each with one direction."""
    layers: list[list[LayerParameters]] = []
    while f"{prefix}.{len(layers)}.weight_ih" in tensors:
        layers.append([_part(tensors, f"{prefix}.{len(layers)}", "")])
    return layers


class LayerStack(NamedTuple):
    """The recurrent layers of an encoder or decoder: configuration keys, and parameters by name."""

    model: dict[str, Any]
    weights: dict[str, Tensor]


def encoder_stack(layers: Sequence[Sequence[LayerParameters]]) -> LayerStack:
    """Convert a forward or bidirectional encoder."""
    first, directions = layers[0][0], len(layers[0])
    model = {**_cell(first), "layers": len(layers), "direction": "both" if directions == 2 else "forward"}
    weights: dict[str, Tensor] = {}
    for number, parts in enumerate(layers):
        weights |= _layer(f"encoder.layers.{number}", parts)
    return LayerStack(model, weights)


def decoder_stack(layers: Sequence[Sequence[LayerParameters]], embedding: int) -> LayerStack:
    """Convert a decoder.

    Its first layer reads the previous word's vector, of size `embedding`, or with input feeding the concatenation
    [embedding; attention vector].
    """
    first = layers[0][0]
    input_feeding = first.w.shape[1] > embedding
    model = {**_cell(first), "layers": len(layers), "input_feeding": input_feeding, "order": "update-then-look"}
    weights: dict[str, Tensor] = {}
    for number, parts in enumerate(layers):
        weights |= _layer(f"decoder.layers.{number}", parts)
    if input_feeding:  # split after the gates have been reordered
        inputs = weights.pop("decoder.layers.0.inputs.weight")
        weights |= {
            "decoder.layers.0.inputs.weight": inputs[:, :embedding],
            "decoder.feed.weight": inputs[:, embedding:],
        }
    return LayerStack(model, weights)


def _cell(part: LayerParameters) -> dict[str, Any]:
    model = {"cell": CELLS[part.gates], "size": part.size}
    return {**model, "reset": "after", "update": "keep"} if part.gates == 3 else model


def _layer(name: str, parts: Sequence[LayerParameters]) -> dict[str, Tensor]:
    """The parameters of a layer; two directions are stacked, [2, ...]."""
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
