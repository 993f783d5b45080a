from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.data.worker_processes import AHEAD, WorkerProcesses

HOME = os.environ.setdefault("TEST_WORKER_PROCESSES_HOME", str(os.getpid()))
"""The process of the tests; the workers inherit the variable."""


def place(item: int) -> tuple[int, int]:
    return item, os.getpid()


def die_of(item: int) -> int:
    """Item 3 kills a worker, and every worker whose standard output it could disturb prints."""
    print("not a message", flush=True)
    if item == 3 and os.getpid() != int(HOME):
        os.kill(os.getpid(), signal.SIGKILL)
    return 10 * item


def refuse(item: int) -> int:
    if item == 2:
        raise ValueError(f"item {item} in process {os.getpid()}")
    return item


def test_every_item_has_its_value_in_order_from_all_processes() -> None:
    with WorkerProcesses(place, 2, "count") as workers:
        found = list(workers.wait().map(iter(range(100))))
    assert [(item, value[0]) for item, value in found] == [(item, item) for item in range(100)]
    processes = {value[1] for _, value in found}
    assert len(processes) == 2
    assert os.getpid() not in processes


def test_this_process_computes_until_another_is_ready() -> None:
    with WorkerProcesses(place, 1, "count") as workers:
        found = workers.map(iter(range(100)))
        assert next(found) == (0, (0, os.getpid()))
        workers.wait()
        assert {value[1] for _, value in found} & {os.getpid()} == set()


def test_no_more_is_read_ahead_than_the_processes_compute() -> None:
    read: list[int] = []

    def items() -> Iterator[int]:
        for item in range(50):
            read.append(item)
            yield item

    with WorkerProcesses(place, 2, "count") as workers:
        for done, _ in enumerate(workers.wait().map(items()), 1):
            assert len(read) <= done + 2 * AHEAD


def test_a_process_that_dies_is_reported_once_and_nothing_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), WorkerProcesses(die_of, 2, "count") as workers:
        assert list(workers.wait().map([1, 2, 3, 4, 3, 5, 6])) == [(item, 10 * item) for item in (1, 2, 3, 4, 3, 5, 6)]
    assert [record.getMessage() for record in caplog.records] == [
        "one of the processes that count ended early (SIGKILL); this process and the others do its work"
    ]


def test_processes_that_cannot_start_are_reported_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with caplog.at_level(logging.WARNING), WorkerProcesses(place, 2, "count") as workers:
        assert list(workers.wait().map([1, 2])) == [(item, (item, os.getpid())) for item in (1, 2)]
    assert [record.getMessage() for record in caplog.records] == [
        "one of the processes that count could not be started: No such file or directory; this process and the others "
        "do its work"
    ]


def test_an_error_of_the_function_is_raised_in_this_process() -> None:
    with (
        pytest.raises(ValueError, match=f"item 2 in process {os.getpid()}"),
        WorkerProcesses(refuse, 2, "count") as workers,
    ):
        list(workers.wait().map(range(5)))


ORPHANS = """
import sys, time
from dragoman.data.worker_processes import WorkerProcesses
workers = WorkerProcesses(time.sleep, 2, "sleep").wait()
for worker in workers._workers:
    print(worker._process.pid, flush=True)
next(workers.map([3600, 3600, 3600, 3600]))
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
