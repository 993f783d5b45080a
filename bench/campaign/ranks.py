"""Ranks of a training under torchrun, killed or stopped at random moments; torchrun starts them again.

One torchrun with --max-restarts starts two ranks, of which one is killed after a drawn time: while Python starts, while
the ranks find each other, in an update, or while rank 0 saves its state, which it does after every update. Some are
stopped by SIGSTOP instead, as if they hung: the other rank names them after its time limit. The last training is left
to end, and its weights are compared with those of ranks that were never killed.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from campaign.materials import TINY, Text, small_text
from campaign.result import Result, Settings

KILLS = 30
"""Ranks that are killed in a run of full size."""
OF_ONE_TRAINING = 12
"""Kills of one training; then it is left to end."""
STARTING = 0.3
"""Share of the kills that come within `START` seconds of the start of the ranks; the others while they train."""
HUNG = 0.25
"""Share of those while they train that stop the rank instead."""
TIME_LIMIT = 0.5
"""How long ranks wait for each other, in minutes."""
START, TRAINING = 6.0, 2.0
"""The longest time of a kill after the ranks have been started, and after the first update of theirs, in seconds."""
STARTING_FACT, TRAINING_FACT, HUNG_FACT = "killed while starting", "killed while training", "stopped while training"
SIZE = 2
UPDATES = 300
PATIENCE = 600.0
"""Seconds without any change after which a training counts as stuck."""


def run(settings: Settings) -> list[Result]:
    """Kill ranks of trainings until there were enough."""
    result = Result(
        "ranks",
        "Ranks that are killed or stopped at random moments are started again by torchrun --max-restarts, and the "
        "training ends bit for bit like one whose ranks were never killed.",
        "kills of ranks",
    )
    result.facts.update(dict.fromkeys((STARTING_FACT, TRAINING_FACT, HUNG_FACT, "rank 0", "trainings"), 0))
    corpus = small_text(settings)
    wanted = KILLS if settings.trials is None else settings.trials
    whole = settings.scratch / "whole"
    with _torchrun(whole, corpus) as process:
        process.wait()
    expected = _weights(whole)
    draw = random.Random(settings.seed)
    while result.trials < wanted and not settings.is_over():
        run_folder = settings.scratch / f"run-{result.facts['trainings']}"
        kills = min(OF_ONE_TRAINING, wanted - result.trials)
        with _torchrun(run_folder, corpus) as process:
            killed = _kill_often(process, run_folder, kills, draw, result)
            ended = _wait(process, run_folder)
        if ended != 0 or not killed:
            output = (run_folder.parent / f"{run_folder.name}.txt").read_text(errors="replace")
            result.fail(f"torchrun ended with {ended}: {output[-2000:]}", training=result.facts["trainings"])
        elif _weights(run_folder) != expected:
            result.fail("the weights differ", training=result.facts["trainings"])
        result.facts["trainings"] += 1
        shutil.rmtree(run_folder, ignore_errors=True)
    return [result]


@contextmanager
def _torchrun(run_folder: Path, corpus: Text) -> Iterator[subprocess.Popen[bytes]]:
    """A training of `SIZE` ranks; it is ended with the block."""
    changes = [*TINY, f"training.updates={UPDATES}", "training.checkpoint_minutes=0.000001", "training.log_every=5"]
    changes += ["model.dropout.embedding=0.2", "training.validation.every=300"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(SIZE)]
    command += ["--max-restarts", "1000", "--monitor-interval", "0.1", "-m", "dragoman", "train", "--preset", "demo"]
    command += [*corpus.options, "--out", str(run_folder), "--resume"]
    command += ["--rank-timeout", str(TIME_LIMIT), "--set", *changes]
    with (run_folder.parent / f"{run_folder.name}.txt").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(60)


def _kill_often(
    process: subprocess.Popen[bytes], run_folder: Path, kills: int, draw: random.Random, result: Result
) -> int:
    """Kill a rank after each start of the ranks, until the training has ended; gives the number of kills."""
    known: set[int] = set()
    count = 0
    while count < kills:
        ranks = _new_ranks(process, known)
        if ranks is None:
            break
        before = _log_size(run_folder)
        starting = draw.random() < STARTING
        if not starting and not _log_grows(process, run_folder, before):
            break
        time.sleep(draw.uniform(0, START if starting else TRAINING))
        rank = draw.randrange(SIZE)
        hung = not starting and draw.random() < HUNG
        try:
            os.kill(ranks[rank], signal.SIGSTOP if hung else signal.SIGKILL)
        except ProcessLookupError:
            break  # the training is done
        known |= set(ranks.values())
        count += 1
        result.trials += 1
        result.facts[STARTING_FACT if starting else HUNG_FACT if hung else TRAINING_FACT] += 1
        result.facts["rank 0"] += rank == 0
    return count


def _new_ranks(process: subprocess.Popen[bytes], known: set[int]) -> dict[int, int] | None:
    """The process of each rank, once all are other ones than before; None if torchrun ends."""
    while process.poll() is None:
        found = {rank: pid for pid, rank in _children(process.pid)}
        if len(found) == SIZE and not known & set(found.values()):
            return found
        time.sleep(0.05)
    return None


def _children(parent: int) -> Iterator[tuple[int, int]]:
    """The processes that torchrun has started, and their ranks."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) != parent:
                continue
            variables = dict(entry.partition("=")[::2] for entry in (folder / "environ").read_text().split("\0"))
            if "RANK" in variables:
                yield int(folder.name), int(variables["RANK"])
        except (OSError, ValueError):
            continue  # it has ended


def _log_grows(process: subprocess.Popen[bytes], run_folder: Path, size: int) -> bool:
    """Wait until the training writes to its log; false if it ends."""
    while process.poll() is None:
        now = _log_size(run_folder)
        if now > size:
            return True
        size = min(size, now)  # a resumed training truncates it first
        time.sleep(0.02)
    return False


def _log_size(run_folder: Path) -> int:
    log = run_folder / "log.jsonl"
    return log.stat().st_size if log.exists() else 0


def _wait(process: subprocess.Popen[bytes], run_folder: Path) -> int | None:
    """Wait for the end of a training; None if it is stuck."""
    size, since = _log_size(run_folder), time.monotonic()
    while process.poll() is None and time.monotonic() - since < PATIENCE:
        time.sleep(0.1)
        now = _log_size(run_folder)
        if now != size:
            size, since = now, time.monotonic()
    return process.poll()


def _weights(run_folder: Path) -> tuple[bytes, bytes]:
    """The best weights, and the last state without the seconds that it counts."""
    from safetensors import safe_open

    with safe_open(run_folder / "checkpoints" / "latest.safetensors", framework="numpy") as state:
        tensors = b"".join(state.get_tensor(name).tobytes() for name in sorted(state.keys()) if "random" not in name)
    return (run_folder / "model.safetensors").read_bytes(), tensors
