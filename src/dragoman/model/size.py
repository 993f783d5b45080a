"""The number of parameters of a model that is not built."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

from dragoman.errors import ConfigError

Model = TypeVar("Model", bound=nn.Module)


def without_memory(assemble: Callable[[], Model]) -> Model:
    """The assembled model on the device `meta`, where parameters take no memory.

    Raises:
        ConfigError: a matrix has more than 2^63 bytes.
    """
    try:
        with torch.device("meta"):
            return assemble()
    except RuntimeError as error:
        if "overflow" not in str(error):
            raise
        raise ConfigError(
            "the model is too large for any machine: one of its matrices alone has more than 2^63 bytes (9.2 EB); use "
            "smaller sizes (--scale)"
        ) from None


def parameter_count(model: nn.Module) -> int:
    """The number of parameters; a matrix that is used twice counts once."""
    return sum(parameter.numel() for parameter in model.parameters())
