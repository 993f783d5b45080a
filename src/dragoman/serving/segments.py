"""Documents for people who translate them segment by segment: POST /v1/documents and /v1/documents/finished.

Nothing is kept between the two. Where elements stand inside of a sentence, the model links the words of its translation
with those of the source, whoever has written it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from typing import Annotated, Literal, NamedTuple

from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from dragoman.alignment.extract import heaviest_links
from dragoman.documents.catalogues import encoding_note
from dragoman.documents.document import Languages
from dragoman.documents.files import MAX_FILE_TEXTS, file_texts
from dragoman.documents.rendering import AlignedTranslation, word_units
from dragoman.documents.segments import (
    FinishedSegment,
    HowRead,
    Segment,
    file_segments,
    finished_file,
    pairs_file,
    read_finished,
)
from dragoman.scoring.scorer import ScoredPair, Scorer
from dragoman.serving.files import DETECTED_CHARACTERS, FileRequest, attachment, kind_of, translated_name
from dragoman.serving.models import LoadedModel
from dragoman.serving.requests import NonEmpty, address_of, decode_file_request, key_of
from dragoman.serving.responses import Refusal, invalid, json_response, wrong_field
from dragoman.serving.scheduler import Task
from dragoman.serving.service import AUTO, Service

Place = Annotated[int, Meta(ge=0)]
ENDINGS = {"xliff": ".xlf", "tmx": ".tmx"}


class DocumentRequest(FileRequest):
    """The fields beside a file."""


class DocumentSegment(Struct, omit_defaults=True):
    """A sentence of a document, or a unit that has its translation."""

    source: str
    paragraph: Place
    """Sentences of one number stand together."""
    target: str | UnsetType = UNSET
    """Its translation, where the file has that; it is not changed unless it is fuzzy."""
    fuzzy: bool = False
    """Whether the file says of its translation that somebody has to look at it."""


class DocumentResponse(Struct):
    """A document as its segments, in order."""

    kind: str
    source: str
    target: str
    digest: str
    """SHA-256 of the file and the languages."""
    segments: list[DocumentSegment]


class FinishedRequest(DocumentRequest, kw_only=True):
    """The same fields, and what has become of the segments."""

    digest: NonEmpty
    """As it was answered."""
    targets: NonEmpty
    """A JSON list with a string or null for each segment; with null its source stays, or its fuzzy translation."""
    confirmed: str = ""
    """A JSON list of true or false for each segment: whether a person has confirmed it. Without it none is."""
    form: Literal["document", "xliff", "tmx"] = "document"


class _File(NamedTuple):
    content: bytes
    how: HowRead
    model: LoadedModel

    @property
    def digest(self) -> str:
        """The digest of the content, its kind and its languages."""
        return sha256(b"\0".join([repr((self.how.kind, *self.how.languages)).encode(), self.content])).hexdigest()


class Documents:
    """The handlers, on a service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def open(self, request: Request) -> Response:
        """POST /v1/documents."""
        workers = self._service.workers
        wanted, name, content = await decode_file_request(request, workers, DocumentRequest, wrong_field)
        file = await self._file(request, wanted, name, content)
        segments = await workers.run(file_segments, content, file.how)
        self._charge(request, wanted, segments)
        opened = [
            DocumentSegment(one.source, one.paragraph, UNSET if one.target is None else one.target, one.fuzzy)
            for one in segments
        ]
        return json_response(DocumentResponse(file.how.kind, *file.how.languages, file.digest, opened))

    async def finish(self, request: Request) -> Response:
        """POST /v1/documents/finished."""
        workers = self._service.workers
        wanted, name, content = await decode_file_request(request, workers, FinishedRequest, wrong_field)
        file = await self._file(request, wanted, name, content)
        if wanted.digest != file.digest:
            raise Refusal(409, "The file or the languages are not those of the digest; open the document again")
        finished = await workers.run(read_finished, content, file.how, wanted.targets, wanted.confirmed)
        self._charge(request, wanted, [segment for segment, _ in finished])
        if wanted.form != "document":
            of_memory = wanted.form == "tmx"
            left = [(one, done) for one, done in finished if not of_memory or not one.fuzzy or _is_reviewed(done)]
            pairs = [(one.source, done.target or one.target) for one, done in left]
            given = [(source, target) for source, target in pairs if target]
            ending = ENDINGS[wanted.form]
            written = await workers.run(pairs_file, ending, given, file.how.languages)
            return attachment(translated_name(name, wanted.target, ending), written)
        targets = await self._aligned(file.model, [(one, done.target) for one, done in finished])
        written = await workers.run(finished_file, content, file.how, targets, [done.confirmed for _, done in finished])
        note = encoding_note(content, written) if file.how.kind == ".po" else ""
        return attachment(translated_name(name, wanted.target), written, note)

    async def _file(self, request: Request, wanted: DocumentRequest, name: str, content: bytes) -> _File:
        """What a request sends, and how it is read.

        Raises:
            Refusal: it is of another kind; a language is not served, or both are the same.
        """
        service, kind = self._service, kind_of(name)
        service.limits.admit(key_of(request, wanted.api_key), address_of(request), 1)
        most = MAX_FILE_TEXTS, service.settings.max_characters * service.settings.max_texts
        sample = ""
        if wanted.source == AUTO:
            languages = Languages("", service.models.find(wanted.target) or "")
            texts = await service.workers.run(file_texts, kind, content, *most, languages)
            sample = "\n".join(texts)[:DETECTED_CHARACTERS]
        [direction] = await service.directions([sample], wanted.source, wanted.target)
        if direction.identical:
            raise invalid(f"the document is in the target language, {direction.pair.target}, already")
        model = await service.models.get(direction.pair)
        return _File(content, HowRead(kind, Languages(*direction.pair), not model.translator.attends, *most), model)

    def _charge(self, request: Request, wanted: DocumentRequest, segments: Sequence[Segment]) -> None:
        """Count a document as as many texts as one of its characters has of the largest size."""
        characters = sum(len(one.source) for one in segments)
        texts = max(characters - 1, 0) // self._service.settings.max_characters
        self._service.limits.charge(key_of(request, wanted.api_key), address_of(request), texts)

    async def _aligned(
        self, model: LoadedModel, segments: Sequence[tuple[Segment, str | None]]
    ) -> list[AlignedTranslation | None]:
        """The translation of each segment, with links between words where they decide where elements stand."""
        wanted = {(one.source, target): None for one, target in segments if target is not None and not one.plain}
        if wanted and model.translator.attends:
            lines = ["\n".join(pair) for pair in wanted]  # no segment has a line break
            task = Task(model.lane, (model.scorer, "links"), partial(_scored, model.scorer), _linked, rows=1)
            wanted = dict(zip(wanted, await self._service.run(model, task, lines), strict=True))
        return [
            None if target is None else wanted.get((one.source, target)) or AlignedTranslation(target, [], [], [])
            for one, target in segments
        ]


def _is_reviewed(segment: FinishedSegment) -> bool:
    return segment.confirmed and segment.target is not None


def _scored(scorer: Scorer, lines: list[str]) -> list[tuple[list[str], ScoredPair]]:
    pairs = [line.split("\n") for line in lines]
    return list(zip(pairs, scorer.score((source, target) for source, target in pairs), strict=True))


def _linked(answer: tuple[list[str], ScoredPair]) -> AlignedTranslation:
    """A translation with the heaviest link of each word, as the model reads both sides."""
    (source, target), scored = answer
    weights = scored.compute_weights("characters")
    links = {} if weights is None else {one: other for other, one in heaviest_links(weights)}
    sources, targets = word_units(source), word_units(target)
    indices = {unit: index for index, unit in enumerate(sources)}
    return AlignedTranslation(
        target,
        list(sources.values()),
        list(targets.values()),
        [indices.get(links[unit]) if unit in links else None for unit in targets],
    )
