"""Items: links, placeholders of programs, tags, emoji, numbers and the like, which a translation must contain as well.

`KINDS` has a pattern for each kind. The patterns mean the same in Python and in JavaScript (with the flag "u"), because
an exported web site finds items with them, too: classes of characters are written out. Each takes a time that grows
linearly with a line; a pattern of a user may not, and has a second for each line.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from dragoman.config.schema import ItemKind
from dragoman.errors import abridged
from dragoman.text.names import HIDDEN, LETTERS, OTHER_WORD, WordFilter, composed, known_words
from dragoman.text.raw_lines import has_letter, is_blank

log = logging.getLogger(__name__)

Span = tuple[int, int]

_WORD = "[A-Za-z0-9_]"
_NAME = "[A-Za-z_][A-Za-z0-9_]*"
_FILE = "[A-Za-z0-9_.+~-]"
_PICTURE = "(?:[\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\U0001f000-\U0001faff])"
_FORMAT = "[-+#0]{0,5}[0-9]{0,5}(?:[.][0-9]{1,5})?(?:hh|h|ll|l|z)?"
_SIGNS = (
    "amp|lt|gt|quot|apos|nbsp|e[mn]sp|thinsp|shy|zwn?j|[lr]rm|[nm]dash|[lrsb][sd]?quo|[lr]s?aquo|hellip|bull|middot"
    "|times|deg|copy|reg|trade|euro"
)
"""Names of entities that are no letters."""
_BULLET = "[*\u2022\u00b7\u2023\u25aa\u2013\u2014-]"
_HEX = "[0-9A-Fa-f]"
_SPACE = r"[ \u00a0\u00ad\u1680\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff]"
"""Spaces and invisible characters around the text of a line."""
_INVISIBLE = "\u00ad\u200b\u2060\ufeff"
"""Characters that items are found without: zero-width spaces in a link, say, allow it to be broken."""


class KindOfItem(NamedTuple):
    """A kind of items."""

    pattern: str
    examples: tuple[str, ...]


KINDS: Mapping[ItemKind, KindOfItem] = {
    "list": KindOfItem(
        rf"^{_SPACE}*(?:{_BULLET}|\(?[0-9]{{1,3}}[.)]|\(?[A-Za-z][.)])(?={_SPACE})",
        ("-", "•", "1.", "(2)", "a)"),
    ),
    "url": KindOfItem(
        r"(?:(?:https?|ftps?|file|mailto|vnd\.[A-Za-z0-9.]+):(?:\/\/)?[!#-;=?-~]*|(?<![A-Za-z0-9_.@])www\.[!#-;=?-~]*)"
        r"[A-Za-z0-9\/#=&_~%$@+*}-]",
        ("https://example.org/a/b?id=3", "www.example.com", "mailto:kim@example.org"),
    ),
    "email": KindOfItem(
        r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}",
        ("kim@example.org", "jo.doe+x@mail.example.com"),
    ),
    "tag": KindOfItem(
        r"""<\/?[A-Za-z][A-Za-z0-9:_-]*(?: +[A-Za-z_:-]+=(?:"[^"<>]*"|'[^'<>]*'))* ?\/?>"""
        r"""|&lt;\/?[A-Za-z][A-Za-z0-9:_-]*(?: +[A-Za-z_:-]+=(?:&quot;(?:[^&<>]|&(?!quot;|[lg]t;))*&quot;"""
        r"""|"(?:[^"&<>]|&(?![lg]t;))*"|'(?:[^'&<>]|&(?![lg]t;))*'))* ?\/?&gt;""",
        ("<b>", "</a>", "<br/>", '<img src="a.png">', "&lt;b&gt;", "&lt;a href=&quot;a.html?b&amp;c&quot;&gt;"),
    ),
    "variable": KindOfItem(
        r"[$#%]?\{\{[^{}]{0,60}\}\}|[$#%]?\{[A-Za-z0-9_.:%-]{0,60}\}"
        rf"|(?<!%)%(?:[0-9]{{1,3}}\$|\({_NAME}\)){_FORMAT}[diouxXeEfgGcsr@]"
        rf"|(?<![0-9%])%{_FORMAT}[diouxXeEfgGcsr@](?![A-Za-z0-9])"
        # Letters behind go on with a unit (%dpx), but 50 %des and 5 %ige are text, and so is a%20dog.
        r"|(?<![0-9%])(?<![0-9][ \u00a0\u202f])%(?:(?:0[0-9]|ll?)?[ds]|[0-9]?\.[0-9]f|@)"
        r"|(?<![A-Za-z0-9%])%(?:[0-9]{1,2}|[A-Z][A-Z0-9_]+)(?![A-Za-z0-9_])",
        ("{name}", "{0}", "{{ total }}", "${HOME}", "%s", "%1$s", "%(name)d", "%.2f", "%1", "%PRODUCTNAME"),
    ),
    "entity": KindOfItem(
        # A name that is not known here may be that of a letter, and f&uuml;r is a word.
        rf"&(?:#[0-9]{{1,7}}|#[xX][0-9A-Fa-f]{{1,6}}|{_SIGNS});|(?<![A-Za-z])&[A-Za-z]{{2,31}};(?![A-Za-z])",
        ("&amp;", "&nbsp;", "&#8217;"),
    ),
    "path": KindOfItem(
        rf"(?<![A-Za-z0-9_])[A-Za-z]:\\(?:{_FILE}+\\)*{_FILE}*{_WORD}"
        rf"|(?<![A-Za-z0-9_.\/<~-])~?\/[A-Za-z._]{_FILE}*\/(?:{_FILE}+\/)*(?:{_FILE}*{_WORD})?"
        rf"|(?<![A-Za-z0-9_.\/-])[A-Za-z0-9_.-]+(?:\/[A-Za-z0-9_.-]+)*\/[A-Za-z0-9_-]+\.[A-Za-z][A-Za-z0-9]{{0,4}}"
        r"(?![A-Za-z0-9_])",
        ("/usr/local/lib", r"C:\Temp\log.txt", "src/main.c"),
    ),
    "handle": KindOfItem(
        r"(?<![A-Za-z0-9_@.])@[A-Za-z0-9_]{2,30}|(?<![A-Za-z0-9_#&])#[A-Za-z0-9_]{1,40}",
        ("@user", "@kim_92", "#tag", "#42"),
    ),
    "date": KindOfItem(
        r"(?<![A-Za-z0-9_.,-])(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?)(?![A-Za-z0-9_])",
        ("2026-11-27", "12:45", "7:05"),
    ),
    "code": KindOfItem(
        rf"(?<![A-Za-z0-9_-]){_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}(?![A-Za-z0-9_])"
        r"|(?<![A-Za-z0-9_.])(?:v[0-9]+(?:\.[0-9]+)+|[0-9]+(?:\.[0-9]+){2,})(?:-[A-Za-z0-9]+)?(?![A-Za-z0-9_])"
        r"|(?<![A-Za-z0-9_-])(?=[A-Z0-9-]*[0-9])[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)+(?![A-Za-z0-9_])"
        r"|(?<![A-Za-z0-9_])[A-Z](?:\+\+|#)(?![A-Za-z0-9_+#])",
        ("v2.0.1", "3.11.4", "AB-1234", "XK47-B", "123e4567-e89b-12d3-a456-426614174000", "C++"),
    ),
    "emoji": KindOfItem(
        f"(?:{_PICTURE}[\ufe0e\ufe0f\u200d\u20e3\U000e0020-\U000e007f]*|[0-9#*]\ufe0f?\u20e3)+",
        ("😀", "👍🏽", "🇰🇷", "❤️", "👩‍🚀"),
    ),
    "number": KindOfItem(
        "(?<![A-Za-z0-9_])(?<![0-9][.,])(?=(?:[.,]?[0-9]){2})"
        "(?:[0-9]{1,3}(?:['\u2019\u00a0\u2009\u202f][0-9]{3})+(?:[.,][0-9]+)?|[0-9]+(?:[.,][0-9]+)*)(?![A-Za-z0-9_])",
        ("3.14", "1,234", "27.5", "2018"),
    ),
}
"""By name, in the order in which they are tried at a position. Numbers have two digits or more, the only kind whose
writing differs by language."""

