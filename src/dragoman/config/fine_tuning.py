"""Fine-tuning: the configuration with which a trained model is trained further on other text."""

from __future__ import annotations

from dragoman.config.schema import Config, MixConfig
from dragoman.config.section import differences
from dragoman.errors import ConfigError

EPOCHS = 10.0
"""Length of a fine-tuning. The best weights on the dev set are kept, be they the trained model's."""

RATE = 0.25
"""Learning rate of a fine-tuning, relative to that of the first training."""

_FREE = ("preset", "cleaning.", "training.", "search.", "model.dropout.")
"""Keys that may differ from those of the trained model; the others decide which weights and segments it has."""


def fine_tuning(trained: Config) -> Config:
    """The configuration of a trained model, for a fine-tuning: a lower learning rate without warm-up, fewer epochs.

    Weight decay in passes over the text is left out: a few hundred pairs are passed over in a few updates, in which it
    would shrink what the model knows. Nor are weights kept that are worse than the best.
    """
    training = trained.training
    optimiser = training.optimiser
    return trained.replaced(
        training=training.replaced(
            epochs=EPOCHS,
            updates=None,
            minutes=None,
            precision="auto",
            optimiser=optimiser.replaced(learning_rate=RATE * optimiser.learning_rate, weight_decay_epochs=None),
            validation=training.validation.replaced(tolerance=0.0),
            schedule=training.schedule.replaced(warmup=0),
            mix=MixConfig(),  # its weights are those of the first training's corpora
        )
    )


def require_same_model(trained: Config, wanted: Config) -> None:
    """Refuse a configuration with other weights or segments than the trained model has.

    Raises:
        ConfigError: a key differs that does not belong to training, cleaning, search or dropout.
    """
    for key, before, now in differences(trained, wanted):
        if not key.startswith(_FREE):
            raise ConfigError(
                f"{key}: is {now} here but {before} in the trained model; fine-tuning keeps its model and its "
                f"segmentation: leave {key} out, or train a new model without --from"
            )
