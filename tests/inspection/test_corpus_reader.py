"""Traces of wrong encodings."""

from __future__ import annotations

import gzip
import io
import json
import shlex
import subprocess
import unicodedata
from pathlib import Path

import pytest

from dragoman.corpora.corpus import read_pairs
from dragoman.errors import InputError
from dragoman.inspection.advice import advice
from dragoman.inspection.corpus_reader import character_issues, guess_encoding, has_composed_letter
from dragoman.inspection.findings import NOT_UTF8
from dragoman.inspection.inspect import inspect_corpus
from dragoman.inspection.presentation import text, to_json
from dragoman.text.lines import UndecodableLine


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
        for line in texts:
            assert "mojibake" in character_issues(f"well {line} then"), (encoding, line)


def test_text_of_many_languages_is_not_mojibake():
    for line in TEXTS:
        assert "mojibake" not in character_issues(f"well {line} then"), line


def test_text_that_only_looks_like_mojibake_is_accepted():
    for line in ("CAFÉ…", "MENÜ“", "IRMÃ”", "voilà…", "É possível", "Ã", "às “vezes”", "Åland, Ærø"):
        assert "mojibake" not in character_issues(line), line


def test_composed_letters():
    assert has_composed_letter("Zoë")
    assert not has_composed_letter(unicodedata.normalize("NFD", "Zoë"))
    assert not has_composed_letter("Zoe")


SENTENCES = [
    "Le café est fermé.",
    "« Déjà ? » dit-elle – l’été…",
    "Müller größer Straße",
    "¿Qué pasó, señor?",
    "Às vezes não",
    "IRMÃ",
    "5 €",
    "it’s",
    "1º andar",
    "créée",
]


def guess(raw: bytes) -> str:
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return guess_encoding(UndecodableLine("text", 1, raw, error.start))
    raise AssertionError(f"{raw!r} is UTF-8")


@pytest.mark.parametrize("sentence", SENTENCES)
def test_western_text_is_recognised_by_its_bytes(sentence):
    assert guess(sentence.encode("cp1252")) == "Windows-1252"


@pytest.mark.parametrize(
    ("sentence", "encoding"),
    [
        ("Привет, как дела", "cp1251"),
        ("Привет, как дела", "koi8-r"),
        ("Καλημέρα σας", "iso8859-7"),
        ("Było źle, później łatwiej", "iso8859-2"),
        ("これはテストの文章です", "shift-jis"),
        ("これはテストの文章です", "euc-jp"),
        ("这是一个测试句子", "gbk"),
    ],
)
def test_text_of_other_encodings_is_not_taken_for_western_or_korean(sentence, encoding):
    assert guess(sentence.encode(encoding)) == "unknown"


@pytest.mark.parametrize("encoding", ["cp949", "euc-kr"])
def test_korean_is_recognised_by_its_bytes(encoding):
    for sentence in ("이것은 시험 문장입니다", "고맙다!", "2026년 1월에 KBS가", "눈 덮인 산의 노루"):
        assert guess(sentence.encode(encoding)) == "cp949"


def test_the_command_for_korean_lines_converts_them(pairs, write, tmp_path):
    files = write([(source if place % 10 else "안녕하세요", target) for place, (source, target) in enumerate(pairs)])
    was = files[0].read_text(encoding="utf-8")
    files[0].write_bytes(was.encode("cp949"))
    (sentence,) = (sentence for sentence in advice(inspect_corpus([files])) if sentence.startswith(NOT_UTF8))
    command = sentence.partition("letters: ")[2]
    subprocess.run(["sh", "-c", command], check=True)
    assert Path(shlex.split(command)[-1]).read_text(encoding="utf-8") == was


@pytest.mark.parametrize("sentence", ["naïve café", "voilà", "“quoted”", "日本語", "so 😀"])
def test_a_line_cut_within_a_character_is_broken_utf8(sentence):
    raw = sentence.encode()
    assert guess(raw[:-1]) == "broken UTF-8"


