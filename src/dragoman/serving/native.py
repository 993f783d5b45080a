"""Our own API, /v1: n-best lists with scores, segments, alignment and attention; completions of a beginning.

The types below are the schema: requests are checked against them, and /spec describes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from dragoman.config.schema import LengthNormalisation
from dragoman.errors import InputError
from dragoman.serving.models import LanguagePair
from dragoman.serving.requests import address_of, decode_json, key_of
from dragoman.serving.responses import invalid, json_response
from dragoman.serving.scheduler import Task
from dragoman.serving.service import AUTO, Direction, Service, all_or_none, by_pair, usable
from dragoman.serving.settings import MAX_ALTERNATIVES, MAX_BEAM
from dragoman.text.sentences import Span, replace_sentences
from dragoman.text.words import raw_words
from dragoman.translation.completion import next_word
from dragoman.translation.confidence import Doubt
from dragoman.translation.prepared_lines import TextConstraints
from dragoman.translation.result import Translation
from dragoman.translation.translator import Translator

Short = Annotated[str, Meta(max_length=500)]
Prefix = Annotated[str, Meta(max_length=2000)]
Banned = Annotated[list[Short], Meta(max_length=50)]
Code = Annotated[str, Meta(min_length=2, max_length=35, description="Language code, such as de or pt-BR")]
Place = Annotated[int, Meta(ge=0)]


class TranslateRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """A text or several, and how to search; what is left out is as the model was configured."""

    text: str | Annotated[list[str], Meta(min_length=1)]
    target: Code
    source: Code = AUTO
    """`auto`: detected among the served languages."""
    n_best: Annotated[int, Meta(ge=1, le=MAX_ALTERNATIVES)] = 1
    """Translations of each sentence."""
    beam: Annotated[int, Meta(ge=1, le=MAX_BEAM)] | UnsetType = UNSET
    attention: bool = False
    """Return the alignment weights."""
    prefix: Prefix = ""
    """The translation begins with it. With `prefix` or `constraints` the text is one sentence, whatever it holds."""
    constraints: Annotated[list[Short], Meta(max_length=20)] = []
    """Words and phrases that the translation contains."""
    ban: Banned = []
    """Words and phrases that are never produced."""
    glossary: Annotated[dict[Short, Short], Meta(max_length=200)] = {}
    """Source terms, and the translations that must appear where they occur."""
    replace_unk: bool = False
    """Replace unknown words by the source words that they are aligned with."""
    normalisation: LengthNormalisation | UnsetType = UNSET
    alpha: Annotated[float, Meta(ge=0, le=10)] | UnsetType = UNSET
    no_repeat_ngram: Annotated[int, Meta(ge=0, le=20)] | UnsetType = UNSET
    api_key: str | None = None


class SentenceTranslation(Struct, kw_only=True, omit_defaults=True):
    """A translation of a sentence. Spans are [start, end) in characters (Unicode code points) of `text`."""

    text: str
    score: float
    """The log-probability after length normalisation and penalties, by which the list is sorted. It is positive where a
    reward for each word (a negative `search.word_penalty`, as in `standard`) outweighs the log-probability."""
    log_probability: float
    """Natural logarithm."""
    finished: bool
    """False if it was cut at the longest length."""
    confidence: float | None = None
    """Probability, from 0 to 1, that it is good; left out where the model has not been calibrated."""
    doubt: Doubt | None = None
    """What speaks most against it, if the confidence is below 0.5."""
    searched_again: bool = False
    """Whether it looped or ran to the longest length and was searched again; left out if not."""
    from_memory: bool = False
    """Whether the translation memory has an equal source; then it has no segments and links, and both scores are 0;
    left out if not."""
    segments: list[str]
    """What the model wrote."""
    segment_spans: list[Span]
    segment_log_probabilities: list[float]
    """Of each segment given those before it, and of the end of the sentence; their sum is `log_probability`."""
    segment_alignment: list[tuple[Place, Place]]
    """[source segment, segment], from 0; a segment without characters in `text` has none."""
    words: list[Span]
    """The spans of the words of `text`, which `alignment` counts."""
    alignment: list[tuple[Place, Place]]
    """[source word, word of `text`], from 0."""
    attention: list[list[float]] | UnsetType = UNSET
    """A row for each segment and the end of the sentence, a column for each source segment and, if the model reads it,
    the end. A model that attends after reading a word has no row for the end."""


class NearMatch(Struct):
    """A pair of the translation memory."""

    source: str
    target: str
    score: Annotated[float, Meta(ge=0, le=1)]
    """1 less the edit distance in characters, divided by the length of the longer source; 1 if they are equal."""
    differences: list[tuple[Span, Span]]
    """[start, end) in the sentence, and in `source`, of the words that differ."""


class ReadAs(Struct):
    """A word that the model has read as another."""

    start: int
    """[start, end) in characters of the sentence."""
    end: int
    read_as: str


class Sentence(Struct, kw_only=True):
    """A sentence and its translations, best first."""

    source_span: Span
    """[start, end) in characters of the text; the other spans of the source count from its start."""
    words: list[Span]
    segments: list[str]
    segment_spans: list[Span]
    typing_errors: list[ReadAs] | UnsetType = UNSET
    """Words that were taken for mistyped; left out if there are none."""
    translations: list[SentenceTranslation]
    matches: list[NearMatch] | UnsetType = UNSET
    """Up to three pairs of the translation memory whose sources are like the sentence, best first; left out without
    any."""


class TextResult(Struct, kw_only=True, omit_defaults=True):
    """The translation of a text: the best of its sentences with what stands between them."""

    text: str
    source: Code
    target: Code
    sentences: list[Sentence]
    confidence: float | UnsetType = UNSET
    """Of the detected language, 0 to 100."""


class TranslateResponse(Struct):
    """One result for each text."""

    results: list[TextResult]


class CompleteRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """A sentence and the beginning of its translation."""

    text: str
    target: Code
    source: Code = AUTO
    prefix: Prefix = ""
    """The beginning; its last word may be unfinished, unless a space follows it."""
    ban: Banned = []
    """Words and phrases that are never produced."""
    count: Annotated[int, Meta(ge=1, le=MAX_ALTERNATIVES)] = 5
    api_key: str | None = None


class Completion(Struct):
    """A translation that begins with the prefix."""

    word: str
    """The word that the prefix goes on with, or that its unfinished word becomes; "" at the end."""
    text: str
    score: float
    log_probability: float


class CompleteResponse(Struct):
    """Completions with different words, best first."""

    source: Code
    target: Code
    completions: list[Completion]


class Native:
    """The handlers, on a service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def translate(self, request: Request) -> Response:
        """POST /v1/translate."""
        wanted = await decode_json(request, self._service.workers, TranslateRequest)
        texts = wanted.text if isinstance(wanted.text, list) else [wanted.text]
        directions = await self._admitted(request, wanted, texts)
        results = [_untranslated(text, way) for text, way in zip(texts, directions, strict=True)]

        async def translate_some(pair: LanguagePair, indices: list[int]) -> None:
            found = await self._sentences([texts[index] for index in indices], pair, wanted)
            for index, spans, sentences in zip(indices, *found, strict=True):
                for sentence, span in zip(sentences, spans, strict=True):
                    sentence.source_span = span
                best = [sentence.translations[0].text for sentence in sentences]
                results[index].sentences, results[index].text = sentences, replace_sentences(texts[index], spans, best)

        await all_or_none(translate_some(pair, indices) for pair, indices in by_pair(directions).items())
        return json_response(TranslateResponse(results))

    async def complete(self, request: Request) -> Response:
        """POST /v1/complete."""
        wanted = await decode_json(request, self._service.workers, CompleteRequest)
        [direction] = await self._admitted(request, wanted, [wanted.text])
        pair = direction.pair
        if direction.identical:
            return json_response(CompleteResponse(pair.source, pair.target, []))
        model = await self._service.models.get(pair)
        translator = usable(lambda: model.variant({"ban": wanted.ban} if wanted.ban else {}))
        compute = partial(_complete, translator, wanted.prefix, wanted.count)
        rows = model.beam * wanted.count
        task = Task(model.lane, object(), compute, lambda completions: completions, rows)
        [completions] = await self._service.run(model, task, [_one_line(wanted.text)])
        return json_response(CompleteResponse(pair.source, pair.target, completions))

    async def _admitted(
        self, request: Request, wanted: TranslateRequest | CompleteRequest, texts: Sequence[str]
    ) -> list[Direction]:
        """The direction of each text of a request within the limits.

        Raises:
            Refusal: it is not.
        """
        self._service.limits.admit(key_of(request, wanted.api_key), address_of(request), len(texts))
        self._service.require_lengths(texts)
        return await self._service.directions(texts, wanted.source, wanted.target)

    async def _sentences(
        self, texts: Sequence[str], pair: LanguagePair, wanted: TranslateRequest
    ) -> tuple[list[list[Span]], list[list[Sentence]]]:
        """The sentences of each text and their translations; with a prefix or constraints a text is one sentence."""
        options, finish = _options(wanted), partial(_sentence, attention=wanted.attention)
        if not (wanted.prefix or wanted.constraints):
            return await self._service.sentences(texts, pair, n_best=wanted.n_best, options=options, finish=finish)
        model = await self._service.models.get(pair)
        beam = max(options.get("beam", model.beam), wanted.n_best)
        translator = usable(lambda: model.variant({**options, "beam": beam}))
        compute = partial(_constrained, translator, wanted.n_best, TextConstraints(wanted.prefix, wanted.constraints))
        task = Task(model.lane, object(), compute, finish, beam)
        spans: list[list[Span]] = [[(0, len(text))] if text.strip() else [] for text in texts]
        lines = [_one_line(text) for text in texts if text.strip()]
        try:
            found = iter(await self._service.run(model, task, lines))
        except InputError as error:
            raise invalid(str(error).removeprefix("line 1: ")) from None
        return spans, [[next(found) for _ in own] for own in spans]


