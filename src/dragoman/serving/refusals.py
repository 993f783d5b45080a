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


def missing(name: str) -> Refusal:
    """The refusal of a request without a parameter, in LibreTranslate's words."""
    return Refusal(400, f"Invalid request: missing {name} parameter")


def invalid(message: str) -> Refusal:
    """The refusal of a request that cannot be understood."""
    return Refusal(400, f"Invalid request: {message}")
