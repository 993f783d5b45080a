"""`dragoman serve` in this process: the routes, and that every translation is that of the sentence alone."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial, wraps
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

import dragoman
from dragoman.cli.main import main
from dragoman.config.schema import SearchConfig
from dragoman.errors import ConfigError
from dragoman.page.files import page_files
from dragoman.scoring.scorer import Scorer
from dragoman.serving.application import create_app
from dragoman.serving.forms import read_form
from dragoman.serving.key_file import KeyRights
from dragoman.serving.models import LanguagePair, LoadedModel, Models, ServedFolder
from dragoman.serving.scheduler import Lane
from dragoman.serving.settings import MAX_ALTERNATIVES, Settings
from dragoman.translation.translator import Translator
from tests.translation.test_translator import SIDE, SIZE, copy

PAIR = {"source": "de", "target": "en"}
SETTINGS = Settings(max_characters=200, max_texts=20, max_body=20_000)


def _models(*folders: str, **options: Any) -> Models:
    return Models([ServedFolder.named(folder) for folder in folders], **options)


@pytest.fixture(scope="module")
def client(light: Path) -> Iterator[TestClient]:
    with TestClient(create_app(_models(f"de:en={light}"), SETTINGS)) as client:
        yield client


def _strict(*folders: str, **settings: Any) -> TestClient:
    return TestClient(create_app(_models(*folders), Settings(**settings)))


def test_a_text_is_translated_sentence_by_sentence(client: TestClient) -> None:
    text = "ab c. De f!\n\n  cab\t"
    for answer in (
        client.post("/translate", json={"q": text, **PAIR}),
        client.post("/translate", files={"q": (None, text)}, data=PAIR),
    ):
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert answer.json().keys() == {"translatedText"}
    translated = client.post("/translate", json={"q": text, **PAIR}).json()["translatedText"]
    lines = translated.split("\n")
    assert lines[0].startswith("AB C")
    assert lines[1:] == ["", "  CAB\t"]
    assert client.post("/translate", data={"q": "ab\r\nc", **PAIR}).json() == {"translatedText": "AB\nC"}
    assert client.post("/translate", json={"q": "ab\r\nc", **PAIR}).json() == {"translatedText": "AB\r\nC"}


def test_translate_paragraphs_does_the_same_with_lines(client: TestClient, light: Path, tmp_path: Path) -> None:
    lines = ["ab c. De f!", "", "  cab  ", "...", "b. " * 30, "\u2028ab\u2028c"]
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    translate = ["translate", str(light), "--paragraphs", "-i", str(source), "-o", str(target)]
    assert main(translate) == 0
    found = client.post("/translate", json={"q": lines, **PAIR}).json()["translatedText"]
    assert target.read_text(encoding="utf-8").split("\n") == [*found, ""]
    for option, message in (
        (["--nbest", "2", "--format", "jsonl"], "--paragraphs writes one translation per line"),
        (["--alignments", str(tmp_path / "links")], "--alignments is about single sentences"),
    ):
        assert main([*translate, *option]) == 2, message


def test_an_array_is_answered_by_an_array(client: TestClient, light: Path) -> None:
    n_best = {text: dragoman.load(light, threads=1).translate(text, n_best=3) for text in ("ab", "de f")}
    others = {text: list(dict.fromkeys(one.text for one in found))[1:] for text, found in n_best.items()}
    found = client.post("/translate", json={"q": ["ab", "", "😀", "de f"], **PAIR, "alternatives": 2}).json()
    assert found["translatedText"] == ["AB", "", "😀", "DE F"]
    assert found["alternatives"] == [others["ab"], [], [], others["de f"]]
    assert len(others["ab"]) >= 1
    one = client.post("/translate", data={"q": "ab", **PAIR, "alternatives": "2"}).json()
    assert one == {"translatedText": "AB", "alternatives": found["alternatives"][0]}


def test_the_source_language_is_detected_for_each_text(light: Path) -> None:
    with _strict(f"de:en={light}", f"en:de={light}") as client:
        texts = ["Das ist ein deutscher Satz und nicht mehr.", "This is an English sentence and no more."]
        found = client.post("/translate", json={"q": texts, "source": "auto", "target": "en"}).json()
        assert [one["language"] for one in found["detectedLanguage"]] == ["de", "en"]
        assert all(50 < one["confidence"] <= 100 for one in found["detectedLanguage"])
        assert found["translatedText"][1] == texts[1]  # it is English already
        one = client.post("/translate", data={"q": texts[0], "source": "auto", "target": "en"}).json()
        assert one == {
            "translatedText": found["translatedText"][0],
            "detectedLanguage": found["detectedLanguage"][0],
        }
        detected = client.post("/detect", data={"q": texts[0]}).json()
        assert [one["language"] for one in detected] == ["de", "en"]
        assert client.post("/detect", json={"q": "123"}).json() == [
            {"confidence": 0.0, "language": "de"},
            {"confidence": 0.0, "language": "en"},
        ]


ERRORS: list[tuple[dict[str, Any], str]] = [
    ({}, "Invalid request: missing q parameter"),
    ({"q": ""}, "Invalid request: missing q parameter"),
    ({"q": []}, "Invalid request: missing q parameter"),
    ({"q": "a"}, "Invalid request: missing source parameter"),
    ({"q": "a", "source": "de"}, "Invalid request: missing target parameter"),
    ({"q": "a", "source": "zz", "target": "en"}, "zz is not supported"),
    ({"q": "a", "source": "de", "target": "__proto__"}, "__proto__ is not supported"),
    (
        {"q": "a", "source": "en", "target": "de"},
        "German (de) is not available as a target language from English (en)",
    ),
    ({"q": "a", **PAIR, "format": "pdf"}, "pdf format is not supported"),
    ({"q": "a", **PAIR, "alternatives": "x"}, "Invalid request: alternatives parameter is not a number"),
    ({"q": "a", **PAIR, "alternatives": 1.5}, "Invalid request: alternatives parameter is not a number"),
    ({"q": "a", **PAIR, "alternatives": [1]}, "Invalid request: alternatives parameter is not a number"),
    ({"q": "a", **PAIR, "alternatives": "9" * 5000}, "Invalid request: alternatives parameter is not a number"),
    ({"q": "a", **PAIR, "alternatives": True}, "Invalid request: alternatives parameter is not a number"),
    ({"q": ["a"], "source": None, "target": "en"}, "Invalid request: missing source parameter"),
    ({"q": ["a", None], **PAIR}, "Invalid request: q must be a string or a list of strings"),
    ({"q": "a", **PAIR, "format": ["text"]}, "Invalid request: format must be a string"),
    ({"q": "a", **PAIR, "api_key": 1}, "Invalid request: api_key must be a string"),
    ({"q": "a", **PAIR, "alternatives": 99}, "Invalid request: alternatives parameter must be <= 10"),
    ({"q": "a" * 201, **PAIR}, "Invalid request: request (201) exceeds text limit (200)"),
    ({"q": ["a"] * 21, **PAIR}, "Invalid request: request (21) exceeds text limit (20)"),
    ({"q": ["a", 1], **PAIR}, "Invalid request: q must be a string or a list of strings"),
    ({"q": {"__proto__": 1}, **PAIR}, "Invalid request: q must be a string or a list of strings"),
    ({"q": "a", "source": 1, "target": "en"}, "Invalid request: source must be a string"),
]


def test_errors_have_the_words_of_libretranslate(client: TestClient) -> None:
    for body, expected in ERRORS:
        answer = client.post("/translate", json=body)
        assert (answer.status_code, answer.json()) == (400, {"error": expected}), body
    for content, kind, status, expected in (
        (b"{", "application/json", 400, "Invalid JSON format"),
        (b"[1]", "application/json", 400, "Invalid JSON format"),
        (b'{"q": "\xff"}', "application/json", 400, "Invalid JSON format"),
        (b'{"q": ' + b"[" * 5000, "application/json", 400, "Invalid request: q must be a string or a list of strings"),
        (b"q=%ff", "application/x-www-form-urlencoded", 400, "Invalid request: the body is not UTF-8"),
        (b"q=\xff", "application/x-www-form-urlencoded", 400, "Invalid request: the body is not UTF-8"),
        (b"a&" * 5000, "application/x-www-form-urlencoded", 400, "Invalid request: more than 2000 fields"),
        (b"nothing", "multipart/form-data", 400, "Invalid request: the form cannot be read"),
        (b"nothing", "multipart/form-data; boundary=x", 400, "Invalid request: the form cannot be read"),
        (b"<q/>", "text/xml", 415, "The body must be JSON (Content-Type: application/json) or a form"),
        (b"x" * 20_001, "application/json", 413, "The request is longer than 20000 bytes; send less at a time"),
    ):
        answer = client.post("/translate", content=content, headers={"Content-Type": kind})
        assert (answer.status_code, answer.json()) == (status, {"error": expected}), content[:20]
    assert client.post("/detect", json={}).json() == {"error": "Invalid request: missing q parameter"}
    assert client.post("/suggest", json={}).status_code == 403
    assert client.get("/translate").status_code == 405
    assert client.post("/translate/", json={"q": "a", **PAIR}, follow_redirects=False).status_code == 404
    assert client.get("/../etc/passwd").json() == {"error": "Not Found"}


def test_a_body_of_unknown_length_is_limited_too(client: TestClient) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(30):
            yield b"x" * 1000

    assert client.post("/translate", content=pieces()).status_code == 413


def test_the_server_describes_itself(client: TestClient) -> None:
    assert client.get("/languages").json() == [
        {"code": "de", "name": "German", "targets": ["de", "en"]},
        {"code": "en", "name": "English", "targets": ["en"]},
    ]
    settings = client.get("/frontend/settings").json()
    assert settings["charLimit"] == 200
    assert settings["language"]["source"] == {"code": "de", "name": "German"}
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/v2/usage").json()["character_count"] == 0
    for where in ("params", "data"):  # DeepL's client for Python does the latter
        assert client.request("GET", "/v2/languages", **{where: {"type": "target"}}).json() == [
            {"language": "EN", "name": "English", "supports_formality": False}
        ]
    spec = client.get("/spec").json()
    assert spec["openapi"] == "3.1.0"
    for path, operations in spec["paths"].items():
        for method in operations:
            answer = client.request(method, path, headers={"Content-Type": "application/json"})
            assert answer.status_code in (200, 400, 403, 415), path
            assert str(answer.status_code) in operations[method]["responses"], path


def test_the_files_of_the_page_are_served_and_no_others(client: TestClient) -> None:
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
    assert "unsafe" not in policy
    named = set(re.findall(r'(?:src|href)="([^"/]+)"', page.text + client.get("/desk.html").text))
    for name, content in page_files().items():
        named |= set(re.findall(r'from "\./([^"]+)"', content.decode())) if name.endswith(".js") else set()
    assert named | {"index.html"} == page_files().keys()
    for name in sorted(named):
        answer = client.get(f"/{name}")
        assert answer.status_code == 200, name
        assert answer.content == page_files()[name]
        assert answer.headers["content-security-policy"] == policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        again = client.get(f"/{name}", headers={"If-None-Match": f'W/"x", {answer.headers["etag"]}'})
        assert (again.status_code, again.content) == (304, b"")
    for path in ("/index.html", "/page", "/../pyproject.toml", "/static/main.js", "/%2e%2e/files.py"):
        assert client.get(path).status_code == 404, path
    assert client.post("/").status_code == 405
    assert 'dragoman_requests_total{route="/",status="304"}' in client.get("/metrics").text


def test_metrics_have_no_address_and_no_key(client: TestClient) -> None:
    client.post("/translate", json={"q": "ab", **PAIR, "api_key": "very-secret"})
    client.get("/a/path/that/somebody/chose")
    text = client.get("/metrics").text
    assert 'dragoman_requests_total{route="/translate",status="200"}' in text
    assert 'dragoman_requests_total{route="other",status="404"}' in text
    assert 'dragoman_characters_total{model="de-en"}' in text
    for secret in ("very-secret", "testclient", "somebody"):
        assert secret not in text


def test_under_load_every_translation_is_that_of_the_sentence_alone(light: Path, corpus: Any) -> None:
    lines = [*dict.fromkeys(corpus.test[0].read_text().split("\n") + corpus.train[0].read_text().split("\n")[:100])]
    lines = [line for line in lines if line]
    alone = dragoman.load(light, threads=1)
    best = {line: alone.translate(line).text for line in lines}
    two = {line: list(dict.fromkeys(one.text for one in alone.translate(line, n_best=2))) for line in lines}

    async def run() -> None:
        app = create_app(_models(f"de:en={light}", threads=2), Settings(threads=2))
        async with app.router.lifespan_context(app):
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:

                async def one(line: str) -> None:
                    answer = await client.post("/translate", json={"q": line, **PAIR})
                    assert answer.json() == {"translatedText": best[line]}

                async def several(some: list[str]) -> None:
                    answer = await client.post("/translate", json={"q": some, **PAIR, "alternatives": 1})
                    found = answer.json()
                    assert found["translatedText"] == [two[line][0] for line in some]
                    assert found["alternatives"] == [two[line][1:] for line in some]

                groups = [lines[start::10] for start in range(10)]
                await asyncio.gather(*map(one, lines), *map(several, groups), several(lines))

    asyncio.run(run())


def test_html_keeps_its_tags(client: TestClient) -> None:
    source = '<p title="a &amp; b">ab <b>c</b></p><script>ab</script><i translate="no">ab</i><p>de &lt;i&gt;</p>'
    found = client.post("/translate", json={"q": [source], **PAIR, "format": "html"}).json()["translatedText"][0]
    assert found.startswith('<p title="a &amp; b">AB <b>C</b></p><script>ab</script><i translate="no">ab</i><p>DE')
    assert found.count("<i") == 1
    deepl = client.post(
        "/v2/translate", data={"text": source, "target_lang": "EN", "source_lang": "DE", "tag_handling": "html"}
    )
    assert deepl.json()["translations"] == [
        {"detected_source_language": "DE", "text": found, "billed_characters": len(source)}
    ]


def test_deepl_clients_are_answered(client: TestClient) -> None:
    found = client.post("/v2/translate", json={"text": ["ab", "c"], "source_lang": "DE", "target_lang": "EN-US"})
    assert found.json() == {
        "translations": [
            {"detected_source_language": "DE", "text": "AB", "billed_characters": 2},
            {"detected_source_language": "DE", "text": "C", "billed_characters": 1},
        ]
    }
    for body, message in (
        ({}, "Parameter 'text' not specified."),
        ({"text": "a"}, "Value for 'target_lang' not supported."),
        ({"text": ["a"] * 51, "target_lang": "EN"}, "Too many texts: 51, at most 50 are allowed."),
        ({"text": "a", "target_lang": "XX"}, "XX is not supported"),
        ({"text": "a", "target_lang": "EN", "tag_handling": "pdf"}, "Value for 'tag_handling' not supported."),
        ({"text": "a", "target_lang": "EN", "ignore_tags": ["x"]}, "Value for 'ignore_tags' not supported."),
        ({"text": "a", "target_lang": "EN", "formality": "more"}, "Value for 'formality' not supported."),
        ({"text": "a", "target_lang": "EN", "glossary_id": "1"}, "Value for 'glossary_id' not supported."),
        ({"text": "a", "target_lang": "EN", "split_sentences": "0"}, "Value for 'split_sentences' not supported."),
    ):
        answer = client.post("/v2/translate", json=body)
        assert (answer.status_code, answer.json()) == (400, {"message": message}), body


def test_deepl_clients_send_xml(client: TestClient) -> None:
    xml = '<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "b">]><d><t>ab <x>c</x></t></d>'
    body = {"text": [xml], "source_lang": "DE", "target_lang": "EN", "tag_handling": "xml", "ignore_tags": "x,y"}
    [found] = client.post("/v2/translate", json={**body, "formality": "prefer_more"}).json()["translations"]
    assert found["text"].startswith('<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "b">]><d><t>AB')
    assert found["text"].count("<x>c</x>") == 1
    assert found["text"].endswith("</d>")


def test_the_address_of_a_file_is_that_of_the_proxy(client: TestClient) -> None:
    for headers, expected in (
        ({"X-Forwarded-Prefix": "/mt"}, "http://testserver/mt/download_file/"),
        (
            {"X-Forwarded-Prefix": "/a/b/", "X-Forwarded-Host": "example.org:81", "X-Forwarded-Proto": "https"},
            "https://example.org:81/a/b/download_file/",
        ),
        ({"X-Forwarded-Prefix": "//evil", "X-Forwarded-Host": "a/b"}, "http://testserver/download_file/"),
    ):
        answer = client.post("/translate_file", files={"file": ("a.txt", b"ab")}, data=PAIR, headers=headers)
        assert answer.json()["translatedFileUrl"].startswith(expected)


def test_files_are_translated_and_fetched(client: TestClient) -> None:
    srt = "1\n00:00:01,000 --> 00:00:02,000\nab & c\n"
    for name, content, expected in (
        ("a.txt", "ab\n\nc\n", "AB\n\nC\n"),
        ("b.html", "<p>ab</p>", "<p>AB</p>"),
        ("c.srt", srt, None),
    ):
        answer = client.post("/translate_file", files={"file": (name, content.encode())}, data=PAIR)
        assert answer.status_code == 200, answer.json()
        url = answer.json()["translatedFileUrl"]
        found = client.get(url.removeprefix("http://testserver"))
        assert found.headers["content-disposition"] == f'attachment; filename="{name[0]}_en{name[1:]}"'
        if expected is not None:
            assert found.text == expected
        else:
            assert found.text.startswith("1\n00:00:01,000 --> 00:00:02,000\nAB")
    for files, data, error in (
        ({"q": (None, "x")}, PAIR, "Invalid request: missing file parameter"),
        ({"file": ("a.txt", b"x")}, {}, "Invalid request: missing source parameter"),
        ({"file": ("a.exe", b"x")}, PAIR, "Invalid request: file format not supported"),
        ({"file": ("a.txt", b"\xff")}, PAIR, "Invalid request: the file is not UTF-8"),
        ({"file": ("a.docx", b"PK")}, PAIR, "Invalid request: the file is not a Word document, or is damaged"),
        ({"file": ("a.txt", b"a" * 4001)}, PAIR, "Invalid request: request (4001) exceeds text limit (4000)"),
    ):
        answer = client.post("/translate_file", files=files, data=data)
        assert (answer.status_code, answer.json()) == (400, {"error": error})
    assert client.get("/download_file/..%2f..%2fetc%2fpasswd").status_code == 404


def test_a_word_file_keeps_its_formatting(light: Path) -> None:
    docx = pytest.importorskip("docx", reason="needs python-docx")
    document = docx.Document()
    paragraph = document.add_paragraph("ab ")
    paragraph.add_run("c").bold = True
    document.add_table(1, 1).cell(0, 0).text = "de"
    content = io.BytesIO()
    document.save(content)
    with _strict(f"de:en={light}") as client:
        answer = client.post("/translate_file", files={"file": ("a.docx", content.getvalue())}, data=PAIR)
        found = client.get(answer.json()["translatedFileUrl"].removeprefix("http://testserver"))
    translated = docx.Document(io.BytesIO(found.content))
    assert [(run.text, bool(run.bold)) for run in translated.paragraphs[0].runs if run.text] == [
        ("AB ", False),
        ("C", True),
    ]
    assert translated.tables[0].cell(0, 0).text == "DE"


def test_keys_and_rates(light: Path) -> None:
    with _strict(f"de:en={light}", keys={"secret": KeyRights(3)}) as client:
        body = {"q": "ab", **PAIR}
        assert client.post("/translate", json=body).status_code == 400
        assert client.post("/translate", json={**body, "api_key": "x"}).json() == {"error": "Invalid API key"}
        assert client.post("/translate", data={**body, "api_key": "secret"}).status_code == 200
        deepl = {"text": ["ab"], "target_lang": "en", "source_lang": "de"}
        header = {"Authorization": "DeepL-Auth-Key secret"}
        assert client.post("/v2/translate", json=deepl, headers=header).status_code == 200
        native = {"text": "ab", **PAIR}
        assert client.post("/v1/translate", json=native, headers={"Authorization": "Bearer secret"}).status_code == 200
        slow = client.post("/translate", json={**body, "api_key": "secret"})
        assert (slow.status_code, slow.json()) == (429, {"error": "Slowdown: 3 per 1 minute"})
        assert int(slow.headers["retry-after"]) >= 1
        assert client.get("/languages").status_code == 200


def test_a_file_counts_as_many_texts_as_its_characters_fill(light: Path) -> None:
    with _strict(f"de:en={light}", max_characters=10, max_texts=5, requests_per_minute=3) as client:
        for content, status in ((b"ab\n" * 12, 200), (b"ab", 429)):
            answer = client.post("/translate_file", files={"file": ("a.txt", content)}, data=PAIR)
            assert answer.status_code == status
        assert 20 < int(answer.headers["retry-after"]) <= 40  # 36 characters were 4 texts of 3


def test_what_strangers_send_is_read_in_other_processes(
    client: TestClient, light: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop of the server does nothing that takes long."""

    def here(*_: object) -> Any:
        raise AssertionError("read in the process of the server")

    for name in ("markup.Markup", "subtitles.cue_texts", "markup.sentence_spans"):
        monkeypatch.setattr(f"dragoman.documents.{name}", here)
    monkeypatch.setattr("dragoman.serving.forms.read_form", wraps(read_form)(here))
    found = client.post("/translate", json={"q": "<b>ab</b>", **PAIR, "format": "html"})
    assert found.json() == {"translatedText": "<b>AB</b>"}
    unused = "x" * 17_000
    for form in ({"data": {"q": "<i>c</i>", **PAIR, "unused": unused}}, {"files": {"unused": (None, unused)}}):
        answer = client.post("/translate?" + urlencode({"q": "<i>c</i>", **PAIR, "format": "html"}), **form)
        assert answer.json() == {"translatedText": "<i>C</i>"}
    with _strict(f"de:en={light}") as other:
        assert other.post("/translate", json={"q": "ab\n" * 2000, **PAIR}).json() == {"translatedText": "AB\n" * 2000}
        many = {"q": "ab", **PAIR, "unused": [1] * 20_000}
        answer = other.post("/translate", json=many)
        assert answer.json() == {"error": "Invalid request: request has more than 20000 values"}
        file = {"file": ("a.srt", b"-->\nab\n"), "unused": ("b", unused)}
        assert other.post("/translate_file", files=file, data=PAIR).status_code == 200


