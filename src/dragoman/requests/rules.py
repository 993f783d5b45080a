"""What options require and exclude: tables of rules, and the one check of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from dragoman.errors import OptionError

Values = Mapping[str, Any]
"""The values of options by name; what is left out is not given."""


class Rule(NamedTuple):
    """A condition under which options are refused."""

    options: tuple[str, ...]
    """The rule is about the first of these that is given; without any it is about all values."""
    broken: Callable[[Values], bool]
    message: str | Callable[[Values], str]
    """As in `OptionError`, or what makes it of the values."""


def is_given(value: object) -> bool:
    """Whether the value of an option is more than the absence of one."""
    return value is not None and value is not False and value != () and value != []


def given(*names: str) -> Callable[[Values], bool]:
    """The condition that one of some options is given."""
    return lambda values: any(is_given(values.get(name)) for name in names)


def lacking(*names: str) -> Callable[[Values], bool]:
    """The condition that none of some options is given."""
    return lambda values: not any(is_given(values.get(name)) for name in names)


def literal(text: str) -> str:
    """Text as it stands in a message."""
    return text.replace("{", "{{").replace("}", "}}")


def refuse(rules: Iterable[Rule], values: Values) -> None:
    """Check options against rules, in their order.

    Raises:
        OptionError: the options break one; the message is that of the first.
    """
    for rule in rules:
        names = [name for name in rule.options if is_given(values.get(name))] if rule.options else [""]
        if names and rule.broken(values):
            message = rule.message if isinstance(rule.message, str) else rule.message(values)
            raise OptionError(message, names[0], values)
