"""What workers of Ray cost: `dragoman cluster translate` against `dragoman translate`, and the scheduler alone.

    python bench/cluster.py translate EXPORTED TEXT --scratch DIR [--lines 8000]
    python bench/cluster.py scheduler --scratch DIR [--shards 10000]

`translate` translates lines of TEXT with two `dragoman translate --threads 1` side by side, half of the lines each, and
with `dragoman cluster translate --workers 2`, half of them in each of two files; once with all lines and once with a
quarter of them. Differences between the two leave out start-up. The unit is processor seconds, so that other programs
may run; on two cores that are free the ratio of the rates is the inverse of that of the seconds. Ray's own processes
spend time by the clock, not by the line, and are stated apart. The outputs must be equal byte for byte.

`scheduler` has stand-in workers that give lines back as they are: shards of 20 lines in one file, then of 2,000 lines,
which tells the cost of a shard from that of a line; the same without Ray; and files of one shard each. Results go to
bench/results/cluster.json.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from translation import machine

from dragoman.cluster.coordinator import Coordinator
from dragoman.cluster.inputs import find_inputs
from dragoman.cluster.output_folder import open_output_folder
from dragoman.cluster.pool import Done, Pool
from dragoman.cluster.ray_pool import RayPool, connected
from dragoman.cluster.shards import Inputs
from dragoman.cluster.verbs import VERBS
from dragoman.cluster.worker import ShardResult
from dragoman.progress import Console
from dragoman.text.lines import read_lines, write_lines

RESULTS = Path(__file__).parent / "results" / "cluster.json"
WORKERS = 2
_TICKS = os.sysconf("SC_CLK_TCK")


def session_seconds(session: int, known: dict[int, tuple[str, float]]) -> None:
    """Note name and processor seconds of each process of a session; those that have ended keep theirs."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.getsid(int(entry.name)) == session:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                words = (entry / "cmdline").read_bytes().decode(errors="replace")
                name = "workers" if "Actor" in words else "commands" if "dragoman\0" in words else "ray"
                if words:
                    known[int(entry.name)] = name, (int(fields[11]) + int(fields[12])) / _TICKS
        except (OSError, IndexError):
            continue


def run_commands(commands: Sequence[Sequence[str]]) -> dict[str, float]:
    """Run commands side by side: seconds by the clock, and of the processor for them, their workers and Ray itself."""
    began = time.monotonic()
    running = [subprocess.Popen(words, start_new_session=True, stderr=subprocess.DEVNULL) for words in commands]
    known: dict[int, tuple[str, float]] = {}
    while any(each.poll() is None for each in running):
        for each in running:
            session_seconds(each.pid, known)
        time.sleep(0.1)
    if any(each.returncode for each in running):
        sys.exit(f"failed: {commands}")
    kinds = ("commands", "workers", "ray")
    seconds = {kind: sum(taken for name, taken in known.values() if name == kind) for kind in kinds}
    return {name: round(taken, 2) for name, taken in {"wall": time.monotonic() - began, **seconds}.items()}


