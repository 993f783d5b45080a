"""What the programs of these pages share: small corpora without a download, and models for a minute of one core.

Corpora and runs go to the folder `learn`; what is there is used again.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path

import torch

import dragoman
from dragoman.config.scaling import scale as scaled

FOLDER = Path("learn")
SETS = ("train", "dev", "test")
SMALL = (
    "model.embedding.source=64",
    "model.embedding.target=64",
    "model.encoder.size=64",
    "model.decoder.size=128",
    "model.attention.size=64",
    "model.readout.size=64",
    "training.batch.size=400",
    "training.average_decay=0",
    "training.optimiser.learning_rate=0.006",
    "training.validation.metric=perplexity",
    "search.normalisation=none",
)
"""The preset `demo`, made smaller."""
Files = dict[str, list[Path]]


def phrases() -> Files:
    """The embedded corpus, English to German: 8,000 phrases of one to ten words; 500 each for dev and test."""
    folder = FOLDER / "phrases"
    files = {name: [folder / f"{name}.en", folder / f"{name}.de"] for name in SETS}
    if not all(path.exists() for pair in files.values() for path in pair):
        dragoman.write_demo_corpus(folder, "en", "de")
    return files


def joined(shortest: int, longest: int, *, train: int = 8000, held_out: int = 250) -> Files:
    """Lines of `shortest` to `longest` phrases of the embedded corpus, chosen at random within each set."""
    files = {}
    for name, (source, target) in phrases().items():
        pairs = list(zip(source.read_text("utf-8").splitlines(), target.read_text("utf-8").splitlines(), strict=True))
        chance = random.Random(name)
        lines = []
        for _ in range(train if name == "train" else held_out):
            chosen = chance.choices(pairs, k=chance.randint(shortest, longest))
            lines.append(tuple(" ".join(side) for side in zip(*chosen, strict=True)))
        files[name] = write(f"joined-{shortest}-{longest}/{name}", lines, ("en", "de"))
    return files


def made_language(*, train: int = 6000, held_out: int = 250) -> tuple[Files, Path]:
    """A language of 200 words and its translation, and the true word alignment of its test set (Pharaoh format).

    Words have the shares 1/k. Every fifth word has a translation of two words. The words of the translation stand in
    the order of the source, but each stretch of three is reversed.
    """
    shares = list(accumulate(1 / rank for rank in range(1, 201)))
    files, gold = {}, FOLDER / "made" / "test.gold"
    for name in SETS:
        chance = random.Random(name)
        lines, links = [], []
        for _ in range(train if name == "train" else held_out):
            words = chance.choices(range(200), cum_weights=shares, k=chance.randint(4, 12))
            order = [i for start in range(0, len(words), 3) for i in reversed(range(len(words))[start : start + 3])]
            target = [(i, f"t{words[i]}{part}") for i in order for part in ("", "x")[: 2 if words[i] % 5 == 0 else 1]]
            lines.append((" ".join(f"s{word}" for word in words), " ".join(word for _, word in target)))
            links.append(" ".join(f"{i}-{j}" for j, (i, _) in enumerate(target)))
        files[name] = write(f"made/{name}", lines, ("source", "target"))
        if name == "test":
            gold.write_text("\n".join(links) + "\n", encoding="utf-8")
    return files, gold


def write(name: str, lines: Iterable[tuple[str, ...]], sides: tuple[str, str]) -> list[Path]:
    """Write the two sides of a set; return their paths."""
    paths = [FOLDER / f"{name}.{side}" for side in sides]
    paths[0].parent.mkdir(parents=True, exist_ok=True)
    for path, side in zip(paths, zip(*lines, strict=True), strict=True):
        path.write_text("\n".join(side) + "\n", encoding="utf-8")
    return paths


def train(
    name: str, files: Files, updates: int, settings: Iterable[str] = (), *, preset: str = "demo", scale: float = 1.0
) -> Path:
    """Train a model for a number of updates, unless its run folder is there; return the folder."""
    run = FOLDER / name
    if not run.exists():
        torch.set_num_threads(1)  # more do not help models of this size
        config = scaled(dragoman.load_preset(preset), scale)
        config = dragoman.override(config, [*settings, f"training.updates={updates}"])
        dragoman.train(config, [files["train"]], [files["dev"]], run)
    return run


def table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> None:
    """Print rows in columns: text to the left, numbers to the right."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    for row in cells:
        first, *others = zip(row, widths, strict=True)
        print("  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]).rstrip())
