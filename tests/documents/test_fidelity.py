"""Real documents stay what they are when every sentence is its own translation: text, styles and structure.

Those of office programs are made by LibreOffice, which opens the translated ones as well and draws the same pages.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zlib
from html import escape
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest

from tests.documents.translators import same, translated

ROOT = Path(__file__).parents[2]

pytest.importorskip("lxml", reason="needs the extra files")
pytest.importorskip("polib", reason="needs the extra files")
markdown_it = pytest.importorskip("markdown_it", reason="needs the extra files")

STYLES = """<office:automatic-styles>
<style:style style:name="B" style:family="text"><style:text-properties fo:font-weight="bold"/></style:style>
<style:style style:name="I" style:family="text"><style:text-properties fo:font-style="italic"/></style:style>
<style:style style:name="R" style:family="paragraph">
<style:paragraph-properties style:writing-mode="rl-tb"/></style:style>
</office:automatic-styles>"""
NESTED = (
    'A <text:span text:style-name="B">bold and <text:span text:style-name="I">nested</text:span> text</text:span>, then'
    ' a <text:a xlink:href="http://example.org/">link</text:a>.'
)
STORY = f"""<text:h text:outline-level="1">A heading: what follows</text:h>
<text:p>{NESTED} It has a note<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation>
<text:note-body><text:p>The note itself.</text:p></text:note-body></text:note>, and goes on.</text:p>
<text:p text:style-name="R">זהו משפט בעברית. <text:span text:style-name="B">هذه جملة</text:span> بالعربية.</text:p>
<text:p>これは<text:span text:style-name="B">日本語</text:span>の文です。次の文。</text:p>
<text:p>한국어 <text:span text:style-name="I">문장</text:span>이다.</text:p>
<text:p>Links<text:tab/>Page <text:page-number>1</text:page-number>/9</text:p>
<text:list><text:list-item><text:p>One (<text:span text:style-name="I">first</text:span>)</text:p></text:list-item>
<text:list-item><text:p>“Two”<text:line-break/>of two lines</text:p></text:list-item></text:list>
<table:table table:name="T"><table:table-column table:number-columns-repeated="2"/><table:table-row>
<table:table-cell><text:p>A cell</text:p></table:table-cell><table:table-cell><text:p>2018</text:p></table:table-cell>
</table:table-row></table:table>"""
CELLS = [
    ["Name", "Größe", "שם"],
    ["ein Hund", "1.234,50", "名前です。"],
    ["a <b> & c", "two\nlines", "한국어 문장"],
]


def _flat(kind: str, body: str) -> str:
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "table", "style")
    )
    names += ' xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"'
    names += ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
    names += ' xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'
    names += ' xmlns:xlink="http://www.w3.org/1999/xlink"'
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<office:document {names} office:version="1.3" '
        f'office:mimetype="application/vnd.oasis.opendocument.{kind}">{STYLES}<office:body>'
        f"<office:{kind}>{body}</office:{kind}></office:body></office:document>"
    )


def _sheet(rows: list[list[str]], formula: str) -> str:
    def cell(text: str) -> str:
        escaped = text.replace("&", "&amp;").replace("<", "&lt;")
        paragraphs = "".join(f"<text:p>{line}</text:p>" for line in escaped.split("\n"))
        return f'<table:table-cell office:value-type="string">{paragraphs}</table:table-cell>'

    lines = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    computed = f'<table:table-row><table:table-cell table:formula="{formula}"/></table:table-row>'
    return _flat("spreadsheet", f'<table:table table:name="T">{lines}{computed}</table:table>')


def _slides(*texts: str) -> str:
    size = 'svg:x="2cm" svg:width="20cm" svg:height="3cm"'
    pages = "".join(
        f'<draw:page draw:name="p{number}">'
        f'<draw:frame {size} svg:y="1cm"><draw:text-box>{text}</draw:text-box></draw:frame>'
        f'<draw:frame {size} svg:y="6cm"><draw:text-box><text:p>2018</text:p></draw:text-box></draw:frame></draw:page>'
        for number, text in enumerate(texts)
    )
    return _flat("presentation", pages)


SOURCES = {
    "story.fodt": _flat("text", STORY),
    "letter.fodt": _flat("text", f"<text:p>Dear reader,</text:p><text:p>{NESTED}</text:p>" * 3),
    "signs.fodt": _flat(
        "text", "<text:p>a &lt;b&gt; &amp; c (d) „e“: f!</text:p><text:p>…</text:p><text:p>§ 2 x</text:p>"
    ),
    "table.fods": _sheet(CELLS, "of:=[.A2]"),
    "long.fods": _sheet([[f"Satz {number}.", f"שורה {number}"] for number in range(30)], "of:=SUM(1;2)"),
    "few.fods": _sheet([["one"]], "of:=1+1"),
    "talk.fodp": _slides(
        f"<text:p>{NESTED}</text:p>", '<text:p text:style-name="R">זהו משפט.</text:p>', "<text:p>次の文。</text:p>"
    ),
    "plain.fodp": _slides("<text:p>One.</text:p><text:p>Two (2).</text:p>"),
    "list.fodp": _slides("<text:list><text:list-item><text:p>A: b</text:p></text:list-item></text:list>"),
}


def _converted(office: str, folder: Path, kind: str, files: list[Path]) -> list[Path]:
    profile = folder.parent / "profile"
    command = [office, f"-env:UserInstallation={profile.as_uri()}", "--headless", "--convert-to", kind]
    subprocess.run([*command, "--outdir", folder, *files], check=True, capture_output=True, timeout=300)
    return [folder / f"{file.stem}.{kind}" for file in files]


def _pages(pdf: Path) -> list[bytes]:
    """What is drawn on the pages of a PDF file, and its fonts."""
    found = []
    for content in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf.read_bytes(), re.DOTALL):
        try:
            found.append(zlib.decompress(content))
        except zlib.error:
            continue
    return [one for one in found if b"xmpmeta" not in one]


@pytest.mark.slow
def test_documents_of_office_programs_look_the_same(tmp_path: Path) -> None:
    office = shutil.which("soffice")
    if office is None:
        pytest.skip("needs LibreOffice (soffice), which makes the documents and opens them")
    for name, text in SOURCES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    after.mkdir()
    originals: list[Path] = []
    for flat, kinds in (("fodt", ("odt", "docx", "epub")), ("fods", ("ods", "xlsx")), ("fodp", ("odp", "pptx"))):
        for kind in kinds:
            files = [tmp_path / name for name in SOURCES if name.endswith(flat)]
            for file in _converted(office, before, kind, files):
                originals.append(file.rename(before / f"{file.stem}-{kind}.{kind}"))
    assert len(originals) == 3 * 7
    for file in originals:
        (after / file.name).write_bytes(translated(file.suffix, file.read_bytes(), same, "en", "en"))
    books = [file for file in originals if file.suffix == ".epub"]
    for file in books:  # LibreOffice writes these and does not read them
        with ZipFile(file) as old, ZipFile(after / file.name) as new:
            assert old.namelist() == new.namelist()
            for name in old.namelist():
                texts = [
                    "".join(ElementTree.fromstring(one.read(name)).itertext()).split()
                    for one in (old, new)
                    if name.endswith((".xhtml", ".opf", ".ncx"))
                ]
                assert texts == [] or texts[0] == texts[1], name
    drawn = [file for file in originals if file not in books]
    for folder in (before, after):
        _converted(office, folder / "pdf", "pdf", [folder / file.name for file in drawn])
    for file in drawn:
        old, new = (_pages(folder / "pdf" / f"{file.stem}.pdf") for folder in (before, after))
        assert len(old) > 1
        assert old == new, file.name


PAGES = ("README.md", "docs/how-to/documents.md", "docs/ko/how-to/corpora.md")


def test_pages_are_drawn_alike() -> None:
    render = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"]).render
    for name in PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        body = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
        page = render(body)
        written = render(translated(".md", body.encode(), same, "en", "en").decode())
        assert written.split() == page.split(), name
        assert translated(".html", page.encode(), same, "en", "en").decode().split() == page.split(), name


@pytest.mark.parametrize("language", ["ko", "he", "pt"])
def test_catalogues_keep_all_lines_but_those_of_new_translations(language: str) -> None:
    polib = pytest.importorskip("polib", reason="needs polib")
    sphinx = pytest.importorskip("sphinx", reason="needs the catalogues of Sphinx")
    path = Path(sphinx.__file__).parent / "locale" / language / "LC_MESSAGES" / "sphinx.po"
    if not path.exists():
        pytest.skip("needs the catalogues of Sphinx")
    content = path.read_bytes()
    found = translated(".po", content, same, "en", "en")
    lost = set(content.decode().splitlines()) - set(found.decode().splitlines())
    assert all(line.startswith("#, ") or re.fullmatch(r'msgstr(\[\d\])? ""', line) for line in lost)
    new: list[list[str]] = []
    for before, after in zip(polib.pofile(content.decode()), polib.pofile(found.decode()), strict=True):
        assert (before.msgid, before.occurrences, before.comment) == (after.msgid, after.occurrences, after.comment)
        if before.msgstr or any(before.msgstr_plural.values()):
            assert (before.msgstr, before.flags) == (after.msgstr, after.flags)
        else:
            assert after.fuzzy
            new += [one.split() for one in (after.msgstr, *after.msgstr_plural.values()) if one]
            assert new[-1] == (before.msgid_plural or before.msgid).split()
    assert new


LINES = (
    "A <b>word</b> (and <i>one</i>): “two”.",
    "זהו משפט בעברית.",
    "これは<b>日本語</b>の文です。次の文。",
    "한국어 {0} 문장이다.",
    "2018",
)


def test_texts_of_programs_and_subtitles_keep_every_byte() -> None:
    units = "".join(
        f'<trans-unit id="{n}"><source>{line}</source><target>x</target></trans-unit>' for n, line in enumerate(LINES)
    )
    for kind, text in (
        (".srt", "".join(f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{line}\n\n" for n, line in enumerate(LINES))),
        (".vtt", "WEBVTT\n\n" + "".join(f"00:0{n}.000 --> 00:0{n}.900\n{line}\n\n" for n, line in enumerate(LINES))),
        (".json", json.dumps({"a": LINES, "b": {"c": LINES[0]}}, ensure_ascii=False, indent=2)),
        (".yaml", "a:\n" + "".join(f"  - '{line}' # one\n" for line in LINES)),
        (".properties", "# one\n" + "".join(f"a.{n} = {line}\n" for n, line in enumerate(LINES))),
        (".strings", "/* one */\n" + "".join(f'"a{n}" = "{line}";\n' for n, line in enumerate(LINES))),
        (
            ".resx",
            "<root>"
            + "".join(f'<data name="a{n}"><value>{escape(line)}</value></data>' for n, line in enumerate(LINES))
            + "</root>",
        ),
        (
            "strings.xml",
            "<resources>"
            + "".join(f'<string name="a{n}">{line}</string>' for n, line in enumerate(LINES))
            + "</resources>",
        ),
        (
            ".xliff",
            f'<?xml version="1.0" encoding="UTF-8"?>\n<xliff version="1.2"><file><body>{units}</body></file></xliff>',
        ),
    ):
        assert translated(kind, text.encode(), same, "en", "").decode() == text, kind


OMEGAT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx11.dtd">
<tmx version="1.1">
  <header creationtool="OmegaT" o-tmf="OmegaT TMX" adminlang="EN-US" datatype="plaintext"
    segtype="sentence" srclang="EN"/>
  <body>
{}  </body>
</tmx>
"""
MEMOQ = """<?xml version="1.0" encoding="utf-8"?>
<tmx version="1.4">\r
  <header creationtool="MemoQ" segtype="sentence" adminlang="en-us" srclang="en" o-tmf="MemoQTM" datatype="unknown">\r
    <prop type="defclient">A &amp; B</prop>\r
  </header>\r
  <body>
{}  </body>
</tmx>
"""
TMX_TEXTS = (
    'A <bpt i="1">&lt;b&gt;</bpt>word<ept i="1">&lt;/b&gt;</ept> (and <hi type="i">one</hi>): “two”.',
    "זהו משפט בעברית.",
    'これは<ph x="1">{}</ph>の文です。次の文。',
)


