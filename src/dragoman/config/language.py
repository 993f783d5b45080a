"""The configuration of a language model: a frozen tree in the manner of `schema`, with its sections where they fit.

Two networks: the feed-forward model of n-grams that Cho et al. 2014 use beside theirs (CSLM, section 4.1), and a
recurrent one made of the decoder's parts. The sizes of the first are its paper's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from dragoman.config.building import assigned, validated
from dragoman.config.schema import (
    FORMAT,
    BatchConfig,
    CellConfig,
    OptimiserConfig,
    Section,
    SideConfig,
    TrainingConfig,
    ValidationConfig,
)

LANGUAGE_MODEL = "language-model"
"""What `kind` says in the configuration of a language model."""

Size = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, lt=1)]


class LineCleaningConfig(Section):
    """Which training lines are left out; blank ones always are."""

    max_length: int = Field(100, ge=1, description="segments, end of sentence not counted")


class FeedForwardConfig(Section):
    """The n-gram network of Cho et al. 2014, section 4.1 (after Schwenk 2007)."""

    order: int = Field(7, ge=2, description="n: a word follows from the n - 1 before it")
    layers: tuple[Size, ...] = Field(
        (1536, 1024), min_length=1, description="rectified linear units of each layer, from below"
    )


class RecurrentConfig(CellConfig):
    """The recurrent network: the decoder's cells and readout, without a source."""

    readout: Literal["linear", "maxout"] = Field(
        "linear", description="linear: the state itself; maxout: deep output over state and previous word"
    )
    maxout: int = Field(256, ge=1, description="maxout units")


class LanguageDropoutConfig(Section):
    """Probability of zeroing a unit, by place."""

    embedding: Share = Field(0.0, description="word vectors")
    layers: Share = Field(0.0, description="what enters each recurrent layer above the first, or each hidden one")
    readout: Share = Field(0.0, description="what enters the softmax")
    recurrent: Share = Field(0.0, description="recurrent: the previous state, the same units at every step")


class LanguageModelConfig(Section):
    """Word vectors, one of two networks, softmax."""

    network: Literal["feed-forward", "recurrent"] = "recurrent"
    embedding: int = Field(512, ge=1, description="size of a word vector (Cho 2014: 512)")
    feed_forward: FeedForwardConfig = Field(default_factory=FeedForwardConfig)
    recurrent: RecurrentConfig = Field(default_factory=RecurrentConfig)
    dropout: LanguageDropoutConfig = Field(default_factory=LanguageDropoutConfig)
    initial: Literal["orthogonal", "gaussian", "uniform", "scaled"] = Field(
        "scaled", description="first values, as in a translation model; Cho 2014 has uniform for this network"
    )
    spread: float = Field(0.01, gt=0, description="uniform: U(-spread, spread); otherwise N(0, spread^2)")


class LanguageConfig(Section):
    """Everything a language model's run is made of."""

    format: int = FORMAT
    kind: Literal["language-model"] = "language-model"
    text: SideConfig = Field(default_factory=SideConfig)
    cleaning: LineCleaningConfig = Field(default_factory=LineCleaningConfig)
    model: LanguageModelConfig = Field(default_factory=LanguageModelConfig)
    training: TrainingConfig = Field(
        default_factory=lambda: TrainingConfig(
            epochs=100.0,
            optimiser=OptimiserConfig(rate=1e-3),
            batch=BatchConfig(unit="tokens", size=2048),
            validation=ValidationConfig(metric="perplexity", patience=10),  # Cho 2014: 10 epochs without a better one
        )
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
        ("guided_attention", training.guided_attention),
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
    if cell.residual and not 2 <= cell.residual <= cell.layers:
        raise ValueError(f"model.recurrent.residual: {cell.residual} is none of the layers 2 to {cell.layers}")
