"""Responses: JSON, and refusals, which each API writes in its own form."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.responses import Response


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A value as the body of a response."""
    return Response(msgspec.json.encode(value), status, headers, media_type="application/json")


def error_response(path: str, status: int, message: str, retry_after: int | None = None) -> Response:
    """An error as the API of a path writes it: LibreTranslate's, DeepL's, or RFC 9457 below /v1."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    if status == 408:
        headers["Connection"] = "close"  # what still comes is the rest of the same request
    if path.startswith("/v1/"):
        problem = {"type": "about:blank", "title": _TITLES.get(status, "Error"), "status": status, "detail": message}
        response = json_response(problem, status, headers)
        response.headers["Content-Type"] = "application/problem+json"
        return response
    return json_response({"message" if path.startswith("/v2/") else "error": message}, status, headers)


_TITLES = {
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


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
