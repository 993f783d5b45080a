"""A small Transformer of OpenNMT-py 3.5.1, which `bench/quality.py` trains as a rival in time to quality.

The shape is the one with the best published text-only result on Multi30k (41.02 BLEU, lower-cased and tokenised, by
Wu et al. 2021 on GPUs): 4 + 4 layers of 128 units, 256 inner units, 4 heads, dropout 0.3, one joint vocabulary and one
matrix for embeddings and output, Adam with warm-up, averaged weights. Minutes on a CPU need another recipe. It was
chosen on the dev set among 17 (docs/lab-book/2026-11-recipe.md).

The rival gets all that helps it: products of float32 in bfloat16 (oneDNN's default mode for them), a moving average of
the weights (0.999) from the first update on, label smoothing 0.1, and a schedule that ends with the budget: Adam's rate
rises linearly, falls with the square root of the update, and from half of the updates on also exponentially.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any, NamedTuple

import sentencepiece
from decoders import peer_decoder
from watching import watch

from dragoman.text.lines import read_lines, write_lines

NAME = "transformer"
SIZE = 128
BEAM = 5
PIECES = 5000
"""Size of the joint vocabulary of BPE."""
TOKENS = 512
"""Target tokens of a batch, with padding."""
WARM_UP = 0.15
"""Share of the updates in which the rate rises."""
START, UPDATES_A_SECOND = 7.0, 9.519
"""Seconds before the first update and updates a second, with two threads of an AMD EPYC (Zen 4)."""
FAST_PRODUCTS = {"ONEDNN_DEFAULT_FPMATH_MODE": "BF16"}
LENGTH_PENALTY = "avg"


class Recipe(NamedTuple):
    """What depends on the budget."""

    rate: float
    """The highest learning rate."""
    dropout: float
    """Rate of dropout outside attention; in it at most 0.1."""


RECIPES = {5: Recipe(0.0012, 0.0), 10: Recipe(0.0017, 0.0), 20: Recipe(0.0017, 0.0), 40: Recipe(0.0017, 0.1)}
"""The best recipe on the dev set, by minutes."""


def best(minutes: int) -> Recipe:
    """The recipe of the budget nearest to so many minutes."""
    return RECIPES[min(RECIPES, key=lambda other: abs(math.log(other / minutes)))]


def updates_within(minutes: float) -> int:
    """The updates that fit into a budget."""
    return int((60 * minutes - START) * UPDATES_A_SECOND)


def training_command(python: str, recipe: Recipe, updates: int, text: Path, out: Path, seed: int = 1) -> list[str]:
    """The command that trains for `updates`; twenty checkpoints go to OUT/opennmt.transformer."""
    out.mkdir(parents=True, exist_ok=True)
    warm_up, half = max(1, round(WARM_UP * updates)), updates // 2

    def files(part: str) -> dict[str, Any]:
        return {"path_src": str(text / f"{part}.en"), "path_tgt": str(text / f"{part}.de"), "transforms": []}

    config = {
        "save_data": str(out / "data"),
        "src_vocab": str(text / "vocabulary.txt"),
        "tgt_vocab": str(text / "vocabulary.txt"),
        "share_vocab": True,
        "data": {"corpus": {**files("train"), "weight": 1}, "valid": files("val")},
        "save_model": str(out / f"opennmt.{NAME}" / "m"),
        "seed": seed,
        "encoder_type": "transformer",
        "decoder_type": "transformer",
        "position_encoding": True,
        "enc_layers": 4,
        "dec_layers": 4,
        "word_vec_size": SIZE,
        "hidden_size": SIZE,
        "transformer_ff": 2 * SIZE,
        "heads": 4,
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "dropout": [recipe.dropout],
        "attention_dropout": [min(0.1, recipe.dropout)],
        "param_init": 0.0,
        "param_init_glorot": True,
        "label_smoothing": 0.1,
        "optim": "adam",
        "adam_beta2": 0.98,
        "decay_method": "noamwd",
        # the method's rate after the warm-up is learning_rate / sqrt(size * warm_up)
        "learning_rate": recipe.rate * math.sqrt(SIZE * warm_up),
        "warmup_steps": warm_up,
        "start_decay_steps": half,
        "decay_steps": max(1, updates // 12),
        "learning_rate_decay": 0.6,
        "max_grad_norm": 1.0,
        "average_decay": 0.001,
        "batch_type": "tokens",
        "batch_size": TOKENS,
        "normalization": "tokens",
        "bucket_size": 29_000,
        "num_workers": 0,
        "train_steps": updates,
        "valid_steps": updates + 1,
        "save_checkpoint_steps": max(1, updates // 20),
        "keep_checkpoint": -1,
        "report_every": 10,
        "world_size": 1,
        "gpu_ranks": [],
    }
    path = out / f"opennmt.{NAME}.yaml"
    path.write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
    return [str(Path(python).parent / "onmt_train"), "-config", str(path)]


def peer_translations(
    python: str, model: str, text: Path, folder: Path, lines: list[str], length_penalty: str
) -> list[str]:
    """Raw translations of raw lines, beam 5, by the last checkpoint of a model of OpenNMT-py in a folder."""
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(text / "bpe.model"))
    source, output = folder / "source", folder / "output"
    write_lines(source, (" ".join(pieces.encode(line, out_type=str)) for line in lines))
    decoder = peer_decoder("opennmt", python, model, folder)
    command = decoder.command(source, output, BEAM, False)
    command[command.index("-length_penalty") + 1] = length_penalty
    command += ["-alpha", "1"]  # without it "avg" divides by 1
    watched = watch(command, 1800, folder=folder, environment=dict(decoder.environment))
    if watched.exit_code:
        sys.exit("the peer did not translate:\n" + "\n".join(line for _, line in watched.lines[-20:]))
    return [pieces.decode(line.split()) for line in read_lines(output)]
