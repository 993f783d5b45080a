"""Statistics of a corpus in subwords that are learnt from it as training would learn them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from dragoman.config.schema import CleaningConfig
from dragoman.inspection.vocabulary_coverage import VocabularyCoverage, vocabulary_coverage
from dragoman.text.corpus import Pair
from dragoman.text.segmentation.subwords import SubwordSegmentation, train_model

SAMPLE = 100_000
"""Pairs, evenly spread over the corpus, from which subwords are learnt and in which they are counted."""


class SubwordFacts(NamedTuple):
    """Counts in a sample of pairs; EOS is not counted."""

    pairs: int
    mean_source: float
    """Subwords per line."""
    mean_target: float
    too_long: float
    """Share of the pairs with a side of more subwords than training accepts by default."""
    source: VocabularyCoverage
    target: VocabularyCoverage


def subword_facts(pairs: Iterable[Pair], total: int, vocabulary: int) -> SubwordFacts:
    """Learn byte pair encoding on both sides together, with `vocabulary` entries, and count with it.

    Raises:
        ConfigError: the vocabulary is too small for the characters of the text.
        InputError: every line is empty.
    """
    sample = list(islice(pairs, 0, None, max(1, total // SAMPLE)))
    model = SubwordSegmentation(
        train_model((line for pair in sample for line in (pair.source, pair.target)), "bpe", vocabulary)
    )
    source = [model.segment(pair.source).pieces for pair in sample]
    target = [model.segment(pair.target).pieces for pair in sample]
    lengths = np.array([list(map(len, source)), list(map(len, target))])
    return SubwordFacts(
        pairs=len(sample),
        mean_source=float(lengths[0].mean()),
        mean_target=float(lengths[1].mean()),
        too_long=float((lengths.max(axis=0) > CleaningConfig().max_length).mean()),
        source=vocabulary_coverage(Counter(chain.from_iterable(source)), {}),
        target=vocabulary_coverage(Counter(chain.from_iterable(target)), {}),
    )
