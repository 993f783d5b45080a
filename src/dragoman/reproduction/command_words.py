"""The words of commands: options and settings as `dragoman` reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

THREAD = ("--threads", "1", "--quiet")
"""Options of commands that run a model."""
QUIET = ("--quiet",)
"""Options of the other commands."""


def options(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Options by their names, such as `max_length_factor`; true is an option without a value."""
    words: list[str] = []
    for key, value in values.items():
        option = f"--{key.replace('_', '-')}"
        words += [option] if value is True else [option, str(value)]
    return tuple(words)


def assignments(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Settings as `--set` reads them."""
    return tuple(f"{key}={written(value)}" for key, value in values.items())


def written(value: Any) -> str:
    """A value as it is written after `=` in --set."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(written(item) for item in value)}]"
    return str(value)
