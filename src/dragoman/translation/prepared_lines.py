"""Lines before search: source segments, and what a translation must begin with and contain, as text and as segments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from dragoman.errors import ConfigError, InputError
from dragoman.search.constraints import IdConstraints
from dragoman.text.items import NAMES, NO_QUOTATION, Quotation
from dragoman.text.raw_lines import has_letter
from dragoman.text.side import Encoded, TextSide
from dragoman.text.vocabulary import UNK
from dragoman.translation.glossary import Glossary
from dragoman.translation.result import Translation
from dragoman.translation.source_encoding import EncodedLine, SourceEncoder

if TYPE_CHECKING:
    from dragoman.translation_memory.memory import Memory, MemoryMatch


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
        pairs = _paired(prefix, constraints)
    return text, (TextConstraints(begin, _phrases(each)) for begin, each in pairs)


def _paired(
    prefixes: Iterable[str], constraints: Iterable[str | Iterable[str]]
) -> Iterator[tuple[str, str | Iterable[str]]]:
    for begin, phrases in zip_longest(prefixes, constraints):
        if begin is None or phrases is None:
            raise InputError("prefix and constraints differ in length; give one of each for each line")
        yield begin, phrases


def checked_strings(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines.

    Raises:
        TypeError: one is not a string.
    """
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise TypeError(f"line {number} is of type {type(line).__name__}, not a string")
        yield line


def _phrases(phrases: str | Iterable[str]) -> list[str]:
    if isinstance(phrases, str):
        raise TypeError(f"constraints of a line are one string, {phrases!r}; give a list of words and phrases")
    return list(phrases)


def _phrase(phrase: str | Iterable[str]) -> str:
    if not isinstance(phrase, str):
        raise TypeError(f"constraints has {phrase!r} in it; for one line give words and phrases")
    return phrase


class PreparedLine(NamedTuple):
    """A line and its constraints, segmented."""

    number: int
    """From 0."""
    origin: str
    """What messages call it, such as "line 1"."""
    text: str
    source: EncodedLine
    constraints: IdConstraints
    prefix: list[str]
    """The segments of the forced prefix, those unknown to the model included."""
    answer: str | None = None
    """The translation that a translation memory has of the line."""
    near: Callable[[], list[MemoryMatch]] = list
    """Looks for pairs of the memory that are like the line."""
    begun: str = ""
    """The forced prefix without the quotation mark before it."""
    quotation: Quotation = NO_QUOTATION
    """The quotation marks to put around the translation."""

    @property
    def has_letter(self) -> bool:
        """Whether it has a letter outside its items."""
        return any(map(has_letter, self.source.parts[0].pieces))

    @property
    def is_searched(self) -> bool:
        """Whether a translation must be searched for."""
        return self.source.segments > 0 and self.answer is None

    def lacks_items(self, translation: Translation) -> bool:
        """Whether a translation is without one of the protected items of the line."""
        return not set(NAMES[: len(self.source.items)]) <= set(translation.tokens)

    def with_all_items(self) -> PreparedLine:
        """The line whose translations must have all of its items."""
        return self._replace(constraints=replace(self.constraints, all_placeholders=True))


@dataclass(frozen=True)
class LinePreparation:
    """How lines are prepared.

    Raises:
        InputError: a translation of the glossary is unknown to the model or banned.
    """

    encoder: SourceEncoder
    target: TextSide
    banned: Sequence[list[int]] = ()
    """The segments of words and phrases that are never produced."""
    glossary: Glossary | None = None
    memory: Memory | None = None

    def __post_init__(self) -> None:
        for term in self.glossary.terms if self.glossary else ():
            self._phrase_ids(term.translation, term.origin)

    def prepare(self, number: int, text: str | None, constraints: TextConstraints | None, origin: str) -> PreparedLine:
        """Segment and truncate line `number`, which messages call `origin`, and segment its constraints.

        Raises:
            InputError: the line or its constraints are missing (None), or a phrase cannot appear in a translation.
        """
        if text is None or constraints is None:
            raise InputError(
                f"prefixes and constraints go on after the input has ended at line {number}"
                if text is None
                else f"prefixes or constraints end at line {number}, but the input goes on; give a line, blank or not, "
                "for each of the input"
            )
        source = self.encoder.encode(text, origin)
        items, quotation, begun = source.items, source.quotation, constraints.prefix
        if begun and quotation[0] and begun.startswith(quotation[0]):
            begun = begun.removeprefix(quotation[0])
        elif begun:
            quotation = NO_QUOTATION
        prefix = self.target.encode(begun, items) if begun else Encoded([], [], [])
        terms = [] if self.glossary is None else [term.translation for term in self.glossary.find(text)]
        phrases = [self._phrase_ids(phrase, origin, items) for phrase in (*constraints.phrases, *terms)]
        required = IdConstraints(prefix.ids, phrases, len(items))
        line = PreparedLine(number, origin, text, source, required, prefix.pieces, begun=begun, quotation=quotation)
        if self.memory is None:
            return line
        # The memory's translation may lack the prefix or a phrase, so that such a line is left to the model.
        answer = None if constraints.prefix or constraints.phrases else self.memory.exact(text)
        return line._replace(answer=answer, near=partial(self.memory.near, text))

    def _phrase_ids(self, phrase: str, origin: str, items: Sequence[str] = ()) -> list[int]:
        """The segments of a phrase that must appear in a translation; `origin` names in a message what requires it."""
        ids, pieces, *_ = self.target.encode(phrase, items)
        if UNK in ids:
            raise InputError(
                f"{origin}: {phrase!r} cannot appear in a translation: the model does not know "
                f"{pieces[ids.index(UNK)]!r}; leave it out, or give a word of the target vocabulary"
            )
        for banned in self.banned:
            if any(ids[at : at + len(banned)] == banned for at in range(len(ids))):
                raise InputError(f"{origin}: {phrase!r} must appear in a translation, but is banned as well")
        return ids


def banned_ids(target: TextSide, word: str) -> list[int]:
    """The segments of a word or phrase that is never produced.

    Raises:
        ConfigError: a segment is unknown to the model.
    """
    ids, pieces, *_ = target.encode(word)
    if UNK in ids:
        raise ConfigError(
            f"banned word {word!r}: the model does not know {pieces[ids.index(UNK)]!r}, so it never writes that; "
            "leave it out"
        )
    return ids