SECONDS = 1.0
"""What the patterns of a user may take for a line."""
MOST = 9
"""Items of a line that get a placeholder; the others stay text."""
PLACEHOLDERS = "".join(chr(0xE001 + number) for number in range(MOST))
"""What stands for the items of a line inside segmentations: characters of private use, so that each is a segment."""
NAMES = tuple(f"⟦{number}⟧" for number in range(1, MOST + 1))
"""The segments of the placeholders, as vocabularies and people see them."""

_MAY_BE = re.compile(
    "[0-9/\\\\@#%&<{⟦\u2190-\u2bff\ue001-\ue009\U0001f000-\U0001faff]|www|mailto|vnd|[A-Z][+#-]"
    f"|^{_SPACE}*(?:{_BULLET}|\\(?[A-Za-z][.)])"
)
"""What every item has; most lines have none of it."""
_PLACEHOLDER = re.compile(f"([{PLACEHOLDERS}])")
_OWN = f"[{PLACEHOLDERS}]|" + "|".join(map(re.escape, NAMES))
"""Text that is spelled like a placeholder: an item, too."""
_TWO_PLACEHOLDERS = re.compile(f"([{PLACEHOLDERS}]) (?=([{PLACEHOLDERS}]))")
_LETTER = re.compile(f"[{LETTERS}0-9]")
_EDGE = re.compile(f"[{LETTERS}0-9_/@#]")
"""First or last characters of items that letters would go on with."""
_CONVERSION = re.compile("%.*[a-z@]")
"""Variables behind which letters may follow, as in %dpx."""
_OWN_CHARACTERS = str.maketrans(dict.fromkeys(PLACEHOLDERS, "\ufffd"))
_NUMBERS = re.compile(KINDS["number"].pattern)
_NUMBER = re.compile("[0-9]{1,3}(?:[.,'\u2019\u00a0\u2009\u202f][0-9]{3})+(?:[.,][0-9]+)?|[0-9]+(?:[.,][0-9]+)?")
"""What languages write with their own separators; neither a date nor a version."""
_DIGITS = re.compile("[0-9]")

