"""The preset for a training text where none is named: `characters` for single words, `standard` for sentences.

The text is that of single words, such as pronunciations, inflected forms or transliterations, if its first pairs have
tags after a tab (see `text.segmentation.characters`), or if both sides are words or symbols:

    word        one word, or several in a tenth of the lines; up to `PHRASE` in the mean where the target is symbols
    symbols     tokens of at most `SYMBOL` letters between spaces, marks not counted: phones, or letters set apart

A side is neither if more than a tenth of its lines end as sentences do, or if its lines are longer than `LONGEST`
symbols in the mean: words without spaces may be a sentence of Chinese, Japanese or Thai.

Thousands of single words get fewer epochs than `characters` has for hundreds, so that their training takes no longer.

Sentences with very many different characters, such as those of Chinese, get a larger vocabulary than that of
`standard`, which could not even hold their characters; texts of few pairs get a smaller one, whose segments are met
more often.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.pair_files import files_of
from dragoman.corpora.pairs import Corpora, Pair
from dragoman.text.words import words_in

SENTENCES, WORDS = "standard", "characters"
"""The presets to choose from."""

SAMPLE = 2000
"""Pairs that are looked at."""

SYMBOL = 4
"""Letters of the longest phone or symbol: AH0, t͡ɕʰ."""

LONGEST = 20.0
"""A line with at most so many symbols or letters in the mean counts as a word."""

PHRASE = 3.0
"""A line with at most so many words in the mean counts as a word if it has a pronunciation: the syllables of
Vietnamese."""

WORDS_SEEN = 120_000
"""Single words that a training sees, repetitions counted: 60 epochs of 2,000 pairs, 30 of 4,000."""

FEWEST_EPOCHS, MOST_EPOCHS = 16, 60
"""Epochs of single words: fewest, for `MANY_WORDS` and more, and most, as in the preset."""

MANY_WORDS = WORDS_SEEN // FEWEST_EPOCHS
"""Pairs of single words from which on the epochs are fewest."""

CHARACTERS = 1500
"""Different characters in the first pairs from which on sentences get the larger vocabulary."""

LARGER_VOCABULARY = 8000

FEW = 10_000
"""Pairs up to which sentences get the smaller vocabulary: between 3,000 pairs, where it was better, and 29,000."""

SMALLER_VOCABULARY = 3000

USUAL = f"preset: {SENTENCES}, because the text has sentences, and more than {FEW:,} pairs"
"""The line for the usual case, which is printed only where it is asked for."""

EXCEPTIONS = 0.1
"""Share of the lines that may be exceptions."""

_SENTENCE_ENDS = tuple(".!?…。！？।។")

Side = Literal["word", "symbols"]


class PresetChoice(NamedTuple):
    """The preset for a text."""

    preset: str
    settings: Sequence[str] = ()
    """Settings KEY=VALUE in which the text differs from the preset."""
    line: str = ""
    """A line to print; empty for sentences, the usual case."""


def choose_preset(corpora: Corpora) -> PresetChoice:
    """Choose the preset for training on these corpora by their first pairs.

    Raises:
        InputError: the files cannot be read.
    """
    if not corpora or not all(path.is_file() for path in files_of(corpora)):
        return PresetChoice(SENTENCES)  # training refuses what is no file
    read = read_pairs(corpora)
    pairs = list(islice(read, SAMPLE))
    sources = [pair.source.partition("\t") for pair in pairs]
    target = side_of([pair.target for pair in pairs])
    source = side_of([word for word, _, _ in sources], PHRASE if target == "symbols" else None)
    tagged = _share(bool(tags) for _, _, tags in sources) >= 1 - EXCEPTIONS
    if tagged:
        source, target = source or "word", target or "word"
    if source is None or target is None:
        return _for_sentences(pairs, read)
    return _for_words(source, target, tagged=tagged, count=_count(pairs, read, MANY_WORDS))


def _for_words(source: Side, target: Side, *, tagged: bool, count: int) -> PresetChoice:
    """The segmentation of each side, and the epochs for the number of pairs.

    Args:
        count: the number of pairs, or `MANY_WORDS` if there are more.
    """
    settings = [
        f"text.{name}.segmentation=whitespace"
        for name, side in (("source", source), ("target", target))
        if side == "symbols"
    ]
    named = {"word": "letters", "symbols": "symbols between spaces"}
    line = (
        f"preset: {WORDS}, because the text has single words (source: {named[source]}{' and tags' if tagged else ''}, "
        f"target: {named[target]}); "
        f"--preset {SENTENCES} is for sentences"
    )
    epochs = WORDS_SEEN // count
    if epochs < MOST_EPOCHS:
        settings.append(f"training.epochs={epochs}")
        line += f"; {epochs} epochs, because there are {count:,} pairs{' or more' * (count == MANY_WORDS)}"
    return PresetChoice(WORDS, settings, line)


def _for_sentences(pairs: Sequence[Pair], others: Iterator[Pair]) -> PresetChoice:
    """The vocabulary for sentences: the first pairs, and those that follow."""
    characters = len({character for pair in pairs for line in (pair.source, pair.target) for character in line})
    if characters >= CHARACTERS:
        first = f"the first {len(pairs):,} pairs have {characters:,} different characters"
        return _with_vocabulary(LARGER_VOCABULARY, first)
    if _count(pairs, others, FEW + 1) > FEW:
        return PresetChoice(SENTENCES)
    return _with_vocabulary(SMALLER_VOCABULARY, f"the text has no more than {FEW:,} pairs")


def _count(pairs: Sequence[Pair], others: Iterator[Pair], most: int) -> int:
    """The number of pairs, these and those that follow; `most` if there are more, which are not read."""
    return len(pairs) + sum(1 for _ in islice(others, most - len(pairs)))


def _with_vocabulary(size: int, reason: str) -> PresetChoice:
    return PresetChoice(
        SENTENCES,
        [f"text.{side}.vocabulary={size}" for side in ("source", "target")],
        f"vocabulary: {size:,}, because {reason}; --preset {SENTENCES} has its own",
    )


def side_of(lines: Sequence[str], phrase: float | None = None) -> Side | None:
    """Return the kind of the lines of one side; None for sentences.

    Args:
        phrase: words of a line in the mean that count as one word; None: nearly every line must be a single word.
    """
    split = [words for words in map(words_in, lines) if words]
    if not split or _share(words[-1].endswith(_SENTENCE_ENDS) for words in split) > EXCEPTIONS:
        return None
    symbols = _share(all(_letters(word) <= SYMBOL for word in words) for words in split) >= 1 - EXCEPTIONS
    if symbols and _share(len(words) > 1 for words in split) > 1 / 2:
        return "symbols" if _mean(map(len, split)) <= LONGEST else None
    if phrase is None:
        alone = _share(len(words) == 1 for words in split) >= 1 - EXCEPTIONS
    else:
        alone = _mean(map(len, split)) <= phrase
    return "word" if alone and _mean(_letters("".join(words)) for words in split) <= LONGEST else None


def _letters(word: str) -> int:
    return sum(not unicodedata.category(character).startswith("M") for character in word)


def _share(facts: Iterable[bool]) -> float:
    return _mean(map(float, facts))


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)
