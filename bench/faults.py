"""Seeded faults: is each of the mistakes in bench/faults.toml caught by a test?

    python bench/faults.py --as after
    python bench/faults.py --faults OLD.toml --checkout OLD --as before

Every fault replaces one piece of text in a copy of the checkout; then the tests that should fail are run there, up to
the first failure. Before that, the same tests have to pass without a fault. Results go to bench/results/faults.json,
under the name given by `--as`. The exit code is 1 if a fault was not caught.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results" / "faults.json"
TIMEOUT = 600
"""Seconds; a fault may keep a search from ending."""


@dataclass(frozen=True)
class Fault:
    """A replacement in one source file, and the tests of which one must fail.

    `find` occurs exactly once in `file`; `tests` are files or folders.
    """

    name: str
    file: str
    find: str
    replace: str
    tests: list[str]


@dataclass(frozen=True)
class Outcome:
    """`failed` is the first test that failed, None if all passed."""

    failed: str | None
    seconds: float


def main() -> None:
    """Test every fault; print and write."""
    options = parse()
    faults = load_faults(options.faults, options.checkout)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        scratch = Path(folder)
        unchanged = run_tests(copy_checkout(options.checkout, scratch / "unchanged"), all_tests(faults), options.jobs)
        if unchanged.failed is not None:
            sys.exit(f"without a fault: {unchanged.failed} fails")

        def apply_and_run(numbered: tuple[int, Fault]) -> Outcome:
            number, fault = numbered
            return run_with_fault(fault, options.checkout, scratch / str(number))

        outcomes = []
        for fault, outcome in zip(faults, pool.map(apply_and_run, enumerate(faults)), strict=True):
            outcomes.append(outcome)
            print(
                f"{'NOT CAUGHT' if outcome.failed is None else 'caught':<11}{fault.name}: {outcome.failed}", flush=True
            )
    missed = sum(outcome.failed is None for outcome in outcomes)
    print(f"{len(faults) - missed} of {len(faults)} faults caught")
    save_results(options.label, faults, outcomes)
    sys.exit(1 if missed else 0)


def parse() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=Path, default=ROOT / "bench" / "faults.toml", help="the list of faults")
    parser.add_argument("--checkout", type=Path, default=ROOT, help="the source tree with its tests")
    parser.add_argument("--as", dest="label", required=True, metavar="NAME", help="the key of the results")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="faults that are tested at once")
    return parser.parse_args()


def load_faults(path: Path, checkout: Path) -> list[Fault]:
    """The list, after checking that every fault can be applied."""
    with path.open("rb") as file:
        faults = [Fault(**entry) for entry in tomllib.load(file)["fault"]]
    for fault in faults:
        count = (checkout / fault.file).read_text(encoding="utf-8").count(fault.find)
        if count != 1:
            sys.exit(f"{fault.name}: {fault.find!r} occurs {count} times in {fault.file}; it must occur once")
        for name in fault.tests:
            if not (checkout / name).exists():
                sys.exit(f"{fault.name}: there is no {name}")
    return faults


def all_tests(faults: list[Fault]) -> list[str]:
    """Every file or folder of tests that the list names."""
    return sorted({name for fault in faults for name in fault.tests})


def copy_checkout(checkout: Path, folder: Path) -> Path:
    """A copy without what git does not track; the real data beside the checkout can be found from it too."""
    ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "demo-run")
    copy = Path(shutil.copytree(checkout, folder / "checkout", ignore=ignored))
    if (checkout.resolve().parent / "shared").is_dir():
        (folder / "shared").symlink_to(checkout.resolve().parent / "shared")
    return copy


def run_with_fault(fault: Fault, checkout: Path, folder: Path) -> Outcome:
    """Run the tests of a fault in a copy that has it."""
    copy = copy_checkout(checkout, folder)
    path = copy / fault.file
    path.write_text(path.read_text(encoding="utf-8").replace(fault.find, fault.replace), encoding="utf-8")
    try:
        return run_tests(copy, fault.tests)
    finally:
        shutil.rmtree(folder)


def run_tests(checkout: Path, tests: list[str], processes: int = 0) -> Outcome:
    """Run tests up to the first failure.

    Raises:
        RuntimeError: the tests could not be run at all, for example because the fault is not valid Python.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-rf", "--tb=no", "-p", "no:cacheprovider", *tests]
    if processes:
        command += ["-n", str(processes)]
    # before the installed package on the path
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
    started = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=checkout, env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT
        )
    except subprocess.TimeoutExpired:
        return Outcome(f"timed out after {TIMEOUT} s", float(TIMEOUT))
    seconds = round(time.monotonic() - started, 1)
    if done.returncode == 0:
        return Outcome(None, seconds)
    failed = re.search(r"^(?:FAILED|ERROR) (tests/\S+?::\w+)", done.stdout, re.MULTILINE)
    if done.returncode != 1 or failed is None:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    return Outcome(failed[1], seconds)


def save_results(label: str, faults: list[Fault], outcomes: list[Outcome]) -> None:
    """Write the results beside those under other names."""
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    results[label] = {
        "faults": len(faults),
        "caught": sum(outcome.failed is not None for outcome in outcomes),
        "first_failure": {fault.name: outcome.failed for fault, outcome in zip(faults, outcomes, strict=True)},
    }
    RESULTS.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
