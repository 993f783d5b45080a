"""The API of LibreTranslate: its routes, fields, messages and status codes, so that its clients work unchanged.

One thing differs: each text of an array has the language that was detected for it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from dragoman.serving.detection import Detected
from dragoman.serving.files import supported_files
from dragoman.serving.language_names import language_name
from dragoman.serving.markup import translate_markup
from dragoman.serving.refusals import Refusal, invalid, missing
from dragoman.serving.requests import address_of, is_json, key_of, read_fields, string_of, texts_of
from dragoman.serving.responses import json_response
from dragoman.serving.service import AUTO, Direction, Service
from dragoman.serving.settings import MAX_ALTERNATIVES

MAX_DETECTED = 3


class LibreTranslate:
    """The handlers, on a service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def translate(self, request: Request) -> Response:
        """POST /translate."""
        fields = await read_fields(request, self._service.workers)
        texts, source, target = _text_and_languages(fields)
        alternatives = _alternatives(fields.get("alternatives"))
        form = string_of(fields, "format") or "text"
        if not is_json(request):
            texts = ["\n".join(text.splitlines()) for text in texts]
        self._service.limits.admit(key_of(request, fields), address_of(request), len(texts))
        self._service.require_lengths(texts)
        directions = await self._service.directions(texts, source, target)
        if form == "html":
            found = [[text] for text in await translate_markup(self._service, texts, directions)]
        elif form == "text":
            found = await self._service.translate(texts, directions, n_best=alternatives + 1)
        else:
            raise Refusal(400, f"{form[:20]} format is not supported")
        one = not isinstance(fields["q"], list)
        answer: dict[str, Any] = {"translatedText": _one_or_all(one, [best for best, *_ in found])}
        if source == AUTO:
            answer["detectedLanguage"] = _one_or_all(one, [_confidence(direction) for direction in directions])
        if alternatives:
            answer["alternatives"] = _one_or_all(one, [others for _, *others in found])
        return json_response(answer)

    async def detect(self, request: Request) -> Response:
        """POST /detect."""
        fields = await read_fields(request, self._service.workers)
        text = "\n".join(texts_of(fields.get("q") or "", "q"))
        if not text:
            raise missing("q")
        self._service.limits.admit(key_of(request, fields), address_of(request), 1)
        self._service.require_lengths([text])
        return json_response([_as_dict(one) for one in (await self._service.detect(text))[:MAX_DETECTED]])

    async def languages(self, request: Request) -> Response:
        """GET /languages."""
        models = self._service.models
        return json_response(
            [
                {
                    "code": code,
                    "name": language_name(code),
                    "targets": sorted({code, *(pair.target for pair in models.pairs if pair.source == code)}),
                }
                for code in models.languages
            ]
        )

    async def frontend_settings(self, request: Request) -> Response:
        """GET /frontend/settings."""
        settings = self._service.settings
        pair = self._service.models.pairs[0]
        formats = supported_files()
        return json_response(
            {
                "charLimit": settings.max_characters,
                "frontendTimeout": 500,
                "apiKeys": self._service.limits.key_required,
                "keyRequired": self._service.limits.key_required,
                "suggestions": False,
                "filesTranslation": bool(formats),
                "supportedFilesFormat": formats,
                "language": {
                    "source": {"code": pair.source, "name": language_name(pair.source)},
                    "target": {"code": pair.target, "name": language_name(pair.target)},
                },
            }
        )

    async def suggest(self, request: Request) -> Response:
        """POST /suggest, which is not offered."""
        raise Refusal(403, "Suggestions are disabled on this server.")


def _text_and_languages(fields: dict[str, Any]) -> tuple[list[str], str, str]:
    q = fields.get("q")
    if not q:
        raise missing("q")
    texts = texts_of(q, "q")
    source, target = string_of(fields, "source"), string_of(fields, "target")
    if not source:
        raise missing("source")
    if not target:
        raise missing("target")
    return texts, source, target


def _alternatives(value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        if not isinstance(value, (int, str, type(None))):
            raise ValueError
        count = int(value or 0)
    except ValueError:  # also where it has thousands of digits
        raise invalid("alternatives parameter is not a number") from None
    if count > MAX_ALTERNATIVES:
        raise invalid(f"alternatives parameter must be <= {MAX_ALTERNATIVES}")
    return max(count, 0)


def _one_or_all(one: bool, values: Sequence[Any]) -> Any:
    return values[0] if one else values


def _as_dict(detected: Detected) -> dict[str, object]:
    return {"confidence": detected.confidence, "language": detected.language}


def _confidence(direction: Direction) -> dict[str, object] | None:
    return None if direction.detected is None else _as_dict(direction.detected)
