"""Words and subwords of a corpus: how lines are split to be counted, and how much of a text a vocabulary covers.

Words are split by one fast rule for all languages, which is enough for counting.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import accumulate, chain, islice

import numpy as np
from msgspec import Struct

from dragoman.config.schema import CleaningConfig
from dragoman.corpora.pairs import Pair
from dragoman.text.scripts import LETTERS_WITHOUT_SPACES, character_class
from dragoman.text.segmentation.subwords import SubwordSegmentation, train_model

_SIGNS_END = 0x20000
"""All punctuation and symbols lie below this code point."""


def split_words(line: str) -> list[str]:
    """Split at spaces and punctuation; each punctuation mark is a word, and so is each letter of a script that is
    written without spaces."""
    return [word for stretch in line.split() for word in _cut(stretch)]


def folded_words(line: str) -> frozenset[str]:
    """Return the distinct words, case-folded and without punctuation."""
    return frozenset(word for stretch in line.split() for word in _folded(stretch))


# The same stretches occur again and again; caching them makes a line ten times as fast.
@lru_cache(maxsize=1 << 17)
def _cut(stretch: str) -> tuple[str, ...]:
    return tuple(_pattern().findall(stretch))


@lru_cache(maxsize=1 << 17)
def _folded(stretch: str) -> tuple[str, ...]:
    return tuple(word for word in _cut(stretch.casefold()) if len(word) > 1 or word.isalnum())


@cache
def _pattern() -> re.Pattern[str]:
    signs = [code for code in range(_SIGNS_END) if unicodedata.category(chr(code))[0] in "PS"]
    alone = character_class(signs) + LETTERS_WITHOUT_SPACES
    return re.compile(rf"[^{alone}]+|[{alone}]")


# Coverage ------------------------------------------------------------------------------------------------------------

SIZES = (1_000, 2_000, 5_000, 10_000, 15_000, 20_000, 30_000, 50_000, 80_000, 160_000, 500_000)
"""Vocabulary sizes that are tried, up to the number of distinct words; 15,000 is that of Cho et al. 2014, 30,000 of
Bahdanau et al. 2015, 50,000 of Luong et al. 2015, 160,000 and 80,000 of Sutskever et al. 2014."""


class Point(Struct, frozen=True):
    """A vocabulary size, and the share of running words in that vocabulary, from 0 to 1."""

    size: int
    share: float


class VocabularyCoverage(Struct, frozen=True):
    """Counts of the words of one side, and its coverage curve."""

    running: int
    different: int
    once: int
    """Distinct words that occur once."""
    curve: list[Point]
    """By ascending size; the last point is all words."""
    held_out: dict[str, list[Point]]
    """The curve of the same vocabularies on other sets, by their names."""

    @property
    def singleton_share(self) -> float:
        """The share of running words that occur once."""
        return self.once / max(1, self.running)


def vocabulary_coverage(counts: Counter[str], held_out: dict[str, Counter[str]]) -> VocabularyCoverage:
    """Count coverage of `counts` and of `held_out`; words of equal counts are in code point order, as in training."""
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    sizes = [*(size for size in SIZES if size < len(ordered)), len(ordered)]
    return VocabularyCoverage(
        counts.total(),
        len(ordered),
        sum(count == 1 for count in counts.values()),
        _curve(ordered, counts, sizes),
        {name: _curve(ordered, other, sizes) for name, other in held_out.items()},
    )


def _curve(ordered: list[str], counts: Counter[str], sizes: list[int]) -> list[Point]:
    covered = [0, *accumulate(counts[word] for word in ordered)]
    return [Point(size, covered[size] / max(1, counts.total())) for size in sizes]


# Subwords ------------------------------------------------------------------------------------------------------------

SAMPLE = 100_000
"""Pairs, evenly spread over the corpus, from which subwords are learnt and in which they are counted."""


class SubwordFacts(Struct, frozen=True):
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
