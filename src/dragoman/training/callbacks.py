"""Callbacks: functions of the caller that a training calls after updates, validations and saved states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class UpdateEvent:
    """What `TrainingCallback.on_update` receives.

    >>> class Rates(dragoman.TrainingCallback):
    ...     def on_update(self, event):
    ...         print(f"{event.seconds:.0f} s: update {event.update} at rate {event.learning_rate}")
    """

    update: int
    """Updates so far."""
    epoch: float
    """Passes over the training data so far, with fraction."""
    seconds: float
    """Seconds of training so far; the time between a stop and a resumption is not counted."""
    loss: float
    """Negative log-likelihood of this update's batches, in nats per target token, EOS included."""
    learning_rate: float
    """That of this update."""
    gradient_norm: float
    """Before clipping."""


@dataclass(frozen=True)
class ValidationEvent:
    """What `TrainingCallback.on_validation` receives.

    >>> class Best(dragoman.TrainingCallback):
    ...     def on_validation(self, event):
    ...         if event.best:
    ...             print(event.results["perplexity"], event.weights)
    """

    update: int
    epoch: float
    seconds: float
    """As in `UpdateEvent`."""
    results: Mapping[str, float]
    """"perplexity", and what else was measured: "bleu", "chrf", "accuracy"."""
    best: bool
    """Whether this is the best validation so far, whose weights have been saved."""
    weights: Path
    """The file with the best weights so far."""


@dataclass(frozen=True)
class CheckpointEvent:
    """What `TrainingCallback.on_checkpoint` receives.

    >>> class Copy(dragoman.TrainingCallback):
    ...     def on_checkpoint(self, event):
    ...         print(f"update {event.update} can be resumed from {event.path}")
    """

    update: int
    epoch: float
    seconds: float
    """As in `UpdateEvent`."""
    path: Path
    """The file with the training state."""


class StopTraining(Exception):
    """Raised by a callback: the training ends after this update as if its epochs were done, with its result chosen.

    >>> class StopAt(dragoman.TrainingCallback):
    ...     def on_validation(self, event):
    ...         if event.results["perplexity"] < 2:
    ...             raise dragoman.StopTraining
    """


class TrainingCallback:
    """Base class of callbacks; each method does nothing until a subclass overrides it.

    All are called in the training process between two updates, in the order of the list that `train` received, and
    training waits for them. An exception ends the training: the state is saved, so that it can be resumed after that
    update, and the exception passes on unchanged out of `train`; `StopTraining` ends it as finished. A resumed run is
    equal to one that never stopped as long as no callback changes the model or draws from torch's random generator.

    >>> class Losses(dragoman.TrainingCallback):
    ...     def __init__(self):
    ...         self.losses = []
    ...
    ...     def on_update(self, event):
    ...         self.losses.append(event.loss)
    """

    def on_update(self, event: UpdateEvent) -> None:
        """Called after each update of the weights.

        Args:
            event: its number, loss, learning rate and gradient norm.
        """

    def on_validation(self, event: ValidationEvent) -> None:
        """Called after each validation on the dev set, the last one included.

        Args:
            event: what was measured, and whether it is the best so far.
        """

    def on_checkpoint(self, event: CheckpointEvent) -> None:
        """Called after each saved training state but that before the first update.

        Args:
            event: the file of the state.
        """
