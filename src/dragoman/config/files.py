"""Configuration files: read over a preset or over the defaults, and written out complete."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel

from dragoman.config.building import build_config, merge, parse_yaml
from dragoman.config.presets import load_preset, preset_names
from dragoman.config.schema import FORMAT, Config
from dragoman.errors import ConfigError


def load_config(path: Path, base: Config | None = None) -> Config:
    """A configuration file, over the defaults or over `base`.

    Raises:
        ConfigError: unreadable, not YAML, an unknown key, a value of the wrong type or range, a newer format.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(f"{path}: cannot read the configuration: {reason}") from None
    values = parse_yaml(text, str(path))
    version = values.get("format", FORMAT)
    if isinstance(version, int) and version > FORMAT:
        raise ConfigError(
            f"{path}: configuration format {version} is newer than this version of dragoman reads ({FORMAT}); "
            "upgrade dragoman"
        )
    preset = values.get("preset")
    if (
        base is None
        and isinstance(preset, str)
        and preset in preset_names()
        and set(values) != set(Config.model_fields)
    ):
        base = load_preset(preset)
    if base is not None:
        values = merge(base.model_dump(), values, Config)
    return build_config(values, str(path))


def dump_config(config: Config) -> str:
    """The complete configuration as YAML, each value with the comment that explains it."""
    lines = ["# A dragoman configuration, complete: every default written out."]
    _dump_section(config, 0, lines)
    return "\n".join(lines) + "\n"


def _dump_section(section: BaseModel, depth: int, lines: list[str]) -> None:
    indent = "  " * depth
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            lines.append(f"{indent}{name}:")
            _dump_section(value, depth + 1, lines)
            continue
        shown = yaml.safe_dump(list(value) if isinstance(value, tuple) else value, default_flow_style=True, width=10**6)
        entry = f"{indent}{name}: {shown.removesuffix(chr(10)).removesuffix('...').strip()}"
        notes = [note for note in (_choices(field.annotation), field.description) if note]
        lines.append(f"{entry:<34}  # {'; '.join(notes)}" if notes else entry)


def _choices(annotation: Any) -> str:
    options = get_args(annotation)
    return " | ".join(options) if options and all(isinstance(option, str) for option in options) else ""
