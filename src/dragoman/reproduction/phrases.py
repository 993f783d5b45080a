"""Source phrases with their best targets by the phrase table and by a network (Cho et al. 2014, section 4.3).

    DIR/FAMILY/smt/phrases        long source phrases of the training text, frequent and rare ones, one a line
    DIR/FAMILY/smt/phrases.tsv    each with its group and how often it occurs
    DIR/FAMILY/smt/phrases.map    frequent ones for a map

Statistics of a phrase: [words of the best target, 1], the mean of equally good ones, [0, 0] where there is no choice;
[samples that the table has, samples]; [samples that the training text has, samples]. Those of a phrase pair: [1, x, y,
x * x, y * y, x * y] with x the logarithm of p(target | source) in the table and y that by the network.
"""

from __future__ import annotations

import math
import os
import random
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dragoman.reproduction.corpus import Corpus
from dragoman.reproduction.decisions import Array
from dragoman.reproduction.experiment import PhraseBasedRow
from dragoman.reproduction.plan import MAPPED_PHRASES, PHRASES, Plan
from dragoman.scoring.nbest import by_sentence, read_nbest
from dragoman.scoring.phrases import Row, parse_row, read_table
from dragoman.smt.features import LOWEST, TRANSLATION_SCORES
from dragoman.text.lines import read_lines, write_lines
from dragoman.text.words import words_in

LENGTHS = (4, 5)
"""Words of a long phrase: more than three (Cho et al. 2014, section 4.3)."""
RARE = 3
"""Occurrences of a rare phrase in the text of the user; the frequent ones are among the first hundredth."""
CHOSEN, MAPPED = 100, 60
"""Phrases of each group, and those of a map."""
PAIRS = 4000
"""Phrase pairs whose scores are compared."""
BEST, BEST_SAMPLES = 3, 5
"""Targets of the table and of the network, and distinct samples, that are shown of a phrase (tables 2 and 3), best
first."""
_COUNTED = 1_000_000
"""Most occurrences that are counted; of a longer text a random part of the distinct phrases is counted."""
_TARGET_GIVEN_SOURCE = 2
"""Index of p(target | source) among the scores of the table."""
FREQUENT_GROUP, RARE_GROUP = "frequent", "rare"
_DESCRIBED = PHRASES.with_suffix(".tsv")


class ChosenPhrase(NamedTuple):
    """A source phrase, and how often it occurs in the training text."""

    text: str
    group: str
    occurrences: int


class ShownPhrase(NamedTuple):
    """A source phrase with its best targets, and distinct samples with their numbers."""

    source: str
    group: str
    occurrences: int
    table: list[str]
    network: list[str]
    samples: list[tuple[str, int]]


def write_phrases(plan: Plan) -> None:
    """Choose phrases of the tokenised training text, unless that was done before."""
    about = plan.folder / _DESCRIBED
    if about.exists():
        return
    about.parent.mkdir(parents=True, exist_ok=True)
    chosen = _choose(plan.corpus)
    frequent = [phrase.text for phrase in chosen if phrase.group == FREQUENT_GROUP]
    write_lines(plan.folder / PHRASES, [phrase.text for phrase in chosen])
    write_lines(plan.folder / MAPPED_PHRASES, frequent[:MAPPED])
    write_lines(about, [f"{phrase.text}\t{phrase.group}\t{phrase.occurrences}" for phrase in chosen])


def read_phrases(plan: Plan) -> list[ChosenPhrase]:
    """The chosen phrases."""
    rows = (line.split("\t") for line in read_lines(plan.folder / _DESCRIBED))
    return [ChosenPhrase(text, group, int(count)) for text, group, count in rows]