def test_other_origins_are_refused_unless_they_are_named(light: Path, client: TestClient) -> None:
    named, other = {"Origin": "https://example.org"}, {"Origin": "https://example.com"}
    body = {"q": "ab", **PAIR}
    for headers in (named, {"Sec-Fetch-Site": "cross-site"}):
        assert client.get("/languages", headers=headers).status_code == 403
        assert client.post("/translate", json=body, headers=headers).status_code == 403
        assert client.post("/translate", files={"q": (None, "ab")}, data=PAIR, headers=headers).status_code == 403
        problem = client.post("/v1/translate", json={"text": "ab", **PAIR}, headers=headers)
        assert (problem.status_code, problem.headers["content-type"]) == (403, "application/problem+json")
    assert client.post("/translate", json=body, headers={"Origin": "http://testserver"}).status_code == 200
    with _strict(f"de:en={light}", cors_origins=("https://example.org",)) as open_client:
        answer = open_client.post("/translate", json=body, headers=named)
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, named["Origin"])
        preflight = {**named, "Access-Control-Request-Method": "POST", "Sec-Fetch-Site": "cross-site"}
        assert open_client.options("/translate", headers=preflight).status_code == 200
        refused = open_client.get("/languages", headers=other)
        assert (refused.status_code, "access-control-allow-origin" in refused.headers) == (403, False)


