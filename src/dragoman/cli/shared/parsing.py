"""What the verbs' parsers share: values checked as they are parsed, one way to complain, one look of the help."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import NoReturn, Protocol, TypeVar

from dragoman.errors import ConfigError

Number = TypeVar("Number", int, float)


class Parser(argparse.ArgumentParser):
    """Raises ConfigError where argparse would print its usage, and knows what a mistyped option was to be."""

    def __init__(self, *, prog: str, description: str, examples: Sequence[str] = ()) -> None:
        shown = "\n".join(f"  {line}" for line in examples)
        super().__init__(
            prog=prog,
            description=description,
            epilog=f"examples:\n{shown}" if shown else None,
            formatter_class=_Formatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Called by argparse for every mistake it finds.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(f"{message} (see {self.prog} --help)")

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Like `parse_args`, but an unknown option is answered with the nearest known one, before anything else.

        Raises:
            ConfigError: an option is unknown, lacks its value, or has one that is not allowed.
        """
        for word in takewhile(lambda word: word != "--", arguments):
            name = word.partition("=")[0]
            if name.startswith("--") and name not in self._option_string_actions:
                self.error(f"unknown option {name}{did_you_mean(name, self._option_string_actions)}")
        return self.parse_args(arguments)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of the examples, and shows every default there is."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32, width=100)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        default = action.default
        told = default in (None, False, argparse.SUPPRESS) or default == [] or "(default" in (action.help or "")
        return action.help if told else f"{action.help} (default: %(default)s)"


def add_general_options(parser: Parser, *, device: bool = True) -> None:
    """The options that every verb has, and where wanted those of a verb that computes with a model."""
    group = parser.add_argument_group("general")
    if device:
        group.add_argument(
            "--device", choices=("auto", "cpu", "cuda"), default="auto", help="auto: the GPU if there is one"
        )
        group.add_argument("--threads", type=positive_int, metavar="N", help="processor threads (default: one a core)")
    group.add_argument("--quiet", action="store_true", help="no messages on standard error but errors")


class Verb(Protocol):
    """A module of this package that is one verb of the command; importing it is cheap, `run` imports what it needs."""

    SUMMARY: str
    """One line for the list of verbs."""
    DESCRIPTION: str
    """What it does, at the head of its help."""
    EXAMPLES: Sequence[str]

    def add_options(self, parser: Parser) -> None:
        """Declare the verb's options."""

    def run(self, options: argparse.Namespace) -> None:
        """Do it."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The nearest known word as the end of a message, or nothing."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" (did you mean {near[0]}?)" if near else ""


def positive_int(text: str) -> int:
    """A whole number from 1 on."""
    return _number(text, int, "a whole number, 1 or more", lambda value: value >= 1)


def natural(text: str) -> int:
    """A whole number from 0 on."""
    return _number(text, int, "a whole number, 0 or more", lambda value: value >= 0)


def positive_float(text: str) -> float:
    """A number above 0."""
    return _number(text, float, "a number above 0", lambda value: 0 < value < float("inf"))


def non_negative_float(text: str) -> float:
    """A number from 0 on."""
    return _number(text, float, "a number, 0 or more", lambda value: 0 <= value < float("inf"))


def finite_float(text: str) -> float:
    """Any number."""
    return _number(text, float, "a number", lambda value: abs(value) < float("inf"))


def probability(text: str) -> float:
    """A number above 0, up to 1."""
    return _number(text, float, "a number above 0, at most 1", lambda value: 0 < value <= 1)


def _number(text: str, kind: Callable[[str], Number], allowed: str, fits: Callable[[Number], bool]) -> Number:
    try:
        value = kind(text)
        if fits(value):
            return value
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not {allowed}")
