"""Paragraphs of XML with mixed content, as in OpenDocument, XLIFF and TMX: text between elements of the sentence."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from dragoman.documents.inline import Inline

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

Role = Literal["wrapper", "transparent", "leaf", "word", "break"]
"""An element of the sentence, one that says nothing, one that is not taken apart, one with words that stay, and one
that ends a text."""


class MixedText:
    """The text of an element."""

    def __init__(self, element: Element, role: Callable[[Element], Role], *, lines: bool = False) -> None:
        """`role` says what each element inside is; with `lines`, line breaks divide the text and stay."""
        self.element, self._role, self._lines = element, role, lines
        self.inline = Inline()
        self._add(element)

    def _add(self, parent: Element) -> None:
        self._add_text(parent.text or "")
        for child in parent:
            role = self._role(child) if isinstance(child.tag, str) else "leaf"
            if role == "wrapper":
                number = self.inline.open((child.tag, dict(child.attrib), child.nsmap))
                self._add(child)
                self.inline.close(number)
            elif role == "transparent":
                self._add(child)
            elif role == "break":
                self.inline.divide(child)
            else:
                words = " ".join("".join(child.itertext()).split()) if role == "word" else ""
                self.inline.leaf(child, words)
            self._add_text(child.tail or "")

    def _add_text(self, text: str) -> None:
        for number, line in enumerate(text.split("\n") if self._lines else [text]):
            if number:
                self.inline.divide("\n")
            self.inline.text(line)

    def write(self, translated: str) -> None:
        """Put the translation in the place of the text."""
        self.write_to(self.element, translated)

    def write_to(self, target: Element, translated: str, *, copies: bool = False) -> None:
        """Put the translation into an element; with `copies`, elements of the source stay there."""
        pieces = list(self.inline.pieces(translated))
        for child in list(target):
            target.remove(child)
        target.text = None
        parents = [target]
        for kind, thing in pieces:
            if isinstance(thing, str):
                _append_text(parents[-1], thing)
            elif kind == "open":
                tag, attributes, namespaces = thing
                shell = target.makeelement(tag, attributes, namespaces)
                parents[-1].append(shell)
                parents.append(shell)
            elif kind == "close":
                parents.pop()
            else:
                leaf = copy.deepcopy(thing) if copies else thing
                leaf.tail = None
                parents[-1].append(leaf)


def _append_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text