def test_a_busy_or_slow_server_says_so(light: Path) -> None:
    with _strict(f"de:en={light}", request_seconds=0.0) as client:
        answer = client.post("/translate", json={"q": "ab", **PAIR})
        assert answer.status_code == 503
        assert "send less at a time" in answer.json()["error"]
    with _strict(f"de:en={light}", max_waiting=0, cors_origins=("*",)) as client:
        client.headers["Origin"] = "https://example.org"
        answer = client.post("/v1/translate", json={"text": "ab", **PAIR})
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["detail"] == "The server is busy; try again later"
        for path, key in (("/translate", "error"), ("/translate_file", "error"), ("/v2/translate", "message")):
            busy = client.post(path, content=b"{ what is sent is not read")
            assert (busy.status_code, busy.json()) == (503, {key: "The server is busy; try again later"})
            assert busy.headers["access-control-allow-origin"] == "*"
        assert client.get("/languages").status_code == client.post("/detect", json={"q": "ab"}).status_code == 200
        assert 'dragoman_requests_total{route="/v2/translate",status="503"} 1.0' in client.get("/metrics").text
    with _strict(f"de:en={light}", max_waiting=1) as client:  # the texts of a request wait as one
        for more in ({}, {"prefix": "A"}):
            answer = client.post("/v1/translate", json={"text": ["ab", "ab. De", " ", "ade"], **PAIR, **more}).json()
            begun = [(one["text"][:1], len(one["sentences"])) for one in answer["results"]]
            assert begun == [("A", 1), ("A", 1 if more else 2), (" ", 0), ("A", 1)]