def spoil(path: Path, numbers: set[int], encoding: str = "cp1252", text: str = " für Grüße") -> None:
    """Rewrite some lines, counted from 1, in another encoding, with letters in them that show it."""
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_bytes(
        b"".join(
            ((line + text).encode(encoding) if number in numbers else line.encode()) + b"\n"
            for number, line in enumerate(lines, 1)
        )
    )


def test_bad_lines_are_found_where_they_are_and_nothing_else_changes(pairs, write):
    pairs[300] = pairs[2]
    pairs[310] = ("", pairs[310][1])
    files, rest = write(pairs), write([pair for place, pair in enumerate(pairs) if place not in (0, 9, 29)], "rest")
    spoil(files[0], {1, 30})
    spoil(files[1], {10, 30})
    listing = io.StringIO()
    inspection = inspect_corpus([files], listing=listing)
    listed = [line.split("\t") for line in listing.getvalue().splitlines()]
    bad = [(origin, side) for origin, kind, side, *_ in listed if kind == NOT_UTF8]
    assert bad == [(f"{files[0]}:1", "source"), (f"{files[0]}:10", "target"), (f"{files[0]}:30", "both")]
    found = {each.kind: each for each in inspection.findings}
    assert (inspection.pairs, found.pop(NOT_UTF8).pairs) == (400, 3)
    clean = inspect_corpus([rest])
    assert (inspection.source, inspection.target, inspection.target_per_source) == (
        clean.source,
        clean.target,
        clean.target_per_source,
    )
    assert {kind: each.pairs for kind, each in found.items()} == {each.kind: each.pairs for each in clean.findings}
    (repeated,) = found["repeated pair"].examples
    assert (repeated.origin, repeated.detail) == (f"{files[0]}:301", "first as pair 3")


def test_the_example_names_the_byte_and_is_printable(pairs, write):
    files = write(pairs)
    spoil(files[0], {7})
    (example,) = inspect_corpus([files], examples=1).findings[0].examples
    assert example.detail.startswith(f"byte 0xfc at position {len(pairs[6][0]) + 3}; as Windows-1252: ")
    assert example.detail.endswith(" für Grüße")
    assert example.source == pairs[6][0] + r" f\xfcr Gr\xfc\xdfe"
    assert (example.target, example.side) == (pairs[6][1], "source")


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("kind", ["tsv", "jsonl"])
def test_pairs_in_one_file(pairs, tmp_path, kind, suffix):
    if kind == "tsv":
        lines = [f"{source}\t{target}" for source, target in pairs]
    else:
        lines = [
            json.dumps({"source": source, "target": target, "by": "x"}, ensure_ascii=False) for source, target in pairs
        ]
    raw = [line.encode() for line in lines]
    raw[4] = raw[4].replace(pairs[4][0][:3].encode(), b"\xe9\xe9")
    raw[5] = raw[5].replace(pairs[5][1][:3].encode(), b"\xe9\xe9")
    expected = [("5", "source"), ("6", "target")]
    if kind == "jsonl":  # in what training does not use, but stops at
        raw[8] = raw[8].replace(b'"x"', b'"\xe9"')
        expected.append(("9", "both"))
    path = tmp_path / f"train.{kind}{suffix}"
    path.write_bytes((gzip.compress if suffix else bytes)(b"\n".join(raw)))
    found = inspect_corpus([[path]]).findings[0]
    assert found.kind == NOT_UTF8
    assert [(example.origin.rpartition(":")[2], example.side) for example in found.examples] == expected
    assert all("\\xe9" in example.source + example.target for example in found.examples[:2])
    with pytest.raises(InputError, match="byte 0xe9"):
        list(read_pairs([[path]]))


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_the_command_for_a_file_all_in_windows_1252_converts_it(pairs, write, tmp_path, suffix):
    files = write([(source + (" déjà" if place % 3 else ""), target) for place, (source, target) in enumerate(pairs)])
    was = files[0].read_text(encoding="utf-8")
    given = tmp_path / f"old source{suffix}"
    given.write_bytes((gzip.compress if suffix else bytes)(was.encode("cp1252")))
    advised = advice(inspect_corpus([[given, files[1]]]))
    (sentence,) = (sentence for sentence in advised if sentence.startswith("not UTF-8 (266 pairs, 66.5 %)"))
    assert "266 lines that decode as Windows-1252" in sentence
    command = sentence.partition("accents: ")[2]
    assert "iconv -f WINDOWS-1252 -t UTF-8" in command
    subprocess.run(["sh", "-c", command], check=True)
    converted = Path(shlex.split(command)[-1])
    assert converted.read_text(encoding="utf-8") == was


