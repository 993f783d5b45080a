"""The argument parser of all verbs: checks values as they are parsed, reports errors in one line, formats the help."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import NoReturn, TypeVar

from dragoman.errors import ConfigError, did_you_mean

Number = TypeVar("Number", int, float)


class Parser(argparse.ArgumentParser):
    """An argument parser that raises ConfigError instead of printing its usage, and suggests the intended option."""

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
        if message.startswith("unrecognized arguments") and "-i" in self._option_string_actions:
            message += "; text is given with -i FILE"
        raise ConfigError(f"{message} (see {self.prog} --help)")

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse like `parse_intermixed_args`, but report an unknown option first, with the nearest known option.

        Raises:
            ConfigError: an option is unknown, lacks its value, or has one that is not allowed.
        """
        for word in takewhile(lambda word: word != "--", arguments):
            name, known = word.partition("=")[0], self._option_string_actions
            if re.fullmatch("--.+|-[a-z]", name) and name not in known:
                hint = did_you_mean(name, [option for option in known if option.startswith("--")])
                if name in ("-i", "--input"):
                    files = [action.metavar for action in self._get_positional_actions()]
                    hint = f" (files stand without an option: {' '.join(map(str, files))})" if files else ""
                self.error(f"unknown option {name}{hint}")
        return self.parse_intermixed_args(arguments)

    def outputs(self, options: argparse.Namespace) -> list[str]:
        """The files that the options of type `output_file` name."""
        given = [getattr(options, action.dest) for action in self._actions if action.type is output_file]
        names = [value if isinstance(value, list) else [value] for value in given]
        return [name for each in names for name in each if name is not None]


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the line breaks of the examples and prints all defaults."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32, width=100)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        default = action.default
        is_stated = (
            default in (None, False, "", argparse.SUPPRESS) or default == [] or "(default" in (action.help or "")
        )
        return action.help if is_stated else f"{action.help} (default: %(default)s)"


def spelt(name: str) -> str:
    """An option as the command line spells it."""
    return f"--{name.replace('_', '-')}"


def bounded(
    kind: type[Number], minimum: float | None = None, above: float | None = None, maximum: float | None = None
) -> Callable[[str], Number]:
    """A function that parses finite numbers of a type, from `minimum` to `maximum` and greater than `above`."""
    allowed = "a whole number" if kind is int else "a number"
    if minimum is not None:
        allowed += f", {minimum:g} or more"
    if above is not None:
        allowed += f" above {above:g}"
    if maximum is not None:
        allowed += f", at most {maximum:,.0f}"
    least, most = -float("inf") if minimum is None else minimum, float("inf") if maximum is None else maximum

    def fits(value: float) -> bool:
        return abs(value) < float("inf") and least <= value <= most and (above is None or value > above)

    return lambda text: _number(text, kind, allowed, fits)


def output_file(name: str) -> str:
    """The type of every option that names a file to write; the command refuses to read such a file (see `inputs`)."""
    return name


def output_folder(name: str) -> Path:
    """The type of every option that names a folder to write."""
    return Path(name)


def _number(text: str, kind: Callable[[str], Number], allowed: str, fits: Callable[[Number], bool]) -> Number:
    try:
        value = kind(text)
        if fits(value):
            return value
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not {allowed}")