def _in_loop(models: Models, steps: Callable[[Models], Any]) -> None:
    async def run() -> None:
        try:
            await steps(models)
        finally:
            models.close()

    asyncio.run(run())


def test_models_are_loaded_when_asked_for_and_dropped_beyond_the_budget(light: Path) -> None:
    size = ServedFolder.named(f"de:en={light}").bytes()
    pairs = [LanguagePair("de", "en"), LanguagePair("en", "de"), LanguagePair("fr", "en")]

    async def steps(models: Models) -> None:
        assert models.loaded == []
        first, second = await asyncio.gather(models.get(pairs[0]), models.get(pairs[0]))
        assert first is second
        await models.get(pairs[1])
        await models.get(pairs[0])
        await models.get(pairs[2])
        assert [model.pair for model in models.loaded] == [pairs[0], pairs[2]]

    folders = [f"{pair.source}:{pair.target}={light}" for pair in pairs]
    _in_loop(_models(*folders, budget=2 * size), steps)


def test_the_device_is_that_of_run_folders(light: Path) -> None:
    async def steps(models: Models) -> None:
        assert (await models.get(LanguagePair("de", "en"))).translator.translate("ab").text == "AB"

    _in_loop(_models(f"de:en={light}", device="cuda"), steps)


def test_new_weights_are_taken_up_and_damaged_ones_are_not(light: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(light, tmp_path / "served"))
    pair = LanguagePair("de", "en")

    async def steps(models: Models) -> None:
        before = await models.get(pair)
        await models.refresh()
        assert await models.get(pair) is before
        manifest = folder / "manifest.json"
        damaged = json.loads(manifest.read_text()) | {"format": 99}
        good = manifest.read_bytes()
        manifest.write_text(json.dumps(damaged))
        await models.refresh()
        assert await models.get(pair) is before
        os.replace(shutil.copy(light / "manifest.json", tmp_path / "new"), manifest)
        assert manifest.read_bytes() == good
        await models.refresh()
        after: LoadedModel = await models.get(pair)
        assert after is not before
        assert before.translator.translate("ab").text == "AB"  # requests that have begun finish with it

    _in_loop(_models(f"de:en={folder}"), steps)


