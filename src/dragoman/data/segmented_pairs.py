"""The segments of several pairs, and the links between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.text.segmentation.base import SegmentedLines


@dataclass(frozen=True, slots=True)
class SegmentLinks:
    """Links between the segments of L pairs."""

    links: NDArray[np.uint32]
    """(source segment, target segment), both from 0 within their line: uint32 [links of all pairs, 2]."""
    lengths: NDArray[np.int64]
    """Links of each pair, int64 [L]."""


class SegmentedPairs(NamedTuple):
    """The segments of L pairs, and the links between them if the pairs have links."""

    source: SegmentedLines
    target: SegmentedLines
    linked: SegmentLinks | None
