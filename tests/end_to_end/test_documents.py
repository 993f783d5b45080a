"""`dragoman translate` of documents, and `dragoman.translate_file`."""

from __future__ import annotations

from pathlib import Path

import pytest

import dragoman
from dragoman.cli.main import main
from dragoman.workflows.loading import LoadedTranslator

Said = pytest.CaptureFixture[str]
PAGE = "<p>ab <b>c</b></p><p>ab <b>c</b></p><p>2018</p>"


def _translate(*words: str | Path) -> int:
    return main(["translate", *map(str, words), "--threads", "1", "--device", "cpu"])


def test_a_document_becomes_one_of_the_same_kind(light: Path, tmp_path: Path, capsys: Said) -> None:
    page, out = tmp_path / "a.html", tmp_path / "b.html"
    page.write_text(PAGE)
    for words in ((light, page), (light, "-i", page), (light, "--beam", "2", page)):
        assert _translate(*words, "-o", out) == 0
        assert out.read_text() == "<p>AB <b>C</b></p><p>AB <b>C</b></p><p>2018</p>"
        assert page.read_text() == PAGE
        assert capsys.readouterr().err.splitlines()[-1].endswith("b.html: 2 sentences, 4 words, 1 repeated")
        out.unlink()


def test_elements_stand_in_a_translation_of_the_memory(light: Path, tmp_path: Path) -> None:
    page, out, memory = tmp_path / "a.html", tmp_path / "b.html", tmp_path / "memory.tsv"
    page.write_text("<p>ab <b>c</b></p><p><i>de</i> f</p>")
    memory.write_text("ab c\tXX YY\nde f\tZZ DE\n", encoding="utf-8")
    assert _translate(light, page, "-o", out, "--memory", memory) == 0
    assert out.read_text() == "<p>XX <b>YY</b></p><p><i>ZZ DE</i></p>"


def test_near_matches_are_alternatives_in_xliff(light: Path, tmp_path: Path) -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    file, out, memory = tmp_path / "a.xlf", tmp_path / "b.xlf", tmp_path / "memory.tsv"
    memory.write_text("ab c\tkept\nfed cbb\tn & r\n", encoding="utf-8")
    units = "".join(f'<trans-unit id="{one}"><source>{one}</source></trans-unit>' for one in ("ab c", "fed cba", "f"))
    file.write_text(
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2"><file source-language="de" '
        f'target-language="en" original="a"><body>{units}</body></file></xliff>'
    )
    assert _translate(light, file, "-o", out, "--memory", memory) == 0
    written = out.read_text(encoding="utf-8")
    assert 'state-qualifier="exact-match">kept</target></trans-unit>' in written
    near = "<source>fed cbb</source><target>n &amp; r</target></alt-trans>"
    assert f'<alt-trans match-quality="86%" origin="memory">{near}' in written
    assert written.count("<alt-trans") == 1


