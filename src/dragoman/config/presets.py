"""The configurations that come with the package: one YAML file for each variant of a paper."""

from __future__ import annotations

from importlib import resources

from dragoman.config.building import build_config, did_you_mean, parse_yaml
from dragoman.config.schema import Config
from dragoman.errors import ConfigError


def preset_names() -> list[str]:
    """The names of the presets that come with the package, sorted."""
    folder = resources.files("dragoman") / "presets"
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def preset_text(name: str) -> str:
    """The YAML of a preset with its comments.

    Raises:
        ConfigError: there is no preset of that name.
    """
    names = preset_names()
    if name not in names:
        raise ConfigError(f"no preset named {name!r}{did_you_mean(name, names)}; presets: {', '.join(names)}")
    return (resources.files("dragoman") / "presets" / f"{name}.yaml").read_text(encoding="utf-8")


def load_preset(name: str) -> Config:
    """A preset as a complete configuration.

    Raises:
        ConfigError: there is no preset of that name.
    """
    return build_config({**parse_yaml(preset_text(name), f"preset {name}"), "preset": name}, f"preset {name}")
