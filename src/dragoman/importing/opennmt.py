"""Recurrent models of OpenNMT-py 3.x.

The decoder updates its state before attention: h_t = f(h_{t-1}, [y_{t-1}; a_{t-1}]), c_t from h_t,
a_t = tanh(W [c_t; h_t]), with the score `mlp` a_t = W [c_t; h_t] + b; logits W_o a_t + b_o. The source has no EOS. The
initial state of each decoder layer is the last state of the encoder layer, both directions concatenated.

The checkpoint contains options and vocabularies, but not the segmentation.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from dragoman.errors import InputError
from dragoman.importing.checkpoints import CheckpointTensors, read_checkpoint, read_safetensors
from dragoman.importing.imported_model import (
    ImportedModel,
    ImportedSide,
    ImportedVocabulary,
    SpecialSymbols,
    embedding_keys,
    import_vocabulary,
)
from dragoman.importing.layers import cell_parts, decoder_stack, encoder_stack, stack_parts

SYMBOLS = SpecialSymbols(pad="<blank>", unknown="<unk>", begin="<s>", end="</s>")

WANTED: dict[str, tuple[Any, ...]] = {
    "model_task": ("seq2seq",),
    "model_type": ("text",),
    "encoder_type": ("brnn", "rnn"),
    "decoder_type": ("rnn",),
    "rnn_type": ("LSTM", "GRU", "RNN"),
    "global_attention": ("general", "dot", "mlp"),
    "global_attention_function": ("softmax",),
    "bridge": (False, None),
    "copy_attn": (False, None),
    "coverage_attn": (False, None),
    "context_gate": (None,),
    "position_encoding": (False, None),
    "n_src_feats": (0, None),
    "lora_layers": ([], None),
    "lora_embedding": (False, None),
    "quant_layers": ([], None),
    "generator_function": ("softmax", "log_softmax"),
}
"""Options and their supported values."""


def read_opennmt(checkpoint: Path, *, segmenters: Sequence[Path | None] = (None, None)) -> ImportedModel:
    """Convert a checkpoint.

    Args:
        segmenters: SentencePiece models of the two sides; None if the text is already segmented.

    Raises:
        InputError: the file is missing or refused, or no configuration can describe the model.
    """
    content = read_checkpoint(checkpoint)
    options, vocabularies = content.get("opt"), content.get("vocab")
    if (
        not isinstance(options, Namespace)
        or not isinstance(vocabularies, Mapping)
        or not {"src", "tgt"} <= {*vocabularies}
    ):
        raise InputError(f"{checkpoint}: has no opt and vocab; is it a checkpoint of OpenNMT-py 3?")
    _require_expressible(options, checkpoint)
    start = vocabularies.get("decoder_start_token", SYMBOLS.begin)
    if start != SYMBOLS.begin:
        raise InputError(f"{checkpoint}: decoder_start_token: {start}: only {SYMBOLS.begin} can be imported")
    source, target = (
        ImportedSide(
            import_vocabulary(vocabularies[side], SYMBOLS, f"{checkpoint}: vocabulary {side}"),
            {"segmentation": "bpe", "model": str(segmenter)} if segmenter else {"segmentation": "whitespace"},
        )
        for side, segmenter in zip(("src", "tgt"), segmenters, strict=True)
    )
    model, weights = _model(_tensors(content, checkpoint), source.entries, target.entries)
    transforms, notes = getattr(options, "transforms", None), []
    if transforms and None in segmenters:
        notes = [f"transforms: {', '.join(transforms)}: OpenNMT-py preprocesses text itself, dragoman does not"]
    return ImportedModel(source, target, model, {}, weights, notes)


def _tensors(content: Mapping[str, Any], checkpoint: Path) -> CheckpointTensors:
    """All tensors, from the checkpoint or, with save_format: safetensors, from a file beside it."""
    if "model" in content:
        generator = content.get("generator") or {}
        named = {f"generator.{name.removeprefix('0.')}": tensor for name, tensor in generator.items()}
        return CheckpointTensors({**content["model"], **named}, checkpoint)
    beside = checkpoint.with_suffix(".safetensors")
    if not beside.is_file():
        raise InputError(f"{checkpoint}: its weights are in a file of their own, {beside}, which is missing")
    return CheckpointTensors(read_safetensors(beside), beside)


def _require_expressible(options: Namespace, checkpoint: Path) -> None:
    for name, values in WANTED.items():
        value = getattr(options, name, values[0])
        if value not in values:
            allowed = " or ".join(str(value) for value in values if value is not None)
            raise InputError(f"{checkpoint}: {name}: {value}: cannot be imported, only {allowed or 'without it'} can")


def _model(
    tensors: CheckpointTensors, source: ImportedVocabulary, target: ImportedVocabulary
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    lookup = "embeddings.make_embedding.emb_luts.0.weight"
    parts = (("encoder", source), ("decoder", target))
    embeddings = [entries.arrange(tensors.take(f"{part}.{lookup}")) for part, entries in parts]
    encoder = encoder_stack(stack_parts(tensors, "encoder.rnn"))
    layers = cell_parts(tensors, "decoder.rnn.layers") or stack_parts(tensors, "decoder.rnn")
    decoder = decoder_stack(layers, embeddings[1].shape[1])
    combine = tensors.take("decoder.attn.linear_out.weight")
    output, bias = (target.arrange(tensors.take(f"generator.{name}")) for name in ("weight", "bias"))
    attention, energies = _attention(tensors)
    model = {
        "source_eos": False,
        "embedding": embedding_keys(embeddings, output, joint=source.pieces == target.pieces),
        "encoder": encoder.model,
        "bridge": {"kind": "copy"},
        "decoder": decoder.model,
        "attention": attention,
        "readout": {"kind": "affine" if "decoder.attn.v.weight" in tensors else "attentional", "size": len(combine)},
    }
    weights = {
        "source.weight": embeddings[0],
        "target.weight": embeddings[1],
        "output.weight": output,
        "output.bias": bias,
        "decoder.readout.combine.weight": combine,
        "decoder.readout.bias": _bias(tensors, combine),
        **encoder.weights,
        **decoder.weights,
        **energies,
    }
    tensors.require_all_taken()
    return model, weights


def _bias(tensors: CheckpointTensors, combine: Tensor) -> Tensor:
    """The bias of the readout; 0 except with `mlp`."""
    name = "decoder.attn.linear_out.bias"
    return tensors.take(name) if name in tensors else combine.new_zeros(len(combine))


def _attention(tensors: CheckpointTensors) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The score and its parameters: `general` has one linear layer, `mlp` several, `dot` none."""
    name, ours = "decoder.attn", "decoder.attention.score"
    if f"{name}.linear_in.weight" in tensors:
        # h_s^T (W h_t) = (W^T h_s)^T h_t
        return {"score": "general"}, {f"{ours}.annotation.weight": tensors.take(f"{name}.linear_in.weight").t()}
    if f"{name}.v.weight" not in tensors:
        return {"score": "dot"}, {}
    # v^T tanh(W h_t + b + U h_s) is the additive score with a bias, i.e. the normed one with g = |v|
    v = tensors.take(f"{name}.v.weight")[0]
    return {"score": "normed-additive", "size": len(v)}, {
        f"{ours}.annotation.weight": tensors.take(f"{name}.linear_context.weight"),
        f"{ours}.query.weight": tensors.take(f"{name}.linear_query.weight"),
        f"{ours}.query.bias": tensors.take(f"{name}.linear_query.bias"),
        f"{ours}.v": v,
        f"{ours}.length": v.norm(),
    }
