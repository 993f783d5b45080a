"""Gradients against finite differences, entry by entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

STEP = 1e-5


def assert_gradients(function: Callable[[], Tensor], tensors: Mapping[str, Tensor]) -> None:
    """The gradient of a weighted sum of `function()` in every entry of every tensor is the central difference.

    The backward pass runs once over the whole graph, as in training: what gradients are collected for, they get at its
    end. The tensors are float64 leaves, which `function` reads anew at each call.
    """
    for tensor in tensors.values():
        assert tensor.is_leaf
        assert tensor.dtype == torch.float64
        tensor.requires_grad_().grad = None
    value = function()
    weights = torch.randn(value.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(11))
    (value * weights).sum().backward()
    for name, tensor in tensors.items():
        assert tensor.grad is not None, f"{name} has no gradient"
        expected = torch.zeros_like(tensor)
        with torch.no_grad():
            for entry in range(tensor.numel()):
                ends = []
                for step in (STEP, -STEP):
                    tensor.view(-1)[entry] += step
                    ends.append((function() * weights).sum().item())
                    tensor.view(-1)[entry] -= step
                expected.view(-1)[entry] = (ends[0] - ends[1]) / (2 * STEP)
        torch.testing.assert_close(
            tensor.grad, expected, atol=1e-7, rtol=1e-6, msg=lambda text, name=name: f"{name}: {text}"
        )
        assert expected.abs().max() > 1e-6, f"{name} does not matter here, so nothing was checked"
