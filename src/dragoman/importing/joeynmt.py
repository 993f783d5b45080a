"""Recurrent models of JoeyNMT 2.x.

The decoder updates its state before attention with either score: h_t = f(h_{t-1}, [y_{t-1}; a_{t-1}]), c_t from h_t,
attention vector a_t = tanh(W [h_t; c_t] + b), logits W_o a_t. The source ends with EOS, and the last states of both
directions of the encoder's top layer give the initial decoder state.

Sizes, cells, scores and tied matrices follow from the tensors; the configuration is read only for what tensors do not
show: special symbols, `init_hidden` without a bridge, `scale`, `activation`, and segmentation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dragoman.config.building import parse_yaml
from dragoman.config.yaml_values import read_yaml_text
from dragoman.errors import ConfigError, InputError
from dragoman.importing.checkpoints import CheckpointTensors, read_checkpoint
from dragoman.importing.imported_model import (
    ImportedModel,
    ImportedSide,
    ImportedVocabulary,
    SpecialSymbols,
    embedding_keys,
    import_vocabulary,
    read_vocabulary_lines,
)
from dragoman.importing.layers import LayerStack, decoder_stack, encoder_stack, stack_parts
from dragoman.text.languages import language_of_file

SPECIALS = {"unk_token": "<unk>", "pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}
"""JoeyNMT's special symbols by their keys in `data.special_symbols`, in the order of its ids."""


def read_joeynmt(
    checkpoint: Path,
    *,
    config: Path | None = None,
    vocabularies: Sequence[Path] = (),
    segmenters: Sequence[Path | None] = (None, None),
) -> ImportedModel:
    """Convert a checkpoint.

    Args:
        config: JoeyNMT's YAML configuration; None for config.yaml beside the checkpoint.
        vocabularies: source and target vocabulary files; none for src_vocab.txt and trg_vocab.txt beside it.
        segmenters: SentencePiece models of the two sides; None for those that JoeyNMT saved beside it.

    Raises:
        InputError: a file is missing or refused, or no configuration can describe the model.
    """
    folder = checkpoint.parent
    config = config or folder / "config.yaml"
    state = read_checkpoint(checkpoint).get("model_state")
    settings = _Settings(config)
    if not isinstance(state, dict):
        raise InputError(f"{checkpoint}: has no model_state; is it a checkpoint of JoeyNMT?")
    files = list(vocabularies) or [folder / "src_vocab.txt", folder / "trg_vocab.txt"]
    notes: list[str] = []
    source, target = (
        ImportedSide(_entries(file, settings), _text(settings, side, folder, segmenter, notes))
        for file, side, segmenter in zip(files, ("src", "trg"), segmenters, strict=True)
    )
    model, weights = _model(CheckpointTensors(state, checkpoint), source.entries, target.entries, settings)
    return ImportedModel(source, target, model, _search(settings), weights, notes)


class _Settings:
    """JoeyNMT's YAML configuration, read by dotted keys."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            text = read_yaml_text(path, "JoeyNMT's configuration")
        except ConfigError as error:
            raise InputError(f"{error}; give the file with --config") from None
        self._values = parse_yaml(text, str(path))

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a dotted key."""
        value: Any = self._values
        for name in key.split("."):
            if not isinstance(value, Mapping) or name not in value:
                return default
            value = value[name]
        return value

    def number(self, key: str, default: float) -> float:
        """Return the value of a key that is a number."""
        value = self.get(key, default)
        if not isinstance(value, int | float):
            raise self.refuse(key, "is not a number")
        return value

    def refuse(self, key: str, why: str) -> InputError:
        """Make the error for a setting that cannot be imported."""
        return InputError(f"{self.path}: {key}: {self.get(key)}: {why}")


# Text ----------------------------------------------------------------------------------------------------------------


def _entries(file: Path, settings: _Settings) -> ImportedVocabulary:
    """A vocabulary: special symbols and language tags first, then the remaining lines of the file."""
    special = {key: str(settings.get(f"data.special_symbols.{key}", token)) for key, token in SPECIALS.items()}
    separator = settings.get("data.special_symbols.sep_token")
    first = [
        *special.values(),
        *([separator] if separator else []),
        *(settings.get("data.special_symbols.lang_tags") or []),
    ]
    tokens = list(dict.fromkeys([*first, *read_vocabulary_lines(file)]))
    symbols = SpecialSymbols(special["pad_token"], special["unk_token"], special["bos_token"], special["eos_token"])
    return import_vocabulary(tokens, symbols, str(file))


def _text(settings: _Settings, side: str, folder: Path, segmenter: Path | None, notes: list[str]) -> dict[str, Any]:
    """JoeyNMT's segmentation of one side; `notes` receives preprocessing that `dragoman translate` does not do."""
    level = settings.get(f"data.{side}.level", "word")
    kind = settings.get(f"data.{side}.tokenizer_type", "sentencepiece") if level == "bpe" else level
    before = [
        f"{key}: {value}"
        for key in ("lowercase", "normalize", "tokenizer_cfg.pretokenizer")
        if (value := settings.get(f"data.{side}.{key}", False)) not in (False, "none")
    ]
    text = {"segmentation": "characters" if kind == "char" else "whitespace"}
    if kind == "sentencepiece":
        segmenter = segmenter or folder / Path(str(settings.get(f"data.{side}.tokenizer_cfg.model_file", ""))).name
        if segmenter.is_file():
            text = {"segmentation": "bpe", "model": str(segmenter)}
        else:
            before.append(f"tokenizer_type: sentencepiece, whose model is not at {segmenter}")
    elif kind == "subword-nmt":
        before.append("tokenizer_type: subword-nmt")
    if before:
        notes.append(f"data.{side}: JoeyNMT preprocesses text itself, dragoman does not: {'; '.join(before)}")
    language = language_of_file(f"text.{settings.get(f'data.{side}.lang')}")  # in JoeyNMT the suffix of a file
    return {**text, "language": language}


