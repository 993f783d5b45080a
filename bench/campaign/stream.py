"""A long stream through `translate`: as many lines out as in, and no more memory at its end than near its beginning.

Lines go in through a pipe and come out through another one; the memory of the process is read while it answers.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from campaign.materials import random_line, small_export, small_run
from campaign.result import Result, Settings

LINES = 200_000
SAMPLES = 100
"""How often the memory is read along the way."""
GROWTH = 16
"""MiB that the memory may grow by after the first quarter of the stream: the allocator's reserve, not the stream."""
WARM_UP = 20_000
"""Lines within which the caches of compiled kernels fill; at full size they lie in the first quarter ..."""
CACHES = 32
"""... and in a stream shorter than 4 x WARM_UP they may take so many MiB more (24 were measured, with torch)."""


def run(settings: Settings) -> list[Result]:
    """Stream through the engines of a run and of an exported folder, one after the other."""
    result = Result("stream", "a stream is answered line by line in constant memory", "lines")
    folders: dict[str, Callable[[], Path]] = {
        "exported": lambda: small_export(settings),
        "run": lambda: small_run(settings),
    }
    count = LINES if settings.trials is None else settings.trials
    if settings.seconds is not None:
        count = min(count, 4_000)
    for name, folder in folders.items():
        if not settings.is_over():
            _stream(settings, result, name, folder(), count)
    return [result]


def _stream(settings: Settings, result: Result, name: str, folder: Path, count: int) -> None:
    trial = {"engine": name, "seed": settings.seed, "lines": count}
    command = [sys.executable, "-m", "dragoman", "translate", str(folder), "--threads", "1", "--beam", "2"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    memory: list[float] = []
    answered = 0
    with (
        open(settings.scratch / "errors", "w+b") as errors,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment
        ) as process,
    ):
        assert process.stdout is not None
        feeder = threading.Thread(target=_feed, args=(process, _lines(settings.seed, count)), daemon=True)
        feeder.start()
        for line in process.stdout:
            line.decode()
            answered += 1
            if answered % max(1, count // SAMPLES) == 0:
                memory.append(_resident(process.pid))
        feeder.join()
        code = process.wait()
        errors.seek(0)
        said = errors.read().decode()
    result.trials += count
    result.facts[f"{name}: resident MiB along the way"] = [round(value) for value in memory[:: SAMPLES // 10]]
    if code or answered != count:
        result.fail(f"exit {code}, {answered} lines: {said[-600:]}", **trial)
        return
    first = memory[: len(memory) // 4]
    growth = max(memory[len(memory) // 4 :]) - max(first)
    allowed = GROWTH if count >= 4 * WARM_UP else GROWTH + CACHES
    result.facts[f"{name}: growth in MiB after the first quarter"] = round(growth, 1)
    if growth > allowed:
        result.fail(f"the memory grew by {growth:.1f} MiB after the first quarter", **trial)


def _lines(seed: int, count: int) -> Iterator[bytes]:
    draw = random.Random(seed)
    return (random_line(draw).encode() + b"\n" for _ in range(count))


def _feed(process: subprocess.Popen[bytes], lines: Iterator[bytes]) -> None:
    assert process.stdin is not None
    try:
        with process.stdin as file:
            for line in lines:
                file.write(line)
    except BrokenPipeError:
        pass  # it has ended; its exit code is looked at


def _resident(process: int) -> float:
    """Resident memory in MiB; 0 if the process has ended."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
