"""What strangers send is read in linear time, within bounds, and never with another exception than a refusal."""

from __future__ import annotations

import io
import random
import time
import zipfile
from collections.abc import Callable

import pytest

from dragoman.documents.document import Languages, RatedText
from dragoman.documents.files import file_texts, translated_file
from dragoman.documents.html_text import spans_of_words
from dragoman.documents.markup import markup_sentences, sentences_of, translated_markup
from dragoman.documents.rendering import AlignedTranslation
from dragoman.errors import InputError
from dragoman.serving.forms import MAX_FIELDS, Form, read_form

BOUNDARY = "multipart/form-data; boundary=x"
PART = b'--x\r\nContent-Disposition: form-data; name="q"\r\n\r\n'

HTML: dict[str, Callable[[int], str]] = {
    "tags that never end": lambda size: "<a " * (size // 3) + "&amp; b",
    "quotes that never end": lambda size: "<a x='\">" * (size // 8) + "'",
    "comments that never end": lambda size: "<!--" * (size // 4) + ">",
    "declarations that never end": lambda size: "<![x" * (size // 4) + ">",
    "scripts that never end": lambda size: "<script>" * (size // 8),
    "signs": lambda size: "<" * (size // 2) + "&" * (size // 2) + ">",
    "entities": lambda size: "".join(f"&#{number % 50_000 + 200};a " for number in range(size // 8)),
    "a long entity": lambda size: "&#" + "9" * size + ";",
    "one text": lambda size: "ab c. " * (size // 6),
    "elements": lambda size: "<b>a</b> " * (size // 9),
    "open elements": lambda size: "<b><i>a " * (size // 8),
    "closed elements": lambda size: "</b>" * (size // 4),
    "nested elements": lambda size: ("<p>" + "<b>" * 190 + "a " * 100 + "</b>" * 190) * (size // 1500),
    "elements around sentences": lambda size: "<p>x" + "<b>a " * 60 + "b. " * (size // 9) + "</b>" * 60,
    "marks in what is not translated": lambda size: "a <b translate=no>" + "." * size + "b</b> c",
    "attributes": lambda size: "<a " + "= x" * (size // 6) + "class " * (size // 12) + ">b",
}
SUBTITLES: dict[str, Callable[[int], str]] = {
    "times in one line": lambda size: "-->" * (size // 3),
    "times": lambda size: "-->\n" * (size // 4),
    "cues": lambda size: "-->\nx\n" * (size // 6),
    "a long cue": lambda size: "-->\n" + "a b\n" * (size // 4),
    "spaces": lambda size: "-->\na" + " " * size + "b",
    "empty lines": lambda size: "-->\na\n" + "\n \n" * (size // 3),
    "carriage returns": lambda size: "-->\na" + "\r" * size,
}
FILES: dict[str, tuple[str, Callable[[int], str]]] = {
    "Markdown: open brackets": (".md", lambda size: "[" * size),
    "Markdown: open pictures": (".md", lambda size: "![](" * (size // 4)),
    "Markdown: open emphasis": (".md", lambda size: "*a **b " * (size // 7)),
    "Markdown: tags": (".md", lambda size: "<b>" * (size // 7) + "</i>" * (size // 7)),
    "Markdown: ticks": (".md", lambda size: "`a" * (size // 2)),
    "Markdown: signs": (".md", lambda size: "<" * size),
    "Markdown: tables": (".md", lambda size: "|a|\n|-|\n" * (size // 8)),
    "JSON: strings": (".json", lambda size: "[" + '"a",' * (size // 4) + '"a"]'),
    "YAML: keys": (".yaml", lambda size: "".join(f"k{number}: a\n" for number in range(size // 8))),
    "YAML: line breaks": (".yaml", lambda size: 'a: "' + "\n" * size + '"'),
    "properties: lines that go on": (".properties", lambda size: "a=\\\n" * (size // 4)),
    "strings: quotes": (".strings", lambda size: '"' * size),
    "strings: comments that never end": (".strings", lambda size: "/*" * (size // 2)),
    "strings: backslashes": (".strings", lambda size: '"' + "\\" * size),
    "catalogue: lines": (".po", lambda size: 'msgid ""\n' + '"a"\n' * (size // 4)),
    "catalogue: backslashes": (".po", lambda size: 'msgid "' + "\\" * size + '"\nmsgstr ""\n'),
    "Android: texts": (
        "strings.xml",
        lambda size: "<resources>" + '<string name="a">a</string>' * (size // 27) + "</resources>",
    ),
    "TMX: units": (
        ".tmx",
        lambda size: "<tmx><body>" + '<tu><tuv xml:lang="en"><seg>a</seg></tuv></tu>' * (size // 45) + "</body></tmx>",
    ),
}
FORMS: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "percents": ("application/x-www-form-urlencoded", lambda size: b"q=" + b"%41" * (size // 3)),
    "a part": (BOUNDARY, lambda size: PART + b"a" * size + b"\r\n--x--\r\n"),
    "nearly boundaries": (BOUNDARY, lambda size: PART + b"\r\n--" * (size // 4) + b"\r\n--x--\r\n"),
    "line breaks": (BOUNDARY, lambda size: PART + b"\r" * size + b"\r\n--x--\r\n"),
}


def _echo(sentence: str) -> AlignedTranslation:
    """A translation in reversed order."""
    words = list(spans_of_words(sentence))
    return AlignedTranslation(sentence, words, words, list(reversed(range(len(words)))))


def _markup(text: str) -> None:
    found = markup_sentences([text], "en", False, 10**9, None)
    translated_markup([text], "en", False, [_echo(sentence) for sentence in found], None)


def _subtitles(text: str) -> None:
    content = text.encode()
    texts = [RatedText(text, None) for text in file_texts(".srt", content, 10**9, 10**9, Languages())]
    translated_file(".srt", content, texts, Languages())


def _form(kind: str) -> Callable[[bytes], object]:
    return lambda body: read_form(kind, body)


def _grows_linearly(make: Callable[[int], object], read: Callable[..., object], size: int) -> bool:
    """Whether four times the size takes less than nine times as long: in quadratic time it takes sixteen times.

    Measured up to four times, for another process can slow a single measurement by more than this.
    """

    def seconds(size: int) -> float:
        content = make(size)
        began = time.process_time()
        read(content)
        return time.process_time() - began

    read(make(100))  # what is loaded and compiled once
    return any(min(seconds(4 * size) for _ in range(2)) < 9 * seconds(size) + 0.05 for _ in range(4))


@pytest.mark.slow
@pytest.mark.parametrize("case", HTML)
def test_html_is_read_in_linear_time(case: str) -> None:
    assert _grows_linearly(HTML[case], _markup, 5_000)


@pytest.mark.slow
@pytest.mark.parametrize("case", SUBTITLES)
def test_subtitles_are_read_in_linear_time(case: str) -> None:
    assert _grows_linearly(SUBTITLES[case], _subtitles, 30_000)


@pytest.mark.slow
@pytest.mark.parametrize("case", FILES)
def test_files_of_other_kinds_are_read_in_linear_time(case: str) -> None:
    suffix, make = FILES[case]
    assert _grows_linearly(make, lambda text: _read_and_write(suffix, text.encode(), 10**6), 4_000)


@pytest.mark.slow
@pytest.mark.parametrize("case", FORMS)
def test_forms_are_read_in_linear_time(case: str) -> None:
    kind, make = FORMS[case]
    assert _grows_linearly(make, _form(kind), 100_000)


def test_too_many_texts_sentences_and_fields_are_refused() -> None:
    for read, message in (
        (lambda: sentences_of(["a\n" * 9], "en", 8), "request has more than 8 sentences"),
        (lambda: markup_sentences(["<p>a"] * 9, "en", False, 8, None), "request has more than 8 sentences"),
        (lambda: file_texts(".srt", b"-->\nA\n\n" * 9, 8, 99, Languages()), r"request \(9\) exceeds text limit \(8\)"),
        (lambda: file_texts(".html", b"a" * 9, 9, 8, Languages()), r"request \(9\) exceeds text limit \(8\)"),
        (lambda: read_form("", b"a&" * MAX_FIELDS), "more than 2000 fields"),
        (lambda: read_form(BOUNDARY, (PART + b"\r\n") * (MAX_FIELDS + 1) + b"--x--\r\n"), "more than 2000 fields"),
        (lambda: read_form(BOUNDARY, PART.replace(b"q", b"q\xff") + b"\r\n--x--\r\n"), "the body is not UTF-8"),
    ):
        with pytest.raises(InputError, match=message):
            read()


def test_forms_are_read() -> None:
    several = PART + b"1\r\n" + PART + "é".encode() + b"\r\n"
    file = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\n'
    content = bytes(range(256)) * 8000  # more than is kept in memory by default
    form = read_form(BOUNDARY, several + file + content + b"\r\n--x--\r\n")
    assert form == Form({"q": ["1", "é"]}, {"file": ("a.txt", content)})
    assert read_form("application/x-www-form-urlencoded", b"a=%C3%A9+b&c=&c=d").fields == {"a": "é b", "c": ["", "d"]}


def _altered(content: bytes, draw: random.Random) -> bytes:
    """A file with some bytes changed, or a part of it missing or repeated."""
    data = bytearray(content)
    for _ in range(draw.choice((1, 3, 30))):
        data[draw.randrange(len(data))] = draw.randrange(256)
    start, end = sorted(draw.choices(range(len(data)), k=2))
    return bytes(draw.choice((data, data[:end], data[:start] + data[end:], data[:end] + data[start:])))


def _read_and_write(suffix: str, content: bytes, most: int = 100) -> bool:
    """Whether a file of at most so many texts is read and written; it may be refused, and nothing else."""
    try:
        texts = file_texts(suffix, content, most, 1000 * most, Languages())
        translations = [RatedText(text, None) for text in texts]
        if suffix == ".html":
            found = markup_sentences(texts, "en", False, 1000, None)
            translations = translated_markup(texts, "en", False, [_echo(sentence) for sentence in found], None)
        translated_file(suffix, content, translations, Languages())
    except InputError:
        return False
    return True


def test_altered_html_and_subtitles_are_read_or_refused() -> None:
    draw = random.Random(3)
    html = b"<!DOCTYPE html><p class='a'>ab <b>c</b> &amp; &#233;<br><!-- x --><script>y</script><![CDATA[z]]></p>"
    srt = "1\r\n00:00:01,000 --> 00:00:02,000\r\n<i>ab &</i> é\r\n- c\r\n\r\n".encode()
    for suffix, content in ((".html", html * 3), (".srt", srt * 9)):
        read = [_read_and_write(suffix, _altered(content, draw)) for _ in range(150)]
        assert 10 < sum(read) < 150
    for text in ("<![x>", "&#" + "9" * 5000 + ";", "&#1; a", "&#xD800; b", "<a\0>b", "</>", "<!>", "<?>"):
        assert _read_and_write(".html", text.encode())


def _word_file(*paragraphs: str) -> bytes:
    docx = pytest.importorskip("docx", reason="needs python-docx")
    document, content = docx.Document(), io.BytesIO()
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    document.save(content)
    return content.getvalue()


def _with_part(content: bytes, name: str, part: bytes, **options: int) -> bytes:
    """A Word file in which a part is replaced."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            if info.filename != name:
                new.writestr(info, old.read(info))
        new.writestr(name, part, **options)
    return result.getvalue()


DOCUMENT = "word/document.xml"
WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY l0 "ha">'
    + "".join(f'<!ENTITY l{one} "{f"&l{one - 1};" * 10}">' for one in range(1, 10))
    + f"]><w:document {WORD}><w:body><w:p><w:r><w:t>&l9;</w:t></w:r></w:p></w:body></w:document>"
)


@pytest.mark.slow
def test_altered_word_files_are_read_or_refused() -> None:
    draw = random.Random(5)
    content = _word_file("ab c", "de")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        xml = archive.read(DOCUMENT)
    read = [_read_and_write(".docx", _altered(content, draw)) for _ in range(150)]
    read += [_read_and_write(".docx", _with_part(content, DOCUMENT, _altered(xml, draw))) for _ in range(150)]
    assert sum(read) < 250
    assert _read_and_write(".docx", content)


def test_word_files_that_are_none_or_too_large_are_refused() -> None:
    content = _word_file("ab c")
    damaged = "the file is not a Word document, or is damaged"
    paragraphs = f"<w:document {WORD}><w:body>{'<w:p/>' * 1_500_000}</w:body></w:document>".encode()
    deep = f"<w:document {WORD}>{'<w:p>' * 5000}".encode()
    for file, message in (
        (b"", damaged),
        (b"PK\x05\x06" + bytes(18), damaged),
        (content[: len(content) // 2], damaged),
        (_with_part(content, DOCUMENT, LAUGHS.encode()), damaged),
        (_with_part(content, DOCUMENT, deep), damaged),
        (_with_part(content, DOCUMENT, content), damaged),
        (_with_part(content, DOCUMENT, b"<a/>"), damaged),
        (_with_part(content, "[Content_Types].xml", b"<a/>"), damaged),
        (_with_part(content, "x.bin", b"a", compress_type=zipfile.ZIP_LZMA), damaged),
        (_with_part(content, DOCUMENT, paragraphs), "the file has more than 1,000,000 tags and attributes"),
        (_with_part(content, "x.bin", bytes(65 << 20)), "the file is too large when unpacked"),
    ):
        with pytest.raises(InputError) as refused:
            file_texts(".docx", file, 100, 1000, Languages())
        assert str(refused.value) == message
