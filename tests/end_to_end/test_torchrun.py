"""What a user of torchrun can get wrong: one clear message, exit code 2 of every rank, and no process left.

And what stops a training: a signal to torchrun, a rank that hangs.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

import dragoman
from dragoman.cli.main import main
from dragoman.training.log import read_log
from tests.training.rank_process import free_port

from .conftest import SMALL, Corpus

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc to find processes"),
]

MARK = "DRAGOMAN_TEST_MARK"
BRIEF = ("training.updates=4", "training.validation.metric=perplexity")
TWO_RANKS = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--no-python"]
CHANGING = """
import os, sys
from dragoman.cli.main import main
from dragoman.workflows import training_text
train_segmentation = training_text.train_segmentation
def then_change(side, lines, **options):
    found = train_segmentation(side, lines, **options)
    if os.environ["CHANGE"] == "unlink":
        os.unlink("train.low")
    else:
        with open("train.low", "a") as file:
            file.write("more\\n")
    return found
training_text.train_segmentation = then_change
sys.exit(main(sys.argv[1:]))
"""
"""Trains on text that changes between its two readings, or disappears."""


def marked(mark: str) -> list[str]:
    """The command lines of the processes that have this mark in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"{MARK}={mark}\0".encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


class Started:
    """Commands that were started together, and what they said."""

    def __init__(self, commands: list[list[str]], folder: Path, environments: list[dict[str, str]]) -> None:
        mark = uuid.uuid4().hex
        running = [
            subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, "OMP_NUM_THREADS": "1", **environment, MARK: mark},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for command, environment in zip(commands, environments, strict=True)
        ]
        try:
            self._require_marks_are_seen(mark, running)
        except BaseException:
            for process in running:
                process.kill()
                process.communicate()
            raise
        self.said = "".join(process.communicate(timeout=120)[0] for process in running)
        self.codes = [process.returncode for process in running]
        deadline = time.monotonic() + 5  # a process that has ended is in /proc until its parent has noticed
        while marked(mark) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.left = marked(mark)

    @staticmethod
    def _require_marks_are_seen(mark: str, running: list[subprocess.Popen[str]]) -> None:
        """Without this a mark that is never seen would look like no process left.

        ``Popen`` returns while the kernel still replaces the program, whose environment reads as empty until then.
        """
        deadline = time.monotonic() + 10
        while len(marked(mark)) < len(running):
            assert time.monotonic() < deadline, "the processes started have no mark in /proc"
            time.sleep(0.01)


def require_refused(started: Started, message: str) -> None:
    assert started.left == []
    (said,) = (line for line in started.said.splitlines() if line.startswith("dragoman:"))
    assert re.search(message, said)


@pytest.fixture
def folder(corpus: Corpus, tmp_path: Path) -> Path:
    for path in (*corpus.train, *corpus.dev):
        shutil.copy(path, tmp_path)
    return tmp_path


TEXT = "--train train.low train.up --dev dev.low dev.up"
WORDS = f"train --preset demo {TEXT} --out RUN --threads 1 --set {' '.join((*SMALL, *BRIEF))}"
DRAGOMAN = f"exec {sys.executable} -m dragoman"
_CHANGED = f"export CHANGE={{}}; exec {sys.executable} -c '{CHANGING}' {WORDS}"


def _other_outputs(folder: Path) -> None:
    (folder / "RUN").mkdir()
    (folder / "RUN" / "config.yaml").write_text("years: of work\n")


def _two_texts(folder: Path) -> None:
    """A run in two folders, 0 and 1, on different text."""
    for rank, lines in enumerate((300, 200)):
        (folder / str(rank)).mkdir()
        for name in ("train.low", "train.up", "dev.low", "dev.up"):
            text = (folder / name).read_text().splitlines(keepends=True)
            (folder / str(rank) / name).write_text("".join(text[:lines]))
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder / str(rank))
            assert main([*WORDS.split(), "--quiet"]) == 0


