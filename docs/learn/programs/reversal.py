"""When does reversing the source help, and does it with attention? Perplexity by word order and direction."""

from __future__ import annotations

import math
import random

from small import SETS, Files, table, train, write

import dragoman

COMMON = (
    "text.source.segmentation=whitespace",
    "text.target.segmentation=whitespace",
    "model.encoder.layers=2",
    "model.decoder.layers=2",
    "model.dropout.embedding=0",
    "model.dropout.layers=0",
    "training.batch.unit=sentences",
    "training.batch.size=32",
    "training.loss_normalisation=tokens",
    "training.optimiser.name=adam",
    "training.optimiser.learning_rate=0.004",
    "training.optimiser.max_gradient_norm=1",
    "training.schedule.name=cosine",
    "training.schedule.warmup=50",
    "training.validation.every=100000",
    "training.validation.at_least=0",
    "training.validation.metric=perplexity",
)
MODELS = {"no attention": "luong2015-base", "attention": "luong2015-global-dot"}
WORDS = 12
"""Distinct words of either language."""
DIRECTIONS = ("forward", "reversed")


def translations(order: str, *, pairs: int = 6000, held_out: int = 250) -> Files:
    """Random words and a translation of each, in the same order or in the opposite one."""
    files = {}
    for name in SETS:
        chance = random.Random(name)
        lines = []
        for _ in range(pairs if name == "train" else held_out):
            words = [chance.randrange(WORDS) for _ in range(chance.randint(4, 10))]
            target = words if order == "same" else words[::-1]
            lines.append((" ".join(f"s{word}" for word in words), " ".join(f"t{word}" for word in target)))
        files[name] = write(f"order-{order}/{name}", lines, ("source", "target"))
    return files


def main(updates: int = 600, orders: tuple[str, ...] = ("same", "opposite")) -> None:
    """Train a model for each order, direction and kind of decoder, and print the table."""
    rows = []
    for order in orders:
        files = translations(order)
        pairs = list(dragoman.read_test_set(files["test"]))
        for model, preset in MODELS.items():
            row = [f"{order} order, {model}"]
            for direction in DIRECTIONS:
                given = (*COMMON, f"model.encoder.direction={direction}")
                name = f"reversal/{order}-{preset}-{direction}"
                run = dragoman.open_run(train(name, files, updates, given, preset=preset, scale=0.064), threads=1)
                scored = list(run.scorer().score((pair.source, pair.target) for pair in pairs))
                tokens = sum(len(pair.token_log_probabilities) for pair in scored)
                row.append(f"{math.exp(-sum(pair.log_probability for pair in scored) / tokens):.2f}")
            rows.append(row)
    table(("", *DIRECTIONS), rows)


if __name__ == "__main__":
    main()
