"""The description of all routes, OpenAPI 3.1, from the types that requests are checked against."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any

import msgspec

from dragoman.serving.corrections import (
    CorrectionRequest,
    CorrectionResponse,
    CorrectionsQuery,
    CorrectionsResponse,
    RemovalQuery,
    SuggestRequest,
    SuggestResponse,
)
from dragoman.serving.deepl import DeepLRequest, DeepLResponse
from dragoman.serving.files import FileRequest, FileResponse
from dragoman.serving.libretranslate import (
    DetectedLanguage,
    DetectRequest,
    Language,
    LibreTranslateRequest,
    LibreTranslateResponse,
)
from dragoman.serving.models import LanguagePair
from dragoman.serving.native import CompleteRequest, CompleteResponse, TranslateRequest, TranslateResponse
from dragoman.serving.requests import MULTIPART
from dragoman.serving.segments import DocumentRequest, DocumentResponse, FinishedRequest
from dragoman.serving.service import AUTO

Json = dict[str, Any]

_ERRORS = {
    400: "The request cannot be understood",
    403: "The API key is unknown, or a page of another origin has sent the request",
    408: "The request arrived too slowly",
    413: "The request is too long, or takes too long to read",
    415: "The body is neither JSON nor a form",
    429: "Too many requests; Retry-After says when to try again",
    500: "The model failed",
    503: "The server is busy; Retry-After says when to try again",
}
_MORE = {404: "There is no such correction", 409: "The file or the languages are not those of the digest"}
"""Errors of single routes."""
_STRING: Json = {"type": "string"}
_OBJECT: Json = {"type": "object"}
_ARRAY: Json = {"type": "array"}
_FILE: Json = {"type": "string", "format": "binary"}
_POSTS: tuple[tuple[str, str, str, Any, Any], ...] = (
    (
        "/translate",
        "translate",
        "Translate texts (LibreTranslate)",
        LibreTranslateRequest,
        LibreTranslateResponse,
    ),
    ("/suggest", "suggest", "Correct a translation (LibreTranslate)", SuggestRequest, SuggestResponse),
    ("/detect", "detect", "Detect the language of a text", DetectRequest, list[DetectedLanguage]),
    ("/translate_file", "translateFile", "Translate a file", FileRequest, FileResponse),
    (
        "/v1/translate",
        "translateWithAlignment",
        "Translate with n-best lists, scores, segments, alignment and attention",
        TranslateRequest,
        TranslateResponse,
    ),
    ("/v1/complete", "complete", "Complete the beginning of a translation", CompleteRequest, CompleteResponse),
    ("/v1/corrections", "correct", "Correct a translation", CorrectionRequest, CorrectionResponse),
    ("/v1/documents", "openDocument", "Divide a file into segments", DocumentRequest, DocumentResponse),
    (
        "/v1/documents/finished",
        "finishDocument",
        "Write a file with the translations of its segments",
        FinishedRequest,
        _FILE,
    ),
    ("/v2/translate", "translateDeepL", "Translate texts (DeepL)", DeepLRequest, DeepLResponse),
)
"""Path, name, summary, and the types of request and answer of the routes that take a request; or the answer's schema.
"""
_FILES = ("/translate_file", "/v1/documents", "/v1/documents/finished")
"""Those that take a file."""
_GETS: tuple[tuple[str, str, str, Any], ...] = (
    ("/languages", "languages", "The served languages", list[Language]),
    ("/frontend/settings", "frontendSettings", "Limits for clients", _OBJECT),
    ("/v2/languages", "languagesDeepL", "The served languages (DeepL)", _ARRAY),
    ("/v2/usage", "usageDeepL", "Nothing is counted (DeepL)", _OBJECT),
    ("/health", "health", "Whether the server runs", _OBJECT),
    ("/spec", "spec", "This description", _OBJECT),
    ("/ready", "ready", "Whether no model is being loaded", _OBJECT),
    ("/metrics", "metrics", "Measurements in Prometheus' text format", _STRING),
)
"""Path, name, summary, and the type of the answer of the others, or its schema."""


_QUERIES: tuple[tuple[str, str, str, str, Any, Any], ...] = (
    ("get", "/v1/corrections", "corrections", "The corrections", CorrectionsQuery, CorrectionsResponse),
    ("delete", "/v1/corrections", "removeCorrections", "Take all corrections out", RemovalQuery, CorrectionResponse),
    (
        "delete",
        "/v1/corrections/{number}",
        "removeCorrection",
        "Take a correction out",
        RemovalQuery,
        CorrectionResponse,
    ),
)
"""Method, path, name, summary, and the types of query string and answer."""


def describe(pairs: Sequence[LanguagePair]) -> Json:
    """The description as JSON, with the languages of `pairs` as those that a request may name."""
    types = [kind for *_, request, response in _POSTS for kind in (request, response) if not isinstance(kind, dict)]
    types += [list[Language], *(kind for *_, query, answer in _QUERIES for kind in (query, answer))]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    by_type = dict(zip(types, schemas, strict=True))
    sources, targets = (sorted({pair[side] for pair in pairs}) for side in (0, 1))
    choices = {"source": [AUTO, *sources], "target": targets, "source_lang": ["", *sources], "target_lang": targets}
    choices |= {"format": ["text", "html"], "tag_handling": ["", "html", "xml"]}
    for name, component in components.items():
        if name.endswith("Request"):
            for field in choices.keys() & component["properties"].keys():
                component["properties"][field].pop("anyOf", None)
                component["properties"][field] |= {"type": "string", "enum": choices[field]}

    def schema_of(kind: Any) -> Json:
        schema: Json = kind if isinstance(kind, dict) else by_type[kind]
        return schema

    paths: dict[str, Json] = {}
    for path, name, summary, request, response in _POSTS:
        kinds = ["application/json"] if path not in _FILES else [MULTIPART]
        if path in _FILES:
            fields = components[request.__name__]
            fields["properties"]["file"] = _FILE
            fields["required"].append("file")
        elif not path.startswith("/v1/"):
            kinds.append("application/x-www-form-urlencoded")
        body = {"required": True, "content": {kind: {"schema": by_type[request]} for kind in kinds}}
        statuses = [*_ERRORS, *([409] if response is _FILE else ())]
        paths[path] = {"post": _operation(path, name, summary, schema_of(response), statuses) | {"requestBody": body}}
    for path, name, summary, response in _GETS:
        schema = schema_of(response)
        paths[path] = {"get": _operation(path, name, summary, schema, [403, 503] if path == "/ready" else [403])}
    for method, path, name, summary, query, response in _QUERIES:
        operation = _operation(path, name, summary, schema_of(response), [*_ERRORS, 404])
        operation["parameters"] = _parameters(path, components[query.__name__])
        paths.setdefault(path, {})[method] = operation
    for query in (CorrectionsQuery, RemovalQuery):
        del components[query.__name__]
    return {
        "openapi": "3.1.0",
        "info": {"title": "Dragoman", "version": version("dragoman")},
        "paths": paths,
        "components": {"schemas": components},
    }


def _parameters(path: str, fields: Json) -> list[Json]:
    """Those of a path, and the fields of a query string."""
    parameters: list[Json] = [
        {"name": name, "in": "query", "required": name in fields["required"], "schema": schema}
        for name, schema in fields["properties"].items()
    ]
    if "{number}" in path:
        schema = {"type": "integer", "minimum": 1, "maximum": 999_999_999}
        parameters.append({"name": "number", "in": "path", "required": True, "schema": schema})
    return parameters


def _operation(path: str, name: str, summary: str, response: Json, statuses: Iterable[int]) -> Json:
    fields, kind = ["error"], "application/json"
    if path.startswith("/v1/"):
        fields, kind = ["type", "title", "status", "detail"], "application/problem+json"
    elif path.startswith("/v2/"):
        fields = ["message"]
    properties = {field: {"type": "integer"} if field == "status" else _STRING for field in fields}
    error: Json = {"type": "object", "required": fields, "properties": properties}
    if path == "/ready":
        error = _OBJECT
    media_type = "application/json"
    if response is _STRING or response is _FILE:
        media_type = "text/plain" if response is _STRING else "application/octet-stream"
    answers = {"200": {"description": "OK", "content": {media_type: {"schema": response}}}}
    for status in statuses:
        answers[str(status)] = {"description": (_ERRORS | _MORE)[status], "content": {kind: {"schema": error}}}
    return {"operationId": name, "summary": summary, "responses": answers}
