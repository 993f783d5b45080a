"""Worker processes: what they return and refuse, and that they end."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dragoman.documents.document import Languages, RatedText
from dragoman.documents.files import file_texts, translated_file
from dragoman.documents.html_text import Xml
from dragoman.documents.markup import markup_sentences, sentences_of, translated_markup
from dragoman.documents.rendering import AlignedTranslation
from dragoman.serving import worker, workers
from dragoman.serving.forms import Form, read_form
from dragoman.serving.responses import Refusal
from dragoman.serving.worker import read, write
from dragoman.serving.workers import Workers


def _with_workers(count: int, steps: Callable[[Workers], Awaitable[None]]) -> None:
    async def run() -> None:
        pool = Workers(count)
        try:
            await steps(pool)
        finally:
            pool.close()

    asyncio.run(run())


async def _refusal(answer: Awaitable[Any]) -> tuple[int, str]:
    with pytest.raises(Refusal) as refused:
        await answer
    return refused.value.status, refused.value.message


@pytest.mark.slow
def test_results_are_those_of_the_functions() -> None:
    async def steps(pool: Workers) -> None:
        assert await pool.run(sentences_of, ["One. Two.", ""], "en", 9) == sentences_of(["One. Two.", ""], "en", 9)
        assert await pool.run(markup_sentences, ["<p>a<b>b</b>"], "en", False, 9, Xml()) == ["ab"]
        sentence = AlignedTranslation("X Y", [(0, 1), (2, 3)], [(0, 1), (2, 3)], [1, None])
        [rated] = await pool.run(translated_markup, ["<b>a</b> b"], "en", False, [sentence], None)
        assert (rated.text, rated.confidence) == ("<b></b>X Y", None)
        body = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\n\xff\r\n--x--\r\n'
        assert await pool.run(read_form, "multipart/form-data; boundary=x", body) == Form({}, {"f": ("a", b"\xff")})
        refusal = await _refusal(pool.run(file_texts, ".txt", b"\xff", 9, 9, Languages()))
        assert refusal == (400, "Invalid request: the file is not UTF-8")
        refusal = await _refusal(pool.run(file_texts, ".txt", b"0123456789", 9, 9, Languages()))
        assert refusal == (400, "Invalid request: request (10) exceeds text limit (9)")
        with pytest.raises(RuntimeError, match=r"translated_file: ValueError .*files\.py:\d+$"):
            await pool.run(
                translated_file, ".txt", b"", [RatedText("more", None), RatedText("than one", None)], Languages()
            )
        [one] = pool._idle  # all of them
        process = one._process
        assert process is not None
        process.kill()
        process.wait()
        assert await pool.run(sentences_of, ["a"], "en", 9) == [[(0, 1)]]  # by another process

    _with_workers(2, steps)


@pytest.mark.slow
def test_what_takes_too_long_or_too_much_memory_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits are those of the process, whatever the server does meanwhile."""
    limits = "from dragoman.serving import worker; worker.PROCESSOR_SECONDS = 0.3; worker.MEMORY = 300 << 20; "
    program = workers._PROGRAM.replace("from dragoman.serving.worker", f"{limits}from dragoman.serving.worker")
    monkeypatch.setattr(workers, "_PROGRAM", program)
    long, large = "a. " * 500_000, "é" * 60_000_000

    async def steps(pool: Workers) -> None:
        assert await pool.run(sentences_of, ["a"], "en", 9) == [[(0, 1)]]
        status, message = await _refusal(pool.run(markup_sentences, [f"<p>{long}"] * 3, "en", False, 10**9, None))
        assert status == 413
        assert message.endswith("send less at a time")
        status, message = await _refusal(pool.run(file_texts, ".srt", f"-->\n{large}".encode(), 9, 10**9, Languages()))
        assert status in (400, 413)
        assert "memory" in message
        assert await pool.run(sentences_of, ["a"], "en", 9) == [[(0, 1)]]

    _with_workers(1, steps)


@pytest.mark.slow
def test_the_process_of_a_caller_that_leaves_is_ended() -> None:
    async def steps(pool: Workers) -> None:
        assert await pool.run(sentences_of, ["a"], "en", 9) == [[(0, 1)]]
        process = pool._idle[0]._process
        calling = asyncio.ensure_future(pool.run(markup_sentences, ["<p>a. b. " * 200_000], "en", False, 10**9))
        waiting = asyncio.ensure_future(pool.run(sentences_of, ["a"], "en", 9))
        while not pool._busy or not pool._waiting:
            await asyncio.sleep(0)
        calling.cancel()
        assert await waiting == [[(0, 1)]]
        assert process is not None
        assert process.wait(30) != 0

    _with_workers(1, steps)
    for thread in threading.enumerate():
        if thread.name.startswith("worker"):
            thread.join(30)
            assert not thread.is_alive()


def test_more_callers_than_may_wait_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "MAX_WAITING", 0)

    async def steps(pool: Workers) -> None:
        with pytest.raises(Refusal) as refused:
            await pool.run(sentences_of, ["a"], "en", 9)
        assert (refused.value.status, refused.value.retry_after) == (503, worker.PROCESSOR_SECONDS)

    _with_workers(1, steps)


def test_what_a_killed_process_began_to_write_is_no_message() -> None:
    whole = io.BytesIO()
    write(whole, b"abc")
    content = whole.getvalue()
    assert read(io.BytesIO(content)) == b"abc"
    assert [read(io.BytesIO(content[:end])) for end in range(len(content))] == [None] * len(content)
