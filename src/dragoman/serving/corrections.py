"""Corrections of translations, which a served run learns from: /v1/corrections, and LibreTranslate's /suggest."""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from dragoman.serving.learning import LearningModel, State
from dragoman.serving.native import Code
from dragoman.serving.requests import NonEmpty, address_of, decode_json, decode_request, key_of
from dragoman.serving.responses import Refusal, invalid, json_response, wrong_field
from dragoman.serving.service import Service

Count = Annotated[int, Meta(ge=0)]
Kind = TypeVar("Kind")


class CorrectionRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """A text and its right translation."""

    source: Code
    target: Code
    text: NonEmpty
    translation: NonEmpty
    api_key: str | None = None


class CorrectionResponse(Struct):
    """What has become of a request."""

    number: Count
    """That of the correction, from 1; 0 where one or all were taken out."""
    waiting: Count
    """Corrections that are not learnt yet."""


class CorrectionsQuery(Struct, forbid_unknown_fields=True, kw_only=True):
    """Whose corrections are asked for."""

    source: Code
    target: Code
    after: int = 0
    """Only those with a larger number."""
    api_key: str | None = None


class RemovalQuery(Struct, forbid_unknown_fields=True, kw_only=True):
    """Whose correction is taken out."""

    source: Code
    target: Code
    text: str = ""
    """Only if it is the correction of this text."""
    api_key: str | None = None


class KnownCorrection(Struct):
    """A correction."""

    number: Count
    text: str
    translation: str
    state: State
    """Taken back: its block of ten cost the dev set too much."""


class CorrectionsResponse(Struct):
    """The corrections of a model, in their order."""

    source: str
    target: str
    revision: Count
    """Changes of the weights that translate, since the server started."""
    waiting: Count
    corrections: list[KnownCorrection]


class SuggestRequest(Struct):
    """A text and its right translation, as LibreTranslate's clients send them."""

    q: NonEmpty
    s: NonEmpty
    source: NonEmpty
    target: NonEmpty
    api_key: str | None = None


class SuggestResponse(Struct):
    """That it was taken."""

    success: bool


class CorrectionRoutes:
    """The handlers, on a service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def add(self, request: Request) -> Response:
        """POST /v1/corrections."""
        wanted = await decode_json(request, self._service.workers, CorrectionRequest)
        model = self._admitted(request, wanted)
        self._service.require_lengths([wanted.text, wanted.translation])
        return json_response(CorrectionResponse(await model.log(wanted.text, wanted.translation), model.waiting))

    async def suggest(self, request: Request) -> Response:
        """POST /suggest."""
        if not self._service.learning:
            raise Refusal(403, "Suggestions are disabled on this server.")
        wanted = await decode_request(request, self._service.workers, SuggestRequest, wrong_field)
        model = self._admitted(request, wanted)
        self._service.require_lengths([wanted.q, wanted.s])
        await model.log(wanted.q, wanted.s)
        return json_response(SuggestResponse(success=True))

    async def list(self, request: Request) -> Response:
        """GET /v1/corrections."""
        wanted = _query(request, CorrectionsQuery)
        model = self._admitted(request, wanted)
        first = max(wanted.after, 0)
        listed = [
            KnownCorrection(number, *pair, model.state(number))
            for number, pair in enumerate(model.corrections[first:], first + 1)
        ]
        return json_response(CorrectionsResponse(wanted.source, wanted.target, model.revision, model.waiting, listed))

    async def remove(self, request: Request) -> Response:
        """DELETE /v1/corrections/{number}."""
        wanted = _query(request, RemovalQuery)
        model, number = self._admitted(request, wanted), request.path_params["number"]
        if not (number.isascii() and number.isdigit() and len(number) < 10):
            raise invalid(f"{number[:20]} is not the number of a correction")
        await model.undo(int(number), wanted.text)
        return json_response(CorrectionResponse(0, model.waiting))

    async def remove_all(self, request: Request) -> Response:
        """DELETE /v1/corrections."""
        model = self._admitted(request, _query(request, RemovalQuery))
        await model.undo(None)
        return json_response(CorrectionResponse(0, model.waiting))

    def _admitted(
        self, request: Request, wanted: CorrectionRequest | SuggestRequest | CorrectionsQuery | RemovalQuery
    ) -> LearningModel:
        """The model that is corrected.

        Raises:
            Refusal: the client may not, or the model does not learn.
        """
        key = key_of(request, wanted.api_key)
        self._service.limits.admit(key, address_of(request), 1)
        self._service.limits.require_learning(key)
        pair = self._service.pair_of(wanted.source, wanted.target)
        if pair not in self._service.learning:
            raise Refusal(403, f"This server does not learn from corrections of {pair}")
        return self._service.learning[pair]


def _query(request: Request, kind: type[Kind]) -> Kind:
    """The query string as a type.

    Raises:
        Refusal: it is not of the type.
    """
    try:
        return msgspec.convert(dict(request.query_params), kind, strict=False)
    except msgspec.ValidationError as error:
        raise invalid(str(error)) from None
