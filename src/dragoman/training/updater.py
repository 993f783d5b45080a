"""One update of the weights: batches, their gradient, its clipping, the step of the optimiser; its end on a signal.

Several ranks cut each batch among them by sentences. The loss is divided by the number of tokens or sentences of the
whole batch, which every rank reads from the stored corpus, and the gradient is summed over the ranks once, after the
last backward pass, so that the update equals that of one process, except for rounding. Each rank then clips by the same
norm and makes the same step; the weights stay the same bits on all of them.

One sum of one flat tensor, not of pieces while the backward pass runs: the order of additions is then the same in every
update and after every restart.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any, Generic, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dragoman.config.schema import TrainingConfig
from dragoman.data.batches import Batch, Batches, Position
from dragoman.errors import Interrupted
from dragoman.model.trainable import Model
from dragoman.model.weights import weights_of
from dragoman.systems import ENDING_SIGNALS, keep_freed_memory
from dragoman.training.counters import Counters
from dragoman.training.objective import TrainingObjective, UpdateTotals, accumulate_gradients
from dragoman.training.optimisers import (
    build_optimiser,
    clip_gradients,
    measured_parameters,
    set_rate,
    set_weight_decay,
)
from dragoman.training.ranks import ALONE, Ranks


class UpdateSettings(NamedTuple):
    """What rank 0 decides for an update."""

    learning_rate: float
    sampled: float
    """Share of previous words that are sampled from the model."""
    dropout_strength: float
    """Share of the dropout probabilities that applies."""
    weight_decay: float
    """That of AdamW; others ignore it."""


class Updater(Generic[Model]):
    """Updates the weights of a model, together with the other ranks."""

    def __init__(
        self,
        model: Model,
        batches: Batches,
        config: TrainingConfig,
        counters: Counters,
        interruption: Interruption,
        ranks: Ranks = ALONE,
    ) -> None:
        """`counters.update` and `counters.position` move on with every update."""
        self.model = model.train()
        self.parameters = dict(model.named_parameters())
        self.optimiser = build_optimiser(self.parameters.values(), config.optimiser)
        self._measured = measured_parameters(model, config.optimiser.gradient_norm)
        self._batches = batches
        self._stream: Iterator[tuple[Batch, Position]] = iter(())
        self._config = config
        self._counters = counters
        self._interruption = interruption
        self._ranks = ranks
        self._received: str | None = None
        keep_freed_memory()

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return self.model.device

    @property
    def signal(self) -> str | None:
        """The signal after which training stops: one that this process received or, with several ranks, one that any
        of them received before the gradients of the last update were summed.
        """
        return self._interruption.requested if self._ranks.size == 1 else self._received

    def start(self) -> None:
        """Read batches from the position of the counters on."""
        self._stream = self._batches.from_position(self._counters.position)

    def update(self, settings: UpdateSettings) -> tuple[UpdateTotals, Tensor]:
        """Change the weights once; gives the totals over all ranks, and the norm of the gradient before clipping."""
        config = self._config
        set_rate(self.optimiser, settings.learning_rate)
        if config.optimiser.name == "adamw":
            set_weight_decay(self.optimiser, settings.weight_decay)
        self.model.set_dropout_strength(settings.dropout_strength)
        objective = TrainingObjective(
            config.loss_normalisation, config.label_smoothing, config.guided_alignment, settings.sampled
        )
        batches = self._next_batches()
        if self._ranks.size == 1:
            totals = accumulate_gradients(self.model, batches, objective)
        else:
            totals = self._summed(batches, objective)
        norm = clip_gradients(self.parameters.values(), config.optimiser.max_gradient_norm, self._measured)
        self.optimiser.step()
        self.optimiser.clear_gradients()
        self._counters.update += 1
        return totals, norm

    def announce(self, following: UpdateSettings | Any = None) -> Any:
        """Give what follows from rank 0 to all ranks: the settings of the next update, or what the training ends with.

        Args:
            following: what rank 0 has decided; other ranks give nothing.
        """
        return self._ranks.share(following, f"after update {self._counters.update} (rank 0 may be validating)")

    def share(self, threads: int | None = None) -> int | None:
        """Give the weights, the state of the optimiser, the position and `threads` of rank 0 to all ranks."""
        ranks, counters, what = self._ranks, self._counters, "the first exchange"
        if ranks.size == 1:
            return threads
        tensors = self.optimiser.tensors()
        described = {name: (value.shape, value.dtype) for name, value in tensors.items()}
        state = ranks.share((counters.update, counters.position, described, threads), what)
        counters.update, counters.position, described, threads = state
        if not ranks.leads:
            tensors = {name: torch.empty(shape, dtype=dtype) for name, (shape, dtype) in described.items()}
        for value in (*weights_of(self.model).values(), *tensors.values()):
            shared = value.to(self.device)  # the counts of some optimisers are on the CPU
            ranks.broadcast(shared, what)
            with torch.no_grad():
                value.copy_(shared)
        if not ranks.leads and tensors:
            self.optimiser.restore(tensors)
        self.start()
        return threads

    def _next_batches(self) -> list[Batch]:
        batches = []
        for _ in range(self._config.batch.accumulate):
            batch, self._counters.position = next(self._stream)
            batches.append(batch)
        return batches

    def _summed(self, batches: list[Batch], objective: TrainingObjective) -> UpdateTotals:
        """Compute the gradient of this rank's part of the batches, and sum the gradients of all ranks."""
        ranks, number = self._ranks, self._counters.update + 1
        torch.manual_seed(_seed(self._config.seed, number, ranks.rank))
        parts = [part for part in (batch.part(ranks.rank, ranks.size) for batch in batches) if len(part)]
        divisor = objective.divisor(batches)
        ours = accumulate_gradients(self.model, parts, objective, divisor)
        received = [float(self._interruption.requested == signal.name) for signal in ENDING_SIGNALS]
        numbers = [*map(float, (ours.objective, ours.nll, ours.guidance)), ours.linked, ours.tokens, *received]
        parameters = list(self.parameters.values())
        flat = torch.cat(
            [
                *(
                    torch.zeros_like(each).view(-1) if each.grad is None else each.grad.reshape(-1)
                    for each in parameters
                ),
                parameters[0].new_tensor(numbers),
            ]
        )
        ranks.sum(flat, f"update {number}")
        sizes = [each.numel() for each in parameters]
        *gradients, last = flat.split([*sizes, len(numbers)])
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient.view_as(parameter)
        last = last.clone()  # so that the gradient is not kept with it
        total, nll, guidance = last[:3]
        linked, tokens, *signals = last[3:].tolist()
        received_by = zip(ENDING_SIGNALS, signals, strict=True)
        self._received = next((signal.name for signal, count in received_by if count), None)
        return UpdateTotals(total, nll, round(tokens), guidance, round(linked))


def _seed(seed: int, update: int, rank: int) -> int:
    """The seed of the random numbers of an update on a rank: dropout and scheduled sampling.

    Each rank has a stream of its own, which begins anew with every update, so that a resumed training has the same one
    and a checkpoint does not hold the state of every rank.
    """
    return int(np.random.SeedSequence([seed, update, rank]).generate_state(1, np.uint64)[0])


class Interruption:
    """Inside its `with` block, a first SIGINT, SIGTERM or SIGHUP sets `requested`, and a second raises Interrupted.

    Only the main thread can have signal handlers; in any other thread this does nothing. The previous handlers are
    restored at the end of the block. A signal that is ignored, as SIGHUP under nohup, stays ignored.
    """

    def __init__(self) -> None:
        self.requested: str | None = None
        """The name of the signal that was received, if any."""
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            heeded = (number for number in ENDING_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN)
            self._before = {number: signal.signal(number, self._handle) for number in heeded}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested is not None:
            raise Interrupted("stopped at once by a second signal; --resume continues from the last saved state")
        self.requested = signal.Signals(number).name
