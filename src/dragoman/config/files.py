"""Configuration files: read over a preset or the defaults, and written complete."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from dragoman.config.building import build_config, merge, parse_yaml
from dragoman.config.language_model import LANGUAGE_MODEL, LanguageConfig
from dragoman.config.presets import load_preset, preset_comments, preset_names, preset_title
from dragoman.config.schema import FORMAT, Config
from dragoman.config.section import Section, keys_of
from dragoman.config.yaml_values import read_yaml_text
from dragoman.errors import ConfigError


def load_config(path: str | Path, base: Config | None = None) -> Config:
    """A configuration file, over the defaults or over `base`.

    Args:
        path: a YAML file; it needs only the keys that differ.
        base: the values of all other keys; None for the preset that the file names, or the defaults.

    Returns:
        the complete configuration, checked.

    Raises:
        ConfigError: unreadable, not YAML, an unknown key, a value of the wrong type or range, another format.

    >>> dragoman.load_config("small.yaml").model.encoder.size
    24
    """
    path = Path(path)
    values = read_values(path)
    if values.get("kind") == LANGUAGE_MODEL:
        raise ConfigError(f"{path}: this is the configuration of a language model, which cannot translate")
    if set(values) != set(keys_of(Config)):  # a complete file does not need its preset, which may have been removed
        base = base or _named_preset(values.get("preset"), path)
        if base is not None:
            values = merge(base.values(), {**values, "preset": base.preset}, Config)
    return build_config(values, str(path))


def read_values(path: Path) -> dict[str, Any]:
    """Read a configuration file of any kind; only its format number is checked.

    Raises:
        ConfigError: unreadable, not YAML, a newer format.
    """
    values = parse_yaml(read_yaml_text(path, "the configuration"), str(path))
    version = values.get("format", FORMAT)
    if isinstance(version, int) and version > FORMAT:
        raise ConfigError(
            f"{path}: configuration format {version} is newer than this version of dragoman reads ({FORMAT}); "
            "upgrade dragoman"
        )
    if isinstance(version, int) and version < FORMAT:
        raise ConfigError(
            f"{path}: configuration format {version} is from an earlier version of dragoman, whose keys had other "
            f"names (this one reads format {FORMAT}); train the model again"
        )
    return values


def _named_preset(name: object, path: Path) -> Config | None:
    if not isinstance(name, str) or not name:
        return None
    try:
        return load_preset(name)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def dump_config(config: Config | LanguageConfig, notes: Mapping[str, str] | None = None) -> str:
    """The complete configuration as YAML, each key with its description.

    Values equal to those of the preset carry the comment of the preset in brackets; `notes`, by dotted key, take the
    place of such comments.
    """
    lines = ["# A dragoman configuration, complete: every default written out."]
    own: dict[str, str] = {}
    if isinstance(config, Config) and config.preset in preset_names():
        preset, comments = load_preset(config.preset), preset_comments(config.preset)
        own = {key: comment for key, comment in comments.items() if value_at(config, key) == value_at(preset, key)}
        lines.append(f"# Preset {config.preset}: {preset_title(config.preset)}")
        lines.append("# In brackets: the preset's comment on its value, with sections of the paper.")
    _dump_section(config, "", {**own, **(notes or {})}, lines)
    return "\n".join(lines) + "\n"


def value_at(config: Config, key: str) -> Any:
    """The value of a dotted key."""
    value: Any = config
    for name in key.split("."):
        value = getattr(value, name)
    return value


def _dump_section(section: Section, prefix: str, own: dict[str, str], lines: list[str]) -> None:
    indent = "  " * prefix.count(".")
    for name, key in keys_of(type(section)).items():
        value = getattr(section, name)
        if isinstance(value, Section):
            lines.append(f"{indent}{name}:")
            _dump_section(value, f"{prefix}{name}.", own, lines)
            continue
        shown = yaml.safe_dump(list(value) if isinstance(value, tuple) else value, default_flow_style=True, width=10**6)
        entry = f"{indent}{name}: {shown.removesuffix(chr(10)).removesuffix('...').strip()}"
        meaning = "; ".join(note for note in (" | ".join(key.choices), key.description) if note)
        comment = own.get(f"{prefix}{name}")
        notes = [note for note in (f"[{comment}]" if comment else "", meaning) if note]
        lines.append(f"{entry:<34}  # {' '.join(notes)}" if notes else entry)
