"""The time of a training: seconds, epochs, and the share of it that is done."""

from __future__ import annotations

import math
from collections.abc import Callable

from dragoman.config.schema import TrainingConfig
from dragoman.data.batches import Batches
from dragoman.training.counters import Counters
from dragoman.training.log import Moment

VALIDATION_SHARE = 0.2
"""Share of a wall-clock budget that validations take at most, except that the first and the last are always made."""

_UNKNOWN_VALIDATION = 0.05
"""Share of a wall-clock budget reserved for the last validation until one has been timed."""


class TrainingClock:
    """Measures the time of a training, that before a resumption included."""

    def __init__(
        self, counters: Counters, batches: Batches, config: TrainingConfig, clock: Callable[[], float]
    ) -> None:
        """`clock` gives seconds from any origin."""
        self._counters = counters
        self._batches = batches
        self._config = config
        self._clock = clock
        self.saving_seconds = 0.0
        """Duration of the last save."""
        self._origin = clock()
        self._started_at = (0.0, 0.0)

    def start(self) -> None:
        """Begin to measure, from `counters.seconds` on."""
        self._origin = self._clock()
        self._started_at = self.seconds, self.fraction()

    @property
    def seconds(self) -> float:
        """Seconds of training so far."""
        return self._counters.seconds + self._clock() - self._origin

    def done(self) -> tuple[float, float]:
        """Seconds and epochs of training so far."""
        return self.seconds, self.epochs()

    def epochs(self) -> float:
        """Passes over the training data so far, with fraction."""
        return self._batches.epochs_before(self._counters.position)

    def updates_per_epoch(self) -> float:
        """Updates in the present pass over the training data, with fraction, computed from the updates of the present
        pool."""
        return self._batches.batches_of_epoch(self._counters.position) / self._config.batch.accumulate

    def fraction(self) -> float:
        """Share of the training that is done, 0 to 1: of its length or of its minutes, whichever is more."""
        return self._fraction(self._share_of_length(), self.seconds)

    def fraction_since_validation(self) -> float:
        """Share of the training since the beginning of the last validation."""
        counters = self._counters
        done = self._share(counters.validated_update, counters.validated_epochs)
        return self.fraction() - self._fraction(done, counters.validated_seconds)

    def _fraction(self, done: float, seconds: float) -> float:
        if self._config.minutes is not None:
            done = max(done, seconds / self._seconds_for_updates(self._config.minutes))
        return min(1.0, done)

    def scheduled_epochs(self) -> float:
        """Epochs so far as the schedule counts them: with `training.updates`, the done share times `training.epochs`.

        So a paper's recipe, whose rate is halved from epoch 5 of 10 on, keeps its shape whatever the number of updates.
        """
        updates = self._config.updates
        return self.epochs() if updates is None else self._counters.update * self._config.epochs / updates

    def wanted_epochs(self) -> float:
        """Epochs of the whole training; with `training.updates` estimated from those so far."""
        updates = self._config.updates
        return self._config.epochs if updates is None else self.epochs() * updates / max(1, self._counters.update)

    def length_is_done(self) -> bool:
        """Whether all updates, or without `training.updates` all epochs, are done."""
        return self._share_of_length() >= 1

    def _share_of_length(self) -> float:
        return self._share(self._counters.update, self.epochs())

    def _share(self, update: int, epochs: float) -> float:
        return epochs / self._config.epochs if self._config.updates is None else update / self._config.updates

    def minutes_are_used_up(self) -> bool:
        """Whether no further update fits into the wall-clock budget."""
        return self.seconds_left() <= 0

    def seconds_left(self) -> float:
        """Seconds of the wall-clock budget that are left for updates; infinite without one."""
        minutes = self._config.minutes
        return math.inf if minutes is None else self._seconds_for_updates(minutes) - self.seconds

    def allows_validation(self) -> bool:
        """Whether validations, this one and the last included, stay within `VALIDATION_SHARE` of a wall-clock budget.

        They have to stay within it at every moment, so that they are spread over the training.
        """
        minutes, one = self._config.minutes, self._counters.validation_seconds
        if minutes is None or one is None:
            return True
        taken = self._counters.validating_seconds + one
        return taken <= VALIDATION_SHARE * self.seconds and taken + one <= VALIDATION_SHARE * 60 * minutes

    def allows_frequent_validation(self) -> bool:
        """Whether a validation now would leave nine tenths of a wall-clock budget to training."""
        counters = self._counters
        if self._config.minutes is None or counters.validation_seconds is None:
            return True
        return self.seconds - counters.validated_seconds >= 10 * counters.validation_seconds

    def moment(self) -> Moment:
        """The present moment, with an estimate of the time that is left."""
        seconds, fraction = self.seconds, self.fraction()
        started_at, done_then = self._started_at
        left = (seconds - started_at) * (1 - fraction) / (fraction - done_then) if fraction > done_then else None
        return Moment(seconds, self._counters.update, self.epochs(), left)

    def _seconds_for_updates(self, minutes: float) -> float:
        """The wall-clock budget without the time of the last validation, of an averaging, and of the last save."""
        validation = self._counters.validation_seconds
        if validation is None:
            validation = _UNKNOWN_VALIDATION * 60 * minutes
        validations = 2 if self._config.average_best else 1
        return max(60 * minutes - 1.1 * (validations * validation + self.saving_seconds), 1e-9)
