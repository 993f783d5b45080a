"""What the server and the process that learns for it say to each other, as MessagePack; neither torch nor a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple


class Asked(NamedTuple):
    """What the server asks for."""

    id: int
    what: Literal["log", "undo", "undo all"]
    source: str = ""
    """To undo, the source that the correction has, or "" for whatever it has."""
    target: str = ""
    number: int = 0


class Told(NamedTuple):
    """What the server is told: the answer to what it asked, or new weights."""

    id: int = 0
    """0 where nothing was asked."""
    number: int = 0
    refusal: str = ""
    """Why a correction is refused."""
    missing: str = ""
    """What correction there is not."""
    error: str = ""
    """Why the log cannot be opened or written, or which fault of ours ends the process."""
    entries: list[tuple[str, str]] | None = None
    """All corrections, where some were taken out or the log was opened."""
    learnt: int = 0
    taken_back: Sequence[int] = ()
    """Numbers of the corrections that the guard refused."""
    weights: bytes = b""
