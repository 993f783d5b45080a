"""Translated HTML: every element is put around the words that translate what it enclosed.

Words are linked by the attention of the model. A word of the translation gets the elements of the source word that it
is linked with, so an element may be written twice where its words no longer stand together; one or two words in between
that have no element of their own are included. An element without a word, such as an image, stands before the word
that is linked with the one that followed it. Without attention, tags end a text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, NamedTuple

from dragoman.documents.html_text import Element, Markup, Text, spans_of_words
from dragoman.text.scripts import LETTER_WITHOUT_SPACES
from dragoman.text.sentences import Span, touches

if TYPE_CHECKING:
    from dragoman.translation.result import Translation

MAX_GAP = 2
"""Words between two parts of an element that are included in it."""


class AlignedTranslation(NamedTuple):
    """A translated sentence; spans are [start, end) in characters of each side."""

    text: str
    source_units: list[Span]
    target_units: list[Span]
    sources: list[int | None]
    """For each target unit the source unit that it is linked with."""


def aligned(n_best: list[Translation]) -> AlignedTranslation:
    """The best translation of a sentence with the links between its words and those of its source."""
    best = n_best[0]
    source_units = _units(best.source, best.source_spans)
    target_units = _units(best.text, best.target_spans)
    sources: list[int | None] = [None] * len(target_units)
    for source, target in best.links_between(source_units, target_units):
        sources[target] = source
    return AlignedTranslation(best.text, source_units, target_units, sources)


def _units(text: str, segments: Sequence[Span]) -> list[Span]:
    """The words of a text; of a script without spaces its segments."""
    if LETTER_WITHOUT_SPACES.search(text):
        units: list[Span] = []
        for start, end in segments:
            if start < end and any(map(str.isalnum, text[start:end])) and (not units or start >= units[-1][1]):
                units.append((start, end))
        return units
    return list(spans_of_words(text))


def original(text: Text) -> str:
    """A text as it is written in the document."""
    return _with_marks(_raw(text, 0, len(text.text)), text.elements)


def render(document: Markup, text: Text, spans: Sequence[Span], sentences: Sequence[AlignedTranslation]) -> str:
    """A text with its sentences at `spans` translated, as markup."""
    outside, inside = _divided(text.elements, spans)
    pieces: list[_Piece] = []
    place = 0
    for (start, end), sentence, elements in zip(spans, sentences, inside, strict=True):
        pieces += _raw(text, place, start)
        translated = _Sentence(document, sentence, elements, start).render()
        if place == start and pieces and touches(pieces[-1].markup, translated):
            translated = f" {translated}"
        pieces.append(_Piece(start, translated))
        place = end
    return _with_marks([*pieces, *_raw(text, place, len(text.text))], outside)


class _Piece(NamedTuple):
    start: int
    markup: str


def _raw(text: Text, start: int, end: int) -> Iterator[_Piece]:
    return (_Piece(place, text.raw[place]) for place in range(start, end))


def _divided(elements: Sequence[Element], spans: Sequence[Span]) -> tuple[list[Element], list[list[Element]]]:
    """The elements that are outside of the sentences or around whole ones, and for each sentence those inside of it.

    An element that begins or ends inside of a sentence and goes on outside is cut: each sentence has its own part.
    """
    outside: list[Element] = []
    inside: list[list[Element]] = [[] for _ in spans]
    for element in elements:
        places = range(element.start, element.end + 1) if element.kept else (element.start, element.end)
        if not any(start < place < end for start, end in spans for place in places):
            outside.append(element)
            continue
        found = [
            (own, max(element.start, start), min(element.end, end))
            for own, (start, end) in zip(inside, spans, strict=True)
            if (element.start < end and start < element.end) or start < element.start == element.end < end
        ]
        for number, (own, start, end) in enumerate(found):
            kept = element.kept if number == 0 else element.kept and ""
            own.append(replace(element, start=start, end=end, kept=kept))
    return outside, inside


def _with_marks(pieces: Iterable[_Piece], elements: Sequence[Element]) -> str:
    """Pieces with the tags of elements between them, in the order of the document."""
    marks: list[tuple[int, int, str]] = []
    hidden: set[int] = set()
    for element in elements:
        marks.append((element.order, element.start, element.open if element.kept is None else element.kept))
        if element.kept is not None:
            hidden |= set(range(element.start, element.end))
        elif element.close:
            marks.append((element.close_order, element.end, element.close))
    waiting = deque(sorted(marks))
    result: list[str] = []
    for piece in pieces:
        while waiting and waiting[0][1] <= piece.start:
            result.append(waiting.popleft()[2])
        if piece.start not in hidden:
            result.append(piece.markup)
    return "".join([*result, *(mark for _, _, mark in waiting)])


class _Sentence:
    """The rendering of a sentence with the elements inside of it."""

    def __init__(self, document: Markup, sentence: AlignedTranslation, elements: Sequence[Element], start: int) -> None:
        """`start` is the place of the sentence in the text that elements count."""
        self._document = document
        self._sentence = sentence
        self._elements = elements
        self._units = [(first + start, end + start) for first, end in sentence.source_units]
        self._stacks = self._filled(self._linked_stacks())
        self._points: dict[int, list[Element]] = {}
        present = {id(element) for stack in self._stacks for element in stack}
        for element in elements:
            if id(element) not in present:
                self._points.setdefault(self._point(element), []).append(element)

    def render(self) -> str:
        """The translation with its tags."""
        text, place = self._sentence.text, 0
        result: list[str] = []
        opened: list[Element] = []
        kept: set[int] = set()
        for number, (start, end) in enumerate(self._sentence.target_units):
            stack = [element for element in self._stacks[number] if element.kept is None]
            held = next((element for element in self._stacks[number] if element.kept is not None), None)
            common = len(_common(opened, stack))
            result += [element.close for element in reversed(opened[common:])]
            if held is None or id(held) not in kept:
                result.append(self._document.escape(text[place:start]))
            result += self._without_words(number, " ")
            result += [element.open for element in stack[common:]]
            if held is None:
                result.append(self._document.escape(text[start:end]))
            elif id(held) not in kept:
                result.append(held.kept or "")
                kept.add(id(held))
            opened, place = stack, end
        result += [element.close for element in reversed(opened)]
        result.append(self._document.escape(text[place:]))
        return "".join([*result, *self._without_words(len(self._sentence.target_units), "")])

    def _without_words(self, number: int, space: str) -> list[str]:
        """The elements that stand alone before a word of the translation."""
        found = self._points.get(number, [])
        return [
            element.open + element.close if element.kept is None else element.kept + space
            for element in sorted(found, key=lambda element: element.order)
        ]

    def _linked_stacks(self) -> list[list[Element]]:
        """The elements of each word of the translation, outermost first."""
        of_source = [
            [element for element in self._elements if max(element.start, start) < min(element.end, end)]
            for start, end in self._units
        ]
        linked = [None if source is None else of_source[source] for source in self._sentence.sources]
        stacks: list[list[Element]] = []
        for number, stack in enumerate(linked):
            following = next((one for one in linked[number + 1 :] if one is not None), [])
            stacks.append(_common(stacks[-1] if stacks else [], following) if stack is None else stack)
        return stacks

    def _filled(self, stacks: list[list[Element]]) -> list[list[Element]]:
        """Include short gaps between the words of an element."""
        for element in self._elements:
            places = [place for place, stack in enumerate(stacks) if element in stack and element.kept is None]
            for before, after in pairwise(places):
                gap = range(before + 1, after)
                around = stacks[before][: stacks[before].index(element)]
                if len(gap) <= MAX_GAP and all(one in around for place in gap for one in stacks[place]):
                    for place in gap:
                        stacks[place] = [*around, element]
        return stacks

    def _point(self, element: Element) -> int:
        """The word of the translation before which an element without words stands."""
        for source, (start, _) in enumerate(self._units):
            if start >= element.start and source in self._sentence.sources:
                return self._sentence.sources.index(source)
        return len(self._sentence.target_units)


def _common(one: list[Element], other: list[Element]) -> list[Element]:
    """The elements with which both lists begin."""
    return [first for first, _ in takewhile(lambda pair: pair[0] is pair[1], zip(one, other, strict=False))]
