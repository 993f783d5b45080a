"""The configuration of a language model: a frozen tree like `schema`, sharing some of its sections.

Two networks: the feed-forward n-gram model of Cho et al. 2014, section 4.1 (CSLM), with the sizes of the paper, and a
recurrent one built from the parts of a decoder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta

from dragoman.config.building import assigned, validated
from dragoman.config.fitting import check_mix
from dragoman.config.schema import (
    FORMAT,
    BatchConfig,
    CellConfig,
    ChangesConfig,
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

    order: Annotated[int, Meta(ge=2, le=1000), doc("order n: the network predicts a word from the n - 1 before it")] = 7
    layers: Annotated[
        tuple[Count, ...], Meta(min_length=1, max_length=100), doc("ReLU units of each hidden layer, from the first")
    ] = (
        1536,
        1024,
    )


class RecurrentConfig(CellConfig):
    """The recurrent network: the decoder's cells and readout, without a source."""

    readout: Annotated[
        Literal["linear", "maxout"],
        doc("linear: the recurrent state; maxout: deep output over state and previous word"),
    ] = "linear"
    maxout: Annotated[Count, doc("number of maxout units")] = 256


class LanguageDropoutConfig(Section):
    """Dropout probabilities by place."""

    embedding: Annotated[Share, doc("word embeddings")] = 0.0
    layers: Annotated[Share, doc("input of each recurrent layer above the first, or of each hidden layer")] = 0.0
    readout: Annotated[Share, doc("input of the softmax layer")] = 0.0
    recurrent: Annotated[Share, doc("recurrent: previous state, with the same mask at every step")] = 0.0


class LanguageModelConfig(Section):
    """Embedding, one of two networks, softmax layer."""

    network: Literal["feed-forward", "recurrent"] = "recurrent"
    embedding: Annotated[Count, doc("size of word embeddings (Cho 2014: 512)")] = 512
    feed_forward: FeedForwardConfig = FeedForwardConfig()
    recurrent: RecurrentConfig = RecurrentConfig()
    dropout: LanguageDropoutConfig = LanguageDropoutConfig()
    initialisation: Annotated[
        Literal["orthogonal", "gaussian", "uniform", "lecun"],
        doc("as in a translation model; Cho 2014 uses uniform for this network"),
    ] = "lecun"
    init_scale: Annotated[Positive, doc("uniform: U(-init_scale, init_scale); otherwise N(0, init_scale^2)")] = 0.01


class LanguageConfig(Section):
    """The complete configuration of a language model."""

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
    """Refuse settings without effect.

    Raises:
        ValueError: the message is for the user.
    """
    training = config.training
    for key, value in (
        ("guided_alignment", training.guided_alignment),
        ("scheduled_sampling", training.scheduled_sampling),
        ("validation.beam", training.validation.beam - 1),
        ("validation.sentences", training.validation.sentences),
        ("validation.tokenizer", training.validation.tokenizer != "auto"),
        ("changes", training.changes != ChangesConfig()),
    ):
        if value:
            raise ValueError(f"training.{key}: has no effect on a language model; leave it out")
    check_mix(training.mix)
    if training.validation.metric != "perplexity":
        raise ValueError("training.validation.metric: a language model supports perplexity only")
    if config.model.network == "feed-forward" and config.model.dropout.recurrent:
        raise ValueError("model.dropout.recurrent: a feed-forward network has no recurrent state; use 0")
    cell = config.model.recurrent
    if cell.cell.endswith("fused"):
        raise ValueError("model.recurrent.cell: fused cells are for encoders only; use gru, lstm or tanh")
    if cell.peepholes and cell.cell != "lstm":
        raise ValueError(f"model.recurrent.peepholes: requires cell: lstm, not {cell.cell}")
    if cell.first_residual_layer and not 2 <= cell.first_residual_layer <= cell.layers:
        raise ValueError(
            f"model.recurrent.first_residual_layer: {cell.first_residual_layer} is none of the layers 2 to "
            f"{cell.layers}"
        )
