"""What can be wrong with a pair: the kinds, in words, and the collector that counts, keeps examples and lists."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import NamedTuple, TextIO

from dragoman.text.corpus import Pair


class Kind(NamedTuple):
    """A kind of finding."""

    meaning: str
    advice: str


NOT_UTF8 = "not UTF-8"

KINDS = {
    NOT_UTF8: Kind(
        "a line with bytes that are not UTF-8; nothing else is looked for in such a pair",
        "Training stops at the first of them.",
    ),
    "empty side": Kind("a side without text", "Training leaves these pairs out by itself."),
    "repeated pair": Kind(
        "a pair that has come before, exactly",
        "Training leaves repetitions out by itself, unless cleaning.duplicates is keep.",
    ),
    "copied": Kind(
        "the same text on both sides",
        "A few names and numbers are fine. Many of them teach the model to copy: take the sentences among them out.",
    ),
    "too long": Kind(
        "a side of more words than training takes segments",
        "Training leaves these out; raise cleaning.max_length, or divide them into sentences.",
    ),
    "unlikely lengths": Kind(
        "one side far longer than the other lets expect",
        "Often lines that are no translations of each other, or that were divided on one side only. Look at some; "
        "cleaning.max_ratio leaves out the worst.",
    ),
    "wrong way round": Kind(
        "each side looks like the other's language", "Exchange the sides of these pairs, or take them out."
    ),
    "other side's language": Kind(
        "a line that looks like the other side's language",
        "Most often text that nobody translated: take these pairs out.",
    ),
    "other script": Kind(
        "most letters of a line are of a script that its side is not written in",
        "Look at some: another language, or the wrong file.",
    ),
    "unusual": Kind(
        "letters follow each other unlike in the rest of the side, and not for a reason below",
        "Most often another language in the same script, else lists of names or codes. Look at some before you take "
        "them out.",
    ),
    "mojibake": Kind(
        "UTF-8 that was read as Latin-1 or Windows-1252 on the way, such as Ã¤ for ä",
        "Get the text again from where it was right; if that cannot be, a program such as ftfy repairs most of it.",
    ),
    "replacement character": Kind(
        "U+FFFD, which stands where a character was lost",
        "The text is damaged: get it again, or leave these lines out.",
    ),
    "control character": Kind(
        "control characters, or line ends of other systems inside a line",
        "Dragoman reads them as blanks. Many of them from U+0080 on are signs of a wrong encoding.",
    ),
    "invisible character": Kind(
        "soft hyphens, zero-width blanks, byte order marks or marks of direction inside a line",
        "They make one word into two different ones: take the characters out.",
    ),
    "decomposed letter": Kind(
        "letters and their accents as separate characters (not NFC)",
        "Beside composed letters one word is spelled in two ways: bring everything to NFC, also what will be "
        "translated later.",
    ),
    "markup": Kind(
        "HTML or XML: tags, or escapes such as &amp;",
        "Take it out, unless the model is to translate markup; for text that Moses escaped, use its unescaping.",
    ),
}
"""By name, in the order in which they are shown."""


class Example(NamedTuple):
    """One finding, with the pair it is about."""

    kind: str
    origin: str
    """Where the pair comes from, such as "train.de:17"."""
    side: str
    """source, target or both"""
    detail: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Found:
    """One kind of finding over the whole corpus."""

    kind: str
    pairs: int
    examples: list[Example]


class Findings:
    """Counts pairs by kind of finding, keeps the first examples of each, and lists all if asked."""

    def __init__(self, examples: int, listing: TextIO | None = None) -> None:
        """`listing` receives a line "origin TAB kind TAB side TAB detail TAB source TAB target" for every finding."""
        self._limit, self._listing = examples, listing
        self._counts: Counter[str] = Counter()
        self._examples: defaultdict[str, list[Example]] = defaultdict(list)

    def note(self, kind: str, pair: Pair, side: str = "both", detail: str = "") -> None:
        """A pair has this trouble; said once for each kind and pair."""
        assert kind in KINDS
        self._counts[kind] += 1
        if self._listing is None and len(self._examples[kind]) >= self._limit:
            return
        example = Example(kind, pair.origin, side, detail, pair.source, pair.target)
        if len(self._examples[kind]) < self._limit:
            self._examples[kind].append(example)
        if self._listing is not None:
            columns = (example.origin, kind, side, detail, pair.source, pair.target)
            self._listing.write("\t".join(re.sub("[\t\r\n]", " ", column) for column in columns) + "\n")

    def found(self) -> list[Found]:
        """The kinds that were found, in the order of KINDS."""
        return [Found(kind, self._counts[kind], self._examples[kind]) for kind in KINDS if self._counts[kind]]
