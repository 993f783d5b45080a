"""One process writes to a run at a time, and a killed one is in nobody's way."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.config.schema import Config
from dragoman.errors import RunError
from dragoman.runs.new_run import NewRun
from dragoman.text.locks import LOCK, lock_beside, lock_for_writing

HOLDER = """
import sys, time
from pathlib import Path
from dragoman.text.locks import lock_beside, lock_for_writing
with lock_for_writing(Path(sys.argv[1])), lock_beside(Path(sys.argv[1]) / "run"):
    print("locked", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds the lock of `tmp_path`, and that of a run in it."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"locked\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_process_is_refused_with_the_name_of_the_first(
    holder: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    message = rf"process {holder.pid} on .+ \(since .+\) is writing to this %s; wait until it has ended"
    run = tmp_path / "run"
    with pytest.raises(RunError, match=f"^{tmp_path}: {message % 'folder'}"), lock_for_writing(tmp_path):
        pass
    for locked in (lock_beside(run, "run"), NewRun(run, Config(), overwrite=True)):
        with pytest.raises(RunError, match=f"^{run}: {message % 'run'}"), locked:
            pass
    assert sorted(os.listdir(tmp_path)) == [LOCK, ".run.dragoman.lock"]


def test_a_link_in_place_of_the_lock_file_is_not_followed(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("kept", encoding="utf-8")
    (tmp_path / ".run.dragoman.lock").symlink_to(letter)
    refused = pytest.raises(RunError, match=r"run: its lock file \.run\.dragoman\.lock cannot be created")
    with refused, lock_beside(tmp_path / "run", "run"):
        pass
    assert letter.read_text(encoding="utf-8") == "kept"


def test_where_nobody_may_write_beside_a_run_there_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def read_only(path: Path, *arguments: int) -> int:
        if Path(path).parent == tmp_path:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return opened(path, *arguments)

    monkeypatch.setattr(os, "open", read_only)
    with lock_beside(tmp_path / "run"):
        assert not os.listdir(tmp_path)
    with (
        pytest.raises(RunError, match=f"^{tmp_path}: its lock file {LOCK} cannot be created: Read-only"),
        lock_for_writing(tmp_path),
    ):
        pass


def test_the_lock_of_a_killed_process_is_free(holder: subprocess.Popen[bytes], tmp_path: Path) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / LOCK).exists()
    with lock_for_writing(tmp_path):
        assert (tmp_path / LOCK).read_text().startswith(f"process {os.getpid()} on ")
    with lock_beside(tmp_path / "run"):
        pass
    assert not os.listdir(tmp_path)


def test_the_lock_can_be_taken_again_and_leaves_no_file(tmp_path: Path) -> None:
    for _ in range(2):
        with lock_for_writing(tmp_path):
            assert os.listdir(tmp_path) == [LOCK]
        assert not os.listdir(tmp_path)


def test_two_runs_in_one_process_do_not_share_a_folder(tmp_path: Path) -> None:
    with NewRun(tmp_path / "run", Config()), pytest.raises(RunError, match=rf"process {os.getpid()} on"):
        NewRun(tmp_path / "run", Config()).__enter__()
    assert not (tmp_path / "run").exists()


def test_a_damaged_lock_file_names_nobody(holder: subprocess.Popen[bytes], tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text("process 1 on \033[2J (since 1)")
    with pytest.raises(RunError, match="another process is writing to this folder"), lock_for_writing(tmp_path):
        pass


def test_without_room_for_its_name_a_process_has_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with (
            lock_for_writing(tmp_path),
            pytest.raises(RunError, match="another process is writing to this folder"),
            lock_for_writing(tmp_path),
        ):
            pass
    assert not list(tmp_path.iterdir())


def test_a_fault_of_the_disk_while_the_lock_is_released_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    close = os.close

    def fail(descriptor: int) -> None:
        close(descriptor)
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    with lock_for_writing(tmp_path):
        monkeypatch.setattr(os, "close", fail)
    assert not os.listdir(tmp_path)
