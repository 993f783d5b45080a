"""Messages between the server and the process that learns for it, as MessagePack; needs neither torch nor a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple


class LearnerCommand(NamedTuple):
    """What the server asks the process to do."""

    id: int
    what: Literal["log", "undo", "undo all"]
    source: str = ""
    """To undo, the source that the correction must have; "" for any."""
    target: str = ""
    number: int = 0


class LearnerReply(NamedTuple):
    """The answer to a command, or new weights."""

    id: int = 0
    """The id of the command; 0 where there was none."""
    number: int = 0
    refusal: str = ""
    """Why a correction is refused."""
    missing: str = ""
    """The correction that does not exist."""
    error: str = ""
    """Why the log cannot be opened or written, or which fault of ours ends the process."""
    entries: list[tuple[str, str]] | None = None
    """All corrections, where some were taken out or the log was opened."""
    learnt: int = 0
    taken_back: Sequence[int] = ()
    """Numbers of the corrections that the guard refused."""
    known: Sequence[str] = ()
    """Texts whose words the source side of the model with these weights knows."""
    weights: bytes = b""
