"""Checks of a trained model: does it read its source, and does its attention look at it?

A model can have a falling loss, fluent output and alignment weights that sum to one without reading the source at all.
Every check is a measurement on given pairs and a verdict, which is stated for this size of sample: it finds what does
not work, not how well something works.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.pairs import Pair, evenly_spaced
from dragoman.data.batches import Batch
from dragoman.errors import ConfigError, InputError
from dragoman.requests.models import CheckRequest
from dragoman.runs.exported import ExportFolder
from dragoman.runs.layout import RunFolder
from dragoman.runs.opening import Run, open_run
from dragoman.scoring.scorer import ScoredPair
from dragoman.text.changes import wrong_sources
from dragoman.text.padding import Padded, pad
from dragoman.text.scripts import is_unsegmented
from dragoman.text.vocabulary import PAD
from dragoman.workflows.unexpected_text import checked_pairs

Verdict = Literal["yes", "weak", "no", "-"]
"""`-`: the question has no meaning for the model, or cannot be measured."""

SOURCE_RATIO = (1.5, 1.1)
"""Perplexity with wrong sources, divided by that with right ones: from the first on yes, from the second on weak."""
ORDER_RATIO = (1.1, 1.02)
"""The same, for sources with their words in reverse order."""
PADDING_TOLERANCE = 1e-3
"""The largest difference of a token's log-probability that rounding explains, in nats."""
WEIGHT_CHANGE = (1e-3, 1e-6)
"""Change of the weights with the annotations: above the first yes, above the second weak."""
UNIFORM_ENTROPY = (0.9, 0.98)
"""Entropy of the weights, divided by that of uniform weights: below the first yes, not uniform; below the second
weak."""

LONGEST = 100
"""Tokens of a side of the pairs that are padded or whose gradients are computed."""
PADDED_PAIRS = 16
PADDING = 4
"""Positions by which these pairs are padded beyond the longest of them."""
GRADIENT_PAIRS = 32
_GRADIENT_BATCH = 8

_MOST_NATS = 700.0
"""exp() of more has no floating-point number."""


@dataclass(frozen=True)
class Check:
    """A question about a model, and its answer."""

    name: str
    question: str
    verdict: Verdict
    explanation: str
    """What was measured, in words; or why nothing was."""
    figures: Mapping[str, float]


def check_requested(request: CheckRequest) -> tuple[int, list[Check]]:
    """Check a run on given pairs or its dev set; returns the number of pairs, too.

    Raises:
        ConfigError: no pairs are given, and the folder has no dev set: it was exported or imported, or its data was
            deleted.
        InputError, RunError: as for `open_run`, `read_pairs` and `check_run`.
    """
    run = open_run(request.run, device=request.general.device, threads=request.general.threads)
    files = [Path(name) for name in request.files]
    if not files:
        folder = run.folder
        if not isinstance(folder, RunFolder) or not folder.dev_text.is_file():
            raise ConfigError(f"{folder.path}: has no dev set; give pairs: dragoman check {folder.path} SRC TGT")
        files = [folder.dev_text]
    pairs = evenly_spaced(list(checked_pairs(read_pairs([files]), files, request.run, run)), request.sentences)
    return len(pairs), check_run(run, pairs)


def check_run(run: Run, pairs: Sequence[Pair]) -> list[Check]:
    """Check whether a model reads its source, on given pairs.

    Raises:
        InputError: there are fewer than two pairs with text on both sides, or all have the same source.
        RunError: the model's log-probabilities are NaN.
    """
    pairs = [pair for pair in pairs if pair.source.strip() and pair.target.strip()]
    if len({pair.source for pair in pairs}) < 2:
        raise InputError("a check needs two or more pairs with different sources; give more pairs")
    scored = list(run.scorer().score((pair.source, pair.target) for pair in pairs))
    return [
        _depends_on_source(run, pairs, scored),
        _depends_on_order(run, pairs, scored),
        _ignores_padding(run, pairs),
        _weights_depend_on_annotations(run, pairs),
        _weights_not_uniform(run, scored),
    ]