def test_converting_the_whole_file_is_not_advised_where_it_would_damage_other_lines(pairs, write):
    files = write(pairs)  # nearly every target line has an ü
    spoil(files[1], {7, 8})
    (sentence,) = (sentence for sentence in advice(inspect_corpus([files])) if sentence.startswith(NOT_UTF8))
    others = sum(not target.isascii() for place, (_, target) in enumerate(pairs) if place not in (6, 7))
    assert f"{files[1]}: 2 lines that decode as Windows-1252 (or Latin-1, a part of it) beside {others} " in sentence
    assert "Convert the bad ones alone" in sentence
    assert "Convert the whole file" not in sentence
    assert str(files[0]) not in sentence


def test_an_unclear_encoding_is_not_guessed(pairs, write):
    files = write(pairs)
    spoil(files[0], set(range(1, 41)), "cp1251", " Привет")
    advised = " ".join(advice(inspect_corpus([files])))
    assert f"{files[0]}: 40 lines in an encoding that cannot be guessed" in advised
    assert "WINDOWS-1252" not in advised


def test_held_out_sets_have_the_finding_too(pairs, write):
    dev, train = write(pairs[:20], "dev"), write(pairs[10:])
    spoil(dev[1], {3, 15})
    listing = io.StringIO()
    inspection = inspect_corpus([train], {"dev": dev}, listing=listing)
    assert f"{dev[0]}:15\tnot UTF-8\ttarget\t" in listing.getvalue()
    assert inspection.findings == []
    found = to_json(inspection)["held_out"]["dev"]
    assert (found["pairs"], found["seen"]) == (20, 9)  # pair 15 was seen, but cannot be compared
    assert [(each["kind"], each["pairs"], len(each["examples"])) for each in found["findings"]] == [(NOT_UTF8, 2, 2)]
    assert found["not_utf8"][str(dev[1])]["look_like"] == {"Windows-1252": 2}
    assert any(sentence.startswith("dev, not UTF-8 (2 pairs, 10.0 %): ") for sentence in advice(inspection))
    printed = text(inspection)
    assert "dev: 20 pairs" in printed
    assert f"\n  {dev[0]}:3 (target, byte 0x" in printed


def test_json_has_it_and_the_limit_counts_bad_lines(pairs, write):
    files = write(pairs)
    spoil(files[0], {2, 350})
    inspection = inspect_corpus([files, files], limit=402, subwords=100)
    assert inspection.pairs == 402
    assert inspection.subwords.pairs == 402 - 3
    written = to_json(inspection)
    assert written["findings"][0]["kind"] == NOT_UTF8
    assert written["findings"][0]["pairs"] == 3
    assert written["not_utf8"] == {
        str(files[0]): {"lines": 3, "look_like": {"Windows-1252": 3}, "other_lines_beyond_ascii": 0}
    }


def test_a_corpus_without_a_pair_to_read_is_an_error(pairs, write):
    files = write(pairs)
    spoil(files[0], set(range(1, 401)))
    with pytest.raises(InputError, match=r"train\.source:1: byte 0xfc at position \d+ is not UTF-8; give --encoding"):
        inspect_corpus([files])


def test_bad_lines_do_not_depend_on_where_chunks_end(pairs, write, monkeypatch):
    files = write(pairs)
    spoil(files[0], {1, 2, 3, 4, 100, 101, 200})
    whole = to_json(inspect_corpus([files]))
    monkeypatch.setattr("dragoman.inspection.corpus_reader.CHUNK", 2)
    assert to_json(inspect_corpus([files])) == whole
