"""The campaign: kills, faults of the disk, fuzzed text and damaged files against every command, with trials counted.

    python bench/chaos.py kills                    # one part at full size
    python bench/chaos.py all                      # all of them; takes hours on one core
    python bench/chaos.py slice --seconds 60       # some trials of every part

Parts: `kills` (a process killed at every write point), `calls` (whether strace sees no other write points), `chains`
(trainings stopped again and again at random moments), `power-loss` (states of the disk after a power failure), `disk`
(a full or faulty disk at every write point), `text` (fuzzed lines through every engine), `files` (altered files),
`options` (random command lines), `processes` (two processes on one folder), `stream` (a long stream with memory
measured along the way), `ranks` (processes of one training, killed under torchrun; not in the slice).

Every trial is drawn from `--seed`. Results go to bench/results/chaos-NAME.json; a failure lists what repeats it.
docs/lab-book/2026-11-reliability.md has the table. The exit code is 1 if a promise was broken.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before any library is loaded: forked children have no thread pool

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]  # the code of this checkout, and the models of its tests

from campaign import interposer  # noqa: E402
from campaign.children import import_commands  # noqa: E402
from campaign.result import LISTED, Result, Settings  # noqa: E402

RESULTS = ROOT / "bench" / "results"
NAMES = ("calls", "kills", "chains", "power-loss", "disk", "text", "files", "options", "processes", "stream", "ranks")
PARTS = {name: f"campaign.{name.replace('-', '_')}" for name in NAMES}
"""Modules with a function `run(settings) -> list[Result]`, in the order in which `all` and `slice` run them."""


def main() -> None:
    """Run the parts, print every promise and write the results."""
    options = parse()
    names = available() if options.part in ("all", "slice") else [options.part]
    if options.part == "slice":
        names.remove("ranks")  # starting ranks takes seconds each time
    interposer.load()
    import_commands()
    print(f"seed {options.seed}", flush=True)
    started = time.monotonic()
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="chaos-", dir=options.scratch) as folder:
        shared = Path(folder) / "shared"
        shared.mkdir()
        for number, name in enumerate(names):
            scratch = Path(folder) / name
            scratch.mkdir()
            left = None if options.seconds is None else options.seconds - (time.monotonic() - started)
            seconds = None if left is None else max(left / (len(names) - number), 0.1)
            found = importlib.import_module(PARTS[name]).run(
                Settings(scratch, shared, options.seed, options.trials, seconds)
            )
            for result in found:
                print_result(result)
            results += found
    out = options.out or (None if options.part == "slice" else RESULTS / f"chaos-{options.part}.json")
    if out is not None:
        save(out, results, options.seed, time.monotonic() - started)
    sys.exit(1 if any(result.failures for result in results) else 0)


def parse() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
    for name in [*available(), "all", "slice"]:
        part = parts.add_parser(name)
        part.add_argument("--seed", type=int, default=1, help="draws the trials (default: %(default)s)")
        part.add_argument("--trials", type=int, help="trials for each promise (default: the full size of the part)")
        part.add_argument(
            "--seconds",
            type=float,
            default=60 if name == "slice" else None,
            help="stop when the time is over" + (" (default: %(default)s)" if name == "slice" else ""),
        )
        part.add_argument("--scratch", type=Path, help="folder for temporary files (default: that of the system)")
        where = "none" if name == "slice" else f"bench/results/chaos-{name}.json"
        part.add_argument("--out", type=Path, help=f"file for the results (default: {where})")
    return parser.parse_args()


def available() -> list[str]:
    """The names of the parts whose modules exist."""
    return [name for name, module in PARTS.items() if importlib.util.find_spec(module)]


def print_result(result: Result) -> None:
    """Print the counts of a promise."""
    print(f"{result.part}: {result.promise}", flush=True)
    print(f"    {result.trials:,} {result.unit}, {len(result.failures)} failures", flush=True)


def save(path: Path, results: Sequence[Result], seed: int, seconds: float) -> None:
    """Write the results with the command, the commit and the machine."""
    from dragoman.report.facts import machine_name

    contents: dict[str, Any] = {
        "command": f"python bench/chaos.py {' '.join(sys.argv[1:])}",
        "seed": seed,
        "commit": commit(),
        "machine": machine_name(),
        "seconds": round(seconds),
        "promises": [
            {**asdict(result), "failed": len(result.failures), "failures": _listed(result)} for result in results
        ],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(contents, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _listed(result: Result) -> list[dict[str, Any]]:
    return [asdict(failure) for failure in result.failures[:LISTED]]


def commit() -> str:
    """The commit of this checkout; "(changed)" if tracked files differ from it."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False
        ).stdout.strip()

    changed = " (changed)" if git("status", "--porcelain", "--untracked-files=no") else ""
    return git("rev-parse", "--short", "HEAD") + changed


if __name__ == "__main__":
    main()
