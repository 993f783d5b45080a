"""Why is attention uniform for the first updates? What a model has learnt after 50, 100, ... updates."""

from __future__ import annotations

from small import SMALL, phrases, table, train

import dragoman
from dragoman.workflows.checking import check_run

SETTINGS = (
    *SMALL,
    "training.schedule.name=constant",  # so that a shorter training is the beginning of a longer one
    "training.validation.every=100000",
    "training.validation.at_least=0",
)


def main(steps: tuple[int, ...] = (50, 100, 200, 300, 400, 600, 800, 1200)) -> None:
    """Train models for more and more updates and print what `dragoman check` measures."""
    files, rows = phrases(), []
    pairs = list(dragoman.read_pairs([files["test"]]))[:200]
    for updates in steps:
        run = dragoman.open_run(train(f"uniform/{updates}", files, updates, SETTINGS), threads=1)
        found = {check.name: check.figures for check in check_run(run, pairs)}
        rows.append(
            [
                f"{updates} updates",
                f"{found['source']['perplexity']:.2f}",
                f"{found['source']['ratio']:.2f}",
                f"{found['order']['ratio']:.2f}",
                f"{100 * found['uniform']['entropy_share']:.0f} %",
            ]
        )
    table(("", "perplexity", "other sources", "other order", "entropy"), rows)


if __name__ == "__main__":
    main()