@pytest.mark.parametrize("frame", [OMEGAT, MEMOQ, OMEGAT.replace("UTF-8", "UTF-16")])
def test_memories_keep_everything_and_get_the_language(frame: str) -> None:
    etree = pytest.importorskip("lxml.etree", reason="needs lxml")
    done = '    <tu tuid="0"><tuv xml:lang="EN"><seg>ab</seg></tuv><tuv xml:lang="XX"><seg>cd &quot;</seg></tuv></tu>\n'
    units = "".join(
        f'    <tu>\n      <tuv xml:lang="EN">\n        <seg>{text}</seg>\n      </tuv>\n    </tu>\n'
        for text in TMX_TEXTS
    )
    content = frame.format(done + units).encode("utf-16" if "UTF-16" in frame else "utf-8")
    found = translated(".tmx", content, same, "en", "xx")
    before, after = (text.decode("utf-16" if "UTF-16" in frame else "utf-8").splitlines() for text in (content, found))
    new = [line for line in after if 'creationtool="Dragoman"' in line]
    assert [line for line in after if line not in new] == before
    segments = [etree.tostring(seg, encoding="unicode", with_tail=False) for seg in etree.fromstring(found).iter("seg")]
    assert segments[2::2] == segments[3::2]
    assert len(new) == len(TMX_TEXTS)


