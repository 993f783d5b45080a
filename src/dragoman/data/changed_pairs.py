"""Pairs that are changed for an epoch of training: in another case, with typing errors, placeholders or new names.

A model learns from them what people write and its training text lacks. Which pairs are changed, and how, is drawn anew
in each epoch, and depends on the seed, the epoch and the pool alone; so a resumed training goes on exactly, and all
ranks see the same. A changed pair takes the place of the pair, so an epoch is as long as without.

Placeholders and invented names are put on both sides of a pair where its words translate each other. Such words are
found in the training text itself by IBM model 1 in both directions.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.ibm1 import mutual_translations, unique_links
from dragoman.config.schema import ChangesConfig
from dragoman.data.store import RaggedIds, Store
from dragoman.text.changes import CHANGES, LineChange, add_typing_errors
from dragoman.text.items import MOST, PLACEHOLDERS, Masked, Span
from dragoman.text.scripts import LETTER_WITHOUT_SPACES
from dragoman.text.segmentation.case_marks import ALL_CAPITALS, END, LOWER_CASE, TITLE_CASE
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import UNK

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
        likely = mutual_translations(pairs, *sizes, LIKELY)
        self._likely = {(left, right) for left, right in likely if left not in frequent}

    def new_word(self, draw: random.Random) -> str:
        """A word of parts of others, mostly with a capital like a name; "" where the sides have no common letters."""
        if not self._common:
            return ""
        word = "".join(_syllables(draw.choice(self._common), draw) for _ in range(draw.randint(2, 4)))
        return word if draw.random() < 0.2 else word[0].upper() + word[1:]

    def of_pair(self, source: str, target: str) -> list[tuple[Span, Span]]:
        """The spans of words that translate each other and that no other words of the pair do."""
        left, right = words_of(source), words_of(target)
        source_ids, target_ids = (
            [own.get(line[start:end].lower(), -1) for start, end in spans]
            for own, line, spans in zip(self._words, (source, target), (left, right), strict=True)
        )
        return [(left[i], right[j]) for i, j in unique_links(source_ids, target_ids, self._likely)]


def _syllables(word: str, draw: random.Random) -> str:
    start = draw.randrange(len(word) - 1)
    return word[start : start + draw.randint(2, 3)]


def words_of(line: str) -> list[Span]:
    """The spans of the words of a line, without punctuation; none of a script that does not separate them."""
    return [match.span() for match in _WORD.finditer(line) if not LETTER_WITHOUT_SPACES.search(match[0])]


def _sample(store: Store, source: TextSide, target: TextSide) -> Iterator[tuple[str, str]]:
    step = max(1, len(store) // SAMPLE)
    for row in islice(range(0, len(store), step), SAMPLE):
        source_ids, target_ids = store.pair(row)
        yield source.decode_masked(source_ids), target.decode_masked(target_ids)


@dataclass(frozen=True, slots=True)
class Kind:
    """A way to change a pair."""

    change: LineChange
    """Of the source, and of the target without case marks."""
    marks: tuple[str, str] | None
    """Case marks that write the target so; None where the target stays as it is."""


LIST_MARKS = 0.15
"""Share of the pairs with placeholders that have one before all words, where the mark of a list stands."""


@dataclass(frozen=True, slots=True)
class LinkedKind:
    """A way to change words of a source and those that translate them, to the same text."""

    most: int
    """The largest number of words."""


KINDS: Mapping[str, Kind | LinkedKind] = {
    "capitals": Kind(CHANGES["ALL CAPITALS"].change, (ALL_CAPITALS, END)),
    "title_case": Kind(CHANGES["Title Case"].change, (TITLE_CASE, END)),
    "lower_case": Kind(CHANGES["lower case"].change, (LOWER_CASE, "")),
    "typing_errors": Kind(add_typing_errors, None),
    "placeholders": LinkedKind(MOST),
    "names": LinkedKind(2),
}
"""By the keys of `ChangesConfig`."""


class ChangedPairs(NamedTuple):
    """P pairs of a store, some of them changed."""

    numbers: NDArray[np.int64]
    """[P] the number of each in the store."""
    source: RaggedIds
    target: RaggedIds
    changed: NDArray[np.bool_]
    """[P] which of them are changed."""


class PairChanges:
    """Draws which pairs of a pool are changed, and changes them."""

    def __init__(self, config: ChangesConfig, source: TextSide, target: TextSide, seed: int) -> None:
        self._shares = {name: getattr(config, name) for name in KINDS if getattr(config, name)}
        self._sides = source, target
        self._seed = seed
        self._links: WordLinks | None = None

    def change(self, store: Store, rows: NDArray[np.int64], epoch: int, pool: int) -> ChangedPairs:
        """Change some of the pairs `rows` [P] of a store, which are a pool of an epoch.

        A pair stays as it is where the change alters nothing, or needs a segment that the model does not know.
        """
        kinds, seeds = self._draw(len(rows), epoch, pool)
        names = list(self._shares)
        if self._links is None and any(isinstance(KINDS[name], LinkedKind) for name in names):
            self._links = WordLinks(store, *self._sides)
        changed: dict[int, tuple[list[int], list[int]]] = {}
        for index, (kind, seed) in enumerate(zip(kinds.tolist(), seeds.tolist(), strict=True)):
            if kind < len(names):
                ids = store.pair(int(rows[index]))
                if (pair := self._changed(names[kind], *ids, random.Random(seed))) is not None:
                    changed[index] = pair
        return ChangedPairs(
            rows,
            _with_rows(store.source, rows, {index: source for index, (source, _) in changed.items()}),
            _with_rows(store.target, rows, {index: target for index, (_, target) in changed.items()}),
            np.isin(np.arange(len(rows)), list(changed)),
        )

    def count(self, pairs: int, pool_rows: int) -> dict[str, int]:
        """How many of the pairs of the first epoch are drawn for each change."""
        pools = [min(pool_rows, pairs - start) for start in range(0, pairs, pool_rows)]
        kinds = np.concatenate([self._draw(rows, 0, pool)[0] for pool, rows in enumerate(pools)])
        return {name: int((kinds == kind).sum()) for kind, name in enumerate(self._shares)}

    def _draw(self, rows: int, epoch: int, pool: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """[rows] the index of each pair's change in the shares, beyond them for none, and [rows] a seed for it."""
        draw = np.random.Generator(np.random.PCG64([self._seed, epoch, pool, 2]))
        bounds = np.cumsum(list(self._shares.values()))
        return np.searchsorted(bounds, draw.random(rows), side="right"), draw.integers(1 << 62, size=rows)

    def _changed(
        self, name: str, source: list[int], target: list[int], draw: random.Random
    ) -> tuple[list[int], list[int]] | None:
        """The ids of a changed pair; None where it stays as it is."""
        kind = KINDS[name]
        if isinstance(kind, LinkedKind):
            new_source, new_target = self._with_new_words(name, kind.most, source, target, draw)
        else:
            new_source = self._rewritten(self._sides[0], kind, source, draw)
            new_target = target if kind.marks is None else self._target(kind, kind.marks, target, draw)
        if new_source == source:
            return None
        if UNK in chain(source, target, new_source, new_target) or not new_source or not new_target:
            return None
        return new_source, new_target

    def _target(self, kind: Kind, marks: tuple[str, str], ids: list[int], draw: random.Random) -> list[int]:
        """The ids of a target in the case of its changed source: with case marks, the ids of the target between marks.

        So a model that writes in capitals has learnt all but the two marks from every pair.
        """
        side = self._sides[1]
        if marks[0] not in side.vocabulary:
            return self._rewritten(side, kind, ids, draw)
        text = side.decode(ids)
        if text.upper() == text.lower():  # a script without case
            return ids
        begin, *end = side.vocabulary.ids(filter(None, marks))
        return [begin, *ids, *end]

    @staticmethod
    def _rewritten(side: TextSide, kind: Kind, ids: list[int], draw: random.Random) -> list[int]:
        return _encoded(side, kind.change(side.decode_masked(ids), draw))

    def _with_new_words(
        self, name: str, most: int, source: list[int], target: list[int], draw: random.Random
    ) -> tuple[list[int], list[int]]:
        """The ids of a pair with placeholders or names at words that translate each other, at most so many."""
        assert self._links is not None
        lines = [side.decode_masked(ids) for side, ids in zip(self._sides, (source, target), strict=True)]
        links = self._links.of_pair(*lines)
        if any(placeholder in lines[0] for placeholder in PLACEHOLDERS):
            return source, target
        if name == "placeholders" and draw.random() < LIST_MARKS:
            lines = [f"{PLACEHOLDERS[0]} {line}" for line in lines]
            return _encoded(self._sides[0], lines[0]), _encoded(self._sides[1], lines[1])
        count = min(_geometric(draw, most), len(links))
        if not count:
            return source, target
        chosen = sorted(draw.sample(links, count))
        if name == "names":
            new = [self._links.new_word(draw) for _ in chosen]
        else:
            first = draw.choice((0, draw.randrange(MOST - count + 1)))
            new = list(PLACEHOLDERS[first : first + count])
        if not all(new):
            return source, target
        # A placeholder also stands before a word, as a link does that is put into a sentence.
        kept = [name == "placeholders" and draw.random() < 0.5 for _ in chosen]
        for side in (0, 1):
            lines[side] = _with_words(lines[side], [link[side] for link in chosen], new, kept)
        return _encoded(self._sides[0], lines[0]), _encoded(self._sides[1], lines[1])


