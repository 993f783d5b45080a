"""Opening runs and exported folders: configuration, text sides, and an engine for the model.

An exported folder opens like a run folder but without torch, which is imported only where it is used.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.config.schema import Config, SearchConfig
from dragoman.engines.protocol import Engine
from dragoman.errors import ConfigError, RunError
from dragoman.runs.exported import ExportFolder, is_export
from dragoman.runs.layout import RunFolder
from dragoman.scoring.scorer import Scorer
from dragoman.search.sampling import Sampling
from dragoman.text.side import TextSide
from dragoman.translation.translator import Translator

if TYPE_CHECKING:
    from dragoman.model.devices import DeviceName
    from dragoman.model.translation import TranslationModel


@dataclass(frozen=True)
class Run:
    """The contents of a run folder or an exported folder, ready to use."""

    folder: RunFolder | ExportFolder
    config: Config
    source: TextSide
    target: TextSide
    engine: Engine
    parameters: int
    """Trained parameters; a matrix that is shared counts once."""

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

    def scorer(self) -> Scorer:
        """Scores and aligns given translations."""
        return Scorer(self.engine, self.source, self.target)

    def translator(self, search: SearchConfig | None = None, sampling: Sampling | None = None) -> Translator:
        """Translates raw lines, with the search settings of the run unless others are given."""
        return Translator(self.engine, self.source, self.target, search or self.config.search, sampling=sampling)


def parameters(model: TranslationModel) -> int:
    """The number of trained parameters; tied matrices count once."""
    return sum(parameter.numel() for parameter in model.parameters())


def open_run(
    path: str | Path, *, device: DeviceName = "auto", threads: int | None = None, shortlist: bool = True
) -> Run:
    """Open a run folder or an exported folder for translating and scoring; `threads` None uses one per core.

    Without `shortlist`, the shortlist of an exported folder is ignored, so that all target words are scored.

    Raises:
        RunError: the folder does not exist, lacks a part, has a newer format, or is damaged.
        ConfigError: a GPU is requested but not available, or requested for an exported folder, which runs on the CPU.
    """
    if is_export(path):
        return _open_exported(path, device, threads, shortlist=shortlist)
    return _open_trained(path, device, threads)


def _open_trained(path: str | Path, device: DeviceName, threads: int | None) -> Run:
    folder = RunFolder.existing(path)
    config = folder.load_config()
    folder.require_weights()
    source, target = folder.source_side(), folder.target_side()

    from dragoman.engines.torch_engine import TorchEngine
    from dragoman.model.assembly import assemble
    from dragoman.model.devices import choose_device, set_threads
    from dragoman.model.weights import load_weights, restore_weights

    place = choose_device(device)
    set_threads(threads)
    model = assemble(config.model, len(source.vocabulary), len(target.vocabulary))
    restore_weights(model, load_weights(folder.weights), folder.weights)
    return Run(folder, config, source, target, TorchEngine(model.to(place).eval()), parameters(model))


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
    return Run(folder, config, source, target, engine, folder.parameters)


def load(path: str | Path, *, device: DeviceName = "auto") -> Translator:
    """The translator of a run folder or an exported folder, with the search settings of its configuration.

    Raises:
        RunError, ConfigError: as for `open_run`.
    """
    return open_run(path, device=device).translator()
