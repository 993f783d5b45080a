"""From YAML and `key=value` to a checked configuration, with errors that say which key was meant."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast, get_args

import yaml
from pydantic import BaseModel, ValidationError

from dragoman.config.fitting import check
from dragoman.config.schema import Config
from dragoman.errors import ConfigError

Schema = TypeVar("Schema", bound=BaseModel)


def build_config(values: Mapping[str, Any], where: str) -> Config:
    """The configuration of nested values; what is not given has its default.

    Raises:
        ConfigError: an unknown key, a value of the wrong type or range, parts that do not fit together.
    """
    return validated(values, where, Config, check)


def validated(values: Mapping[str, Any], where: str, schema: type[Schema], fitting: Callable[[Schema], None]) -> Schema:
    """Nested values as a configuration of any schema; `fitting` raises a ValueError for what does not go together.

    Raises:
        ConfigError: an unknown key, a value of the wrong type or range, parts that do not fit together.
    """
    try:
        config = schema.model_validate(_relaxed(values, schema))
        fitting(config)
    except ValidationError as error:
        raise ConfigError(f"{where}: {_readable(error, schema)}") from None
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from None
    return config


def override(config: Config, assignments: Sequence[str]) -> Config:
    """The configuration with `key=value` assignments applied; keys are dotted, values are YAML.

    Raises:
        ConfigError: no `=`, an unknown key (with the nearest one), a value of the wrong type or range.
    """
    return build_config(assigned(config, assignments), "--set")


def assigned(config: BaseModel, assignments: Sequence[str]) -> dict[str, Any]:
    """The values of a configuration of any schema with `key=value` assignments applied, not yet checked.

    Raises:
        ConfigError: no `=`, an unknown key (with the nearest one), a value that is no YAML.
    """
    values, schema = config.model_dump(), type(config)
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not key:
            raise ConfigError(f"--set {assignment}: write key=value, for example training.epochs=10")
        *path, last = key.strip().split(".")
        section, model = values, cast("type[BaseModel] | None", schema)
        for depth, name in enumerate([*path, last]):
            if model is None or name not in model.model_fields:
                raise ConfigError(f"--set {assignment}: unknown key {key.strip()!r}{_nearest_key(key.strip(), schema)}")
            if depth < len(path):
                section = section[name]
            model = section_of(model, name)
        if model is not None:
            raise ConfigError(
                f"--set {assignment}: {key.strip()} is a section; set one of its keys: {', '.join(model.model_fields)}"
            )
        try:
            section[last] = yaml.safe_load(text)
        except yaml.YAMLError:
            raise ConfigError(f"--set {assignment}: {text!r} is not a YAML value") from None
    return values


def parse_yaml(text: str, where: str) -> dict[str, Any]:
    """A mapping of keys to values.

    Raises:
        ConfigError: the text is not YAML, or not a mapping; `where` names it.
    """
    try:
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise ConfigError(f"{where}{line}: not valid YAML: {problem}") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"{where}: a configuration is a mapping of keys to values, not {type(values).__name__}")
    return values


def merge(base: Mapping[str, Any], values: Mapping[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """`values` over `base`, section by section; keys are checked when the whole is built."""
    merged = dict(base)
    for name, value in values.items():
        section = section_of(model, name) if name in model.model_fields else None
        below = merged.get(name)
        if section and isinstance(value, dict) and isinstance(below, dict):
            value = merge(below, value, section)
        merged[name] = value
    return merged


def _relaxed(values: Any, model: type[BaseModel]) -> Any:
    """Whole numbers where a fraction is meant, and lists where a tuple is: YAML has no other way to write them."""
    if not isinstance(values, Mapping):
        return values
    result = {}
    for name, value in values.items():
        field = model.model_fields.get(name) if isinstance(name, str) else None
        section = section_of(model, name) if field else None
        if section:
            value = _relaxed(value, section)
        elif isinstance(value, list):
            value = tuple(value)
        elif isinstance(value, str) and field and field.annotation in (float, float | None):
            value = _number(value)
        result[name] = value
    return result


def _number(text: str) -> float | str:
    """YAML 1.1 reads 1e-3 as a string, people write it as a number."""
    try:
        return float(text)
    except ValueError:
        return text


def _readable(error: ValidationError, schema: type[BaseModel]) -> str:
    """The first problem of a validation in one line: key, value, what is allowed."""
    problem = error.errors()[0]
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"unknown key {key!r}{_nearest_key(key, schema)}"
    message = problem["msg"][0].lower() + problem["msg"][1:]
    allowed = _allowed(problem["loc"], schema) if problem["type"] == "literal_error" else []
    hint = did_you_mean(str(problem["input"]), allowed)
    return f"{key}: {message}, not {problem['input']!r}{hint}"


def _allowed(location: Iterable[int | str], schema: type[BaseModel]) -> list[str]:
    annotation: Any = schema
    for part in location:
        annotation = annotation.model_fields[part].annotation if hasattr(annotation, "model_fields") else annotation
    return [option for option in get_args(annotation) if isinstance(option, str)]


def section_of(model: type[BaseModel], name: str) -> type[BaseModel] | None:
    """The type of a key that is a section, None for one that is a value."""
    annotation = model.model_fields[name].annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _dotted_keys(model: type[BaseModel], prefix: str = "") -> list[str]:
    keys = []
    for name in model.model_fields:
        section = section_of(model, name)
        keys += _dotted_keys(section, f"{prefix}{name}.") if section else [f"{prefix}{name}"]
    return keys


def _nearest_key(key: str, schema: type[BaseModel]) -> str:
    """The key that was meant: one spelt alike, or one whose last part is."""
    known = _dotted_keys(schema)
    last = {name.rpartition(".")[2]: name for name in known}
    near = difflib.get_close_matches(key.rpartition(".")[2], last, n=1, cutoff=0.6)
    return did_you_mean(key, known) or (f" (did you mean {last[near[0]]!r}?)" if near else "")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The nearest known word as the end of a message, or nothing."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" (did you mean {near[0]!r}?)" if near else ""
