"""The number of parameters of a model that is not built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from dragoman.errors import ConfigError

Model = TypeVar("Model", bound=nn.Module)


def without_memory(assemble: Callable[[], Model]) -> Model:
    """The assembled model on the device `meta`, where parameters take no memory.

    Raises:
        ConfigError: a matrix has more than 2^63 bytes.
    """
    try:
        with torch.device("meta"), _NothingDrawn():
            return assemble()
    except RuntimeError as error:
        if "overflow" not in str(error):
            raise
        raise ConfigError(
            "the model is too large for any machine: one of its matrices alone has more than 2^63 bytes (9.2 EB); use "
            "smaller sizes (--scale)"
        ) from None


class _NothingDrawn(TorchFunctionMode):
    """Inside, the functions of torch.nn.init do nothing: on `meta` some of them import torch's compiler for seconds."""

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        if getattr(function, "__module__", None) == "torch.nn.init":
            return given["tensor"] if "tensor" in given else args[0]
        return function(*args, **given)


def parameter_count(model: nn.Module) -> int:
    """The number of parameters; a matrix that is used twice counts once."""
    return sum(parameter.numel() for parameter in model.parameters())
