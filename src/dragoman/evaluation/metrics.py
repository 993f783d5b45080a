"""Metrics in two steps: statistics of each sentence, then the score of any sum of statistics.

A corpus, a slice and a single sentence differ only in which rows are summed, so the expensive part, matching n-grams,
is done once. BLEU, chrF and TER are sacreBLEU's; exact match is the only metric defined here, `error_rates.py` has
those of single words. `evaluate.py` applies and shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from dragoman.errors import InputError
from dragoman.evaluation.tokenizers import WITHOUT_SPACES, Tokenizer, require_installed

References = str | Sequence[str]
"""The references of a sentence: one, or several, as many as there are for this sentence."""


def reference_list(references: References) -> tuple[str, ...]:
    """Return the references of a sentence."""
    return (references,) if isinstance(references, str) else tuple(references)


def reference_counts(references: Sequence[References]) -> str:
    """Return the number of references of a sentence, or "var" where it varies, as sacreBLEU writes it."""
    counts = {len(reference_list(one)) for one in references}
    return str(counts.pop()) if len(counts) == 1 else "var"


def _streams(references: Sequence[References]) -> list[list[str | None]]:
    """Return references as sacreBLEU takes them: first, second ... of all sentences, None where there is none."""
    lists = [reference_list(one) for one in references]
    most = max(map(len, lists), default=1)
    return [[one[index] if index < len(one) else None for one in lists] for index in range(most)]


@dataclass(frozen=True, slots=True)
class Preparation:
    """A preprocessing of lines before a metric is computed, such as tokenisation."""

    name: str
    """Shown in the signature."""
    apply: Callable[[str], str]


class Metric(Protocol):
    """A corpus metric that is a function of statistics summed over sentences."""

    name: str
    higher_is_better: bool

    def statistics(self, hypotheses: Sequence[str], references: Sequence[References]) -> NDArray[np.float64]:
        """Return one row of counts per sentence, [N, F]. Rows may be added."""

    def score(self, statistics: NDArray[np.float64]) -> float:
        """Return the score, 0-100, of summed statistics [F]."""

    def signature(self) -> str:
        """Return all settings needed to reproduce the score; complete once statistics have been computed."""


class SacreBleu:
    """A metric of sacreBLEU, separated into its statistics and its score.

    sacreBLEU's own significance tests use the same two methods. They are private, so this class is the only place
    that calls them, and a test compares it with the public `corpus_score`.
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
        """Return the lines as they are passed to sacreBLEU."""
        return list(lines) if self._preparation is None else [self._preparation.apply(line) for line in lines]

    def prepared_references(self, references: Sequence[References]) -> list[list[str]]:
        """Return the references as they are passed to sacreBLEU: those that come first, second and so on."""
        apply = str if self._preparation is None else self._preparation.apply
        streams = [[None if line is None else apply(line) for line in stream] for stream in _streams(references)]
        return cast("list[list[str]]", streams)  # sacreBLEU allows None, its annotations do not

    def statistics(self, hypotheses: Sequence[str], references: Sequence[References]) -> NDArray[np.float64]:
        rows = self.sacrebleu._extract_corpus_statistics(
            self.prepared(hypotheses), self.prepared_references(references)
        )
        return np.array(rows, dtype=np.float64)

    def statistics_against(self, hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
        """Return a row for each of N hypotheses of one sentence, [N, F]; its references are counted once."""
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
        """Return a signature of sacreBLEU, extended by the preparation of the text."""
        return str(signature) if self._preparation is None else f"{signature}|text:{self._preparation.name}"


class ExactMatch:
    """Percentage of hypotheses that equal a reference, ignoring spaces around them."""

    name = "exact match"
    higher_is_better = True

    def __init__(self) -> None:
        self._references = "1"

    def statistics(self, hypotheses: Sequence[str], references: Sequence[References]) -> NDArray[np.float64]:
        lists = [reference_list(one) for one in references]
        self._references = reference_counts(references)
        pairs = zip(hypotheses, lists, strict=True)
        return np.array(
            [(hypothesis.strip() in [one.strip() for one in given], 1) for hypothesis, given in pairs], np.float64
        )

    def score(self, statistics: NDArray[np.float64]) -> float:
        equal, sentences = statistics
        return float(100 * equal / sentences)

    def signature(self) -> str:
        return f"nrefs:{self._references}|case:mixed|blanks:stripped"


def bleu_metric(tokenizer: Tokenizer = "13a", *, case: bool = True) -> SacreBleu:
    """Return BLEU: exponential smoothing of zero counts; with `13a` and `case` equal to mteval-v13a -c, "NIST BLEU".

    A statistics row is hypothesis length, reference length (tokens), then matches and totals of 1- to 4-grams.

    Raises:
        ConfigError: the tokenizer needs packages that are not installed.
    """
    require_installed(tokenizer)
    # force: no warning on stderr about lines that look tokenised; the signature names the tokenizer.
    return SacreBleu("BLEU", BLEU(tokenize=tokenizer, lowercase=not case, force=True))


def bleu_tokens(tokenizer: Tokenizer) -> Callable[[str], str]:
    """Return the function that divides a line into the tokens of BLEU, separated by spaces.

    Raises:
        ConfigError: the tokenizer needs packages that are not installed.
    """
    require_installed(tokenizer)
    tokenise: Callable[[str], str] = BLEU(tokenize=tokenizer, force=True).tokenizer
    return lambda line: tokenise(line.rstrip())


def tokenised_bleu_metric(preparation: Preparation | None = None) -> SacreBleu:
    """Return BLEU as multi-bleu.perl computes it: split at spaces, cased, 0 if no n-gram of some order matches.

    `preparation` tokenises; None for text that is tokenised already. The papers report this BLEU on text tokenised by
    the Moses scripts. The score depends on the tokeniser, so the signature names it.
    """
    return SacreBleu("tokenised BLEU", BLEU(tokenize="none", smooth_method="none", force=True), preparation=preparation)


def chrf_metric() -> SacreBleu:
    """Return chrF2: F score of character 1- to 6-grams without spaces, recall weighted twice (Popović 2016)."""
    return SacreBleu("chrF", CHRF())


def ter_metric(tokenizer: Tokenizer = "13a") -> SacreBleu:
    """Return the translation edit rate: lower is better, lower-cased as in Tercom.

    It counts words between spaces; with a tokenizer for text without spaces it counts BLEU's tokens, as else a line
    would be one word.

    Its search for shifts is at worst cubic in the length: a pair of unrelated lines of 1000 words takes half a minute.
    """
    preparation = None
    if tokenizer in WITHOUT_SPACES:
        preparation = Preparation(tokenizer, bleu_tokens(tokenizer))
    return SacreBleu("TER", TER(), higher_is_better=False, preparation=preparation)


def corpus_score(metric: Metric, hypotheses: Sequence[str], references: Sequence[References]) -> float:
    """Score a whole corpus with one metric.

    Raises:
        InputError: there are no sentences, or their numbers differ.
    """
    check_counts(hypotheses, references)
    return metric.score(metric.statistics(hypotheses, references).sum(axis=0))


def bleu(hypotheses: Sequence[str], references: Sequence[References], tokenizer: Tokenizer = "13a") -> float:
    """Return corpus BLEU, 0-100, of detokenised, cased text.

    Raises:
        InputError: there are no sentences, or their numbers differ.
    """
    return corpus_score(bleu_metric(tokenizer), hypotheses, references)


def chrf(hypotheses: Sequence[str], references: Sequence[References]) -> float:
    """Return corpus chrF2, 0-100.

    Raises:
        InputError: there are no sentences, or their numbers differ.
    """
    return corpus_score(chrf_metric(), hypotheses, references)


def check_counts(hypotheses: Sequence[str], references: Sequence[References]) -> None:
    """Check that there is one hypothesis per reference.

    Raises:
        InputError: there are no sentences, or their numbers differ.
    """
    if len(hypotheses) != len(references):
        raise InputError(
            f"{len(hypotheses)} translations cannot be compared with {len(references)} references; "
            "line n of one must belong to line n of the other"
        )
    if not hypotheses:
        raise InputError("nothing to evaluate: 0 translations and 0 references")
