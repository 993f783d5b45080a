"""Words of a pair that translate each other, found in the training text itself by IBM model 1 in both directions.

They are where placeholders and invented names are put on both sides of a pair (data/changed_pairs.py).
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice

from dragoman.alignment.ibm1 import TranslationTable, train_ibm1
from dragoman.data.store import Store
from dragoman.text.scripts import LETTER_WITHOUT_SPACES
from dragoman.text.side import TextSide

Span = tuple[int, int]

SAMPLE = 10_000
"""Pairs that the probabilities are learnt from, spread over the training text."""
LONGEST = 40
"""Words of a side of such a pair; the candidate links of a pair grow with the square."""
FREQUENT = 40
"""The most frequent words of the sources have no links: a name does not stand where an article or preposition does."""
LIKELY = 0.2
"""Probability from which on a word translates another, in both directions."""
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


class WordLinks:
    """Links words of pairs."""

    def __init__(self, store: Store, source: TextSide, target: TextSide) -> None:
        """Learn from pairs of a store."""
        words: tuple[dict[str, int], dict[str, int]] = ({}, {})
        pairs = []
        for lines in _sample(store, source, target):
            sides = [[line[start:end].lower() for start, end in words_of(line)] for line in lines]
            if max(map(len, sides)) <= LONGEST:
                source_ids, target_ids = (
                    [own.setdefault(word, len(own)) for word in side] for own, side in zip(words, sides, strict=True)
                )
                pairs.append((source_ids, target_ids))
        self._words = words
        count = Counter(chain.from_iterable(source for source, _ in pairs))
        frequent = {word for word, _ in count.most_common(FREQUENT)}
        alphabets = [set("".join(own)) for own in words]
        # Words that both sides could have; none where they are written in different scripts.
        self._common = [
            word for word in words[0] if len(word) >= 4 and word.isalpha() and alphabets[1].issuperset(word)
        ]
        sizes = len(words[0]), len(words[1])
        forward = _likely(train_ibm1(pairs, *sizes))
        backward = _likely(train_ibm1([(right, left) for left, right in pairs], *reversed(sizes)))
        self._likely = {(left, right) for left, right in forward if (right, left) in backward and left not in frequent}

    def new_word(self, draw: random.Random) -> str:
        """A word of parts of others, mostly with a capital like a name; "" where the sides have no common letters."""
        if not self._common:
            return ""
        word = "".join(_syllables(draw.choice(self._common), draw) for _ in range(draw.randint(2, 4)))
        return word if draw.random() < 0.2 else word[0].upper() + word[1:]

    def of_pair(self, source: str, target: str) -> list[tuple[Span, Span]]:
        """The spans of words that translate each other and that no other words of the pair do."""
        left, right = words_of(source), words_of(target)
        ids = [
            [own.get(line[start:end].lower(), -1) for start, end in spans]
            for own, line, spans in zip(self._words, (source, target), (left, right), strict=True)
        ]
        links = [(i, j) for i, s in enumerate(ids[0]) for j, t in enumerate(ids[1]) if (s, t) in self._likely]
        sources, targets = Counter(i for i, _ in links), Counter(j for _, j in links)
        return [(left[i], right[j]) for i, j in links if sources[i] == 1 and targets[j] == 1]


def _may_be_a_part(word: str) -> bool:
    return len(word) >= 4 and word.isalpha()


def _syllables(word: str, draw: random.Random) -> str:
    start = draw.randrange(len(word) - 1)
    return word[start : start + draw.randint(2, 3)]


def words_of(line: str) -> list[Span]:
    """The spans of the words of a line, without punctuation; none of a script that does not separate them."""
    return [match.span() for match in _WORD.finditer(line) if not LETTER_WITHOUT_SPACES.search(match[0])]


def _sample(store: Store, source: TextSide, target: TextSide) -> Iterator[tuple[str, str]]:
    step = max(1, len(store) // SAMPLE)
    for row in islice(range(0, len(store), step), SAMPLE):
        yield source.decode_masked(store.source_ids(row)), target.decode_masked(store.target_ids(row))


def _likely(table: TranslationTable) -> set[tuple[int, int]]:
    likely = table.probabilities >= LIKELY
    return set(zip(table.source[likely].tolist(), table.target[likely].tolist(), strict=True))
