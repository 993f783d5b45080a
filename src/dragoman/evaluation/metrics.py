"""Metrics in two steps: statistics of every sentence, then the score of any sum of them.

A corpus, a slice of it, one sentence and (later) a bootstrap sample differ only in which rows are added up, so the
costly part, matching n-grams, is done once. BLEU, chrF and TER are sacreBLEU's; nothing here is a metric of our own
except exact match. Not here: what is measured, and how it is shown (`evaluate.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast, get_args

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from dragoman.errors import InputError

Tokenizer = Literal["13a", "none", "intl", "char", "zh"]
"""What BLEU counts as a word. `13a`, that of mteval-v13a, is the field's standard for detokenised text; `none` is for
text tokenised already (multi-bleu.perl up to smoothing); `zh` and `char` are for scripts without blanks."""

TOKENIZERS: tuple[str, ...] = get_args(Tokenizer)


@dataclass(frozen=True, slots=True)
class Preparation:
    """What is done to lines before a metric sees them."""

    name: str
    """For the signature."""
    apply: Callable[[str], str]


class Metric(Protocol):
    """A figure of a corpus that depends on a sum over its sentences."""

    name: str
    higher_is_better: bool

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
        """One row of counts a sentence: [N, F]. Rows may be added."""

    def score(self, statistics: NDArray[np.float64]) -> float:
        """The score, 0-100, of summed statistics [F]."""

    def signature(self) -> str:
        """All that another person must set alike to get the same figure; known once statistics have been taken."""


class SacreBleu:
    """A metric of sacreBLEU, taken apart into its statistics and its score.

    sacreBLEU does so itself for its significance tests, with the same two methods; that they are marked private is
    why this class is the only place that calls them, and why a test compares it with the public `corpus_score`.
    """

    def __init__(
        self,
        name: str,
        metric: BLEU | CHRF | TER,
        *,
        higher_is_better: bool = True,
        preparation: Preparation | None = None,
    ) -> None:
        self.name = name
        self.higher_is_better = higher_is_better
        self.sacrebleu = metric
        self._preparation = preparation

    def prepared(self, lines: Sequence[str]) -> list[str]:
        """The lines as sacreBLEU gets them."""
        return list(lines) if self._preparation is None else [self._preparation.apply(line) for line in lines]

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
        rows = self.sacrebleu._extract_corpus_statistics(self.prepared(hypotheses), [self.prepared(references)])
        return np.array(rows, dtype=np.float64)

    def statistics_against(self, hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
        """A row for each of many hypotheses of one sentence, [N, F]; its references are counted once."""
        ready = self.sacrebleu._preprocess_segment
        known = self.sacrebleu._extract_reference_info([ready(line) for line in self.prepared(references)])
        rows = [self.sacrebleu._compute_segment_statistics(ready(line), known) for line in self.prepared(hypotheses)]
        return np.array(rows, dtype=np.float64)

    def score(self, statistics: NDArray[np.float64]) -> float:
        # A list: sacreBLEU's BLEU tests `any(counts)`, and formats them, as Python numbers.
        return float(self.sacrebleu._compute_score_from_stats(cast("list[Any]", statistics.tolist())).score)

    def signature(self) -> str:
        return self.described(self.sacrebleu.get_signature())

    def described(self, signature: object) -> str:
        """A signature of sacreBLEU, with what was done to the text before."""
        return str(signature) if self._preparation is None else f"{signature}|text:{self._preparation.name}"


class ExactMatch:
    """Percentage of hypotheses that equal their reference, blanks around them aside."""

    name = "exact match"
    higher_is_better = True

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
        pairs = zip(hypotheses, references, strict=True)
        return np.array([(hypothesis.strip() == reference.strip(), 1) for hypothesis, reference in pairs], np.float64)

    def score(self, statistics: NDArray[np.float64]) -> float:
        equal, sentences = statistics
        return float(100 * equal / sentences)

    def signature(self) -> str:
        return "nrefs:1|case:mixed|blanks:stripped"


def bleu_metric(tokenizer: Tokenizer = "13a") -> SacreBleu:
    """BLEU: corpus level, cased, exponential smoothing of zero counts; with `13a` that of mteval-v13a -c, "NIST BLEU".

    A statistics row is hypothesis length, reference length (words), then matches and totals of 1- to 4-grams.
    """
    # force: no advice on stderr about lines that look tokenised; the signature says what was counted.
    return SacreBleu("BLEU", BLEU(tokenize=tokenizer, force=True))


def tokenised_bleu_metric(preparation: Preparation | None = None) -> SacreBleu:
    """BLEU as multi-bleu.perl computes it: words between blanks, cased, and 0 if no n-gram of some length matches.

    `preparation` tokenises; None for text that is tokenised already. The papers report this BLEU (papers.md, pitfall
    18), on text tokenised by the Moses scripts: the figure depends on the tokeniser, so the signature names it.
    """
    return SacreBleu("tokenised BLEU", BLEU(tokenize="none", smooth_method="none", force=True), preparation=preparation)


def chrf_metric() -> SacreBleu:
    """chrF2: F score of character 1- to 6-grams, blanks not counted, recall weighing twice (Popović 2016)."""
    return SacreBleu("chrF", CHRF())


def ter_metric() -> SacreBleu:
    """Translation edit rate, lower is better, lower-cased as Tercom has it.

    Its search for shifts is at worst cubic in the length: a pair of unrelated lines of 1000 words takes half a minute.
    """
    return SacreBleu("TER", TER(), higher_is_better=False)


def corpus_score(metric: Metric, hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """One metric over whole corpora.

    Raises:
        InputError: no sentences, or unequal numbers of them.
    """
    check_counts(hypotheses, references)
    return metric.score(metric.statistics(hypotheses, references).sum(axis=0))


def bleu(hypotheses: Sequence[str], references: Sequence[str], tokenizer: Tokenizer = "13a") -> float:
    """Corpus BLEU, 0-100, of detokenised, cased text.

    Raises:
        InputError: no sentences, or unequal numbers of them.
    """
    return corpus_score(bleu_metric(tokenizer), hypotheses, references)


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Corpus chrF2, 0-100.

    Raises:
        InputError: no sentences, or unequal numbers of them.
    """
    return corpus_score(chrf_metric(), hypotheses, references)


def check_counts(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Refuse what cannot be compared line by line.

    Raises:
        InputError: no sentences, or unequal numbers of them.
    """
    if len(hypotheses) != len(references):
        raise InputError(
            f"{len(hypotheses)} translations cannot be compared with {len(references)} references; "
            "line n of one must belong to line n of the other"
        )
    if not hypotheses:
        raise InputError("nothing to evaluate: 0 translations and 0 references")
