"""Whether a model and its batches fit into the memory of the device; asked before the text is read."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from dragoman.config.schema import BatchConfig, TrainingConfig
from dragoman.data.store import Store
from dragoman.model.description import without_memory
from dragoman.model.devices import choose_device, device_memory
from dragoman.model.weights import parameter_count
from dragoman.systems import DeviceName, require_memory

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


def require_memory_for_batch(
    batch: BatchConfig, states: int, vocabulary: int, device: DeviceName, text: Store | None = None
) -> None:
    """Refuse a batch whose states and logits alone do not fit into the memory of the device.

    That is a lower bound, so that no batch is refused that could be computed: gates, attention, the optimiser and the
    model itself come on top.

    Args:
        states: numbers that training keeps for each target token and its source token: embeddings and cell states.
        vocabulary: of the target; each target token has a logit for each word, and its gradient.
        text: the stored corpus, which limits a batch; None before it is read.

    Raises:
        ConfigError: it does not fit; the message names `training.batch.size`.
    """
    require_memory(
        4 * _fewest_tokens(batch, text) * (states + 2 * vocabulary),
        f"training.batch.size: a batch of {batch.size:,} {batch.unit} (its states and logits alone)",
        "lower it",
        device_memory(choose_device(device)),
    )


def _fewest_tokens(batch: BatchConfig, text: Store | None) -> int:
    """The least tokens of a full batch: half of a budget in tokens may be padding; a line has a token and EOS."""
    if text is None:
        return batch.size // 2 if batch.unit == "tokens" else 2 * batch.size
    tokens = len(text.target.ids) + len(text)
    full = batch.size // 2 if batch.unit == "tokens" else batch.size * tokens // len(text)
    return min(tokens, full)