def _with_words(line: str, spans: Sequence[Span], words: Sequence[str], kept: Sequence[bool]) -> str:
    """The line with other words at the spans, or before those that are `kept`."""
    for (start, end), word, keeps in sorted(zip(spans, words, kept, strict=True), reverse=True):
        line = f"{line[:start]}{word} {line[start:]}" if keeps else f"{line[:start]}{word}{line[end:]}"
    return line


def _encoded(side: TextSide, text: str) -> list[int]:
    """The ids of text whose items are placeholders."""
    return side.encode_masked(Masked(text, None)).ids


def _geometric(draw: random.Random, most: int) -> int:
    """A number from 1 to `most`, each half as probable as the one before."""
    count = 1
    while count < most and draw.random() < 0.5:
        count += 1
    return count


def _with_rows(side: RaggedIds, rows: NDArray[np.int64], changed: dict[int, list[int]]) -> RaggedIds:
    """The lines `rows` of a side, with the `changed` ones at their indices."""
    lines = [side.ids[start : start + length] for start, length in zip(*side.spans_of(rows), strict=True)]
    for index, ids in changed.items():
        lines[index] = np.array(ids, side.ids.dtype)
    offsets = np.zeros(len(lines) + 1, np.int64)
    np.cumsum([len(line) for line in lines], out=offsets[1:])
    return RaggedIds(np.concatenate(lines), offsets)
