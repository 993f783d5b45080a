"""Changes of lines into text as people write it: other capitals, typing errors, other characters, inserted items.

Each change is a function of the line and of random numbers, and leaves a line as it is where it finds nothing to
change. Items are text that a translation must contain unchanged. Lines can also be given to the wrong targets.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from dragoman.text.scripts import LETTER_WITHOUT_SPACES
from dragoman.text.words import raw_words

LineChange = Callable[[str, random.Random], str]

MISTYPED = 0.15
"""Share of the words of a line with typing errors that have one."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_WORD_START = re.compile(r"(?<![\w'’])[^\W\d_]")
TypingError = Literal["exchanged", "left out", "doubled"]
TYPING_ERRORS: tuple[TypingError, ...] = get_args(TypingError)
"""What happens to a letter of a word."""

SPACES = "\u00a0\u202f\u3000"
"""No-break, narrow no-break and ideographic space."""
INVISIBLE = "\u200b\u00ad\ufeff"
"""Zero-width space, soft hyphen and byte order mark."""
LIST_MARKS = ("- ", "* ", "• ", "1. ", "a) ", "(2) ")
_QUOTATION_MARKS = ("“”", "„“", "«»", '""')
_DASHES = "-–—‐−"

_FINAL_MARKS = re.compile(r"[\s.!?…。．！？؟।]+$")
_WITH_DIACRITICS = re.compile("([A-Za-z\u0370-\u03ffЕе])[\u0300-\u036f]+")
_DOUBLE_QUOTATION_MARK = re.compile('["“”„«»]')
_APOSTROPHE = re.compile("['‘’]")
_DASH = re.compile(f"[{_DASHES}]")
_ASCII_WORD = re.compile("[A-Za-z0-9]+")
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])(?=[^\W\d_])")
_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}


class Change(NamedTuple):
    """A way to change a line."""

    change: LineChange
    both_sides: bool = False
    """Whether the translation is expected to be changed likewise, with the same random numbers."""


def add_typing_errors(line: str, draw: random.Random, errors: Sequence[TypingError] = TYPING_ERRORS) -> str:
    """Exchange, leave out or double a letter in some words of three letters or more; the first letter stays."""
    return _WORD.sub(lambda match: _mistyped(match[0], draw, errors) if draw.random() < MISTYPED else match[0], line)


def _mistyped(word: str, draw: random.Random, errors: Sequence[TypingError]) -> str:
    at, error = draw.randrange(1, len(word) - 1), draw.choice(errors)
    before, here, after = word[:at], word[at], word[at + 1 :]
    if error == "exchanged":
        return before + after[0] + here + after[1:]
    return before + after if error == "left out" else before + here + here + after


def title_case(line: str) -> str:
    """The line with the first letter of each word as a capital, as headings are written; other letters stay."""
    return _WORD_START.sub(lambda match: match[0].title(), line)


def remove_final_mark(line: str) -> str:
    """Remove the punctuation and the spaces at the end of a line; a line of nothing else stays."""
    return _FINAL_MARKS.sub("", line) or line


def remove_diacritics(line: str) -> str:
    """Remove the diacritics of Latin and Greek letters, and of the Cyrillic ё."""
    bare = _WITH_DIACRITICS.sub(r"\1", unicodedata.normalize("NFD", line))
    return unicodedata.normalize("NFC", bare) if bare != unicodedata.normalize("NFD", line) else line


def use_other_spaces(line: str, draw: random.Random) -> str:
    """Replace 15 % of the spaces by others of Unicode."""
    return re.sub(" ", lambda space: draw.choice(SPACES) if draw.random() < MISTYPED else space[0], line)


def add_invisible_characters(line: str, draw: random.Random) -> str:
    """Insert an invisible character into 15 % of the words, between two letters."""

    def changed(word: re.Match[str]) -> str:
        positions = [match.start() for match in _BETWEEN_LETTERS.finditer(word[0])]
        if not positions or draw.random() >= MISTYPED:
            return word[0]
        position = draw.choice(positions)
        return word[0][:position] + draw.choice(INVISIBLE) + word[0][position:]

    return re.sub(r"\S+", changed, line)


def use_full_width(line: str, draw: random.Random) -> str:
    """Write 15 % of the ASCII words and numbers in full-width letters and digits."""
    return _ASCII_WORD.sub(lambda word: word[0].translate(_FULL_WIDTH) if draw.random() < MISTYPED else word[0], line)


def use_other_punctuation(line: str, draw: random.Random) -> str:
    """Replace quotation marks, apostrophes and dashes by others; the quotation marks of a line are of one kind."""
    marks = draw.choice([pair for pair in _QUOTATION_MARKS if pair[0] not in line])
    number = iter(range(len(line)))
    line = _DOUBLE_QUOTATION_MARK.sub(lambda _: marks[next(number) % 2], line)
    line = _APOSTROPHE.sub(lambda match: draw.choice("'‘’".replace(match[0], "")), line)
    return _DASH.sub(lambda match: draw.choice(_DASHES.replace(match[0], "")), line)


