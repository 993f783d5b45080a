"""From what a request says to a complete configuration: preset or file or run, changes, languages, length."""

from __future__ import annotations

from pathlib import Path

from dragoman.config.building import override
from dragoman.config.files import load_config
from dragoman.config.fine_tuning import fine_tuning
from dragoman.config.presets import load_preset
from dragoman.config.scaling import scale
from dragoman.config.schema import Config
from dragoman.errors import OptionError
from dragoman.progress import Console
from dragoman.requests.shared import Corpora
from dragoman.requests.training import ConfigChanges, ModelConfiguration, TrainingRequest
from dragoman.runs.layout import RunFolder


def resolve(request: TrainingRequest, console: Console, *, resume: bool) -> Config:
    """The configuration that a training is asked to have.

    It is that of the preset, with the file and then the options over it; a resumed run starts from its own, and a
    fine-tuned one from that of the trained run. Without any of these the text decides.

    Raises:
        ConfigError: an unknown key, a value of the wrong type or range, options that exclude each other.
        InputError, RunError: a file or a run cannot be read.
    """
    config = changed(_base(request, console, resume=resume), request.model.changes)
    sides = zip(("source", "target"), request.text.languages or (), strict=False)
    languages = [f'text.{side}.language="{code}"' for side, code in sides]  # in YAML no, Norwegian, is false
    mix = [] if request.text.mix is None else [f"training.mix.weights={list(request.text.mix)}"]
    return override(config, [*languages, *mix, *request.run.length.settings])


def _base(request: TrainingRequest, console: Console, *, resume: bool) -> Config:
    model = request.model
    if model.start_from is not None and not resume:
        return _fine_tuning_config(model, model.start_from)
    if model.config is not None:
        return load_config(model.config, load_preset(model.preset) if model.preset else None)
    if model.preset is not None:
        return load_preset(model.preset)
    if not resume:
        return config_for_text(request.text.train, console)
    if model.changes.scale is not None:
        raise OptionError("{option} cannot change the sizes of an existing run; leave it out with {resume}", "scale")
    return RunFolder.resume(request.run.out).load_config()


def _fine_tuning_config(model: ModelConfiguration, trained: str) -> Config:
    """The configuration of the trained run for fine-tuning, with that of the file over it."""
    from dragoman.runs.opening import trained_folder

    for option, value in (("preset", model.preset), ("scale", model.changes.scale)):
        if value is not None:
            message = "{option} cannot be combined with --from, which takes the model of RUN; leave it out"
            raise OptionError(message, option)
    config = fine_tuning(trained_folder(trained).load_config())
    return config if model.config is None else load_config(model.config, config)


def config_for_text(corpora: Corpora, console: Console, *, always_say: bool = False) -> Config:
    """The preset that fits a training text, and for the user a line on what is unusual; `always_say`: or usual.

    Raises:
        InputError: the files cannot be read.
    """
    from dragoman.workflows.preset_choice import USUAL, choose_preset

    choice = choose_preset([[Path(name) for name in files] for files in corpora])
    if choice.line or always_say:
        console.info(choice.line or USUAL)
    return override(load_preset(choice.preset), choice.settings)


def changed(config: Config, changes: ConfigChanges) -> Config:
    """The configuration after `scale`, `sizes_only` and `set`.

    Raises:
        ConfigError: an unknown key, a value of the wrong type or range, sizes that do not fit after rounding.
    """
    return override(scaled(config, changes), changes.set)


def scaled(config: Config, changes: ConfigChanges) -> Config:
    """The configuration after `scale` alone.

    Raises:
        ConfigError: sizes that do not fit after rounding.
    """
    return config if changes.scale is None else scale(config, changes.scale, sizes_only=changes.sizes_only)
