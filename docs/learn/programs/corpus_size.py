"""How many pairs does attention need to beat a fixed vector? Perplexity of both by size of the corpus."""

from __future__ import annotations

import math

from small import SMALL, Files, joined, table, train, write

import dragoman

MODELS: dict[str, tuple[str, ...]] = {
    "fixed vector": ("model.decoder.context=fixed",),
    "attention": (),
}


def first(files: Files, pairs: int) -> Files:
    """The same sets, with the first pairs of the training set alone."""
    lines = zip(*(path.read_text("utf-8").splitlines()[:pairs] for path in files["train"]), strict=True)
    return {**files, "train": write(f"first-{pairs}", lines, ("en", "de"))}


def main(updates: int = 500, sizes: tuple[int, ...] = (250, 1000, 4000, 16000)) -> None:
    """Train both models on each size for equally many updates and print the table."""
    files = joined(1, 3, train=max(sizes))
    pairs = list(dragoman.read_test_set(files["test"]))
    rows = []
    for size in sizes:
        row = [f"{size} pairs"]
        for name, settings in MODELS.items():
            given = (*SMALL, *settings, "model.dropout.embedding=0.2", "model.dropout.readout=0.3")
            run = dragoman.open_run(
                train(f"size/{size}-{name.replace(' ', '-')}", first(files, size), updates, given), threads=1
            )
            scored = list(run.scorer().score((pair.source, pair.target) for pair in pairs))
            tokens = sum(len(pair.token_log_probabilities) for pair in scored)
            row.append(f"{math.exp(-sum(pair.log_probability for pair in scored) / tokens):.2f}")
        rows.append(row)
    table(("", *MODELS), rows)


if __name__ == "__main__":
    main()
