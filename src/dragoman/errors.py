"""The errors that users can cause, with the exit codes of the command, and suggestions for misspelt words.

DragomanError            2    an error that the user can fix; the message says how
├── ConfigError               a configuration key, its value, a preset's name, an option
├── InputError                a text file or a line of it, a file that cannot be read or written
├── RunError                  a run folder: a missing part, a newer format, damaged weights
├── TrainingError             training cannot go on: the loss is not a number, nothing to train on
└── Interrupted          130  stopped by a signal, state saved

Any other exception is a bug and keeps its traceback (exit code 1).
"""

from __future__ import annotations

from collections.abc import Iterable


class DragomanError(Exception):
    """An error that the user can fix; `str()` is the one line to print."""

    exit_code = 2


class ConfigError(DragomanError):
    """A configuration key or value, a preset's name, or an option is wrong."""


class InputError(DragomanError):
    """A text file, or a line of one, cannot be used; or a file cannot be read or written."""


class RunError(DragomanError):
    """A run folder lacks a part, has a newer format, or holds damaged weights."""


class TrainingError(DragomanError):
    """Training cannot go on."""


class Interrupted(DragomanError):
    """A signal stopped the command; its state has been saved."""

    exit_code = 130


def nearest(word: str, known: Iterable[str], count: int = 1) -> list[str]:
    """The up to `count` known words that are spelt most like `word`, best first; those unlike it are left out."""
    import difflib  # here, because most commands make no mistake

    return difflib.get_close_matches(word, list(known), n=count)


def did_you_mean(word: str, known: Iterable[str], count: int = 1) -> str:
    """The nearest known words as the end of a message; empty where none is similar."""
    near = nearest(word, known, count)
    return f" (did you mean {' or '.join(near)}?)" if near else ""