_IS_INVISIBLE = re.compile(f"[{_INVISIBLE}]")
_SPACES = re.compile(f"{_SPACE}+")
_WORDS = re.compile(f"[{LETTERS}](?:[{LETTERS}{HIDDEN}'’.-]|{_SPACE})*")
"""Items that are text, such as names: they are written in normal form."""
_OTHER_WORD = re.compile(OTHER_WORD)
_TAG = re.compile(r"(?:<|&lt;)(\/?)[A-Za-z][^<>]*(?<!\/)(?:>|&gt;)")
"""A tag before or after what it holds; group 1 is "/" after it."""
_QUOTATION = re.compile(
    f"{_SPACE}*("
    + r'"[^"]+"|“[^“”"]+”|„[^„“”"]+[“”]|«[^«»]+»|»[^«»]+«|‘[^‘’]+’|「[^「」]+」|『[^『』]+』'
    + f"){_SPACE}*"
)

Quotation = tuple[str, str]
"""The quotation marks around a line."""
NO_QUOTATION: Quotation = ("", "")
Separator = tuple[str, bool]
"""A character between the digits of a number, and whether exactly three digits follow, as after one of thousands."""
_FEWEST = 3
"""Numbers of the training text from which on they show how a separator is written."""
_SAMPLE = 1_000_000
"""Pairs of a training text that are read for it."""


class Masked(NamedTuple):
    """A line whose items are placeholders."""

    text: str
    spans: list[Span] | None
    """The span in the raw line of each character; None where the text is the raw line."""
    items: tuple[str, ...] = ()
    """What the placeholders stand for in the translation, from the first on."""
    quotation: Quotation = NO_QUOTATION
    """The quotation marks that enclosed the line; they are not part of the text."""


