"""Would continuous batching answer sooner than the server's micro-batches? A simulation of one processor core.

`python bench/continuous_batching.py` simulates 64 clients, each of whom sends its next sentence when the last one is
answered. A step of the search costs what the int8 engine was measured to take for so many rows
(docs/lab-book/2026-11-speed.md: 0.47 ms for 5 rows, 18.9 ms for 320). Micro-batches: sentences of similar length,
longest waiting first, a batch of at most about 0.1 s, which keeps its clients until its longest sentence has ended.
Continuous: whoever waits joins between two steps, up to as many rows, and leaves when it has ended. Continuous
batching is given what it would not have: joining is free, and rows of different lengths cost no padding.

It is a model, not a measurement: one core (the server has a batch on each of two), no cost of requests or text.
"""

from __future__ import annotations

import json
import random
from statistics import mean, quantiles

CLIENTS = 64
ROWS = 5  # of a sentence: the beam
SENTENCES = 20_000
BATCH_MS = 100.0


def step_ms(rows: int) -> float:
    """Milliseconds of one step on so many rows: a line through the measured ones."""
    return 0.47 + (rows - 5) * (18.9 - 0.47) / (320 - 5)


def steps_of(generator: random.Random) -> int:
    """Steps of a sentence: lengths of about Multi30k's (median 14 segments with the end, few above 30)."""
    return max(4, round(generator.lognormvariate(2.64, 0.35)))


class Crowd:
    """Clients that wait for each answer: [(when it was sent, steps)] of those not begun yet."""

    def __init__(self, seed: int) -> None:
        self.generator = random.Random(seed)
        self.waiting = [(0.0, steps_of(self.generator)) for _ in range(CLIENTS)]
        self.delays: list[float] = []

    def answer(self, sent: float, now: float) -> None:
        """One is answered, and sends its next sentence."""
        self.delays.append(now - sent)
        self.waiting.append((now, steps_of(self.generator)))


def micro_batches(seed: int) -> tuple[list[float], float]:
    """Delays and the whole time, milliseconds: a batch ends before the next one begins."""
    crowd, now = Crowd(seed), 0.0
    while len(crowd.delays) < SENTENCES:
        oldest = min(crowd.waiting)
        batch: list[tuple[float, int]] = []
        for one in sorted(crowd.waiting, key=lambda other: abs(other[1] - oldest[1])):
            if batch and _batch_ms([*batch, one]) > BATCH_MS:
                break
            batch.append(one)
        for one in batch:
            crowd.waiting.remove(one)
        now += _batch_ms(batch)
        for sent, _ in batch:
            crowd.answer(sent, now)
    return crowd.delays, now


def _batch_ms(batch: list[tuple[float, int]]) -> float:
    """Rows leave when their sentence has ended, as in the search; the batch is answered as a whole."""
    longest = max(steps for _, steps in batch)
    return sum(step_ms(ROWS * sum(steps > step for _, steps in batch)) for step in range(longest))


def continuous(seed: int, most: int) -> tuple[list[float], float]:
    """The same where sentences join between steps, at most `most` at once, and are answered when they end."""
    crowd, now = Crowd(seed), 0.0
    running: list[tuple[float, int]] = []
    while len(crowd.delays) < SENTENCES:
        crowd.waiting.sort()
        free = most - len(running)
        running += crowd.waiting[:free]
        del crowd.waiting[:free]
        now += step_ms(ROWS * len(running))
        running = [(sent, steps - 1) for sent, steps in running]
        for sent, steps in running:
            if not steps:
                crowd.answer(sent, now)
        running = [one for one in running if one[1]]
    return crowd.delays, now


def _row(found: tuple[list[float], float]) -> dict[str, float]:
    delays, whole = found
    cut = quantiles(delays, n=100)
    return {
        "sentences_per_second": round(1000 * len(delays) / whole, 1),
        "mean_ms": round(mean(delays), 1),
        "p50_ms": round(cut[49], 1),
        "p95_ms": round(cut[94], 1),
    }


def main() -> None:
    """Print a line of JSON for each way to batch."""
    print(json.dumps({"batching": "micro", **_row(micro_batches(1))}))
    for most in (4, 8, 16, 32, 64):
        print(json.dumps({"batching": "continuous", "at_once": most, **_row(continuous(1, most))}))


if __name__ == "__main__":
    main()