XLIFF_UNITS = {
    "a word processor": """<trans-unit id="{n}"><source xml:space="preserve">{text}</source></trans-unit>""",
    "segments": """<trans-unit id="{n}" xml:space="preserve"><source>{text}</source><seg-source>
<mrk mtype="seg" mid="{n}">{text}</mrk></seg-source><target/><note>n</note></trans-unit>""",
    "a group": """<group id="g{n}"><context-group purpose="location"><context context-type="sourcefile">a.c</context>
</context-group><trans-unit id="{n}" approved="no"><source>{text}</source><target></target></trans-unit></group>""",
}
XLIFF_TEXTS = (
    'A <g id="1">word <g id="2">or</g></g> (<bpt id="3">&lt;i&gt;</bpt>one<ept id="3">&lt;/i&gt;</ept>: <x id="4"/>',
    "זהו משפט <ph id='1'>%s</ph> בעברית.",
    'これは<g id="1">日本語</g>の文です。次の文。',
    "한국어 {0} 문장이다.",
)


@pytest.mark.parametrize("kind", XLIFF_UNITS)
def test_units_of_translators_get_their_source(kind: str) -> None:
    etree = pytest.importorskip("lxml.etree", reason="needs lxml")
    units = "".join(XLIFF_UNITS[kind].format(n=n, text=text) for n, text in enumerate(XLIFF_TEXTS))
    file = "<file original='a' source-language='en' target-language='xx'>"
    content = (
        '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" '
        f"version='1.2'>{file}<body>{units}</body></file></xliff>\n"
    )
    root = etree.fromstring(translated(".xlf", content.encode(), same, "en", "xx"))
    for unit in root.iter("{*}trans-unit"):
        source = unit.find("{*}seg-source") if unit.find("{*}seg-source") is not None else unit.find("{*}source")
        target = unit.find("{*}target")
        assert " ".join("".join(target.itertext()).split()) == " ".join("".join(source.itertext()).split())
        assert [(one.tag, one.attrib) for one in target.iter("*")][1:] == [
            (one.tag, one.attrib) for one in source.iter("*")
        ][1:]
        assert target.get("state") == "needs-review-translation"
    for target in root.iter("{*}target"):
        target.getparent().remove(target)
    original = etree.fromstring(content.encode())
    for target in original.iter("{*}target"):
        target.getparent().remove(target)
    assert etree.tostring(root, method="c14n") == etree.tostring(original, method="c14n")


