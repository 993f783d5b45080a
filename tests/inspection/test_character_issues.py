"""Traces of wrong encodings."""

import unicodedata

import pytest

from dragoman.inspection.character_issues import character_issues, has_composed_letter


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("plain", {}),
        ("Grüße aus „München“ – 5 € für Škoda, façade, naïve", {}),
        ("a\tb", {}),
        ("a\x07b", {"control character": 1}),
        ("one\ntwo", {"control character": 3}),
        ("Juli \x96 August", {"control character": 5}),
        ("one\u2028two", {"control character": 3}),
        ("caf\ufffd", {"replacement character": 3}),
        ("soft\u00adhyphen", {"invisible character": 4}),
        ("می‌روم", {}),
        ("rock &amp; roll", {"markup": 5}),
        ("a &lt; b and AT&T; x < y > z", {"markup": 2}),
        ("<b>bold</b> <br/>", {"markup": 0}),
        ("1 < 2 and 3 > 2", {}),
        (unicodedata.normalize("NFD", "Zoë"), {"decomposed letter": 2}),
    ],
)
def test_issues_and_their_positions(line, kinds):
    assert character_issues(line) == kinds


TEXTS = ["für", "“quoted”", "it’s", "naïve café", "Škoda žije", "Привет", "Ελληνικά", "日本語", "5 €", "😀 so"]
WRONG = {
    "latin-1": [text.encode().decode("latin-1") for text in TEXTS],
    "cp1252": [text.encode().decode("cp1252") for text in TEXTS if text != "“quoted”"],  # it has no byte 9D
}


def test_mojibake_of_many_languages_is_recognised():
    for encoding, texts in WRONG.items():
        for text in texts:
            assert "mojibake" in character_issues(f"well {text} then"), (encoding, text)


def test_text_of_many_languages_is_not_mojibake():
    for text in TEXTS:
        assert "mojibake" not in character_issues(f"well {text} then"), text


def test_text_that_only_looks_like_mojibake_is_accepted():
    for line in ("CAFÉ…", "MENÜ“", "IRMÃ”", "voilà…", "É possível", "Ã", "às “vezes”", "Åland, Ærø"):
        assert "mojibake" not in character_issues(line), line


def test_composed_letters():
    assert has_composed_letter("Zoë")
    assert not has_composed_letter(unicodedata.normalize("NFD", "Zoë"))
    assert not has_composed_letter("Zoe")
