"""The routes of the page: each of its files under its own name, the page itself at `/`."""

from __future__ import annotations

from hashlib import sha256

from starlette.requests import Request
from starlette.responses import Response

from dragoman.page.files import CONTENT_SECURITY_POLICY, INDEX, media_type, page_files
from dragoman.serving.endpoint import Handler

_HEADERS = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in CONTENT_SECURITY_POLICY.items()),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",  # a browser asks each time whether its copy is still good
}


def page_handlers() -> dict[str, Handler]:
    """The handler of each file by its path."""
    return {
        "/" if name == INDEX else f"/{name}": _handler(content, media_type(name))
        for name, content in page_files().items()
    }


def _handler(content: bytes, kind: str) -> Handler:
    headers = {**_HEADERS, "ETag": f'"{sha256(content).hexdigest()[:24]}"'}

    async def answer(request: Request) -> Response:
        known = request.headers.get("if-none-match", "").split(",")
        if headers["ETag"] in (tag.strip().removeprefix("W/") for tag in known):  # a proxy may have compressed it
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=kind)

    return answer
