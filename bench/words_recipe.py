"""The preset `characters`, one factor at a time: pronunciation of seven languages, on their dev sets.

    python bench/words_recipe.py ../shared/data --scratch DIR
    python bench/words_recipe.py ../shared/data --scratch DIR --only preset width-256 --seeds 1 2
    python bench/words_recipe.py ../shared/data --scratch DIR --texts cmudict --epochs 2 --only preset dropout-0.1
    python bench/words_recipe.py --table

Each variation trains on five languages of SIGMORPHON 2021 with 800 words and on two with 8,000, or on `--texts`, on one
thread. Measured on their dev sets (100 and 1,000 words; CMUdict 6,173) with a beam of 5: the share of words that are
wrong (WER) and the mean of the processor seconds of a training. The test sets are not read. A row is a file in
bench/results/words_recipe, those of other texts in a folder for the texts and the epochs; rows that are there are not
repeated, and an interrupted training is resumed.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from recipe_variations import Settings, dropout, rate, sizes
from tasks import Row, rows, settings, train_and_rate

from dragoman.config.building import override
from dragoman.model.devices import set_threads
from dragoman.report.facts import machine_name

RESULTS = Path(__file__).parent / "results" / "words_recipe"
LANGUAGES = ("low.gre", "low.ice", "low.khm", "low.lav", "low.slv", "medium.dut", "medium.hbs_latn")


class Variation(NamedTuple):
    """What differs from the preset."""

    settings: Settings = ()
    epochs: int = 1
    """Passes through the text, in those of bench/tasks.py."""


BASE: Settings = dropout(embedding=0.3, annotations=0.3, readout=0.3)
"""The dropout of all texts when the rows that are kept were measured, so that new ones compare."""
WIDE = sizes(256, 512)
LOCAL = ("model.attention.scope=local-p", "model.attention.window=3")
LESS_DROPOUT = dropout(embedding=0.1, annotations=0.1, readout=0.1)
LARGER_BATCH = ("training.batch.size=96", *rate(0.005))

VARIATIONS: dict[str, Variation] = {
    "preset": Variation(),
    "width-256": Variation(WIDE),
    "weight-decay-10-epochs": Variation(("training.optimiser.name=adamw", "training.optimiser.weight_decay_epochs=10")),
    "width-256-batch-96": Variation((*WIDE, *LARGER_BATCH)),
    "twice": Variation(epochs=2),
    "local-p": Variation(LOCAL),
    "width-256-local-p": Variation((*WIDE, *LOCAL)),
    "batch-96-twice": Variation(LARGER_BATCH, epochs=2),
    "encoder-2-layers": Variation(("model.encoder.layers=2",)),
    "lstm": Variation(("model.encoder.cell=lstm", "model.decoder.cell=lstm")),
    "input-feeding": Variation(("model.decoder.input_feeding=true",)),
    "no-smoothing": Variation(("training.label_smoothing=0",)),
    "rate-0.0015": Variation(rate(0.0015)),
    "average-0.997": Variation(("training.average_decay=0.997",)),
    "dropout-0.2": Variation(dropout(embedding=0.2, annotations=0.2, readout=0.2)),
    "dropout-0.1": Variation(LESS_DROPOUT),
    "width-192-dropout-0.1": Variation((*sizes(192, 384), *LESS_DROPOUT)),
    "width-256-dropout-0.1": Variation((*WIDE, *LESS_DROPOUT)),
    "width-256-dropout-0.1-batch-96": Variation((*WIDE, *LESS_DROPOUT, *LARGER_BATCH)),
}
"""Variations of the preset, by name."""


def main() -> None:
    """Train and measure every row that is not there; print the table."""
    options = parse()
    set_threads(1)
    folder = RESULTS if options.texts == LANGUAGES else RESULTS / ".".join([*options.texts, str(options.epochs)])
    folder.mkdir(exist_ok=True, parents=True)
    for seed in options.seeds if not options.table else ():
        for name in options.only or VARIATIONS:
            path = folder / f"{name}.{seed}.json"
            if not path.exists():
                texts = list(rows(options.data, options.scratch, list(options.texts)))
                found = measured(name, seed, texts, options.epochs, options.scratch)
                path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(table(folder, options.texts))


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("data", type=Path, nargs="?", help="folder with g2p-sigmorphon2021")
    parser.add_argument("--scratch", type=Path, help="folder for runs")
    parser.add_argument("--only", nargs="+", choices=VARIATIONS, metavar="NAME", help="these variations")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--texts", nargs="+", default=LANGUAGES, metavar="ROW", help="other rows of bench/tasks.py")
    parser.add_argument("--epochs", type=int, help="of --texts; otherwise those that bench/tasks.py makes")
    parser.add_argument("--table", action="store_true", help="only print the rows that are there")
    options = parser.parse_args()
    if not options.table and not (options.data and options.scratch):
        parser.error("missing: data or --scratch")
    if (options.texts == LANGUAGES) != (options.epochs is None):
        parser.error("give --texts and --epochs together")
    return options


def measured(name: str, seed: int, texts: list[Row], epochs: int | None, scratch: Path) -> dict[str, Any]:
    """Train a variation on each language and measure it on the dev set."""
    found: dict[str, Any] = {}
    for row in texts:
        config = settings(row, seed)
        passes = (epochs or config.training.epochs) * VARIATIONS[name].epochs
        folder = scratch / f"{name}.{row.name}.{passes:g}.{seed}"
        varied = override(config, [*BASE, *VARIATIONS[name].settings, f"training.epochs={passes}"])
        scores, seconds = train_and_rate(row, varied, folder)
        found[row.name] = {**scores, "seconds": seconds}
    return {
        "name": name,
        "seed": seed,
        "settings": list(VARIATIONS[name].settings),
        "epochs": VARIATIONS[name].epochs,
        "dev": found,
        "processor": machine_name(),
        "date": time.strftime("%Y-%m-%d"),
    }


def table(folder: Path, texts: Sequence[str]) -> str:
    """A Markdown table of the variations, the best first, means over seeds."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for path in sorted(folder.glob("*.json")):
        row = json.loads(path.read_text(encoding="utf-8"))
        found[row["name"]].append(row["dev"])
    lines = [f"| | seeds | {' | '.join(texts)} | mean | seconds |", f"| --- |{' --: |' * (len(texts) + 3)}"]
    for name, several in sorted(found.items(), key=lambda item: _mean(item[1], "WER")):
        cells = [str(len(several)), *(f"{mean(row[language]['WER'] for row in several):.1f}" for language in texts)]
        cells += [f"{_mean(several, 'WER'):.1f}", f"{_mean(several, 'seconds'):.0f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _mean(several: list[dict[str, Any]], key: str) -> float:
    """The mean over languages and seeds."""
    return float(mean(language[key] for row in several for language in row.values()))


if __name__ == "__main__":
    main()
