"""Initialisation of the parameters by the schemes of the papers."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import nn

from dragoman.model.cells import GRU, LSTM, TanhCell
from dragoman.model.encoder import RecurrentLayer
from dragoman.model.linear import Linear
from dragoman.model.scores import Additive

LSTM_GAIN = 2.5
"""Gain of an LSTM's input layer that keeps the deviation of h from layer to layer, under `lecun`.

For small inputs the gates are 1/2 and the tanh are the identity: c' = c / 2 + (W x + U h) / 2, h = c / 2. With U
orthogonal and g the gain of W, h deviates 0.30 g times as far as x if the inputs of different steps are independent,
and about 0.5 g times as far if they are all the same; in a stack they are in between. With a gain of 1 four layers
divide the signal by more than ten, and as many decoder layers do so again.
"""


def initialise(
    model: nn.Module,
    scheme: Literal["orthogonal", "gaussian", "uniform", "lecun"],
    scale: float,
    *,
    embedding_scale: float | None = None,
    forget_bias: float = 0.0,
) -> None:
    """Initialise every parameter; biases are zero, but `forget_bias` in the forget gates of LSTM layers.

    uniform:    U(-scale, scale) (Sutskever et al. 2014, section 3.4; Luong et al. 2015, section 4.1)
    gaussian:   N(0, scale^2)
    orthogonal: N(0, scale^2), recurrent matrices orthogonal, W_a and U_a N(0, (scale / 10)^2), v_a zero, so that
                attention starts exactly uniform (Cho et al. 2014, section 4.1; Bahdanau et al. 2015, B.1: 0.01, 0.001)
    lecun:      linear layers U(+-g sqrt(3 / n_in)) with a gain g of 1, which keeps the variance of activations, or of
                `LSTM_GAIN` for the inputs of LSTM layers; recurrent matrices orthogonal, everything else N(0, scale^2)

    With `embedding_scale`, embeddings are N(0, embedding_scale^2) under every scheme, and so is an output matrix that
    is theirs. The trained length of v_a in the normed score starts at 1 / sqrt(A).
    """
    recurrent = {
        linear for cell in model.modules() if isinstance(cell, GRU | LSTM | TanhCell) for linear in cell.children()
    }
    layers = [module for module in model.modules() if isinstance(module, RecurrentLayer)]
    lstm_inputs = {layer.inputs for layer in layers if isinstance(layer.cell, LSTM)}
    with torch.no_grad():
        for parameter in model.parameters():
            if scheme == "uniform":
                parameter.uniform_(-scale, scale)
            else:
                parameter.normal_(0, scale)
        for module in model.modules():
            if isinstance(module, nn.Embedding) and embedding_scale is not None:
                module.weight.normal_(0, embedding_scale)
            if isinstance(module, nn.Embedding) and module.padding_idx is not None:
                module.weight[module.padding_idx].zero_()
            if isinstance(module, Linear) and scheme in ("orthogonal", "lecun"):
                gain = LSTM_GAIN if module in lstm_inputs else 1.0
                _fill(module, orthogonal=module in recurrent, gain=gain if scheme == "lecun" else None)
            if isinstance(module, Additive):
                _fill_additive(module, scale if scheme == "orthogonal" else None)
        for name, parameter in model.named_parameters():
            if name.rpartition(".")[2] == "bias":
                parameter.zero_()
        for layer in layers:
            if isinstance(layer.cell, LSTM) and layer.inputs.bias is not None:
                layer.inputs.bias[..., layer.cell.size : 2 * layer.cell.size] = forget_bias  # [.., 4H]: i, f, o, g


def _fill_additive(score: Additive, scale: float | None) -> None:
    """Initialise a score as the papers say for their scale; without one, the filled projections and v_a stay."""
    if scale is not None:
        for projection in (score.query, score.annotation):
            if projection is not None:
                projection.weight.normal_(0, scale / 10)
        if score.length is None:  # a normed v needs a direction, which zero has not
            score.v.zero_()
    if score.length is not None:
        score.length.fill_(1 / math.sqrt(len(score.v)))


def _fill(module: Linear, *, orthogonal: bool, gain: float | None) -> None:
    """Initialise a linear layer; recurrent matrices block by block, so that each gate's [H, H] is orthogonal.

    Other matrices stay as they are, or with a gain keep the variance of their inputs times its square.
    """
    n_in = module.weight.shape[-1]
    for matrix in module.weight.view(-1, *module.weight.shape[-2:]):
        if orthogonal:
            for block in matrix.split(n_in):
                nn.init.orthogonal_(block)
        elif gain is not None:
            bound = gain * math.sqrt(3 / n_in)
            matrix.uniform_(-bound, bound)
