"""Traces of wrong encodings."""

import unicodedata

import pytest

from dragoman.inspection.encoding import has_composed_letter, troubles


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
def test_troubles_and_their_places(line, kinds):
    assert troubles(line) == kinds


@pytest.mark.parametrize(
    "text", ["für", "“quoted”", "it’s", "naïve café", "Škoda žije", "Привет", "Ελληνικά", "日本語", "5 €", "😀 so"]
)
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_mojibake_of_many_languages_is_recognised(text, encoding):
    try:
        wrong = text.encode().decode(encoding)
    except UnicodeDecodeError:
        pytest.skip("Windows-1252 has no character for one of the bytes")
    assert "mojibake" in troubles(f"well {wrong} then")
    assert "mojibake" not in troubles(f"well {text} then")


@pytest.mark.parametrize("line", ["CAFÉ…", "MENÜ“", "IRMÃ”", "voilà…", "É possível", "Ã", "às “vezes”", "Åland, Ærø"])
def test_what_only_looks_like_mojibake_is_left_alone(line):
    assert "mojibake" not in troubles(line)


def test_composed_letters():
    assert has_composed_letter("Zoë")
    assert not has_composed_letter(unicodedata.normalize("NFD", "Zoë"))
    assert not has_composed_letter("Zoe")
