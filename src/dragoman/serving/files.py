"""Translated files: POST /translate_file and GET /download_file/NAME. Nothing is written to disk."""

from __future__ import annotations

import asyncio
import html
import importlib.util
import re
import time
import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import PurePosixPath
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from dragoman.serving.markup import translate_markup
from dragoman.serving.refusals import Refusal, invalid, missing
from dragoman.serving.requests import address_of, key_of, read_form, string_of
from dragoman.serving.responses import json_response
from dragoman.serving.service import Service
from dragoman.serving.subtitles import cue_texts, replace_cue_texts

KEPT_SECONDS = 600.0
"""How long a translated file can be fetched."""

Texts = Callable[[list[str], bool], Awaitable[list[str]]]
"""Translates texts, with True as HTML."""


def supported_files() -> list[str]:
    """The suffixes of files that can be translated here."""
    return [".txt", ".html", ".htm", ".srt", *([".docx"] if importlib.util.find_spec("docx") else [])]


class _Kept(NamedTuple):
    name: str
    content: bytes
    until: float


class Files:
    """The handlers, on a service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    async def translate(self, request: Request) -> Response:
        """POST /translate_file."""
        fields, files = await read_form(request)
        if "file" not in files:
            raise missing("file")
        source, target = string_of(fields, "source"), string_of(fields, "target")
        if not source:
            raise missing("source")
        if not target:
            raise missing("target")
        name, content = files["file"]
        if not name:
            raise invalid("empty file")
        suffix = PurePosixPath(name).suffix.lower()
        if suffix not in supported_files():
            raise invalid("file format not supported")
        self._service.limits.admit(key_of(request, fields), address_of(request), 1)

        async def translate(texts: list[str], markup: bool) -> list[str]:
            directions = await self._service.directions(texts, source, target)
            if source == "auto":  # one language for the whole file
                [direction] = await self._service.directions(["\n".join(texts)[:5000]], source, target)
                directions = [direction] * len(texts)
            if markup:
                return await translate_markup(self._service, texts, directions)
            return [best for best, *_ in await self._service.translate(texts, directions)]

        translated = await _FORMATS[suffix](content, translate)
        stem = re.sub(r"[^A-Za-z0-9_-]+", "_", PurePosixPath(name).stem)[:60] or "file"
        key = f"{uuid.uuid4()}.{stem}_{re.sub('[^A-Za-z-]', '', target)}{suffix}"
        self._keep(key, translated)
        return json_response({"translatedFileUrl": f"{request.base_url}download_file/{key}"})

    async def download(self, request: Request) -> Response:
        """GET /download_file/NAME."""
        kept = self._kept.get(request.path_params["name"])
        if kept is None or kept.until < time.monotonic():
            raise Refusal(404, "The file does not exist, or is no longer kept; translate it again")
        headers = {"Content-Disposition": f'attachment; filename="{kept.name}"'}
        return Response(kept.content, media_type="application/octet-stream", headers=headers)

    def _keep(self, key: str, content: bytes) -> None:
        now = time.monotonic()
        self._kept[key] = _Kept(key.partition(".")[2], content, now + KEPT_SECONDS)
        while self._kept and (
            next(iter(self._kept.values())).until < now
            or (len(self._kept) > 1 and sum(len(one.content) for one in self._kept.values()) > self._limit)
        ):
            self._kept.popitem(last=False)

    @property
    def _limit(self) -> int:
        return self._service.settings.file_bytes


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise invalid("the file is not UTF-8") from None


async def _text_file(content: bytes, translate: Texts) -> bytes:
    [text] = await translate([_decoded(content)], False)
    return text.encode("utf-8")


async def _html_file(content: bytes, translate: Texts) -> bytes:
    [text] = await translate([_decoded(content)], True)
    return text.encode("utf-8")


async def _subtitle_file(content: bytes, translate: Texts) -> bytes:
    text = _decoded(content)
    cues = await asyncio.to_thread(cue_texts, text)
    # Subtitles have a few tags and no entities.
    found = await translate([cue.replace("&", "&amp;") for cue in cues], True)
    replaced = await asyncio.to_thread(replace_cue_texts, text, [html.unescape(cue) for cue in found])
    return replaced.encode("utf-8")


async def _word_file(content: bytes, translate: Texts) -> bytes:
    from dragoman.serving.word_files import WordFile

    document = await asyncio.to_thread(WordFile, content)
    document.replace(await translate(document.paragraphs, True))
    return await asyncio.to_thread(document.save)


_FORMATS: dict[str, Callable[[bytes, Texts], Awaitable[bytes]]] = {
    ".txt": _text_file,
    ".html": _html_file,
    ".htm": _html_file,
    ".srt": _subtitle_file,
    ".docx": _word_file,
}
