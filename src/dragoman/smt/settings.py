"""Settings of training, decoding and tuning, with their defaults. This module imports no library, for quick help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.alignment.symmetrize import Aligner, SymmetrizationMethod


@dataclass(frozen=True)
class SystemSettings:
    """How a system is trained."""

    aligner: Aligner = "eflomal"
    """Statistical aligner, for text without given links."""
    symmetrization: SymmetrizationMethod = "grow-diag-final-and"
    """How the alignments of the two directions are combined."""
    phrase_length: int = 7
    """Maximum number of words of a phrase, as in Moses."""
    order: int = 5
    """Order of the language model."""
    distortion_limit: int = 6
    """Source words that search may skip, as in Moses; unlimited if negative."""


@dataclass(frozen=True)
class DecoderSettings:
    """Beam sizes of the stack decoder."""

    stack: int = 100
    """Maximum number of hypotheses in a stack."""
    pop_limit: int = 200
    """Hypotheses scored for each stack by cube pruning."""
    threshold: float = 1.0
    """Hypotheses whose score is this much worse than the best of their stack are pruned. The unit is the sum of the
    weights' magnitudes, so that scaling the weights changes nothing."""


@dataclass(frozen=True)
class TuningSettings:
    """How a system is tuned."""

    max_rounds: int = 6
    """Maximum number of times that the development set is decoded."""
    n_best: int = 100
    """Distinct translations of each sentence in the n-best lists."""
    restarts: int = 4
    """Random starting points of MERT in each round, beside the current weights."""
    seed: int = 1
