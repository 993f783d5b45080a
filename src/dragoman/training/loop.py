"""The training loop: update, log, validate and save until there is a reason to stop.

`train` receives its model, batches and validators, and depends neither on text files nor on search. The state of the
`Trainer` is saved as one checkpoint: a resumed run has bit for bit the weights of one that never stopped, dropout
included. (A wall-clock budget is the exception, because the clock then decides the learning rate and the end; a resumed
run continues with the time that was left.)

Of several ranks, rank 0 is in `train`, and the others are in `follow`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Generic, Literal

import torch
from torch import Tensor

from dragoman.config.schema import TrainingConfig
from dragoman.data.batches import Batches
from dragoman.errors import ConfigError, Interrupted, RunError, TrainingError
from dragoman.model.devices import set_threads, threads_in_use
from dragoman.model.trainable import Model
from dragoman.model.weights import weights_of
from dragoman.progress import Console
from dragoman.runs.layout import RunFolder
from dragoman.systems import DeviceName, return_freed_memory
from dragoman.training.averaging import RunningAverage, SavedValidation
from dragoman.training.callbacks import (
    CheckpointEvent,
    StopTraining,
    TrainingCallback,
    UpdateEvent,
    ValidationEvent,
)
from dragoman.training.checkpoint import (
    Checkpoint,
    load_checkpoint,
    random_state,
    restore_random_state,
    restore_tensors,
    save_checkpoint,
)
from dragoman.training.clock import TrainingClock
from dragoman.training.counters import Counters, LogInterval
from dragoman.training.forecast import Workload, enough_measured, forecast
from dragoman.training.log import TrainingLog
from dragoman.training.model_selection import ModelSelection
from dragoman.training.objective import UpdateTotals
from dragoman.training.optimisers import global_norm, weight_decay
from dragoman.training.ranks import ALONE, Ranks
from dragoman.training.schedules import PlateauCounter, TrainingProgress, dropout_strength, learning_rate
from dragoman.training.updater import Interruption, Updater, UpdateSettings
from dragoman.training.validation import Validators

STATE = "latest.safetensors"
"""Name of the training state in RUN/checkpoints."""

Reason = Literal["epochs", "updates", "minutes", "patience", "callback"]


@dataclass(frozen=True)
class TrainingResult:
    """The end of a training and its result.

    >>> config = dragoman.override(dragoman.load_config("small.yaml"), ["training.epochs=0.2"])
    >>> result = dragoman.train(config, [["train.low", "train.up"]], [["dev.low", "dev.up"]], "ENDED").result
    >>> result.reason, result.best_update <= result.update, result.seconds > 0
    ('epochs', True, True)
    """

    reason: Reason
    """All epochs or updates are done, the minutes are used up, or too many validations brought no improvement."""
    update: int
    """Updates in all."""
    epochs: float
    """Passes over the training data, with fraction."""
    seconds: float
    """Seconds of training; the time between a stop and a resumption is not counted."""
    metric: str
    """What validations measured: `training.validation.metric`."""
    best: float
    """The best value of `metric`, or one that is worse within `training.validation.tolerance`, and ..."""
    best_update: int
    """... the update whose weights are in RUN/model.safetensors, or ..."""
    averaged: tuple[int, ...] = ()
    """... the updates whose mean is there; `best_update` is then the last of them."""


@dataclass(frozen=True)
class TrainingTask(Generic[Model]):
    """A model, what it is trained on, and how."""

    model: Model
    batches: Batches
    config: TrainingConfig
    validators: Validators[Model]
    workload: Workload | None = None
    """To forecast the epochs of a training with a time limit; None for no forecast."""


@dataclass(frozen=True)
class Beginning:
    """How a new training begins."""

    take_place: Callable[[], RunFolder] | None = None
    """For a run that is being prepared: puts it into its final folder, which it returns; called once the first state is
    saved."""
    validate_first: bool = False
    """Whether the weights before the first update may be the best, because they have been trained."""


@dataclass(frozen=True)
class Execution:
    """The process in which a training runs, and who listens to it."""

    device: DeviceName = "auto"
    """The device to put the model on."""
    threads: int | None = None
    """The number of threads that was asked for; None: as many as a training had that is resumed."""
    console: Console = field(default_factory=Console)
    callbacks: Sequence[TrainingCallback] = ()
    """Called between updates."""
    ranks: Ranks = ALONE
    """Those that train together; this is rank 0, and the others call `follow`."""
    clock: Callable[[], float] = time.monotonic
    """Seconds from any origin."""


def train(
    task: TrainingTask[Model], folder: RunFolder, execution: Execution, beginning: Beginning | None
) -> TrainingResult:
    """Train a model in place; write the best weights so far to RUN/model.safetensors and the log to RUN/log.jsonl.

    Without a beginning, training continues from the state in RUN/checkpoints.

    Raises:
        TrainingError: loss, gradient or weights are no longer finite numbers. No file has been written since. Or a rank
            has ended or does not answer.
        Interrupted: SIGINT, SIGTERM or SIGHUP came; the update was finished and the state saved.
        RunError: the state to resume from is missing, damaged or of another model.
        InputError: the disk is full; the last saved state is unchanged.
        ConfigError: the validators do not measure the deciding metric.
        Exception: any that a callback raises; the update was finished and the state saved.
    """
    config, ranks = task.config, execution.ranks
    if config.validation.metric != "perplexity" and task.validators.translate is None:
        raise ConfigError(
            f"training.validation.metric: {config.validation.metric} needs translations of the dev set, which this "
            "training does not make; use perplexity"
        )
    with Interruption() as interruption, TrainingLog(folder.log, folder.tensorboard, execution.console) as log:
        counters = Counters(PlateauCounter(config.schedule.patience))
        updater = Updater(task.model, task.batches, config, counters, interruption, ranks)
        trainer = Trainer(task, updater, counters, folder, log, execution)
        trainer.resume(execution.threads) if beginning is None else trainer.begin(beginning)
        updater.share(threads_in_use() if beginning is None else None)
        while (reason := trainer.reason_to_stop()) is None:
            settings = trainer.settings()
            updater.announce(settings)
            trainer.update(settings)
            trainer.log_if_due()
            trainer.call_on_update()
            if updater.signal is not None:
                trainer.save()
                raise _interrupted(updater.signal, counters.update)
            trainer.forecast_if_due()
            trainer.validate_if_due()
            trainer.save_if_due()
        summary = trainer.finish(reason)
        if interruption.requested is not None:
            raise _interrupted(interruption.requested, summary.update)
        updater.announce(summary)
        return summary


def follow(
    model: Model, batches: Batches, config: TrainingConfig, ranks: Ranks, threads: int | None = None
) -> TrainingResult:
    """Train `model` in place on a rank other than 0: its part of every update of `train`, and nothing else.

    Rank 0 decides the settings of each update. The others change their weights with it: they read no clock, do not
    validate, and write nothing.

    Args:
        model, batches, config: as on rank 0; the weights, and the position in the batches, come from there.
        threads: None for the library's own number, or in a training that is resumed for that of rank 0.

    Raises:
        OtherRankError: rank 0, or another rank, has ended; also after a signal.
        TrainingError: a rank has ended without a message, or does not answer.
    """
    with Interruption() as interruption:
        updater = Updater(
            model, batches, config, Counters(PlateauCounter(config.schedule.patience)), interruption, ranks
        )
        resumed_with = updater.share()
        set_threads(resumed_with if threads is None else threads)
        while isinstance(announced := updater.announce(), UpdateSettings):
            updater.update(announced)
    result: TrainingResult = announced
    return result


def _interrupted(signal: str, update: int) -> Interrupted:
    return Interrupted(f"{signal}: state saved after update {update}; --resume continues from there")


class Trainer(Generic[Model]):
    """The state of a training and the steps that change it."""

    def __init__(
        self,
        task: TrainingTask[Model],
        updater: Updater[Model],
        counters: Counters,
        folder: RunFolder,
        log: TrainingLog,
        execution: Execution,
    ) -> None:
        config = task.config
        self.counters = counters
        self._batches = task.batches
        self._updater = updater
        self._model = updater.model
        self._config = config
        self._average = RunningAverage(updater.parameters, config.average_decay) if config.average_decay else None
        self._rate = 0.0
        self._state = folder.checkpoints / STATE
        self._log = log
        self._clock = TrainingClock(self.counters, task.batches, config, execution.clock)
        self._selection = ModelSelection(
            self._model, self._average, task.validators, config, folder, self.counters, self._clock, log
        )
        self._interval = LogInterval(since=0.0)
        self._saved_at = 0.0
        self._workload = task.workload
        self._started = (0.0, 0.0)  # seconds and epochs
        self._excluded = 0.0  # seconds of validations and saves since then
        self._callbacks = execution.callbacks
        self._last: tuple[UpdateTotals, Tensor]
        self._stopped = False
        """Whether a callback has ended the training."""

    def begin(self, beginning: Beginning) -> None:
        """Start a new training, with dropout from the seed; saving at once shows early whether the disk has room."""
        torch.manual_seed(self._config.seed)
        self._start()
        if beginning.validate_first:
            self._validate()
        self._save()
        if beginning.take_place is not None:
            folder = beginning.take_place()
            self._state = folder.checkpoints / STATE
            self._selection.move(folder)
            self._log.move(folder.log, folder.tensorboard)
        self._log.open_tensorboard(self.counters.update)  # in the final folder: it opens its files by name repeatedly

    def resume(self, threads: int | None = None) -> None:
        """Continue from the saved state, with as many threads as it was saved with unless `threads` were asked for.

        Raises:
            RunError: it is missing, damaged, or of another model or recipe.
        """
        path = self._state
        saved = load_checkpoint(path)
        _require_same(self._recipe(), saved.values["recipe"], path)
        restore_tensors(weights_of(self._model), saved.part("weights"), path)
        self._updater.optimiser.restore(saved.part("optimiser"))
        if self._average is not None:
            restore_tensors(self._average.values, saved.part("average"), path)
            self._average.updates = saved.values["average_updates"]
        restore_random_state(saved.part("random"), self._updater.device)
        self.counters.restore(saved.values["counters"])
        self._selection.several.kept = [SavedValidation(*kept) for kept in saved.values["best_several"]]
        self._interval = LogInterval(**saved.values["interval"])
        self._log.truncate(saved.values["log_size"])
        self._start()
        self._log.open_tensorboard(self.counters.update)
        self._log.event(self._clock.moment(), "resumed", f"resumed after update {self.counters.update}")
        self._restore_threads(saved.values.get("threads"), threads)
        self.validate_if_due()  # a signal may have come between an update and its validation

    def _restore_threads(self, saved: int | None, wanted: int | None) -> None:
        """Set the saved number of threads, which decides the rounding of sums; warn where another one is wanted.

        Args:
            saved: None for a state from before it was kept.
            wanted: None for the saved number.
        """
        if saved is None or self._updater.device.type != "cpu":
            return
        if wanted is None and saved != threads_in_use():
            set_threads(saved)
            self._log.event(self._clock.moment(), "threads", f"threads: {saved}, as before")
        elif wanted is not None and wanted != saved:
            text = (
                f"--threads {wanted}: this training had {saved} so far; its weights will differ by rounding from those "
                f"of a training that was never stopped. Leave the option out to go on with {saved}"
            )
            self._log.event(self._clock.moment(), "threads", text, warning=True)

    def _start(self) -> None:
        self._updater.start()
        self._clock.start()
        self._saved_at = self._clock.seconds
        self._started = self._clock.done()

    def settings(self) -> UpdateSettings:
        """The settings of the next update."""
        optimiser, counters, clock = self._config.optimiser, self.counters, self._clock
        epochs, fraction = clock.scheduled_epochs(), clock.fraction()
        progress = TrainingProgress(counters.update + 1, epochs, fraction, counters.plateau.plateaus)
        rate = learning_rate(self._config.schedule, optimiser.learning_rate, progress)
        sampled = self._config.scheduled_sampling * clock.fraction()
        dropout = dropout_strength(self._config.dropout_warmup, clock.epochs())
        return UpdateSettings(rate, sampled, dropout, weight_decay(optimiser, clock.updates_per_epoch()))

    def update(self, settings: UpdateSettings) -> None:
        """Change the weights once."""
        self._rate = settings.learning_rate
        totals, norm = self._updater.update(settings)
        if self._average is not None:
            self._average.update()
        self._interval.add(totals, norm)
        self._log.advance(self._clock.fraction())
        self._last = totals, norm

    def call_on_update(self) -> None:
        """Call the callbacks after an update that has been logged, so that the state is complete if one fails."""
        if self._callbacks:
            totals, norm = self._last
            updated = UpdateEvent(*self._time(), float(totals.nll) / totals.tokens, self._rate, float(norm))
            self._call(lambda callback: callback.on_update(updated))

    def log_if_due(self) -> None:
        """Log the measurements since the last such record, every `log_every` updates.

        Raises:
            TrainingError: a loss or gradient was not a number.
        """
        if self.counters.update % self._config.log_every == 0:
            self._require_finite()
            self._log.train(self._clock.moment(), self._interval.measures(self._rate, self._clock.seconds))
            self._interval = LogInterval(since=self._clock.seconds)

    def validate_if_due(self) -> None:
        """Validate every `validation.every` updates, or once an epoch, and `validation.at_least` times in all.

        A validation that would measure the same weights as the last one waits until the average has moved. With a time
        limit there are fewer where they would take more than `VALIDATION_SHARE` of it.
        """
        validation, counters, clock = self._config.validation, self.counters, self._clock
        if not self._has_new_weights():
            return
        if validation.every:
            due = counters.update // validation.every > counters.validated_update // validation.every
        else:
            due = counters.position.epoch > counters.validated_epoch and clock.allows_frequent_validation()
        if validation.at_least and not due:
            due = clock.fraction_since_validation() >= 1 / validation.at_least - 1e-9  # rounding of fractions
        if due and clock.allows_validation():
            self._validate()

    def _has_new_weights(self) -> bool:
        """Whether a validation would measure other weights than the last one."""
        last = self.counters.validated_update
        return self.counters.update != last and (self._average is None or self._average.has_moved(last))

    def forecast_if_due(self) -> None:
        """With a time limit, forecast once how many epochs it will see."""
        minutes, workload = self._config.minutes, self._workload
        if minutes is None or workload is None or self.counters.forecast:
            return
        seconds, epochs = (now - then for now, then in zip(self._clock.done(), self._started, strict=True))
        seconds -= self._excluded
        if not enough_measured(seconds, minutes):
            return
        self.counters.forecast = True
        expected = forecast(
            workload,
            epochs=epochs,
            seconds=seconds,
            done=self._clock.epochs(),
            left=self._clock.seconds_left(),
            wanted=self._clock.wanted_epochs(),
            minutes=minutes,
        )
        self._log.event(self._clock.moment(), "forecast", expected.text, warning=expected.warning)

    def save_if_due(self) -> None:
        """Save the state every `checkpoint_minutes`."""
        if self._clock.seconds - self._saved_at >= 60 * self._config.checkpoint_minutes:
            self.save()

    def save(self) -> None:
        """Save the state that `resume` continues from.

        Raises:
            TrainingError: the weights are not numbers; nothing is written.
            InputError: the disk is full; the last saved state is unchanged.
        """
        self._save()
        if self._callbacks:
            saved = CheckpointEvent(*self._time(), self._state)
            self._call(lambda callback: callback.on_checkpoint(saved), saved=True)

    def _save(self) -> None:
        self._require_finite()
        started = self._clock.seconds
        with self._excluded_from_speed():
            self._log.sync()  # first, because the state has the size of the log
            save_checkpoint(self._state, self._checkpoint())
            self._selection.several.tidy()
        self._saved_at = self._clock.seconds
        self._clock.saving_seconds = self._saved_at - started

    def reason_to_stop(self) -> Reason | None:
        """Return why no further update should follow, or None to go on."""
        if self._stopped:
            return "callback"
        patience = self._config.validation.patience
        if patience and self.counters.bad_validations >= patience:
            return "patience"
        if self._clock.length_is_done():
            return "epochs" if self._config.updates is None else "updates"
        if self.counters.update and self._clock.minutes_are_used_up():
            return "minutes"
        return None

    def finish(self, reason: Reason) -> TrainingResult:
        """Validate and save once more, so that there are best weights after any number of updates; choose the result.

        The result, which comes after the save, is chosen anew whenever a finished run is resumed.
        """
        if self._has_new_weights() or self.counters.best is None:
            self._validate()
        self._selection.warn_of_collapse()
        self.save()
        final = self._selection.choose(self._diverged)
        update, metric = self.counters.update, self._config.validation.metric
        origin = f"after update {final.update}"
        if final.averaged:
            origin = f"with the mean of the weights after updates {', '.join(map(str, final.averaged))}"
        best = f"best {metric} {final.value:.2f} {origin}"
        if not final.averaged and final.update != self.counters.best_update:
            best = (
                f"{metric} {final.value:.2f} {origin}, which is within training.validation.tolerance of the best, "
                f"{self.counters.best:.2f} after update {self.counters.best_update}"
            )
        self._log.event(
            self._clock.moment(), "finished", f"finished after update {update} ({_REASONS[reason]}); {best}"
        )
        self._log.sync()
        return TrainingResult(
            reason, update, self._clock.epochs(), self._clock.seconds, metric, final.value, final.update, final.averaged
        )

    def _validate(self) -> None:
        self._require_finite()
        with self._excluded_from_speed():
            results, best = self._selection.validate(self._diverged)
            return_freed_memory()
        if self._callbacks:
            validated = ValidationEvent(*self._time(), results, best, self._selection.weights)
            self._call(lambda callback: callback.on_validation(validated))

    def _time(self) -> tuple[int, float, float]:
        """Updates, epochs and seconds so far."""
        return self.counters.update, self._clock.epochs(), self._clock.seconds

    def _call(self, method: Callable[[TrainingCallback], None], *, saved: bool = False) -> None:
        """Call the callbacks. After an exception save the state, unless it is `saved`, and raise it again.

        `StopTraining` is noted, to be heeded between updates.
        """
        with self._excluded_from_speed():
            for callback in self._callbacks:
                try:
                    method(callback)
                except StopTraining:
                    self._stopped = True
                except Exception:
                    if not saved:
                        self._save()
                    raise

    def _checkpoint(self) -> Checkpoint:
        tensors = {
            "weights": weights_of(self._model),
            "average": {} if self._average is None else self._average.values,
            "optimiser": self._updater.optimiser.tensors(),
            "random": random_state(self._updater.device),
        }
        values = {
            "recipe": self._recipe(),
            "counters": asdict(replace(self.counters, seconds=self._clock.seconds)),
            "average_updates": 0 if self._average is None else self._average.updates,
            "interval": self._interval.as_numbers(),
            "best_several": self._selection.several.kept,
            "log_size": self._log.size,
            "threads": threads_in_use(),
        }
        flat = {f"{part}.{name}": tensor for part, named in tensors.items() for name, tensor in named.items()}
        return Checkpoint(values, flat)

    def _recipe(self) -> dict[str, object]:
        """The settings that decide which tensors a training state has."""
        return {
            "training.optimiser.name": self._config.optimiser.name,
            "training.average_decay": self._config.average_decay,
        }

    def _require_finite(self) -> None:
        if not self._interval.is_finite():
            raise self._diverged("the loss or its gradient")
        if not math.isfinite(global_norm(parameter.detach() for parameter in self._updater.parameters.values())):
            raise self._diverged("a weight")

    def _diverged(self, what: str) -> TrainingError:
        optimiser = self._config.optimiser
        clip = "" if optimiser.max_gradient_norm else ", set training.optimiser.max_gradient_norm (1.0 is usual)"
        first = self.counters.update - self._interval.updates + 1
        return TrainingError(
            f"{what} is no longer a finite number (between updates {first} and {self.counters.update}). Lower "
            f"training.optimiser.learning_rate (it was {self._rate:.3g} here){clip}, or try training.precision: fp32. "
            "The saved files, the last state and the best weights, are from before"
        )

    @contextmanager
    def _excluded_from_speed(self) -> Iterator[None]:
        """Inside, time does not count for the speed of training in tokens per second."""
        started = self._clock.seconds
        yield
        taken = self._clock.seconds - started
        self._interval.since += taken
        self._excluded += taken


_REASONS: dict[Reason, str] = {
    "epochs": "all epochs are done",
    "updates": "all updates are done",
    "minutes": "the minutes are used up",
    "callback": "a callback ended it",
    "patience": "no improvement for as many validations as training.validation.patience",
}


def _require_same(recipe: dict[str, object], saved: dict[str, object], path: Path) -> None:
    for key, value in recipe.items():
        if value != saved[key]:
            raise RunError(
                f"{path}: the training state was saved with {key}: {saved[key]}, and the configuration has {value}; "
                "resume with the configuration the run began with"
            )
