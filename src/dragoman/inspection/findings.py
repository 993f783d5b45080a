"""The findings of an inspection about single pairs: the table that states each once, and their collector."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import NamedTuple, TextIO

from msgspec import Struct

from dragoman.corpora.pairs import Pair
from dragoman.inspection.corpus_reader import Chunk, describe_bad_line


class FindingKind(NamedTuple):
    """One row of the table: what the finding is, and what to do about it."""

    meaning: str
    advice: str
    spoils: bool = False
    """Whether the model is spoilt where the finding is frequent, so that training warns of it."""


NOT_UTF8 = "not UTF-8"

FINDING_KINDS = {
    NOT_UTF8: FindingKind(
        "a line with bytes that are not UTF-8; such a pair is not checked for anything else",
        "Training stops at the first such line.",
    ),
    "empty side": FindingKind("a side without text", "Training drops these pairs."),
    "repeated pair": FindingKind(
        "an exact duplicate of an earlier pair", "Training drops duplicates, unless cleaning.duplicates is keep."
    ),
    "copied": FindingKind(
        "the same text on both sides",
        "A few names and numbers are harmless. Many copied sentences teach the model to copy: remove them.",
        spoils=True,
    ),
    "too long": FindingKind(
        "a side with more words than training accepts tokens",
        "Training drops these pairs; raise cleaning.max_length, or split them into sentences.",
    ),
    "unlikely lengths": FindingKind(
        "a side much longer than the other side predicts",
        "Often these are not translations of each other, or only one side was split into sentences. Check some; "
        "cleaning.max_ratio drops the worst.",
        spoils=True,
    ),
    "wrong way round": FindingKind(
        "each side looks like the other's language",
        "Swap the sides of these pairs, or remove the pairs.",
        spoils=True,
    ),
    "other side's language": FindingKind(
        "a line that looks like the other side's language",
        "Most often untranslated text: remove these pairs.",
        spoils=True,
    ),
    "other script": FindingKind(
        "most letters of a line are in a script that its side does not use",
        "Check some: another language, or the wrong file.",
    ),
    "unusual": FindingKind(
        "letter sequences unlike the rest of the side, for none of the reasons below",
        "Most often another language in the same script, otherwise lists of names or codes. Check some before removing "
        "them.",
    ),
    "mojibake": FindingKind(
        "UTF-8 that was decoded as Latin-1 or Windows-1252, such as Ã¤ for ä",
        "Get the text again from its source; if that is impossible, a tool such as ftfy repairs most of it.",
        spoils=True,
    ),
    "replacement character": FindingKind(
        "U+FFFD, which replaces a character that was lost",
        "The text is damaged: get it again, or remove these lines.",
        spoils=True,
    ),
    "control character": FindingKind(
        "control characters, or line ends of other systems inside a line",
        "Dragoman reads them as spaces. Many of them from U+0080 on indicate a wrong encoding.",
    ),
    "invisible character": FindingKind(
        "soft hyphens, zero-width spaces, byte order marks or directional marks inside a line",
        "They turn one word into two different ones: remove these characters.",
    ),
    "decomposed letter": FindingKind(
        "letters and their accents as separate characters (not NFC)",
        "Mixed with composed letters they give one word two spellings: normalise everything to NFC, including the "
        "text to translate later.",
    ),
    "markup": FindingKind(
        "HTML or XML: tags, or escapes such as &amp;",
        "Remove it, unless the model is to translate markup; for text escaped by Moses, use its unescaping script.",
    ),
}
"""By name, in the order in which they are shown. JSON, text and advice all take their wording from here; the conditions
are in `inspect.py` and `corpus_reader.py` under the same names."""


class FindingExample(Struct, frozen=True):
    """One pair with a finding."""

    kind: str
    origin: str
    """File and line of the pair, such as "train.de:17"."""
    side: str
    """source, target or both"""
    detail: str
    source: str
    target: str


class Finding(Struct, frozen=True):
    """One kind of finding over the whole corpus."""

    kind: str
    meaning: str
    pairs: int
    examples: list[FindingExample]


class Findings:
    """Counts pairs by kind of finding, keeps the first examples of each, and optionally lists all."""

    def __init__(self, examples: int, listing: TextIO | None = None) -> None:
        """`listing` receives a line "origin TAB kind TAB side TAB detail TAB source TAB target" for every finding."""
        self._limit, self._listing = examples, listing
        self._counts: Counter[str] = Counter()
        self._examples: defaultdict[str, list[FindingExample]] = defaultdict(list)

    def add(self, kind: str, pair: Pair, side: str = "both", detail: str = "") -> None:
        """Record a finding; at most once for each kind and pair."""
        assert kind in FINDING_KINDS
        self._counts[kind] += 1
        if len(self._examples[kind]) < self._limit:
            self._examples[kind].append(FindingExample(kind, pair.origin, side, detail, pair.source, pair.target))
        if self._listing is not None:
            columns = (pair.origin, kind, side, detail, pair.source, pair.target)
            self._listing.write("\t".join(re.sub("[\t\r\n]", " ", column) for column in columns) + "\n")

    def add_bad_pairs(self, chunk: Chunk) -> None:
        """Record the pairs of a chunk that have a line which is not UTF-8."""
        for pair, side, line in chunk.bad:
            self.add(NOT_UTF8, pair, side, describe_bad_line(line))

    def summary(self) -> list[Finding]:
        """The kinds that occurred, in the order of FINDING_KINDS."""
        return [
            Finding(name, kind.meaning, self._counts[name], self._examples[name])
            for name, kind in FINDING_KINDS.items()
            if self._counts[name]
        ]