class Items:
    """Finds the items of lines, puts placeholders in their places, and says how a translation writes them."""

    def __init__(
        self,
        patterns: Sequence[str],
        separators: Iterable[tuple[str, bool, str]] = (),
        known: WordFilter | None = None,
        foreign_words: Callable[[str], list[Span]] | None = None,
        *,
        anywhere: bool = False,
        letterless_stay: bool = True,
    ) -> None:
        """
        Args:
            patterns: what is an item; those before others are preferred.
            separators: how the target language writes a separator of numbers: (source separator, whether three digits
                follow, target separator).
            known: the words of the training sources; others are items if they are names. None if no names are.
            foreign_words: finds words that are items because the model does not know their letters.
            anywhere: whether an item may lack all characters by which items of `KINDS` are found.
            letterless_stay: whether a line without a letter, such as a number alone, is its own translation.
        """
        self.patterns = tuple(patterns)
        self.separators = tuple(separators)
        self.known = known
        self.foreign_words = foreign_words
        self.anywhere = anywhere
        self.letterless_stay = letterless_stay
        self._pattern = re.compile(_any((_OWN, *patterns)), re.ASCII)
        self._warned = False
        if anywhere:
            import regex

            ours = {kind.pattern for kind in KINDS.values()}
            self._kinds = re.compile(_any((_OWN, *(one for one in patterns if one in ours))), re.ASCII)
            self._with_own: Any = regex.compile(self._pattern.pattern, regex.ASCII)  # which can stop a match
        self._separators: dict[Separator, str] = {(mark, three): target for mark, three, target in self.separators}

    @classmethod
    def of_kinds(
        cls,
        kinds: Iterable[ItemKind],
        pairs: Callable[[], Iterable[tuple[str, str]]],
        foreign_words: Callable[[str], list[Span]] | None = None,
        own_patterns: Sequence[str] = (),
    ) -> Items:
        """The items of some kinds, with numbers written as the targets of training pairs write them.

        Args:
            kinds: those of `KINDS`, and "name": words with letters or, inside a line, with a capital that the training
                sources never had.
            pairs: reads the training pairs.
            foreign_words: as for the class; without names it is not needed.
            own_patterns: the patterns of the user (`text.patterns`).
        """
        wanted = set(kinds)
        chosen = [*own_patterns, *(kind.pattern for name, kind in KINDS.items() if name in wanted)]
        anywhere = bool(own_patterns)
        separators = _learnt_separators(islice(pairs(), _SAMPLE)) if "number" in wanted else ()
        stay = _letterless_stay(islice(pairs(), _SAMPLE))
        if "name" not in wanted:
            return cls(chosen, separators, anywhere=anywhere, letterless_stay=stay)
        known = known_words(islice(pairs(), _SAMPLE))
        return cls(chosen, separators, known, foreign_words, anywhere=anywhere, letterless_stay=stay)

    def with_text(self, lines: Iterable[str]) -> Items:
        """The items of a model that learns these sources, too."""
        known = None if self.known is None else self.known.with_text(lines)
        return Items(
            self.patterns,
            self.separators,
            known,
            self.foreign_words,
            anywhere=self.anywhere,
            letterless_stay=self.letterless_stay,
        )

    def find(self, line: str) -> list[Span]:
        """The spans of the items of a line."""
        if not line.isascii() and _IS_INVISIBLE.search(line):
            positions = [position for position, character in enumerate(line) if character not in _INVISIBLE]
            spans = self.find("".join(line[position] for position in positions))
            return [(positions[start], positions[end - 1] + 1) for start, end in spans]
        if self.anywhere:
            spans = self._find_with_own(line)
        else:
            spans = [match.span() for match in self._pattern.finditer(line)] if _MAY_BE.search(line) else []
        names = self.known.names(line) if self.known else []
        for start, stop in (*names, *(self.foreign_words(line) if self.foreign_words else ())):
            if not any(start < end and begin < stop for begin, end in spans):
                spans.append((start, stop))
        return sorted(spans)

    def _find_with_own(self, line: str) -> list[Span]:
        """As `find`, where some patterns are a user's own."""
        try:
            return [match.span() for match in self._with_own.finditer(line, timeout=SECONDS)]
        except TimeoutError:
            if not self._warned:
                log.warning(
                    "a pattern of text.patterns takes more than %g s on a line, in which none of them finds anything "
                    "(reported once): %s",
                    SECONDS,
                    abridged(line, 40),
                )
            self._warned = True
            return [match.span() for match in self._kinds.finditer(line)]

    def mask(self, line: str) -> Masked:
        """Replace the items of a source, the first `MOST` of them."""
        return self._mask_source(line, self.find(line)[:MOST])

    def mask_target(self, line: str, items: Sequence[str], quotation: Quotation = NO_QUOTATION) -> Masked:
        """Replace the items of a target that its source has too, each once.

        Args:
            items, quotation: the items and the quotation marks of its source; marks of the target stay if the source
            has none.
        """
        free = dict(zip(PLACEHOLDERS, map(_key, items), strict=False))
        replaced = []
        for start, end in self.find(line) if items else ():
            key = _key(line[start:end])
            placeholder = next((each for each, own in free.items() if own == key), None)
            if placeholder is not None:
                del free[placeholder]
                replaced.append(((start, end), placeholder))
        for placeholder, key in free.items():  # words that are names in the source only, as where they begin a sentence
            span = _span_of_word(line, key, [taken for taken, _ in replaced])
            if span is not None:
                replaced.append((span, placeholder))
        return _masked(line, sorted(replaced), quotation=any(quotation))

    def mask_pair(self, source: str, target: str) -> tuple[Masked, Masked]:
        """Replace the items that both sides have, the first `MOST` of them."""
        spans = self.find(source)
        free = Counter(_key(target[start:end]) for start, end in self.find(target)) if spans else Counter[str]()
        common: list[Span] = []
        for start, end in spans:
            key = _key(source[start:end])
            if free[key] and len(common) < MOST:
                free[key] -= 1
                common.append((start, end))
        quoted = all(map(_QUOTATION.fullmatch, (source, target)))
        masked = self._mask_source(source, common, quotation=quoted)
        return masked, self.mask_target(target, masked.items, masked.quotation)

    def _mask_source(self, line: str, spans: Sequence[Span], *, quotation: bool = True) -> Masked:
        items = tuple(self.written(line[start:end]) for start, end in spans)
        return _masked(line, list(zip(spans, PLACEHOLDERS, strict=False)), items, quotation=quotation)

    def written(self, item: str) -> str:
        """An item as the target language writes it: unchanged except for the form of words and the separators of
        numbers."""
        if not self._separators or not _NUMBER.fullmatch(item):
            return _plain(item)
        marks = {position: self._separators.get((mark, three), mark) for position, mark, three in _separators(item)}
        digits = _DIGITS.findall(item)
        return "".join(marks.get(position, "") + digit for position, digit in enumerate(digits))


