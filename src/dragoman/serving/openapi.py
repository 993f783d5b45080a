"""The description of all routes, OpenAPI 3.1, from the types that requests are checked against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Annotated, Any, Literal, NamedTuple

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


_TYPES: tuple[Any, ...] = (
    *(LibreTranslateRequest, LibreTranslateResponse, DetectRequest, DetectedLanguage, Language, FileResponse),
    *(TranslateRequest, TranslateResponse, CompleteRequest, CompleteResponse, DeepLRequest, DeepLResponse),
    *(Error, Message, Problem, list[DetectedLanguage], list[Language]),
)
_ERRORS = {
    400: "The request cannot be understood",
    403: "The API key is unknown, or a page of another origin has sent the request",
    408: "The request arrived too slowly",
    413: "The request is too long",
    415: "The body is neither JSON nor a form",
    429: "Too many requests; Retry-After says when to try again",
    500: "The model failed",
    503: "The server is busy; Retry-After says when to try again",
}


class _Post(NamedTuple):
    """A route that takes a request, and the types of its request, answer and errors."""

    path: str
    name: str
    summary: str
    request: type[Struct] | None
    """None for a file."""
    response: Any
    error: type[Struct]
    form: bool
    """Whether a form is taken as well as JSON."""


_POSTS = (
    _Post(
        "/translate",
        "translate",
        "Translate texts (LibreTranslate)",
        LibreTranslateRequest,
        LibreTranslateResponse,
        Error,
        form=True,
    ),
    _Post(
        "/detect",
        "detect",
        "Detect the language of a text",
        DetectRequest,
        list[DetectedLanguage],
        Error,
        form=True,
    ),
    _Post("/translate_file", "translateFile", "Translate a file", None, FileResponse, Error, form=True),
    _Post(
        "/v1/translate",
        "translateWithAlignment",
        "Translate with n-best lists, scores, segments, alignment and attention",
        TranslateRequest,
        TranslateResponse,
        Problem,
        form=False,
    ),
    _Post(
        "/v1/complete",
        "complete",
        "Complete the beginning of a translation",
        CompleteRequest,
        CompleteResponse,
        Problem,
        form=False,
    ),
    _Post(
        "/v2/translate",
        "translateDeepL",
        "Translate texts (DeepL)",
        DeepLRequest,
        DeepLResponse,
        Message,
        form=True,
    ),
)


def describe(pairs: Sequence[Pair]) -> Json:
    """The description as JSON, with the languages of `pairs` as those that a request may name."""
    schemas, components = msgspec.json.schema_components(_TYPES, ref_template="#/components/schemas/{name}")
    by_type = dict(zip(_TYPES, schemas, strict=True))
    sources = sorted({pair.source for pair in pairs})
    targets = sorted({pair.target for pair in pairs})
    codes = {"source": [AUTO, *sources], "target": targets, "source_lang": ["", *sources], "target_lang": targets}
    for name, component in components.items():
        if name.endswith("Request"):
            for field in codes.keys() & component["properties"].keys():
                component["properties"][field] |= {"enum": codes[field]}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Dragoman", "version": version("dragoman")},
        "paths": {post.path: {"post": _post(post, by_type, codes)} for post in _POSTS} | _gets(by_type),
        "components": {"schemas": components},
    }


def _post(post: _Post, by_type: Mapping[Any, Json], codes: Mapping[str, list[str]]) -> Json:
    """The operation of a route that takes a request."""
    operation = _operation(post.name, post.summary, by_type[post.response], by_type[post.error], tuple(_ERRORS))
    if post.request is None:
        content = {"multipart/form-data": {"schema": _file_form(codes)}}
    else:
        kinds = ["application/json"] + (["application/x-www-form-urlencoded"] if post.form else [])
        content = {kind: {"schema": by_type[post.request]} for kind in kinds}
    return {**operation, "requestBody": {"required": True, "content": content}}


def _file_form(codes: Mapping[str, list[str]]) -> Json:
    """The form that brings a file."""
    return {
        "type": "object",
        "required": ["file", "source", "target"],
        "properties": {
            "file": {"type": "string", "format": "binary"},
            "source": {"type": "string", "enum": codes["source"]},
            "target": {"type": "string", "enum": codes["target"]},
            "api_key": {"type": "string"},
        },
    }


def _gets(by_type: Mapping[Any, Json]) -> Json:
    """The routes that take nothing."""
    status = {"type": "object", "properties": {"status": {"type": "string"}}}
    error = by_type[Error]
    paths: Json = {
        path: {"get": _operation(name, summary, response, error, (403,))}
        for path, name, summary, response in (
            ("/languages", "languages", "The served languages", by_type[list[Language]]),
            ("/frontend/settings", "frontendSettings", "Limits for clients", {"type": "object"}),
            ("/v2/languages", "languagesDeepL", "The served languages (DeepL)", {"type": "array"}),
            ("/v2/usage", "usageDeepL", "Nothing is counted (DeepL)", {"type": "object"}),
            ("/health", "health", "Whether the server runs", status),
            ("/spec", "spec", "This description", {"type": "object"}),
            ("/ready", "ready", "Whether no model is being loaded", status),
            ("/metrics", "metrics", "Measurements in Prometheus' text format", {}),
        )
    }
    paths["/ready"]["get"]["responses"]["503"] = {"description": "A model is being loaded", "content": _json(status)}
    paths["/metrics"]["get"]["responses"]["200"]["content"] = {"text/plain": {"schema": {"type": "string"}}}
    return paths


def _operation(name: str, summary: str, response: Json, error: Json, statuses: tuple[int, ...]) -> Json:
    kind = "application/problem+json" if error.get("$ref", "").endswith("/Problem") else "application/json"
    failures = {
        str(status): {"description": _ERRORS[status], "content": {kind: {"schema": error}}} for status in statuses
    }
    answers = {"200": {"description": "OK", "content": _json(response)}, **failures}
    return {"operationId": name, "summary": summary, "responses": answers}


def _json(schema: Json) -> Json:
    return {"application/json": {"schema": schema}}
