"""The models of bench/training.py in the configuration of each toolkit, and the commands that train them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

import dragoman
from dragoman.text.lines import read_lines, write_lines

PYTHONPATH_OF_DRAGOMAN = str(Path(dragoman.__file__).parents[1])

SIZES: dict[str, dict[str, Any]] = {
    "B": {"cell": "gru", "layers": 1, "embedding": 256, "score": "additive"},
    "L": {"cell": "lstm", "layers": 2, "embedding": 512, "score": "general"},
}


@dataclass(frozen=True)
class Peer:
    """Another toolkit."""

    command: Callable[[str, str, Path, int], list[str]]
    """Maps (interpreter, model, scratch folder, threads) to a command, and writes its configuration."""
    pattern: str
    """Regular expression of the update number in a line of its log."""
    models: tuple[str, ...] = tuple(SIZES)
    """The models that it supports."""


def dragoman_values(model: str) -> dict[str, Any]:
    """The model as a Dragoman configuration."""
    size = SIZES[model]
    cell = {"cell": size["cell"], "layers": size["layers"]}
    side = {"segmentation": "whitespace", "vocabulary": 10_004}
    return {
        "text": {"joint": True, "source": side, "target": side},
        "model": {
            "source_eos": False,
            "embedding": {"source": size["embedding"], "target": size["embedding"]},
            "encoder": {**cell, "size": 256, "direction": "both"},
            "bridge": {"kind": "copy"},
            "decoder": {**cell, "size": 512, "order": "update-then-look", "input_feeding": True},
            "attention": {"score": size["score"], "size": 512},
            "readout": {"kind": "attentional", "size": 512},
            "dropout": {"embedding": 0.2, "layers": 0.2, "readout": 0.2},
            "initialisation": "lecun",
        },
        "training": {
            "epochs": 100,
            "log_every": 10,
            "optimiser": {"name": "adam", "learning_rate": 0.001, "max_gradient_norm": 5.0},
            "batch": {"unit": "sentences", "size": 64, "pool": 500},  # sorted over everything, as OpenNMT-py does
            "validation": {"every": 1_000_000, "metric": "perplexity"},
        },
    }


def dragoman_command(model: str, scratch: Path, threads: int, precision: str) -> list[str]:
    """`dragoman train`, with the interpreter that runs this benchmark."""
    config = scratch / f"dragoman.{model}.yaml"
    config.write_text(yaml.safe_dump(dragoman_values(model)), encoding="utf-8")
    text = scratch / "text"
    return [
        *(sys.executable, "-m", "dragoman", "train", str(config), "--out", str(scratch / f"dragoman.{model}")),
        *("--train", str(text / "train.en"), str(text / "train.de")),
        *("--dev", str(text / "val.en"), str(text / "val.de")),
        *("--overwrite", "--threads", str(threads), "--set", f"training.precision={precision}"),
    ]


def _joeynmt(python: str, model: str, scratch: Path, threads: int) -> list[str]:
    size, text = SIZES[model], scratch / "text"
    vocabulary = {"level": "word", "lowercase": False, "max_length": 100, "voc_file": str(text / "vocabulary.txt")}
    embeddings = {"embedding_dim": size["embedding"], "scale": False, "dropout": 0.2}
    recurrent = {
        "type": "recurrent",
        "rnn_type": size["cell"],
        "embeddings": embeddings,
        "num_layers": size["layers"],
        "dropout": 0.2,
    }
    config = {
        "name": model,
        "joeynmt_version": "2.3.0",
        "model_dir": str(scratch / f"joeynmt.{model}"),
        "use_cuda": False,
        "fp16": False,
        "random_seed": 1,
        "num_workers": 0,
        "data": {
            "train": str(text / "train"),
            "dev": str(text / "val"),
            "dataset_type": "plain",
            "src": {"lang": "en", **vocabulary},
            "trg": {"lang": "de", **vocabulary},
        },
        "testing": {"beam_size": 1},
        "training": {
            "optimizer": "adam",
            "learning_rate": 0.001,
            "scheduling": "exponential",
            "decrease_factor": 0.99,
            "clip_grad_norm": 5.0,
            "normalization": "tokens",
            "batch_size": 64,
            "batch_type": "sentence",
            "epochs": 100,
            "validation_freq": 1_000_000,
            "logging_freq": 10,
            "early_stopping_metric": "ppl",
            "overwrite": True,
            "shuffle": True,
        },
        "model": {
            "initializer": "xavier_uniform",
            # With this many rows, Xavier initialisation is so small that embeddings need half an hour to grow.
            "embed_initializer": "uniform",
            "embed_init_weight": 0.1,
            "tied_embeddings": False,
            "tied_softmax": False,
            "encoder": {**recurrent, "hidden_size": 256, "bidirectional": True},
            "decoder": {
                **recurrent,
                "hidden_size": 512,
                "hidden_dropout": 0.2,
                "input_feeding": True,
                "init_hidden": "bridge" if model == "B" else "last",
                "attention": "bahdanau" if model == "B" else "luong",
            },
        },
    }
    path = scratch / f"joeynmt.{model}.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return [python, "-m", "joeynmt", "train", str(path), "-t"]


def _opennmt(python: str, model: str, scratch: Path, threads: int) -> list[str]:
    size, text = SIZES[model], scratch / "text"

    def files(part: str) -> dict[str, Any]:
        return {"path_src": str(text / f"{part}.en"), "path_tgt": str(text / f"{part}.de"), "transforms": []}

    config = {
        "save_data": str(scratch / f"opennmt.{model}"),
        "src_vocab": str(text / "vocabulary.txt"),
        "tgt_vocab": str(text / "vocabulary.txt"),
        "data": {"corpus": {**files("train"), "weight": 1}, "valid": files("val")},
        "save_model": str(scratch / f"opennmt.{model}" / "m"),
        "seed": 1,
        "encoder_type": "brnn",
        "decoder_type": "rnn",
        "rnn_type": size["cell"].upper(),
        "enc_layers": size["layers"],
        "dec_layers": size["layers"],
        "word_vec_size": size["embedding"],
        "hidden_size": 512,
        "global_attention": "mlp" if model == "B" else "general",
        "input_feed": 1,
        "dropout": [0.2],
        "optim": "adam",
        "learning_rate": 0.001,
        "max_grad_norm": 5,
        "batch_size": 64,
        "batch_type": "sents",
        "normalization": "tokens",
        "train_steps": 100_000,
        "valid_steps": 100_000,
        "save_checkpoint_steps": 100_000,
        "report_every": 10,
        "world_size": 1,
        "gpu_ranks": [],
    }
    path = scratch / f"opennmt.{model}.yaml"
    path.write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
    return [str(Path(python).parent / "onmt_train"), "-config", str(path)]


PEERS = {"joeynmt": Peer(_joeynmt, r"Step:\s*(\d+)"), "opennmt": Peer(_opennmt, r"Step (\d+)/")}


def _yoyodyne(python: str, model: str, scratch: Path, threads: int) -> list[str]:
    """Without input feeding, and with a target vocabulary of the target side only."""
    size, text = SIZES[model], scratch / "text"
    tables = {part: scratch / f"yoyodyne.{part}.tsv" for part in ("train", "val")}
    for part, path in tables.items():
        sides = (read_lines(text / f"{part}.{language}") for language in ("en", "de"))
        write_lines(path, map("\t".join, zip(*sides, strict=True)))
    recurrent = {"embedding_size": size["embedding"], "dropout": 0.2, "layers": size["layers"]}
    encoder = {**recurrent, "hidden_size": 256, "bidirectional": True}
    config = {
        "seed_everything": 1,
        "data": {
            "model_dir": str(scratch / f"yoyodyne.{model}"),
            **{part: str(path) for part, path in tables.items()},
            **{"source_sep": " ", "target_sep": " ", "tie_embeddings": False, "batch_size": 64},
        },
        "model": {
            "class_path": "yoyodyne.models.SoftAttentionGRUModel",
            "init_args": {
                "embedding_size": size["embedding"],
                **{"decoder_hidden_size": 512, "decoder_layers": size["layers"], "decoder_dropout": 0.2},
                "compute_accuracy": False,
                "source_encoder": {"class_path": "yoyodyne.models.modules.GRUEncoder", "init_args": encoder},
                "optimizer": {"class_path": "yoyodyne.optimizers.Adam", "init_args": {"lr": 0.001}},
            },
        },
        "checkpoint": {"dirpath": str(scratch / f"yoyodyne.{model}" / "checkpoints"), "every_n_train_steps": 100_000},
        "trainer": {
            **{"accelerator": "cpu", "max_epochs": 100, "gradient_clip_val": 5, "limit_val_batches": 0},
            "callbacks": [{"class_path": "lightning.pytorch.callbacks.TQDMProgressBar"}],
        },
    }
    path = scratch / f"yoyodyne.{model}.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return [str(Path(python).parent / "yoyodyne"), "fit", "--config", str(path), "--data.predict", "null"]


ONLY_TRAINED = {"yoyodyne": Peer(_yoyodyne, r"Epoch 0:.* (\d+)/\d+ \[", ("B",))}
"""Peers whose translation speed is not compared; in the first epoch the batch number is the update number."""
