"""Floating-point operations of products: those that torch's counter knows, and those of `dragoman.model.products`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch.utils.flop_counter import FlopCounterMode


def product_counter() -> FlopCounterMode:
    """A context in which every product of torch's or ours is counted: `get_total_flops` tells."""
    return FlopCounterMode(display=False, custom_mapping={torch.ops.mkldnn._linear_pointwise: _linear})


def _linear(x: Sequence[int], *_: object, out_shape: Sequence[int], **__: object) -> int:
    return 2 * math.prod(out_shape) * x[-1]
