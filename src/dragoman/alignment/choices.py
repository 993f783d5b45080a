"""The aligners and the ways to join two directions, by name; without the libraries that they need."""

from __future__ import annotations

from typing import Final, Literal, get_args

Aligner = Literal["ibm1", "ibm2", "hmm", "fast-align", "eflomal"]

ALIGNERS: tuple[str, ...] = get_args(Aligner)

SymmetrizationMethod = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]

METHODS: tuple[str, ...] = get_args(SymmetrizationMethod)

DEFAULT_METHOD: Final = "grow-diag-final-and"
