"""The two forms of the parts of a model: plain, and with the faster functions of `model/fast`."""

from __future__ import annotations

from typing import TypeVar

import pytest
from torch import nn

from dragoman.model.fast.table import FAST, use

Part = TypeVar("Part")

both_forms = pytest.mark.parametrize("fast", [False, True], ids=["plain", "fast"])


def in_form(part: Part, fast: bool) -> Part:
    """The part itself, which calls the plain functions or the faster ones from now on."""
    assert isinstance(part, nn.Module)
    use(part, FAST if fast else {})
    return part