def test_the_folder_of_a_model_that_learns_is_not_read_again(light: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(light, tmp_path / "served"))
    pair = LanguagePair("de", "en")

    async def steps(models: Models) -> None:
        before = await models.get(pair)
        os.replace(shutil.copy(light / "manifest.json", tmp_path / "new"), folder / "manifest.json")
        await models.refresh()
        assert await models.get(pair) is before

    _in_loop(_models(f"de:en={folder}", learning=[pair]), steps)


def test_the_server_is_not_ready_while_a_model_is_loaded(light: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models, may_load = _models(f"de:en={light}"), threading.Event()
    load = models._open

    def load_later(folder: ServedFolder) -> LoadedModel:
        assert may_load.wait(30)
        return load(folder)

    monkeypatch.setattr(models, "_open", load_later)

    async def run() -> None:
        app = create_app(models, Settings(), preload=True)
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://test") as client,
        ):
            while not models.loading:
                await asyncio.sleep(0)
            loading = await client.get("/ready")
            assert (loading.status_code, loading.headers["retry-after"]) == (503, "1")
            assert (await client.get("/health")).status_code == 200
            may_load.set()
            answer = await client.post("/translate", json={"q": "ab", **PAIR})
            assert answer.json() == {"translatedText": "AB"}
            assert (await client.get("/ready")).status_code == 200

    asyncio.run(run())


