"""Why can a larger beam hurt? BLEU, length and log-probability of translations, by size of the beam."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from small import SMALL, phrases, table, train

import dragoman


def main(updates: int = 900, beams: tuple[int, ...] = (1, 2, 5, 20, 100)) -> None:
    """Train a model of medium quality and print the table."""
    files = phrases()
    run = dragoman.open_run(train("beam", files, updates, SMALL), threads=1)
    pairs = list(dragoman.read_test_set(files["test"]))
    references = [pair.log_probability for pair in run.scorer().score((pair.source, pair.target) for pair in pairs)]
    rows = []
    for normalisation in ("none", "mean"):
        for beam in beams:
            settings = [f"search.beam={beam}", f"search.normalisation={normalisation}"]
            measured = dragoman.measure(run, pairs, search=dragoman.override(run.config, settings).search)
            found = [translation.log_probability for translation in measured.translations]
            rows.append(
                [
                    f"{normalisation}, beam {beam}",
                    f"{measured.evaluation.score('BLEU'):.1f}",
                    f"{lengths(t.text for t in measured.translations) / lengths(p.target for p in pairs):.2f}",
                    f"{statistics.mean(found):.2f}",
                    sum(one < other - 1e-4 for one, other in zip(found, references, strict=True)),
                    sum(one > other + 1e-4 for one, other in zip(found, references, strict=True)),
                ]
            )
    table(("normalisation", "BLEU", "length", "log-probability", "below the reference", "above it"), rows)
    print(f"mean log-probability of the references: {statistics.mean(references):.2f}")


def lengths(lines: Iterable[str]) -> int:
    """The number of words."""
    return sum(len(line.split()) for line in lines)


if __name__ == "__main__":
    main()
