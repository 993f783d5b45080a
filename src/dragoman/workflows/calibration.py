"""Calibrates the confidence of a run: fits it to translations of the dev set, whose quality is measured."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dragoman.corpora.pairs import Pair, evenly_spaced
from dragoman.evaluation.metrics import chrf_metric
from dragoman.runs.opening import Run
from dragoman.text.changes import CHANGES, ITEMS, insert
from dragoman.text.raw_lines import is_blank
from dragoman.text.temporary import writing
from dragoman.translation.confidence import FILE, ConfidenceModel, features_of, fit

LINES = 400
"""Pairs of the dev set, evenly spread, that are translated: half of them as they are, half with a changed source or
an item put into it."""
GOOD = 40.0
"""A translation is good from this chrF on, if it also has the item that was put into the source."""


def calibrate(run: Run, pairs: Sequence[Pair]) -> ConfidenceModel | None:
    """Fit the confidence of a run to its translations of a dev set; write confidence.json, or remove an older one.

    Sources are changed in half of the pairs, because a dev set like the training text has few bad translations.

    Returns:
        what was fitted; None for runs of single words, and if hardly any translation is bad, or good.

    Raises:
        InputError: the file cannot be written or removed.
    """
    single_words = run.config.training.validation.metric == "accuracy"
    model = None if single_words else _fitted(run, pairs)
    if model is not None:
        model.write(run.folder.path)
    else:
        path = run.folder.path / FILE
        with writing(path, "cannot be removed"):
            path.unlink(missing_ok=True)
    return model


def _fitted(run: Run, pairs: Sequence[Pair]) -> ConfidenceModel | None:
    lines = [_line(pair, index) for index, pair in enumerate(evenly_spaced(pairs, LINES))]
    lines = [line for line in lines if not is_blank(line.source) and run.source.encode(line.source).ids]
    if not lines:
        return None
    best = [n_best[0] for n_best in run.translator().translate_lines(line.source for line in lines)]
    translated = [index for index, one in enumerate(best) if one.token_log_probabilities.size]  # lines with letters
    if not translated:
        return None
    lines, best = [lines[index] for index in translated], [best[index] for index in translated]
    features = [
        features_of(
            one.source,
            one.text,
            run.source.encode(one.source).ids,
            one.token_log_probabilities,
            finished=one.finished,
        )
        for one in best
    ]
    metric = chrf_metric()
    rows = metric.statistics([one.text for one in best], [line.reference for line in lines])
    good = [
        metric.score(row) >= GOOD and line.item in one.text for row, line, one in zip(rows, lines, best, strict=True)
    ]
    return fit(np.array(features), np.array(good))


class _Line(NamedTuple):
    source: str
    reference: str
    item: str = ""
    """What the translation must contain."""


def _line(pair: Pair, index: int) -> _Line:
    """The pair, changed by its index: of each four, one has a changed source, and one an item in the middle."""
    draw = random.Random(str(index))
    if index % 4 == 1:
        change = draw.choice(list(CHANGES.values()))
        source = change.change(pair.source, random.Random(str(index)))
        target = change.change(pair.target, random.Random(str(index))) if change.both_sides else pair.target
        return _Line(source, target)
    if index % 4 == 3:
        item = draw.choice(draw.choice(list(ITEMS.values())).examples)
        if (source_with := insert(pair.source, item)) is not None:
            return _Line(source_with, insert(pair.target, item) or pair.target, item)
    return _Line(pair.source, pair.target)
