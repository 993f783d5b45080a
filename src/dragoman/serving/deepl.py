"""The API of DeepL, as far as tools for translators use it: POST /v2/translate, GET /v2/languages and /v2/usage."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from dragoman.documents.html_text import Xml
from dragoman.serving.language_names import language_name
from dragoman.serving.markup import translate_markup
from dragoman.serving.requests import NonEmpty, Texts, address_of, decode_request, key_of
from dragoman.serving.responses import MISSING, Refusal, json_response, wrong_field
from dragoman.serving.service import AUTO, Service

MAX_TEXTS = 50
"""Texts of a request, as at DeepL."""


class DeepLRequest(Struct):
    """Texts in DeepL's form."""

    text: Texts
    target_lang: NonEmpty
    source_lang: str | None = None
    tag_handling: str | None = None
    ignore_tags: str | list[str] | None = None
    splitting_tags: str | list[str] | None = None
    split_sentences: str | int | bool | None = None
    formality: str | None = None
    glossary_id: str | None = None
    api_key: str | None = None
    auth_key: str | None = None
    """The key of older clients."""


class DeepLTranslation(Struct):
    """A translation."""

    detected_source_language: str
    text: str
    billed_characters: int


class DeepLResponse(Struct):
    """One translation for each text."""

    translations: list[DeepLTranslation]


class DeepL:
    """The handlers, on a service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def translate(self, request: Request) -> Response:
        """POST /v2/translate; `source_lang` may be missing, `tag_handling` is `html` or `xml`."""
        service = self._service
        wanted = await decode_request(request, service.workers, DeepLRequest, _wrong)
        texts = wanted.text if isinstance(wanted.text, list) else [wanted.text]
        if len(texts) > MAX_TEXTS:
            raise Refusal(400, f"Too many texts: {len(texts)}, at most {MAX_TEXTS} are allowed.")
        if wanted.tag_handling not in (None, "", "html", "xml"):
            raise Refusal(400, "Value for 'tag_handling' not supported.")
        _require_known(wanted)
        key = key_of(request, wanted.api_key) or wanted.auth_key
        service.limits.admit(key, address_of(request), len(texts))
        service.require_lengths(texts)
        directions = await service.directions(texts, wanted.source_lang or AUTO, wanted.target_lang)
        if wanted.tag_handling:
            xml = None
            if wanted.tag_handling == "xml":
                xml = Xml(frozenset(_tags(wanted.ignore_tags)), frozenset(_tags(wanted.splitting_tags)))
            results = [text for text, *_ in await translate_markup(service, texts, directions, xml)]
        else:
            results = [best for best, *_ in await service.translate(texts, directions)]
        translations = [
            DeepLTranslation(direction.pair.source.upper(), text, len(given))
            for given, direction, text in zip(texts, directions, results, strict=True)
        ]
        return json_response(DeepLResponse(translations))

    async def languages(self, request: Request) -> Response:
        """GET /v2/languages; with `type=target` those that texts are translated into.

        DeepL's client for Python sends that in the body, others in the query string.
        """
        pairs = self._service.models.pairs
        fields = b"&".join((request.scope["query_string"], await request.body()))
        targets = b"type=target" in fields.split(b"&")
        codes = sorted({pair.target if targets else pair.source for pair in pairs})
        extra: dict[str, Any] = {"supports_formality": False} if targets else {}
        return json_response([{"language": code.upper(), "name": language_name(code), **extra} for code in codes])

    async def usage(self, request: Request) -> Response:
        """GET /v2/usage: nothing is counted against a quota."""
        return json_response({"character_count": 0, "character_limit": 10**12})


def _require_known(wanted: DeepLRequest) -> None:
    """Refuse what would have no effect.

    Raises:
        Refusal: in DeepL's words.
    """
    xml = wanted.tag_handling == "xml"
    sentences = {"", "1", "true", *(["nonewlines"] if wanted.tag_handling else [])}
    for name, value, known in (
        ("formality", wanted.formality or "default", {"default", "prefer_more", "prefer_less"}),
        ("glossary_id", wanted.glossary_id or "", {""}),
        ("split_sentences", "" if wanted.split_sentences is None else str(wanted.split_sentences).lower(), sentences),
        ("ignore_tags", "" if xml else " ".join(_tags(wanted.ignore_tags)), {""}),
        ("splitting_tags", "" if xml else " ".join(_tags(wanted.splitting_tags)), {""}),
    ):
        if value not in known:
            raise Refusal(400, f"Value for '{name}' not supported.")


def _tags(names: str | list[str] | None) -> list[str]:
    """Names of tags, which may be given in one string with commas."""
    return [name.strip() for name in (names.split(",") if isinstance(names, str) else names or []) if name.strip()]


def _wrong(name: str, fault: str) -> Refusal:
    """The refusal for a field, in DeepL's words."""
    if fault != MISSING:
        return wrong_field(name, fault)
    return Refusal(
        400, f"Parameter '{name}' not specified." if name == "text" else f"Value for '{name}' not supported."
    )
