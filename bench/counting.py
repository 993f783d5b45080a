"""Counts floating-point operations of matrix products: torch's, and the oneDNN kernels that the fast model calls."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch.utils.flop_counter import FlopCounterMode


def product_counter() -> FlopCounterMode:
    """A context manager that counts all matrix products; `get_total_flops` returns the sum."""
    return FlopCounterMode(display=False, custom_mapping={torch.ops.mkldnn._linear_pointwise: _linear})


def _linear(x: Sequence[int], *_: object, out_shape: Sequence[int], **__: object) -> int:
    return 2 * math.prod(out_shape) * x[-1]
