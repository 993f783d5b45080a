"""What a translation must begin with and contain, as raw text, and how callers give it for one line or for several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat


@dataclass(frozen=True, slots=True)
class TextConstraints:
    """Constraints on the translation of one line, as raw text of the target."""

    prefix: str = ""
    """The translation begins with it."""
    phrases: Sequence[str] = ()
    """Words and phrases that must appear in the translation."""


def text_constraints(
    text: str | Iterable[str],
    prefix: str | Iterable[str] | None,
    constraints: Iterable[str] | Iterable[Iterable[str]] | None,
) -> tuple[Iterable[str], Iterator[TextConstraints] | None]:
    """The lines of `translate` and their constraints; None without any.

    Raises:
        TypeError: one string is given where several are expected, or the other way round; or something else.
    """
    if isinstance(constraints, str):
        raise TypeError(f"constraints is one string, {constraints!r}; give a list of words and phrases")
    if isinstance(text, str):
        if prefix is not None and not isinstance(prefix, str):
            raise TypeError("prefix is not a string; for one line give one prefix")
        if prefix is None and constraints is None:
            return [text], None
        return [text], iter([TextConstraints(prefix or "", [_phrase(phrase) for phrase in constraints or ()])])
    if not isinstance(text, Iterable) or isinstance(text, bytes):
        raise TypeError(f"text is of type {type(text).__name__}; give a string, or several strings")
    if isinstance(prefix, str):
        raise TypeError(f"prefix is one string, {prefix!r}; for several lines give one for each")
    if prefix is None and constraints is None:
        return text, None
    if prefix is None or constraints is None:
        begins: Iterable[str] = repeat("") if prefix is None else prefix
        phrases: Iterable[str | Iterable[str]] = repeat(()) if constraints is None else constraints
        pairs: Iterable[tuple[str, str | Iterable[str]]] = zip(begins, phrases, strict=False)
    else:
        pairs = zip(prefix, constraints, strict=True)
    return text, (TextConstraints(begin, _phrases(each)) for begin, each in pairs)


def _phrases(phrases: str | Iterable[str]) -> list[str]:
    if isinstance(phrases, str):
        raise TypeError(f"constraints of a line are one string, {phrases!r}; give a list of words and phrases")
    return list(phrases)


def _phrase(phrase: str | Iterable[str]) -> str:
    if not isinstance(phrase, str):
        raise TypeError(f"constraints has {phrase!r} in it; for one line give words and phrases")
    return phrase
