"""Noise in text: words that are left out, and words that change places."""

from __future__ import annotations

import random
from collections.abc import Sequence

DROPPED = 0.1
"""Probability that a word is left out."""
DISTANCE = 3
"""Places that a word moves at most."""


def add_noise(words: Sequence[str], draw: random.Random) -> list[str]:
    """Leave words out and exchange near ones (Lample et al. 2018, section 2.3); at least one word stays.

    A word at place i goes to the rank of i + U(0, k + 1), so that none moves by more than k places.
    """
    kept = [word for word in words if draw.random() >= DROPPED] or list(words[:1])
    keys = [place + draw.uniform(0, DISTANCE + 1) for place in range(len(kept))]
    return [word for _, word in sorted(zip(keys, kept, strict=True), key=lambda item: item[0])]
