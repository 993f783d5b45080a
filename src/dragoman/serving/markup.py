"""Translation of HTML: a worker process reads and writes it, this one translates its sentences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

import msgspec

from dragoman.documents.document import RatedText
from dragoman.documents.html_text import Xml
from dragoman.documents.markup import MAX_SENTENCES, markup_sentences, translated_markup
from dragoman.documents.rendering import AlignedTranslation, aligned
from dragoman.serving.service import Direction, Service, all_or_none, by_pair
from dragoman.translation.result import Translation


async def translate_markup(
    service: Service,
    texts: Sequence[str],
    directions: Sequence[Direction],
    xml: Xml | None = None,
    *,
    matches: bool = False,
) -> list[RatedText]:
    """The translations of documents or fragments of HTML, or of XML that is read in this way; with `matches` also what
    a translation memory has.
    """
    results = [RatedText(text, None) for text in texts]

    async def translate_some(indices: list[int], direction: Direction) -> None:
        pair, own = direction.pair, [texts[index] for index in indices]
        separate = not (await service.models.get(pair)).translator.attends
        lines = await service.workers.run(markup_sentences, own, pair.source, separate, MAX_SENTENCES, xml)
        sentences = await service.lines(lines, pair, finish=partial(_packed, matches=matches))
        translated = await service.workers.run(translated_markup, own, pair.source, separate, sentences, xml)
        for index, text in zip(indices, translated, strict=True):
            results[index] = text

    await all_or_none(translate_some(indices, directions[indices[0]]) for indices in by_pair(directions).values())
    return results


def _packed(n_best: list[Translation], *, matches: bool) -> AlignedTranslation:
    """A translation as the worker process gets it, packed in the thread that has computed it."""
    return cast(AlignedTranslation, msgspec.Raw(msgspec.msgpack.encode(aligned(n_best, matches=matches))))
