"""Evaluates the request for a test set: a run or given translations, compared with others."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path

from dragoman.corpora.corpus import read_test_set
from dragoman.corpora.pairs import Pair
from dragoman.errors import ConfigError, InputError
from dragoman.evaluation.evaluate import Evaluation, corpus_metrics
from dragoman.evaluation.robustness import OTHER_LINES
from dragoman.evaluation.significance import Comparisons, compare
from dragoman.evaluation.slices import GROUP, read_ranks
from dragoman.evaluation.tokenised_text import warn_of_decomposed_text, warn_of_tokenised_text
from dragoman.inputs import STANDARD_STREAM
from dragoman.progress import Console
from dragoman.requests.evaluation import EvaluationRequest
from dragoman.runs.opening import Run, open_models
from dragoman.text.display import columns
from dragoman.text.lines import not_found, read_lines, replace_output, shown_name
from dragoman.workflows.evaluation import (
    MeasureOptions,
    bleu_preparation,
    measure,
    measure_given,
    settle,
    tokenizer_for,
    translate,
)
from dragoman.workflows.reports import EvaluatedSystem, evaluated_run, write_evaluation_report
from dragoman.workflows.unexpected_text import checked_pairs


def evaluate_requested(request: EvaluationRequest) -> Iterator[str]:
    """Translate the test set, or read its translations; measure them and write them.

    Yields the text to print, then writes the page, so that nothing measured is lost if that fails.

    Raises:
        ConfigError, InputError, RunError: as for `read_test_set`, `open_models` and `measure`, or the page cannot be
            written.
    """
    console = Console(quiet=request.general.quiet)
    measuring = _measure_options(request)
    # With --hyp the first name may be that of a file: there is no RUN then.
    no_run = request.hyp is not None and not os.path.isdir(request.run)
    files = [Path(name) for name in ((request.run, *request.files) if no_run else request.files)]
    if not files:
        raise ConfigError(f"evaluate {request.run}: give a test set, the source and its references")
    for name in request.against:  # a mistyped name would cost what is measured before it is opened
        if name != STANDARD_STREAM and not os.path.exists(name):
            raise not_found(name)
    models = None if no_run else open_models([request.run], compute=request.general)
    run = None if models is None else models.first
    pairs = list(read_test_set(files))  # in the order of the languages of the run
    measuring, lines = settle(measuring, run, [] if len(files) == 1 else files[1:])
    for line in lines:
        console.info(line)
    if run is not None:
        pairs = list(checked_pairs(pairs, files, request.run, run))
    if request.hyp is not None:
        system = _given(request.hyp, pairs, run, measuring)
    else:
        assert models is not None
        search = models.translator(request.searching.search).search
        output = nullcontext() if request.output is None else replace_output(request.output)
        with output as file:  # opened first: nothing is translated for a name that cannot be written
            quality = measure(models.first, pairs, search=search, options=measuring, console=console)
            system = evaluated_run(models.first, quality)
            if file is not None:
                file.writelines(f"{line}\n" for line in system.hypotheses)
    others = [_other(name, pairs, measuring, request, console) for name in request.against]
    comparisons = _compare(system, others, pairs, measuring)
    yield _shown(system.evaluation, comparisons, as_json=request.json)
    if request.report is not None:
        path = write_evaluation_report(Path(request.report), pairs, [system, *others], comparisons)
        console.info(f"report: {path}")


def _shown(evaluation: Evaluation, comparisons: Sequence[Comparisons], *, as_json: bool) -> str:
    if not as_json:
        return "\n\n".join([evaluation.table(), *(columns(comparison.rows()) for comparison in comparisons)])
    compared = {"comparisons": [comparison.to_json() for comparison in comparisons]} if comparisons else {}
    return json.dumps({**evaluation.to_json(), **compared}, indent=2)


def _measure_options(request: EvaluationRequest) -> MeasureOptions:
    """What the request asks for besides the scores of the whole test set.

    Raises:
        InputError: the file of frequencies, or of another text, cannot be read, or the latter is empty.
    """
    slices, unusual = request.slices, request.unusual
    return MeasureOptions(
        slices=tuple(dict.fromkeys(slices.by or ("source-length",))),
        group=slices.group or GROUP,
        ranks=None if slices.frequencies is None else read_ranks(slices.frequencies),
        without_unknown=slices.without_unknown,
        robustness=unusual.robustness,
        robustness_lines=() if unusual.robustness_lines is None else _other_lines(unusual.robustness_lines),
        tokenizer=request.tokenizer,
        language=request.language,
        symbols=request.error_rates,
    )


def _other(
    name: str, pairs: Sequence[Pair], measuring: MeasureOptions, request: EvaluationRequest, console: Console
) -> EvaluatedSystem:
    """The translations to compare with: by a run, or the lines of a file."""
    if measuring.ranks is None:  # the ranks of one run's vocabulary are not another's
        measuring = replace(measuring, slices=[by for by in measuring.slices if by != "rarity"])
    if not os.path.isdir(name):
        given = _given(name, pairs, None, measuring, warn=False)
        references = [pair.target for pair in pairs]
        warn_of_tokenised_text(given.hypotheses, references, tokenizer_for(measuring), name)
        warn_of_decomposed_text(given.hypotheses, references, name)
        return given
    models = open_models([name], compute=request.general)
    search = models.translator(request.searching.search).search
    translated = translate(models.first, [pair.source for pair in pairs], search, console)
    hypotheses = [translation.text for translation in translated]
    evaluation = measure_given(hypotheses, pairs, None, measuring, warn=False)
    return EvaluatedSystem(name, hypotheses, evaluation, models.first, translated)


def _given(
    path: str, pairs: Sequence[Pair], run: Run | None, measuring: MeasureOptions, *, warn: bool = True
) -> EvaluatedSystem:
    """The translations in a file."""
    hypotheses = list(read_lines(path))
    if len(hypotheses) != len(pairs):
        raise InputError(f"{shown_name(path)} has {len(hypotheses)} lines, but the test set has {len(pairs)} pairs")
    return EvaluatedSystem(path, hypotheses, measure_given(hypotheses, pairs, run, measuring, warn=warn), run)


def _compare(
    system: EvaluatedSystem, others: Sequence[EvaluatedSystem], pairs: Sequence[Pair], measuring: MeasureOptions
) -> list[Comparisons]:
    if not others:
        return []
    references = [pair.references for pair in pairs]
    metrics = corpus_metrics(tokenizer_for(measuring), bleu_preparation(measuring))
    return [compare(system.hypotheses, other.hypotheses, references, metrics, other.name) for other in others]


def _other_lines(path: str) -> list[str]:
    """The lines of another text that are translated; no more are read."""
    lines = list(islice(read_lines(path), OTHER_LINES))
    if not lines:
        raise InputError(f"{shown_name(path)}: no lines in it; give text to translate, or leave --robustness-lines out")
    return lines
