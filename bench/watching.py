"""Runs a command with a time limit, and records the times of its output lines, its memory and processor time."""

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
    """The measurements of a command."""

    lines: list[tuple[float, str]] = field(default_factory=list)
    """(seconds since the start, line) of standard error, and of standard output unless it goes to a file."""
    seconds: float = 0.0
    """Wall time."""
    processor_seconds: float = 0.0
    """Processor time of all threads and processes, which is comparable even on a busy machine."""
    exit_code: int = 0
    peak_mb: float = 0.0
    """Peak resident memory in MB of the command and its child processes."""
    others: float = 0.0
    """Mean number of cores used by other programs; wall times are reliable only if it is near 0."""

    def rate(self, pattern: str, *, skip: int) -> float:
        """Updates per second from lines with update numbers, without the first `skip` updates.

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
    """Run `command` in `folder`; after `seconds` interrupt it, and kill it if it does not stop."""
    watched = Watched()
    # A program started in the background ignores SIGINT, and its children inherit that.
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
        # Waiting with a timeout polls every 50 ms, which is too coarse for differences of short runs.
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
    # Samples miss the last moment, and the children's usage misses processes that nobody waited for.
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
    """Resident bytes of a process and its children; records the processor time of each in `own`."""
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
    """Processor time of all finished child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _busy() -> float:
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system)
