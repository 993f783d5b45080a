"""A trained run, opened: its configuration, both text sides, and its model behind a search engine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dragoman.config.schema import Config, SearchConfig
from dragoman.folder import RunFolder
from dragoman.model.devices import DeviceName, choose_device
from dragoman.model.translation import TranslationModel, build
from dragoman.model.weights import load_weights, restore_weights
from dragoman.scoring.forced import Scorer
from dragoman.search.sampling import Sampling
from dragoman.search.torch_engine import TorchEngine
from dragoman.search.translator import Translator
from dragoman.text.side import TextSide


@dataclass(frozen=True)
class Run:
    """What a run folder holds, ready to use."""

    folder: RunFolder
    config: Config
    source: TextSide
    target: TextSide
    engine: TorchEngine

    @property
    def parameters(self) -> int:
        """Numbers that were learnt."""
        return parameters(self.engine.model)

    def scorer(self) -> Scorer:
        """The probability and the alignment of given translations."""
        return Scorer(self.engine, self.source, self.target)

    def translator(self, search: SearchConfig | None = None, sampling: Sampling | None = None) -> Translator:
        """Raw lines to translations, by the run's own search settings unless others are given."""
        return Translator(self.engine, self.source, self.target, search or self.config.search, sampling=sampling)


def parameters(model: TranslationModel) -> int:
    """Numbers that are learnt; a matrix that serves twice counts once."""
    return sum(parameter.numel() for parameter in model.parameters())


def open_run(path: str | Path, *, device: DeviceName = "auto") -> Run:
    """Open a run folder for translating and scoring.

    Raises:
        RunError: the folder does not exist, lacks a part, is of a newer format, or its weights are damaged.
        ConfigError: a GPU is asked for and there is none.
    """
    place = choose_device(device)
    folder = RunFolder.open(path)
    config, source, target = folder.load_config(), folder.source_side(), folder.target_side()
    model = build(config.model, len(source.vocabulary), len(target.vocabulary))
    restore_weights(model, load_weights(folder.weights), folder.weights)
    return Run(folder, config, source, target, TorchEngine(model.to(place).eval()))


def load(path: str | Path, *, device: DeviceName = "auto") -> Translator:
    """The translator of a run folder, as its configuration has it.

    Raises:
        RunError, ConfigError: as for `open_run`.
    """
    return open_run(path, device=device).translator()
