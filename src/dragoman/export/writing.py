"""A run becomes an exported folder, and is tried out in it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dragoman.config.files import dump_config
from dragoman.data.batches import pad_ids
from dragoman.errors import InputError, RunError
from dragoman.export.answering import Mixture
from dragoman.export.encoding import encoder_graph
from dragoman.export.folder import CONFIG, ENCODER, STEP, TEXT, ExportFolder, is_export, write_manifest
from dragoman.export.stepping import step_graph
from dragoman.model.translation import TranslationModel
from dragoman.run import Run
from dragoman.search.engine import refuse_nan
from dragoman.search.onnx_engine import OnnxEngine
from dragoman.search.torch_engine import TorchEngine


class Graphs(NamedTuple):
    """The files of the two graphs."""

    encoder: bytes
    step: bytes


class Exported(NamedTuple):
    """What was written.

    bytes:      the size of the folder
    difference: the largest one between log-probabilities of the run and of the folder, tried on random sentences
    """

    folder: ExportFolder
    bytes: int
    difference: float


def export_run(run: Run, out: Path, *, int8: bool = False, overwrite: bool = False) -> Exported:
    """Write the folder `out`, and try it out.

    It is written beside its place and put there when it is complete.

    Raises:
        RunError: `run` was exported already; `out` is in use; the weights are damaged.
        ConfigError: a graph is too large for its format.
        InputError: a file cannot be written.
    """
    if not isinstance(run.engine, TorchEngine):
        raise RunError(f"{run.folder.path}: was exported already; give the run folder")
    _require_free(out, overwrite=overwrite)
    graphs = make_graphs(run.engine.model, int8=int8)
    difference = _try_out(run.engine, OnnxEngine(*graphs))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as beside:
            new = Path(beside) / "new"
            (new / TEXT).mkdir(parents=True)
            (new / CONFIG).write_text(dump_config(run.config), encoding="utf-8")
            (new / ENCODER).write_bytes(graphs.encoder)
            (new / STEP).write_bytes(graphs.step)
            run.source.save(new / TEXT, "source")
            run.target.save(new / TEXT, "target")
            write_manifest(new, int8=int8, parameters=run.parameters)
            if out.exists():
                os.replace(out, Path(beside) / "old")
            os.replace(new, out)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from None
    folder = ExportFolder.open(out)
    return Exported(folder, sum(file.stat().st_size for file in out.rglob("*") if file.is_file()), difference)


def make_graphs(model: TranslationModel, *, int8: bool = False) -> Graphs:
    """The graphs of a model; in int8 its embeddings are, and all products but those of the recurrent encoder.

    Raises:
        ConfigError: a graph is too large for its format.
    """
    source, target = (str(table.num_embeddings) for table in (model.source, model.target))
    encoder = encoder_graph([model], int8=int8).serialise(
        {"vocabulary_size": source, "source_eos": str(int(model.source_eos))}
    )
    step = step_graph([model], Mixture("probabilities", [1.0]), int8=int8).serialise(
        {"vocabulary_size": target, "attention_shift": str(model.attention_shift)}
    )
    return Graphs(encoder, step)


def _require_free(out: Path, *, overwrite: bool) -> None:
    """Only what was exported before may be replaced."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise RunError(f"{out}: is there already and is no folder; give another path")
    if not out.exists() or not any(out.iterdir()):
        return
    if not is_export(out) or (out / "model.safetensors").exists():
        raise RunError(f"{out}: holds other files; give the path of a new folder")
    if not overwrite:
        raise RunError(f"{out}: an exported folder is there already; --overwrite replaces it, or give another path")


def _try_out(run: TorchEngine, exported: OnnxEngine) -> float:
    """The largest difference between log-probabilities of target symbols in random sentences of many lengths."""
    draw = np.random.default_rng(1)

    def sentences(size: int) -> list[list[int]]:
        return [draw.integers(4, max(size, 5), length).clip(0, size - 1).tolist() for length in (1, 2, 5, 9, 14, 20)]

    source = pad_ids(sentences(exported.source_vocabulary_size), eos=run.source_eos)
    target = pad_ids(sentences(exported.vocabulary_size), eos=True)
    ours, theirs = (engine.force(*source, *target).log_probabilities for engine in (run, exported))
    refuse_nan(ours)
    return float(np.abs(ours - theirs).max())