def measure_translate(options: argparse.Namespace) -> dict[str, Any]:
    """Processor seconds of translating the same lines in both ways."""
    lines = list(islice(read_lines(options.text), options.lines))
    found: dict[str, Any] = {"lines": len(lines), "workers": WORKERS}
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        for part, count in (("quarter", len(lines) // 4), ("all", len(lines))):
            folder = Path(scratch, part)
            folder.mkdir()
            halves = [folder / "a", folder / "b"]
            for number, half in enumerate(halves):
                write_lines(half, lines[number * count // 2 : (number + 1) * count // 2])
            dragoman = [sys.executable, "-m", "dragoman"]
            alone = [
                [*dragoman, "translate", options.model, "-i", str(half), "-o", f"{half}.alone", "--threads", "1"]
                for half in halves
            ]
            many = [*dragoman, "cluster", "translate", options.model, "--input", *map(str, halves)]
            found[part] = {
                "translate": run_commands(alone),
                "cluster": run_commands([[*many, "--output", f"{folder}/out", "--workers", str(WORKERS)]]),
            }
            for half in halves:
                if Path(f"{half}.alone").read_bytes() != (folder / "out" / half.name).read_bytes():
                    sys.exit(f"{half}: the outputs differ")
            print(part, found[part], flush=True)
    more = len(lines) - len(lines) // 4
    spent = {
        name: {kind: found["all"][name][kind] - found["quarter"][name][kind] for kind in found["all"][name]}
        for name in ("translate", "cluster")
    }
    alone, many = spent["translate"]["commands"], spent["cluster"]
    return found | {
        "lines_per_processor_second": {
            "translate": round(more / alone, 1),
            "workers": round(more / many["workers"], 1),
            "workers_and_command": round(more / (many["workers"] + many["commands"]), 1),
        },
        "cluster_to_translate": round(alone / (many["workers"] + many["commands"]), 3),
        "seconds_of_ray_per_wall_second": round(many["ray"] / many["wall"], 4),
    }


class Echo:
    """A worker that gives lines back as they are."""

    def __call__(self, values: Sequence[str]) -> ShardResult:
        return ShardResult([[value] for value in values])


class NoPool:
    """One worker, in this process."""

    def __init__(self) -> None:
        self._done: list[Done] = []

    def workers(self) -> int:
        return 1

    def has_room(self) -> bool:
        return len(self._done) < WORKERS * 2

    def submit(self, task: int, values: Sequence[Any]) -> None:
        self._done.append(Done(task, Echo()(values)))

    def wait(self, seconds: float) -> list[Done]:
        done, self._done = self._done, []
        return done


def measure_scheduler(options: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds a shard, of the driver's processor and by the clock."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        text = "an invented sentence of about the usual number of words and letters, number {}"
        for name, files, shards, size in (
            ("one_file_of_small_shards", 1, options.shards, 20),
            ("one_file_of_usual_shards", 1, options.shards // 20, 2000),
            ("files_of_one_shard", options.shards // 10, 1, 20),
        ):
            folder = Path(scratch, name)
            folder.mkdir()
            for number in range(files):
                write_lines(folder / f"{number}", map(text.format, range(shards * size)))
            with connected(None, WORKERS) as workers:
                pool = RayPool(Echo, workers)
                while not pool.workers():
                    pool.wait(1)
                found[name] = measure_run(folder, pool, files * shards, size)
            found[f"{name}_without_ray"] = measure_run(folder, NoPool(), files * shards, size)
            print(name, found[name], found[f"{name}_without_ray"], flush=True)
    return found


def measure_run(folder: Path, pool: Pool, shards: int, size: int) -> dict[str, float]:
    """Give all files of a folder to a pool."""
    verb = replace(VERBS["translate"], weight=lambda line: 1, max_weight=size)
    inputs = [Inputs([file]) for file in find_inputs([f"{folder}/*"])]
    identity = {"verb": "translate", "models": {}, "options": {}, "version": "0"}
    began, used = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
    with (
        tempfile.TemporaryDirectory(dir=folder.parent) as out,
        open_output_folder(Path(out), identity, [one.name for one in inputs]) as output,
    ):
        Coordinator(verb, pool, output, Console(quiet=True)).run(inputs)
    now = resource.getrusage(resource.RUSAGE_SELF)
    processor = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return {
        "shards": shards,
        "lines_of_a_shard": size,
        "driver_processor_ms_a_shard": round(1000 * processor / shards, 3),
        "wall_ms_a_shard": round(1000 * (time.monotonic() - began) / shards, 3),
        "driver_peak_mb": round(now.ru_maxrss / 1024),
    }


def main() -> None:
    """Measure, and write the results beside those that are there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    stages = parser.add_subparsers(dest="stage", required=True)
    translate = stages.add_parser("translate")
    translate.add_argument("model")
    translate.add_argument("text", type=Path)
    translate.add_argument("--lines", type=int, default=8000)
    scheduler = stages.add_parser("scheduler")
    scheduler.add_argument("--shards", type=int, default=10_000)
    for stage in (translate, scheduler):
        stage.add_argument("--scratch", type=Path, required=True)
    options = parser.parse_args()
    measures: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
        "translate": measure_translate,
        "scheduler": measure_scheduler,
    }
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    results |= {"machine": machine(), options.stage: measures[options.stage](options)}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
