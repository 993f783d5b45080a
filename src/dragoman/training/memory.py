"""Whether the parameters of a model, with what training keeps for each, fit into the memory of the device."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from dragoman.config.schema import TrainingConfig
from dragoman.memory import require_memory
from dragoman.model.devices import DeviceName, choose_device, device_memory
from dragoman.model.size import parameter_count, without_memory

SMALLEST_VOCABULARY = 8
"""Of any model; the real size is known when the text has been prepared."""

_OPTIMISER_STATE = {"adam": 2, "adamw": 2, "adadelta": 2, "sgd": 0}
"""Numbers that an optimiser keeps for each parameter."""


def require_memory_for_training(assemble: Callable[[], nn.Module], config: TrainingConfig, device: DeviceName) -> None:
    """Refuse a model whose weights, gradients and optimiser state do not fit into the memory of the device.

    Args:
        assemble: makes the model; called where parameters take no memory.

    Raises:
        ConfigError: they do not fit; the message gives the number of parameters and both sizes. Or the device is not
            available.
    """
    count = parameter_count(without_memory(assemble))
    copies = 2 + _OPTIMISER_STATE[config.optimiser.name] + (1 if config.average_decay else 0)
    averages = ", running average" if config.average_decay else ""
    require_memory(
        4 * count * copies,
        f"training {count:,} parameters (weights, gradients{averages}, state of {config.optimiser.name})",
        "use smaller sizes (--scale) or vocabularies",
        device_memory(choose_device(device)),
    )
