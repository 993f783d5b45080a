"""Maps of words and phrases (Cho et al. 2014, section 4.4): whether neighbours in the plane are similar.

The statistics of a point are [its similarity to the nearest point, its mean similarity to all others]. Words are
similar if the words beside them in the training text are the same: the Bhattacharyya coefficient of their
distributions. Phrases are similar if they share words: the cosine of their word counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dragoman.reproduction.decisions import METRICS, Array
from dragoman.reproduction.plan import Plan
from dragoman.text.lines import read_lines
from dragoman.text.words import words_in


class MapPoint(NamedTuple):
    """A text and its coordinates."""

    text: str
    x: float
    y: float


def read_map(plan: Plan, step: str, name: str, seed: int) -> list[MapPoint]:
    """The points that a step with `dragoman map` wrote."""
    rows = [line.split("\t") for line in read_lines(plan.folder / plan.output(step, name, seed))][1:]
    return [MapPoint(text, float(x), float(y)) for x, y, _, text in rows]


def map_statistics(plan: Plan, metric: str, name: str, seed: int) -> Array:
    """[N, 2] the statistics of each point."""
    points = read_map(plan, METRICS[metric].step, name, seed)
    texts = [point.text for point in points]
    if metric == "word_neighbours":
        contexts = _contexts(plan, texts)
        similarity = _similarities([{key: float(np.sqrt(count)) for key, count in one.items()} for one in contexts])
    else:
        similarity = _similarities([dict(Counter(text.split())) for text in texts])
    coordinates = np.array([(point.x, point.y) for point in points])
    distances = np.linalg.norm(coordinates[:, None] - coordinates[None], axis=-1)
    np.fill_diagonal(distances, np.inf)
    np.fill_diagonal(similarity, 0.0)
    nearest = similarity[np.arange(len(points)), distances.argmin(axis=1)]
    return np.stack([nearest, similarity.sum(axis=1) / (len(points) - 1)], axis=1)


def _contexts(plan: Plan, words: Sequence[str]) -> list[Counter[Hashable]]:
    """Counts of the words before and after each word, in the target side of the training text."""
    contexts: dict[str, Counter[Hashable]] = {word: Counter() for word in words}
    for line in read_lines(plan.corpus.words_path("train", "target")):
        padded = ["", *words_in(line), ""]
        for position, word in enumerate(padded[1:-1], 1):
            if word in contexts:
                contexts[word].update((("before", padded[position - 1]), ("after", padded[position + 1])))
    return [contexts[word] for word in words]


def _similarities(vectors: Sequence[Mapping[Hashable, float]]) -> Array:
    """[N, N] the cosines of all pairs of vectors."""
    columns = {key: column for column, key in enumerate(dict.fromkeys(key for one in vectors for key in one))}
    matrix = np.zeros((len(vectors), max(1, len(columns))))
    for row, one in zip(matrix, vectors, strict=True):
        for key, value in one.items():
            row[columns[key]] = value
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
    return np.asarray(matrix @ matrix.T)
