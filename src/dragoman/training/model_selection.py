"""Validation of a model in training, and the choice of the weights that become its result."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Generic, NamedTuple

import torch
from torch import Tensor

from dragoman.config.schema import TrainingConfig
from dragoman.errors import TrainingError
from dragoman.model.trainable import Model
from dragoman.model.weights import save_weights, weights_of
from dragoman.runs.layout import RunFolder
from dragoman.training.averaging import BestWeights, RunningAverage, SavedValidation, swapped
from dragoman.training.clock import VALIDATION_SHARE, TrainingClock
from dragoman.training.counters import Counters
from dragoman.training.log import TrainingLog
from dragoman.training.validation import ADVICE, DevTranslations, Validators, signs_of_collapse


class FinalWeights(NamedTuple):
    """The weights in RUN/model.safetensors at the end of a training."""

    value: float
    """Value of the selection metric."""
    update: int
    averaged: tuple[int, ...] = ()
    """If they are a mean, the updates it is taken over; `update` is the last of them."""


class ModelSelection(Generic[Model]):
    """Validates the model and keeps its best weights in RUN/model.safetensors."""

    def __init__(
        self,
        model: Model,
        average: RunningAverage | None,
        validators: Validators[Model],
        config: TrainingConfig,
        folder: RunFolder,
        counters: Counters,
        clock: TrainingClock,
        log: TrainingLog,
    ) -> None:
        self.several = BestWeights(
            folder.checkpoints, config.average_best, lowest=config.validation.metric == "perplexity"
        )
        """The weights of the best validations, for `training.average_best`."""
        self._model = model
        self._average = average
        self._validators = validators
        self._config = config
        self.weights = folder.weights
        """The file with the best weights."""
        self._counters = counters
        self._clock = clock
        self._log = log
        self._warned_after = 0

    def move(self, folder: RunFolder) -> None:
        """Write to `folder` from now on: the run has been renamed."""
        self.several.folder, self.weights = folder.checkpoints, folder.weights

    def validate(self, diverged: Callable[[str], TrainingError]) -> tuple[dict[str, float], bool]:
        """Validate the model; save its weights if they are the best so far, or worse within the tolerance.

        Warns if the model has collapsed twice in a row. Returns the results, and whether they are the best so far.

        Raises:
            TrainingError: the perplexity is not a number; `diverged` makes the error.
        """
        started = self._clock.seconds
        first = self._counters.validation_seconds is None
        with self._evaluation_mode():
            results, translations = self._evaluate(diverged)
            best, kept = self._count(results)
            weights = weights_of(self._model)
            if kept:
                save_weights(self.weights, weights)
            value = results[self._config.validation.metric]
            self.several.offer(SavedValidation(self._counters.update, value, results["perplexity"]), weights)
        self._counters.validation_seconds = self._clock.seconds - started
        self._counters.validating_seconds += self._counters.validation_seconds
        self._counters.validated_epochs, self._counters.validated_seconds = self._clock.epochs(), started
        self._log.validation(self._clock.moment(), results, best=best)
        if first:
            self._warn_of_slow_validations(self._counters.validation_seconds)
        if translations is not None:
            # The first validation of a run often looks like a collapse; two in a row are no accident.
            before, self._counters.collapse_signs = self._counters.collapse_signs, signs_of_collapse(translations)
            if before:
                self.warn_of_collapse()
        return results, best

    def _warn_of_slow_validations(self, seconds: float) -> None:
        """Warn where the fewest validations that are wanted do not fit into their share of a wall-clock budget."""
        config = self._config
        if config.minutes is not None and config.validation.at_least * seconds > VALIDATION_SHARE * 60 * config.minutes:
            self._log.event(
                self._clock.moment(),
                "validation",
                f"a validation takes {seconds:.0f} seconds: fewer than {config.validation.at_least} fit into a fifth "
                f"of {config.minutes:g} minutes, their share; a smaller dev set or fewer sentences to translate "
                "(training.validation.sentences) allows more",
                warning=True,
            )

    def warn_of_collapse(self) -> None:
        """Log what the last validation showed, once after each validation; print it once a training."""
        counters = self._counters
        if counters.collapse_signs and self._warned_after != counters.validated_update:
            text = f"{'; '.join(counters.collapse_signs)} ({ADVICE})"
            printed = not counters.collapse_told
            self._log.event(self._clock.moment(), "collapse", text, warning=True, printed=printed)
            counters.collapse_told = True
        self._warned_after = counters.validated_update

    def choose(self, diverged: Callable[[str], TrainingError]) -> FinalWeights:
        """Choose the validation whose weights are kept, or of several the mean of their weights or the best.

        RUN/model.safetensors is written anew where there is a mean, because a run that was trained further may have
        left another result there.
        """
        counters = self._counters
        assert counters.best is not None, "validated at least once"
        assert counters.kept is not None
        if len(self.several.kept) < 2:
            return FinalWeights(counters.kept, counters.kept_update)
        best = FinalWeights(counters.best, counters.best_update)
        updates = tuple(sorted(kept.update for kept in self.several.kept))
        with self._evaluation_mode(self.several.mean()):
            results, _ = self._evaluate(diverged)
            value = results[self._config.validation.metric]
            better = self._is_better(value, best.value)
            save_weights(self.weights, weights_of(self._model) if better else self.several.weights(best.update))
        self._log.average(self._clock.moment(), results, updates, best=better)
        return FinalWeights(value, updates[-1], updates) if better else best

    def _evaluate(self, diverged: Callable[[str], TrainingError]) -> tuple[dict[str, float], DevTranslations | None]:
        """Measure the model on the dev set."""
        results = {"perplexity": self._validators.perplexity(self._model)}
        if math.isnan(results["perplexity"]):
            raise diverged("the perplexity of the dev set")
        if self._validators.translate is None:
            return results, None
        translations = self._validators.translate(self._model)
        return {**results, **translations.scores}, translations

    def _count(self, results: dict[str, float]) -> tuple[bool, bool]:
        """Count a validation; return whether it is the best so far, and whether its weights are kept."""
        counters, value = self._counters, results[self._config.validation.metric]
        perplexity = results["perplexity"]
        if counters.best is None or counters.best_perplexity is None:
            best = True
        elif value == counters.best:  # early in a training every BLEU is 0
            best = perplexity < counters.best_perplexity
        else:
            best = self._is_better(value, counters.best)
        if best:
            counters.best, counters.best_update, counters.best_perplexity = value, counters.update, perplexity
        counters.bad_validations = 0 if best else counters.bad_validations + 1
        counters.plateau.update(improved=best)
        counters.validated_update, counters.validated_epoch = counters.update, counters.position.epoch
        kept = best or self._within_tolerance(value)
        if kept:
            counters.kept, counters.kept_update = value, counters.update
        return best, kept

    def _is_better(self, value: float, other: float) -> bool:
        """Compare two values of the deciding metric."""
        return value < other if self._config.validation.metric == "perplexity" else value > other

    def _within_tolerance(self, value: float) -> bool:
        """Whether a value is worse than the best by no more than the tolerance, if there is one."""
        best, tolerance = self._counters.best, self._config.validation.tolerance
        assert best is not None
        return tolerance > 0 and abs(value - best) <= tolerance

    @contextmanager
    def _evaluation_mode(self, weights: Mapping[str, Tensor] | None = None) -> Iterator[None]:
        """Inside, the model has no dropout and no gradients, and the averaged weights, or `weights` if given."""
        self._model.eval()
        average = self._average.in_place() if self._average else nullcontext()
        try:
            with torch.no_grad(), average if weights is None else swapped(weights_of(self._model), weights):
                yield
        finally:
            self._model.train()
