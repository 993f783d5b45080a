"""Settings of sampling: how translations are drawn from a model instead of searched for."""

from __future__ import annotations

from math import inf
from typing import Annotated

from dragoman.config.section import Count, Natural, Positive, Probability, Section, doc
from dragoman.errors import ConfigError


class Sampling(Section):
    """Temperature and truncation of the model's distribution, and the seed of the draws.

    The log-probability of a sample is always that of the model itself, whatever distribution it was drawn from.

    >>> from dragoman.config.sampling import Sampling
    >>> drawing = dragoman.open_run("RUN").translator(sampling=Sampling(temperature=0.5, seed=7))
    >>> len(drawing.translate("ab", n_best=2))
    2

    Raises:
        ConfigError: a value out of its range.
    """

    temperature: Annotated[Positive, doc("softmax temperature; below 1: sharper")] = 1.0
    top_k: Annotated[Count | None, doc("sample among the K most probable tokens; without it among all")] = None
    top_p: Annotated[
        Probability | None,
        doc("nucleus sampling: sample among the most probable tokens that together have probability P (after top_k)"),
    ] = None
    distinct: Annotated[
        bool, doc("draw again until the translations of a sentence are different; fewer where none are left to find")
    ] = False
    seed: Annotated[Natural, doc("seed of the random generator")] = 1

    def __post_init__(self) -> None:
        if not 0 < self.temperature < inf:
            raise ConfigError(
                f"temperature is {self.temperature}, but must be above 0; for the most probable words use beam 1"
            )
        if self.top_k is not None and self.top_k < 1:
            raise ConfigError(f"top-k is {self.top_k}, but must be at least 1; leave it out to draw among all words")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ConfigError(f"top-p is {self.top_p}, but must be above 0 and at most 1")
