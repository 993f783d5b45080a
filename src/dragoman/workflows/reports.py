"""Writes report pages from runs, test sets and evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dragoman.config.schema import SearchConfig
from dragoman.corpora.pairs import Pair, evenly_spaced
from dragoman.data.store import Store
from dragoman.evaluation.evaluate import Evaluation
from dragoman.evaluation.metrics import chrf_metric
from dragoman.evaluation.significance import Comparisons
from dragoman.inspection.summary import TextSummary, load_summary
from dragoman.progress import Console
from dragoman.report.differences import count_oov
from dragoman.report.facts import Facts, machine_name, training_facts
from dragoman.report.fonts import warn_of_missing_letters
from dragoman.report.page import Report, ReportedSystem, write_report
from dragoman.report.samples import Sample, Window, given_sample, make_sample, scored_sample
from dragoman.runs.layout import RunFolder
from dragoman.runs.opening import Run
from dragoman.scoring.scorer import ScoredPair
from dragoman.text.temporary import make_folder, writing
from dragoman.training.log import read_log
from dragoman.translation.result import Translation
from dragoman.workflows.evaluation import RunEvaluation, measure

DEV_SET = "Dev set"
"""The fact that says where the dev set of a training comes from."""

TRAINING_SENTENCES = 200
"""Pairs of the dev set that the report of a training translates and scores."""

SENTENCES = 1000
"""Sentences that the report of an evaluation shows."""

EXTREMES = 25
"""Number of worst sentences, and of best ones, among the `SENTENCES`, if the test set has more."""


@dataclass(frozen=True)
class EvaluatedSystem:
    """The translations of a test set by one system, and their evaluation."""

    name: str
    hypotheses: Sequence[str]
    evaluation: Evaluation
    run: Run | None = None
    """The run whose alignment weights are shown; None if only the text is known."""
    translations: Sequence[Translation] | None = None
    """The run's own; None if the translations were given and the run only aligns them."""
    search: SearchConfig | None = None
    """The search settings of the run."""


def write_run_report(
    run: Run, pairs: Sequence[Pair], measured: EvaluatedSystem | None = None, test_set: str | None = None
) -> Path:
    """Write RUN/report.html: facts about the model, learning curves, scores and translations.

    Args:
        pairs: a dev or test set.
        measured: its translations; None to translate and score some of the pairs, evenly spread over all.
        test_set: name of the set, where its translations are given.

    Raises:
        InputError: the page cannot be written.
        RunError: the log, the stored corpus or the summary of the text is damaged.
    """
    rows: Sequence[int] = range(len(pairs))
    if measured is None:
        rows = evenly_spaced(rows, TRAINING_SENTENCES)
        test_set = "the dev set"
        if len(rows) < len(pairs):
            test_set = f"the {len(pairs):,} of the dev set, evenly spread over it"
        pairs = [pairs[row] for row in rows]
        measured = evaluated_run(run, measure(run, pairs, console=Console(quiet=True), warn=False))
    folder = RunFolder(run.folder.path)
    records = read_log(folder.log)
    store = Store.open(folder.train_data, (run.source.vocabulary, run.target.vocabulary))
    facts = training_facts(
        preset=run.config.preset,
        pairs=len(store),
        dropped=store.left_out,
        parameters=run.parameters,
        updates=records[-1]["update"],
        seconds=records[-1]["seconds"],
        machine=machine_name(),
    )
    folder.require_intact(folder.inspection)
    text = load_summary(folder.inspection) or TextSummary({}, ())
    text_facts = dict(text.facts)
    if DEV_SET in text_facts:
        facts = {**facts, DEV_SET: text_facts.pop(DEV_SET)}
    page = Report(
        f"Training of {run_name(run)}",
        facts,
        text_facts=text_facts,
        advice=text.advice,
        records=records,
        numbers=[row + 1 for row in rows],
        test_set=test_set,
    )
    _write(folder.report, page, pairs, [measured])
    return folder.report


def write_evaluation_report(
    folder: Path, pairs: Sequence[Pair], systems: Sequence[EvaluatedSystem], comparisons: Sequence[Comparisons] = ()
) -> Path:
    """Write FOLDER/report.html: scores and translations of a test set by the first system, compared with the others.

    Raises:
        InputError: the page cannot be written.
    """
    with writing(folder, "the folder for the report cannot be created"):
        make_folder(folder)
    path, first = folder / "report.html", systems[0]
    page = Report(
        f"Evaluation of {_short_names([first])[0]}",
        _system_facts(first),
        facts_about="Evaluated system",
        comparisons=comparisons,
    )
    _write(path, page, pairs, systems)
    return path


def evaluated_run(run: Run, result: RunEvaluation) -> EvaluatedSystem:
    """Return the translations of a run, under the name of its folder."""
    hypotheses = [translation.text for translation in result.translations]
    return EvaluatedSystem(run_name(run), hypotheses, result.evaluation, run, result.translations, result.search)


def _system_facts(system: EvaluatedSystem) -> Facts:
    run = system.run
    if run is None:
        return {"Translations": system.name}
    facts = {"Run": str(run.folder.path)}
    if system.translations is None:
        facts = {"Translations": system.name, "Perplexity and alignments of": str(run.folder.path)}
    facts |= {"Preset": run.config.preset or "none", "Parameters": f"{run.parameters:,}"}
    if system.search is not None:
        facts["Search"] = f"beam {system.search.beam}, length normalisation {system.search.normalisation}"
    return {**facts, "Machine": machine_name()}


