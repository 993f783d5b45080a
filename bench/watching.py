"""Runs a command for so many seconds, notes when its output lines came, and how much memory its processes took."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

try:
    import psutil
except ModuleNotFoundError:
    sys.exit("the benchmarks need psutil: pip install 'dragoman[bench]'")


@dataclass
class Watched:
    """What was seen of a command."""

    lines: list[tuple[float, str]] = field(default_factory=list)
    """(seconds since the start, line) of standard output (if it goes to no file) and error together."""
    seconds: float = 0.0
    """From the start to the end."""
    processor_seconds: float = 0.0
    """Of all its threads and processes: what is left to compare by where others use the machine too."""
    exit_code: int = 0
    peak_mb: float = 0.0
    """Resident memory of the command and all processes below it, at its largest."""
    others: float = 0.0
    """Cores that everything else on the machine used meanwhile; far from 0, the figures are worth little."""

    def rate(self, pattern: str, *, skip: int) -> float:
        """Updates a second from lines that name the update, the first `skip` updates left out.

        Raises:
            SystemExit: fewer than two such lines; the tail of the output is shown.
        """
        moments = [(int(found[1]), second) for second, line in self.lines if (found := re.search(pattern, line))]
        steady = [(update, second) for update, second in moments if update >= skip]
        if len(steady) < 2:
            sys.exit("too few updates were seen:\n" + "\n".join(line for _, line in self.lines[-20:]))
        (first, began), (last, ended) = steady[0], steady[-1]
        return (last - first) / (ended - began)


def watch(
    command: Sequence[str],
    seconds: float,
    *,
    folder: Path,
    environment: Mapping[str, str],
    stdin: Path = Path(os.devnull),
    stdout: Path | None = None,
) -> Watched:
    """Run `command` in `folder`; after so many seconds interrupt it, and if that is not heard, kill it."""
    watched = Watched()
    # A program that was started in the background ignores interruptions, and what it starts inherits that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with stdin.open("rb") as given, nullcontext() if stdout is None else stdout.open("wb") as printed:
        began, busy, spent = time.monotonic(), _busy(), _spent()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdin=given,
            stdout=printed or subprocess.PIPE,
            stderr=subprocess.STDOUT if printed is None else subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    reader = threading.Thread(target=_read, args=(process, watched, began), daemon=True)
    reader.start()
    ended = threading.Event()

    def wait() -> None:
        # Waiting with a time limit would look every 50 ms only, which is much where short runs are subtracted.
        watched.exit_code = process.wait()
        watched.seconds = time.monotonic() - began
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    own: dict[int, float] = {}
    signals = [(seconds, signal.SIGINT), (seconds + 30, signal.SIGTERM), (seconds + 40, signal.SIGKILL)]
    try:
        while not ended.is_set():
            watched.peak_mb = max(watched.peak_mb, _resident(process.pid, own) / 2**20)
            if signals and time.monotonic() - began > signals[0][0]:
                with suppress(ProcessLookupError):  # it has just ended
                    os.killpg(process.pid, signals.pop(0)[1])
            ended.wait(0.1)
    finally:
        if not ended.is_set():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    watched.processor_seconds = _spent() - spent
    # What was sampled lacks the last moment; what was waited for lacks processes that nobody waited for.
    used = max(sum(own.values()), watched.processor_seconds)
    watched.others = max(0.0, (_busy() - busy - used) / watched.seconds)
    reader.join(5)
    return watched


def _read(process: subprocess.Popen[str], watched: Watched, began: float) -> None:
    lines = process.stdout or process.stderr
    assert lines is not None
    for line in lines:
        watched.lines.append((time.monotonic() - began, line.rstrip()))


def _resident(pid: int, own: dict[int, float]) -> int:
    """Bytes of a process and all below it; the processor time of each is noted in `own`."""
    total = 0
    try:
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return 0
    for member in family:
        try:
            total += member.memory_info().rss
            times = member.cpu_times()
            own[member.pid] = times.user + times.system
        except psutil.Error:
            continue
    return total


def _spent() -> float:
    """Processor time of all commands that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _busy() -> float:
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system)
