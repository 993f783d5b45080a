"""Translation of running text: each sentence alone, with everything between the sentences kept as it is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from dragoman.text.sentences import Span, replace_sentences, sentence_spans
from dragoman.translation.result import Translation
from dragoman.translation.translator import Translator


def translate_paragraphs(
    translator: Translator,
    lines: Iterable[str],
    language: str | None,
    *,
    read_ahead: int | None = None,
    paused: Callable[[], bool] | None = None,
) -> Iterator[tuple[str, list[Translation]]]:
    """For each line its translation, and those of its sentences; a line without sentences has one, which is blank.

    `language` is that of the source; the other arguments are those of `Translator.translate_lines`.
    """
    read: deque[tuple[str, list[Span]]] = deque()

    def sentences() -> Iterator[str]:
        for line in lines:
            spans = sentence_spans(line, language)
            read.append((line, spans))
            # A line without sentences has one empty one, so that its place in the output is not waited for.
            yield from (line[slice(*span)] for span in spans) if spans else [""]

    found = translator.translate_lines(sentences(), read_ahead=read_ahead, paused=paused)
    for [best] in found:
        line, spans = read.popleft()
        own = [best, *(next(found)[0] for _ in spans[1:])]
        text = replace_sentences(line, spans, [one.text for one in own]) if spans else line
        yield text, own
