from __future__ import annotations

import errno
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing import active_children
from pathlib import Path

import pytest

from dragoman.data import processes
from dragoman.data.processes import AHEAD, map_in_processes

HOME = os.environ.setdefault("TEST_WORKER_PROCESSES_HOME", str(os.getpid()))
"""The process of the tests; the workers inherit the variable."""


SEEN = "TEST_PROCESSES_SEEN"
"""The folder in which `place_of` leaves a file for each process."""


def place_of(item: int) -> tuple[int, int]:
    """The first item waits until two processes have one: a quick process could otherwise compute all of them."""
    if SEEN in os.environ:
        folder, end = Path(os.environ[SEEN]), time.monotonic() + 100
        (folder / str(os.getpid())).touch()
        while item == 0 and len(os.listdir(folder)) < 2 and time.monotonic() < end:
            time.sleep(0.01)
    return item, os.getpid()


def die_of(item: int) -> int:
    """Item 3 kills a worker."""
    if item == 3 and os.getpid() != int(HOME):
        os.kill(os.getpid(), signal.SIGKILL)
    return 10 * item


def refuse(item: int) -> int:
    if item == 2:
        raise ValueError(f"item {item} in process {os.getpid()}")
    return item


def test_every_item_has_its_value_in_order_from_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SEEN, str(tmp_path))
    found = list(map_in_processes(place_of, iter(range(100)), 2, "count"))
    assert [item for item, _ in found] == list(range(100))
    processes = {process for _, process in found}
    assert len(processes) == 2
    assert os.getpid() not in processes


def test_no_more_is_read_ahead_than_the_processes_compute() -> None:
    read: list[int] = []

    def items() -> Iterator[int]:
        for item in range(50):
            read.append(item)
            yield item

    for done, _ in enumerate(map_in_processes(place_of, items(), 2, "count"), 1):
        assert len(read) <= done + 2 * AHEAD


def test_a_process_that_dies_is_reported_once_and_nothing_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert list(map_in_processes(die_of, [1, 2, 3, 4, 3, 5, 6], 2, "count")) == [10, 20, 30, 40, 30, 50, 60]
    assert [record.getMessage() for record in caplog.records] == [
        "the processes that count cannot go on: one ended early; this process does their work"
    ]


def test_processes_that_cannot_start_are_reported_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, started = processes._Process._Popen, list[object]()

    def fail(process: object) -> object:
        started.append(process)
        if len(started) == 2:
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
        return start(process)

    def without_semaphores(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    for place, name, failing, reason in (
        (processes._Process, "_Popen", staticmethod(fail), "Resource temporarily unavailable"),
        (processes, "ProcessPoolExecutor", without_semaphores, "Function not implemented"),
    ):
        caplog.clear()
        monkeypatch.setattr(place, name, failing)
        with caplog.at_level(logging.WARNING):
            assert list(map_in_processes(place_of, [1, 2], 2, "count")) == [(1, os.getpid()), (2, os.getpid())]
        assert [record.getMessage() for record in caplog.records] == [
            f"the processes that count cannot go on: {reason}; this process does their work"
        ]
        assert not active_children()


def test_an_error_of_the_function_is_raised_in_this_process() -> None:
    with pytest.raises(ValueError, match=f"item 2 in process {os.getpid()}"):
        list(map_in_processes(refuse, range(5), 2, "count"))


UNGUARDED = """
import os
from dragoman.data import processes
from dragoman.data.processes import map_in_processes
print("this program runs", flush=True)
print(list(map_in_processes(abs, [-1, 2], 2, "count")))
"""


def test_a_program_without_a_guard_runs_once(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(UNGUARDED)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False, timeout=100)
    assert (done.stdout, done.stderr) == ("this program runs\n[1, 2]\n", "")


ORPHANS = """
import sys, time
from multiprocessing import active_children
from dragoman.data import processes
from dragoman.data.processes import map_in_processes
values = map_in_processes(time.sleep, [0, 0, 3600, 3600, 3600], 2, "sleep")
next(values)
for child in active_children():
    print(child.pid, flush=True)
list(values)
"""


def test_processes_end_when_their_parent_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        children = [int(parent.stdout.readline()) for _ in range(2)]
        assert all(running(child) for child in children)
        parent.kill()
    until = time.monotonic() + 20
    while any(running(child) for child in children) and time.monotonic() < until:
        time.sleep(0.01)
    assert not any(running(child) for child in children)


def running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # A child that nobody waits for is a zombie.
    status = Path(f"/proc/{process}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")