def _any(patterns: Iterable[str]) -> str:
    return "|".join(f"(?:{one})" for one in patterns)


def restore(text: str, items: Sequence[str], apart: Sequence[tuple[bool, bool]] = ()) -> str:
    """The text with items in place of placeholders, and with the name of a placeholder that stands for none.

    A model may forget the space between a word and a placeholder. It is put between a letter and an item that would not
    be the same with letters at its ends, or that stands `apart` in the source (`stand_apart`). Scripts whose particles
    follow without a space keep them (Hangul, kana). A space between two items goes where neither stands apart on that
    side, and one between a tag and what it holds, where the source has none.
    """

    def between(match: re.Match[str]) -> str:
        one, other = (PLACEHOLDERS.index(placeholder) for placeholder in match.groups())
        joined = max(one, other) < len(apart) and not apart[one][1] and not apart[other][0]
        return match[1] if joined else match[0]

    restored, ended, opened = "", False, False
    for position, part in enumerate(_PLACEHOLDER.split(_TWO_PLACEHOLDERS.sub(between, text))):
        if position % 2:
            number = PLACEHOLDERS.index(part)
            written = items[number] if number < len(items) else NAMES[number]
            before, after = apart[number] if number < len(apart) else (False, False)
            tag = _TAG.fullmatch(written)
            if tag and tag[1] and not before:
                restored = restored.removesuffix(" ")
            touches = bool((before or _EDGE.match(written)) and _LETTER.match(restored[-1:]))
            ended = after or bool(_EDGE.match(written[-1:]) and not _CONVERSION.fullmatch(written))
            opened = bool(tag and not tag[1] and not after)
        else:
            written = part.removeprefix(" ") if opened else part
            touches = ended and bool(_LETTER.match(part))
        restored += f" {written}" if touches else written
    return restored


def stand_apart(line: str, spans: Iterable[Span]) -> list[tuple[bool, bool]]:
    """Whether items of a line have a space, or an end of the line, before and after them."""
    return [
        (not line[:start].rstrip(_INVISIBLE)[-1:].strip(), not line[end:].lstrip(_INVISIBLE)[:1].strip())
        for start, end in spans
    ]


