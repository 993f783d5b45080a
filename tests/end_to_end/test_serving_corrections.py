"""`dragoman serve --learn`: processes that learn while they translate, and what becomes of them."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

from dragoman.errors import RunError
from dragoman.learning.learner import Learner
from dragoman.serving.learning import LearningModel, start_learning
from dragoman.serving.models import ServedFolder
from dragoman.serving.responses import Refusal
from dragoman.text.segmentation import load_segmentation
from dragoman.text.segmentation.normal_form import NormalForm, NormalisedSegmentation
from dragoman.text.spelling import Spelling
from dragoman.translation_memory.memory import TranslationMemory

from .server_process import COMMAND, Server, end_server, start_server

pytestmark = [pytest.mark.slow]
PAIR = {"source": "de", "target": "en"}


@pytest.fixture(scope="module")
def run(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = Path(shutil.copytree(run_folder, tmp_path_factory.mktemp("learning") / "run"))
    path = run / "text" / "source.segmentation.json"
    NormalisedSegmentation(load_segmentation(path), NormalForm("abcdef ", Spelling(["faced"], 1, 0))).save(path)
    (run / "run.json").unlink()  # has the digest of the file before
    return run


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "keys"
    path.write_text("reader\ncorrector learn\n")
    return path


@pytest.fixture(scope="module")
def server(run: Path, keys: Path) -> Iterator[Server]:
    server = _start(run, keys)
    yield server
    assert end_server(server) in (0, -signal.SIGKILL)


def _start(run: Path, keys: Path) -> Server:
    return start_server(f"de:en={run}", "--learn", "--api-keys", str(keys))


def _ask(server: Server, method: str, path: str, body: Any = None, key: str = "corrector") -> Any:
    """The status, if it is an error, or the answer."""
    content = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    try:
        with urlopen(Request(f"{server.url}{path}", content, headers, method=method), timeout=60) as answer:
            return json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


def _correct(server: Server, text: str, translation: str, **options: Any) -> Any:
    return _ask(server, "POST", "/v1/corrections", {**PAIR, "text": text, "translation": translation}, **options)


def _remove(server: Server, number: str = "", **query: str) -> Any:
    return _ask(server, "DELETE", f"/v1/corrections{number}?{urlencode({**PAIR, **query})}")


def _translation(server: Server, text: str) -> Any:
    [result] = _ask(server, "POST", "/v1/translate", {**PAIR, "text": text})["results"]
    return result["sentences"][0]["translations"][0]


def _misread(server: Server, text: str) -> bool:
    [result] = _ask(server, "POST", "/v1/translate", {**PAIR, "text": text})["results"]
    return "typing_errors" in result["sentences"][0]


def _corrections(server: Server) -> Any:
    return _ask(server, "GET", f"/v1/corrections?{urlencode(PAIR)}")


def _wait(server: Server, done: Callable[[Any], object]) -> Any:
    for _ in range(900):  # the lowest priority: other work comes first
        found = _corrections(server)
        if done(found):
            return found
        time.sleep(0.1)
    raise AssertionError(found)


def test_a_correction_is_answered_at_once_learnt_and_undone(server: Server, run: Path) -> None:
    other = "fed cba"
    before = _translation(server, other)
    assert _misread(server, "fcaed")
    assert _correct(server, "ab c", "AB X") == {"number": 1, "waiting": 1}
    assert _correct(server, "ab c", "AB X")["number"] == 1
    assert _translation(server, "ab c")["text"] == "AB X"
    assert _translation(server, "ab c")["from_memory"] is True
    found = _wait(server, lambda found: found["waiting"] == 0)
    assert found["corrections"] == [{"number": 1, "text": "ab c", "translation": "AB X", "state": "learnt"}]
    after = _translation(server, other)
    assert after["log_probability"] != before["log_probability"]

    assert _correct(server, "fcaed", "FCAED")["number"] == 2
    _wait(server, lambda found: found["waiting"] == 0)
    assert not _misread(server, "fcaed ab")
    _remove(server, "/2")
    suggested = {"q": "de f", "s": "DE X", **PAIR}
    assert _ask(server, "POST", "/suggest", suggested) == {"success": True}
    status, problem = _remove(server, "/1", text="de f")
    assert (status, problem["detail"]) == (404, "There is no correction 1 of this text")
    _remove(server, "/1", text="ab c")
    assert [one["text"] for one in _corrections(server)["corrections"]] == ["de f"]
    assert "from_memory" not in _translation(server, "ab c")
    revision = found["revision"]
    _remove(server)
    _wait(server, lambda found: found["revision"] > revision and not found["corrections"])
    for _ in range(50):
        if _translation(server, other) == before:
            break
        time.sleep(0.1)
    assert _translation(server, other) == before
    assert _misread(server, "fcaed ab")


def test_what_may_not_be_corrected_is_refused(server: Server, run: Path, keys: Path) -> None:
    def refused(answer: Any) -> tuple[int, str]:
        status, problem = answer
        return status, problem["detail"]

    assert refused(_correct(server, "ab c", "AB X", key="reader")) == (403, "This API key may not correct translations")
    assert refused(_ask(server, "GET", f"/v1/corrections?{urlencode(PAIR)}", key="reader"))[0] == 403
    assert _ask(server, "POST", "/v1/translate", {**PAIR, "text": "ab"}, key="reader")["results"]
    assert refused(_correct(server, "ab c", " ")) == (400, "Invalid request: 'ab c' is not learnt: one side is empty")
    assert refused(_remove(server, "/1")) == (404, "There is no correction 1")
    assert refused(_remove(server, "/x")) == (400, "Invalid request: x is not the number of a correction")
    assert refused(_ask(server, "GET", "/v1/corrections?source=de"))[0] == 400
    second = subprocess.run(
        [*COMMAND, f"de:en={run}", "--learn"], capture_output=True, text=True, timeout=60, check=False
    )
    assert second.returncode == 2
    assert "is writing to this folder" in second.stderr, second.stderr


def test_a_killed_server_goes_on_from_the_log(server: Server, run: Path, keys: Path, tmp_path: Path) -> None:
    """And learns what was not learnt, to what it would have been without the kill."""
    for number in range(12):
        assert _correct(server, "abcdef"[number % 4 :][:3] * (1 + number // 4), "FED")["number"] == number + 1
    before = [(one["text"], one["translation"]) for one in _corrections(server)["corrections"]]
    server.process.kill()
    server.process.wait()
    again = _start(run, keys)
    try:
        found = _wait(again, lambda found: found["waiting"] == 0)
        assert [(one["text"], one["translation"]) for one in found["corrections"]] == before
        assert len(before) == 12
        served = _translation(again, "fed cba f")["log_probability"]
    finally:
        end_server(again)
    with Learner(run, tmp_path / "alone", threads=1) as learner:
        for pair in before:
            learner.learn(*pair)
        alone = learner.run.translator().translate("fed cba f")
    assert served == pytest.approx(alone.log_probability, abs=1e-6)


def test_only_run_folders_learn(light: Path) -> None:
    with pytest.raises(RunError, match="is an exported folder, which cannot be trained"):
        start_learning([ServedFolder.named(f"de:en={light}")], "cpu")


def test_what_is_sent_to_a_process_that_has_ended_is_refused(run_folder: Path, tmp_path: Path) -> None:
    async def use() -> None:
        model = LearningModel(Path(shutil.copytree(run_folder, tmp_path / "run")), TranslationMemory([], str), "cpu")

        async def take_up(weights: bytes, known: Sequence[str]) -> None: ...

        task = model.start(take_up)
        try:
            assert await model.log("ab c", "AB X") == 1
            model._process.kill()
            model._process.wait()
            for _ in range(2):  # before it is noticed, and after
                with pytest.raises(Refusal, match="cannot be kept at the moment"):
                    await asyncio.wait_for(model.log("fed", "FED F"), 2)
                await asyncio.sleep(0.5)
        finally:
            model.close()
            task.cancel()

    asyncio.run(use())