def _search(settings: _Settings) -> dict[str, Any]:
    """JoeyNMT's beam size, length normalisation and length limits; its maximum length holds for a whole batch."""
    alpha = settings.number("testing.beam_alpha", settings.number("testing.alpha", -1))
    longest = int(settings.number("testing.max_output_length", -1))
    return {
        "beam": max(1, int(settings.number("testing.beam_size", 1))),
        **({"normalisation": "gnmt", "alpha": float(alpha)} if alpha > 0 else {"normalisation": "none"}),
        # EOS included: 1.5 times the source length, or a fixed length
        **(
            {"max_length_factor": 1.5, "max_length_extra": 1}
            if longest < 0
            else {"max_length_factor": 1e-6, "max_length_extra": longest}
        ),
        "min_length_factor": 1e-3,  # one word
        "block_unknown": not settings.get("testing.generate_unk", True),
    }


# Model ---------------------------------------------------------------------------------------------------------------


def _model(
    tensors: CheckpointTensors, source: ImportedVocabulary, target: ImportedVocabulary, settings: _Settings
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    for part in ("encoder", "decoder"):
        if settings.get(f"model.{part}.type", "recurrent") != "recurrent":
            raise settings.refuse(f"model.{part}.type", "only recurrent models can be imported")
    if settings.get("model.decoder.activation", "tanh") != "tanh":
        raise settings.refuse("model.decoder.activation", "only tanh can be imported")
    embeddings = [
        _embedding(tensors, settings, *side) for side in (("src", "encoder", source), ("trg", "decoder", target))
    ]
    encoder = encoder_stack(stack_parts(tensors, "encoder.rnn"))
    decoder = decoder_stack(stack_parts(tensors, "decoder.rnn"), embeddings[1].shape[1])
    size = decoder.model["size"]
    combine = tensors.take("decoder.att_vector_layer.weight")
    output = target.arrange(tensors.take("decoder.output_layer.weight"))
    attention, energies = _attention(tensors, size)
    bridge, bridge_weights = _bridge(tensors, settings, decoder)
    model = {
        "source_eos": True,
        "embedding": embedding_keys(embeddings, output, joint=source.pieces == target.pieces),
        "encoder": encoder.model,
        "bridge": bridge,
        "decoder": decoder.model,
        "attention": attention,
        "readout": {"kind": "attentional", "size": len(combine)},
    }
    weights = {
        "source.weight": embeddings[0],
        "target.weight": embeddings[1],
        "output.weight": output,
        "output.bias": output.new_zeros(len(output)),
        # [state; context] -> [context; state]
        "decoder.readout.combine.weight": torch.cat((combine[:, size:], combine[:, :size]), dim=1),
        "decoder.readout.bias": tensors.take("decoder.att_vector_layer.bias"),
        **encoder.weights,
        **decoder.weights,
        **energies,
        **bridge_weights,
    }
    tensors.require_all_taken()
    return model, weights


def _embedding(
    tensors: CheckpointTensors, settings: _Settings, side: str, part: str, entries: ImportedVocabulary
) -> Tensor:
    """The embedding matrix [V, E] in the new order, multiplied by sqrt(E) if JoeyNMT does so at run time."""
    vectors = entries.arrange(tensors.take(f"{side}_embed.lut.weight"))
    # tied embeddings are the source's, with its settings
    owner = "encoder" if settings.get("model.tied_embeddings", False) else part
    scaled = settings.get(f"model.{owner}.embeddings.scale", False)
    return vectors * math.sqrt(vectors.shape[1]) if scaled else vectors


def _attention(tensors: CheckpointTensors, size: int) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """`bahdanau` has a query layer, `luong` has none."""
    name, ours = "decoder.attention", "decoder.attention.score"
    keys = tensors.take(f"{name}.key_layer.weight")
    if f"{name}.query_layer.weight" not in tensors:
        return {"score": "general"}, {f"{ours}.annotation.weight": keys}
    return {"score": "additive", "size": len(keys)}, {
        f"{ours}.annotation.weight": keys,
        f"{ours}.query.weight": tensors.take(f"{name}.query_layer.weight"),
        f"{ours}.v": tensors.take(f"{name}.energy_layer.weight")[0],
    }


def _bridge(
    tensors: CheckpointTensors, settings: _Settings, decoder: LayerStack
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The bridge: equal initial states in all layers, also as the cell state of an LSTM."""
    cell_state = {"cell_state": "hidden"} if decoder.model["cell"] == "lstm-fused" else {}
    if "decoder.bridge_layer.weight" not in tensors:
        kind = settings.get("model.decoder.init_hidden", "bridge")
        return ({"kind": "last", **cell_state} if kind == "last" else {"kind": "zero"}), {}
    weight, bias = (tensors.take(f"decoder.bridge_layer.{name}") for name in ("weight", "bias"))
    weights: dict[str, Tensor] = {}
    for layer in range(decoder.model["layers"]):
        weights |= {f"bridge.maps.{layer}.weight": weight, f"bridge.maps.{layer}.bias": bias}
    return {"kind": "tanh-last", **cell_state}, weights
