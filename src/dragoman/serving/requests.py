"""Bodies of requests: JSON and forms, within limits of size and time."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.types import Message, Receive

from dragoman.errors import InputError
from dragoman.serving import forms
from dragoman.serving.forms import Form, require_few_values
from dragoman.serving.responses import MISSING, TYPE, Refusal, invalid
from dragoman.serving.workers import Workers

Body = TypeVar("Body")
INLINE_BYTES = 16384
"""Bodies that are read in the event loop; longer ones are looked at by a worker process before."""
MAX_VALUES = 20_000
"""Values of a JSON body: strings, numbers, lists and objects."""
MULTIPART = "multipart/form-data"
NonEmpty = Annotated[str, Meta(min_length=1)]
Texts = NonEmpty | Annotated[list[str], Meta(min_length=1)]
Wrong = Callable[[str, str], Refusal]
"""The refusal for a field by its name that is `MISSING` or of the wrong `TYPE`."""


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
    kind = _media_type(request)
    return kind == "application/json" or kind.endswith("+json")


async def decode_request(request: Request, workers: Workers, kind: type[Body], wrong: Wrong) -> Body:
    """A request of a type, from a JSON object or a form with the query string.

    LibreTranslate reads the query string beside a form and before it, and some of its clients send nothing else.

    Raises:
        Refusal: the body is neither, not UTF-8, or not of the type.
    """
    if is_json(request):
        body = await _bounded_json(request, workers)
        return _typed(lambda: msgspec.json.decode(body, type=kind), wrong)
    if _media_type(request) not in ("", "application/x-www-form-urlencoded", MULTIPART):
        raise Refusal(415, "The body must be JSON (Content-Type: application/json) or a form")
    fields = (await _read_form(request, workers)).fields
    try:
        fields |= forms.read_fields(request.scope["query_string"], "query string")
    except InputError as error:
        raise invalid(str(error)) from None
    return _typed(lambda: msgspec.convert(fields, kind), wrong)


async def decode_file_request(
    request: Request, workers: Workers, kind: type[Body], wrong: Wrong
) -> tuple[Body, str, bytes]:
    """The fields of a multipart form as a type, and the name and content of its file.

    Raises:
        Refusal: it is none, a field is not UTF-8, the fields are not of the type, or there is no file.
    """
    if _media_type(request) != MULTIPART:
        raise Refusal(415, "The body must be a form (Content-Type: multipart/form-data)")
    form = await _read_form(request, workers)
    if "file" not in form.files:
        raise wrong("file", MISSING)
    return _typed(lambda: msgspec.convert(form.fields, kind), wrong), *form.files["file"]


async def decode_json(request: Request, workers: Workers, kind: type[Body]) -> Body:
    """A JSON body of a type.

    Raises:
        Refusal: it is not JSON, not UTF-8, or of another type; the message names the place.
    """
    body = await _bounded_json(request, workers)
    try:
        return msgspec.json.decode(body, type=kind)
    except UnicodeDecodeError:
        raise invalid("the body is not UTF-8") from None
    except (msgspec.DecodeError, RecursionError) as error:
        half = _HALF_PAIR.match(body) if not isinstance(error, msgspec.ValidationError) else None
        raise invalid(str(error) if half is None else f"{half[1].decode()} is half of a character") from None


_HALF = rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
_PAIR = rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HALF_PAIR = re.compile(rb"(?:[^\\]++|%b|(?!%b)\\.)*+(%b)" % (_PAIR, _HALF, _HALF), re.DOTALL)
"""A UTF-16 surrogate without its partner, which the decoder tells as truncated input."""
_MISSING = re.compile(r"missing required field `(\w+)`|(?:got `null`|of length >= 1) - at `\$\.(\w+)`")
_WRONG = re.compile(r" - at `\$\.(\w+)")


def _typed(decode: Callable[[], Body], wrong: Wrong) -> Body:
    try:
        return decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if missing := _MISSING.search(str(error)):
            raise wrong(missing[1] or missing[2], MISSING) from None
        if field := _WRONG.search(str(error)):
            raise wrong(field[1], TYPE) from None
        raise Refusal(400, "Invalid JSON format") from None


async def _bounded_json(request: Request, workers: Workers) -> bytes:
    body = await request.body()
    if len(body) > INLINE_BYTES:
        await workers.run(require_few_values, body, MAX_VALUES)
    return body


async def _read_form(request: Request, workers: Workers) -> Form:
    kind, body = request.headers.get("content-type", ""), await request.body()
    if len(body) > INLINE_BYTES:
        return await workers.run(forms.read_form, kind, body)
    try:
        return forms.read_form(kind, body)
    except InputError as error:
        raise invalid(str(error)) from None


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def key_of(request: Request, given: str | None) -> str | None:
    """The API key of a request: from its body or the header Authorization (Bearer, or DeepL's DeepL-Auth-Key)."""
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    return given or (value.strip() if kind.lower() in ("bearer", "deepl-auth-key") else None)


def address_of(request: Request) -> str:
    """The address of the client."""
    return request.client.host if request.client else ""
