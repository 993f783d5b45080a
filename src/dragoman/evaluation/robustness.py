"""Robustness: scores of a test set whose sources are changed, and what becomes of items put into them.

Translating is the caller's: `measure_robustness` takes a function that does it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dragoman.corpora.pairs import Pair, evenly_spaced
from dragoman.evaluation.metrics import SacreBleu, bleu_metric, corpus_score, reference_list
from dragoman.evaluation.tokenizers import Tokenizer
from dragoman.text.changes import CHANGES, ITEMS, Change, Item, contains, insert, own_script_names
from dragoman.text.display import columns
from dragoman.text.loops import has_loop

SAMPLE = 400
"""Lines of a test set that are changed, evenly spread over it."""
ITEM_LINES = 50
"""Lines among these that each item is put into: the first that have a middle."""
OTHER_LINES = 1000
"""Lines of another text that are translated."""


class Translated(NamedTuple):
    """A translation of a line."""

    text: str
    finished: bool
    """False if it was truncated at the longest length."""


@dataclass(frozen=True, slots=True)
class ChangedScore:
    """BLEU, in percent, of the lines that a change alters, beside BLEU of the same lines as they are."""

    name: str
    lines: int
    """0 if it alters none; the scores are then 0."""
    bleu: float
    bleu_without_case: float
    plain: float
    plain_without_case: float


@dataclass(frozen=True, slots=True)
class ItemCount:
    """How many of the lines with an item have it in their translation."""

    name: str
    lines: int
    unchanged: int


@dataclass(frozen=True, slots=True)
class OtherText:
    """What goes wrong with lines of another kind of text."""

    lines: int
    loops: int
    """Translations that repeat a span three times or more that the source does not repeat."""
    truncated: int
    """Translations that were cut at the longest length."""


@dataclass(frozen=True, slots=True)
class Robustness:
    """Scores of changed lines, counts of items, and what goes wrong with another text."""

    sentences: int
    """Lines of the test set that were changed."""
    changes: tuple[ChangedScore, ...]
    items: tuple[ItemCount, ...]
    other: OtherText | None = None

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values; null for a change or an item without lines."""
        result: dict[str, Any] = {
            "sentences": self.sentences,
            "changes": {
                one.name: {
                    "sentences": one.lines,
                    "BLEU": one.bleu,
                    "BLEU without case": one.bleu_without_case,
                    "plain BLEU": one.plain,
                    "plain BLEU without case": one.plain_without_case,
                }
                if one.lines
                else None
                for one in self.changes
            },
            "items": {
                one.name: {"sentences": one.lines, "unchanged": one.unchanged} if one.lines else None
                for one in self.items
            },
        }
        if self.other is not None:
            result["other_text"] = {
                "sentences": self.other.lines,
                "loops": self.other.loops,
                "truncated": self.other.truncated,
            }
        return result

    def tables(self) -> list[list[tuple[str, ...]]]:
        """Return the rows of each table, with a head."""
        changes: list[tuple[str, ...]] = [("changed source", "lines", "BLEU", "plain", "without case", "plain", "kept")]
        for one in self.changes:
            figures = one.bleu, one.plain, one.bleu_without_case, one.plain_without_case
            kept = f"{100 * figures[2] / figures[3]:.0f} %" if figures[3] else ""
            shown = [*(f"{figure:.1f}" for figure in figures), kept] if one.lines else ["no such text", *[""] * 4]
            changes.append((one.name, str(one.lines), *shown))
        items: list[tuple[str, ...]] = [("item in the middle of a line", "lines", "unchanged")]
        for count in self.items:
            share = f"{100 * count.unchanged / count.lines:.0f} %" if count.lines else "no such text"
            items.append((count.name, str(count.lines), share))
        other: list[tuple[str, ...]] = []
        if self.other is not None:
            other = [
                ("other text", str(self.other.lines)),
                ("with a loop", str(self.other.loops)),
                ("cut at the longest length", str(self.other.truncated)),
            ]
        return [table for table in (changes, items, other) if table]

    def table(self) -> str:
        """Return everything as aligned columns, without a final line break."""
        return "\n\n".join(map(columns, self.tables()))


