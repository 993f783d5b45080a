"""Which size of batch is best for the same minutes of several threads? Dev BLEU, chrF and perplexity.

    python bench/batch_size.py ../shared/data/multi30k-en-de-cs --scratch DIR --minutes 10
    python bench/batch_size.py --table

Small operations do not use a second thread well, so that a larger batch costs less by the clock than by processor time,
which `recipe.py` keeps equal. Here the seconds of an update of each size are measured by the clock with all threads of
the machine, once, in turn, which needs a machine where nothing else runs. The preset with batches of 768 tokens made
`UPDATES` in so many minutes, with everything (bench/quality.py on two Zen 4 cores); each variation trains on Multi30k
English-German for the updates that take as long, on one thread, which may be beside other programs. Measured is the dev
set (beam 5); no test set is read. A row is a file in bench/results/batch_size; rows that are there are not repeated,
and an interrupted training is resumed. The rows of 768 tokens that are there are the models by the clock themselves.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch
from recipe import write
from recipe_variations import EARLIER_PRESET
from updates import Updates, corpus_files, others_seconds, rounds_in_turn, stored_corpus

import dragoman
from dragoman.config.building import override
from dragoman.config.presets import load_preset
from dragoman.config.schema import Config
from dragoman.progress import Console
from dragoman.report.facts import machine_name
from dragoman.text.corpus import read_pairs
from dragoman.workflows.training import resume_training

RESULTS = Path(__file__).parent / "results" / "batch_size"
COSTS = RESULTS / "costs.json"
UPDATES = {3: 1983, 5: 3590, 10: 7401, 20: 16624, 40: 2 * 16624}
"""Updates by minutes, with batches of `BASE` tokens; those of 40 were not measured."""
BASE = 768
ROUNDS = 6


class Variation(NamedTuple):
    """What a row changes."""

    tokens: int
    rate: float
    settings: tuple[str, ...] = ()


VARIATIONS = {
    "768": Variation(768, 0.005),
    "1024": Variation(1024, 0.006),
    "1536": Variation(1536, 0.007),
    "1536-rate-0.01": Variation(1536, 0.01),
    "1536-rate-0.005": Variation(1536, 0.005),
    "1536-pool-400": Variation(1536, 0.007, ("training.batch.pool=400",)),
    "2048": Variation(2048, 0.008),
    "2048-rate-0.007": Variation(2048, 0.007),
}


def main() -> None:
    """Measure what an update costs, train the rows that are missing, and print the table."""
    options = parse()
    if not options.table:
        RESULTS.mkdir(parents=True, exist_ok=True)
        measure_costs(options)
        torch.set_num_threads(1)
        for name in options.only or VARIATIONS:
            path = RESULTS / f"{name}.{options.minutes}.json"
            if not path.exists():
                write(path, row(options, name))
    print(table())


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, nargs="?", help="folder of Multi30k")
    parser.add_argument("--scratch", type=Path, help="folder for the stored text and runs")
    parser.add_argument("--minutes", type=int, choices=tuple(UPDATES), default=10, help="(default: %(default)s)")
    parser.add_argument("--only", nargs="+", choices=tuple(VARIATIONS), metavar="NAME", help="these variations")
    parser.add_argument("--table", action="store_true", help="only print the rows that are there")
    options = parser.parse_args()
    if not options.table and not (options.data and options.scratch):
        parser.error("the folder of Multi30k and --scratch are needed")
    return options


def configuration(variation: Variation) -> Config:
    """The preset with this batch and rate, and the size of pool that it had."""
    settings = [f"training.batch.size={variation.tokens}", f"training.optimiser.learning_rate={variation.rate}"]
    settings += ["training.batch.pool=100", *variation.settings]
    return override(load_preset("standard"), ["training.precision=bf16", *EARLIER_PRESET, *settings])


def updates_that_fit(minutes: int, tokens: int) -> int:
    """The updates of batches of so many tokens that take as long as `UPDATES`, by the costs that were measured."""
    paid = json.loads(COSTS.read_text(encoding="utf-8"))["ms_an_update"]
    return round(UPDATES[minutes] * paid[str(BASE)] / paid[str(tokens)])


def measure_costs(options: argparse.Namespace) -> None:
    """Measure the milliseconds of an update by size of batch, by the clock, once, all in turn."""
    if COSTS.exists():
        return
    threads = os.cpu_count() or 1
    torch.set_num_threads(threads)
    sizes = sorted({variation.tokens for variation in VARIATIONS.values()})
    config = configuration(VARIATIONS[str(BASE)])
    store, vocabulary = stored_corpus(options.data, options.scratch, config)
    several = {
        str(size): Updates(
            override(config, [f"training.batch.size={size}"]), store, vocabulary, options.scratch / f"cost-{size}"
        )
        for size in sizes
    }
    start, before = time.monotonic(), others_seconds()
    found = rounds_in_turn(several, ROUNDS, time.monotonic)
    measured = {
        "ms_an_update": {size: round(1000 * statistics.median(rounds), 1) for size, rounds in found.items()},
        "threads": threads,
        "cores_used_by_others": round((others_seconds() - before) / (time.monotonic() - start), 2),
        "processor": machine_name(),
        "date": time.strftime("%Y-%m-%d"),
    }
    write(COSTS, measured)


def row(options: argparse.Namespace, name: str) -> dict[str, Any]:
    """Train a variation for the updates that fit, and measure it."""
    variation = VARIATIONS[name]
    updates = updates_that_fit(options.minutes, variation.tokens)
    settings = ["text.source.language=en", "text.target.language=de", "training.epochs=1000"]
    config = override(configuration(variation), [*settings, f"training.updates={updates}"])
    train, dev = ([corpus_files(options.data, part)] for part in ("train", "val"))
    console = Console(quiet=True)
    out = options.scratch / f"{name}.{options.minutes}"
    if (out / "run.json").exists():
        resume_training(out, config, console=console)
    else:
        dragoman.train(config, train, dev, out, overwrite=True, console=console)
    run = dragoman.open_run(out)
    search = run.config.search.replaced(beam=5)
    measured = dragoman.measure(run, list(read_pairs(dev)), search=search, console=console)
    perplexity = measured.evaluation.perplexity
    assert perplexity is not None
    scores = {score.name: round(score.value, 2) for score in measured.evaluation.scores}
    return {
        "name": name,
        "minutes": options.minutes,
        "tokens": variation.tokens,
        "rate": variation.rate,
        "settings": list(variation.settings),
        "updates": updates,
        "dev": {metric: scores[metric] for metric in ("BLEU", "chrF")},
        "dev_perplexity_by_token": round(perplexity.per_token, 3),
        "date": time.strftime("%Y-%m-%d"),
    }


def table() -> str:
    """A Markdown table of the rows, by minutes and perplexity."""
    lines = [
        "| minutes | tokens | rate | updates | dev BLEU | chrF | perplexity |",
        "| --: | --: | --: | --: | --: | --: | --: |",
    ]
    found = [json.loads(path.read_text(encoding="utf-8")) for path in RESULTS.glob("*.json") if path != COSTS]
    for each in sorted(found, key=lambda row: (row["minutes"], -row["dev_perplexity_by_token"])):
        change = ", ".join([str(each["rate"]), *each["settings"]])
        scores = f"{each['dev']['BLEU']:.1f} | {each['dev']['chrF']:.1f} | {each['dev_perplexity_by_token']:.2f}"
        lines.append(f"| {each['minutes']} | {each['tokens']:,} | {change} | {each['updates']:,} | {scores} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
