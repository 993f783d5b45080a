"""The campaign: kills, faults of the disk, fuzzed text and damaged files against every command, with trials counted.

    python bench/chaos.py kills                    # one part at full size
    python bench/chaos.py all                      # all of them; takes hours on one core
    python bench/chaos.py slice --seconds 60       # some trials of every part

Parts: `kills` (a process killed at every write point), `power-loss` (states of the disk after a power failure), `disk`
(a full or faulty disk at every write point), `text` (fuzzed lines through every engine), `files` (altered files),
`options` (random command lines).

Every trial is drawn from `--seed`. Results go to bench/results/chaos-NAME.json; a failure lists what repeats it.
docs/lab-book/2026-11-reliability.md has the table. The exit code is 1 if a promise was broken.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # before any library is loaded: forked children have no thread pool

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]  # the code of this checkout, and the models of its tests

from campaign import interposer  # noqa: E402
from campaign.children import import_commands  # noqa: E402
from campaign.materials import small_export  # noqa: E402
from campaign.result import LISTED, Result, Settings  # noqa: E402

RESULTS = ROOT / "bench" / "results"
PARTS = ("kills", "power-loss", "disk", "text", "files", "options")
"""Modules with a function `run(settings) -> list[Result]`, in the order in which `all` and `slice` run them."""


def main() -> None:
    """Run the parts, print every promise and write the results."""
    options = parse()
    names = PARTS if options.part in ("all", "slice") else (options.part,)
    interposer.load()
    import_commands()
    print(f"seed {options.seed}", flush=True)
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="chaos-", dir=options.scratch) as folder:
        shared = Path(folder) / "shared"
        shared.mkdir()
        small_export(Settings(shared, shared))  # before the time of the parts begins, which all use it
        started = time.monotonic()
        for number, name in enumerate(names):
            scratch = Path(folder) / name
            scratch.mkdir()
            left = None if options.seconds is None else options.seconds - (time.monotonic() - started)
            seconds = None if left is None else max(left / (len(names) - number), 0.1)
            part = importlib.import_module(f"campaign.{name.replace('-', '_')}")
            found = part.run(Settings(scratch, shared, options.seed, options.trials, seconds))
            for result in found:
                print(f"{result.part}: {result.promise}")
                print(f"    {result.trials:,} {result.unit}, {len(result.failures)} failures", flush=True)
            results += found
    out = options.out or (None if options.part == "slice" else RESULTS / f"chaos-{options.part}.json")
    if out is not None:
        save(out, results, options.seed, time.monotonic() - started)
    sys.exit(1 if any(result.failures for result in results) else 0)


def parse() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=(*PARTS, "all", "slice"), metavar="PART")
    parser.add_argument("--seed", type=int, default=1, help="draws the trials (default: %(default)s)")
    parser.add_argument("--trials", type=int, help="trials for each promise (default: the full size of the part)")
    parser.add_argument("--seconds", type=float, help="stop when the time is over (default of slice: 60)")
    parser.add_argument("--scratch", type=Path, help="folder for temporary files (default: that of the system)")
    parser.add_argument(
        "--out", type=Path, help="file for the results (default: bench/results/chaos-PART.json; none for slice)"
    )
    options = parser.parse_args()
    if options.part == "slice" and options.seconds is None:
        options.seconds = 60
    return options


def save(path: Path, results: Sequence[Result], seed: int, seconds: float) -> None:
    """Write the results with the command, the commit and the machine."""
    from dragoman.report.facts import machine_name

    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    promises = []
    for result in results:
        failures = [asdict(failure) for failure in result.failures[:LISTED]]
        promises.append({**asdict(result), "failed": len(result.failures), "failures": failures})
    contents = {
        "command": f"python bench/chaos.py {' '.join(sys.argv[1:])}",
        "seed": seed,
        "commit": subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip(),
        "machine": machine_name(),
        "seconds": round(seconds),
        "promises": promises,
    }
    path.write_text(json.dumps(contents, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