def _depends_on_source(run: Run, pairs: Sequence[Pair], scored: Sequence[ScoredPair]) -> Check:
    sources = wrong_sources([pair.source for pair in pairs])
    right, wrong = _nats(scored), _nats_with(run, sources, pairs)
    return _comparison(
        "source", "does the loss depend on the source?", right, wrong, "with the sources of other pairs", SOURCE_RATIO
    )


def _depends_on_order(run: Run, pairs: Sequence[Pair], scored: Sequence[ScoredPair]) -> Check:
    """The pairs whose source is the same in reverse order are left out."""
    single_words = run.config.text.source.segmentation == "letters"
    by_characters = single_words or is_unsegmented(pair.source for pair in pairs)
    unit = "characters" if by_characters else "words"
    reverse = _reverse_characters if by_characters else _reverse_words
    reversible = [number for number, pair in enumerate(pairs) if reverse(pair.source) != reverse(reverse(pair.source))]
    question = f"does the order of the source {unit} matter?"
    if not reversible:
        return Check("order", question, "-", f"no source has two different {unit}", {})
    chosen = [pairs[number] for number in reversible]
    right = _nats([scored[number] for number in reversible])
    wrong = _nats_with(run, [reverse(pair.source) for pair in chosen], chosen)
    return _comparison("order", question, right, wrong, f"with the source {unit} in reverse order", ORDER_RATIO)


def _ignores_padding(run: Run, pairs: Sequence[Pair]) -> Check:
    question = "is the loss the same with and without padding?"
    chosen = _short_pairs(run, pairs, PADDED_PAIRS)
    if not chosen:
        return Check("padding", question, "-", f"no pair has at most {LONGEST} tokens on both sides", {})
    source, target = (_widened(side, PADDING) for side in _padded(run, chosen))
    together = run.engine.force(*source, *target).log_probabilities
    largest = 0.0
    for row, pair in enumerate(chosen):
        source, target = _padded(run, [pair])
        alone = run.engine.force(*source, *target).log_probabilities[0]
        largest = max(largest, float(np.abs(together[row, : len(alone)] - alone).max()))
    return Check(
        "padding",
        question,
        "yes" if largest <= PADDING_TOLERANCE else "no",
        f"log-probabilities of tokens differ by {largest:.1g} nats at most",
        {"largest_difference": largest},
    )


def _weights_depend_on_annotations(run: Run, pairs: Sequence[Pair]) -> Check:
    name, question = "gradient", "do the alignment weights depend on the annotations?"
    if isinstance(run.folder, ExportFolder):
        return Check(name, question, "-", "an exported model has no gradients; check the run that was exported", {})
    model = run.model()
    if model.decoder.alignment is None:
        return Check(name, question, "-", _no_attention(run), {})
    chosen = _short_pairs(run, pairs, GRADIENT_PAIRS)
    if not chosen:
        return Check(name, question, "-", f"no pair has at most {LONGEST} tokens on both sides", {})

    from dragoman.model.attention_gradients import weight_change

    changes, steps = [], []
    for start in range(0, len(chosen), _GRADIENT_BATCH):
        source, target = _padded(run, chosen[start : start + _GRADIENT_BATCH])
        changes.append(weight_change(model, Batch(*source, *target, np.arange(len(source.ids)))))
        steps.append(int(target.lengths.sum()))
    change = math.sqrt(float(np.average(np.square(changes), weights=steps)))
    words = f"other annotations change the weights of a step by {change:.2g}, to first order"
    if run.config.model.attention.score == "location":
        words += "; the location score reads the decoder state alone (Luong et al. 2015, eq. 8)"
    return Check(name, question, _graded(change, *WEIGHT_CHANGE), words, {"change": change})


