"""Translation memories of the server, and the training text of a run as one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from dragoman.errors import ConfigError, RunError
from dragoman.runs.layout import RunFolder
from dragoman.runs.memories import open_memory, stored_pairs
from dragoman.serving.application import create_app
from dragoman.serving.memories import read_memories
from dragoman.serving.models import LanguagePair, Models, ServedFolder
from dragoman.serving.settings import Settings

PAIR = {"source": "de", "target": "en"}


@pytest.fixture(scope="module")
def client(light: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    file = tmp_path_factory.mktemp("memory") / "memory.tsv"
    file.write_text("ab c\twrong\nfed cbb\tnear\nab. C.\tboth at once\n", encoding="utf-8")
    folders = [ServedFolder.named(f"de:en={light}")]
    models = Models(folders, memories=read_memories([[str(file)]], folders))
    with TestClient(create_app(models, Settings())) as client:
        yield client


def _sentences(client: TestClient, text: str, **options: Any) -> Any:
    answer = client.post("/v1/translate", json={"text": text, **PAIR, **options})
    assert answer.status_code == 200, answer.text
    return answer.json()["results"][0]["sentences"]


def test_what_the_memory_has_is_the_answer_of_every_interface(client: TestClient) -> None:
    assert client.post("/translate", json={"q": ["ab c", "ab"], **PAIR}).json() == {"translatedText": ["wrong", "AB"]}
    assert (
        client.post("/v2/translate", json={"text": ["ab c"], "target_lang": "EN"}).json()["translations"][0]["text"]
        == "wrong"
    )
    [sentence] = _sentences(client, "ab c")
    assert sentence["translations"][0]["from_memory"] is True
    [match] = sentence["matches"]
    assert (match["score"], match["differences"]) == (1.0, [])


def test_near_matches_say_what_differs(client: TestClient) -> None:
    near, far = _sentences(client, "fed cba. Aaa.")
    assert "from_memory" not in near["translations"][0]
    assert near["matches"] == [
        {"source": "fed cbb", "target": "near", "score": 0.75, "differences": [[[4, 8], [4, 7]]]}
    ]
    assert "matches" not in far


def test_a_file_of_translators_gets_near_matches(client: TestClient) -> None:
    pytest.importorskip("lxml", reason="needs lxml")
    units = "".join(f'<trans-unit id="{text}"><source>{text}</source></trans-unit>' for text in ("fed cba", "ab"))
    content = f'<xliff version="1.2"><file><body>{units}</body></file></xliff>'
    answer = client.post("/translate_file", files={"file": ("a.xlf", content.encode())}, data=PAIR).json()
    written = client.get(answer["translatedFileUrl"]).text
    near = '<alt-trans match-quality="86%" origin="memory"><source>fed cbb</source><target>near</target></alt-trans>'
    assert written.count("<alt-trans") == written.count(f">FED CBA</target>{near}") == 1


def test_a_text_of_several_sentences_may_be_in_the_memory_as_a_whole(client: TestClient) -> None:
    assert client.post("/translate", json={"q": " ab. C.\n", **PAIR}).json() == {"translatedText": " both at once\n"}
    [sentence] = _sentences(client, "ab. C.")
    assert sentence["source_span"] == [0, 6]
    assert len(_sentences(client, "ab. D.")) == len(_sentences(client, "ab.\nC.")) == 2


def test_the_training_text_of_a_run_is_a_memory(run_folder: Path, light: Path, corpus: Any) -> None:
    kept = open_memory([[run_folder]], str)
    sources, targets = ([*path.read_text(encoding="utf-8").splitlines()] for path in corpus.train)
    assert {kept.exact(source) for source in sources} <= {None, *targets}
    assert kept.exact(sources[0]) == targets[0]
    with pytest.raises(RunError, match="has no training text"):
        list(stored_pairs(RunFolder(run_folder / "text")))
    with pytest.raises(RunError, match="is an exported folder, which has no training text"):
        open_memory([[light]], str)


def test_a_memory_belongs_to_a_served_model(light: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text("x\ty\n", encoding="utf-8")
    folders = [ServedFolder.named(f"{pair}={light}") for pair in ("de:en", "en:de")]
    found = read_memories([[f"en:de={file}"]], folders)
    assert list(found) == [LanguagePair("en", "de")]
    assert found[LanguagePair("en", "de")].exact("x") == "y"
    for given, message in (
        (str(file), f"--memory {file}: several models are served; say whose it is: de:en={file}"),
        (f"de:fr={file}", f"--memory {file}: no model is served from de to fr"),
    ):
        with pytest.raises(ConfigError, match=re.escape(message)):
            read_memories([[given]], folders)
