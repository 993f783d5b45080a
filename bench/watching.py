"""Runs a command for so many seconds, notes when its output lines came, and how much memory its processes took."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
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
    """(seconds since the start, line) of standard output and error together."""
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


def watch(command: Sequence[str], seconds: float, *, folder: Path, environment: Mapping[str, str]) -> Watched:
    """Run `command` in `folder`; after so many seconds interrupt it, and if that is not heard, kill it."""
    watched = Watched()
    began, busy = time.monotonic(), _busy()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    reader = threading.Thread(target=_read, args=(process, watched, began), daemon=True)
    reader.start()
    own: dict[int, float] = {}
    signals = [(seconds, signal.SIGINT), (seconds + 10, signal.SIGTERM), (seconds + 20, signal.SIGKILL)]
    try:
        while process.poll() is None:
            watched.peak_mb = max(watched.peak_mb, _resident(process.pid, own) / 2**20)
            if signals and time.monotonic() - began > signals[0][0]:
                os.killpg(process.pid, signals.pop(0)[1])
            time.sleep(0.2)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    wall = time.monotonic() - began
    reader.join(5)
    watched.others = max(0.0, (_busy() - busy - sum(own.values())) / wall)
    return watched


def _read(process: subprocess.Popen[str], watched: Watched, began: float) -> None:
    assert process.stdout is not None
    for line in process.stdout:
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


def _busy() -> float:
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system)
