"""Build a checked configuration from YAML and `key=value`, with errors that suggest the intended key."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import msgspec

from dragoman.config.fitting import check, turn_off_unsuitable
from dragoman.config.schema import Config
from dragoman.config.section import Key, Section, keys_of
from dragoman.config.yaml_values import YamlProblem, load_yaml
from dragoman.errors import ConfigError, did_you_mean, nearest, quoted

Schema = TypeVar("Schema", bound=Section)

_MEANINGS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "array": "a list",
    "object": "keys and values",
}
"""The type names of msgspec in the words of error messages."""


SYNONYMS = {
    **dict.fromkeys(("float32", "fp32", "float", "single", "f32", "32"), "fp32"),
    **dict.fromkeys(("bfloat16", "bf16", "bfloat", "bf16-mixed"), "bf16"),
}
"""Other names of values of keys with a choice, by which other toolkits call them, in small letters."""

IMPOSSIBLE = dict.fromkeys(
    ("fp16", "float16", "half", "16", "f16", "16-mixed", "mixed", "amp"),
    "; float16 has too small a range without loss scaling, which is not implemented: use bf16",
)
"""Values that other toolkits have, and what to do in place of them."""


def choose(value: object, choices: Sequence[str]) -> object:
    """Return the choice that a value names, by its own name or another; any other value as it is."""
    meant = SYNONYMS.get(str(value).lower())
    return meant if meant in choices and value not in choices else value


def no_choice(value: object, choices: Sequence[str]) -> str:
    """Return what to say of a value that is no choice: why it is impossible, or the nearest choice; often nothing."""
    reason = IMPOSSIBLE.get(str(value).lower()) if "bf16" in choices else None
    return reason or did_you_mean(str(value), choices)


def build_config(values: Mapping[str, Any], where: str) -> Config:
    """Build a configuration from nested values; missing keys have their defaults.

    Raises:
        ConfigError: an unknown key, a value of the wrong type or range, incompatible parts.
    """
    return validated(values, where, Config, check)


def validated(values: Mapping[str, Any], where: str, schema: type[Schema], fitting: Callable[[Schema], None]) -> Schema:
    """Build a configuration of any schema from nested values; `fitting` raises ValueError for incompatible values.

    Raises:
        ConfigError: an unknown key, a value of the wrong type or range, incompatible parts.
    """
    try:
        config = _converted(_known(values, schema, schema), schema)
        _require_finite(config)
        fitting(config)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from None
    return config


def override(config: Config, assignments: Sequence[str]) -> Config:
    """The configuration with `key=value` assignments applied.

    Args:
        config: stays as it is.
        assignments: such as "training.epochs=5": the key is dotted, the value YAML, as for `dragoman train --set`.

    Returns:
        another configuration, checked. Where a segmentation is assigned that cannot have case marks, protected items or
        changed pairs, they are off, unless they are assigned as well.

    Raises:
        ConfigError: no `=`, an unknown key (with the nearest one), a value of the wrong type or range.

    >>> dragoman.override(dragoman.load_preset("standard"), ["training.epochs=5"]).training.epochs
    5.0
    """
    values, keys = assigned(config, assignments), {one.partition("=")[0].strip() for one in assignments}
    if any(key.startswith("text.") for key in keys):
        turn_off_unsuitable(values, keys)
    text = values["text"]
    for name in ("segmentation", "vocabulary", "min_frequency", "model"):
        if text["joint"] and f"text.target.{name}" in keys and text["target"][name] != text["source"][name]:
            raise ConfigError(
                f"--set: text.target.{name}: has no effect with text.joint: true, which gives both sides the settings "
                f"of source; set text.source.{name}, or text.joint=false"
            )
    return build_config(values, "--set")


def require_settings(assignments: Sequence[str]) -> None:
    """Check each of some `key=value` alone, before there is a configuration that they are to fit into.

    Raises:
        ConfigError: as for `override`, except for values that do not fit together.
    """
    validated(assigned(Config(), assignments), "--set", Config, lambda config: None)


def assigned(config: Section, assignments: Sequence[str]) -> dict[str, Any]:
    """The values of a configuration of any schema with `key=value` assignments applied, not yet checked.

    Raises:
        ConfigError: no `=`, an unknown key (with the nearest one), a value that is not YAML.
    """
    values, schema = config.values(), type(config)
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not key:
            raise ConfigError(f"--set {assignment}: write key=value, for example training.epochs=10")
        *path, last = key.strip().split(".")
        section, kind = values, cast("type[Section] | None", schema)
        for depth, name in enumerate([*path, last]):
            if kind is None or name not in keys_of(kind):
                raise ConfigError(f"--set {assignment}: unknown key {key.strip()!r}{_nearest_key(key.strip(), schema)}")
            if depth < len(path):
                section = section[name]
            kind = keys_of(kind)[name].section
        if kind is not None:
            raise ConfigError(
                f"--set {assignment}: {key.strip()} is a section; set one of its keys: {', '.join(keys_of(kind))}"
            )
        try:
            section[last] = load_yaml(text)
        except YamlProblem as error:
            raise ConfigError(f"--set {key.strip()}: {quoted(text)} is not a YAML value: {error}") from None
    return values


def parse_yaml(text: str, where: str) -> dict[str, Any]:
    """A mapping of keys to values.

    Raises:
        ConfigError: the text is not YAML, or not a mapping; `where` names it.
    """
    try:
        values = load_yaml(text)
    except YamlProblem as error:
        line = f", line {error.line}" if error.line else ""
        raise ConfigError(f"{where}{line}: not valid YAML: {error}") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"{where}: a configuration is a mapping of keys to values, not {type(values).__name__}")
    return values


def merge(base: Mapping[str, Any], values: Mapping[str, Any], schema: type[Section]) -> dict[str, Any]:
    """`values` over `base`, section by section; keys are checked when the whole is built."""
    merged = dict(base)
    for name, value in values.items():
        section = keys_of(schema)[name].section if name in keys_of(schema) else None
        below = merged.get(name)
        if section and isinstance(value, dict) and isinstance(below, dict):
            value = merge(below, value, section)
        merged[name] = value
    return merged


def _known(
    values: Mapping[Any, Any], section: type[Section], schema: type[Section], prefix: str = ""
) -> dict[str, Any]:
    """The values of a section, with numbers for strings such as 1e-3; every key is checked to exist.

    Raises:
        ValueError: an unknown key.
    """
    known = {}
    for name, value in values.items():
        if name not in keys_of(section):
            raise ValueError(f"unknown key {f'{prefix}{name}'!r}{_nearest_key(f'{prefix}{name}', schema)}")
        key = keys_of(section)[name]
        if key.section and isinstance(value, Mapping):
            value = _known(value, key.section, schema, f"{prefix}{name}.")
        elif key.choices:
            value = choose(value, key.choices)
        elif float in key.types and isinstance(value, str):
            value = _number(value)
        known[name] = value
    return known


def _number(text: str) -> float | str:
    """Convert 1e-3, which YAML 1.1 reads as a string, to a number."""
    try:
        return float(text)
    except ValueError:
        return text


def _converted(values: Mapping[str, Any], schema: type[Schema]) -> Schema:
    """Convert nested values to a configuration.

    Raises:
        ValueError: a value of the wrong type or range; key, what is allowed, and the value in one line.
    """
    try:
        return msgspec.convert(values, schema)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at `$.")
    where = where.removesuffix("`")
    value: Any = values
    keys = keys_of(schema)
    key: Key | None = None
    choices: tuple[str, ...] = ()
    for name in re.findall(r"\w+", where):
        if name.isdigit():  # of a list
            value = value[int(name)]
            choices = key.item.choices if key and key.item else ()
            continue
        value, key = value[name], keys[name]
        keys, choices = keys_of(key.section) if key.section else {}, key.choices
    if "matching regex" in problem:
        problem = "a language code of letters, such as de or pt-BR"
    types = problem.removeprefix("Expected ").partition(", got ")[0].replace("`", "")
    expected = " | ".join(choices) or re.sub(r"[a-z]+", lambda word: _MEANINGS.get(word[0], word[0]), types)
    raise ValueError(f"{where}: expected {expected}, not {quoted(value)}{no_choice(value, choices)}")


def _require_finite(section: Section, prefix: str = "") -> None:
    """Refuse infinity and nan, which YAML can write, and msgspec takes for numbers without an upper limit.

    Raises:
        ValueError: a value is one of them.
    """
    for name in keys_of(type(section)):
        value = getattr(section, name)
        if isinstance(value, Section):
            _require_finite(value, f"{prefix}{name}.")
        elif isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{prefix}{name}: expected a finite number, not {value}")


def _dotted_keys(schema: type[Section], prefix: str = "") -> list[str]:
    keys = []
    for name, key in keys_of(schema).items():
        keys += _dotted_keys(key.section, f"{prefix}{name}.") if key.section else [f"{prefix}{name}"]
    return keys


def _nearest_key(key: str, schema: type[Section]) -> str:
    """The suggestion for an unknown key: a similar key, or a key with a similar last part."""
    known = _dotted_keys(schema)
    last = {name.rpartition(".")[2]: name for name in known}
    near = nearest(key.rpartition(".")[2], last)
    return did_you_mean(key, known) or (f" (did you mean {last[near[0]]}?)" if near else "")