CHANGES: Mapping[str, Change] = {
    "lower case": Change(lambda line, _: line.lower(), both_sides=True),
    "ALL CAPITALS": Change(lambda line, _: line.upper(), both_sides=True),
    "Title Case": Change(lambda line, _: title_case(line), both_sides=True),
    "no final mark": Change(lambda line, _: remove_final_mark(line)),
    "letters exchanged": Change(lambda line, draw: add_typing_errors(line, draw, ["exchanged"])),
    "letters left out": Change(lambda line, draw: add_typing_errors(line, draw, ["left out"])),
    "letters doubled": Change(lambda line, draw: add_typing_errors(line, draw, ["doubled"])),
    "no diacritics": Change(lambda line, _: remove_diacritics(line)),
    "NFD": Change(lambda line, _: unicodedata.normalize("NFD", line)),
    "other spaces": Change(use_other_spaces),
    "invisible characters": Change(add_invisible_characters),
    "full-width words": Change(use_full_width),
    "other quotes and dashes": Change(use_other_punctuation),
    "list mark in front": Change(lambda line, draw: draw.choice(LIST_MARKS) + line, both_sides=True),
}
"""Changes of a line by name. Typing errors, spaces, invisible and full-width characters: 15 % of the words."""


class Item(NamedTuple):
    """A kind of text that a translation must contain as it is."""

    examples: tuple[str, ...]
    digits_only: bool = False
    """Whether the translation may separate the digits as its language does: 3,14 for 3.14."""


ITEMS: Mapping[str, Item] = {
    "URL": Item(("https://example.org/a/b?id=3", "www.example.com")),
    "e-mail address": Item(("kim@example.org", "jo.doe+x@mail.example.com")),
    "path": Item(("/usr/local/lib", r"C:\Temp\log.txt", "src/main.c")),
    "{x}": Item(("{name}", "{0}", "{count}")),
    "{{x}}": Item(("{{name}}", "{{ total }}")),
    "${x}": Item(("${name}", "${HOME}")),
    "%s": Item(("%s", "%d")),
    "%1$s": Item(("%1$s", "%2$d")),
    "%(name)d": Item(("%(name)d", "%(user)s")),
    "tag": Item(("<b>", "</a>", "<br/>", '<img src="a.png">')),
    "entity": Item(("&amp;", "&nbsp;", "&#8217;")),
    "@user": Item(("@user", "@kim_92")),
    "#tag": Item(("#tag", "#42")),
    "version": Item(("v2.0.1", "3.11.4")),
    "part number": Item(("AB-1234", "XK47-B")),
    "UUID": Item(("123e4567-e89b-12d3-a456-426614174000",)),
    "number with a point": Item(("3.14", "27.5"), digits_only=True),
    "number with a comma": Item(("1,234", "56,789"), digits_only=True),
    "time": Item(("12:45", "7:05")),
    "date": Item(("2026-11-27", "1998-03-14")),
    "emoji": Item(("😀", "👍🏽", "🇰🇷", "❤️")),
    "unseen name": Item(("Kowalczyk", "Yeongsu", "Brankvold")),
    "name with foreign letters": Item(("Ödögh", "Šťávěk", "Ærnskjøld")),
}
"""Items by name; `own_script_names` has those in the script of a text."""

_NAMES = {
    "HANGUL": ("곽두섭", "표옥례"),
    "CYRILLIC": ("Жердинов", "Хлупина"),
    "GREEK": ("Κρανούλης", "Ζμπούκας"),
    "CJK": ("戴望諾", "邵芷蘅"),
    "HIRAGANA": ("ぬくまろ", "へびさわ"),
    "KATAKANA": ("ケルマド", "ヌビレス"),
    "ARABIC": ("خزيران", "شنبور"),
    "HEBREW": ("זלפקוב", "גרינוף"),
    "DEVANAGARI": ("झिंगुरवाल", "ढोलकर"),
    "THAI": ("ฆนัสวี", "ฌวลักษ"),
}


def own_script_names(text: str) -> tuple[str, ...]:
    """Return invented names in the script that most letters of a text have; none for Latin and scripts without names.

    >>> own_script_names("Привет, world: как дела")
    ('Жердинов', 'Хлупина')
    """
    letters = Counter(filter(str.isalpha, text))
    scripts: Counter[str] = Counter()
    for letter, count in letters.items():
        scripts[unicodedata.name(letter, "").partition(" ")[0]] += count
    return _NAMES.get(scripts.most_common(1)[0][0], ()) if scripts else ()


def insert(line: str, item: str) -> str | None:
    """Insert an item between the words in the middle of a line, or between letters of a script without spaces.

    Returns:
        the longer line; None if it has no middle, that is fewer than four words or eight such letters.
    """
    words = raw_words(line)
    if len(words) >= 4:
        position = words[len(words) // 2][0]
        return f"{line[:position]}{item} {line[position:]}"
    middle = len(line) // 2
    if len(LETTER_WITHOUT_SPACES.findall(line)) >= 8 and LETTER_WITHOUT_SPACES.match(line, middle):
        return line[:middle] + item + line[middle:]
    return None


def contains(text: str, item: str, *, digits_only: bool = False) -> bool:
    """Whether a text contains an item that is no part of a longer word or number in ASCII.

    With `digits_only` points, commas and spaces may stand between its digits in another way.
    """
    pattern = re.escape(item)
    if digits_only:
        pattern = "[.,'’ \u00a0\u202f]?".join(filter(str.isdigit, item))
    return re.search(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])", text) is not None


def wrong_sources(lines: Sequence[str]) -> list[str]:
    """The lines rotated by half of them: line k is far from its own translation, and all lines are still used."""
    half = len(lines) // 2
    return [*lines[half:], *lines[:half]]
