"""Translates a text as a stream: lines of a file or a terminal in, translations with their scores and alignments
out."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from dragoman.corpora.reading import reading_corpora
from dragoman.progress import Console
from dragoman.requests.translation import TranslationRequest
from dragoman.runs.opening import Run, open_models
from dragoman.text.raw_lines import is_blank
from dragoman.translation.result import Translation
from dragoman.translation.translator import Translator
from dragoman.workflows.input_lines import InputLines, banned_words, read_constraints, with_first_read
from dragoman.workflows.translation_outputs import Outputs
from dragoman.workflows.unexpected_text import checked_lines

log = logging.getLogger(__name__)

Chooser = Callable[[Sequence[Translation]], Sequence[Translation]]
"""The order of the translations of a line."""
Paused = Callable[[], bool] | None
"""Whether no further line has arrived yet; None where all are there."""


class TranslatedLine(NamedTuple):
    """What becomes of a line."""

    text: str
    n_best: Sequence[Translation]
    """Its translations, best first; none for a line of several sentences."""
    sentences: Sequence[Translation]
    """The best of each of its sentences."""


def open_translator(request: TranslationRequest) -> tuple[Translator, Run]:
    """Open the models that a request names: the translator with all options of the request, and the first run.

    Raises:
        ConfigError, InputError, RunError: as for `open_models`, `Translator.with_options` and `open_memory`.
    """
    shortlist = not request.searching.no_shortlist
    models = open_models(request.runs, request.ensemble, request.general, shortlist=shortlist)
    models.require_attention(request.options())
    ban = banned_words(request.constraints.ban, request.constraints.ban_file)
    translator = models.translator(request.searching.search)
    translator = translator.with_options(**request.translator_options(), ban=ban)
    if not request.kept.memory:
        return translator, models.first
    from dragoman.runs.memories import open_memory

    corpora = request.corpora
    languages = [code for code in models.first.config.text.languages if code is not None]
    say = Console(quiet=request.general.quiet).info
    # The sides of a file with several languages are those of the run.
    with reading_corpora(
        corpora.columns, languages=languages if len(languages) == 2 else None, encoding=corpora.encoding, say=say
    ):
        memory = open_memory(request.kept.memory, models.first.source.formed)
    return translator.with_options(memory=memory), models.first


def translate_text(request: TranslationRequest) -> None:
    """Translate the lines that a request names, and write the outputs.

    Raises:
        ConfigError, InputError, RunError: as for `open_models`, `Translator.with_options` and `translate_lines`.
    """
    translate, first = _opened(request)
    count = truncated = again = empty = 0
    quiet = request.general.quiet
    with InputLines(request.files.input, "translate", quiet=quiet) as lines, Outputs(request) as outputs:
        read = checked_lines(outputs.flushed_before(lines), request.files.input, request.runs[0], first)
        for number, line in enumerate(translate(read, lines.paused)):
            outputs.write(number, line.text, line.n_best)
            count += len(line.sentences)
            truncated += sum(not one.finished for one in line.sentences)
            again += sum(one.searched_again for one in line.sentences)
            empty += count_empty(line.sentences)
    warn_of_searched_again(again, count)
    warn_of_truncated(truncated, count)
    warn_of_empty(empty, count)


def _opened(request: TranslationRequest) -> tuple[Callable[[Iterable[str], Paused], Iterator[TranslatedLine]], Run]:
    """Open what the request names, all but its input and outputs.

    Returns:
        a function that translates lines, and the first run.
    """
    if request.files.paragraphs:  # it needs an extra: imported before a model or an output is opened
        import dragoman.text.sentences  # noqa: F401
    translator, first = open_translator(request)
    if request.files.paragraphs:
        language = first.config.text.source.language
        return partial(_paragraphs, translator, language, request.files.chunk_size), first
    choose = _chooser(request, first)
    constraints = read_constraints(request.constraints.prefix, request.constraints.constraints)
    constraints = None if constraints is None else with_first_read(constraints)

    def translate(lines: Iterable[str], paused: Paused) -> Iterator[TranslatedLine]:
        for n_best in translator.translate_lines(
            lines, request.files.nbest, constraints=constraints, read_ahead=request.files.chunk_size, paused=paused
        ):
            chosen = choose(n_best)
            yield TranslatedLine(chosen[0].text, chosen, chosen[:1])

    return translate, first


def _paragraphs(
    translator: Translator, language: str | None, read_ahead: int | None, lines: Iterable[str], paused: Paused
) -> Iterator[TranslatedLine]:
    """Translate lines of several sentences: each sentence alone, with the text between them unchanged."""
    from dragoman.text.sentences import Span, replace_sentences, sentence_spans

    read: deque[tuple[str, list[Span]]] = deque()
    origins: deque[str] = deque()  # of sentences that are read: messages name the line of the input

    def sentences() -> Iterator[str]:
        for number, line in enumerate(lines, 1):
            spans = sentence_spans(line, language)
            read.append((line, spans))
            # A line without sentences has one empty one, so that its place in the output is not waited for.
            for sentence in [line[slice(*span)] for span in spans] or [""]:
                origins.append(f"line {number}")
                yield sentence

    translated = translator.translate_lines(
        sentences(), origins=iter(origins.popleft, ""), read_ahead=read_ahead, paused=paused
    )
    for [best] in translated:
        line, spans = read.popleft()
        own = [best, *(next(translated)[0] for _ in spans[1:])]
        text = replace_sentences(line, spans, [one.text for one in own]) if spans else line
        yield TranslatedLine(text, (), own)


def _chooser(request: TranslationRequest, run: Run) -> Chooser:
    """By score, or by expected utility."""
    metric, drawing = request.searching.mbr, request.drawing
    if metric is None:
        return lambda translations: translations
    from dragoman.evaluation.minimum_risk import by_expected_utility, sentence_utility
    from dragoman.evaluation.tokenised_text import warn_of_lines_without_spaces
    from dragoman.evaluation.tokenizers import WITHOUT_SPACES
    from dragoman.text.scripts import is_unsegmented
    from dragoman.workflows.evaluation import tokenizer_of

    tokenizer = tokenizer_of(run.config)
    utility = sentence_utility(metric, tokenizer)
    alike = drawing.sample and not drawing.sampling.get("distinct")
    warned = metric != "bleu" or tokenizer in WITHOUT_SPACES

    def choose(translations: Sequence[Translation]) -> Sequence[Translation]:
        nonlocal warned
        if not warned and is_unsegmented(translation.text for translation in translations):
            warned = True
            warn_of_lines_without_spaces("translations", f"BLEU with tokenizer {tokenizer}", "use --mbr chrf")
        best = max(translation.log_probability for translation in translations)
        weights = [1.0 if alike else math.exp(each.log_probability - best) for each in translations]
        order = by_expected_utility([translation.text for translation in translations], weights, utility)
        return [translations[index] for index in order]

    return choose


def warn_of_searched_again(again: int, count: int) -> None:
    """Warn if translations were searched again because they looped or were cut at the maximum length."""
    if again:
        log.warning(
            "%d of %d translations (%.1f %%) looped or ran to the maximum length and were searched again without "
            "repeated n-grams; look at them, or give --no-search-again",
            again,
            count,
            100 * again / count,
        )


def count_empty(translations: Iterable[Translation]) -> int:
    """Return how many lines with text have a translation without text."""
    return sum(is_blank(one.text) and not is_blank(one.source) for one in translations)


def warn_of_empty(empty: int, count: int) -> None:
    """Warn if lines with text have a translation without text."""
    if empty:
        log.warning(
            "%d of %d translations (%.1f %%) are empty though their lines are not; raise --min-length-factor",
            empty,
            count,
            100 * empty / count,
        )


def warn_of_truncated(truncated: int, count: int, advice: str = "") -> None:
    """Warn if translations were cut at the maximum length, with advice besides raising it."""
    if truncated:
        log.warning(
            "%d of %d translations (%.1f %%) were truncated at the maximum length; raise --max-length-factor or "
            "--max-length-extra%s",
            truncated,
            count,
            100 * truncated / count,
            advice,
        )
