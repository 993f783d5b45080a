from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from dragoman.config.schema import BatchConfig, TrainingConfig
from dragoman.data.batches import Batches, Position
from dragoman.training.clock import TrainingClock
from dragoman.training.counters import Counters
from dragoman.training.schedules import PlateauCounter


def test_the_updates_of_an_epoch_are_those_of_the_present_one_and_take_several_batches_each() -> None:
    batches = cast(
        Batches,
        SimpleNamespace(
            batches_of_epoch=lambda position: [10, 12][position.epoch],
            epochs_before=lambda position: position.epoch + position.batch / 12,
        ),
    )
    counters = Counters(PlateauCounter(1))
    clock = TrainingClock(counters, batches, TrainingConfig(batch=BatchConfig(accumulate=4)), lambda: 0.0)
    assert clock.updates_per_epoch() == 2.5
    counters.position = Position(epoch=1, pool=0, batch=3)
    assert clock.updates_per_epoch() == 3.0
    assert clock.epochs() == 1.25