def test_a_model_that_cannot_be_loaded_is_an_error_of_the_server(light: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(light, tmp_path / "served"))
    models = _models(f"de:en={folder}")
    (folder / "step.onnx").write_bytes(b"")
    with TestClient(create_app(models, Settings())) as client:
        for _ in range(2):
            answer = client.post("/translate", json={"q": "ab", **PAIR})
            assert answer.status_code == 500
            assert str(tmp_path) not in answer.text
        assert client.get("/ready").status_code == 200


def test_run_folders_are_served_too(run_folder: Path) -> None:
    with _strict(f"de:en={run_folder}", threads=2) as client:
        assert client.post("/translate", json={"q": ["ab", "c"], **PAIR}).json() == {"translatedText": ["AB", "C"]}


def test_a_run_folder_needs_torch_before_the_server_starts(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["serve", f"de:en={run_folder}"]) == 2
    assert "pip install 'dragoman[train]'" in capsys.readouterr().err


def test_folders_that_cannot_be_served_are_refused(light: Path, tmp_path: Path) -> None:
    for folders, message in (
        ([str(light)], "does not name its languages; give them as SOURCE:TARGET="),
        ([f"de:en={light}", f"deu:eng={light}"], "both translate de into en"),
    ):
        with pytest.raises(ConfigError, match=message):
            _models(*folders)
    assert main(["serve", str(tmp_path / "nothing"), "--quiet"]) == 2