def measure_robustness(
    pairs: Sequence[Pair],
    translate: Callable[[Sequence[str]], Sequence[Translated]],
    *,
    tokenizer: Tokenizer = "13a",
    known: Mapping[str, Translated] | None = None,
    other: Sequence[str] | None = None,
) -> Robustness:
    """Translate up to `SAMPLE` changed lines of a test set, and lines with items; score and count them.

    Random numbers depend on the change and on the index of the line in the sample alone. References are changed like
    the sources where the translation is expected to be: a text in capitals is compared with references in capitals.

    Args:
        pairs: the test set.
        translate: translates lines that differ; called once.
        known: translations of lines that need not be translated again.
        other: lines of another text; all are translated.
    """
    sample = evenly_spaced(pairs, SAMPLE)
    changed = {name: _changed(name, change, sample) for name, change in CHANGES.items()}
    items = {
        **ITEMS,
        "name in the source's own script": Item(own_script_names("".join(pair.source for pair in sample))),
    }
    inserted = {name: _with_item(name, item, sample) for name, item in items.items()}
    other = other or ()
    sources = [
        *(pair.source for pair in sample),
        *(line.source for lines in changed.values() for line in lines),
        *(line for lines in inserted.values() for line, _ in lines),
        *other,
    ]
    translated = dict(known or {})
    missing = [source for source in dict.fromkeys(sources) if source not in translated]
    translated.update(zip(missing, translate(missing), strict=True))
    metrics = bleu_metric(tokenizer), bleu_metric(tokenizer, case=False)
    return Robustness(
        len(sample),
        tuple(_score(name, lines, translated, metrics) for name, lines in changed.items()),
        tuple(_count(name, items[name], lines, translated) for name, lines in inserted.items()),
        _other_text(other, translated) if other else None,
    )


class _ChangedPair(NamedTuple):
    plain: Pair
    source: str
    references: tuple[str, ...]


def _draw(name: str, index: int) -> random.Random:
    return random.Random(f"{name} {index}")


def _changed(name: str, change: Change, sample: Sequence[Pair]) -> list[_ChangedPair]:
    """The pairs whose source is altered."""
    lines = []
    for index, pair in enumerate(sample):
        source = change.change(pair.source, _draw(name, index))
        if source != pair.source:
            references = reference_list(pair.references)
            if change.both_sides:
                references = tuple(change.change(reference, _draw(name, index)) for reference in references)
            lines.append(_ChangedPair(pair, source, references))
    return lines


def _with_item(name: str, item: Item, sample: Sequence[Pair]) -> list[tuple[str, str]]:
    """Lines with an item, and the item of each."""
    lines: list[tuple[str, str]] = []
    for index, pair in enumerate(sample if item.examples else ()):
        example = _draw(name, index).choice(item.examples)
        if len(lines) < ITEM_LINES and (line := insert(pair.source, example)) is not None:
            lines.append((line, example))
    return lines


def _score(
    name: str, lines: Sequence[_ChangedPair], translated: Mapping[str, Translated], metrics: Sequence[SacreBleu]
) -> ChangedScore:
    if not lines:
        return ChangedScore(name, 0, 0.0, 0.0, 0.0, 0.0)
    texts, plain = (
        [translated[line.source].text for line in lines],
        [translated[line.plain.source].text for line in lines],
    )
    references = [line.references for line in lines]
    return ChangedScore(
        name,
        len(lines),
        *(corpus_score(metric, texts, references) for metric in metrics),
        *(corpus_score(metric, plain, [line.plain.references for line in lines]) for metric in metrics),
    )


def _count(name: str, item: Item, lines: Sequence[tuple[str, str]], translated: Mapping[str, Translated]) -> ItemCount:
    kept = sum(contains(translated[line].text, example, digits_only=item.digits_only) for line, example in lines)
    return ItemCount(name, len(lines), kept)


def _other_text(lines: Sequence[str], translated: Mapping[str, Translated]) -> OtherText:
    return OtherText(
        len(lines),
        sum(has_loop(line, translated[line].text) for line in lines),
        sum(not translated[line].finished for line in lines),
    )
