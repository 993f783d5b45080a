"""The parameters of a model under the names that the papers give them, as numpy arrays.

Where the package keeps several of the papers' matrices in one (the maps into all gates of a cell), they are cut apart;
where it cuts what the papers write as one (the map of the fed vector), they are put together. Biases that a model does
not have are zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from dragoman.model.attention import Attention, Predictive
from dragoman.model.cells import GRU, LSTM
from dragoman.model.encoder import Bridge, RecurrentLayer
from dragoman.model.linear import Linear
from dragoman.model.output_layer import AttentionalReadout, MaxoutReadout, OutputLayer, Readout
from dragoman.model.scores import Additive, AttentionScore, General, Location
from dragoman.model.translation import TranslationModel
from dragoman.text.vocabulary import BOS
from tests.model.reference.cells import Array


def paper_weights(model: TranslationModel) -> dict[str, Any]:
    """Every parameter of a model; a cell's are a dictionary of their own."""
    decoder, directions = model.decoder, 2 if model.encoder.direction == "both" else 1
    encoder = [[cell_weights(layer, direction) for direction in range(directions)] for layer in model.encoder.layers]
    first = cell_weights(decoder.layers[0], context=decoder.context, fed=decoder.feed)
    layers = [first, *(cell_weights(layer) for layer in decoder.layers[1:])]
    w: dict[str, Any] = {
        "E_x": array(model.source.weight),
        "E_y": array(model.target.weight),
        "encoder": encoder[0][0],
        "encoder layers": [layer[0] for layer in encoder],
        "encoder directions": encoder,
        "forward": encoder[0][0],
        "backward": encoder[0][-1],
        "decoder": first,
        "decoder layers": layers,
        **bridge_weights(model.bridge),
        **readout_weights(decoder.readout),
        **output_weights(model.output),
    }
    w["y_0"] = w["E_y"][BOS] * (not model.zero_first)
    if isinstance(decoder.attention, Attention):
        w |= score_weights(decoder.attention.score)
        if isinstance(decoder.attention.scope, Predictive):
            w |= {"W_p": array(decoder.attention.scope.position.weight), "v_p": array(decoder.attention.scope.v)}
    if decoder.second:
        w["second"] = cell_weights(decoder.second)
    return w


def cell_weights(
    layer: RecurrentLayer, direction: int = 0, *, context: Linear | None = None, fed: Linear | None = None
) -> dict[str, Array]:
    """W, U, b and C of a layer, cut into the rows of its gates."""
    cell, inputs = layer.cell, layer.inputs
    names = {3: ("_r", "_z", ""), 4: ("_i", "_f", "_o", "_g"), 1: ("",)}[cell.gates // cell.size]

    def part(parameter: torch.Tensor, dimensions: int) -> Array:
        return array(parameter[direction] if parameter.dim() > dimensions else parameter)

    recurrent = [part(map.weight, 2) for map in cell.children()]  # type: ignore[attr-defined]
    below = part(inputs.weight, 2)
    whole = {
        "W": below if fed is None else np.concatenate((below, array(fed.weight)), axis=1),
        "U": np.concatenate(recurrent),
        "b": np.zeros(cell.gates) if inputs.bias is None else np.pad(part(inputs.bias, 1), (inputs.unbiased, 0)),
    }
    if context is not None:
        whole["C"] = array(context.weight)
    w = {
        letter + name: rows
        for letter, matrix in whole.items()
        for name, rows in zip(names, np.split(matrix, len(names)), strict=True)
    }
    if isinstance(cell, GRU):
        inner = cell.recurrent.bias
        w["b_inner"] = np.zeros(cell.size) if inner is None else part(inner, 1)
    if isinstance(cell, LSTM):
        peepholes = cell.peepholes
        diagonals = np.zeros((3, cell.size))
        if peepholes is not None:
            diagonals = array(peepholes[direction, :, 0] if peepholes.dim() == 4 else peepholes)
        w |= dict(zip(("p_i", "p_f", "p_o"), diagonals, strict=True))
    return w


def bridge_weights(bridge: Bridge) -> dict[str, Any]:
    w: dict[str, Any] = {}
    if bridge.compressed is not None:
        w |= {"V": array(bridge.compressed.weight), "b_V": bias(bridge.compressed)}
    if len(bridge.maps):
        first = bridge.maps[0]
        assert isinstance(first, Linear)
        w |= {"V'": array(first.weight), "b_V'": bias(first), "W_s": array(first.weight), "b_s": bias(first)}
        w["V' of layers"] = [(array(m.weight), bias(m)) for m in bridge.maps if isinstance(m, Linear)]
    return w


def score_weights(score: AttentionScore) -> dict[str, Array]:
    if isinstance(score, General):
        return {"W_a": array(score.annotation.weight)}
    if isinstance(score, Location):
        return {"W_a": array(score.query.weight)}
    if not isinstance(score, Additive):
        return {}
    w = {"W_a": array(score.query.weight), "v_a": array(score.v)}
    if score.annotation is not None:
        w["U_a"] = array(score.annotation.weight)
        w["W_a of both"] = np.concatenate((w["W_a"], w["U_a"]), axis=1)  # concat: W_a [h_t; h_s]
    if score.length is not None:
        w |= {"g_a": array(score.length), "b_a": bias(score.query)}
    if score.coverage is not None:
        w["w_c"] = array(score.coverage)
    return w


def readout_weights(readout: Readout) -> dict[str, Array]:
    if isinstance(readout, MaxoutReadout):
        of_context = {} if readout.context is None else {"C_o": array(readout.context.weight)}
        state, word = array(readout.state.weight), array(readout.word.weight)
        return {"U_o": state, "V_o": word, "b_o": bias(readout.word), **of_context}
    if isinstance(readout, AttentionalReadout):
        b = np.zeros(readout.size) if readout.bias is None else array(readout.bias)
        return {"W_c": array(readout.combine.weight), "b_c": b}
    return {}


def output_weights(output: OutputLayer) -> dict[str, Array]:
    b = np.zeros(len(output.weight)) if output.bias is None else array(output.bias)
    if output.narrow is None:
        return {"W_o": array(output.weight), "b_y": b}
    return {"G_l": array(output.weight), "G_r": array(output.narrow.weight), "b_y": b}


def bias(map: Linear) -> Array:
    return np.zeros(map.weight.shape[-2]) if map.bias is None else array(map.bias)


def array(tensor: torch.Tensor | nn.Parameter) -> Array:
    found: Array = tensor.detach().numpy()
    return found
