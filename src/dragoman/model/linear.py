"""Linear layers in a chosen precision, applied to all steps at once or step by step.

Letters: N rows, D layers side by side (the two directions of an encoder layer).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional


class LinearOperands(NamedTuple):
    """The parameters of a linear layer, in their own type, and the type that its products are computed in.

    weight:    [n_out, n_in] or [D, n_out, n_in]
    bias:      of every output, [n_out] or [D, n_out]; None for a layer without a bias
    precision: the type of products and results
    """

    weight: Tensor
    bias: Tensor | None
    precision: torch.dtype


class LinearStep(Protocol):
    """Linear layers prepared for one unrolling: one input [.., n_in] for each layer, and the sum of their outputs.

    `plus` [.., n_out] is added to the sum [.., n_out], which stays in the precision of the layers.
    """

    def __call__(self, *inputs: Tensor, plus: Tensor | None = None) -> Tensor: ...


def multiply(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x W^T + b: [N, n_in] -> [N, n_out], or [D, N, n_in] -> [D, N, n_out] with D weights side by side."""
    y = x @ weight.mT
    return y if bias is None else y + bias.unsqueeze(-2)  # [n_out] -> [1, n_out]


def fuse_linear(layers: Sequence[LinearOperands]) -> LinearStep:
    """The sum_i (W_i x_i + b_i) of several layers as one function, [.., n_in] each -> [.., n_out]."""

    def step(*inputs: Tensor, plus: Tensor | None = None) -> Tensor:
        total = plus
        for (weight, bias, precision), x in zip(layers, inputs, strict=True):
            y = multiply(x.to(precision), weight.to(precision), None if bias is None else bias.to(precision))
            total = y if total is None else total + y
        assert total is not None, "there is a layer"
        return total

    return step


class Linear(nn.Module):
    """A linear layer W x + b, W [n_out, n_in]; or D layers side by side, W [D, n_out, n_in] on x [D, ..., n_in].

    With a bias, the first `unbiased` outputs have none.

    The product is computed and returned in `precision` (None: the type of the parameters), which does not change the
    type of the parameters. The result is not converted back, because converting each step where it is used is faster
    than converting a whole sequence at once.
    """

    multiply = staticmethod(multiply)
    fuse = staticmethod(fuse_linear)

    def __init__(self, n_in: int, n_out: int, *, directions: int = 1, bias: bool = False, unbiased: int = 0) -> None:
        super().__init__()
        several = (directions,) if directions > 1 else ()
        self.weight = nn.Parameter(torch.empty(*several, n_out, n_in))
        self.bias = nn.Parameter(torch.zeros(*several, n_out - unbiased)) if bias else None
        self.unbiased = unbiased
        self.precision: torch.dtype | None = None

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer to all steps in one product: [..., n_in] -> [..., n_out], also behind a leading D."""
        x = self.cast(x)
        rows = x.flatten(self.weight.dim() - 2, -2)  # [..., n_in] -> [N, n_in], [D, ..., n_in] -> [D, N, n_in]
        weight, bias, _ = self._operands()
        y = self.multiply(rows, self.cast(weight), None if bias is None else self.cast(bias))
        return y.reshape(*x.shape[:-1], y.shape[-1])  # [N, n_out] -> [..., n_out]

    def prepare(self, *others: Linear) -> LinearStep:
        """Prepare the sum of `others` and this layer, in that order, for one unrolling."""
        return self.fuse([layer._operands() for layer in (*others, self)])

    def _operands(self) -> LinearOperands:
        """The parameters, with a bias of zero for the unbiased outputs."""
        bias: Tensor | None = self.bias
        if bias is not None and self.unbiased:
            bias = functional.pad(bias, (self.unbiased, 0))  # [n_out - unbiased] -> [n_out]
        return LinearOperands(self.weight, bias, self.precision or self.weight.dtype)

    def cast(self, x: Tensor) -> Tensor:
        """x in the type of the products; the shape stays."""
        return x if self.precision is None else x.to(self.precision)
