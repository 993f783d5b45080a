"""What can be set, and what it is if nothing is said. Nothing here needs a library, so that help texts are quick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.alignment.statistical import Aligner
    from dragoman.alignment.symmetrize import Method


@dataclass(frozen=True)
class Recipe:
    """How a system is trained."""

    aligner: Aligner = "eflomal"
    """A statistical aligner, for text that comes without links."""
    symmetrization: Method = "grow-diag-final-and"
    """How the links of both directions are joined."""
    phrase_length: int = 7
    """Words of either phrase at most, as in Moses."""
    order: int = 5
    """Words of the longest n-grams of the language model."""
    distortion_limit: int = 6
    """Words that search may jump over, as in Moses; below 0 any number."""


@dataclass(frozen=True)
class Beam:
    """How much search looks at."""

    stack: int = 100
    """Hypotheses kept for each number of translated words."""
    pop_limit: int = 200
    """Hypotheses tried for each number of translated words."""
    threshold: float = 1.0
    """Those whose score is lower than the best of their stack by more are dropped; in units of the sum of the weights'
    magnitudes, so that scaling them changes nothing."""


@dataclass(frozen=True)
class Rounds:
    """How a system is tuned."""

    most: int = 6
    """Times that the lines are translated, at most."""
    size: int = 100
    """Distinct translations of each line."""
    restarts: int = 4
    """Random points that each round starts from, beside the weights so far."""
    seed: int = 1