def _plain(item: str) -> str:
    """An item with plain spaces before the mark of a list, and no invisible characters; text in normal form."""
    item = _IS_INVISIBLE.sub("", item)
    if _WORDS.fullmatch(item):
        return _SPACES.sub(" ", composed(item))
    spaces = _SPACES.match(item)
    return item if spaces is None else " " * len(spaces[0]) + item[spaces.end() :]


def _span_of_word(line: str, word: str, taken: Sequence[Span]) -> Span | None:
    """Where a line has a word that is an item, in either form of its letters, and outside the spans `taken`."""
    if not _WORDS.fullmatch(word) and not _OTHER_WORD.fullmatch(word):
        return None
    for form in dict.fromkeys((word, unicodedata.normalize("NFD", word))):
        for match in re.finditer(f"(?<![{LETTERS}0-9]){re.escape(form)}(?![{LETTERS}0-9])", line):
            if not any(match.start() < end and start < match.end() for start, end in taken):
                return match.span()
    return None


def _masked(
    line: str, replaced: Sequence[tuple[Span, str]], items: tuple[str, ...] = (), *, quotation: bool = True
) -> Masked:
    """Mask a line, and take off the quotation marks around it if `quotation`."""
    if quotation and (quoted := _QUOTATION.fullmatch(line)):
        return _without_quotation(_masked(line, replaced, items, quotation=False), line, quoted.span(1))
    if not replaced:
        return Masked(line.translate(_OWN_CHARACTERS), None)
    text: list[str] = []
    spans: list[Span] = []
    end = 0
    for (start, stop), placeholder in (*replaced, ((len(line), len(line)), "")):
        text += [line[end:start].translate(_OWN_CHARACTERS), placeholder]
        spans += [
            *((position, position + 1) for position in range(end, start)),
            *([(start, stop)] if placeholder else []),
        ]
        end = stop
    return Masked("".join(text), spans, items)


def _without_quotation(masked: Masked, line: str, quoted: Span) -> Masked:
    """The line without the quotation marks at the ends of a span, if they are not part of items."""
    start, end = quoted
    spans = masked.spans or [(position, position + 1) for position in range(len(line))]
    marks = (start, start + 1), (end - 1, end)
    if not all(mark in spans for mark in marks):
        return masked
    inside = slice(spans.index(marks[0]) + 1, spans.index(marks[1]))
    if is_blank(masked.text[inside]):
        return masked
    return Masked(masked.text[inside], spans[inside], masked.items, (line[start], line[end - 1]))


def _key(item: str) -> str:
    """What equal items have in common: the digits of a number, else the text."""
    return "".join(_DIGITS.findall(item)) if _NUMBER.fullmatch(item) else _plain(item)


def _learnt_separators(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, bool, str], ...]:
    """How the targets of pairs write the separators of numbers, where it is not as the sources do."""
    written: dict[Separator, Counter[str]] = {}
    for source, target in pairs:
        for key, mark in _separators_of_pair(source, target):
            written.setdefault(key, Counter())[mark] += 1
    separators = []
    for (mark, three), counts in sorted(written.items()):
        [(best, count)] = counts.most_common(1)
        if best != mark and count >= _FEWEST and 2 * count > counts.total():
            separators.append((mark, three, best))
    return tuple(separators)


def _letterless_stay(pairs: Iterable[tuple[str, str]]) -> bool:
    """Whether most sources without a letter are their own translations; also where there are none.

    Dates in figures, say, are not: 04.09.2040 is written 9/4/2040 in English.
    """
    same = Counter(source == target for source, target in pairs if not has_letter(source))
    return same[True] >= same[False]


def _separators(number: str) -> list[tuple[int, str, bool]]:
    """The separators of a number: how many digits are before each, what it is, and whether three digits follow."""
    return [
        (len(_DIGITS.findall(number[: match.start()])), match[0][0], len(match[0]) == 4)
        for match in re.finditer("[^0-9][0-9]*", number)
    ]


def _separators_of_pair(source: str, target: str) -> Iterator[tuple[Separator, str]]:
    """The separators of the numbers that both lines have, and what the target has in their places."""
    targets = {_key(match[0]): match[0] for match in _NUMBERS.finditer(target)}
    for match in _NUMBERS.finditer(source) if targets else ():
        if (other := targets.get(_key(match[0]))) is not None:
            marks = {position: mark for position, mark, _ in _separators(other)}
            for position, mark, three in _separators(match[0]):
                yield (mark, three), marks.get(position, "")
