"""Responses: JSON, and errors in the form of the API that was asked."""

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
