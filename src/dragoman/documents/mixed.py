"""Paragraphs of XML with mixed content, as in OpenDocument, XLIFF and TMX: text between elements of the sentence."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from dragoman.documents.inline import Inline

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

Role = Literal["wrapper", "index", "transparent", "leaf", "word", "break"]
"""`wrapper` stands around words of the sentence, `index` around raised or lowered text, `transparent` means nothing,
`leaf` stays as it is, `word` stays and its words are part of the sentence, `break` ends a text."""


class Half(NamedTuple):
    """One of two elements that together stand around words, such as `bpt` and `ept` of TMX."""

    begins: bool
    key: str
    """The same for both."""


class _Around(NamedTuple):
    """Pairs of halves around the same words: the elements before these words, and the elements behind them."""

    first: list[Element]
    last: list[Element]


class _Run(NamedTuple):
    """Halves that follow each other without text: the pairs that end and begin there, in the order of writing."""

    ends: list[_Around]
    begins: list[_Around]
    others: list[Element]
    """Elements that stand alone."""


class MixedText:
    """The text of an element."""

    def __init__(
        self,
        element: Element,
        role: Callable[[Element], Role],
        half: Callable[[Element], Half | None] = lambda element: None,
        *,
        lines: bool = False,
    ) -> None:
        """Read the text.

        Args:
            role: what each element inside is.
            half: whether a leaf is one of two that stand around words.
            lines: whether line breaks divide the text and stay.
        """
        self.element, self._role, self._half, self._lines = element, role, half, lines
        self.inline = Inline()
        self._add(element)

    def _add(self, parent: Element) -> None:
        self._add_text(parent.text or "")
        runs = self._runs(parent)
        numbers: dict[int, int] = {}
        for child in parent:
            run = runs.get(child)
            if run is None:
                self._add_child(child)
            else:
                for one in run.ends:
                    self.inline.close(numbers[id(one)])
                for one in run.begins:
                    numbers[id(one)] = self.inline.open(one)
                for other in run.others:
                    self.inline.leaf(other)
            self._add_text(child.tail or "")

    def _add_child(self, child: Element) -> None:
        role = self._role(child) if isinstance(child.tag, str) else "leaf"
        if role in ("wrapper", "index"):
            number = self.inline.open((child.tag, dict(child.attrib), child.nsmap), index=role == "index")
            self._add(child)
            self.inline.close(number)
        elif role == "transparent":
            self._add(child)
        elif role == "break":
            self.inline.divide(child)
        else:
            words = " ".join("".join(child.itertext()).split()) if role == "word" else ""
            self.inline.leaf(child, words)

    def _runs(self, parent: Element) -> dict[Element, _Run]:
        """The run of each half. The first half of a run has all of it, the others have an empty one.

        Pairs that overlap do not stand around words, as their halves could change places; they stand alone.
        """
        heads: list[Element] = []
        of_half: dict[Element, int] = {}
        pairs: dict[tuple[int, int], _Around] = {}
        begun: dict[str, Element] = {}
        for child in parent:
            half = self._half(child) if isinstance(child.tag, str) else None
            if half is None:
                continue
            before = child.getprevious()
            if before not in of_half or before is None or before.tail:
                heads.append(child)
            of_half[child] = len(heads) - 1
            if half.begins:
                begun[half.key] = child
            elif half.key in begun:
                first = begun.pop(half.key)
                limits = of_half[first], of_half[child]
                around = pairs.setdefault(limits, _Around([], []))
                around.first.append(first)
                around.last.append(child)
        runs = [_Run([], [], []) for _ in heads]
        paired: set[Element] = set()
        open_ends: list[int] = []
        for (start, end), around in sorted(pairs.items(), key=lambda item: (item[0][0], -item[0][1])):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            if start == end or (open_ends and open_ends[-1] < end):
                continue
            open_ends.append(end)
            around.first.sort(key=parent.index)
            runs[start].begins.append(around)
            runs[end].ends.insert(0, around)
            paired.update(around.first, around.last)
        for child, number in of_half.items():
            if child not in paired:
                runs[number].others.append(child)
        nothing = _Run([], [], [])
        return {child: runs[number] if heads[number] is child else nothing for child, number in of_half.items()}

    def _add_text(self, text: str) -> None:
        for number, line in enumerate(text.split("\n") if self._lines else [text]):
            if number:
                self.inline.divide("\n")
            self.inline.text(line)

    def write(self, translated: str) -> None:
        """Put the translation in the place of the text."""
        self.write_to(self.element, translated)

    def write_to(self, target: Element, translated: str, *, copies: bool = False) -> None:
        """Put the translation into an element; with `copies`, the source keeps its elements."""
        pieces = list(self.inline.pieces(translated))
        for child in list(target):
            target.remove(child)
        target.text = None
        parents = [target]
        for kind, payload in pieces:
            if isinstance(payload, str):
                _append_text(parents[-1], payload)
            elif isinstance(payload, _Around):
                parents[-1].extend(_copied(one) for one in (payload.first if kind == "open" else payload.last))
            elif kind == "open":
                tag, attributes, namespaces = payload
                shell = target.makeelement(tag, attributes, namespaces)
                parents[-1].append(shell)
                parents.append(shell)
            elif kind == "close":
                parents.pop()
            else:
                leaf = _copied(payload) if copies else payload
                leaf.tail = None
                parents[-1].append(leaf)


def _copied(element: Element) -> Element:
    """A copy of an element without its tail."""
    duplicate = copy.deepcopy(element)
    duplicate.tail = None
    return duplicate


def _append_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text
