"""What all routes use: languages of a request, its sentences, their translations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from dragoman.documents.markup import MAX_SENTENCES, sentences_of
from dragoman.errors import ConfigError, InputError
from dragoman.serving.detection import Detected, Detector
from dragoman.serving.language_names import language_name
from dragoman.serving.learning import LearningModel
from dragoman.serving.limits import Limits
from dragoman.serving.metrics import Metrics
from dragoman.serving.models import LanguagePair, LoadedModel, Models
from dragoman.serving.responses import Refusal, invalid
from dragoman.serving.scheduler import Scheduler, Task
from dragoman.serving.settings import Settings
from dragoman.serving.workers import Workers
from dragoman.text.sentences import Span, replace_sentences
from dragoman.translation.result import Translation
from dragoman.translation.translator import Translator
from dragoman.translation_memory.memory import Memory

AUTO = "auto"
"""The source language of texts whose language is to be detected."""
MAX_WORKERS = 4
"""Processes that read what strangers send; they are started when there is something for them."""
INLINE_CHARACTERS = 5000
"""Texts that are cut and looked at in the event loop; longer ones elsewhere, so that nobody waits for them."""

MEMORY_CHARACTERS = 2000
"""Texts of several sentences that are looked up in a translation memory as a whole; longer ones only by sentences."""

Answer = TypeVar("Answer")
Value = TypeVar("Value")


@dataclass(frozen=True)
class Direction:
    """The languages between which a text is translated; a text that is in the target language is left as it is."""

    pair: LanguagePair
    detected: Detected | None = None
    """The source language, if it was detected."""

    @property
    def identical(self) -> bool:
        """Whether there is nothing to translate."""
        return self.pair.source == self.pair.target


class Service:
    """The models with everything between them and a request."""

    def __init__(self, models: Models, settings: Settings, learning: Mapping[LanguagePair, LearningModel]) -> None:
        self.models = models
        self.learning = learning
        self.settings = settings
        self.scheduler = Scheduler(settings.threads, settings.max_waiting)
        self.workers = Workers(min(settings.threads, MAX_WORKERS))
        self.detector = Detector(models.languages)
        self.limits = Limits(settings.keys, settings.requests_per_minute)
        self.metrics = Metrics(models, self.scheduler)

    def close(self) -> None:
        """Let all threads and processes end."""
        for model in self.learning.values():
            model.close()
        self.workers.close()
        self.scheduler.close()
        self.models.close()

    def require_lengths(self, texts: Sequence[str]) -> None:
        """Refuse too many texts, or one that is too long.

        Raises:
            Refusal: in LibreTranslate's words.
        """
        limits = [(len(texts), self.settings.max_texts), *((len(text), self.settings.max_characters) for text in texts)]
        for size, limit in limits:
            if size > limit:
                raise invalid(f"request ({size}) exceeds text limit ({limit})")

    async def directions(self, texts: Sequence[str], source: str, target: str) -> list[Direction]:
        """The direction of each text; with the source `auto` the language of each is detected, among those that can be
        translated into the target.

        Raises:
            Refusal: a language is not served, or there is no model for the two.
        """
        into = self._language(target)
        if source != AUTO:
            return [Direction(self.pair_of(source, target))] * len(texts)
        among = {into, *(pair.source for pair in self.models.pairs if pair.target == into)}
        if len(among) == 1:
            raise Refusal(400, f"{language_name(into)} ({into}) is not available as a target language")
        detected = await self._detected(texts, lambda: [self.detector.rank(text, among)[0] for text in texts])
        return [Direction(LanguagePair(one.language, into), one) for one in detected]

    async def detect(self, text: str) -> list[Detected]:
        """The served languages, the most probable first."""
        return await self._detected([text], lambda: self.detector.rank(text))

    async def _detected(self, texts: Sequence[str], function: Callable[[], Value]) -> Value:
        if not self.detector.loaded:
            await asyncio.to_thread(self.detector.load)
        if sum(map(len, texts)) <= INLINE_CHARACTERS:
            return function()
        return await asyncio.to_thread(function)

    async def translate(
        self, texts: Sequence[str], directions: Sequence[Direction], *, n_best: int = 1
    ) -> list[list[str]]:
        """Up to `n_best` different translations of each text, best first.

        Those of a text of several sentences are joined from the best of each sentence, then the second best of each,
        and so on.
        """
        translated: list[list[str]] = [[text] for text in texts]

        async def translate_some(pair: LanguagePair, indices: list[int]) -> None:
            own = [texts[index] for index in indices]
            spans, answers = await self.sentences(own, pair, n_best=n_best, finish=_texts)
            for index, cuts, sentences in zip(indices, spans, answers, strict=True):
                if cuts:
                    translated[index] = _joined(texts[index], cuts, sentences, n_best)

        await all_or_none(translate_some(pair, indices) for pair, indices in by_pair(directions).items())
        return translated

    async def sentences(
        self,
        texts: Sequence[str],
        pair: LanguagePair,
        *,
        n_best: int = 1,
        options: Mapping[str, Any] | None = None,
        finish: Callable[[list[Translation]], Answer],
    ) -> tuple[list[list[Span]], list[list[Answer]]]:
        """The spans of the sentences of each text, and `finish` of the translations of each sentence."""
        if sum(map(len, texts)) <= INLINE_CHARACTERS:
            spans = sentences_of(texts, pair.source, MAX_SENTENCES)
        else:
            spans = await self.workers.run(sentences_of, texts, pair.source, MAX_SENTENCES)
        memory = (await self.models.get(pair)).memory
        if memory is not None:  # it may have a text of several sentences as a whole
            spans = [_whole(text, own, memory) for text, own in zip(texts, spans, strict=True)]
        lines = [text[slice(*span)] for text, own in zip(texts, spans, strict=True) for span in own]
        translated = iter(await self.lines(lines, pair, n_best=n_best, options=options, finish=finish))
        return spans, [[next(translated) for _ in own] for own in spans]

    async def lines(
        self,
        lines: Sequence[str],
        pair: LanguagePair,
        *,
        n_best: int = 1,
        options: Mapping[str, Any] | None = None,
        finish: Callable[[list[Translation]], Answer],
    ) -> list[Answer]:
        """`finish` of the translations of each line; `options` are those of `Translator.with_options`.

        Raises:
            Refusal: the model cannot be loaded, an option cannot be used, or too many sentences wait.
        """
        model = await self.models.get(pair)
        options = dict(options or {})
        beam: int = options.get("beam", model.beam)
        if n_best > beam:
            options["beam"] = beam = n_best
        translator = usable(lambda: model.variant(options))
        compute = partial(_translations, translator, n_best)
        task = Task(model.lane, (translator, n_best), compute, finish, rows=beam)
        return await self.run(model, task, lines)

    async def run(self, model: LoadedModel, task: Task, lines: Sequence[str]) -> list[Any]:
        """The answers of a task for lines, counted."""
        self.metrics.count_text(str(model.pair), sum(map(len, lines)))
        return await self.scheduler.run(task, lines)

    def pair_of(self, source: str, target: str) -> LanguagePair:
        """The languages of codes.

        Raises:
            Refusal: one is not served, or there is no model for the two.
        """
        pair = LanguagePair(self._language(source), self._language(target))
        if pair.source != pair.target and pair not in self.models.pairs:
            raise Refusal(
                400,
                f"{language_name(pair.target)} ({pair.target}) is not available as a target language from "
                f"{language_name(pair.source)} ({pair.source})",
            )
        return pair

    def _language(self, code: str) -> str:
        language = self.models.find(code)
        if language is None:
            raise Refusal(400, f"{code[:20]} is not supported")
        return language


def _whole(text: str, spans: list[Span], memory: Memory) -> list[Span]:
    """The span of a whole line of several sentences if it is in a memory; else the spans of its sentences."""
    if len(spans) < 2 or spans[-1][1] - spans[0][0] > MEMORY_CHARACTERS:
        return spans
    start, end = spans[0][0], len(text.rstrip())
    whole = text[start:end]
    return spans if len(whole.splitlines()) > 1 or memory.exact(whole) is None else [(start, end)]


def by_pair(directions: Sequence[Direction]) -> dict[LanguagePair, list[int]]:
    """The indices of the texts that are to be translated, by their languages."""
    indices: dict[LanguagePair, list[int]] = {}
    for index, direction in enumerate(directions):
        if not direction.identical:
            indices.setdefault(direction.pair, []).append(index)
    return indices


async def all_or_none(parts: Any) -> list[Any]:
    """The results of awaitables, computed at once; the first exception cancels the others."""
    tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(part) for part in parts]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def usable(make: Callable[[], Value]) -> Value:
    """What `make` returns; options that cannot be used are a refusal.

    Raises:
        Refusal: the message names the option.
    """
    try:
        return make()
    except (ConfigError, InputError, TypeError) as error:
        raise invalid(str(error)) from None


def _translations(translator: Translator, n_best: int, lines: list[str]) -> list[list[Translation]]:
    return list(translator.translate_lines(lines, n_best))


def _texts(n_best: list[Translation]) -> list[str]:
    return [translation.text for translation in n_best]


def _joined(text: str, spans: Sequence[Span], sentences: Sequence[list[str]], n_best: int) -> list[str]:
    versions = [
        replace_sentences(text, spans, [own[min(rank, len(own) - 1)] for own in sentences]) for rank in range(n_best)
    ]
    return list(dict.fromkeys(versions))
