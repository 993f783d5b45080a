"""Quality of training with bfloat16 matrix products: the preset `standard` in both precisions, same seeds and epochs.

    python bench/precision.py ../shared/data/multi30k-en-de-cs --scratch DIR

Models of Multi30k English-German are scaled down by `--scale`; BLEU is that of test_2016_flickr with beam 5. Two runs
with the same seed have the same batches and initial weights, so that they differ in precision only. Training is limited
by epochs, not by time, so that other programs may run; `--jobs` trainings run in parallel, one thread each. Results go
to bench/results/precision.json after each run; existing results of the same command are kept.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

import sacrebleu
from peers import PYTHONPATH_OF_DRAGOMAN

from dragoman.report.facts import machine_name
from dragoman.runs.opening import open_run
from dragoman.text.lines import read_lines
from dragoman.training.log import read_log

RESULTS = Path(__file__).parent / "results" / "precision.json"
TEST = "test_2016_flickr"
BEAM = 5
PRECISIONS = ("fp32", "bf16")


def main() -> None:
    """Train the missing runs, and print and write the results."""
    options = parse()
    result = load(options)
    wanted = [
        (seed, precision)
        for seed, precision in itertools.product(options.seeds, PRECISIONS)
        if precision not in result["runs"].get(str(seed), {})
    ]
    with ThreadPoolExecutor(options.jobs) as jobs:
        trained = jobs.map(lambda run: train(options, *run), wanted)
        for (seed, precision), run in zip(wanted, trained, strict=True):
            result["runs"].setdefault(str(seed), {})[precision] = measure(run, options.data)
            RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(table(result["runs"]))


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, help="folder of Multi30k")
    parser.add_argument("--scratch", type=Path, required=True, help="folder for the runs")
    parser.add_argument("--scale", type=float, default=0.25)
    parser.add_argument("--epochs", type=float, default=6)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def load(options: argparse.Namespace) -> dict[str, Any]:
    """The existing results of the same options, or an empty record."""
    how = {"scale": options.scale, "epochs": options.epochs}
    if RESULTS.exists():
        result: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
        if result["how"] == how:
            return result
    values = f"--scale {options.scale:g} --epochs {options.epochs:g}"
    return {
        "command": f"python bench/precision.py DATA --scratch DIR {values}",
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine_name(),
        "how": how,
        "runs": {},
    }


def train(options: argparse.Namespace, seed: int, precision: str) -> Path:
    """Train one run and return its folder."""
    out: Path = options.scratch / f"{precision}.{seed}"
    files = {
        part: [str(options.data / f"{part}.{language}.gz") for language in ("en", "de")] for part in ("train", "val")
    }
    command = [
        *(sys.executable, "-m", "dragoman", "train", "--preset", "standard", "--scale", f"{options.scale:g}"),
        *("--train", *files["train"], "--dev", *files["val"], "--out", str(out), "--overwrite", "--quiet"),
        *("--threads", "1", "--set", "text.source.language=en", "text.target.language=de"),
        *(f"training.epochs={options.epochs:g}", f"training.seed={seed}", f"training.precision={precision}"),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": PYTHONPATH_OF_DRAGOMAN}
    subprocess.run(command, check=True, env=environment)
    return out


def measure(folder: Path, data: Path) -> dict[str, float]:
    """BLEU on the test set, and the perplexity of the dev set after the last epoch."""
    run = open_run(folder)
    search = run.config.search.replaced(beam=BEAM)
    found = [best.text for best, *_ in run.translator(search).translate_lines(read_lines(data / f"{TEST}.en.gz"))]
    log = read_log(run.folder.log)
    return {
        "bleu": sacrebleu.corpus_bleu(found, [list(read_lines(data / f"{TEST}.de.gz"))]).score,
        "dev_perplexity": [record for record in log if record["kind"] == "validation"][-1]["perplexity"],
        "seconds": log[-1]["seconds"],
    }


def table(runs: dict[str, dict[str, dict[str, float]]]) -> str:
    """A Markdown table with a row for each seed and one of means."""
    heads = [f"{figure}, {precision}" for figure in ("BLEU", "dev perplexity") for precision in PRECISIONS]
    rows = {
        seed: [run[precision][figure] for figure in ("bleu", "dev_perplexity") for precision in PRECISIONS]
        for seed, run in runs.items()
    }
    rows["mean"] = [mean(column) for column in zip(*rows.values(), strict=True)]
    lines = [f"| seed | {' | '.join(heads)} |", f"| --- |{' --: |' * len(heads)}"]
    return "\n".join([*lines, *(f"| {seed} | {' | '.join(f'{x:.2f}' for x in row)} |" for seed, row in rows.items())])


if __name__ == "__main__":
    main()
