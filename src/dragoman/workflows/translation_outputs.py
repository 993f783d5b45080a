"""The outputs of `translate`: streams and files for translations, n-best lists, alignments and weights."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, TextIO

from dragoman.alignment.formats import AttentionFile
from dragoman.requests.translation import TranslationRequest
from dragoman.scoring.nbest import escape_bars
from dragoman.text.lines import replace_output
from dragoman.text.links import format_links
from dragoman.text.scripts import SpacingWatch
from dragoman.translation.result import Translation


class Outputs:
    """The output files of translations, alignments and alignment weights.

    Standard output, FIFOs and devices are written directly. A file is replaced when the whole input has been
    translated; until then, and after a failure, the results are in NAME.partial in the same folder.
    """

    def __init__(self, request: TranslationRequest) -> None:
        self._request = request
        self._files = ExitStack()
        self._written = False
        self._lines = _FORMATS[request.files.format]
        if request.files.format == "jsonl" and request.kept.memory:
            self._lines = _as_json_with_memory
        self._spacing = SpacingWatch("`dragoman align --segments` or --characters links smaller units")

    def __enter__(self) -> Outputs:
        with ExitStack() as files:
            wanted = self._request.files
            self._text = files.enter_context(replace_output(wanted.output, keep_partial=True))
            self._links = self._opened(files, wanted.alignments)
            self._unknown = self._opened(files, self._request.unknown.unk_log)
            self._weights = files.enter_context(AttentionFile(wanted.attention)) if wanted.attention else None
            self._files = files.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.__exit__(kind, error, trace)
        if error is None and self._links is not None:
            self._spacing.warn()

    @staticmethod
    def _opened(files: ExitStack, path: str | None) -> TextIO | None:
        return files.enter_context(replace_output(path, keep_partial=True)) if path else None

    def flushed_before(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines, and flush all outputs before waiting for each."""
        for line in lines:
            yield line
            if self._written:
                self._flush()

    def write(self, number: int, text: str, n_best: Sequence[Translation]) -> None:
        """Write the results of one input line: its text, or its translations; `number` counts from 0."""
        self._written = True
        if not n_best:
            self._text.write(text + "\n")
            return
        for line in self._lines(number, n_best):
            self._text.write(line + "\n")
        if self._links is not None:
            self._links.write(format_links(n_best[0].alignment) + "\n")
            self._spacing.add(n_best[0].source, n_best[0].text)
        if self._unknown is not None:
            for segment, source, target, how in n_best[0].replacements:
                self._unknown.write(f"{number + 1}\t{segment + 1}\t{source}\t{target}\t{how}\n")
        if self._weights is not None:
            self._weights.write(number, n_best[0].attention)

    def _flush(self) -> None:
        self._text.flush()
        if self._links is not None:
            self._links.flush()
        if self._unknown is not None:
            self._unknown.flush()
        self._written = False


def _as_text(number: int, n_best: Sequence[Translation]) -> list[str]:
    return [n_best[0].text]


def _as_json(number: int, n_best: Sequence[Translation]) -> list[str]:
    """One JSON object for each line of the input, whatever the number of its translations."""
    return [json.dumps(_entry(number, n_best), ensure_ascii=False)]


def _as_json_with_memory(number: int, n_best: Sequence[Translation]) -> list[str]:
    """The same, with the matches of the translation memory."""
    first = n_best[0]
    matches = [
        {
            "source": match.source,
            "target": match.target,
            "score": round(match.score, 4),
            "differences": match.differences,
        }
        for match in first.memory_matches
    ]
    entry = {**_entry(number, n_best), "memory": {"used": first.from_memory, "matches": matches}}
    return [json.dumps(entry, ensure_ascii=False)]


def _entry(number: int, n_best: Sequence[Translation]) -> dict[str, Any]:
    translations = [
        {
            "text": translation.text,
            "score": translation.score,
            "log_probability": translation.log_probability,
            "confidence": translation.confidence,
            "doubt": translation.doubt,
            "finished": translation.finished,
            "searched_again": translation.searched_again,
            "tokens": translation.tokens,
            "alignment": translation.alignment,
            "attention": None
            if translation.attention is None
            else translation.attention.astype(float).round(4).tolist(),
        }
        for translation in n_best
    ]
    first = n_best[0]
    return {
        "id": number,
        "source": first.source,
        "source_tokens": first.source_tokens,
        "typing_errors": [error._asdict() for error in first.typing_errors],
        "translations": translations,
    }


def _as_n_best(number: int, n_best: Sequence[Translation]) -> list[str]:
    """Moses n-best lists: id, text, features by name, score, between triple bars."""
    return [
        f"{number} ||| {escape_bars(translation.text)} ||| "
        f"dragoman= {translation.log_probability:.6f} ||| {translation.score:.6f}"
        for translation in n_best
    ]


_FORMATS: dict[str, Callable[[int, Sequence[Translation]], list[str]]] = {
    "text": _as_text,
    "jsonl": _as_json,
    "nbest": _as_n_best,
}
