"""The configurations that come with the package: one YAML file for each variant of a paper.

A file that says `preset: OTHER` holds only what differs from OTHER; its values stand over OTHER's.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

from dragoman.config.building import build_config, did_you_mean, merge, parse_yaml
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
    return build_config(_values(name), f"preset {name}")


def _values(name: str, above: tuple[str, ...] = ()) -> dict[str, Any]:
    """The nested values of a preset, over those of the presets it stands on."""
    if name in above:
        raise ConfigError(f"preset {name}: presets stand on each other in a circle: {' on '.join((*above, name))}")
    values = parse_yaml(preset_text(name), f"preset {name}")
    below = _values(values["preset"], (*above, name)) if "preset" in values else {}
    return {**merge(below, values, Config), "preset": name}
