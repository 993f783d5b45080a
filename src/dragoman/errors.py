"""The errors that users can cause, with the exit codes of the command, and what their messages are made of.

DragomanError            2    an error that the user can fix; the message says how
├── ConfigError               a configuration key, its value, a preset's name, an option
│   └── OptionError           options that exclude or require others
├── InputError                a text file or a line of it, a file that cannot be read or written
├── RunError                  a run folder: a missing part, a newer format, damaged weights
├── TrainingError             training cannot go on: the loss is not a number, nothing to train on
├── Interrupted          130  stopped by a signal, state saved
└── OtherRankError       any  another rank of the training ended, and has printed why; the command prints nothing

Any other exception is a bug and keeps its traceback (exit code 1).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any


class DragomanError(Exception):
    """An error that the user can fix; `str()` is the one line to print.

    >>> try:
    ...     dragoman.load("missing")
    ... except dragoman.DragomanError as error:
    ...     print(error.exit_code, error)
    2 missing: does not exist
    """

    exit_code = 2
    """What the command exits with; the page on exit codes lists all."""


class ConfigError(DragomanError):
    """A configuration key or value, a preset's name, or an option is wrong.

    Correct what the message names; `dragoman config PRESET` lists the keys, `--help` the options.
    """


class OptionError(ConfigError):
    """Options exclude or require others; each interface spells their names in its own way.

    Leave out what the message names, or add it.
    """

    def __init__(self, template: str, option: str = "", values: Mapping[str, Any] | None = None) -> None:
        """In the template `{option}` is the option that is wrong, `{name}` any other, `{values[name]}` a value."""
        self._template, self._option, self._values = template, option, values or {}
        super().__init__(self.spelled(str))

    def spelled(self, spell: Callable[[str], str]) -> str:
        """The message with the names of options as `spell` writes them."""
        words = _Words(spell)
        words.update(option=spell(self._option), values=self._values)
        return self._template.format_map(words)


class _Words(dict[str, Any]):
    """What the placeholders of a message stand for: all but those in it are names of options."""

    def __init__(self, spell: Callable[[str], str]) -> None:
        super().__init__()
        self._spell = spell

    def __missing__(self, name: str) -> str:
        return self._spell(name)


class InputError(DragomanError):
    """A text file, or a line of one, cannot be used; or a file cannot be read or written.

    Correct the line or the path that the message names, or make room on the disk.
    """


class RunError(DragomanError):
    """A run folder lacks a part, has a newer format, or holds damaged weights.

    Give the folder that `train` or `export` wrote, copy it again, or upgrade Dragoman.
    """


class TrainingError(DragomanError):
    """Training cannot go on.

    Change what the message names, and train again.
    """


class Interrupted(DragomanError):
    """A signal stopped the command; its state has been saved.

    Run the command again; a training goes on with `--resume`.
    """

    exit_code = 130


class OtherRankError(DragomanError):
    """Another rank of this training ended with this exit code, and its message says why.

    Follow the message of that rank.
    """

    def __init__(self, exit_code: int) -> None:
        super().__init__("another rank of this training has ended; its message says why")
        self.exit_code = exit_code


def reason_of(error: Exception) -> str:
    """Why a file or a connection failed: in the words of the operating system, or without them in the error's own."""
    return getattr(error, "strerror", None) or str(error)


MAX_QUOTED = 200
"""Characters of a path, key or value that a message repeats; the middle of a longer one is left out."""

_MAX_MESSAGE = 2000
_LONG = re.compile(rf"\S{{{MAX_QUOTED + 1},}}")
_VISIBLE = "\u200c\u200d"  # joiners, which the words of some languages need; Python counts them as unprintable


def one_line(message: str) -> str:
    """A message as one line of printable characters, for a terminal.

    Messages repeat paths, keys and text of users, which may contain anything. Control characters, line breaks,
    directional formatting, surrogates and the like are written as escape sequences, and words of more than
    `MAX_QUOTED` characters are abridged.
    """
    return abridged(_LONG.sub(lambda match: abridged(match[0]), escaped(message)), _MAX_MESSAGE)


def escaped(text: str) -> str:
    """The text with escape sequences for all characters that are not printable; a byte of an undecodable file name is
    written as \\xe4.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in _VISIBLE else _escape(character) for character in text
    )


def _escape(character: str) -> str:
    if "\udc80" <= character <= "\udcff":  # Python's stand-in for a byte that is not UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def abridged(text: str, most: int = MAX_QUOTED) -> str:
    """The text with an ellipsis in the place of its middle, if it has more than `most` characters."""
    if len(text) <= most:
        return text
    end = most // 3
    return f"{text[: most - end - 1]}…{text[-end:]}"


def quoted(value: object) -> str:
    """A value as Python writes it, for messages; the middle of a long one is left out."""
    try:
        return abridged(repr(value))
    except ValueError:  # more digits than Python converts
        return "a number of thousands of digits"


_BEGINNING = 3
"""Letters that are enough to recognise a word by its beginning."""


def nearest(word: str, known: Iterable[str], count: int = 1) -> list[str]:
    """The up to `count` known words that are most like `word`; those unlike it are left out.

    First those of similar spelling, best first, then those that begin with `word`, in their order.
    """
    import difflib  # here, because most commands make no mistake

    known = list(known)
    alike = difflib.get_close_matches(word, known, n=count)
    begun = [name for name in known if len(word) >= _BEGINNING and name.startswith(word) and name not in alike]
    return [*alike, *begun][:count]


def did_you_mean(word: str, known: Iterable[str], count: int = 1) -> str:
    """The nearest known words as the end of a message; empty where none is similar."""
    near = nearest(word, known, count)
    return f" (did you mean {' or '.join(near)}?)" if near else ""
