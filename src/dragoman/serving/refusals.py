"""What the server answers where it does not translate: a status, a message, and when to try again."""

from __future__ import annotations


class Refusal(Exception):
    """A request that is answered with an error; each API writes it in its own form."""

    def __init__(self, status: int, message: str, *, retry_after: int | None = None) -> None:
        """`retry_after` is in seconds."""
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = retry_after


def invalid(message: str) -> Refusal:
    """The refusal of a request that cannot be understood."""
    return Refusal(400, f"Invalid request: {message}")


MISSING, TYPE = "missing", "type"
"""What may be wrong with a field: it is not there, null or empty; or not of its type."""


def wrong_field(name: str, fault: str) -> Refusal:
    """The refusal of a request with a field that is `MISSING` or of the wrong `TYPE`, in LibreTranslate's words."""
    if fault == MISSING:
        return invalid(f"missing {name} parameter")
    if name == "alternatives":
        return invalid("alternatives parameter is not a number")
    several = " or a list of strings" if name in ("q", "text") else ""
    return invalid(f"{name} must be a string{several}")
