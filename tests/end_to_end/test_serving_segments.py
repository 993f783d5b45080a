"""A document's segments, and the document that a person has finished."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from dragoman.serving.application import create_app
from dragoman.serving.models import Models, ServedFolder
from dragoman.serving.settings import Settings

PAIR = {"source": "de", "target": "en"}
PO = """#
msgid ""
msgstr "Language: en\\n"

msgid "ab. <b>C</b> de."
msgstr ""

msgid "f"
msgstr "F"

msgid "d"
msgstr ""

msgid "e"
msgstr ""
"""


@pytest.fixture(scope="module")
def client(light: Path) -> Iterator[TestClient]:
    models = Models([ServedFolder.named(f"de:en={light}")])
    with TestClient(create_app(models, Settings(max_characters=200, max_texts=20))) as client:
        yield client


def _open(client: TestClient, name: str, content: str, **fields: str) -> Any:
    answer = client.post("/v1/documents", files={"file": (name, content.encode())}, data={**PAIR, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def _finish(client: TestClient, name: str, content: str, digest: str, targets: Any, **fields: str) -> httpx.Response:
    data = {**PAIR, "digest": digest, "targets": json.dumps(targets), **fields}
    return client.post("/v1/documents/finished", files={"file": (name, content.encode())}, data=data)


def test_plain_text_is_divided_and_put_together(client: TestClient) -> None:
    text = "ab cd. De f!\n\n  cab\t"
    opened = _open(client, "text.txt", text)
    assert opened["segments"] == [
        {"source": "ab cd.", "paragraph": 0},
        {"source": "De f!", "paragraph": 0},
        {"source": "cab", "paragraph": 1},
    ]
    assert (opened["kind"], opened["source"], opened["target"]) == (".txt", "de", "en")
    done = _finish(client, "text.txt", text, opened["digest"], ["Eins.", None, "Drei\nvier"])
    assert done.text == "Eins. De f!\n\n  Drei vier\t"
    assert done.headers["content-disposition"] == 'attachment; filename="text_en.txt"'
    no_text = _finish(client, "text.txt", text, opened["digest"], ["Eins\ud83d\0!", None, None])
    assert no_text.text == "Eins ! De f!\n\n  cab\t"


def test_elements_stand_around_the_words_that_a_person_wrote(client: TestClient) -> None:
    page = "<p>ab <b>c</b> de</p><h1>f</h1>"
    opened = _open(client, "page.html", page)
    assert [(one["source"], one["paragraph"]) for one in opened["segments"]] == [("ab c de", 0), ("f", 1)]
    done = _finish(client, "page.html", page, opened["digest"], ["AB C DE", "X & Y"])
    assert done.text == "<p>AB <b>C</b> DE</p><h1>X &amp; Y</h1>"
    left = _finish(client, "page.html", page, opened["digest"], [None, "F"])
    assert left.text == "<p>ab <b>c</b> de</p><h1>F</h1>"


def test_units_of_a_catalogue_keep_what_they_have(client: TestClient) -> None:
    pytest.importorskip("polib", reason="needs polib")
    opened = _open(client, "a.po", PO)
    assert [(one["source"], one.get("target")) for one in opened["segments"]] == [
        ("ab.", None), ("C de.", None), ("f", "F"), ("d", None), ("e", None)
    ]  # fmt: skip
    targets, confirmed = ["AB.", "C DE.", None, "D", None], json.dumps([True, True, False, False, False])
    done = _finish(client, "a.po", PO, opened["digest"], targets, confirmed=confirmed)
    expected = PO.replace('de."\nmsgstr ""', 'de."\nmsgstr "AB. <b>C</b> DE."')
    assert done.text.strip() == expected.replace('msgid "d"\nmsgstr ""', '#, fuzzy\nmsgid "d"\nmsgstr "D"').strip()


def test_fuzzy_translations_of_a_file_are_told_and_left_out_of_tmx(client: TestClient) -> None:
    """As corpora leave them out."""
    pytest.importorskip("polib", reason="needs polib")
    content = PO.replace('msgid "f"', '#, fuzzy\nmsgid "f"').replace('msgid "e"\nmsgstr ""', 'msgid "e"\nmsgstr "E"')
    opened = _open(client, "a.po", content)
    assert [(one["target"], one.get("fuzzy", False)) for one in opened["segments"] if "target" in one] == [
        ("F", True), ("E", False)
    ]  # fmt: skip
    targets = ["AB.", None, None, "D", None]
    done = _finish(client, "a.po", content, opened["digest"], targets, form="tmx").text
    assert re.findall('"en"><seg>(.*)</seg>', done) == ["AB.", "D", "E"]


def test_a_catalogue_that_becomes_utf_8_is_told(client: TestClient) -> None:
    pytest.importorskip("polib", reason="needs polib")
    note = "file and header are UTF-8 now; the header named ISO-8859-1"
    content = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n\n# ü\nmsgid "ab"\nmsgstr ""\n'
    file = {"file": ("a.po", content.encode("latin-1"))}
    digest = client.post("/v1/documents", files=file, data=PAIR).json()["digest"]
    for target, encoding, said in (("ö", "latin-1", None), ("ő", "utf-8", note)):
        data = {**PAIR, "digest": digest, "targets": json.dumps([target]), "confirmed": "[true]"}
        done = client.post("/v1/documents/finished", files=file, data=data)
        named = content if said is None else content.replace("ISO-8859-1", "UTF-8")
        assert done.content.decode(encoding) == named.replace('"ab"\nmsgstr ""', f'"ab"\nmsgstr "{target}"')
        assert done.headers.get("Dragoman-Note") == said
    for encoding, answered in (("latin-1", {}), ("utf-8", {"note": note})):
        given = {"file": ("a.po", content.encode(encoding))}
        answer = client.post("/translate_file", files=given, data=PAIR).json()
        written = client.get(answer.pop("translatedFileUrl").removeprefix("http://testserver")).content
        assert answer == answered
        assert '# ü\n#, fuzzy\nmsgid "ab"\nmsgstr "AB"' in written.decode(encoding).replace(" machine", "")


def test_fuzzy_units_are_written_as_a_person_has_reviewed_them(client: TestClient) -> None:
    pytest.importorskip("polib", reason="needs polib")
    content = PO.replace('msgid "f"', '#, fuzzy\nmsgid "f"')
    opened = _open(client, "a.po", content)

    def finish(target: str | None, confirmed: bool, form: str = "document") -> str:
        sure = json.dumps([False, False, confirmed, False, False])
        targets = [None, None, target, None, None]
        return _finish(client, "a.po", content, opened["digest"], targets, confirmed=sure, form=form).text

    for target, confirmed, expected, in_memory in (
        (None, True, content, []),
        ("F", False, content, []),
        ("F", True, PO, ["F"]),
        ("G", False, content.replace('"F"', '"G"'), []),
        ("G", True, PO.replace('"F"', '"G"'), ["G"]),
    ):
        assert finish(target, confirmed).strip() == expected.strip(), (target, confirmed)
        assert re.findall('"en"><seg>(.*)</seg>', finish(target, confirmed, "tmx")) == in_memory
    assert "<target>G</target>" in finish("G", False, "xliff")
    assert "<target>F</target>" in finish(None, False, "xliff")


def test_confirmed_units_of_xliff_are_not_marked_as_a_machines(client: TestClient) -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    units = "".join(f'<trans-unit id="{one}"><source>{one}</source></trans-unit>' for one in "abc")
    file = (
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2"><file source-language="de" '
        f'target-language="en" original="a"><body>{units}</body></file></xliff>'
    )
    digest = _open(client, "a.xlf", file)["digest"]
    done = _finish(client, "a.xlf", file, digest, ["A", "B", None], confirmed="[true, false, true]").text
    assert '<source>a</source><target state="translated">A</target>' in done
    assert 'state="needs-review-translation" state-qualifier="mt-suggestion">B</target>' in done
    assert '<trans-unit id="c"><source>c</source></trans-unit>' in done


def test_pairs_are_written_as_xliff_or_tmx(client: TestClient) -> None:
    digest = _open(client, "a.txt", "ab. C & d.")["digest"]
    for form, ending, expected in (
        ("tmx", "tmx", '<tuv xml:lang="en"><seg>C &amp; D.</seg>'),
        ("xliff", "xlf", "<source>C &amp; d.</source><target>C &amp; D.</target>"),
    ):
        done = _finish(client, "a.txt", "ab. C & d.", digest, [None, "C & D."], form=form)
        assert expected in done.text
        assert "ab." not in done.text
        assert done.headers["content-disposition"].endswith(f'_en.{ending}"')


def test_what_does_not_fit_the_document_is_refused(client: TestClient) -> None:
    digest = _open(client, "a.txt", "ab.")["digest"]
    for content, given, targets, confirmed, status, message in (
        ("ab. C.", digest, ["A"], "", 409, "The file or the languages are not those of the digest"),
        ("ab.", digest, ["A", "B"], "", 400, "targets has 2 entries, but the document has 1 segments"),
        ("ab.", digest, [1], "", 400, "targets must be a JSON list of strings or null"),
        ("ab.", digest, ["A"], "[" * 10_000, 400, "confirmed must be a JSON list of true or false"),
    ):
        answer = _finish(client, "a.txt", content, given, targets, confirmed=confirmed)
        assert (answer.status_code, message in answer.json()["detail"]) == (status, True), answer.text
        assert answer.headers["content-type"] == "application/problem+json"
    for name, content, status in (("a.exe", "ab", 400), ("a.txt", "a" * 4001, 400), ("a.srt", "\udcff", 400)):
        file = {"file": (name, content.encode("utf-8", "surrogatepass"))}
        assert client.post("/v1/documents", files=file, data=PAIR).status_code == status
