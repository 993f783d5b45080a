"""The fonts of this system: which of them have the letters of a text, and which letters none has.

Pictures are drawn with these fonts. A page is drawn with those of the computer it is read on, most often this one.
"""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

from matplotlib.font_manager import FontEntry, findSystemFonts, fontManager, get_font

from dragoman.text.display import visible

log = logging.getLogger(__name__)

_HAN_REGIONS = {"zh": "SC", "ja": "JP", "ko": "KR"}  # suffixes of fonts with regional shapes of Han letters
_BASE = "DejaVu Sans"  # comes with matplotlib: Latin, Greek, Cyrillic, and much else
_OF_NO_SCRIPT = ("IDEOGRAPHIC ", "FULLWIDTH ", "HALFWIDTH ", "LEFT ", "RIGHT ", "KATAKANA-HIRAGANA ")


def font_families(words: Iterable[str], languages: Iterable[str | None] = ()) -> list[str]:
    """Return font families of this system that together cover the words as far as possible, the default one first."""
    regions = [_HAN_REGIONS[language[:2]] for language in languages if language and language[:2] in _HAN_REGIONS]
    return [_BASE, *_search(_letters(words), regions[0] if regions else "SC")[0]]


def missing_letters(words: Iterable[str]) -> str:
    """Return the letters that no font of this system has, sorted."""
    return "".join(sorted(_search(_letters(words), "SC")[1]))


def scripts_of(letters: str) -> list[str]:
    """Return the scripts of letters, by the first words of their Unicode names: Hangul, Thai.

    Punctuation, and letters of another width, belong to the others.
    """
    all_names = [unicodedata.name(letter, "these letters") for letter in letters]
    names = [name for name in all_names if not name.startswith(_OF_NO_SCRIPT)] or all_names
    known = ("these letters" if name == "these letters" else name.split()[0].capitalize() for name in names)
    return list(dict.fromkeys("Han" if name == "Cjk" else name for name in known))


def font_package(letters: str) -> str:
    """Return fonts that have the letters, and how Debian installs them."""
    if set(scripts_of(letters)) & {"Han", "Hangul", "Hiragana", "Katakana", "Bopomofo"}:
        return "Noto Sans CJK: apt-get install fonts-noto-cjk"
    return "Noto: apt-get install fonts-noto-core"


def warn_of_missing_letters(
    words: Iterable[str], *, pictures: bool = False, page: bool = False, instead: str = ""
) -> None:
    """Warn of letters that no font of this system has.

    Args:
        pictures: the words are in pictures that are drawn here.
        page: the words are in a page or a picture whose text its reader's browser draws.
        instead: the option that gives a page instead of pictures.
    """
    missing = missing_letters(words)
    if not missing:
        return
    consequence = "they are drawn as boxes" if pictures else "a browser draws them as boxes"
    scripts, package = " and ".join(scripts_of(missing)), font_package(missing)
    advice = f"Install a font for {scripts} ({package})"
    if page:
        advice += "; whoever opens the file needs one too"
    elif instead:
        advice += f", or use {instead}"
    shown = " ".join(missing[:10]) + (f" and {len(missing) - 10} more letters" if len(missing) > 10 else "")
    log.warning("no font of this system has %s; %s. %s", shown, consequence, advice)


def _letters(words: Iterable[str]) -> frozenset[str]:
    return frozenset(letter for word in words for letter in visible(word) if not letter.isspace())


@cache
def _search(letters: frozenset[str], region: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the families needed besides the default one, and the letters without a glyph in any.

    Each family is the first, in the order of `_upright_fonts`, with a letter that is still missing.
    """
    missing = {ord(letter) for letter in letters} - _glyphs(str(fontManager.findfont(_BASE)))
    families = []
    for entry in _upright_fonts(region) if missing else ():
        covered = missing & _glyphs(entry.fname)
        if covered:
            families.append(entry.name)
            missing -= covered
        if not missing:
            break
    # Invisible characters need no glyph: joiners, directional marks, variation selectors.
    return tuple(families), frozenset(chr(code) for code in missing if unicodedata.category(chr(code)) != "Cf")


def _upright_fonts(region: str) -> Iterator[FontEntry]:
    """Yield fonts of normal style and weight: sans serif first, and among these the large East Asian ones.

    Last are those that were installed after matplotlib made its list, which it keeps between processes.
    """

    def preference(entry: FontEntry) -> tuple[bool, bool, bool, str]:
        name = entry.name
        return "Sans" not in name, "CJK" not in name, not name.endswith(region), name

    for fonts in (_listed_fonts, _new_fonts):
        yield from sorted(
            (
                entry
                for entry in fonts()
                if entry.style == "normal"
                and entry.weight in (400, "normal", "regular")
                and not entry.name.startswith("Last Resort")  # a box for every letter
            ),
            key=preference,
        )


@cache
def _listed_fonts() -> tuple[FontEntry, ...]:
    return tuple(fontManager.ttflist)


@cache
def _new_fonts() -> tuple[FontEntry, ...]:
    listed = _listed_fonts()
    for path in sorted(set(findSystemFonts()) - {entry.fname for entry in listed}):
        try:
            fontManager.addfont(path)
        except (OSError, RuntimeError):  # not a font that matplotlib can read
            continue
    return tuple(fontManager.ttflist[len(listed) :])


@cache
def _glyphs(path: str) -> frozenset[int]:
    """Return the code points that a font file has a glyph for; none if it cannot be read."""
    try:
        return frozenset(get_font(path).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()
