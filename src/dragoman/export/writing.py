"""Export of a run, or of several as one ensemble: the exported folder is written and compared with the runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.config.files import dump_config
from dragoman.engines.onnx_engine import OnnxEngine
from dragoman.engines.protocol import refuse_nan
from dragoman.engines.shortlist import Shortlist
from dragoman.errors import ConfigError
from dragoman.export.output_layer import EnsembleCombination
from dragoman.export.shortlist import given_pairs, make_shortlist, require_fewer, training_pairs
from dragoman.export.translation import encoder_graph, step_graph
from dragoman.model.translation import TranslationModel
from dragoman.runs.exported import (
    CONFIG,
    ENCODER,
    SHORTLIST,
    STEP,
    TEXT,
    ExportFolder,
    foreign_files,
    write_manifest,
)
from dragoman.runs.layout import RunFolder
from dragoman.runs.opening import Run
from dragoman.text.folders import new_folder, require_free
from dragoman.text.padding import pad
from dragoman.text.side import Encoded
from dragoman.translation.ensemble import Ensemble, require_same_target
from dragoman.translation.source_encoding import EncodedLine

ALONE = EnsembleCombination("probabilities", (1.0,))
"""The combination of a single run."""


class Graphs(NamedTuple):
    """The files of the two graphs."""

    encoder: bytes
    step: bytes


class ExportOptions(NamedTuple):
    """How to export.

    int8:        whether matrix products are quantised to int8
    shortlist:   number of frequent target tokens in every shortlist; None for no shortlists
    pairs:       the corpus from which the shortlists are learnt; empty for the training data of the first run
    combination: how several runs are combined
    """

    int8: bool = False
    shortlist: int | None = None
    pairs: Sequence[Path] = ()
    combination: EnsembleCombination = ALONE


class Exported(NamedTuple):
    """The result of an export.

    bytes:      the size of the folder
    difference: the largest difference between log-probabilities of the run and of the folder, on random sentences
    """

    folder: ExportFolder
    bytes: int
    difference: float


def export_runs(runs: Sequence[Run], out: Path, options: ExportOptions, *, overwrite: bool = False) -> Exported:
    """Export runs to the folder `out` and compare the results. Several runs become one ensemble.

    The folder has the configuration of the first run. It is written beside `out` and moved there when it is complete.

    Raises:
        RunError: a run has no training data for a shortlist; `out` is in use; the weights are damaged.
        ConfigError: a run is an exported folder; a graph is too large for its format; the shortlist is as long as the
            vocabulary; the vocabularies or segmentations of the runs differ.
        InputError: a file cannot be read or written.
    """
    refuse = partial(require_free, out, "exported folder", foreign_files, overwrite=overwrite)
    refuse()
    prepared = prepare(runs, options)
    with new_folder(out, replace=overwrite, refuse=refuse) as new:
        write_model(new, runs, prepared, int8=options.int8)
    folder = ExportFolder.open(out)
    return Exported(folder, sum(file.stat().st_size for file in out.rglob("*") if file.is_file()), prepared.difference)


class Prepared(NamedTuple):
    """What the export of runs consists of, beside their text and configuration.

    difference: as in `Exported`
    """

    graphs: Graphs
    shortlist: Shortlist | None
    difference: float


def prepare(runs: Sequence[Run], options: ExportOptions) -> Prepared:
    """Make the graphs of runs and compare their results.

    Raises:
        RunError, ConfigError, InputError: as for `export_runs`.
    """
    models = [run.model() for run in runs]
    require_alike(runs)
    shortlist = _shortlist(runs[0], models, options)
    always = None if shortlist is None else shortlist.always
    graphs = make_graphs(models, options.combination, int8=options.int8, always=always)
    return Prepared(graphs, shortlist, _compare(runs, options.combination, OnnxEngine(*graphs, shortlist)))


def write_model(folder: Path, runs: Sequence[Run], prepared: Prepared, *, int8: bool) -> None:
    """Write the files of an exported folder into an empty folder.

    Raises:
        OSError: a file cannot be written.
    """
    (folder / TEXT).mkdir()
    (folder / CONFIG).write_text(dump_config(runs[0].config), encoding="utf-8")
    (folder / ENCODER).write_bytes(prepared.graphs.encoder)
    (folder / STEP).write_bytes(prepared.graphs.step)
    if prepared.shortlist is not None:
        (folder / SHORTLIST).write_bytes(prepared.shortlist.to_bytes())
    if len(runs) == 1 and runs[0].confidence is not None:
        runs[0].confidence.write(folder)
    runs[0].source.save(folder / TEXT, "source")
    runs[0].target.save(folder / TEXT, "target")
    write_manifest(folder, int8=int8, parameters=sum(run.parameters for run in runs))


def make_graphs(
    models: Sequence[TranslationModel],
    combination: EnsembleCombination = ALONE,
    *,
    int8: bool = False,
    always: NDArray[np.integer[Any]] | None = None,
) -> Graphs:
    """Build the graphs of models with the same vocabularies.

    Args:
        int8: quantise embeddings and matrix products, except those of attention.
        always: the words of every shortlist; the graph then has their part of the output layers only.

    Raises:
        ConfigError: a graph is too large for its format.
    """
    first = models[0]
    source, target = (str(table.num_embeddings) for table in (first.source, first.target))
    encoder = encoder_graph(models, int8=int8).serialise(
        {"vocabulary_size": source, "source_eos": str(int(first.source_eos))}
    )
    facts = {"vocabulary_size": target, "attention_shift": str(max(model.attention_shift for model in models))}
    if always is not None:
        facts["always_listed"] = str(len(always))
    return Graphs(encoder, step_graph(models, combination, int8=int8, always=always).serialise(facts))


def require_alike(runs: Sequence[Run]) -> None:
    """Check that runs can be one ensemble in one graph.

    Raises:
        ConfigError: vocabularies or segmentations differ, or only some read EOS after the source.
    """
    names = [str(run.folder.path) for run in runs]
    require_same_target(names, [run.target.vocabulary for run in runs])
    for name, run in zip(names[1:], runs[1:], strict=True):
        if run.source.vocabulary.digest != runs[0].source.vocabulary.digest:
            difference = "their source vocabularies differ"
        elif _segmentation(run) != _segmentation(runs[0]):
            difference = "they segment the source differently"
        elif run.engine.source_eos != runs[0].engine.source_eos:
            difference = "only one of them reads EOS after the source"
        else:
            continue
        raise ConfigError(
            f"{names[0]} and {name} cannot become one exported folder: {difference}; export each by itself and give "
            "`dragoman translate` all the folders, which combines them the same way"
        )


def _segmentation(run: Run) -> dict[str, bytes]:
    """The files of the source side without its vocabulary: name -> bytes."""
    files = sorted(run.folder.text.glob("source.*"))
    return {file.name: file.read_bytes() for file in files if file.suffix != ".vocabulary"}


def _shortlist(run: Run, models: Sequence[TranslationModel], options: ExportOptions) -> Shortlist | None:
    if options.shortlist is None:
        return None
    sizes = len(run.source.vocabulary), len(run.target.vocabulary)
    require_fewer(options.shortlist, sizes[1])
    assert isinstance(run.folder, RunFolder)
    sides = run.source, run.target
    pairs = given_pairs(options.pairs, *sides) if options.pairs else training_pairs(run.folder, *sides)
    placeholders = run.target.placeholders
    return make_shortlist(models, pairs, sizes, options.shortlist, int8=options.int8, placeholders=placeholders)


def _compare(runs: Sequence[Run], combination: EnsembleCombination, exported: OnnxEngine) -> float:
    """The largest difference between log-probabilities of target tokens, in random sentences of many lengths."""
    draw = np.random.default_rng(1)

    def sentences(size: int) -> list[list[int]]:
        return [draw.integers(4, max(size, 5), length).clip(0, size - 1).tolist() for length in (1, 2, 5, 9, 14, 20)]

    sources = sentences(exported.source_vocabulary_size)
    source = pad(sources, eos=exported.source_eos)
    target = pad(sentences(exported.vocabulary_size), eos=True)
    if len(runs) == 1:
        expected = runs[0].engine.force(*source, *target)
    else:
        ensemble = Ensemble([(run.engine, run.source) for run in runs], combination.combination, combination.weights)
        lines = [EncodedLine([Encoded(ids, [], [])] * len(runs), [], []) for ids in sources]
        together = ensemble.batch(lines)
        expected = together.engine.force(together.source, together.lengths, *target)
    refuse_nan(expected.log_probabilities)
    return float(np.abs(exported.force(*source, *target).log_probabilities - expected.log_probabilities).max())
