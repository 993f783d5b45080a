"""Opening runs and exported folders: configuration, text sides, and an engine for the model.

An exported folder opens like a run folder but without torch, which is imported only where it is used.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dragoman.alignment.symmetrize import DEFAULT_METHOD, SymmetrizationMethod
from dragoman.config.sampling import Sampling
from dragoman.config.schema import Config, SearchConfig
from dragoman.corpora.reading import current_reading
from dragoman.engines.protocol import Engine
from dragoman.errors import ConfigError, RunError
from dragoman.requests.shared import ANYWHERE, ONE_MODEL, Compute, EnsembleOptions
from dragoman.runs.exported import ExportFolder, is_export
from dragoman.runs.layout import RunFolder
from dragoman.scoring.scorer import Aligner, Scorer
from dragoman.systems import DeviceName
from dragoman.text.folders import restore_folder
from dragoman.text.side import TextSide
from dragoman.text.words import AlignmentUnit
from dragoman.translation.confidence import ConfidenceModel, read_confidence
from dragoman.translation.ensemble import Ensemble, require_same_segmentation, require_same_target
from dragoman.translation.options import changed_search, require_attention, require_threads
from dragoman.translation.translator import Translator

if TYPE_CHECKING:
    from dragoman.model.translation import TranslationModel


Kind = TypeVar("Kind", bound=Translator)


@dataclass(frozen=True)
class Run:
    """The contents of a run folder or an exported folder, ready to use; `dragoman.open_run` makes one.

    >>> run = dragoman.open_run("RUN")
    >>> run.config.text.source.segmentation, run.parameters > 1000
    ('characters', True)
    """

    folder: RunFolder | ExportFolder
    config: Config
    source: TextSide
    target: TextSide
    engine: Engine
    parameters: int
    """Trained parameters; a matrix that is shared counts once."""
    confidence: ConfidenceModel | None = None
    """Says how far translations can be trusted; None for a run that has not been calibrated."""

    def model(self) -> TranslationModel:
        """The torch model of a run folder.

        Raises:
            ConfigError: the folder was exported, so that it has no torch model.
        """
        if isinstance(self.folder, ExportFolder):
            raise ConfigError(f"{self.folder.path}: is an exported folder without a torch model; give the run folder")

        from dragoman.engines.torch_engine import TorchEngine

        assert isinstance(self.engine, TorchEngine)
        return self.engine.model

    def with_weights(self, packed: bytes) -> Run:
        """The same run with a model of other weights, which `packed_weights` has packed; this one stays as it is.

        Raises:
            ConfigError: as for `model`.
            RunError: they do not fit the model.
        """
        from dragoman.engines.torch_engine import TorchEngine
        from dragoman.model.weights import restore_weights, unpacked_weights

        model = copy.deepcopy(self.model())
        restore_weights(model, unpacked_weights(packed), self.folder.path)
        return replace(self, engine=TorchEngine(model))

    def scorer(self) -> Scorer:
        """Scores and aligns given translations.

        >>> [scored] = dragoman.open_run("RUN").scorer().score([("ab", "AB")])
        >>> scored.alignment
        [(0, 0)]
        """
        return Scorer(self.engine, self.source, self.target)

    def translator(self, search: SearchConfig | None = None, sampling: Sampling | None = None) -> Translator:
        """Translates raw lines, with the search settings of the run unless others are given.

        >>> dragoman.open_run("RUN").translator(dragoman.SearchConfig(beam=2)).translate("ab").text
        'AB'
        """
        search = search or self.config.search
        return Translator(self.engine, self.source, self.target, search, sampling, confidence=self.confidence)


def open_run(
    path: str | Path, *, device: DeviceName = "auto", threads: int | None = None, shortlist: bool = True
) -> Run:
    """Open a run folder or an exported folder for translating and scoring.

    In a block of `reading_corpora` without languages, those of the first run put the two sides of pairs into order.

    Args:
        path: the folder.
        device: "cpu", "cuda", or "auto" for the GPU if there is one.
        threads: CPU threads; None for one per core.
        shortlist: False ignores the shortlist of an exported folder, so that all target words are scored.

    Returns:
        the run with its parts: configuration, text sides, engine; `translator()` and `scorer()` use them.

    Raises:
        RunError: the folder does not exist, lacks a part, has a newer format, or is damaged.
        ConfigError: a GPU is requested but not available, or requested for an exported folder, which runs on the CPU;
            `threads` is not positive.

    >>> run = dragoman.open_run("RUN")
    >>> run.config.model.encoder.size
    24
    >>> [scored] = run.scorer().score([("ab c", "AB C")])
    >>> scored.log_probability < 0
    True
    """
    require_threads(threads)
    restore_folder(Path(path))
    if is_export(path):
        run = _open_exported(path, device, threads, shortlist=shortlist)
    else:
        run = _open_trained(path, device, threads)
    current_reading().expect(run.config.text)
    return run


def trained_folder(path: str | Path) -> RunFolder:
    """The run folder of a trained model that is trained further; its weights are not read.

    Raises:
        RunError: it is an exported folder, no run folder, or a run without weights.
    """
    _refuse_export(path)
    return RunFolder.open(path)


def resumed_folder(path: str | Path) -> RunFolder:
    """The run folder of a training that is resumed.

    Raises:
        RunError: it is an exported folder, or as for `RunFolder.resume`.
    """
    _refuse_export(path)
    return RunFolder.resume(path)


def _refuse_export(path: str | Path) -> None:
    if is_export(path):
        raise RunError(f"{path}: is an exported folder, which cannot be trained; give the run it was exported from")


def _open_trained(path: str | Path, device: DeviceName, threads: int | None) -> Run:
    folder = RunFolder.existing(path)
    config = folder.load_config()
    folder.require_weights()
    source, target = folder.source_side(), folder.target_side()

    from dragoman.engines.torch_engine import TorchEngine
    from dragoman.model.assembly import assemble
    from dragoman.model.devices import choose_device, set_threads
    from dragoman.model.weights import load_weights, parameter_count, restore_weights

    chosen_device = choose_device(device)
    set_threads(threads)
    model = assemble(config.model, len(source.vocabulary), len(target.vocabulary))
    restore_weights(model, load_weights(folder.weights), folder.weights)
    engine = TorchEngine(model.to(chosen_device).eval())
    return Run(folder, config, source, target, engine, parameter_count(model), read_confidence(folder.path))


def _open_exported(path: str | Path, device: DeviceName, threads: int | None, *, shortlist: bool) -> Run:
    if device == "cuda":
        raise ConfigError(f"--device cuda: {path} is an exported folder, which runs on the CPU; give the run folder")
    # Two threads: digests are checked during the imports, then graphs are loaded while text and configuration are read.
    with ThreadPoolExecutor(1) as beside:
        opening = beside.submit(ExportFolder.open, path)

        from dragoman.engines.onnx_engine import OnnxEngine
        from dragoman.engines.shortlist import Shortlist

        folder = opening.result()
        listing = None if folder.shortlist is None else Shortlist.from_bytes(folder.shortlist)
        starting = beside.submit(OnnxEngine, folder.encoder, folder.step, listing, threads=threads)
        config, source, target = folder.load_config(), folder.source_side(), folder.target_side()
        engine = starting.result()
    engine = engine if shortlist else engine.full_vocabulary()
    for side, size, text in (
        ("source", engine.source_vocabulary_size, source),
        ("target", engine.vocabulary_size, target),
    ):
        if size != len(text.vocabulary):
            raise RunError(
                f"{path}: the model knows {size} {side} symbols and the vocabulary in text/ has "
                f"{len(text.vocabulary)}; they do not belong to the same run; export the run again"
            )
    return Run(folder, config, source, target, engine, folder.parameters, read_confidence(folder.path))


@dataclass(frozen=True)
class OpenedModels:
    """A run, or the members of an ensemble; `open_models` makes one."""

    names: Sequence[str]
    runs: Sequence[Run]
    ensemble: EnsembleOptions = ONE_MODEL

    @property
    def first(self) -> Run:
        """The run whose configuration has the defaults."""
        return self.runs[0]

    def translator(self, search: Mapping[str, Any] | None = None) -> Translator:
        """The translator, which searches as the first run is configured, except for the keys of `search`.

        Raises:
            ConfigError: the runs have different target vocabularies, there is not one weight per run, or a key has a
                wrong value, no effect, or needs attention that the models lack.
        """
        return self.translator_of(Translator, search)

    def translator_of(self, kind: type[Kind], search: Mapping[str, Any] | None = None) -> Kind:
        """The translator, of a class; otherwise as `translator`."""
        search, first = search or {}, self.first
        self.require_attention(search)
        settings = changed_search(first.config.search, search)
        if len(self.runs) == 1:
            self._require_one_weight()
            return kind(first.engine, first.source, first.target, settings, confidence=first.confidence)
        return kind.of_ensemble(self._ensemble(), first.target, settings)

    def require_attention(self, options: Mapping[str, Any]) -> None:
        """Refuse options that need attention if no model has any.

        Raises:
            OptionError: the message names the option and the first run.
        """
        if not any(run.engine.attends for run in self.runs):
            require_attention(options, f"the model of {self.names[0]}")

    def scorer(self) -> Scorer:
        """The scorer.

        Raises:
            ConfigError: the runs differ in target vocabulary or segmentation, or there is not one weight per run.
        """
        if len(self.runs) == 1:
            self._require_one_weight()
            return self.first.scorer()
        require_same_segmentation(self.names, [run.target for run in self.runs])
        return Scorer.of_ensemble(self._ensemble(), self.first.target)

    def _require_one_weight(self) -> None:
        weights = self.ensemble.weights
        if weights is not None and len(weights) != 1:
            raise ConfigError(f"weights: {len(weights)} weights for 1 run; give one per run")

    def _ensemble(self) -> Ensemble:
        require_same_target(self.names, [run.target.vocabulary for run in self.runs])
        members = [(run.engine, run.source) for run in self.runs]
        return Ensemble(members, self.ensemble.combine or "probabilities", self.ensemble.weights)


def open_models(
    names: Sequence[str],
    ensemble: EnsembleOptions = ONE_MODEL,
    compute: Compute = ANYWHERE,
    *,
    shortlist: bool = True,
) -> OpenedModels:
    """Open one run, or several that form an ensemble; errors as for `open_run`."""
    runs = [open_run(name, device=compute.device, threads=compute.threads, shortlist=shortlist) for name in names]
    return OpenedModels(names, runs, ensemble)


def make_aligner(
    forward: OpenedModels,
    backward: OpenedModels | None = None,
    *,
    unit: AlignmentUnit = "words",
    threshold: float | None = None,
    symmetrization: SymmetrizationMethod = DEFAULT_METHOD,
) -> Aligner:
    """The aligner of models, and of models of the opposite direction if there are any.

    Raises:
        ConfigError: models have no attention, or do not fit together.
    """
    return Aligner(
        _attending_scorer(forward),
        None if backward is None else _attending_scorer(backward),
        unit=unit,
        threshold=threshold,
        symmetrization=symmetrization,
    )


def _attending_scorer(models: OpenedModels) -> Scorer:
    scorer = models.scorer()
    if not scorer.attends:
        raise ConfigError(f"the model of {models.names[0]} has no attention, so it cannot align")
    return scorer
