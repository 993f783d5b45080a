"""Translations and n-best lists of a phrase-based system, as streams."""

from __future__ import annotations

from contextlib import ExitStack

from dragoman.progress import Console
from dragoman.requests.smt import NBestRequest, PhraseTranslationRequest
from dragoman.smt.system import PhraseSystem, Searcher
from dragoman.text.lines import replace_output
from dragoman.text.links import format_links
from dragoman.tuning.feature_weights import read_weights
from dragoman.workflows.input_lines import InputLines


def translate_by_phrases(request: PhraseTranslationRequest) -> None:
    """Write the translation of each line and, if asked for, its alignment.

    Raises:
        InputError: a file of the system, the weights or the input cannot be read, or an output cannot be written.
    """
    searcher = _searcher(request)
    with ExitStack() as files:
        text = files.enter_context(replace_output(request.output, keep_partial=True))
        links = None
        if request.alignments:
            links = files.enter_context(replace_output(request.alignments, keep_partial=True))
        lines = files.enter_context(InputLines(request.input, "translate", quiet=request.general.quiet))
        lines.before_waiting = lambda: [file.flush() for file in (text, links) if file is not None]
        for translation in searcher.translate(lines):
            text.write(translation.text + "\n")
            if links is not None:
                links.write(format_links(translation.alignment) + "\n")


def write_n_best_lists(request: NBestRequest) -> None:
    """Write the best translations of each line as a Moses n-best list.

    Raises:
        InputError: as for `translate_by_phrases`.
    """
    searcher, quiet = _searcher(request), request.general.quiet
    with (
        InputLines(request.input, "translate", quiet=quiet) as lines,
        replace_output(request.output, keep_partial=True) as file,
        Console(quiet=quiet or lines.prompts).counter("sentences") as advance,
    ):
        lines.before_waiting = file.flush
        lists = searcher.n_best(lines, request.nbest, distinct=request.distinct)
        for number, translations in enumerate(lists):
            for one in translations:
                file.write(one.entry(number, alignment=request.with_alignments) + "\n")
            advance(number + 1)


def _searcher(request: PhraseTranslationRequest | NBestRequest) -> Searcher:
    """The system with the weights of the request, or else its own."""
    file = request.feature_weights
    given = None if file is None else (read_weights(file), file)  # first: tables take a while to load
    system = PhraseSystem.open(request.system)
    weights, origin = given or (system.configuration.weights, str(system.configuration.path))
    return system.searcher(weights, origin, request.search)