EXAMPLES = Path(__file__).parents[2] / "docs" / "serving-requests.md"


def _value(example: Any, found: Any, place: str) -> None:
    """Check that `found` has what the example shows; numbers need only be numbers, "…" stands for anything."""
    if example == "…":
        return
    if isinstance(example, dict):
        assert found.keys() == example.keys(), place
        for name, value in example.items():
            _value(value, found[name], f"{place}.{name}")
    elif isinstance(example, list):
        shown = [one for one in example if one != "…"]
        assert len(found) == len(shown) or (len(found) > len(shown) and "…" in example), place
        for number, value in enumerate(shown):
            _value(value, found[number], f"{place}[{number}]")
    elif isinstance(example, float):
        assert isinstance(found, float), place
    else:
        assert found == example, place


def test_the_examples_of_the_documentation_are_true(client: TestClient) -> None:
    text = EXAMPLES.read_text(encoding="utf-8")
    parts = text.split("```http\n")[1:]
    assert len(parts) >= 4
    for part in parts:
        request, rest = part.split("```", 1)
        first, _, body = request.partition("\n")
        method, path = first.split()
        answer = client.request(method, path, json=json.loads(body) if body.strip() else None)
        assert answer.status_code == 200, (first, answer.text)
        example = rest.split("```json\n", 1)[1].split("```", 1)[0]
        _value(json.loads(example), answer.json(), first)


def test_native_results_are_those_of_python(client: TestClient, light: Path) -> None:
    text = "ab ÿ c"
    wanted = {"text": text, **PAIR, "n_best": 2, "beam": 3, "attention": True, "replace_unk": True}
    [result] = client.post("/v1/translate", json=wanted).json()["results"]
    [sentence] = result["sentences"]
    n_best = dragoman.load(light, threads=1).translate(text, n_best=2, beam=3, replace_unk=True)
    assert result["text"] == n_best[0].text
    for found, expected in zip(sentence["translations"], n_best, strict=True):
        assert expected.attention is not None
        assert found["text"] == expected.text
        assert found["score"] == pytest.approx(expected.score, abs=1e-5)
        assert found["attention"] == pytest.approx(expected.attention, abs=1e-4)
        assert [tuple(link) for link in found["alignment"]] == expected.alignment


