"""Statistical word aligners, learnt from the text they align: a baseline for attention (Luong et al. 2015, table 6).

The models are those of Thot (package sil-thot, extra `align`). All explain each target word by one source word or by
none, so both directions are trained where links are to be symmetrized. Training holds the whole text in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

from thot import alignment as thot

from dragoman.progress import Console
from dragoman.text.links import Link

Aligner = Literal["ibm1", "ibm2", "hmm", "fast-align", "eflomal"]

ALIGNERS: tuple[str, ...] = get_args(Aligner)

ITERATIONS = 5
"""Rounds of expectation maximisation for each model, as in GIZA++ and fast_align."""

Words = Sequence[str]


def align_statistically(
    pairs: Sequence[tuple[Words, Words]],
    aligner: Aligner,
    *,
    more: Sequence[tuple[Words, Words]] = (),
    console: Console | None = None,
) -> list[list[Link]]:
    """Links between the words of each pair (source, target), at most one for each target word.

    `ibm1`, `ibm2`: Brown et al. 1993, the second begun from the first; `hmm`: Vogel et al. 1996, begun from IBM 1;
    `fast-align`: Dyer et al. 2013; `eflomal`: Östling and Tiedemann 2016, by sampling, with a fixed seed.

    Args:
        more: text to learn from besides `pairs`.
    """
    console = console or Console()
    model = _first(aligner)
    longest = model.max_sentence_length
    usable = [_is_usable(pair, longest) for pair in pairs]
    for source, target in (
        *(pair for pair, fits in zip(pairs, usable, strict=True) if fits),
        *(pair for pair in more if _is_usable(pair, longest)),
    ):
        model.add_sentence_pair(source, target)
    if not model.num_sentence_pairs:
        return [[] for _ in pairs]
    _train(model, console)
    for follower in _FOLLOWERS.get(aligner, ()):
        model = follower(model)
        _train(model, console)
    return [_links(model, *pair) if fits else [] for pair, fits in zip(pairs, usable, strict=True)]


def _first(aligner: Aligner) -> thot.AlignmentModel:
    """The model that training begins with."""
    if aligner == "fast-align":
        return thot.FastAlignModel()
    if aligner == "eflomal":
        model = thot.EflomalAlignmentModel()
        model.seed, model.deterministic = 1, True
        return model
    return thot.Ibm1AlignmentModel()


_FOLLOWERS: dict[str, tuple[Callable[[Any], thot.AlignmentModel], ...]] = {
    "ibm2": (thot.Ibm2AlignmentModel,),
    "hmm": (thot.HmmAlignmentModel,),
}
"""The models that each begin from what the one before has learnt."""


def _is_usable(pair: tuple[Words, Words], longest: int) -> bool:
    return all(0 < len(side) <= longest for side in pair)


def _train(model: thot.AlignmentModel, console: Console) -> None:
    model.start_training()
    rounds = model.scheduled_iterations if isinstance(model, thot.EflomalAlignmentModel) else ITERATIONS
    with console.counter("rounds", total=rounds) as progress:
        for done in range(rounds):
            model.train()
            progress(done + 1)
    model.end_training()


def _links(model: thot.AlignmentModel, source: Words, target: Words) -> list[Link]:
    _, matrix = model.get_best_alignment(source, target)
    return [(i, j) for i in range(len(source)) for j in range(len(target)) if matrix[i, j]]
