"""Bodies of requests: JSON and forms, within limits of size and time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.types import Message, Receive

from dragoman.errors import InputError
from dragoman.serving import forms
from dragoman.serving.forms import Form
from dragoman.serving.refusals import Refusal, invalid
from dragoman.serving.workers import Workers

Body = TypeVar("Body")
INLINE_BYTES = 16384
"""Forms that are read in the event loop; longer ones in a worker process."""
MULTIPART = "multipart/form-data"


def limited(receive: Receive, declared: bytes | None, max_body: int, seconds: float) -> Receive:
    """`receive` for a body of at most `max_body` bytes that arrives within `seconds`; `declared` is its Content-Length.

    Raises (in the result):
        Refusal: the body is longer (413), or arrives more slowly (408).
    """
    loop = asyncio.get_running_loop()
    end, received, complete = loop.time() + seconds, 0, False

    async def receive_limited() -> Message:
        nonlocal received, complete
        if complete:
            return await receive()  # waits until the client leaves
        if declared is not None and declared.isdigit() and int(declared[:20]) > max_body:
            raise _too_long(max_body)
        try:
            async with asyncio.timeout_at(end):
                message = await receive()
        except TimeoutError:
            raise Refusal(408, f"The request did not arrive within {seconds:g} seconds") from None
        received += len(message.get("body", b""))
        complete = not message.get("more_body", False)
        if received > max_body:
            raise _too_long(max_body)
        return message

    return receive_limited


def _too_long(max_body: int) -> Refusal:
    return Refusal(413, f"The request is longer than {max_body} bytes; send less at a time")


def is_json(request: Request) -> bool:
    """Whether the body is JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


async def read_fields(request: Request, workers: Workers) -> dict[str, Any]:
    """The fields of a JSON object, or of a form and the query string; a field that comes several times is a list.

    LibreTranslate reads the query string beside a form and before it, and some of its clients send nothing else.

    Raises:
        Refusal: the body is neither, or not UTF-8.
    """
    if is_json(request):
        return decode_json(await request.body(), dict[str, Any])
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("", "application/x-www-form-urlencoded", MULTIPART):
        raise Refusal(415, "The body must be JSON (Content-Type: application/json) or a form")
    fields = (await _form(request, workers)).fields
    try:
        return fields | forms.read_fields(request.scope["query_string"], "query string")
    except InputError as error:
        raise invalid(str(error)) from None


async def read_file_form(request: Request, workers: Workers) -> Form:
    """The fields and files of a multipart form.

    Raises:
        Refusal: it is none, or a field is not UTF-8.
    """
    if not request.headers.get("content-type", "").lower().startswith(MULTIPART):
        raise Refusal(415, "The body must be a form (Content-Type: multipart/form-data)")
    return await _form(request, workers)


async def _form(request: Request, workers: Workers) -> Form:
    kind, body = request.headers.get("content-type", ""), await request.body()
    if len(body) > INLINE_BYTES:
        return await workers.run(forms.read_form, kind, body)
    try:
        return forms.read_form(kind, body)
    except InputError as error:
        raise invalid(str(error)) from None


def decode_json(body: bytes, kind: type[Body]) -> Body:
    """A JSON body of a type.

    Raises:
        Refusal: it is not JSON, not UTF-8, or of another type; the message names the place. Of a body whose type is a
            mapping, LibreTranslate's and DeepL's, it is LibreTranslate's.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if kind == dict[str, Any]:
            raise Refusal(400, "Invalid JSON format") from None
        raise invalid("the body is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)) from None


def texts_of(value: Any, name: str) -> list[str]:
    """A string, or a list of strings, as a list.

    Raises:
        Refusal: it is neither.
    """
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) for text in texts):
        raise invalid(f"{name} must be a string or a list of strings")
    return texts


def string_of(fields: Mapping[str, Any], name: str) -> str:
    """A field that may be missing: "" then.

    Raises:
        Refusal: it is not a string.
    """
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise invalid(f"{name} must be a string")
    return value


def key_of(request: Request, fields: Mapping[str, Any] | None = None) -> str | None:
    """The API key of a request: from its body or the header Authorization (Bearer, or DeepL's DeepL-Auth-Key).

    Raises:
        Refusal: it is not a string.
    """
    key = string_of(fields or {}, "api_key")
    if key:
        return key
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    return given.strip() if kind.lower() in ("bearer", "deepl-auth-key") else None


def address_of(request: Request) -> str:
    """The address of the client."""
    return request.client.host if request.client else ""
