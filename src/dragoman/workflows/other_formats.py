"""Models in other formats: runs as ONNX graphs or web sites, and checkpoints of other toolkits as runs."""

from __future__ import annotations

from pathlib import Path

from dragoman.export.output_layer import EnsembleCombination
from dragoman.export.writing import Exported, ExportOptions, export_runs
from dragoman.importing.imported_model import write_run
from dragoman.importing.joeynmt import read_joeynmt
from dragoman.importing.opennmt import read_opennmt
from dragoman.progress import Console
from dragoman.requests.models import ExportRequest, ImportRequest
from dragoman.runs.opening import open_run
from dragoman.website.site import Site, export_site


def export_models(request: ExportRequest) -> None:
    """Export runs, and say the size of the folder and its deviation from them.

    Raises:
        ConfigError, InputError, RunError: as for `open_run`, `export_runs` and `export_site`.
    """
    runs = [open_run(name, device="cpu") for name in request.runs]
    int8, out, ensemble, words = request.int8 or request.site.web, Path(request.out), request.ensemble, request.words
    weights = ensemble.weights or [1.0] * len(runs)
    combination = EnsembleCombination(
        ensemble.combine or "probabilities", [weight / sum(weights) for weight in weights]
    )
    options = ExportOptions(int8, words.shortlist, [Path(name) for name in words.shortlist_corpus], combination)
    exported: Exported | Site
    if request.site.web:
        exported = export_site(runs, out, options, languages=request.site.languages, overwrite=request.overwrite)
    else:
        exported = export_runs(runs, out, options, overwrite=request.overwrite)
    console = Console(quiet=request.general.quiet)
    kind = "int8 against the float32 of the run" if int8 else "rounding in float32"
    console.info(
        f"largest difference of a log-probability from the run, on random sentences: {exported.difference:.1g} ({kind})"
    )
    if int8:
        console.info("random sentences differ more than text; `dragoman evaluate` compares the quality on text")
    console.info(f"exported: {out} ({exported.bytes / 1e6:.1f} MB)")


def import_model(request: ImportRequest) -> None:
    """Write a checkpoint as a run folder, and say what the user should know of it.

    Raises:
        ConfigError, InputError, RunError: as for `read_joeynmt`, `read_opennmt` and `write_run`.
    """
    checkpoint, files = Path(request.checkpoint), request.joeynmt
    models = request.text.source_model, request.text.target_model
    segmenters = [None if name is None else Path(name) for name in models]
    if request.toolkit == "joeynmt":
        imported = read_joeynmt(
            checkpoint,
            config=None if files.config is None else Path(files.config),
            vocabularies=[Path(name) for name in files.vocabulary],
            segmenters=segmenters,
        )
    else:
        imported = read_opennmt(checkpoint, segmenters=segmenters)
    folder = write_run(imported, checkpoint, Path(request.out), overwrite=request.overwrite)
    console = Console(quiet=request.general.quiet)
    for note in imported.notes:
        console.info(note)
    console.info(f"run: {folder.path}")
