"""Sources that belong to other targets, to measure how much a model reads its source."""

from __future__ import annotations

from collections.abc import Sequence


def wrong_sources(lines: Sequence[str]) -> list[str]:
    """The lines rotated by half of them: line k is far from its own translation, and all lines are still used."""
    half = len(lines) // 2
    return [*lines[half:], *lines[:half]]
