"""The training loop, in the words of its steps: update, log, validate, save, until something says stop.

`train` is given its model, its batches and its validators, and knows neither files of text nor search. Whatever
changes during training is in `Training`, goes to disk as one checkpoint, and comes back from it: a resumed run has
bit for bit the weights of one that never stopped, dropout included. (A wall-clock budget is the exception, because
there the clock decides the learning rate and the end; a resumed run goes on with the time it had left.)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Generic, Literal, NamedTuple

import torch
from torch import Tensor

from dragoman.config.schema import TrainingConfig
from dragoman.data.batches import Batch, Batches, Position
from dragoman.errors import ConfigError, Interrupted, RunError, TrainingError
from dragoman.model.trainable import Model
from dragoman.model.weights import save_weights, weights_of
from dragoman.progress import Console
from dragoman.runs.layout import RunFolder
from dragoman.training.averaging import BestWeights, RunningAverage, SavedValidation, swapped
from dragoman.training.checkpoint import (
    Checkpoint,
    load_checkpoint,
    optimiser_tensors,
    random_state,
    restore_optimiser,
    restore_random_state,
    restore_tensors,
    save_checkpoint,
)
from dragoman.training.collapse import signs_of_collapse
from dragoman.training.counters import Counters, LogInterval
from dragoman.training.interruption import Interruption
from dragoman.training.log import Moment, TrainingLog
from dragoman.training.objective import TrainingObjective, accumulate_gradients
from dragoman.training.optimisers import build_optimiser, clip_gradients, global_norm, measured_parameters, set_rate
from dragoman.training.schedules import PlateauCounter, TrainingProgress, learning_rate
from dragoman.training.validation import DevTranslations, Validators

STATE = "latest.safetensors"
"""Name of the training state in RUN/checkpoints."""

Reason = Literal["epochs", "minutes", "patience"]


@dataclass(frozen=True)
class TrainingResult:
    """How a training ended."""

    reason: Reason
    """All epochs done; the minutes used up; or too many validations without improvement."""
    update: int
    epochs: float
    seconds: float
    metric: str
    best: float
    """The best value of `metric`, and ..."""
    best_update: int
    """... the update whose weights are in RUN/model.safetensors, or ..."""
    averaged: tuple[int, ...] = ()
    """... the updates whose mean is there; `best_update` is then the last of them."""


def train(
    model: Model,
    batches: Batches,
    config: TrainingConfig,
    folder: RunFolder,
    validators: Validators[Model],
    *,
    resume: bool = False,
    console: Console | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> TrainingResult:
    """Train `model` in place; the best weights so far are in RUN/model.safetensors, and the log in RUN/log.jsonl.

    Args:
        resume: go on from the state in RUN/checkpoints.
        clock: seconds from any origin.

    Raises:
        TrainingError: loss, gradient or weights are no longer numbers. Nothing on disk has been touched by them.
        Interrupted: SIGINT or SIGTERM came; the update has been finished and the state saved.
        RunError: the state to resume from is missing, damaged or of another model.
        InputError: the disk is full; the last saved state is unchanged.
        ConfigError: the metric that decides is not one that the validators measure.
    """
    if config.validation.metric != "perplexity" and validators.translate is None:
        raise ConfigError(
            f"training.validation.metric: {config.validation.metric} needs translations of the dev set, and none are "
            "made here; use perplexity"
        )
    with Interruption() as interruption, TrainingLog(folder.log, folder.tensorboard, console or Console()) as log:
        training = Training(model, batches, config, folder, validators, log, clock)
        training.resume() if resume else training.begin()
        while (reason := training.reason_to_stop()) is None:
            training.update()
            training.log_if_due()
            if interruption.requested is not None:
                training.save()
                raise _interrupted(interruption.requested, training.counters.update)
            training.validate_if_due()
            training.save_if_due()
        summary = training.finish(reason)
        if interruption.requested is not None:
            raise _interrupted(interruption.requested, summary.update)
        return summary


def _interrupted(signal: str, update: int) -> Interrupted:
    return Interrupted(f"{signal}: state saved after update {update}; --resume continues from there")


class FinalWeights(NamedTuple):
    """Whose weights are in RUN/model.safetensors when a training has ended."""

    value: float
    """Of the deciding metric."""
    update: int
    averaged: tuple[int, ...] = ()
    """The updates whose mean it is, if it is one; `update` is the last of them."""


class Training(Generic[Model]):
    """Everything that changes, and the steps that change it."""

    def __init__(
        self,
        model: Model,
        batches: Batches,
        config: TrainingConfig,
        folder: RunFolder,
        validators: Validators[Model],
        log: TrainingLog,
        clock: Callable[[], float],
    ) -> None:
        self.counters = Counters(PlateauCounter(config.schedule.patience))
        self._model = model.train()
        self._parameters = dict(model.named_parameters())
        self._measured = measured_parameters(model, config.optimiser.gradient_norm)
        self._device = next(iter(self._parameters.values())).device
        self._batches = batches
        self._stream: Iterator[tuple[Batch, Position]] = iter(())
        self._counted = (-1, 1)  # an epoch and its number of batches
        self._config = config
        self._optimiser = build_optimiser(self._parameters.values(), config.optimiser)
        self._average = RunningAverage(self._parameters, config.average_decay) if config.average_decay else None
        self._rate = 0.0
        self._state = folder.checkpoints / STATE
        self._best = folder.weights
        lowest = config.validation.metric == "perplexity"
        self._best_several = BestWeights(folder.checkpoints, config.average_best, lowest=lowest)
        self._validators = validators
        self._log = log
        self._clock = clock
        self._origin = clock()
        self._began_at = (0.0, 0.0)  # seconds and share of the training that were done when this process began
        self._window = LogInterval(since=0.0)
        self._saved_at = 0.0
        self._saving_seconds = 0.0
        self._warned_after = 0

    @property
    def seconds(self) -> float:
        """Seconds of training so far, those before a resumption included."""
        return self.counters.seconds + self._clock() - self._origin

    def begin(self) -> None:
        """Start from nothing; dropout follows from the seed. Saving at once tells early whether the disk has room."""
        torch.manual_seed(self._config.seed)
        self._start()
        self.save()

    def resume(self) -> None:
        """Go on from the saved state.

        Raises:
            RunError: it is missing, damaged, or of another model or recipe.
        """
        path = self._state
        saved = load_checkpoint(path)
        _require_same(self._recipe(), saved.values["recipe"], path)
        restore_tensors(weights_of(self._model), saved.part("weights"), path)
        restore_optimiser(self._optimiser, saved.part("optimiser"))
        if self._average is not None:
            restore_tensors(self._average.values, saved.part("average"), path)
            self._average.updates = saved.values["average_updates"]
        restore_random_state(saved.part("random"), self._device)
        self.counters = Counters.from_json(saved.values["counters"])
        self._best_several.kept = [SavedValidation(*kept) for kept in saved.values.get("best_several", [])]
        self._window = LogInterval(**saved.values["window"])
        self._log.truncate(saved.values["log_size"])
        self._start()
        self._log.event(self._moment(), "resumed", f"resumed after update {self.counters.update}")
        self.validate_if_due()  # a signal may have come between an update and its validation

    def update(self) -> None:
        """One change of the weights."""
        self._rate = learning_rate(self._config.schedule, self._config.optimiser.learning_rate, self._progress())
        set_rate(self._optimiser, self._rate)
        objective = self._objective()  # before the batches move on
        totals = accumulate_gradients(self._model, self._next_batches(), objective)
        norm = clip_gradients(self._parameters.values(), self._config.optimiser.max_gradient_norm, self._measured)
        self._optimiser.step()
        self._optimiser.zero_grad()
        if self._average is not None:
            self._average.update()
        self._window.add(totals, norm)
        self.counters.update += 1
        self._log.advance(self._fraction())

    def log_if_due(self) -> None:
        """Every so many updates, a line of measurements.

        Raises:
            TrainingError: a loss or gradient was not a number.
        """
        if self.counters.update % self._config.log_every == 0:
            self._require_numbers()
            self._log.train(self._moment(), self._window.measures(self._rate, self.seconds))
            self._window = LogInterval(since=self.seconds)

    def validate_if_due(self) -> None:
        """Every so many updates, or once an epoch, ask the dev set."""
        every = self._config.validation.every
        if every and self.counters.update > self.counters.validated_update:
            due = self.counters.update % every == 0
        else:
            due = not every and self.counters.position.epoch > self.counters.validated_epoch
        if due:
            self._validate()

    def save_if_due(self) -> None:
        """Every so many minutes, save the state."""
        if self.seconds - self._saved_at >= 60 * self._config.checkpoint_minutes:
            self.save()

    def save(self) -> None:
        """Put the state where `resume` finds it.

        Raises:
            TrainingError: the weights are no numbers; nothing is written.
            InputError: the disk is full; the last saved state is unchanged.
        """
        self._require_numbers()
        started = self.seconds
        with self._apart_from_updates():
            tensors = {
                "weights": weights_of(self._model),
                "average": {} if self._average is None else self._average.values,
                "optimiser": optimiser_tensors(self._optimiser),
                "random": random_state(self._device),
            }
            values = {
                "recipe": self._recipe(),
                "counters": asdict(replace(self.counters, seconds=self.seconds)),
                "average_updates": 0 if self._average is None else self._average.updates,
                "window": self._window.numbers(),
                "best_several": self._best_several.kept,
                "log_size": self._log.size,
            }
            flat = {f"{part}.{name}": tensor for part, named in tensors.items() for name, tensor in named.items()}
            save_checkpoint(self._state, Checkpoint(values, flat))
            self._best_several.tidy()
        self._saved_at = self.seconds
        self._saving_seconds = self._saved_at - started

    def reason_to_stop(self) -> Reason | None:
        """Why no further update should follow, if one should not."""
        patience, minutes = self._config.validation.patience, self._config.minutes
        if patience and self.counters.stale >= patience:
            return "patience"
        if self._epochs() >= self._config.epochs:
            return "epochs"
        if minutes is not None and self.counters.update and self.seconds >= self._seconds_for_updates(minutes):
            return "minutes"
        return None

    def finish(self, reason: Reason) -> TrainingResult:
        """A last look at the dev set, so that however short the training was there are best weights; a last save.

        What follows the save, the choice of the result, is made anew whenever a finished run is resumed.
        """
        if self.counters.update > self.counters.validated_update:
            self._validate()
        self._warn_of_collapse(self.counters.signs)
        self.save()
        result = self._choose_result()
        update, metric = self.counters.update, self._config.validation.metric
        origin = f"after update {result.update}"
        if result.averaged:
            origin = f"with the mean of the weights after updates {', '.join(map(str, result.averaged))}"
        self._log.event(
            self._moment(),
            "finished",
            f"finished after update {update} ({_REASONS[reason]}); best {metric} {result.value:.2f} {origin}",
        )
        return TrainingResult(
            reason, update, self._epochs(), self.seconds, metric, result.value, result.update, result.averaged
        )

    def _choose_result(self) -> FinalWeights:
        """The best validation, or the mean of the weights of several if the dev set likes that better.

        RUN/model.safetensors holds its weights in the end, whatever a run that has gone on left there.
        """
        best, several = self.counters.best, self._best_several
        assert best is not None, "validated at least once"
        single = FinalWeights(best, self.counters.best_update)
        if len(several.kept) < 2:
            return single
        updates = tuple(sorted(kept.update for kept in several.kept))
        mean = several.mean()
        with self._evaluated(mean):
            results, _ = self._ask()
            value = results[self._config.validation.metric]
            better = self._is_better(value, best)
            save_weights(self._best, weights_of(self._model) if better else several.weights(single.update))
        self._log.average(self._moment(), results, updates, best=better)
        return FinalWeights(value, updates[-1], updates) if better else single

    def _start(self) -> None:
        self._stream = self._batches.from_position(self.counters.position)
        self._origin = self._clock()
        self._saved_at = self.seconds
        self._began_at = self.seconds, self._fraction()
        self._log.open_tensorboard(self.counters.update)

    def _recipe(self) -> dict[str, object]:
        """The settings that decide which tensors a training state has."""
        return {
            "training.optimiser.name": self._config.optimiser.name,
            "training.average_decay": self._config.average_decay,
        }

    def _next_batches(self) -> list[Batch]:
        batches = []
        for _ in range(self._config.batch.accumulate):
            batch, self.counters.position = next(self._stream)
            batches.append(batch)
        return batches

    def _validate(self) -> None:
        self._require_numbers()
        started = self.seconds
        with self._apart_from_updates():
            with self._evaluated():
                results, translations = self._ask()
                best = self._take(results)
                if best:
                    save_weights(self._best, weights_of(self._model))
                value = results[self._config.validation.metric]
                self._best_several.offer(self.counters.update, value, weights_of(self._model))
            self.counters.validation_seconds = self.seconds - started
            self._log.validation(self._moment(), results, best=best)
            if translations is not None:
                self._watch_for_collapse(translations)

    def _ask(self) -> tuple[dict[str, float], DevTranslations | None]:
        results = {"perplexity": self._validators.perplexity(self._model)}
        if math.isnan(results["perplexity"]):
            raise self._not_a_number("the perplexity of the dev set")
        if self._validators.translate is None:
            return results, None
        translations = self._validators.translate(self._model)
        return {**results, **translations.scores}, translations

    def _take(self, results: dict[str, float]) -> bool:
        """Take notice of a validation; true if there was none better."""
        counters, metric = self.counters, self._config.validation.metric
        value = results[metric]
        better = counters.best is None or self._is_better(value, counters.best)
        if better:
            counters.best, counters.best_update = value, counters.update
        counters.stale = 0 if better else counters.stale + 1
        counters.plateau.update(improved=better)
        counters.validated_update, counters.validated_epoch = counters.update, counters.position.epoch
        return better

    def _is_better(self, value: float, other: float) -> bool:
        """By the metric that decides."""
        return value < other if self._config.validation.metric == "perplexity" else value > other

    def _watch_for_collapse(self, translations: DevTranslations) -> None:
        # The first validation of a run often looks like a collapse; two in a row are no accident.
        before, self.counters.signs = self.counters.signs, signs_of_collapse(translations)
        if before:
            self._warn_of_collapse(self.counters.signs)

    def _warn_of_collapse(self, signs: list[str]) -> None:
        """Say it, once after each validation at most."""
        if self._warned_after != self.counters.validated_update:
            for sign in signs:
                self._log.event(self._moment(), "collapse", sign, warning=True)
            self._warned_after = self.counters.validated_update

    def _require_numbers(self) -> None:
        if not self._window.is_finite():
            raise self._not_a_number("the loss or its gradient")
        if not math.isfinite(global_norm(parameter.detach() for parameter in self._parameters.values())):
            raise self._not_a_number("a weight")

    def _not_a_number(self, what: str) -> TrainingError:
        optimiser = self._config.optimiser
        clip = "" if optimiser.max_gradient_norm else ", set training.optimiser.max_gradient_norm (1.0 is usual)"
        first = self.counters.update - self._window.updates + 1
        return TrainingError(
            f"{what} is no longer a finite number (between updates {first} and {self.counters.update}). Lower "
            f"training.optimiser.learning_rate (it was {self._rate:.3g} here){clip}, or try training.precision: fp32. "
            "What is saved, the last state and the best weights, is from before"
        )

    def _objective(self) -> TrainingObjective:
        config = self._config
        sampled = config.scheduled_sampling * self._fraction()
        return TrainingObjective(config.loss_normalisation, config.label_smoothing, config.guided_alignment, sampled)

    def _progress(self) -> TrainingProgress:
        counters = self.counters
        return TrainingProgress(counters.update + 1, self._epochs(), self._fraction(), counters.plateau.plateaus)

    def _epochs(self) -> float:
        epoch, batch = self.counters.position
        if epoch != self._counted[0]:
            self._counted = epoch, self._batches.count(epoch)
        return epoch + batch / self._counted[1]

    def _fraction(self) -> float:
        done = self._epochs() / self._config.epochs
        if self._config.minutes is not None:
            done = max(done, self.seconds / self._seconds_for_updates(self._config.minutes))
        return min(1.0, done)

    def _seconds_for_updates(self, minutes: float) -> float:
        """The wall-clock budget, less what the last validation, that of a mean, and the last save will take."""
        validation = self.counters.validation_seconds
        if validation is None:
            validation = _UNKNOWN_VALIDATION * 60 * minutes
        validations = 2 if self._config.average_best else 1
        return max(60 * minutes - 1.1 * (validations * validation + self._saving_seconds), 1e-9)

    def _moment(self) -> Moment:
        seconds, fraction = self.seconds, self._fraction()
        began, done = self._began_at
        left = (seconds - began) * (1 - fraction) / (fraction - done) if fraction > done else None
        return Moment(seconds, self.counters.update, self._epochs(), left)

    @contextmanager
    def _apart_from_updates(self) -> Iterator[None]:
        """What happens inside does not count for the speed of training."""
        started = self.seconds
        yield
        self._window.since += self.seconds - started

    @contextmanager
    def _evaluated(self, weights: Mapping[str, Tensor] | None = None) -> Iterator[None]:
        """The model as it would be used: no dropout, no gradients, the averaged weights, or others that are given."""
        self._model.eval()
        average = self._average.in_place() if self._average else nullcontext()
        try:
            with torch.no_grad(), average if weights is None else swapped(weights_of(self._model), weights):
                yield
        finally:
            self._model.train()


_REASONS: dict[Reason, str] = {
    "epochs": "all epochs are done",
    "minutes": "the minutes are used up",
    "patience": "no improvement for as many validations as training.validation.patience",
}

_UNKNOWN_VALIDATION = 0.05
"""Share of a wall-clock budget kept free for the last validation as long as none has been timed."""


def _require_same(recipe: dict[str, object], saved: dict[str, object], path: Path) -> None:
    for key, value in recipe.items():
        if value != saved[key]:
            raise RunError(
                f"{path}: the training state was saved with {key}: {saved[key]}, and the configuration has {value}; "
                "resume with the configuration the run began with"
            )