def _untranslated(text: str, direction: Direction) -> TextResult:
    confidence = UNSET if direction.detected is None else direction.detected.confidence
    return TextResult(text=text, **direction.pair._asdict(), sentences=[], confidence=confidence)


def _options(wanted: TranslateRequest) -> dict[str, Any]:
    """The options of a request as `Translator.with_options` takes them."""
    names = ("beam", "normalisation", "alpha", "no_repeat_ngram")
    options = {name: getattr(wanted, name) for name in names if getattr(wanted, name) is not UNSET}
    if wanted.ban:
        options["ban"] = wanted.ban
    if wanted.glossary:
        options["glossary"] = wanted.glossary
    if wanted.replace_unk:
        options["replace_unk"] = True
    return options


def _one_line(text: str) -> str:
    """A text as one line of the same length, so that spans stay as they are."""
    return "".join(" " if character.isspace() else character for character in text)


def _constrained(
    translator: Translator, n_best: int, constraints: TextConstraints, lines: list[str]
) -> list[list[Translation]]:
    return list(translator.translate_lines(lines, n_best, constraints=[constraints] * len(lines)))


def _complete(translator: Translator, prefix: str, count: int, lines: list[str]) -> list[list[Completion]]:
    return [
        [
            Completion(next_word(one.text, prefix), one.text, one.score, one.log_probability)
            for one in translator.complete(line, prefix, count)
        ]
        for line in lines
    ]


