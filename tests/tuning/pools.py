"""Random lists to tune on."""

from __future__ import annotations

import numpy as np

from dragoman.tuning.pool import BLEU, HypothesisPool, TuningMetric, make_pool


def random_pool(
    random: np.random.Generator,
    *,
    sentences: int,
    size: int,
    marked: int | None = None,
    metric: TuningMetric = BLEU,
) -> HypothesisPool:
    """Lists of 2 to 9 hypotheses; with `marked` the one that is the reference has the largest value there."""

    def line() -> str:
        return " ".join(random.choice([*"abc"], size=random.integers(4, 9)))

    made = []
    for _ in range(sentences):
        reference, count = line(), int(random.integers(2, 10))
        texts = [reference, *(line() for _ in range(count - 1))]
        features = random.normal(size=(count, size))
        if marked is not None:
            features[:, marked] = [2.0, *random.uniform(-2, 1, size=count - 1)]
        order = random.permutation(count)
        made.append(([reference], [(texts[index], features[index].tolist()) for index in order]))
    return make_pool({"A": size}, made, metric)
