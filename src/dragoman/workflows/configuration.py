"""From what a request says to a complete configuration: preset or file or run, changes, languages, length.

Configurations are written as files, and their models described.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dragoman.config.building import override
from dragoman.config.files import dump_config, load_config, value_at
from dragoman.config.fine_tuning import fine_tuning
from dragoman.config.presets import load_preset, preset_names
from dragoman.config.scaling import scale, scaled_values
from dragoman.config.schema import Config, TrainingConfig
from dragoman.corpora.pair_files import files_of
from dragoman.corpora.pairs import as_paths
from dragoman.errors import ConfigError, OptionError
from dragoman.progress import Console
from dragoman.requests.shared import Corpora
from dragoman.requests.training import (
    ConfigChanges,
    ConfigurationRequest,
    DescriptionRequest,
    ModelConfiguration,
    TrainingRequest,
)
from dragoman.runs.layout import RunFolder

if TYPE_CHECKING:
    from dragoman.model.description import Description


def resolve(request: TrainingRequest, console: Console, *, resume: bool) -> Config:
    """The configuration that a request asks for.

    The file, then the options change the configuration of the preset. A resumed run starts from its own configuration
    instead, a fine-tuned run from that of the trained run. Without any of these the text decides.

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
    if not resume or (model.changes.scale is not None and request.text.train):  # the command that began the run
        return config_for_text(request.text.train, console)
    if model.changes.scale is not None:
        raise OptionError("{option} cannot change the sizes of an existing run; leave it out with {resume}", "scale")
    from dragoman.runs.opening import resumed_folder

    return resumed_folder(request.run.out).load_config()


def _fine_tuning_config(model: ModelConfiguration, trained: str) -> Config:
    """The configuration of the trained run for fine-tuning, changed by the file."""
    from dragoman.runs.opening import trained_folder

    for option, value in (("preset", model.preset), ("scale", model.changes.scale)):
        if value is not None:
            message = "{option} cannot be combined with --from, which takes the model of RUN; leave it out"
            raise OptionError(message, option)
    config = fine_tuning(trained_folder(trained).load_config())
    return config if model.config is None else load_config(model.config, config)


def config_for_text(corpora: Corpora, console: Console, *, always_say: bool = False) -> Config:
    """The preset that fits a training text, and a line for the user on what is unusual; with `always_say` also on the
    usual.

    Raises:
        InputError: the files cannot be read.
    """
    from dragoman.workflows.preset_choice import USUAL, choose_preset

    choice = choose_preset(as_paths(corpora))
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


def configuration_file(request: ConfigurationRequest) -> str:
    """The complete configuration of a preset, or of what training chooses for a text, with notes on what was scaled.

    Raises:
        ConfigError, InputError: as for `changed` and `config_for_text`, or there is no such preset or file.
    """
    console, changes = Console(quiet=request.general.quiet), request.changes
    preset = _requested_preset(request, console)
    made_small = scaled(preset, changes)
    config = override(made_small, [*changes.set, *request.length.settings])
    if request.train:
        console.info(f"length: {_length(config.training)}")
    values = [] if changes.scale is None else scaled_values(preset, made_small, changes.scale)
    notes = {key: note for key, note in values if value_at(config, key) == value_at(made_small, key)}
    return dump_config(config, notes)


def _requested_preset(request: ConfigurationRequest, console: Console) -> Config:
    if request.preset is not None:
        return load_preset(request.preset)
    for path in files_of(as_paths(request.train)):
        if not path.is_file():  # nor a pipe: the choice looks at regular files only
            raise ConfigError(f"--train: {path} is not a file")
    return config_for_text(request.train, console, always_say=True)


def _length(config: TrainingConfig) -> str:
    """How long a training is, in words."""
    length = f"{config.epochs:g} epochs" if config.updates is None else f"{config.updates:,} updates"
    if config.minutes is None:
        return length
    return f"{length} or {config.minutes:g} minutes, whichever ends first"


class DescribedModel(NamedTuple):
    """A model without parameters, and the sizes of its vocabularies."""

    config: Config
    vocabularies: tuple[int, int]
    description: Description


def describe_model(request: DescriptionRequest) -> DescribedModel:
    """Describe the model of a preset, else of the run folder or configuration file at a path.

    The sizes of the vocabularies are those of the request or the run, else the largest that the configuration allows.

    Raises:
        ConfigError, RunError: there is no such preset, file or folder, or it cannot be read or changed.
    """
    from dragoman.model.description import describe

    base, sizes = _find(request.what)
    config = changed(base, request.changes)
    text = config.text
    largest = text.source.vocabulary, (text.source if text.joint else text.target).vocabulary
    source, target = request.vocabulary or sizes or largest
    return DescribedModel(config, (source, target), describe(config.model, source, target))


def _find(what: str) -> tuple[Config, tuple[int, int] | None]:
    """The configuration of that name or path, and the sizes of the vocabularies of a run."""
    path = Path(what)
    if what not in preset_names() and path.is_dir():
        folder = RunFolder(path)
        return folder.load_config(), (len(folder.source_side().vocabulary), len(folder.target_side().vocabulary))
    if what not in preset_names() and (path.exists() or path.suffix in (".yaml", ".yml")):
        return load_config(path), None
    try:
        return load_preset(what), None
    except ConfigError as error:
        raise ConfigError(f"no file or folder {what}, and {error}") from None
