"""Translated files: POST /translate_file and GET /download_file/NAME. Nothing is written to disk."""

from __future__ import annotations

import re
import time
import uuid
from collections import OrderedDict
from pathlib import PurePosixPath
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from dragoman.documents.catalogues import encoding_note
from dragoman.documents.document import Languages, RatedText
from dragoman.documents.files import MAX_FILE_TEXTS, file_texts, supported_kinds, translated_file
from dragoman.serving.markup import translate_markup
from dragoman.serving.requests import NonEmpty, address_of, decode_file_request, key_of
from dragoman.serving.responses import Refusal, invalid, json_response, wrong_field
from dragoman.serving.service import Service
from dragoman.text.document_names import document_kind

KEPT_SECONDS = 600.0
"""How long a translated file can be fetched."""

DETECTED_CHARACTERS = 5000
"""Characters of a file whose language is detected."""


def supported_files() -> list[str]:
    """The suffixes of files that can be translated here."""
    return [".txt", *supported_kinds()]


def kind_of(name: str) -> str:
    """The kind of a file by its name.

    Raises:
        Refusal: in LibreTranslate's words; it is of another kind, or has no name.
    """
    if not name:
        raise invalid("empty file")
    kind = document_kind(name) or PurePosixPath(name).suffix.lower()
    if kind not in supported_files():
        raise invalid("file format not supported")
    return kind


def translated_name(name: str, target: str, suffix: str | None = None) -> str:
    """The name of a translated file, in characters that a header may have."""
    path = PurePosixPath(name)
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", path.stem)[:60] or "file"
    return f"{stem}_{re.sub('[^A-Za-z-]', '', target)}{suffix or path.suffix.lower()}"


def attachment(name: str, content: bytes, note: str = "") -> Response:
    """A file as an answer, with what is to be said of it as a header."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"', **({"Dragoman-Note": note} if note else {})}
    return Response(content, media_type="application/octet-stream", headers=headers)


class FileRequest(Struct):
    """The fields beside a file."""

    source: NonEmpty
    target: NonEmpty
    api_key: str | None = None


class FileResponse(Struct):
    """Where the translated file is."""

    translatedFileUrl: str
    note: str | UnsetType = UNSET
    """What is to be said of it: that a catalogue is no longer in its encoding."""


_PREFIX = re.compile(r"(?:/[\w.~-]+)+")
_HOST = re.compile(r"[\w.:\[\]-]+")


def _base(request: Request) -> str:
    """The address under which the client knows this server; a proxy says its own path, host and protocol."""
    base = request.base_url
    prefix, host, scheme = (
        request.headers.get(f"x-forwarded-{name}", "").rstrip("/") for name in ("prefix", "host", "proto")
    )
    if scheme in ("http", "https"):
        base = base.replace(scheme=scheme)
    if _HOST.fullmatch(host):
        base = base.replace(netloc=host)
    return f"{base}".rstrip("/") + (prefix if _PREFIX.fullmatch(prefix) else "") + "/"


class _Kept(NamedTuple):
    name: str
    content: bytes
    until: float


class FileRoutes:
    """The handlers, on a service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    async def translate(self, request: Request) -> Response:
        """POST /translate_file."""
        service = self._service
        wanted, name, content = await decode_file_request(request, service.workers, FileRequest, wrong_field)
        suffix = kind_of(name)
        client = key_of(request, wanted.api_key), address_of(request)
        service.limits.admit(*client, 1)
        longest = service.settings.max_characters
        source, target = (service.models.find(code) or "" for code in (wanted.source, wanted.target))
        languages = Languages(source, target)
        texts = await service.workers.run(
            file_texts, suffix, content, MAX_FILE_TEXTS, longest * service.settings.max_texts, languages
        )
        characters = sum(map(len, texts))
        service.limits.charge(*client, max(characters - 1, 0) // longest)  # in all as many as texts of the largest size
        [direction] = await service.directions(["\n".join(texts)[:DETECTED_CHARACTERS]], wanted.source, wanted.target)
        directions = [direction] * len(texts)  # one language for the whole file
        if suffix == ".txt":
            translations = [RatedText(best, None) for best, *_ in await service.translate(texts, directions)]
        else:
            translations = await translate_markup(
                service, texts, directions, matches=suffix.endswith((".xlf", "xliff"))
            )
        translated = await service.workers.run(translated_file, suffix, content, translations, languages)
        key = f"{uuid.uuid4()}.{translated_name(name, wanted.target)}"
        self._keep(key, translated)
        note = encoding_note(content, translated) if suffix == ".po" else ""
        return json_response(FileResponse(f"{_base(request)}download_file/{key}", note or UNSET))

    async def download(self, request: Request) -> Response:
        """GET /download_file/NAME."""
        kept = self._kept.get(request.path_params["name"])
        if kept is None or kept.until < time.monotonic():
            raise Refusal(404, "The file does not exist, or is no longer kept; translate it again")
        return attachment(kept.name, kept.content)

    def _keep(self, key: str, content: bytes) -> None:
        now, most = time.monotonic(), self._service.settings.file_bytes
        self._kept[key] = _Kept(key.partition(".")[2], content, now + KEPT_SECONDS)
        while self._kept and (
            next(iter(self._kept.values())).until < now
            or (len(self._kept) > 1 and sum(len(one.content) for one in self._kept.values()) > most)
        ):
            self._kept.popitem(last=False)
