"""Alignment quality against gold links: precision, recall, F and the alignment error rate (Och and Ney 2003).

With hypothesis links A, sure gold links S and possible gold links P (S is a subset of P), summed over all sentences:

    precision = |A ∩ P| / |A|,  recall = |A ∩ S| / |S|,  AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.alignment.formats import MarkedLinks
from dragoman.errors import InputError
from dragoman.text.links import Link


@dataclass(frozen=True, slots=True)
class Agreement:
    """Corpus counts, and the measures computed from them, 0-1; a measure whose denominator is 0 is NaN."""

    sentences: int
    links: int
    """|A|, links of the hypothesis."""
    sure: int
    """|S|, sure gold links."""
    possible: int
    """|P|, possible gold links, sure ones included."""
    links_sure: int
    """|A ∩ S|."""
    links_possible: int
    """|A ∩ P|."""

    @property
    def precision(self) -> float:
        """|A ∩ P| / |A|."""
        return _share(self.links_possible, self.links)

    @property
    def recall(self) -> float:
        """|A ∩ S| / |S|."""
        return _share(self.links_sure, self.sure)

    @property
    def aer(self) -> float:
        """Alignment error rate: lower is better."""
        return 1 - _share(self.links_sure + self.links_possible, self.links + self.sure)

    @property
    def f(self) -> float:
        """Harmonic mean of precision and recall; equals 1 - AER if all gold links are sure."""
        precision, recall = self.precision, self.recall
        return _share(2 * precision * recall, precision + recall)

    def to_json(self) -> dict[str, Any]:
        """Measures and counts as JSON values; NaN becomes null."""
        figures = {"aer": self.aer, "precision": self.precision, "recall": self.recall, "f": self.f}
        return {
            **{name: None if math.isnan(value) else value for name, value in figures.items()},
            "sentences": self.sentences,
            "links": self.links,
            "sure": self.sure,
            "possible": self.possible,
            "links_sure": self.links_sure,
            "links_possible": self.links_possible,
        }

    def table(self) -> str:
        """Measures and counts as a text table without a final line break."""
        figures = [("AER", self.aer), ("precision", self.precision), ("recall", self.recall), ("F", self.f)]
        counts = [
            ("links", self.links),
            ("  in sure", self.links_sure),
            ("  in possible", self.links_possible),
            ("gold sure", self.sure),
            ("gold possible", self.possible),
            ("sentences", self.sentences),
        ]
        shown = [(name, "none" if math.isnan(value) else f"{value:.4f}") for name, value in figures]
        shown += [(name, f"{count:,}") for name, count in counts]
        return "\n".join(f"{name:<13}  {value:>9}" for name, value in shown)


def agreement(gold: Sequence[MarkedLinks], hypothesis: Sequence[Iterable[Link]]) -> Agreement:
    """Compare alignments sentence by sentence.

    Raises:
        InputError: the numbers of sentences differ or are 0.
    """
    if len(gold) != len(hypothesis):
        raise InputError(
            f"{len(gold)} sentences of gold alignments cannot be compared with {len(hypothesis)} of the hypothesis; "
            "line n of one must belong to line n of the other"
        )
    if not gold:
        raise InputError("nothing to compare: the alignments have 0 sentences")
    predicted = [frozenset(links) for links in hypothesis]
    pairs = list(zip(gold, predicted, strict=True))
    return Agreement(
        sentences=len(gold),
        links=sum(map(len, predicted)),
        sure=sum(len(marked.sure) for marked in gold),
        possible=sum(len(marked.possible) for marked in gold),
        links_sure=sum(len(links & marked.sure) for marked, links in pairs),
        links_possible=sum(len(links & marked.possible) for marked, links in pairs),
    )


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
