"""Translated HTML: every element is put around the words that translate what it enclosed.

The attention of the model links words. A word of the translation gets the elements of the source word that it is linked
with. If its words no longer stand together, an element is written twice, unless only one or two words without an
element of their own stand between: these it includes. An element without words stands before the translation of the
word that followed it, such as an image, or behind the translation of the word that it touched, such as a reference to a
footnote. Without attention, tags end a text.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, NamedTuple

from dragoman.documents.html_text import Element, Markup, Text, spans_of_words
from dragoman.text.scripts import LETTER_WITHOUT_SPACES
from dragoman.text.sentences import Span, touches
from dragoman.text.words import words_and_characters
from dragoman.translation_memory.memory import MemoryMatch

if TYPE_CHECKING:
    from dragoman.translation.result import Translation

MAX_GAP = 2
"""Words between two parts of an element that are included in it."""
MAX_COMPARED = 250_000
"""Pairs of words of an edited text that are compared, in a second at most."""


class AlignedTranslation(NamedTuple):
    """A translated sentence; spans are [start, end) in characters of each side."""

    text: str
    source_units: list[Span]
    target_units: list[Span]
    sources: list[int | None]
    """For each target unit the source unit that it is linked with."""
    confidence: float | None = None
    """The confidence of the translation, from 0 to 1; None where it is not known."""
    matches: Sequence[MemoryMatch] = ()
    """Near matches of the translation memory, best first."""


def aligned(n_best: list[Translation], *, matches: bool = False) -> AlignedTranslation:
    """The best translation of a sentence with the links between its words and the words of the source; with `matches`
    also with the near matches of a translation memory.

    A translation from a translation memory has no attention: its words are linked with equal words of the source,
    others by their position.
    """
    best = n_best[0]
    source_units = _units(best.source, best.source_spans)
    target_units = _units(best.text, best.target_spans)
    sources: list[int | None] = [None] * len(target_units)
    if best.from_memory and source_units:
        equal = {best.source[slice(*unit)].casefold(): index for index, unit in enumerate(source_units)}
        sources = [
            equal.get(best.text[slice(*unit)].casefold(), index * len(source_units) // len(target_units))
            for index, unit in enumerate(target_units)
        ]
    for source, target in best.links_between(source_units, target_units):
        sources[target] = source
    memory_matches = best.memory_matches if matches else ()
    return AlignedTranslation(best.text, source_units, target_units, sources, best.confidence, memory_matches)


def unchanged(text: str) -> AlignedTranslation:
    """A sentence as its own translation."""
    units = list(spans_of_words(text))
    return AlignedTranslation(text, units, units, list(range(len(units))))


def edited(before: str, after: str) -> AlignedTranslation:
    """An edited text with the text before as its source: words that stayed are linked, others by their position."""
    old, new = (list(word_units(re.sub(r"\s", " ", text)).values()) for text in (before, after))
    old_words, new_words = [before[slice(*unit)] for unit in old], [after[slice(*unit)] for unit in new]
    changes: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(old), 0, len(new))]
    if len(old) * len(new) <= MAX_COMPARED:
        changes = SequenceMatcher(None, old_words, new_words, autojunk=False).get_opcodes()
    sources: list[int | None] = []
    for _, start, end, first, last in changes:
        count = last - first
        sources += [start + index * (end - start) // count if start < end else None for index in range(count)]
    return AlignedTranslation(after, old, new, sources)


def word_units(text: str) -> dict[int, Span]:
    """Words, or characters of a script without spaces, by their index among those of `words_and_characters`.

    The punctuation around them is left out, as are units of punctuation alone.
    """
    words: dict[int, Span] = {}
    for unit, (start, end) in enumerate(words_and_characters(text)):
        inner = list(spans_of_words(text[start:end]))
        if inner:
            words[unit] = start + inner[0][0], start + inner[0][1]
    return words


def _units(text: str, segments: Sequence[Span]) -> list[Span]:
    """The words of a text; in a script without spaces, its segments."""
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
    position = 0
    before = ""
    for (start, end), sentence, elements in zip(spans, sentences, inside, strict=True):
        between = list(_raw(text, position, start))
        translated = _Sentence(document, text.text, sentence, elements, start).render()
        for element in _cut_between(text.elements, position, start) if pieces else ():
            last = pieces[-1].markup
            if last.endswith(element.close) and translated.startswith(element.open):
                pieces[-1] = pieces[-1]._replace(markup=last.removesuffix(element.close))
                translated = translated.removeprefix(element.open)
        pieces += between
        if position == start and touches(before, sentence.text):
            translated = f" {translated}"
        pieces.append(_Piece(start, translated))
        position, before = end, sentence.text
    return _with_marks([*pieces, *_raw(text, position, len(text.text))], outside)


class _Piece(NamedTuple):
    start: int
    markup: str


def _raw(text: Text, start: int, end: int) -> Iterator[_Piece]:
    return (_Piece(position, text.raw[position]) for position in range(start, end))


def _divided(elements: Sequence[Element], spans: Sequence[Span]) -> tuple[list[Element], list[list[Element]]]:
    """The elements outside of sentences or around whole ones, and the elements inside of each sentence.

    An element that begins or ends inside of a sentence and goes on outside is cut: each sentence has its own part.
    """
    outside: list[Element] = []
    inside: list[list[Element]] = [[] for _ in spans]
    cut: list[Element] = []
    """The elements with words that are inside of sentences."""
    for element in elements:
        around = next((one for one in reversed(cut) if one.encloses(element)), None)
        if element.start == element.end:
            number = next((at for at, span in enumerate(spans) if _stands_in(element.start, span, around)), None)
            (outside if number is None else inside[number]).append(element)
            continue
        positions = range(element.start, element.end + 1) if element.kept else (element.start, element.end)
        if around is None and not any(start < position < end for start, end in spans for position in positions):
            outside.append(element)
            continue
        cut.append(element)
        parts = [
            (own, max(element.start, start), min(element.end, end))
            for own, (start, end) in zip(inside, spans, strict=True)
            if element.start < end and start < element.end
        ]
        if not parts:  # it has nothing but spaces beside a sentence
            outside.append(element)
        for number, (own, start, end) in enumerate(parts):
            kept = element.kept if number == 0 else element.kept and ""
            own.append(replace(element, start=start, end=end, kept=kept))
    return outside, inside


def _stands_in(position: int, span: Span, around: Element | None) -> bool:
    """Whether a position is inside of a sentence, or at its limits in an element around words of the sentence."""
    start, end = span
    return start < position < end or (
        around is not None and start <= position <= end and around.start < end and start < around.end
    )


def _cut_between(elements: Sequence[Element], end: int, start: int) -> list[Element]:
    """The elements that are around the end of a sentence and the beginning of the next one, outermost first."""
    return [one for one in elements if one.kept is None and one.close and one.start < end and start < one.end]


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


class _Tag(NamedTuple):
    """A tag between two words of the translation."""

    markup: str
    between: str
    """What stands between it and its word in the source."""
    following: str = ""
    """What has to follow it."""
    otherwise: str | None = None
    """How it is written where the translation has something else there; None where that makes no difference."""
    closing: str = ""
    """The end tag of an element that has no words, but characters (`following`)."""
    preceding: str = ""
    """What has to stand before it and what stands between."""


class _Alone(NamedTuple):
    """An element that stands alone beside a word of the translation."""

    element: Element
    source: int
    """The word of the source that this word is linked with."""


class _Sentence:
    """The rendering of a sentence with the elements inside of it."""

    def __init__(
        self, document: Markup, text: str, sentence: AlignedTranslation, elements: Sequence[Element], start: int
    ) -> None:
        """`start` is the position of the sentence in the text."""
        self._document, self._text = document, text
        limits = {limit - start for element in elements for limit in (element.start, element.end)}
        self._sentence = _cut(sentence, text[start:], sorted(limits))
        self._elements = elements
        self._start = start
        self._units = [(first + start, end + start) for first, end in self._sentence.source_units]
        self._stacks = self._filled(self._linked_stacks())
        self._before: dict[int, list[_Alone]] = {}
        """The elements that stand alone before a word of the translation."""
        self._after: dict[int, list[_Alone]] = {}
        present = {id(element) for stack in self._stacks for element in stack}
        for element in sorted(elements, key=lambda element: element.order):
            if id(element) not in present:
                word, behind, source = self._point(element)
                (self._after if behind else self._before).setdefault(word, []).append(_Alone(element, source))

    def render(self) -> str:
        """The translation with its tags."""
        text, position = self._sentence.text, 0
        result: list[str] = []
        words = self._words()
        stacks = [[element for element in stack if element.kept is None] for stack in self._stacks]
        ends: list[_Tag] = []
        """What ends behind the word before."""
        for number, (start, end) in enumerate(self._sentence.target_units):
            stack, source = stacks[number], self._sentence.sources[number]
            begins: list[_Tag] = []
            waiting = self._before.get(number, [])
            for element in stack[len(_common(stacks[number - 1], stack)) if number else 0 :]:
                begins += [self._in_front(one) for one in waiting if not element.encloses(one.element)]
                waiting = [one for one in waiting if element.encloses(one.element)]
                between = "" if waiting or source is None else self._between(element.start, self._units[source][0])
                begins.append(_Tag(element.open, between))
            begins += map(self._in_front, waiting)
            result += self._gap(text[position:start] if words[number] is not None else "", ends, begins)
            result.append(words[number] or "")
            ends = []
            waiting = self._after.get(number, [])
            following = stacks[number + 1] if number + 1 < len(stacks) else []
            for element in reversed(stack[len(_common(stack, following)) :]):
                inside = [self._behind(one) for one in waiting if element.encloses(one.element)]
                waiting = [one for one in waiting if not element.encloses(one.element)]
                last_word = len(self._text) if source is None else self._units[source][1]
                between = "" if inside else self._between(last_word, element.end)
                ends += [*inside, _Tag(element.close, between)]
            ends += map(self._behind, waiting)
            position = end
        result += self._gap(text[position:], ends, [])
        last = self._before.get(len(stacks), [])
        divided = last and self._is_space(last[0].element.start - 1) and text and not text[-1].isspace()
        return "".join([*result, " " if divided else "", *(self._alone(one.element, "") for one in last)])

    def _gap(self, gap: str, ends: Sequence[_Tag], begins: Sequence[_Tag]) -> Iterator[str]:
        """The characters between two words, with their tags, each as far from its word as in the source."""
        marks: list[tuple[int, str]] = []
        position = 0
        for tag in ends:
            fits = gap.startswith(tag.between + tag.following) and (not tag.closing or len(tag.between) >= position)
            position = max(position, len(tag.between) if fits else 0)
            marks.append((position, tag.markup if fits or tag.otherwise is None else tag.otherwise))
            if fits and tag.closing:
                position += len(tag.following)
                marks.append((position, tag.closing))
        first, behind = position, []
        position = len(gap)
        for tag in reversed(begins):
            start = len(gap) - len(tag.between)
            fits = gap.endswith(tag.preceding + tag.between) and (
                not tag.closing or first <= start <= position - len(tag.following)
            )
            position = max(first, min(position, start)) if fits else position
            if fits and tag.closing:
                behind.append((position + len(tag.following), tag.closing))
            behind.append((position, tag.markup if fits or tag.otherwise is None else tag.otherwise))
        position = 0
        for at, markup in [*marks, *reversed(behind), (len(gap), "")]:
            yield self._document.escape(gap[position:at])
            yield markup
            position = at

    def _words(self) -> list[str | None]:
        """The markup of each word of the translation; None for one that belongs to an element before it.

        An untranslated element takes the place of its own words, or of whole words if the translation lacks its own.
        """
        text, units = self._sentence.text, self._sentence.target_units
        words: list[str | None] = [self._document.escape(text[slice(*unit)]) for unit in units]
        written: set[int] = set()
        done = 0
        for number, stack in enumerate(self._stacks):
            kept = [element for element in stack if element.kept is not None]
            if number < done or not kept:
                continue
            own = [element for element in kept if id(element) not in written]
            if not own:
                words[number] = None
                continue
            done = number + 1
            while done < len(units) and any(element in own for element in self._stacks[done]):
                own += [one for one in self._stacks[done] if one.kept is not None and one not in own]
                done += 1
            words[number:done] = [self._with_kept(text[units[number][0] : units[done - 1][1]], own)]
            words[number + 1 : number + 1] = [None] * (done - number - 1)
            written |= set(map(id, own))
        return words

    def _with_kept(self, text: str, elements: Sequence[Element]) -> str:
        """A part of the translation with elements that are not translated in the place of their words."""
        pieces: list[str] = []
        position = 0
        for element in elements:
            own = " ".join(self._text[element.start : element.end].split())
            start = text.find(own, position) if own else -1
            if start >= 0:
                pieces.append(self._document.escape(text[position:start]))
                position = start + len(own)
            pieces.append(element.kept or "")
        return "".join([*pieces, self._document.escape(text[position:]) if position else ""])

    def _between(self, start: int, end: int) -> str:
        """The characters of the source from `start` to `end`; "" if there are words among them."""
        text = self._text[start:end] if start < end else ""
        return "" if any(map(str.isalnum, text)) else re.sub(" +", " ", text)

    def _in_front(self, one: _Alone) -> _Tag:
        """An element that stands alone, before a word."""
        element, word = one.element, self._units[one.source][0]
        markup = self._alone(element, " ")
        if self._is_punctuation(element):
            own = self._text[element.start : element.end]
            return _Tag(element.open, self._between(element.start, word), own, markup, element.close)
        between = self._between(element.end, word) if element.start == element.end else ""
        preceding = self._text[element.start - 1 : element.start].strip()
        if between and not between.strip() and preceding and not preceding.isalnum():
            return _Tag(self._alone(element, ""), between, otherwise=f"{markup} ", preceding=preceding)
        if not between.strip():
            return _Tag(markup, "")
        shown = markup if between[0].isspace() else self._alone(element, "")
        return _Tag(shown, between.lstrip(), otherwise=markup)

    def _behind(self, one: _Alone) -> _Tag:
        """An element that stands alone, behind a word."""
        element, word = one.element, self._units[one.source][1]
        between = self._between(word, element.start)
        markup = self._alone(element, "")
        if self._is_punctuation(element):
            own = self._text[element.start : element.end]
            return _Tag(element.open, between, own, markup, element.close)
        spaced = " " + markup if element.start and self._text[element.start - 1].isspace() else markup
        following = "" if between.strip() else self._text[element.start : element.start + 1].strip()
        if not between.strip() and not following:
            return _Tag(spaced, "")
        shown = self._alone(element, " ") if between.strip() and between[-1].isspace() else markup
        return _Tag(shown, between, following, spaced)

    def _is_punctuation(self, element: Element) -> bool:
        """Whether an element has characters, and no words."""
        return element.kept is None and element.start < element.end and bool(self._between(element.start, element.end))

    def _alone(self, element: Element, space: str) -> str:
        """An element that stands alone, with the space that divides it from the word behind it."""
        if element.kept is None and element.start < element.end:
            return element.open + element.close
        words = self._text[element.start : element.end].strip()
        divided = words or (self._is_space(element.end) and self._is_space(element.start - 1))
        markup = element.open + element.close if element.kept is None else element.kept
        return markup + (space if divided else "")

    def _is_space(self, position: int) -> bool:
        """Whether there is a space, or the end of the text."""
        return not 0 <= position < len(self._text) or self._text[position].isspace()

    def _linked_stacks(self) -> list[list[Element]]:
        """The elements of each word of the translation, outermost first."""
        of_source = [self._around(*unit) for unit in self._units]
        linked = [None if source is None else of_source[source] for source in self._sentence.sources]
        stacks: list[list[Element]] = []
        for number, stack in enumerate(linked):
            following = next((one for one in linked[number + 1 :] if one is not None), [])
            stacks.append(_common(stacks[-1] if stacks else [], following) if stack is None else stack)
        return stacks

    def _around(self, start: int, end: int) -> list[Element]:
        """The elements of a word of the source. An element that covers less than half of the word counts if none covers
        more."""
        overlaps = [
            (min(element.end, end) - max(element.start, start), element)
            for element in self._elements
            if max(element.start, start) < min(element.end, end)
        ]
        most = max((size for size, one in overlaps if one.kept is None), default=0)
        return [one for size, one in overlaps if one.kept is not None or size == most or 2 * size >= end - start]

    def _filled(self, stacks: list[list[Element]]) -> list[list[Element]]:
        """Include short gaps between the words of an element."""
        for element in self._elements:
            words = [word for word, stack in enumerate(stacks) if element in stack and element.kept is None]
            for before, after in pairwise(words):
                gap = range(before + 1, after)
                around = stacks[before][: stacks[before].index(element)]
                if len(gap) <= MAX_GAP and all(one in around for word in gap for one in stacks[word]):
                    for word in gap:
                        stacks[word] = [*around, element]
        return stacks

    def _point(self, element: Element) -> tuple[int, bool, int]:
        """The word of the translation beside which an element without words stands, whether the element stands behind
        it, and the word of the source that it is linked with.

        The element belongs to the word before it if it touches this word, or if no word follows it in the element
        around it.
        """
        sources = self._sentence.sources
        inner = [one for one in self._elements if one.encloses(element) and one.end > one.start]
        first, last = (inner[-1].start, inner[-1].end) if inner else (0, len(self._text))
        follows = any(element.end <= start < last for start, _ in self._units)
        precedes = any(first <= start < element.start for start, _ in self._units)
        ends, begins = self._is_space(element.end), self._is_space(element.start - 1)
        before_mark = not ends and not self._text[element.end].isalnum()
        touches_word = element.start > self._start and (before_mark or (ends and not begins))
        has_words = element.kept is None and element.start < element.end and not self._is_punctuation(element)
        is_last = not any(element.end <= start for start, _ in self._units)
        if precedes and not has_words and (touches_word or (inner and not follows) or is_last):
            for source in reversed(range(len(self._units))):
                if self._units[source][0] < element.start and source in sources:
                    return len(sources) - 1 - sources[::-1].index(source), True, source
        for source, (start, end) in enumerate(self._units):
            if (element.start < end if has_words else element.start <= start) and source in sources:
                return sources.index(source), False, source
        return len(self._sentence.target_units), False, 0


def _cut(sentence: AlignedTranslation, source: str, positions: Sequence[int]) -> AlignedTranslation:
    """A sentence in which words that are equal on both sides, such as names, are cut at some positions of the source.

    Their parts are linked, so that elements within such a word keep their places.
    """
    parts = [[start, *(cut for cut in positions if start < cut < end), end] for start, end in sentence.source_units]
    if all(len(cuts) == 2 for cuts in parts):
        return sentence
    source_units: list[Span] = []
    first_parts: list[int] = []
    for cuts in parts:
        first_parts.append(len(source_units))
        source_units += pairwise(cuts)
    target_units: list[Span] = []
    sources: list[int | None] = []
    for unit, linked in zip(sentence.target_units, sentence.sources, strict=True):
        same = linked is not None and source[slice(*sentence.source_units[linked])] == sentence.text[slice(*unit)]
        if linked is None or not same:
            target_units.append(unit)
            sources.append(None if linked is None else first_parts[linked])
            continue
        cuts = parts[linked]
        target_units += pairwise(position - cuts[0] + unit[0] for position in cuts)
        sources += range(first_parts[linked], first_parts[linked] + len(cuts) - 1)
    return AlignedTranslation(sentence.text, source_units, target_units, sources)


def _common(one: list[Element], other: list[Element]) -> list[Element]:
    """The elements with which both lists begin."""
    return [first for first, _ in takewhile(lambda pair: pair[0] is pair[1], zip(one, other, strict=False))]
