"""The presets of the package: one YAML file for each variant of a paper.

A file with `preset: OTHER` is based on OTHER and contains only the values that differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from importlib import resources
from typing import Any

import yaml

from dragoman.config.building import build_config, merge, parse_yaml
from dragoman.config.schema import Config
from dragoman.errors import ConfigError, did_you_mean


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
        raise ConfigError(f"no preset named {name!r}{did_you_mean(name, names, 3)}; `dragoman presets` lists all")
    return (resources.files("dragoman") / "presets" / f"{name}.yaml").read_text(encoding="utf-8")


def preset_title(name: str) -> str:
    """The one-line description of a preset: the first comment of its file.

    Raises:
        ConfigError: there is no preset of that name.
    """
    return preset_text(name).partition("\n")[0].removeprefix("#").strip()


def load_preset(name: str) -> Config:
    """A preset as a complete configuration.

    Args:
        name: one that `dragoman presets` lists.

    Returns:
        the configuration.

    Raises:
        ConfigError: there is no preset of that name.

    >>> dragoman.load_preset("bahdanau2015").model.attention.score
    'additive'
    """
    values: dict[str, Any] = {}
    for layer in reversed(lineage(name)):
        values = merge(values, _own_values(layer), Config)
    return build_config({**values, "preset": name}, f"preset {name}")


def lineage(name: str) -> list[str]:
    """A preset, the preset it is based on, and so on.

    Raises:
        ConfigError: one of them does not exist, or they are based on each other in a cycle.
    """
    names: list[str] = []
    below: str | None = name
    while below is not None:
        if below in names:
            raise ConfigError(
                f"preset {name}: presets are based on each other in a cycle: {' -> '.join((*names, below))}"
            )
        names.append(below)
        below = _own_values(below).get("preset")
    return names


def families() -> list[list[str]]:
    """All presets: the general ones, then those of each paper, each after the one that it is based on."""
    by_root: dict[tuple[str, str], list[list[str]]] = {}
    for descent in (lineage(name)[::-1] for name in preset_names()):
        year = "".join(filter(str.isdigit, descent[0]))
        by_root.setdefault((year, descent[0] if year else ""), []).append(descent)
    listed = [[descent[-1] for descent in sorted(family)] for _, family in sorted(by_root.items())]
    listed[0].sort(key=lambda name: name != "demo")  # what a newcomer tries first
    return listed


def preset_comments(name: str) -> dict[str, str]:
    """The comments at the end of the lines of a preset and of those that it is based on, by dotted key.

    Raises:
        ConfigError: there is no preset of that name.
    """
    comments: dict[str, str] = {}
    for layer in reversed(lineage(name)):
        text = preset_text(layer)
        comments.update(_comments(yaml.compose(text), text.splitlines()))
    return {key: comment for key, comment in comments.items() if comment}


def _comments(node: yaml.Node | None, lines: list[str], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Keys of values with the comment on their line; "" where there is none, which hides one from below."""
    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        if isinstance(value, yaml.MappingNode):
            yield from _comments(value, lines, f"{prefix}{key.value}.")
        else:
            yield f"{prefix}{key.value}", lines[key.start_mark.line].partition(" # ")[2].strip()


def _own_values(name: str) -> dict[str, Any]:
    """The values in the file of a preset, without those it is based on."""
    return deepcopy(_parsed(name, preset_text(name)))


@cache
def _parsed(name: str, text: str) -> dict[str, Any]:
    """The values of a preset's text; parsed once, because a preset is read again for each one that is based on it."""
    return parse_yaml(text, f"preset {name}")