def _sentence(n_best: list[Translation], *, attention: bool) -> Sentence:
    """The translations of a sentence as they are returned; its place in the text is added later."""
    best = n_best[0]
    return Sentence(
        source_span=(0, len(best.source)),
        words=raw_words(best.source),
        segments=best.source_tokens,
        segment_spans=best.source_spans,
        typing_errors=[ReadAs(*error) for error in best.typing_errors] or UNSET,
        translations=[_translation(one, attention=attention) for one in n_best],
        matches=[
            NearMatch(match.source, match.target, round(match.score, 4), match.differences)
            for match in best.memory_matches
        ]
        or UNSET,
    )


def _translation(one: Translation, *, attention: bool) -> SentenceTranslation:
    weights = one.segment_attention if attention else None
    return SentenceTranslation(
        text=one.text,
        score=one.score,
        log_probability=one.log_probability,
        finished=one.finished,
        confidence=None if one.confidence is None else round(one.confidence, 4),
        doubt=one.doubt,
        searched_again=one.searched_again,
        from_memory=one.from_memory,
        segments=one.tokens,
        segment_spans=one.target_spans,
        segment_log_probabilities=one.token_log_probabilities.round(4).tolist(),
        segment_alignment=one.links_between(one.source_spans, one.target_spans),
        words=raw_words(one.text),
        alignment=one.alignment,
        attention=UNSET if weights is None else weights.astype(float).round(4).tolist(),
    )
