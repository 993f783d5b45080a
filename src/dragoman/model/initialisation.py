"""Initialisation of the parameters by the schemes of the papers."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import nn

from dragoman.model.cells import GRU, LSTM, TanhCell
from dragoman.model.linear import Linear
from dragoman.model.scores import Additive


def initialise(model: nn.Module, scheme: Literal["orthogonal", "gaussian", "uniform", "lecun"], scale: float) -> None:
    """Initialise every parameter; biases are zero.

    uniform:    U(-scale, scale) (Sutskever et al. 2014, section 3.4; Luong et al. 2015, section 4.1)
    gaussian:   N(0, scale^2)
    orthogonal: N(0, scale^2), recurrent matrices orthogonal, W_a and U_a N(0, 0.001^2), v_a zero, so that attention
                starts exactly uniform (Cho et al. 2014, section 4.1; Bahdanau et al. 2015, B.1)
    lecun:      linear layers U(+-sqrt(3 / n_in)), which keeps the variance of activations; recurrent matrices
                orthogonal, everything else N(0, scale^2)

    The trained length of v_a in the normed score starts at 1 / sqrt(A).
    """
    recurrent = {
        linear for cell in model.modules() if isinstance(cell, GRU | LSTM | TanhCell) for linear in cell.children()
    }
    with torch.no_grad():
        for parameter in model.parameters():
            if scheme == "uniform":
                parameter.uniform_(-scale, scale)
            else:
                parameter.normal_(0, scale)
        for module in model.modules():
            if isinstance(module, nn.Embedding) and module.padding_idx is not None:
                module.weight[module.padding_idx].zero_()
            if isinstance(module, Linear) and scheme in ("orthogonal", "lecun"):
                _fill(module, orthogonal=module in recurrent, scaled=scheme == "lecun")
            if isinstance(module, Additive):
                _fill_additive(module, as_paper=scheme == "orthogonal")
        for name, parameter in model.named_parameters():
            if name.rpartition(".")[2] == "bias":
                parameter.zero_()


def _fill_additive(score: Additive, *, as_paper: bool) -> None:
    if as_paper:
        for projection in (score.query, score.annotation):
            if projection is not None:
                projection.weight.normal_(0, 0.001)
        if score.length is None:  # a normed v needs a direction, which zero has not
            score.v.zero_()
    if score.length is not None:
        score.length.fill_(1 / math.sqrt(len(score.v)))


def _fill(module: Linear, *, orthogonal: bool, scaled: bool) -> None:
    """Initialise a linear layer; recurrent matrices block by block, so that each gate's [H, H] is orthogonal."""
    n_in = module.weight.shape[-1]
    for matrix in module.weight.view(-1, *module.weight.shape[-2:]):
        if orthogonal:
            for block in matrix.split(n_in):
                nn.init.orthogonal_(block)
        elif scaled:
            bound = math.sqrt(3 / n_in)
            matrix.uniform_(-bound, bound)