def test_unknown_words_are_replaced_where_a_request_wants_it(
    light: Path, toy_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    models, engine = _models(f"de:en={light}"), toy_engine(SIZE, answer=copy)
    copier = Translator(engine, SIDE, SIDE, SearchConfig(beam=3, normalisation="none"))
    loaded = partial(LoadedModel, translator=copier, scorer=Scorer(engine, SIDE, SIDE), lane=Lane(1), beam=3, bytes=0)
    monkeypatch.setattr(models, "_open", lambda folder: loaded(folder.pair, fingerprint=folder.fingerprint()))
    with TestClient(create_app(models, SETTINGS)) as client:

        def best(**options: Any) -> str:
            answer = client.post("/v1/translate", json={"text": "y", **PAIR, **options})
            return answer.json()["results"][0]["text"]

        assert best() == best(replace_unk=False) == "<unk>"
        assert best(replace_unk=True) == "y"


def test_native_requests_that_cannot_be_met_are_refused(client: TestClient) -> None:
    for path, body, detail in (
        ("/v1/translate", {"text": "ab"}, "Object missing required field `target`"),
        ("/v1/translate", {"text": "ab", **PAIR, "beem": 3}, "Object contains unknown field `beem`"),
        ("/v1/translate", {"text": "ab", **PAIR, "beam": 0}, "Expected `int` >= 1 - at `$.beam`"),
        ("/v1/translate", {"text": "ab", **PAIR, "beam": 1_000_000}, "Expected `int` <= 50 - at `$.beam`"),
        ("/v1/translate", {"text": "ab", **PAIR, "alpha": 1.0}, "alpha requires normalisation gnmt or power"),
        ("/v1/translate", {"text": [], **PAIR}, "Expected `array` of length >= 1 - at `$.text`"),
        ("/v1/translate", {"text": "ab", **PAIR, "constraints": ["Ω"]}, "'Ω' cannot appear in a translation"),
        (
            "/v1/translate",
            {"text": "ab", **PAIR, "glossary": {"ab": "Ω"}},
            "glossary: 'Ω' cannot appear in a translation",
        ),
        ("/v1/translate", {"text": "ab", **PAIR, "ban": ["Ω"]}, "banned word 'Ω'"),
        ("/v1/complete", {"text": "ab", **PAIR, "count": 0}, "Expected `int` >= 1 - at `$.count`"),
    ):
        answer = client.post(path, json=body)
        assert answer.status_code == 400, body
        assert answer.json()["status"] == 400
        assert detail in answer.json()["detail"], body


def test_what_is_wrong_with_a_native_body_is_said(client: TestClient) -> None:
    for content, reason in (
        (b'{"text": "ab", ', "Input data was truncated"),
        (b'{"text" "ab"}', "JSON is malformed: expected ':' (byte 8)"),
        (b"text=ab&target=en", "JSON is malformed: invalid character"),
        (b'{"text": "\xff"}', "the body is not UTF-8"),
        (rb'{"text": "ab", "prefix": "\ud800"}', r"\ud800 is half of a character"),
        (rb'{"text": "\\\uDC00 \\ud800", "prefix": ""}', r"\uDC00 is half of a character"),
        (rb'{"text": "\ud83d\ude00\ud83d", "prefix": ""}', r"\ud83d is half of a character"),
        (rb'{"text": "\\ud800', "Input data was truncated"),
        (b'{"text": ' + b"[" * 5000, "Expected `"),
        (b"[1]", "Expected `object`, got `array`"),
    ):
        for path in ("/v1/translate", "/v1/complete"):
            answer = client.post(path, content=content, headers={"Content-Type": "application/json"})
            assert answer.status_code == 400
            assert answer.json()["detail"].startswith(f"Invalid request: {reason}"), content[:20]


def test_segments_have_probabilities_and_links_without_their_spaces(client: TestClient) -> None:
    answer = client.post("/v1/translate", json={"text": "ab c", **PAIR, "n_best": 2})
    for one in answer.json()["results"][0]["sentences"][0]["translations"]:
        assert len(one["segment_log_probabilities"]) == len(one["segments"]) + 1
        assert all(value <= 0 for value in one["segment_log_probabilities"])
        assert sum(one["segment_log_probabilities"]) == pytest.approx(one["log_probability"], abs=1e-3)
    best = answer.json()["results"][0]["sentences"][0]["translations"][0]
    written = [place for place, (start, end) in enumerate(best["segment_spans"]) if end > start]
    assert sorted(target for _, target in best["segment_alignment"]) == written
    assert [0, 0] in best["segment_alignment"]


def test_constraints_of_native_requests_are_kept(client: TestClient) -> None:
    def best(**options: Any) -> str:
        answer = client.post("/v1/translate", json={"text": "ab\nc", **PAIR, **options})
        assert answer.status_code == 200, answer.text
        return answer.json()["results"][0]["text"]

    assert best() == "AB\nC"
    assert best(prefix="D").startswith("D")
    assert "F" in best(constraints=["F"])
    assert "F" in best(glossary={"ab": "F"})
    assert "A" not in best(ban=["A"])
    found = client.post("/v1/translate", json={"text": ["ab", "en c"], "source": "auto", "target": "en", "n_best": 10})
    assert [len(result["sentences"]) for result in found.json()["results"]] != []
    assert client.post("/v1/translate", json={"text": " ", **PAIR, "prefix": "A"}).json()["results"][0]["text"] == " "
    assert client.post("/v1/complete", json={"text": " ", **PAIR}).json()["completions"] == []
    same = {"text": "ab", "source": "en", "target": "en"}
    assert client.post("/v1/complete", json=same).json()["completions"] == []
    many = client.post("/v1/complete", json={"text": "ab", **PAIR, "count": MAX_ALTERNATIVES}).json()["completions"]
    words = [one["word"] for one in many]
    assert words[0] == "AB"
    other = client.post("/v1/complete", json={"text": "ab", **PAIR, "ban": ["A"]}).json()["completions"]
    assert other
    assert not any("A" in one["text"] for one in other)
    assert len(set(words)) == len(words) > 1
