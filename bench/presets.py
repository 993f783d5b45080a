"""All presets, scaled down, on Multi30k: dev perplexity and dev BLEU after the same number of updates.

    python bench/presets.py ../shared/data/multi30k-en-de-cs --out FOLDER
    python bench/presets.py ../shared/data/multi30k-en-de-cs --out FOLDER --recipe common

Text, batches and search are the same for all presets, so that perplexities are comparable; `--scale` shrinks all sizes
together and keeps the proportions of the papers. Two recipes: `own` trains with the preset's settings (initialisation,
optimiser, learning rate, clipping, loss normalisation); `common` trains all presets with the same settings. Results are
written to bench/results/presets-multi30k-en-de.json after every run; existing runs are not repeated. The table for
docs/presets.md goes to stdout. Training is limited by updates, not by time, so that other programs may run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch
from translation import machine

import dragoman
from dragoman.config.presets import preset_names
from dragoman.runs.opening import open_run
from dragoman.training.log import read_log

RESULTS = Path(__file__).parent / "results" / "presets-multi30k-en-de.json"
LEFT_OUT = ("demo", "standard")
"""`demo` is made for another corpus; `standard` comes last, at a scale that gives it a similar size."""
STANDARD_SCALE = 0.4
SAME_FOR_ALL = (
    "text.joint=true",
    "text.source.language=en",
    "text.source.segmentation=bpe",
    "text.source.vocabulary=4000",
    "text.target.language=de",
    "text.target.segmentation=bpe",
    "text.target.vocabulary=4000",
    "cleaning.max_length=50",
    "cleaning.duplicates=drop",
    "training.seed=1",
    "training.precision=fp32",
    "training.batch.unit=sentences",
    "training.batch.size=32",
    "training.batch.pool=20",
    "training.validation.every=1000000",  # once, after the last update
    "training.validation.metric=bleu",
    "training.validation.beam=1",
    "training.validation.sentences=0",
    "search.normalisation=none",
    "search.max_length_factor=1.5",
    "search.max_length_extra=10",
    "search.min_length_factor=0",
)
RECIPES = {
    "own": (),
    "common": (
        "model.initialisation=lecun",
        "model.init_scale=0.05",
        "training.loss_normalisation=tokens",
        "training.label_smoothing=0",
        "training.average_decay=0",
        "training.optimiser.name=adam",
        "training.optimiser.learning_rate=0.002",
        "training.optimiser.betas=[0.9, 0.999]",
        "training.optimiser.epsilon=1e-8",
        "training.optimiser.max_gradient_norm=1.0",
        "training.schedule.name=cosine",
        "training.schedule.warmup=50",
    ),
}


def main() -> None:
    """Train the missing runs one after the other, and print the table."""
    options = parse()
    result = load(options)
    for name in options.only or [*(name for name in preset_names() if name not in LEFT_OUT), "standard"]:
        if name not in result["runs"][options.recipe]:
            scale = STANDARD_SCALE if name == "standard" else options.scale
            measured = train(name, scale, options)
            result = load(options)  # another program may have made the runs of the other recipe meanwhile
            result["runs"][options.recipe][name] = measured
            RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(table(result["runs"]))


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, help="folder of Multi30k")
    parser.add_argument("--out", type=Path, required=True, help="folder for the runs")
    parser.add_argument("--recipe", choices=tuple(RECIPES), default="own")
    parser.add_argument("--only", nargs="+", metavar="PRESET", help="only these presets")
    parser.add_argument("--scale", type=float, default=0.128)
    parser.add_argument("--epochs", type=float, default=0.8)
    return parser.parse_args()


def load(options: argparse.Namespace) -> dict[str, Any]:
    """The results so far; results of another scale or length are refused."""
    how = {"scale": options.scale, "epochs": options.epochs, "same for all": list(SAME_FOR_ALL)}
    if RESULTS.exists():
        result: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
        if result["how"] != how:
            sys.exit(f"{RESULTS} contains runs with other options ({result['how']}); move it away first")
        return result
    return {
        "command": f"python bench/presets.py {options.data} --out FOLDER [--recipe common]",
        "date": time.strftime("%Y-%m-%d"),
        "dragoman": dragoman.__version__,
        "machine": machine() | {"threads": "1"},
        "how": how,
        "recipes": {name: list(settings) for name, settings in RECIPES.items()},
        "runs": {name: {} for name in RECIPES},
    }


def train(name: str, scale: float, options: argparse.Namespace) -> dict[str, Any]:
    """Run `dragoman train` and read the last validation from its log."""
    out = options.out / f"{name}-{options.recipe}"
    train_files, dev_files = (
        [str(options.data / f"{part}.{language}.gz") for language in ("en", "de")] for part in ("train", "val")
    )
    command = [
        *(sys.executable, "-m", "dragoman", "train", "--preset", name, "--scale", f"{scale:g}", "--threads", "1"),
        *("--train", *train_files, "--dev", *dev_files, "--out", str(out), "--overwrite", "--quiet"),
        *("--set", *SAME_FOR_ALL, *RECIPES[options.recipe], f"training.epochs={options.epochs}"),
    ]
    subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    run = open_run(out)
    last = [record for record in read_log(run.folder.log) if record["kind"] == "validation"][-1]
    return {
        "scale": scale,
        "parameters": run.parameters,
        **{key: last[key] for key in ("update", "epoch", "perplexity", "bleu", "chrf", "seconds")},
    }


def table(runs: dict[str, dict[str, Any]]) -> str:
    """A Markdown table with one row for each preset, `standard` last; cells without a measurement are empty."""
    lines = [
        "| preset | parameters | own recipe: perplexity | BLEU | common recipe: perplexity | BLEU |",
        "| --- | --: | --: | --: | --: | --: |",
    ]
    for name in sorted(runs["own"] | runs["common"], key=lambda name: (name == "standard", name)):
        rows = [runs[recipe].get(name) for recipe in RECIPES]
        millions = next(row for row in rows if row)["parameters"] / 1e6
        cells = [f"{row['perplexity']:.1f} | {row['bleu']:.1f}" if row else " | " for row in rows]
        lines.append(f"| `{name}` | {millions:.2f} M | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
