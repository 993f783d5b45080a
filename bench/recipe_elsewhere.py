"""Is a variation of the recipe better on other corpora, too? Dev BLEU and chrF after equal processor time.

    python bench/recipe_elsewhere.py ../shared/data --scratch DIR --only standard fast-192-256

The recipe was chosen on Multi30k English-German (bench/recipe.py). Here variations train on corpora that had no part in
that: on one thread, each for as many updates as cost the same on Multi30k, so the costs of bench/results/recipe must be
there. Where a corpus has no dev set, every hundredth pair is held out (at most 500), and pairs whose source is also
there are left out of training. No test set is read. A row is a file in bench/results/recipe/elsewhere; rows that are
there are not repeated.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch
from recipe import COSTS, STANDARD, VARIATIONS, configuration, write
from recipe_variations import same_cost

import dragoman
from dragoman.config.building import override
from dragoman.progress import Console
from dragoman.text.corpus import Pair, read_pairs
from dragoman.text.lines import write_lines

RESULTS = COSTS.parent / "elsewhere"
CORPORA = {
    "multi30k-en-cs": ("multi30k-en-de-cs/train.{}.gz", "multi30k-en-de-cs/val.{}.gz", "en", "cs"),
    "europarl-fr-en": ("europarl-fr-en-10k-aligned/train.{}.xz", None, "fr", "en"),
    "tanaka-en-ja": ("tanaka-small-en-ja/train.{}.xz", "tanaka-small-en-ja/dev.{}.xz", "en", "ja"),
    "tatoeba-en-fr": ("tatoeba-en-fr/all.{}.xz", None, "en", "fr"),
    "tatoeba-en-ko": ("korean-en/tatoeba-anki.all.{}.xz", None, "en", "ko"),
    "kftt-ja-en": ("kftt-ja-en/train.{}.xz", "kftt-ja-en/dev.{}.xz", "ja", "en"),
}
HELD_OUT = 500


def main() -> None:
    """Train and measure the rows that are missing, and print them all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, help="folder of the corpora")
    parser.add_argument("--scratch", type=Path, required=True, help="folder for text and runs")
    parser.add_argument("--only", nargs="+", choices=(*VARIATIONS, STANDARD), required=True, metavar="NAME")
    parser.add_argument("--corpora", nargs="+", choices=tuple(CORPORA), default=list(CORPORA), metavar="NAME")
    parser.add_argument("--updates", type=int, default=1200, help="the budget (default: %(default)s)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    RESULTS.mkdir(parents=True, exist_ok=True)
    options.scratch.mkdir(parents=True, exist_ok=True)
    for corpus in options.corpora:
        for name in options.only:
            path = RESULTS / f"{corpus}.{name}.{options.updates}.json"
            if not path.exists():
                write(path, row(options, corpus, name))
            print(path.stem, json.loads(path.read_text(encoding="utf-8"))["dev"], flush=True)


def divided(data: Path, corpus: str) -> tuple[list[Pair], list[Pair]]:
    """The pairs of training and of the dev set."""
    train, dev, *languages = CORPORA[corpus]
    pairs = list(read_pairs([[data / train.format(language) for language in languages]]))
    if dev is not None:
        return pairs, list(read_pairs([[data / dev.format(language) for language in languages]]))
    held = pairs[::100][:HELD_OUT]
    sources = {pair.source for pair in held}
    return [pair for pair in pairs if pair.source not in sources], held


def row(options: argparse.Namespace, corpus: str, name: str) -> dict[str, Any]:
    """Train a variation on a corpus and measure it."""
    paid = json.loads(COSTS.read_text(encoding="utf-8"))[same_cost(name)]
    updates = round(options.updates * paid["preset_ms_an_update"] / paid["processor_ms_an_update"])
    out = options.scratch / f"{corpus}.{name}.{options.updates}"
    *_, source, target = CORPORA[corpus]
    files = {}
    for part, pairs in zip(("train", "dev"), divided(options.data, corpus), strict=True):
        files[part] = [options.scratch / f"{corpus}.{part}.{language}" for language in (source, target)]
        write_lines(files[part][0], (pair.source for pair in pairs))
        write_lines(files[part][1], (pair.target for pair in pairs))
    config = override(configuration(name), [f"training.updates={updates}", "training.epochs=1000"])
    began = time.thread_time()
    console = Console(quiet=True)
    dragoman.train(config, [files["train"]], [files["dev"]], out, overwrite=True, console=console)
    seconds = time.thread_time() - began
    run = dragoman.open_run(out)
    measured = dragoman.measure(run, pairs, search=run.config.search.replaced(beam=5), console=console)
    return {
        "corpus": corpus,
        "name": name,
        "budget_in_updates_of_the_preset": options.updates,
        "updates": updates,
        "dev": {score.name: round(score.value, 2) for score in measured.evaluation.scores},
        "processor_seconds_of_training": round(seconds),
        "date": time.strftime("%Y-%m-%d"),
    }


if __name__ == "__main__":
    main()