def _write(path: Path, page: Report, pairs: Sequence[Pair], systems: Sequence[EvaluatedSystem]) -> None:
    """Write the page with the translations of `pairs` by `systems`; `page.numbers`, if any, are the numbers of the
    pairs."""
    rows = _shown(systems[0].hypotheses, pairs)
    lines = page.numbers or range(1, len(pairs) + 1)
    shown = [pairs[row] for row in rows]
    notes = [*_about_alignments(systems)]
    if len(rows) < len(pairs):
        notes.append(
            f"{len(rows):,} of the {len(pairs):,} sentences are shown: the {EXTREMES} worst and the {EXTREMES} best by "
            "chrF, and an even selection of the others."
        )
    page = replace(
        page,
        systems=[
            ReportedSystem(name, _samples(system, shown, rows), system.evaluation)
            for name, system in zip(_short_names(systems), systems, strict=True)
        ],
        numbers=[lines[row] for row in rows],
        notes=notes,
    )
    run = systems[0].run
    if run is not None:
        source_language, target_language = run.config.text.languages
        page = replace(
            page,
            unknown_source=count_oov(run.source, [pair.source for pair in shown]),
            unknown_target=count_oov(run.target, [pair.target for pair in shown]),
            source_language=source_language,
            target_language=target_language,
        )
    texts = [text for pair in shown for text in (pair.source, *pair.references)]
    texts += [system.hypotheses[row] for system in systems for row in rows]
    warn_of_missing_letters(texts, page=True)
    write_report(path, page)


def _about_alignments(systems: Sequence[EvaluatedSystem]) -> Iterator[str]:
    for system in systems:
        if system.run is None:
            yield f"Only the text of {system.name} is known, so its words are not aligned: that needs a model."
        elif system.run.config.model.decoder.context != "attended":
            yield f"The model of {system.name} has no attention, so its words are not aligned."
        elif system.translations is None:
            yield f"{system.name} was given; {system.run.folder.path} aligned it by forced decoding."


def _short_names(systems: Sequence[EvaluatedSystem]) -> list[str]:
    """Return the last part of each path, if these differ, else the paths; equal names are numbered."""
    names = [system.name for system in systems]
    short = [Path(name).name or name for name in names]
    chosen = short if len(set(short)) == len(short) else names
    return [
        name if name not in chosen[:index] else f"{name} ({chosen[:index].count(name) + 1})"
        for index, name in enumerate(chosen)
    ]


def run_name(run: Run) -> str:
    """Return the name of a run on a page: that of its folder."""
    return run.folder.path.resolve().name


def _shown(hypotheses: Sequence[str], pairs: Sequence[Pair]) -> list[int]:
    """Return up to SENTENCES rows: all, or the extremes and an even selection of the others."""
    if len(pairs) <= SENTENCES:
        return list(range(len(pairs)))
    metric = chrf_metric()
    scores = [metric.score(row) for row in metric.statistics(hypotheses, [pair.references for pair in pairs])]
    order = sorted(range(len(pairs)), key=lambda row: scores[row])
    extremes = {*order[:EXTREMES], *order[-EXTREMES:]}
    return sorted(extremes | set(evenly_spaced(range(len(pairs)), SENTENCES - len(extremes))))


# Samples -------------------------------------------------------------------------------------------------------------


def _samples(system: EvaluatedSystem, pairs: Sequence[Pair], rows: Sequence[int]) -> list[Sample]:
    """Return the samples of some rows of a test set; `pairs` are their pairs."""
    samples = zip(_with_first_reference(system, pairs, rows), pairs, strict=True)
    return [replace(sample, other_references=pair.other_references) for sample, pair in samples]


def _with_first_reference(system: EvaluatedSystem, pairs: Sequence[Pair], rows: Sequence[int]) -> list[Sample]:
    hypotheses = [system.hypotheses[row] for row in rows]
    references = [pair.target for pair in pairs]
    if system.run is None:
        both = zip(pairs, hypotheses, references, strict=True)
        return [given_sample(pair.source, hypothesis, reference) for pair, hypothesis, reference in both]
    if system.translations is None:
        given = [(pair.source, hypothesis) for pair, hypothesis in zip(pairs, hypotheses, strict=True)]
        return given_samples(system.run, given, references)
    return translated_samples(system.run, [system.translations[row] for row in rows], references)


def translated_samples(
    run: Run, translations: Sequence[Translation], references: Sequence[str] | None = None
) -> list[Sample]:
    """Return translations of a run with the weights between words, and the windows of local attention."""
    given: Sequence[str | None] = references or [None] * len(translations)
    windows = _windows_of(run, translations)
    return [
        make_sample(translation, reference, run.source, run.target, run.engine.attention_shift, window)
        for translation, reference, window in zip(translations, given, windows, strict=True)
    ]


def given_samples(run: Run, pairs: Sequence[tuple[str, str]], references: Sequence[str] | None = None) -> list[Sample]:
    """Align pairs (source, translation) by forced decoding."""
    given: Sequence[str | None] = references or [None] * len(pairs)
    shift = run.engine.attention_shift
    return [
        scored_sample(pair, reference, scored, run.source, run.target, shift, _window(run, scored))
        for pair, reference, scored in zip(pairs, given, run.scorer().score(pairs), strict=True)
    ]


def _windows_of(run: Run, translations: Sequence[Translation]) -> Iterator[Window | None]:
    """Yield the windows of local attention. Search does not keep them, so they are recomputed by forced decoding.

    None where the text is segmented into other tokens than search produced.
    """
    if run.config.model.attention.scope == "global" or run.config.model.decoder.context != "attended":
        yield from [None] * len(translations)
        return
    pairs = [(translation.source, translation.text) for translation in translations]
    for translation, scored in zip(translations, run.scorer().score(pairs), strict=True):
        yield _window(run, scored) if scored.target_tokens == translation.tokens else None


def _window(run: Run, scored: ScoredPair) -> Window | None:
    return None if scored.centres is None else Window(scored.centres, run.config.model.attention.window)
