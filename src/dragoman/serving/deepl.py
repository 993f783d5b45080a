"""The API of DeepL, as far as tools for translators use it: POST /v2/translate, GET /v2/languages and /v2/usage."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from dragoman.serving.language_names import language_name
from dragoman.serving.markup import translate_markup
from dragoman.serving.refusals import Refusal
from dragoman.serving.requests import address_of, key_of, read_fields, string_of, texts_of
from dragoman.serving.responses import json_response
from dragoman.serving.service import AUTO, Service

MAX_TEXTS = 50
"""Texts of a request, as at DeepL."""


class DeepL:
    """The handlers, on a service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def translate(self, request: Request) -> Response:
        """POST /v2/translate; `source_lang` may be missing, `tag_handling` is `html` or `xml`."""
        fields = await read_fields(request, self._service.workers)
        if not fields.get("text"):
            raise Refusal(400, "Parameter 'text' not specified.")
        texts = texts_of(fields["text"], "text")
        target, source = string_of(fields, "target_lang"), string_of(fields, "source_lang")
        if not target:
            raise Refusal(400, "Value for 'target_lang' not supported.")
        if len(texts) > MAX_TEXTS:
            raise Refusal(400, f"Too many texts: {len(texts)}, at most {MAX_TEXTS} are allowed.")
        tags = string_of(fields, "tag_handling")
        if tags not in ("", "html", "xml"):
            raise Refusal(400, "Value for 'tag_handling' not supported.")
        self._service.limits.admit(self._key(request, fields), address_of(request), len(texts))
        self._service.require_lengths(texts)
        directions = await self._service.directions(texts, source or AUTO, target)
        if tags:
            found = await translate_markup(self._service, texts, directions)
        else:
            found = [best for best, *_ in await self._service.translate(texts, directions)]
        return json_response(
            {
                "translations": [
                    {
                        "detected_source_language": direction.pair.source.upper(),
                        "text": text,
                        "billed_characters": len(given),
                    }
                    for given, direction, text in zip(texts, directions, found, strict=True)
                ]
            }
        )

    async def languages(self, request: Request) -> Response:
        """GET /v2/languages; with `type=target` those that texts are translated into."""
        pairs = self._service.models.pairs
        targets = request.query_params.get("type") == "target"
        codes = sorted({pair.target if targets else pair.source for pair in pairs})
        extra: dict[str, Any] = {"supports_formality": False} if targets else {}
        return json_response([{"language": code.upper(), "name": language_name(code), **extra} for code in codes])

    async def usage(self, request: Request) -> Response:
        """GET /v2/usage: nothing is counted against a quota."""
        return json_response({"character_count": 0, "character_limit": 10**12})

    @staticmethod
    def _key(request: Request, fields: dict[str, Any]) -> str | None:
        """The key of a request; older clients send it as `auth_key`."""
        older = fields.get("auth_key")
        return key_of(request, fields) or (older if isinstance(older, str) else None)
