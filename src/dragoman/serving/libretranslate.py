"""The API of LibreTranslate: its routes, fields, messages and status codes, so that its clients work unchanged.

One thing differs: each text of an array has the language that was detected for it alone.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from dragoman.serving.detection import Detected
from dragoman.serving.files import supported_files
from dragoman.serving.language_names import language_name
from dragoman.serving.markup import translate_markup
from dragoman.serving.requests import NonEmpty, Texts, address_of, decode_request, is_json, key_of
from dragoman.serving.responses import Refusal, invalid, json_response, wrong_field
from dragoman.serving.service import AUTO, Service
from dragoman.serving.settings import MAX_ALTERNATIVES

MAX_DETECTED = 3


class LibreTranslateRequest(Struct):
    """A text or several."""

    q: Texts
    source: Annotated[NonEmpty, Meta(description="Language code, or auto")]
    target: NonEmpty
    format: Annotated[str | None, Meta(extra_json_schema={"enum": ["text", "html", "", None]})] = None
    alternatives: Annotated[int | float | str | None, Meta(description=f"A number of at most {MAX_ALTERNATIVES}")] = (
        None
    )
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
    """A text, or the parts of one."""

    q: Texts
    api_key: str | None = None


class Language(Struct):
    """A served language."""

    code: str
    name: str
    targets: list[str]


class LibreTranslate:
    """The handlers, on a service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def translate(self, request: Request) -> Response:
        """POST /translate."""
        service = self._service
        wanted = await decode_request(request, service.workers, LibreTranslateRequest, wrong_field)
        one, texts = isinstance(wanted.q, str), _as_list(wanted.q)
        alternatives = _alternatives(wanted.alternatives)
        if not is_json(request):
            texts = ["\n".join(text.splitlines()) for text in texts]
        service.limits.admit(key_of(request, wanted.api_key), address_of(request), len(texts))
        service.require_lengths(texts)
        directions = await service.directions(texts, wanted.source, wanted.target)
        if wanted.format == "html":
            translations = [[text] for text, *_ in await translate_markup(service, texts, directions)]
        elif wanted.format in (None, "", "text"):
            translations = await service.translate(texts, directions, n_best=alternatives + 1)
        else:
            raise Refusal(400, f"{wanted.format[:20]} format is not supported")

        def one_or_all(values: list[Any]) -> Any:
            return values[0] if one else values

        answer = LibreTranslateResponse(one_or_all([best for best, *_ in translations]))
        if wanted.source == AUTO:
            detected = [_language(direction.detected) for direction in directions if direction.detected]
            answer.detectedLanguage = one_or_all(detected)
        if alternatives:
            answer.alternatives = one_or_all([others for _, *others in translations])
        return json_response(answer)

    async def detect(self, request: Request) -> Response:
        """POST /detect."""
        wanted = await decode_request(request, self._service.workers, DetectRequest, wrong_field)
        text = "\n".join(_as_list(wanted.q))
        self._service.limits.admit(key_of(request, wanted.api_key), address_of(request), 1)
        self._service.require_lengths([text])
        return json_response([_language(one) for one in (await self._service.detect(text))[:MAX_DETECTED]])

    async def languages(self, request: Request) -> Response:
        """GET /languages."""
        models = self._service.models
        return json_response(
            [
                Language(
                    code,
                    language_name(code),
                    sorted({code, *(pair.target for pair in models.pairs if pair.source == code)}),
                )
                for code in models.languages
            ]
        )

    async def frontend_settings(self, request: Request) -> Response:
        """GET /frontend/settings."""
        settings = self._service.settings
        pair = self._service.models.pairs[0]
        formats = [kind for kind in supported_files() if kind.startswith(".")]
        return json_response(
            {
                "charLimit": settings.max_characters,
                "frontendTimeout": 500,
                "apiKeys": self._service.limits.key_required,
                "keyRequired": self._service.limits.key_required,
                "suggestions": bool(self._service.learning),
                "filesTranslation": bool(formats),
                "supportedFilesFormat": formats,
                "language": {
                    "source": {"code": pair.source, "name": language_name(pair.source)},
                    "target": {"code": pair.target, "name": language_name(pair.target)},
                },
            }
        )


def _as_list(texts: str | list[str]) -> list[str]:
    return texts if isinstance(texts, list) else [texts]


def _alternatives(value: float | str | None) -> int:
    try:
        if isinstance(value, float) and not value.is_integer():
            raise ValueError
        count = int(value or 0)
    except ValueError:  # also where it has thousands of digits
        raise invalid("alternatives parameter is not a number") from None
    if count > MAX_ALTERNATIVES:
        raise invalid(f"alternatives parameter must be <= {MAX_ALTERNATIVES}")
    return max(count, 0)


def _language(detected: Detected) -> DetectedLanguage:
    return DetectedLanguage(detected.confidence, detected.language)
