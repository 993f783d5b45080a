"""What a shard of each verb is and how a worker computes it: the table behind `dragoman cluster`.

Shards are cut where `Translator` and `Scorer` cut their windows. So a worker computes the same batches as the verb
without `cluster` in one thread, and the same lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from dragoman.cluster.inputs import Inputs
from dragoman.cluster.units import (
    Opened,
    Shard,
    Unit,
    lines_of,
    read_hypotheses,
    read_phrase_pairs,
    read_sentence_pairs,
    read_sentences,
)
from dragoman.translation.length_batching import read_windows

if TYPE_CHECKING:
    from dragoman.runs.opening import OpenedModels

WINDOW_TARGETS = 1024
"""Hypotheses or phrase pairs of a shard; that of `scoring.scorer`, which is not imported before a model is opened."""


class Computed(NamedTuple):
    """What a worker computes for a unit."""

    lines: list[str]
    """As many as the unit has."""
    unfinished: bool = False
    """Whether a translation was truncated at the longest length."""
    searched_again: bool = False
    """Whether a translation looped or ran to it, and was searched again."""
    failed: str | None = None
    """Why there is no output; the lines are empty then."""

    @classmethod
    def failure(cls, value: Any, reason: str) -> Computed:
        """Make the result of a unit with this value that failed."""
        return cls([""] * lines_of(value), failed=reason)


Compute = Callable[[Sequence[Any]], list[Computed]]
"""The results of the values of units, in their order."""


Models = Mapping[str, Sequence[str]]
"""The folders of models by what they are for: `runs`, `model`, `reverse`, `lm`."""


@dataclass(frozen=True)
class ClusterVerb:
    """A verb that runs over shards."""

    read: Callable[[Opened], Iterator[Unit]]
    weight: Callable[[Any], int]
    """Of the value of a unit; a shard ends where the sum reaches `max_weight`."""
    max_weight: int | None
    """None for that of a window of lines."""
    open: Callable[[Models, Mapping[str, Any]], Compute]
    """Opens the models in this process, for one thread of the CPU."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """The options of `open` where they are not given."""

    def read_shards(self, inputs: Inputs) -> Iterator[Shard]:
        """Read files and cut them into shards.

        Raises:
            InputError: a file cannot be read, or has changed since the command began; what `read` raises.
        """
        with ExitStack() as files:
            opened = [(file, files.enter_context(file.open())) for file in inputs.files]
            stored = opened[0][1]
            line, position = 1, 0
            windows = read_windows(
                self.read(opened),
                lambda unit: 0 if unit.value is None else self.weight(unit.value),
                max_weight=self.max_weight,
            )
            for number, units in enumerate(windows):
                end = inputs.bytes if stored.closed else stored.tell()
                yield Shard(inputs, number, line, units, end - position)
                line += sum(lines_of(unit.value) for unit in units)
                position = end
            for file in inputs.files:
                file.require_unchanged()


def _opened(names: Sequence[str], options: Mapping[str, Any], *, shortlist: bool = True) -> OpenedModels:
    from dragoman.requests.shared import Compute, EnsembleOptions
    from dragoman.runs.opening import open_models

    ensemble = EnsembleOptions(**{name: options[name] for name in _ENSEMBLE})
    return open_models(names, ensemble, Compute(device="cpu", threads=1), shortlist=shortlist)


def _open_translator(models: Models, options: Mapping[str, Any]) -> Compute:
    """Models: `runs`; options: `combine`, `weights`, `shortlist`, `search`, `more` (those of `with_options`)."""
    opened = _opened(models["runs"], options, shortlist=options["shortlist"])
    translator = opened.translator(options["search"]).with_options(**options["more"])

    def compute(lines: Sequence[str]) -> list[Computed]:
        n_best_lists = translator.translate_lines(lines)
        return [Computed([best.text], not best.finished, best.searched_again) for [best] in n_best_lists]

    return compute


def _open_scorer(models: Models, options: Mapping[str, Any]) -> Compute:
    """Models: `runs`; options: `combine`, `weights`, `token_counts`."""
    from dragoman.scoring.scorer import format_score

    scorer = _opened(models["runs"], options).scorer()

    def compute(pairs: Sequence[tuple[str, str]]) -> list[Computed]:
        return [Computed([format_score(scored, token_count=options["token_counts"])]) for scored in scorer.score(pairs)]

    return compute


def _open_aligner(models: Models, options: Mapping[str, Any]) -> Compute:
    """Models: `runs`, `reverse`; options: `combine`, `weights`, `symmetrize`, `unit`, `threshold`, `one_based`."""
    from dragoman.alignment.formats import format_alignments
    from dragoman.runs.opening import make_aligner

    aligner = make_aligner(
        _opened(models["runs"], options),
        _opened(models["reverse"], _ENSEMBLE) if models.get("reverse") else None,
        unit=options["unit"],
        threshold=options["threshold"],
        symmetrization=options["symmetrize"],
    )

    def compute(pairs: Sequence[tuple[str, str]]) -> list[Computed]:
        sentences = (aligned.links for aligned in aligner.align(pairs))
        return [Computed([line]) for line in format_alignments(sentences, "pharaoh", one_based=options["one_based"])]

    return compute


def _open_rescorer(models: Models, options: Mapping[str, Any]) -> Compute:
    """Models and options: as for `RescoringFeatures`."""
    from dragoman.requests.rescoring import RescoringFeatures
    from dragoman.scoring.lists import NBestSentence, add_features
    from dragoman.scoring.nbest import parse_entry
    from dragoman.workflows.smt_features import open_features

    model, reverse, lm = (tuple(models.get(use, ())) for use in ("model", "reverse", "lm"))
    wanted = RescoringFeatures(model=model, reverse=reverse, lm=lm, **options)
    features = open_features(wanted, device="cpu", threads=1)

    def compute(lists: Sequence[list[str]]) -> list[Computed]:
        sentences = (NBestSentence(source, [parse_entry(line, "") for line in lines]) for source, *lines in lists)
        return [
            Computed([entry.line for entry in entries]) for entries in add_features(sentences, features, "the list")
        ]

    return compute


def _open_columns(models: Models, options: Mapping[str, Any]) -> Compute:
    """Models: `model`, `reverse`; option: `unknown`."""
    from itertools import tee

    from dragoman.scoring.phrase_scores import Group
    from dragoman.scoring.phrases import parse_row
    from dragoman.workflows.smt_features import open_columns

    columns = open_columns(
        models["model"], models.get("reverse", ()), unknown=options["unknown"], device="cpu", threads=1
    )

    def compute(groups: Sequence[list[str]]) -> list[Computed]:
        parsed = [Group(phrase, [parse_row(line, "") for line in lines]) for phrase, *lines in groups]
        copies = tee(parsed, len(columns))
        scores = zip(*(column(copy) for column, copy in zip(columns, copies, strict=True)), strict=True)
        return [
            Computed([row.adding(values).line for row, *values in zip(group.rows, *own, strict=True)])
            for group, own in zip(parsed, scores, strict=True)
        ]

    return compute


_pairs = partial(ClusterVerb, read_sentence_pairs, lambda pair: len(pair[0]) + len(pair[1]), None)
_ENSEMBLE = {"combine": "probabilities", "weights": None}

VERBS: dict[str, ClusterVerb] = {
    "translate": ClusterVerb(
        read_sentences, len, None, _open_translator, {**_ENSEMBLE, "shortlist": True, "search": {}, "more": {}}
    ),
    "score": _pairs(_open_scorer, {**_ENSEMBLE, "token_counts": False}),
    "align": _pairs(
        _open_aligner,
        {**_ENSEMBLE, "unit": "words", "threshold": None, "one_based": False, "symmetrize": "grow-diag-final-and"},
    ),
    "rescore": ClusterVerb(read_hypotheses, len, WINDOW_TARGETS, _open_rescorer),
    "phrase-table": ClusterVerb(read_phrase_pairs, len, WINDOW_TARGETS, _open_columns, {"unknown": False}),
}
