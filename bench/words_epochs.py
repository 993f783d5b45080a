"""How many epochs suit how many single words: every second and every third word of two languages, on their dev sets.

    python bench/words_epochs.py ../shared/data --scratch DIR
    python bench/words_epochs.py --table

The preset `characters` trains on parts of Dutch and Serbo-Croatian of SIGMORPHON 2021 (8,000 words each), on one
thread, for 16, 30 and 60 epochs. Measured on the dev sets (1,000 words) with a beam of 5: the share of words that are
wrong (WER) and the processor seconds of the training. The test sets are not read. A row is a file in
bench/results/words_epochs; rows that are there are not repeated, and an interrupted training is resumed.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from tasks import Row, rows, settings, train_and_rate

from dragoman.config.building import override
from dragoman.model.devices import set_threads
from dragoman.report.facts import machine_name
from dragoman.text.corpus import read_pairs

RESULTS = Path(__file__).parent / "results" / "words_epochs"
LANGUAGES = ("medium.dut", "medium.hbs_latn")
EVERY = (3, 2)
EPOCHS = (16, 30, 60)


def main() -> None:
    """Train and measure every row that is not there; print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("data", type=Path, nargs="?", help="folder with g2p-sigmorphon2021")
    parser.add_argument("--scratch", type=Path, help="folder for text and runs")
    parser.add_argument("--languages", nargs="+", choices=LANGUAGES, default=LANGUAGES, metavar="NAME")
    parser.add_argument("--table", action="store_true", help="only print the rows that are there")
    options = parser.parse_args()
    if not options.table and not (options.data and options.scratch):
        parser.error("missing: data or --scratch")
    set_threads(1)
    RESULTS.mkdir(exist_ok=True)
    for row in rows(options.data, options.scratch, list(options.languages)) if not options.table else ():
        for every in EVERY:
            for epochs in EPOCHS:
                path = RESULTS / f"{row.name}.{every}.{epochs}.json"
                if not path.exists():
                    found = measured(row, every, epochs, options.scratch)
                    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(table())


def measured(row: Row, every: int, epochs: int, scratch: Path) -> dict[str, Any]:
    """Train on every `every`th word for some epochs and measure the dev set."""
    pairs = list(read_pairs([[row.train]]))[::every]
    part = row._replace(train=scratch / f"{row.name}.{every}.tsv")
    part.train.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
    folder = scratch / f"{row.name}.{every}.{epochs}"
    scores, seconds = train_and_rate(part, override(settings(part, 1), [f"training.epochs={epochs}"]), folder)
    return {
        "name": row.name,
        "words": len(pairs),
        "epochs": epochs,
        "dev": scores,
        "seconds": seconds,
        "processor": machine_name(),
        "date": time.strftime("%Y-%m-%d"),
    }


def table() -> str:
    """A Markdown table: a line for each language and number of words, WER and seconds by epochs."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))]
    lines = [f"| | words | {' | '.join(f'{epochs} epochs' for epochs in EPOCHS)} |", f"| --- |{' --: |' * 4}"]
    for name, words in sorted({(row["name"], row["words"]) for row in found}):
        of_line = {row["epochs"]: row for row in found if (row["name"], row["words"]) == (name, words)}
        cells = [f"{of_line[n]['dev']['WER']:.1f} ({of_line[n]['seconds']:.0f} s)" for n in EPOCHS if n in of_line]
        lines.append(f"| {name} | {words:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