SUBTITLES = {
    "of a player.srt": """\ufeff1
00:00:01,000 --> 00:00:02,500 X1:40 X2:600 Y1:20 Y2:50
<font color="#ff0000">He said:
“Run!”</font>

2
00:00:03,000 --> 00:00:04,000
{\\an8}<i>זהו משפט</i>
בעברית.


""".replace("\n", "\r\n"),
    "of a camera.srt": """1
00:00:00,000 --> 00:00:00,033
<font size="28">FrameCnt: 1, DiffTime: 33ms
2024-01-01 10:00:00.000
[iso: 100] [shutter: 1/60] Clouds</font>


2
00:00:00,033 --> 00:00:00,066
これは日本語の
文です。次の文。
""",
    "of a broadcast.vtt": """WEBVTT
X-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000

REGION
id:a
width:40%

STYLE
::cue(b) {
  color: red;
}

NOTE A note
of two lines

1
00:00:01.000 --> 00:00:02.000 region:a align:left
<v Ann>Come in,
<b>please</b>.

00:02.000 --> 00:03.000
- Who?
- <i>Me!</i>
""",
    "of a site.vtt": """WEBVTT
Kind: captions
Language: en

00:00:00.160 --> 00:00:02.159 align:start position:0%
\x20
so<00:00:00.320><c> this</c><00:00:00.480><c> is</c>

00:00:02.159 --> 00:00:02.169 align:start position:0%
so this is
\x20
""",
    "in ruby.vtt": """WEBVTT

00:01.000 --> 00:02.000 vertical:rl
<lang ja><ruby>漢<rt>かん</rt></ruby>字です。</lang>
한국어 &amp; 문장.
""",
    "without empty lines.srt": """1
00:00:01,000 --> 00:00:02,000
♪ La la
♪ la ♪
2
00:00:03,000 --> 00:00:04,000
...and so
on""".replace("\n", "\r"),
}


