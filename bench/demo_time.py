"""Seconds that `make demo` takes from a fresh clone: installation, with an empty download cache, and the run apart.

    python bench/demo_time.py

Clones the committed state of this checkout into a temporary folder, as often as `--repeats` says, and prints and
writes the medians to bench/results/demo-time.json. Needs only Python, git and make; let nothing else run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results" / "demo-time.json"


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="fresh clones (default: 3)")
    repeats = parser.parse_args().repeats
    times = [measure_once() for _ in range(repeats)]
    result: dict[str, Any] = {
        "installer": "uv" if shutil.which("uv") else "pip",
        "processors": os.cpu_count(),
        "commit": output_of("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"),
    }
    for part in ("installation", "run", "total"):
        seconds = [round(one[part], 1) for one in times]
        result[part] = {"median_seconds": statistics.median(seconds), "seconds": seconds}
        print(f"{part:<13}{statistics.median(seconds):6.1f} s   of {', '.join(map(str, seconds))}")
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def measure_once() -> dict[str, float]:
    """Seconds of installation, run and both, in a clone that is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        output_of("git", "clone", "--quiet", str(ROOT), str(clone))
        caches = {"PIP_CACHE_DIR": f"{folder}/pip", "UV_CACHE_DIR": f"{folder}/uv"}
        environment = {**os.environ, **caches}
        began = time.monotonic()
        for target in (".venv/train", "demo"):
            subprocess.run(["make", target], cwd=clone, env=environment, check=True, capture_output=True)
            if target == ".venv/train":
                installed = time.monotonic()
        ended = time.monotonic()
    return {"installation": installed - began, "run": ended - installed, "total": ended - began}


def output_of(*command: str) -> str:
    """The standard output of a command, stripped."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
