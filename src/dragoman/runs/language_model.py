"""Opening a trained language model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dragoman.config.building import merge
from dragoman.config.files import read_values
from dragoman.config.language_model import LANGUAGE_MODEL, LanguageConfig, build_language_config
from dragoman.errors import ConfigError, RunError
from dragoman.model.assembly import assemble_language_model
from dragoman.model.devices import choose_device, set_threads
from dragoman.model.language_model import LanguageModel
from dragoman.model.weights import load_weights, restore_weights
from dragoman.runs.layout import RunFolder
from dragoman.scoring.language_model import LanguageModelScorer
from dragoman.systems import DeviceName
from dragoman.text.side import TextSide


@dataclass(frozen=True)
class LanguageRun:
    """The contents of a language model's run folder, ready to use; its text side is a target side."""

    folder: RunFolder
    config: LanguageConfig
    side: TextSide
    model: LanguageModel

    def scorer(self) -> LanguageModelScorer:
        """Scores given lines."""
        return LanguageModelScorer(self.model, self.side)


def read_language_config(path: Path) -> LanguageConfig:
    """A configuration file of a language model, or part of one.

    Raises:
        ConfigError: unreadable, of another kind, an unknown key, a value of the wrong type or range, a newer format.
    """
    values = read_values(path)
    if values.get("kind", LANGUAGE_MODEL) != LANGUAGE_MODEL:
        raise ConfigError(f"{path}: kind is {values['kind']!r}, but must be {LANGUAGE_MODEL!r} for a language model")
    return build_language_config(merge(LanguageConfig().values(), values, LanguageConfig), str(path))


def existing_language_folder(path: str | Path) -> tuple[RunFolder, LanguageConfig]:
    """The folder of a language model, whether or not its training is finished, and its configuration.

    Raises:
        RunError: the folder does not exist, a part is missing, or it is the run of a translation model.
    """
    folder = RunFolder.existing(path)
    try:
        if read_values(folder.config).get("kind") != LANGUAGE_MODEL:
            raise RunError(f"{path}: is a translation model, not a language model; train one with `dragoman lm train`")
        return folder, read_language_config(folder.config)
    except ConfigError as error:
        raise RunError(str(error)) from None


def open_language_run(path: str | Path, *, device: DeviceName = "auto", threads: int | None = None) -> LanguageRun:
    """Open the run folder of a language model for scoring; `threads` None is one for each core.

    Raises:
        RunError: the folder does not exist, lacks a part, is of another kind or a newer format, or is damaged.
        ConfigError: a GPU is requested but not available.
    """
    folder, config = existing_language_folder(path)
    folder.require_weights()
    side = folder.target_side()
    chosen_device = choose_device(device)
    set_threads(threads)
    model = assemble_language_model(config.model, len(side.vocabulary))
    restore_weights(model, load_weights(folder.weights), folder.weights)
    return LanguageRun(folder, config, side, model.to(chosen_device).eval())
