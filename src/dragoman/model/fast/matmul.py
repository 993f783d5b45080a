"""Matrix products with a weight, by the library within torch that is faster on this processor.

In float32 torch multiplies with MKL, which does not use its fastest code on processors of other makers than Intel.
There oneDNN, which torch contains for other purposes, multiplies the 64 rows of a step 1.4 to 1.6 times as fast
(docs/lab-book/2026-11-speed.md).
"""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

CACHE_LINE = 64
"""Bytes. Products of matrices whose rows do not begin at a cache line are up to 40 % slower."""


def matmul(x: Tensor, weight: Tensor, plus: Tensor | None = None) -> Tensor:
    """x W^T + plus, [.., n_in] -> [.., n_out], all in one type; not differentiable.

    Args:
        x: [.., n_in], or [D, N, n_in] for D weights side by side.
        weight: [n_out, n_in], or [D, n_out, n_in].
        plus: a bias [n_out] or [D, n_out], or a tensor in the shape of the result.
    """
    if weight.dim() == 3:
        return _side_by_side(x, weight, plus)
    if _by_onednn(x, weight):
        # torch's compiled models use this operator for linear layers; it has no public name
        linear = torch.ops.mkldnn._linear_pointwise
        is_sum = plus is not None and plus.dim() > 1
        result: Tensor = (
            linear.binary(x, plus, weight, None, "add") if is_sum else linear(x, weight, plus, "none", [], "")
        )
        return result
    if plus is not None:
        return functional.linear(x, weight, plus) if plus.dim() == 1 else torch.addmm(plus, x, weight.t())
    if x.dim() > 2:
        return torch.matmul(x, weight.t())
    rows = x.new_empty(len(x), aligned(len(weight), x))[:, : len(weight)]
    return torch.mm(x, weight.t(), out=rows)


def aligned(columns: int, like: Tensor) -> int:
    """`columns` rounded up, so that rows of the type of `like` begin at cache lines."""
    step = CACHE_LINE // like.element_size()
    return -(-columns // step) * step


def _side_by_side(x: Tensor, weight: Tensor, plus: Tensor | None) -> Tensor:
    if _by_onednn(x, weight):
        parts = [None] * len(x) if plus is None else plus
        return torch.stack([matmul(*one) for one in zip(x, weight, parts, strict=True)])
    if plus is None:
        return torch.bmm(x, weight.mT)
    return torch.baddbmm(plus.unsqueeze(1) if plus.dim() == 2 else plus, x, weight.mT)


def _by_onednn(x: Tensor, weight: Tensor) -> bool:
    if x.dtype != torch.float32 or x.device.type != "cpu" or not _mkl_is_slow():
        return False
    # oneDNN takes a thousand times as long for a weight with gaps between its rows, and rejects an empty input
    return x.numel() > 0 and (weight.is_contiguous() or weight.mT.is_contiguous())


@cache
def _mkl_is_slow() -> bool:
    if not (torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()):
        return False
    described = Path("/proc/cpuinfo")
    vendor = described.read_text(encoding="utf-8") if described.exists() else platform.processor()
    return "GenuineIntel" not in vendor