def _choose(corpus: Corpus) -> list[ChosenPhrase]:
    """`CHOSEN` phrases without punctuation at random from the most frequent hundredth, and as many rare ones."""
    lines = [words_in(line) for line in read_lines(corpus.words_path("train", "source"))]
    occurrences = sum(max(0, len(line) - size + 1) for line in lines for size in LENGTHS)
    share = 1 + occurrences // _COUNTED
    counts: Counter[str] = Counter()
    for line in lines:
        for size in LENGTHS:
            for start in range(len(line) - size + 1):
                phrase = " ".join(line[start : start + size])
                if zlib.crc32(phrase.encode()) % share == 0:
                    counts[phrase] += 1
    draw = random.Random(1)
    known = [phrase for phrase in sorted(counts) if all(word.isalpha() for word in phrase.split())]
    ranked = sorted(draw.sample(known, len(known)), key=lambda phrase: -counts[phrase])
    top = ranked[: max(CHOSEN, len(ranked) // 100)]
    frequent = draw.sample(top, min(CHOSEN, len(top)))
    rest = sorted(set(ranked) - set(frequent))
    wanted = RARE * corpus.repeats
    rare = sorted(draw.sample(rest, len(rest)), key=lambda phrase: abs(counts[phrase] - wanted))[:CHOSEN]
    groups = ((FREQUENT_GROUP, frequent), (RARE_GROUP, rare))
    return [ChosenPhrase(phrase, group, counts[phrase]) for group, phrases in groups for phrase in phrases]


class _Table(NamedTuple):
    """The rows that are kept of a phrase table."""

    rows: dict[str, list[Row]]
    """Chosen phrase -> its rows."""
    pairs: list[Row]
    """Random rows, the same ones for every table with the same phrase pairs."""


def _table(plan: Plan, row: PhraseBasedRow, seed: int) -> _Table:
    """The kept rows of the phrase table of a system; they are stored in a file, since the table may be deleted."""
    path = plan.folder / plan.system(row, seed) / "phrase-table.gz"
    kept = plan.folder / "systems" / f"{plan.system(row, seed).name}.rows.xz"
    if not path.exists() and kept.exists():
        count, *lines = read_lines(kept)
        rows = [parse_row(line, str(kept)) for line in lines]
        chosen: dict[str, list[Row]] = {phrase.text: [] for phrase in read_phrases(plan)}
        for one in rows[int(count) :]:
            chosen[one.source].append(one)
        return _Table(chosen, rows[: int(count)])
    table = _read_table(path, os.stat(path).st_mtime_ns, frozenset(phrase.text for phrase in read_phrases(plan)))
    if not kept.exists():
        rows = [*table.pairs, *(one for own in table.rows.values() for one in own)]
        write_lines(kept, [str(len(table.pairs)), *(one.line for one in rows)])
    return table


@lru_cache(maxsize=8)
def _read_table(path: Path, version: int, phrases: frozenset[str]) -> _Table:
    """Read a table; `version` changes with the file."""
    draw = random.Random(1)
    rows: dict[str, list[Row]] = {phrase: [] for phrase in phrases}
    pairs: list[Row] = []
    for number, row in enumerate(read_table(path)):
        if row.source in rows:
            rows[row.source].append(row)
        if len(pairs) < PAIRS:
            pairs.append(row)
        elif (index := draw.randrange(number + 1)) < PAIRS:
            pairs[index] = row
    return _Table(rows, pairs)


def phrase_statistics(plan: Plan, metric: str, name: str, row: PhraseBasedRow, seed: int) -> Array:
    """[N, F] the statistics of a metric of phrases, for each chosen phrase or for each phrase pair."""
    table = _table(plan, row, seed)
    if metric == "score_correlation":
        return np.array([(1.0, x, y, x * x, y * y, x * y) for x, y in _log_scores(table.pairs)])
    phrases = read_phrases(plan)
    if metric == "preferred_words":
        column = TRANSLATION_SCORES if row.table else _TARGET_GIVEN_SOURCE
        return np.array([_preferred_words(table.rows[phrase.text], column) for phrase in phrases])
    samples = _samples(plan, name, seed)
    if metric == "samples_in_table":
        known = [{row.target for row in table.rows[phrase.text]} for phrase in phrases]
    else:
        known = [_occurring(plan, {text for one in samples for text in one})] * len(phrases)
    return np.array(
        [
            (sum(number for text, number in one.items() if text in targets), one.total())
            for one, targets in zip(samples, known, strict=True)
        ],
        dtype=np.float64,
    )


def log_scores(plan: Plan, row: PhraseBasedRow, seed: int) -> list[tuple[float, float]]:
    """log p(target | source) of random phrase pairs by the table and by the first model of its row."""
    return _log_scores(_table(plan, row, seed).pairs)


def _log_scores(rows: Iterable[Row]) -> list[tuple[float, float]]:
    return [(_log(row.scores[_TARGET_GIVEN_SOURCE]), _log(row.scores[TRANSLATION_SCORES])) for row in rows]


def _log(probability: float) -> float:
    return max(math.log(probability), LOWEST) if probability > 0 else LOWEST


def _preferred_words(rows: Sequence[Row], column: int) -> tuple[float, float]:
    if len({row.target for row in rows}) < 2:
        return (0.0, 0.0)
    best = max(row.scores[column] for row in rows)
    lengths = [len(row.target.split()) for row in rows if row.scores[column] == best]
    return (sum(lengths) / len(lengths), 1.0)


def _samples(plan: Plan, name: str, seed: int) -> list[Counter[str]]:
    """The samples of each chosen phrase, best scores first, with their counts."""
    samples: list[Counter[str]] = [Counter() for _ in read_phrases(plan)]
    for entries in by_sentence(read_nbest(plan.folder / plan.output("samples", name, seed))):
        best_first = sorted(entries, key=lambda entry: -entry.total)
        samples[entries[0].sentence] = Counter(entry.text for entry in best_first)
    return samples


def _occurring(plan: Plan, texts: set[str]) -> set[str]:
    """The texts that occur in the tokenised target side of the training set."""
    sizes = {len(text.split()) for text in texts} - {0}
    occurring: set[str] = set()
    for line in read_lines(plan.corpus.words_path("train", "target")):
        words = words_in(line)
        for size in sizes:
            occurring.update(
                phrase
                for start in range(len(words) - size + 1)
                if (phrase := " ".join(words[start : start + size])) in texts
            )
    return occurring


def shown_phrases(plan: Plan, name: str, row: PhraseBasedRow, seed: int) -> list[ShownPhrase]:
    """The first phrases of each group that have `BEST` targets or more, with targets and samples."""
    table, phrases = _table(plan, row, seed), read_phrases(plan)
    samples = _samples(plan, name, seed)
    shown: list[ShownPhrase] = []
    for phrase, drawn in zip(phrases, samples, strict=True):
        rows = table.rows[phrase.text]
        others = sum(one.group == phrase.group for one in shown)
        if len({one.target for one in rows}) < BEST or others >= plan.experiment.samples.phrases:
            continue
        of_table, of_network = (
            [one.target for one in sorted(rows, key=lambda one: -one.scores[column])][:BEST]
            for column in (_TARGET_GIVEN_SOURCE, TRANSLATION_SCORES)
        )
        shown.append(ShownPhrase(*phrase, of_table, of_network, list(drawn.items())[:BEST_SAMPLES]))
    return shown
