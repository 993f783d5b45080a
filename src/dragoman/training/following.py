"""Training on a rank other than 0: its part of every update, and nothing else.

Rank 0 is in `loop.train`. It tells the others the settings of each update, and they change their weights with it: they
read no clock, do not validate, and write nothing.
"""

from __future__ import annotations

from dragoman.config.schema import TrainingConfig
from dragoman.data.batches import Batches
from dragoman.model.trainable import Model
from dragoman.training.counters import Counters
from dragoman.training.interruption import Interruption
from dragoman.training.loop import RESULT, TrainingResult
from dragoman.training.ranks import Ranks
from dragoman.training.schedules import PlateauCounter
from dragoman.training.updater import Updater


def follow(model: Model, batches: Batches, config: TrainingConfig, ranks: Ranks) -> TrainingResult:
    """Train `model` in place on a rank other than 0: its part of every update of `train`, and nothing else.

    Args:
        model, batches, config: as on rank 0; the weights, and the position in the batches, come from there.

    Raises:
        OtherRankError: rank 0, or another rank, has ended; also after a signal.
        TrainingError: a rank has ended without a message, or does not answer.
    """
    counters = Counters(PlateauCounter(config.schedule.patience))
    with Interruption() as interruption:
        updater = Updater(model, batches, config, counters, interruption, ranks)
        updater.share()
        while (settings := updater.announced()) is not None:
            updater.update(settings)
    values = ranks.hear(RESULT)
    return TrainingResult(**{**values, "averaged": tuple(values["averaged"])})
