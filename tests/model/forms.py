"""The parts of a model in their two forms, plain and with the faster functions of `model/fast`; random parameters."""

from __future__ import annotations

from typing import TypeVar

import pytest
import torch
from torch import nn

from dragoman.model.fast.table import FAST, use

Part = TypeVar("Part")

both_forms = pytest.mark.parametrize("fast", [False, True], ids=["plain", "fast"])


def in_form(part: Part, fast: bool) -> Part:
    """The part itself, which calls the plain functions or the faster ones from now on."""
    assert isinstance(part, nn.Module)
    use(part, FAST if fast else {})
    return part


def randomised(part: Part) -> Part:
    """The part itself in float64; its parameters are normally distributed from now on, always the same ones."""
    assert isinstance(part, nn.Module)
    torch.manual_seed(1)
    for parameter in part.parameters():
        nn.init.normal_(parameter)
    return part.double()