def _two_versions(folder: Path) -> None:
    """A copy of dragoman in version/ that differs in a comment."""
    copy = folder / "version" / "dragoman"
    shutil.copytree(Path(dragoman.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "training" / "updater.py").open("a") as file:
        file.write("# later\n")


def _nothing(folder: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("before", "script", "message"),
    [
        (_nothing, f"{DRAGOMAN} {WORDS.replace('train.up', 'trian.up')}", "trian.up: does not exist; did you mean"),
        (_other_outputs, f"{DRAGOMAN} {WORDS}", "RUN: contains config.yaml but no valid run.json"),
        (
            _nothing,
            f"{DRAGOMAN} {WORDS} training.epochs=$((1 + RANK))",
            "the option set is .*epochs=2.* here and .*epochs=1.* on rank 0; start all ranks with the same command",
        ),
        (_nothing, _CHANGED.format("append"), "train.low: has changed while it was read"),
        (_nothing, _CHANGED.format("unlink"), "train.low: has disappeared while it was read; put it back"),
        (
            _two_versions,
            f"[ $RANK = 0 ] || export PYTHONPATH=$PWD/version; {DRAGOMAN} {WORDS}",
            r"dragoman \(SHA-256 of its files\) is \w+ here and \w+ on rank 0; install the same versions",
        ),
        (_two_texts, f"cd $RANK && {DRAGOMAN} train --out RUN --resume --updates 8", r"the stored text .* is \w+"),
    ],
    ids=[
        "a file that is missing",
        "other files in the folder",
        "other settings",
        "text that changes",
        "text that disappears",
        "other code",
        "other text",
    ],
)
def test_a_mistake_under_torchrun_is_told_once_and_leaves_no_process(
    folder: Path, before: Callable[[Path], object], script: str, message: str
) -> None:
    before(folder)
    command = [*TWO_RANKS, "--master-port", str(free_port()), "sh", "-c", script]
    started = Started([command], folder, [{}])
    assert started.codes == [1]  # torchrun's own
    # It ends the others when the first one has ended, unless they have by then.
    assert re.search(r"Root Cause .*exitcode +: 2 ", started.said, re.DOTALL), started.said
    require_refused(started, message)
    if before is _other_outputs:
        assert (folder / "RUN" / "config.yaml").read_text() == "years: of work\n"


def test_a_port_in_use_and_an_address_where_nobody_listens_are_told_by_the_rank_that_meets_them(folder: Path) -> None:
    """Without torchrun: it opens the port itself, and tells of both in its own words."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        ports = [other.getsockname()[1], free_port()]
        environments = [
            {
                "RANK": str(rank),
                "LOCAL_RANK": "0",
                "WORLD_SIZE": "2",
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
            }
            for rank, port in enumerate(ports)
        ]
        command = [sys.executable, "-m", "dragoman", *WORDS.split(), "--rank-timeout", "0.02"]
        started = Started([command] * 2, folder, environments)
    assert started.codes == [2, 2]
    assert started.left == []
    first, second = (line for line in started.said.splitlines() if line.startswith("dragoman:"))
    assert f"MASTER_PORT {ports[0]}: rank 0 cannot listen there (address already in use)" in first
    assert f"MASTER_PORT {ports[1]}: no rank 0 answers there (Connection refused)" in second
    assert not (folder / "RUN").exists()


CODES = """
import os, sys
from pathlib import Path
from dragoman.cli.main import main
code = main(sys.argv[1:])
Path(f"code-{os.environ['RANK']}").write_text(str(code))
sys.exit(code)
"""
"""Trains, and writes the exit code of each rank to a file: torchrun has one of its own."""
LONG = "training.validation.at_least=0 training.validation.every=1000000 training.log_every=1"


def wait_for_updates(run: Path, count: int, process: subprocess.Popen[str]) -> None:
    """Wait until the log of a run that is being trained has so many records of updates."""
    deadline = time.monotonic() + 300
    while not (run / "log.jsonl").exists() or (run / "log.jsonl").read_text().count('"train"') < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_signal_to_torchrun_saves_once_and_ends_all_ranks(folder: Path) -> None:
    words = [*WORDS.split(), *LONG.split(), "training.updates=1000000"]
    command = [*TWO_RANKS, "--master-port", str(free_port()), sys.executable, "-c", CODES, *words]
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", MARK: mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    wait_for_updates(folder / "RUN", 5, process)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=120)
    assert marked(mark) == []
    assert [(folder / f"code-{rank}").read_text() for rank in range(2)] == ["130", "130"]
    [line] = re.findall(r"dragoman: SIGTERM: state saved after update (\d+); --resume continues from there", said)
    records = [record["update"] for record in read_log(folder / "RUN" / "log.jsonl") if record["kind"] == "train"]
    assert records == list(range(1, int(line) + 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["train", "--out", "RUN", "--resume", "--updates", str(int(line) + 2), "--quiet"]) == 0
    assert read_log(folder / "RUN" / "log.jsonl")[-1]["update"] == int(line) + 2
