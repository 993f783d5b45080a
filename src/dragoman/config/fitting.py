"""Checks that the values of a configuration are compatible; each message names the keys and a remedy.

Patterns of items that users add (`text.patterns`) keep to what Python and JavaScript (with the flag "u") read alike,
because an exported web site uses them, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from dragoman.config.schema import (
    CellConfig,
    Config,
    DecoderConfig,
    MixConfig,
    ModelConfig,
    SideConfig,
    TextConfig,
    TrainingConfig,
)


def check(config: Config) -> None:
    """Refuse configurations that cannot be built, and settings without effect.

    Raises:
        ValueError: the message is for the user.
    """
    model = config.model
    for name, cell in (("encoder", model.encoder), ("decoder", model.decoder)):
        _check_cell(f"model.{name}", cell)
    _check_bridge(model)
    _check_decoder(model.decoder)
    _check_attention(model)
    _check_readout(model)
    if model.dropout.recurrent and model.encoder.cell.endswith("fused"):
        raise ValueError(
            f"model.dropout.recurrent: fused cells do not support it; use model.encoder.cell: "
            f"{model.encoder.cell.removesuffix('-fused')}"
        )
    if not model.gate_biases and not (model.biases and model.encoder.cell == model.decoder.cell == "gru"):
        raise ValueError("model.gate_biases: false requires biases: true, and cell: gru in encoder and decoder")
    lstm = any(cell.cell.startswith("lstm") for cell in (model.encoder, model.decoder))
    if model.forget_bias and not (model.biases and lstm):
        raise ValueError("model.forget_bias: requires biases: true, and cell: lstm in encoder or decoder; set it to 0")
    if model.embedding.tied == "all" and not config.text.joint:
        raise ValueError("model.embedding.tied: all requires text.joint: true, because both sides share one matrix")
    _check_case_marks(config)
    _check_protected(config)
    _check_spelling(config.text)
    _check_patterns(config.text)
    _check_training(config.training, model)
    _check_changes(config)


def _check_training(training: TrainingConfig, model: ModelConfig) -> None:
    optimiser = training.optimiser
    for key, value, none in (
        ("weight_decay", optimiser.weight_decay, "0"),
        ("weight_decay_epochs", optimiser.weight_decay_epochs, "null"),
    ):
        if value and optimiser.name != "adamw":
            raise ValueError(
                f"training.optimiser.{key}: {optimiser.name} does not support it; use training.optimiser.name: adamw, "
                f"or {none}"
            )
    if optimiser.weight_decay and optimiser.weight_decay_epochs:
        raise ValueError(
            "training.optimiser.weight_decay: has no effect with training.optimiser.weight_decay_epochs; give one of "
            "the two"
        )
    if optimiser.max_gradient_norm is None and optimiser.gradient_norm != "all":
        raise ValueError(
            f"training.optimiser.gradient_norm: {optimiser.gradient_norm} has no effect without "
            "training.optimiser.max_gradient_norm"
        )
    if training.guided_alignment and model.decoder.context != "attended":
        raise ValueError(
            f"training.guided_alignment: there is no attention with model.decoder.context: "
            f"{model.decoder.context}; use attended, or 0"
        )
    check_mix(training.mix)
    if training.average_best == 1:
        raise ValueError("training.average_best: averaging requires 2 or more; use 0 to turn it off")


def check_mix(mix: MixConfig) -> None:
    """Refuse two ways to mix corpora at once.

    Raises:
        ValueError: the message is for the user.
    """
    if mix.weights and mix.temperature != 1:
        raise ValueError("training.mix.temperature: has no effect with training.mix.weights; give one of the two")


def turn_off_unsuitable(values: dict[str, Any], kept: Collection[str]) -> None:
    """Turn off what the segmentations of some nested values cannot have, except the keys `kept`."""
    text, changes = values["text"], values["training"]["changes"]
    sides = [
        SideConfig(segmentation=side["segmentation"], model=side["model"]) for side in (text["source"], text["target"])
    ]
    if not all(map(_may_have_case_marks, sides)) and "text.case_marks" not in kept:
        text["case_marks"] = False
    if not all(map(_has_words, sides)) and "text.protected" not in kept:
        text["protected"] = []
        if "text.patterns" not in kept:
            text["patterns"] = []
    if not (text["normal_form"] and _has_words(sides[0])) and "text.spelling" not in kept:
        text["spelling"] = False
    for name in changes:
        suits = all(map(_may_have_changes, sides)) and (text["protected"] or name != "placeholders")
        if not suits and f"training.changes.{name}" not in kept:
            changes[name] = 0.0


def _may_have_case_marks(side: SideConfig) -> bool:
    return side.segmentation in ("bpe", "unigram") and side.model is None


def _has_words(side: SideConfig) -> bool:
    """Whether lines are raw text; not single words with their tags, and not text that is segmented already."""
    return side.segmentation not in ("letters", "whitespace")


def _may_have_changes(side: SideConfig) -> bool:
    return side.segmentation in ("bpe", "unigram", "characters")


def _check_case_marks(config: Config) -> None:
    for name, side in (("source", config.text.source), ("target", config.text.target)):
        if config.text.case_marks and not _may_have_case_marks(side):
            given = f"segmentation: {side.segmentation}" if side.model is None else f"model: {side.model}"
            raise ValueError(
                "text.case_marks: requires segmentation bpe or unigram, whose model is trained on words in lower case, "
                f"but text.{name}.{given}; set text.case_marks: false"
            )


def _check_spelling(text: TextConfig) -> None:
    if text.spelling and not text.normal_form:
        raise ValueError("text.spelling: requires text.normal_form: true; set text.spelling: false")


def _check_patterns(text: TextConfig) -> None:
    if text.patterns and not text.protected:
        raise ValueError("text.patterns: has no effect without text.protected; name kinds of items there")
    for pattern in text.patterns:
        check_pattern(pattern)


def _check_protected(config: Config) -> None:
    for name, side in (("source", config.text.source), ("target", config.text.target)):
        if config.text.protected and not _has_words(side):
            raise ValueError(
                f"text.protected: text.{name}.segmentation: {side.segmentation} cannot have placeholders, which may "
                "stand inside its words; set text.protected: [], or use bpe, unigram, characters or words"
            )
    if config.training.changes.placeholders and not config.text.protected:
        raise ValueError(
            "training.changes.placeholders: has no effect without text.protected; name kinds of items there, or set it "
            "to 0"
        )


def _check_changes(config: Config) -> None:
    shares = config.training.changes.values()
    if sum(shares.values()) >= 1:
        raise ValueError("training.changes: the shares are 1 or more in sum, and leave no pair as it is")
    for side in (config.text.source, config.text.target):
        if any(shares.values()) and not _may_have_changes(side):
            raise ValueError(
                f"training.changes: changed words are unknown to segmentation: {side.segmentation}; set the shares to "
                "0, or use bpe, unigram or characters"
            )


def _check_cell(where: str, cell: CellConfig) -> None:
    if cell.cell == "gru-fused" and (cell.reset, cell.update) != ("after", "keep"):
        raise ValueError(
            f"{where}.cell: gru-fused requires reset: after and update: keep; set {where}.reset and "
            f"{where}.update, or use gru"
        )
    if cell.peepholes and cell.cell != "lstm":
        raise ValueError(f"{where}.peepholes: requires cell: lstm, not {cell.cell}")
    if cell.first_residual_layer and not 2 <= cell.first_residual_layer <= cell.layers:
        raise ValueError(
            f"{where}.first_residual_layer: {cell.first_residual_layer} is none of the layers 2 to {cell.layers}; the "
            "first layer reads word vectors, so residual connections begin at layer 2 at the earliest (0: none)"
        )


def _check_bridge(model: ModelConfig) -> None:
    decoder, encoder, bridge = model.decoder, model.encoder, model.bridge
    width = encoder.size * (2 if encoder.direction == "both" else 1)
    if bridge.kind == "copy":
        given, wanted = (
            (part.cell.removesuffix("-fused"), part.layers, size)
            for part, size in ((encoder, width), (decoder, decoder.size))
        )
        if given != wanted:
            raise ValueError(
                "model.bridge.kind: copy requires the same "
                f"cell, layers and size (encoder: {encoder.cell}, {encoder.layers}, {width} over {encoder.direction}; "
                f"decoder: {decoder.cell}, {decoder.layers}, {decoder.size})"
            )
    if bridge.kind == "last" and decoder.size not in (encoder.size, width):
        raise ValueError(
            "model.bridge.kind: last needs a decoder as wide as an annotation or as one direction of it, but "
            f"model.decoder.size is {decoder.size} and model.encoder.size {encoder.size} over {encoder.direction}"
        )
    if bridge.kind == "tanh-backward" and encoder.direction == "forward":
        raise ValueError(
            "model.bridge.kind: tanh-backward needs backward states, and model.encoder.direction: forward has "
            "none; use both or reversed, or bridge tanh-last"
        )
    if bridge.cell_state == "hidden" and (bridge.kind in ("zero", "copy") or not decoder.cell.startswith("lstm")):
        raise ValueError("model.bridge.cell_state: hidden requires an LSTM decoder and bridge last, tanh-* or mean")
    if bridge.summary == "tanh" and bridge.kind != "tanh-last" and decoder.context != "fixed":
        raise ValueError(
            "model.bridge.summary: tanh has no effect without bridge tanh-last or model.decoder.context: fixed"
        )


def _check_decoder(decoder: DecoderConfig) -> None:
    seen_first = decoder.context != "none" and decoder.order in ("look-then-update", "groundhog")
    gated_after = decoder.cell.startswith("gru") and decoder.reset == "after"
    if decoder.context_in_reset and not (seen_first and gated_after):
        raise ValueError(
            "model.decoder.context_in_reset: needs a GRU with reset: after, and a context that enters its update "
            "(order look-then-update or groundhog)"
        )
    if decoder.readout_state == "prev" and decoder.order != "look-then-update":
        raise ValueError("model.decoder.readout_state: prev requires order: look-then-update")
    if decoder.order == "two-step" and (decoder.layers > 1 or decoder.context == "none"):
        raise ValueError("model.decoder.order: two-step needs one layer, and a context (fixed or attended)")


def _check_attention(model: ModelConfig) -> None:
    attention, width = model.attention, model.encoder.size * (2 if model.encoder.direction == "both" else 1)
    if model.decoder.context != "attended":
        return
    if attention.score in ("dot", "scaled-dot") and width != model.decoder.size:
        raise ValueError(
            f"model.attention.score: {attention.score} multiplies states of {model.decoder.size} with annotations of "
            f"{width}; make the sizes equal or use general"
        )
    if attention.score == "location" and attention.scope != "global":
        raise ValueError(
            f"model.attention.score: location needs scope global; {attention.scope} needs a score of annotations"
        )
    if attention.heads > 1:
        if attention.score not in ("dot", "scaled-dot", "general") or attention.scope != "global":
            raise ValueError(
                "model.attention.heads: several need the score dot, scaled-dot or general over the scope global, not "
                f"{attention.score} over {attention.scope}"
            )
        for what, size in (("a state", model.decoder.size), ("an annotation", width)):
            if size % attention.heads:
                raise ValueError(
                    f"model.attention.heads: {attention.heads} must divide the size of {what}, which is {size}"
                )
    if attention.coverage and attention.score not in ("additive", "normed-additive", "concat", "concat-identity"):
        raise ValueError(f"model.attention.coverage: only additive and concat scores support it, not {attention.score}")


def _check_readout(model: ModelConfig) -> None:
    decoder, readout, embedding = model.decoder, model.readout, model.embedding
    if readout.kind in ("attentional", "affine") and decoder.context == "none":
        raise ValueError(f"model.readout.kind: {readout.kind} needs model.decoder.context: attended or fixed")
    if readout.kind == "linear" and decoder.context != "none" and decoder.order == "update-then-look":
        raise ValueError(
            "model.readout.kind: linear ignores the context of update-then-look; use attentional or maxout"
        )
    width = readout.rank or (decoder.size if readout.kind == "linear" else readout.size)
    if embedding.tied != "none" and width != embedding.target:
        raise ValueError(
            f"model.embedding.tied: {embedding.tied} makes the target embedding the output matrix, so readout "
            f"({width}) must be as wide as model.embedding.target ({embedding.target})"
        )
    if embedding.tied == "all" and embedding.source != embedding.target:
        raise ValueError("model.embedding.tied: all needs model.embedding.source equal to model.embedding.target")


_ALIKE = re.compile(
    r"""(?: \\[\^$\\.*+?()\[\]{}|/dDwWbB-]   # escapes of both
          | \(\?(?:[:=!]|<[=!])              # groups that capture nothing, and what stands before or after
          | \((?!\?)
          | \[(?:[^\]\\]|\\[\^$\\.*+?()\[\]{}|/dDwWbB-])+\]
          | [^\\(\[] )*""",
    re.VERBOSE,
)


def check_pattern(pattern: str) -> None:
    """Refuse a pattern that cannot be used.

    Raises:
        ValueError: the message is for the user.
    """
    try:
        compiled = re.compile(pattern, re.ASCII)
    except re.error as error:
        raise ValueError(f"text.patterns: {pattern!r} is no regular expression: {error}") from None
    alike = _ALIKE.match(pattern)
    if (end := alike.end() if alike else 0) < len(pattern):
        raise ValueError(
            f"text.patterns: {pattern!r} has {pattern[end : end + 2]!r}, which browsers read in another way; use "
            "characters, [...], groups such as (?:...), lookarounds, the escapes \\d, \\w and \\b, and a backslash "
            "before signs with a meaning"
        )
    if compiled.match(""):
        raise ValueError(f"text.patterns: {pattern!r} matches no text at all; an item has at least one character")
