"""Serialises the sentences of a page as two blocks of text: texts as JSON, alignment weights as packed bytes.

A weight is one byte, 255 for 1. The weights of all sentences are concatenated row by row, compressed with zlib and
encoded in base64. Most weights are nearly 0, so a sentence of 25 words takes a few hundred characters. The JSON has
no `<`, so nothing in it can end the element around it.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.extract import Span
from dragoman.evaluation.metrics import chrf_metric
from dragoman.report.differences import differing, overlapping
from dragoman.report.samples import Sample
from dragoman.text.display import runs_right_to_left, visible

FAINTEST = 0.01
"""Smaller weights are stored as 0 and not highlighted."""

LARGEST = 40_000
"""Maximum number of weights of a sentence; a larger heat map is illegible, and would be most of the page's size."""


class Packed(NamedTuple):
    """The two blocks that script.js reads."""

    texts: str
    weights: str


def pack(
    names: Sequence[str], systems: Sequence[Sequence[Sample]], numbers: Sequence[int], more: Mapping[str, Any]
) -> Packed:
    """Serialise the samples of systems with these `names`; `more` is added to the block of texts.

    texts = {"systems": names, "sentences": [sentence, ...], ...}
    sentence = {"n": number of its line, "s": source, "i": words of the source, "r": reference or null,
                "o": other references, if there are any, "rtl": whether the source runs from right to left,
                "t": [translation, ...] of each system}
    translation = {"x": text, "j": its words, "c": sentence chrF or null, "a": whether there are weights,
                   "p": [[p_t, first, last], ...] or null, "d": words that differ from the first system's translation,
                   "f": words of that which differ from this}

    Words are null where they are separated by single spaces, otherwise [start, end, start, ...] in characters.
    """
    for samples in systems:
        assert len(samples) == len(systems[0]) == len(numbers)
    scores = [_sentence_chrf(samples) for samples in systems]
    sentences, weights = [], []
    for row, number in enumerate(numbers):
        samples = [system[row] for system in systems]
        kept = [_weights(sample, samples[0].source_words) for sample in samples]
        weights += [matrix.tobytes() for matrix in kept if matrix is not None]
        first = samples[0]
        sentences.append(
            {
                "n": number,
                "s": visible(first.source),
                "i": _words(first.source, first.source_words),
                "r": None if first.reference is None else visible(first.reference),
                **({"o": list(map(visible, first.other_references))} if first.other_references else {}),
                "rtl": runs_right_to_left([first.source]),
                "t": [
                    {
                        "x": visible(sample.translation),
                        "j": _words(sample.translation, sample.target_words),
                        "c": scores[index][row],
                        "a": kept[index] is not None,
                        "p": _windows(sample),
                        **({} if index == 0 else _differences(sample, first)),
                    }
                    for index, sample in enumerate(samples)
                ],
            }
        )
    texts = json.dumps(
        {"systems": list(names), "sentences": sentences, **more}, ensure_ascii=False, separators=(",", ":")
    )
    return Packed(
        texts.replace("<", "\\u003c"),
        base64.b64encode(zlib.compress(b"".join(weights), 9)).decode(),
    )


def _sentence_chrf(samples: Sequence[Sample]) -> list[float | None]:
    """Return sentence chrF of each translation, 0-100; None without a reference."""
    measured = [sample for sample in samples if sample.reference is not None]
    if not measured:
        return [None] * len(samples)
    metric = chrf_metric()
    hypotheses = [sample.translation for sample in measured]
    scores = iter(
        metric.statistics(hypotheses, [(sample.reference or "", *sample.other_references) for sample in measured])
    )
    return [None if sample.reference is None else round(metric.score(next(scores)), 1) for sample in samples]


def _weights(sample: Sample, source_words: Sequence[Span]) -> NDArray[np.uint8] | None:
    """Return the weights as bytes, [J, I].

    None if there are none or too many, or if their source words differ from the source words of the first system, as
    they can in a script without spaces.
    """
    weights = sample.weights
    if weights is None or not 0 < weights.size <= LARGEST or list(sample.source_words) != list(source_words):
        return None
    assert weights.shape == (len(sample.target_words), len(sample.source_words))
    result: NDArray[np.uint8] = np.rint(255 * np.where(weights < FAINTEST, 0, np.minimum(weights, 1))).astype(np.uint8)
    return result


def _words(line: str, words: Sequence[Span]) -> list[int] | None:
    if list(words) == [match.span() for match in re.finditer("[^ ]+", line)]:
        return None
    return [bound for word in words for bound in word]


def _windows(sample: Sample) -> list[list[float] | None] | None:
    if sample.windows is None:
        return None
    rows = sample.windows.astype(float).round(2).tolist()
    return [None if np.isnan(row[0]) else row for row in rows]


def _differences(sample: Sample, first: Sample) -> dict[str, list[int]]:
    theirs, ours = differing(sample.translation, first.translation)
    return {"d": overlapping(sample.target_words, theirs), "f": overlapping(first.target_words, ours)}
