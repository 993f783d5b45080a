"""Which learning rate a larger batch wants: linear or square-root scaling, at equal epochs.

    python bench/batch_scaling.py --train C.de C.en --dev D.de D.en --scratch DIR

The preset `standard` at 0.15 of its sizes, with a vocabulary of 2,000, is trained with 1, 2 and 4 times its batch, as
1, 2 and 4 machines that each compute one batch would, and with its learning rate times the factor (linear), times the
root of the factor (square-root) or unchanged. Warm-up, stated in updates, is divided by the factor, so that it covers
as many sentences; the average of the weights, whose decay is stated by update, is off. Measured is the perplexity of
the dev set after each epoch. One thread; results go to bench/results/batch-scaling.json, and a run that is there
already is left out.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import dragoman
from dragoman.config.scaling import scale
from dragoman.progress import Console
from dragoman.training.log import read_log

RESULTS = Path(__file__).parent / "results" / "batch-scaling.json"
LAWS: dict[str, Callable[[int], float]] = {
    "linear": float,
    "square-root": lambda factor: factor**0.5,
    "unchanged": lambda factor: 1.0,
}
RUNS = ((1, "linear"), *((factor, law) for law in LAWS for factor in (2, 4)))
"""Times the batch, and the law of the learning rate; with the batch itself all laws are one."""
SETTINGS = (
    "training.validation.metric=perplexity",
    "training.validation.every=0",
    "training.average_decay=0",
    "training.precision=fp32",
    "text.source.vocabulary=2000",
    "text.target.vocabulary=2000",
)


def trained(factor: int, law: str, options: argparse.Namespace) -> dict[str, Any]:
    """Train with `factor` times the batch; the perplexities of the dev set, and processor seconds."""
    config = dragoman.override(scale(dragoman.load_preset("standard"), options.scale), SETTINGS)
    training = config.training
    changes = {
        "training.batch.size": training.batch.size * factor,
        "training.optimiser.learning_rate": training.optimiser.learning_rate * LAWS[law](factor),
        "training.schedule.warmup": round(options.warmup / factor),
        "training.epochs": options.epochs,
        "training.seed": options.seed,
    }
    config = dragoman.override(config, [f"{key}={value}" for key, value in changes.items()])
    out = options.scratch / f"batch-{factor}-{law}-{options.seed}"
    began = time.process_time()
    console = Console(quiet=True)
    run = dragoman.train(config, [options.train], [options.dev], out, overwrite=True, device="cpu", console=console)
    validated = [record for record in read_log(run.folder.log) if record["kind"] == "validation"]
    return changes | {
        "law": law,
        "factor": factor,
        "updates": run.result.update,
        "perplexities": [round(record["perplexity"], 3) for record in validated],
        "processor_seconds": round(time.process_time() - began),
    }


def main() -> None:
    """Run what is not in the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", nargs=2, required=True)
    parser.add_argument("--dev", nargs=2, required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--scale", type=float, default=0.15)
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--warmup", type=int, default=200, help="updates of the warm-up with the batch itself")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    results: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for factor, law in RUNS:
        name = f"{factor} times the batch, {'the same' if factor == 1 else law}, seed {options.seed}"
        if name in results:
            continue
        results[name] = trained(factor, law, options)
        print(name, results[name], flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