def test_a_document_is_translated_in_python(light: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.html").write_text(PAGE)
    for translator in (light, dragoman.load(light)):
        found = dragoman.translate_file(translator, tmp_path / "a.html", tmp_path / "b.html")
        assert (tmp_path / "b.html").read_bytes() == found.content
        assert (found.segments, found.words, found.repeated) == (2, 4, 1)
    monkeypatch.setattr(LoadedTranslator, "languages", ("de", "en"))
    (tmp_path / "a.html").write_text('<html lang="de"><p>ab</html>')
    dragoman.translate_file(dragoman.load(light), tmp_path / "a.html", tmp_path / "b.html")
    assert (tmp_path / "b.html").read_text() == '<html lang="en"><p>AB</html>'
    with pytest.raises(dragoman.DragomanError, match=r"a\.xyz: is no document by its name; these are: .*docx"):
        dragoman.translate_file(light, tmp_path / "a.xyz", tmp_path / "b.xyz")


def test_subtitles_in_another_encoding_become_utf_8(light: Path, tmp_path: Path, capsys: Said) -> None:
    given, written = tmp_path / "a.srt", tmp_path / "b.srt"
    text = "1\r\n00:00:01,000 --> 00:00:02,000\r\nab 가나 c\r\n"
    given.write_bytes(text.encode("cp949"))
    assert _translate(light, given, "-o", written, "--encoding", "euc-kr") == 0
    assert f"{given}: read as euc_kr, written as UTF-8" in capsys.readouterr().err
    assert written.read_bytes().decode().startswith("1\r\n00:00:01,000 --> 00:00:02,000\r\nAB ")
    first = written.read_bytes()
    dragoman.translate_file(light, given, written, encoding="cp949")
    assert written.read_bytes() == first
    given.write_bytes(text.replace("가나", "가나다라마바사아자차카타파하" * 3).encode("cp949"))
    assert _translate(light, given, "-o", written) == 0
    assert f"{given}: read as cp949, written as UTF-8 (Korean, " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("prepare", "words", "message"),
    [
        (None, ["a.docx", "-o", "b.docx"], "a.docx: does not exist"),
        (b"PK", ["a.docx", "-o", "b.docx"], "a.docx: the file is not a Word document, or is damaged"),
        (b"<p>1", ["a.html", "-o", "b.html"], "a.html: has no text to translate"),
        (b"<p>\xff", ["a.html", "-o", "b.html"], "a.html: the file is not UTF-8"),
        ("1\n가".encode("cp949"), ["a.srt", "-o", "b.srt"], "a.srt:2: "),
        (b"1\n\x81", ["a.srt", "-o", "b.srt", "--encoding", "cp949"], "a.srt: byte 3 is not cp949"),
        (b"1\n\x81", ["a.srt", "-o", "b.srt", "--encoding", "x"], "--encoding x: not a known encoding"),
        (b"<p>a", ["a.html"], "a.html is written as a document of the same kind; name it with --output NAME.html"),
        (b"<p>a", ["a.html", "-o", "b.docx"], "a.html is written as a document of the same kind"),
        (b"<p>a", ["a.html", "-o", "a.html"], "a.html: is both an input and an output"),
        (b"<p>a", ["a.html", "-o", "b.html", "--format", "jsonl"], "which has one translation; leave --format"),
        (b"<p>a", ["a.html", "-o", "b.html", "--paragraphs"], "--paragraphs is about lines; a.html is a document"),
        (b"%PDF", ["a.pdf", "-o", "b.pdf"], "a.pdf: is neither a run nor a document by its name; documents are .docx"),
        (b"<p>a", ["a.html", "-i", "c.html", "-o", "b.html"], "c.html: is a second input besides a.html"),
    ],
)
def test_what_is_wrong_with_a_document_is_told(
    light: Path, tmp_path: Path, prepare: bytes | None, words: list[str], message: str,
    monkeypatch: pytest.MonkeyPatch, capsys: Said,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    if prepare is not None:
        Path(words[0]).write_bytes(prepare)
    assert _translate(light, *words) == 2
    [said] = capsys.readouterr().err.splitlines()
    assert message in said
    assert [path.name for path in tmp_path.iterdir()] == ([] if prepare is None else [words[0]])
    assert prepare is None or Path(words[0]).read_bytes() == prepare


def test_a_catalogue_whose_encoding_lacks_a_translation_becomes_utf_8(
    light: Path, tmp_path: Path, capsys: Said
) -> None:
    pytest.importorskip("polib", reason="needs polib")
    given, written, memory = tmp_path / "a.po", tmp_path / "b.po", tmp_path / "memory.tsv"
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n\n'
    given.write_bytes(f'{header}# ü\nmsgid "ab"\nmsgstr ""\n'.encode("latin-1"))
    for translation, encoding, said in (("ö", "ISO-8859-1", False), ("ő", "UTF-8", True)):
        memory.write_text(f"ab\t{translation}\n", encoding="utf-8")
        assert _translate(light, given, "-o", written, "--memory", memory) == 0
        message = f"{given}: file and header are UTF-8 now; the header named ISO-8859-1"
        assert (message in capsys.readouterr().err) == said
        text = written.read_bytes().decode(encoding)
        assert f"charset={encoding}" in text
        assert f'# ü\n#, fuzzy\nmsgid "ab"\nmsgstr "{translation}"' in text


def test_python_says_that_a_catalogue_becomes_utf_8(
    light: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("polib", reason="needs polib")
    given, written = tmp_path / "a.po", tmp_path / "b.po"
    text = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n\n# ü\nmsgid "ab"\nmsgstr ""\n'
    note = f"{given}: file and header are UTF-8 now; the header named ISO-8859-1"
    for encoding, named, said in (("latin-1", "ISO-8859-1", []), ("utf-8", "UTF-8", [note])):
        given.write_text(text, encoding=encoding)
        caplog.clear()
        dragoman.translate_file(light, given, written)
        assert caplog.messages == said
        assert f"charset={named}" in written.read_text(encoding=encoding)