@pytest.mark.parametrize("name", SUBTITLES)
def test_subtitles_as_programs_write_them_keep_every_byte(name: str) -> None:
    content = SUBTITLES[name].encode()
    assert translated(f".{name[-3:]}", content, same, "en", "en").decode() == content.decode()


@pytest.mark.parametrize("language", ["de", "he", "ja", "ko"])
def test_messages_of_an_office_program_keep_their_values(language: str) -> None:
    path = Path("/usr/lib/libreoffice/share/wizards") / f"resources_{language}.properties"
    if not path.exists():
        pytest.skip("needs the messages of LibreOffice")
    content = path.read_bytes()
    values = [
        dict(re.findall(r"(?m)^(\w+)=(.*)$", text.decode()))
        for text in (content, translated(".properties", content, same, "en"))
    ]
    assert len(values[0]) > 500
    assert values[0].keys() == values[1].keys()
    for name, value in values[0].items():
        shown = [
            " ".join(json.loads(f'"{one}"').split())
            for one in (value.replace('"', "'"), values[1][name].replace('"', "'"))
        ]
        assert shown[0] == shown[1], name


def test_data_of_packages_keeps_every_value() -> None:
    schema = pytest.importorskip("jsonschema_specifications", reason="needs the schemas of JSON Schema")
    files = sorted(Path(schema.__file__).parent.glob("schemas/*/*.json"))
    files += sorted((ROOT / "src" / "dragoman").glob("presets/*.yaml"))
    assert len(files) > 6
    for path in files:
        content = path.read_bytes()
        assert translated(path.suffix, content, same, "en") == content, path.name
