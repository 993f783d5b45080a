"""Letters find a font of this system, or a warning names them."""

import logging

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib.font_manager import fontManager

from dragoman.report import fonts as module
from dragoman.report.fonts import font_families, font_package, missing_letters, scripts_of, warn_of_missing_letters


def test_letters_that_the_default_font_lacks_come_from_another_one_or_are_reported():
    assert font_families(["naïve Ünïcode ж"]) == ["DejaVu Sans"]
    assert missing_letters(["naïve\u200d Ünïcode ж"]) == ""
    for letters in ("漢字", "हिन्दी"):
        assert (len(font_families([letters])) > 1) != (missing_letters([letters]) == "".join(sorted(set(letters))))
    assert missing_letters(["a\U000e0fffb"]) == "\U000e0fff"  # assigned to nobody


def test_a_font_that_was_installed_later_is_found(tmp_path, monkeypatch):
    """matplotlib keeps its list of fonts in a file; a font that is not in it is looked for among the system's."""
    letter, path = "\U000f1234", tmp_path / "new.ttf"  # of private use: no other font has it
    font = FontBuilder(1000)
    font.setupGlyphOrder([".notdef", "new"])
    font.setupCharacterMap({ord(letter): "new"})
    font.setupGlyf({name: TTGlyphPen(None).glyph() for name in (".notdef", "new")})
    font.setupHorizontalMetrics(dict.fromkeys((".notdef", "new"), (500, 0)))
    font.setupHorizontalHeader(ascent=800, descent=-200)
    font.setupNameTable({"familyName": "Newly Installed Sans", "styleName": "Regular"})
    font.setupOS2()
    font.setupPost()
    font.save(path)
    broken = tmp_path / "broken.ttf"
    broken.write_bytes(b"no font")
    monkeypatch.setattr(fontManager, "ttflist", list(fontManager.ttflist))
    monkeypatch.setattr(module, "findSystemFonts", lambda: [str(path), str(broken)])
    for cached in (module._search, module._new_fonts):
        cached.cache_clear()
    assert font_families([letter])[1:] == ["Newly Installed Sans"]
    assert missing_letters([letter]) == ""
    for cached in (module._search, module._new_fonts):
        cached.cache_clear()


def test_letters_without_a_font_have_scripts_and_fonts():
    assert scripts_of("한글中ひ") == ["Hangul", "Han", "Hiragana"]
    assert scripts_of("。「は」ー！") == ["Hiragana"]
    assert scripts_of("！") == ["Fullwidth"]
    assert scripts_of("ก\ue123") == ["Thai", "these letters"]
    assert font_package("ก中") == "Noto Sans CJK: apt-get install fonts-noto-cjk"
    assert font_package("ก") == "Noto: apt-get install fonts-noto-core"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ({"pictures": True}, "they are drawn as boxes. Install a font for {}"),
        (
            {"pictures": True, "instead": "--format html"},
            "they are drawn as boxes. Install a font for {}, or use --format html",
        ),
        ({"page": True}, "a browser draws them as boxes. Install a font for {}; whoever opens the file needs one too"),
        (
            {"pictures": True, "page": True},
            "they are drawn as boxes. Install a font for {}; whoever opens the file needs one too",
        ),
    ],
)
def test_the_warning_of_missing_letters_says_who_needs_a_font(caplog, shown, expected):
    with caplog.at_level(logging.WARNING):
        warn_of_missing_letters(["a", "\U000e0fff b"], **shown)
        warn_of_missing_letters(["a b"], **shown)
    font = "these letters (Noto: apt-get install fonts-noto-core)"
    assert caplog.messages == [f"no font of this system has \U000e0fff; {expected.format(font)}"]
