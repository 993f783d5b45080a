"""The configuration of a language model: a frozen tree in the manner of `schema`, with its sections where they fit.

Two networks: the feed-forward model of n-grams that Cho et al. 2014 use beside theirs (CSLM, section 4.1), and a
recurrent one made of the decoder's parts. The sizes of the first are its paper's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta

from dragoman.config.building import assigned, validated
from dragoman.config.schema import (
    FORMAT,
    BatchConfig,
    CellConfig,
    OptimiserConfig,
    SideConfig,
    TrainingConfig,
    ValidationConfig,
)
from dragoman.config.section import Count, Positive, Section, Share, doc

LANGUAGE_MODEL = "language-model"
"""The value of `kind` in the configuration of a language model."""


class LineCleaningConfig(Section):
    """Which training lines are left out; empty ones always are."""

    max_length: Annotated[Count, doc("maximum number of segments, EOS excluded")] = 100


class FeedForwardConfig(Section):
    """The n-gram network of Cho et al. 2014, section 4.1 (after Schwenk 2007)."""

    order: Annotated[int, Meta(ge=2), doc("n: a word follows from the n - 1 before it")] = 7
    layers: Annotated[
        tuple[Count, ...], Meta(min_length=1), doc("rectified linear units of each layer, from below")
    ] = (1536, 1024)


class RecurrentConfig(CellConfig):
    """The recurrent network: the decoder's cells and readout, without a source."""

    readout: Annotated[
        Literal["linear", "maxout"], doc("linear: the state itself; maxout: deep output over state and previous word")
    ] = "linear"
    maxout: Annotated[Count, doc("maxout units")] = 256


class LanguageDropoutConfig(Section):
    """Probability of zeroing a unit, by place."""

    embedding: Annotated[Share, doc("word vectors")] = 0.0
    layers: Annotated[Share, doc("what enters each recurrent layer above the first, or each hidden one")] = 0.0
    readout: Annotated[Share, doc("what enters the softmax")] = 0.0
    recurrent: Annotated[Share, doc("recurrent: the previous state, the same units at every step")] = 0.0


class LanguageModelConfig(Section):
    """Word vectors, one of two networks, softmax."""

    network: Literal["feed-forward", "recurrent"] = "recurrent"
    embedding: Annotated[Count, doc("size of a word vector (Cho 2014: 512)")] = 512
    feed_forward: FeedForwardConfig = FeedForwardConfig()
    recurrent: RecurrentConfig = RecurrentConfig()
    dropout: LanguageDropoutConfig = LanguageDropoutConfig()
    initialisation: Annotated[
        Literal["orthogonal", "gaussian", "uniform", "lecun"],
        doc("first values, as in a translation model; Cho 2014 has uniform for this network"),
    ] = "lecun"
    init_scale: Annotated[Positive, doc("uniform: U(-init_scale, init_scale); otherwise N(0, init_scale^2)")] = 0.01


class LanguageConfig(Section):
    """Everything a language model's run is made of."""

    format: int = FORMAT
    kind: Literal["language-model"] = "language-model"
    text: SideConfig = SideConfig()
    cleaning: LineCleaningConfig = LineCleaningConfig()
    model: LanguageModelConfig = LanguageModelConfig()
    training: TrainingConfig = TrainingConfig(
        epochs=100.0,
        optimiser=OptimiserConfig(learning_rate=1e-3),
        batch=BatchConfig(unit="tokens", size=2048),
        validation=ValidationConfig(metric="perplexity", patience=10),  # Cho 2014: 10 epochs without a better one
    )


def build_language_config(values: Mapping[str, Any], where: str) -> LanguageConfig:
    """The configuration of nested values; what is not given has its default.

    Raises:
        ConfigError: an unknown key, a value of the wrong type or range, settings without effect.
    """
    return validated(values, where, LanguageConfig, _check)


def override_language(config: LanguageConfig, assignments: Sequence[str]) -> LanguageConfig:
    """The configuration with `key=value` assignments applied; keys are dotted, values are YAML.

    Raises:
        ConfigError: no `=`, an unknown key (with the nearest one), a value of the wrong type or range.
    """
    return build_language_config(assigned(config, assignments), "--set")


def _check(config: LanguageConfig) -> None:
    """Refuse what would be without effect.

    Raises:
        ValueError: the message is for the user.
    """
    training = config.training
    for key, value in (
        ("guided_alignment", training.guided_alignment),
        ("scheduled_sampling", training.scheduled_sampling),
        ("validation.beam", training.validation.beam - 1),
        ("validation.sentences", training.validation.sentences),
    ):
        if value:
            raise ValueError(f"training.{key}: is about translations, and a language model makes none; leave it out")
    if training.validation.metric != "perplexity":
        raise ValueError("training.validation.metric: a language model has perplexity only")
    if config.model.network == "feed-forward" and config.model.dropout.recurrent:
        raise ValueError("model.dropout.recurrent: a feed-forward network has no state to drop units of; use 0")
    cell = config.model.recurrent
    if cell.cell.endswith("fused"):
        raise ValueError("model.recurrent.cell: the fused cells are for encoders; use gru, lstm or tanh")
    if cell.peepholes and cell.cell != "lstm":
        raise ValueError(f"model.recurrent.peepholes: only cell: lstm has them, not {cell.cell}")
    if cell.first_residual_layer and not 2 <= cell.first_residual_layer <= cell.layers:
        raise ValueError(
            f"model.recurrent.first_residual_layer: {cell.first_residual_layer} is none of the layers 2 to "
            f"{cell.layers}"
        )
