"""What a cell does between its products, as one operation with a gradient written by hand.

Left to automatic differentiation, each step of a cell is a dozen small operations, and as many again on the way back;
for batches of usual size starting them costs more than their arithmetic. Sums that enter a gate may come in a lower
precision than the state's; the arithmetic is in the state's.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_of_sigmoid, _of_tanh = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward
"""(gradient, value of the function) -> gradient of its argument."""


def reset_and_update(a: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
    """r * h and z, [.., H] each, of a GRU whose gates are r, z = sigmoid(a), a [.., 2H]."""
    result: tuple[Tensor, Tensor] = _ResetAndUpdate.apply(a, h)
    return result


def new_state(a: Tensor, h: Tensor, z: Tensor, *, keep: bool) -> Tensor:
    """The new state of a GRU, h~ = tanh(a): z * h + (1 - z) * h~ where z keeps, the other way round where it writes."""
    new: Tensor = _NewState.apply(a, h, z, keep)
    return new


def new_lstm_state(a: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """The new (h, c) of an LSTM from the sums a [.., 4H] of its gates, in the order i, f, o, g, and the old c."""
    result: tuple[Tensor, Tensor] = _NewLSTMState.apply(a, c)
    return result


class _ResetAndUpdate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        of_r, of_z = a.to(h.dtype).chunk(2, dim=-1)
        r, z = torch.sigmoid(of_r), torch.sigmoid(of_z)
        ctx.save_for_backward(r, z, h)
        ctx.type = a.dtype
        return r * h, z

    @staticmethod
    def backward(ctx: Any, of_reset: Tensor, of_z: Tensor) -> tuple[Tensor, Tensor]:
        r, z, h = ctx.saved_tensors
        of_a = torch.cat((_of_sigmoid(of_reset * h, r), _of_sigmoid(of_z, z)), dim=-1)
        return of_a.to(ctx.type), of_reset * r


class _NewState(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, h: Tensor, z: Tensor, keep: bool) -> Tensor:
        new = torch.tanh(a.to(h.dtype))
        ctx.save_for_backward(new, h, z)
        ctx.keep, ctx.type = keep, a.dtype
        return torch.lerp(new, h, z) if keep else torch.lerp(h, new, z)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        new, h, z = ctx.saved_tensors
        through = gradient * z
        of_h, of_new = (through, gradient - through) if ctx.keep else (gradient - through, through)
        difference = h - new if ctx.keep else new - h
        return _of_tanh(of_new, new).to(ctx.type), of_h, difference.mul_(gradient), None


class _NewLSTMState(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        of_i, of_f, of_o, of_g = a.to(c.dtype).chunk(4, dim=-1)
        i, f, o, g = torch.sigmoid(of_i), torch.sigmoid(of_f), torch.sigmoid(of_o), torch.tanh(of_g)
        new = torch.addcmul(f * c, i, g)
        squashed = torch.tanh(new)
        ctx.save_for_backward(i, f, o, g, c, squashed)
        ctx.type = a.dtype
        return o * squashed, new

    @staticmethod
    def backward(ctx: Any, of_h: Tensor, of_c: Tensor) -> tuple[Tensor, Tensor]:
        i, f, o, g, c, squashed = ctx.saved_tensors
        of_new = _of_tanh(of_h * o, squashed).add_(of_c)
        of_a = torch.cat(
            (
                _of_sigmoid(of_new * g, i),
                _of_sigmoid(of_new * c, f),
                _of_sigmoid(of_h * squashed, o),
                _of_tanh(of_new * i, g),
            ),
            dim=-1,
        )
        return of_a.to(ctx.type), of_new.mul_(f)
