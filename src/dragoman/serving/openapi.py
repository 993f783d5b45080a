"""The description of all routes, OpenAPI 3.1, from the types that requests are checked against."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from dragoman.serving.models import Pair
from dragoman.serving.native import CompleteRequest, CompleteResponse, TranslateRequest, TranslateResponse
from dragoman.serving.service import AUTO
from dragoman.serving.settings import MAX_ALTERNATIVES

Texts = Annotated[str, Meta(min_length=1)] | Annotated[list[str], Meta(min_length=1)]
Json = dict[str, Any]


class LibreTranslateRequest(Struct):
    """A text or several."""

    q: Texts
    source: Annotated[str, Meta(min_length=1, description="Language code, or auto")]
    target: Annotated[str, Meta(min_length=1)]
    format: Literal["text", "html"] = "text"
    alternatives: Annotated[int, Meta(le=MAX_ALTERNATIVES)] = 0
    api_key: str | None = None


class DetectedLanguage(Struct):
    """A language and how sure it is."""

    confidence: Annotated[float, Meta(ge=0, le=100)]
    language: str


class LibreTranslateResponse(Struct, omit_defaults=True):
    """The translation of each text; lists where `q` is one."""

    translatedText: str | list[str]
    detectedLanguage: DetectedLanguage | list[DetectedLanguage] | None = None
    alternatives: list[str | list[str]] | None = None


class DetectRequest(Struct):
    """A text."""

    q: Annotated[str, Meta(min_length=1)]
    api_key: str | None = None


class Language(Struct):
    """A served language."""

    code: str
    name: str
    targets: list[str]


class FileResponse(Struct):
    """Where the translated file is."""

    translatedFileUrl: str


class DeepLRequest(Struct):
    """Texts in DeepL's form."""

    text: Texts
    target_lang: Annotated[str, Meta(min_length=1)]
    source_lang: str = ""
    tag_handling: Literal["", "html", "xml"] = ""


class DeepLTranslation(Struct):
    """A translation."""

    detected_source_language: str
    text: str
    billed_characters: int


class DeepLResponse(Struct):
    """One translation for each text."""

    translations: list[DeepLTranslation]


class Error(Struct):
    """An error in LibreTranslate's form."""

    error: str


class Message(Struct):
    """An error in DeepL's form."""

    message: str


class Problem(Struct):
    """An error by RFC 9457."""

    type: str
    title: str
    status: int
    detail: str


_TYPES: tuple[type[Struct], ...] = (
    *(LibreTranslateRequest, LibreTranslateResponse, DetectRequest, DetectedLanguage, Language, FileResponse),
    *(TranslateRequest, TranslateResponse, CompleteRequest, CompleteResponse, DeepLRequest, DeepLResponse),
    *(Error, Message, Problem),
)
_ERRORS = {
    400: "The request cannot be understood",
    403: "The API key is unknown",
    408: "The request arrived too slowly",
    413: "The request is too long",
    415: "The body is neither JSON nor a form",
    429: "Too many requests; Retry-After says when to try again",
    500: "The model failed",
    503: "The server is busy; Retry-After says when to try again",
}


def describe(pairs: Sequence[Pair]) -> Json:
    """The description as JSON, with the languages of `pairs` as those that a request may name."""
    schemas, components = msgspec.json.schema_components(_TYPES, ref_template="#/components/schemas/{name}")
    sources = sorted({pair.source for pair in pairs})
    targets = sorted({pair.target for pair in pairs})
    fields = {"source": [AUTO, *sources], "target": targets, "source_lang": ["", *sources], "target_lang": targets}
    for name, component in components.items():
        if name.endswith("Request"):
            for field in fields.keys() & component["properties"].keys():
                component["properties"][field] |= {"enum": fields[field]}
    by_type = dict(zip(_TYPES, schemas, strict=True))

    def post(
        name: str, summary: str, request: type[Struct], response: Json, error: type[Struct], *, form: bool
    ) -> Json:
        kinds = ["application/json"] + (["application/x-www-form-urlencoded"] if form else [])
        body = {kind: {"schema": by_type[request]} for kind in kinds}
        operation = _operation(name, summary, response, by_type[error], tuple(_ERRORS))
        return {"post": {**operation, "requestBody": {"required": True, "content": body}}}

    file_body = {
        "type": "object",
        "required": ["file", "source", "target"],
        "properties": {
            "file": {"type": "string", "format": "binary"},
            "source": {"type": "string", "enum": fields["source"]},
            "target": {"type": "string", "enum": targets},
            "api_key": {"type": "string"},
        },
    }
    file = _operation("translateFile", "Translate a file", by_type[FileResponse], by_type[Error], tuple(_ERRORS))
    file["requestBody"] = {"required": True, "content": {"multipart/form-data": {"schema": file_body}}}
    detected = {"type": "array", "items": by_type[DetectedLanguage]}
    status = {"type": "object", "properties": {"status": {"type": "string"}}}
    paths: Json = {
        "/translate": post(
            "translate",
            "Translate texts (LibreTranslate)",
            LibreTranslateRequest,
            by_type[LibreTranslateResponse],
            Error,
            form=True,
        ),
        "/detect": post("detect", "Detect the language of a text", DetectRequest, detected, Error, form=True),
        "/translate_file": {"post": file},
        "/v1/translate": post(
            "translateWithAlignment",
            "Translate with n-best lists, scores, segments, alignment and attention",
            TranslateRequest,
            by_type[TranslateResponse],
            Problem,
            form=False,
        ),
        "/v1/complete": post(
            "complete",
            "Complete the beginning of a translation",
            CompleteRequest,
            by_type[CompleteResponse],
            Problem,
            form=False,
        ),
        "/v2/translate": post(
            "translateDeepL", "Translate texts (DeepL)", DeepLRequest, by_type[DeepLResponse], Message, form=True
        ),
    }
    for path, name, summary, response in (
        ("/languages", "languages", "The served languages", {"type": "array", "items": by_type[Language]}),
        ("/frontend/settings", "frontendSettings", "Limits for clients", {"type": "object"}),
        ("/v2/languages", "languagesDeepL", "The served languages (DeepL)", {"type": "array"}),
        ("/v2/usage", "usageDeepL", "Nothing is counted (DeepL)", {"type": "object"}),
        ("/health", "health", "Whether the server runs", status),
        ("/spec", "spec", "This description", {"type": "object"}),
    ):
        paths[path] = {"get": _operation(name, summary, response, by_type[Error], ())}
    ready = _operation("ready", "Whether no model is being loaded", status, by_type[Error], ())
    ready["responses"]["503"] = {"description": "A model is being loaded", "content": _json(status)}
    paths["/ready"] = {"get": ready}
    metrics = _operation("metrics", "Measurements in Prometheus' text format", {}, by_type[Error], ())
    metrics["responses"]["200"]["content"] = {"text/plain": {"schema": {"type": "string"}}}
    paths["/metrics"] = {"get": metrics}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Dragoman", "version": version("dragoman")},
        "paths": paths,
        "components": {"schemas": components},
    }


def _operation(name: str, summary: str, response: Json, error: Json, statuses: tuple[int, ...]) -> Json:
    kind = "application/problem+json" if error.get("$ref", "").endswith("/Problem") else "application/json"
    failures = {
        str(status): {"description": _ERRORS[status], "content": {kind: {"schema": error}}} for status in statuses
    }
    answers = {"200": {"description": "OK", "content": _json(response)}, **failures}
    return {"operationId": name, "summary": summary, "responses": answers}


def _json(schema: Json) -> Json:
    return {"application/json": {"schema": schema}}