def _weights_not_uniform(run: Run, scored: Sequence[ScoredPair]) -> Check:
    """Positions without any weight, such as those outside the window of local attention, do not count."""
    name, question = "uniform", "do the alignment weights differ from uniform ones?"
    entropy = uniform = positions = attended = 0.0
    steps = 0
    for pair in scored:
        if pair.attention is None:
            return Check(name, question, "-", _no_attention(run), {})
        for row in _distributions(pair.attention):
            own = float(-(row * np.log(row)).sum())
            entropy, uniform = entropy + own, uniform + math.log(len(row))
            positions, attended = positions + len(row), attended + math.exp(own)
            steps += 1
    if not steps:
        return Check(name, question, "-", "no step can attend to more than one position", {})
    share = entropy / uniform
    return Check(
        name,
        question,
        _graded(-share, *(-limit for limit in UNIFORM_ENTROPY)),
        f"a step attends to {attended / steps:.1f} of {positions / steps:.1f} positions; the entropy of the weights is "
        f"{100 * share:.0f} % of that of uniform ones",
        {"entropy_share": share, "positions_attended": attended / steps, "positions": positions / steps},
    )


def _comparison(name: str, question: str, right: float, wrong: float, how: str, limits: tuple[float, float]) -> Check:
    """The check that compares nats a token with right sources and with changed ones."""
    ratio = _exp(wrong - right)
    return Check(
        name,
        question,
        _graded(ratio, *limits),
        f"perplexity {_exp(right):.2f}; {_exp(wrong):.2f} {how}: {ratio:.2f} times",
        {"perplexity": _exp(right), "perplexity_changed": _exp(wrong), "ratio": ratio},
    )


def _graded(value: float, enough: float, some: float) -> Verdict:
    return "yes" if value >= enough else "weak" if value >= some else "no"


def _exp(nats: float) -> float:
    return math.exp(min(nats, _MOST_NATS))


def _nats(scored: Sequence[ScoredPair]) -> float:
    """Negative log-probability a target token."""
    tokens = sum(len(pair.token_log_probabilities) for pair in scored)
    return -sum(pair.log_probability for pair in scored) / tokens


def _nats_with(run: Run, sources: Sequence[str], pairs: Sequence[Pair]) -> float:
    targets = (pair.target for pair in pairs)
    return _nats(list(run.scorer().score(zip(sources, targets, strict=True))))


def _distributions(attention: NDArray[np.float32]) -> list[NDArray[np.float64]]:
    """The rows of weights [T, S] without positions of no weight, each with sum 1; rows of one position are left out."""
    rows = (row[row > 0].astype(np.float64) for row in attention)
    return [row / row.sum() for row in rows if len(row) > 1]


def _short_pairs(run: Run, pairs: Sequence[Pair], count: int) -> list[Pair]:
    """At most `count` pairs, evenly spaced among those that are not too long."""
    fitting = []
    for pair in pairs:
        lengths = len(run.source.encode(pair.source).ids), len(run.target.encode(pair.target).ids)
        if min(lengths) > 0 and max(lengths) <= LONGEST:
            fitting.append(pair)
    return evenly_spaced(fitting, count)


def _padded(run: Run, pairs: Sequence[Pair]) -> tuple[Padded, Padded]:
    source = pad([run.source.encode(pair.source).ids for pair in pairs], eos=run.engine.source_eos)
    return source, pad([run.target.encode(pair.target).ids for pair in pairs], eos=True)


def _widened(side: Padded, columns: int) -> Padded:
    """The same rows with more padding."""
    return Padded(np.pad(side.ids, ((0, 0), (0, columns)), constant_values=PAD), side.lengths)


def _reverse_words(line: str) -> str:
    return " ".join(reversed(line.split()))


def _reverse_characters(line: str) -> str:
    """The tags after a single word stay where they are."""
    word, tab, tags = line.partition("\t")
    return f"{word[::-1]}{tab}{tags}"


def _no_attention(run: Run) -> str:
    return f"the model has no attention (model.decoder.context: {run.config.model.decoder.context})"
