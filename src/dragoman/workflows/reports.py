"""From runs, test sets and measurements to the pages that show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dragoman.config.schema import SearchConfig
from dragoman.data.store import Store
from dragoman.errors import InputError
from dragoman.evaluation.evaluate import Evaluation
from dragoman.evaluation.metrics import Tokenizer, chrf_metric
from dragoman.evaluation.significance import Comparisons
from dragoman.inspection.summary import TextSummary, load_summary
from dragoman.progress import Console
from dragoman.report.facts import Facts, machine_name, training_facts
from dragoman.report.out_of_vocabulary import count_oov
from dragoman.report.page import Report, System, write_report
from dragoman.report.samples import Sample, Window, given_sample, make_sample, scored_sample
from dragoman.runs.layout import RunFolder
from dragoman.runs.opening import Run
from dragoman.scoring.scorer import ScoredPair
from dragoman.text.corpus import Pair
from dragoman.training.log import read_log
from dragoman.translation.translator import Translation
from dragoman.workflows.evaluation import Measuring, Quality, measure

TRAINING_SENTENCES = 200
"""Pairs of the dev set that the report of a training translates and measures."""

SENTENCES = 1000
"""Sentences that the report of an evaluation shows."""

EXTREMES = 25
"""Of these the worst and as many of the best, where a test set has more."""

_TOKENIZERS: dict[str, Tokenizer] = {"zh": "zh", **dict.fromkeys(("ja", "th", "lo", "my", "km"), "char")}
"""What BLEU takes for words in languages that put no blanks between them."""


@dataclass(frozen=True)
class Measured:
    """Translations of a test set and what they are worth."""

    name: str
    hypotheses: Sequence[str]
    evaluation: Evaluation
    run: Run | None = None
    """Whose attention is shown; None for translations of which only the text is known."""
    translations: Sequence[Translation] | None = None
    """The run's own; None where it did not translate, and can only align what was given."""
    search: SearchConfig | None = None
    """How it looked for them."""


def write_run_report(run: Run, pairs: Sequence[Pair], measured: Measured | None = None) -> Path:
    """RUN/report.html: what the model is made of, how training went, and how it translates.

    Args:
        pairs: a dev or test set.
        measured: its translations; None to translate and measure some of the pairs, evenly spread over all.

    Raises:
        InputError: it cannot be written.
        RunError: the log, the stored corpus or what is known of the text is damaged.
    """
    test_set, rows = None, list(range(len(pairs)))
    if measured is None:
        rows = _spread(len(pairs), TRAINING_SENTENCES)
        test_set = "the dev set"
        if len(rows) < len(pairs):
            test_set = f"the {len(pairs):,} of the dev set, evenly spread over it"
        pairs = [pairs[row] for row in rows]
        measured = _measured(run, pairs)
    folder = RunFolder(run.folder.path)
    records = read_log(folder.log)
    store = Store.open(folder.train_data)
    facts = training_facts(
        preset=run.config.preset,
        pairs=len(store),
        dropped=store.left_out,
        parameters=run.parameters,
        updates=records[-1]["update"],
        seconds=records[-1]["seconds"],
        machine=machine_name(),
    )
    text = load_summary(folder.inspection) or TextSummary({}, ())
    page = Report(
        f"Training of {run_name(run)}",
        facts,
        text_facts=text.facts,
        advice=text.advice,
        records=records,
        numbers=[row + 1 for row in rows],
        test_set=test_set,
    )
    _write(folder.report, page, pairs, [measured])
    return folder.report


def write_quality_report(
    folder: Path, pairs: Sequence[Pair], systems: Sequence[Measured], comparisons: Sequence[Comparisons] = ()
) -> Path:
    """FOLDER/report.html: the figures of a test set and its translations, of the first of the systems above all.

    Raises:
        InputError: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: the folder for the report cannot be created: {error.strerror}") from None
    path, first = folder / "report.html", systems[0]
    page = Report(
        f"Quality of {_short_names([first])[0]}",
        _quality_facts(first),
        facts_about="What was measured",
        comparisons=comparisons,
    )
    _write(path, page, pairs, systems)
    return path


def measured_run(run: Run, quality: Quality) -> Measured:
    """What a run translated, under the name of its folder."""
    hypotheses = [translation.text for translation in quality.translations]
    return Measured(run_name(run), hypotheses, quality.evaluation, run, quality.translations, quality.search)


def _measured(run: Run, pairs: Sequence[Pair]) -> Measured:
    language = run.config.text.target.language
    measuring = Measuring(language=language, tokenizer=_TOKENIZERS.get(language.partition("-")[0], "13a"))
    return measured_run(run, measure(run, pairs, measuring=measuring, console=Console(quiet=True)))


def _quality_facts(system: Measured) -> Facts:
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


def _write(path: Path, page: Report, pairs: Sequence[Pair], systems: Sequence[Measured]) -> None:
    """Write the page with the sentences of these systems, which translated these pairs; the numbers of the page, if it
    has any, are those of the pairs."""
    rows = _shown(systems[0].hypotheses, pairs)
    lines = page.numbers or range(1, len(pairs) + 1)
    shown = [pairs[row] for row in rows]
    notes = [*_about_alignments(systems)]
    if len(rows) < len(pairs):
        notes.append(
            f"{len(rows):,} of the {len(pairs):,} sentences are shown: the {EXTREMES} worst and the {EXTREMES} best by "
            "chrF, and others evenly spread."
        )
    page = replace(
        page,
        systems=[
            System(name, _samples(system, shown, rows), system.evaluation)
            for name, system in zip(_short_names(systems), systems, strict=True)
        ],
        numbers=[lines[row] for row in rows],
        notes=notes,
    )
    run = systems[0].run
    if run is not None:
        page = replace(
            page,
            unknown_source=count_oov(run.source, [pair.source for pair in shown]),
            unknown_target=count_oov(run.target, [pair.target for pair in shown]),
            source_language=run.config.text.source.language,
            target_language=run.config.text.target.language,
        )
    write_report(path, page)


def _about_alignments(systems: Sequence[Measured]) -> Iterator[str]:
    for system in systems:
        if system.run is None:
            yield f"Of {system.name} only the text is known, so no word of it is aligned: that takes a model."
        elif system.run.config.model.decoder.context != "attended":
            yield f"The model of {system.name} has no attention, so no word of it is aligned."
        elif system.translations is None:
            yield f"{system.name} was given; {system.run.folder.path} aligned it by forced decoding."


def _short_names(systems: Sequence[Measured]) -> list[str]:
    """The last part of each path, where that is enough to tell the systems apart; no two are the same."""
    names = [system.name for system in systems]
    short = [Path(name).name or name for name in names]
    chosen = short if len(set(short)) == len(short) else names
    return [
        name if name not in chosen[:place] else f"{name} ({chosen[:place].count(name) + 1})"
        for place, name in enumerate(chosen)
    ]


def run_name(run: Run) -> str:
    """What a page calls a run: the name of its folder."""
    return run.folder.path.resolve().name


def _shown(hypotheses: Sequence[str], pairs: Sequence[Pair]) -> list[int]:
    """Up to SENTENCES rows: all, or the extremes and an even spread."""
    if len(pairs) <= SENTENCES:
        return list(range(len(pairs)))
    metric = chrf_metric()
    scores = [metric.score(row) for row in metric.statistics(hypotheses, [pair.target for pair in pairs])]
    order = sorted(range(len(pairs)), key=lambda row: scores[row])
    extremes = {*order[:EXTREMES], *order[-EXTREMES:]}
    return sorted(extremes | set(_spread(len(pairs), SENTENCES - len(extremes))))


def _spread(count: int, most: int) -> list[int]:
    """Up to `most` rows out of `count`, evenly over all."""
    shown = min(most, count)
    return [index * count // shown for index in range(shown)]


# Samples -------------------------------------------------------------------------------------------------------------


def _samples(system: Measured, pairs: Sequence[Pair], rows: Sequence[int]) -> list[Sample]:
    """What is shown of some rows of a test set; `pairs` are those of the rows."""
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
    """Translations of a run with the weights between their words, and its windows where attention is local."""
    given: Sequence[str | None] = references or [None] * len(translations)
    windows = _windows_of(run, translations)
    return [
        make_sample(translation, reference, run.source, run.target, run.engine.attention_shift, window)
        for translation, reference, window in zip(translations, given, windows, strict=True)
    ]


def given_samples(run: Run, pairs: Sequence[tuple[str, str]], references: Sequence[str] | None = None) -> list[Sample]:
    """Pairs (source, translation) as a run aligns them by forced decoding."""
    given: Sequence[str | None] = references or [None] * len(pairs)
    shift = run.engine.attention_shift
    return [
        scored_sample(pair, reference, scored, run.source, run.target, shift, _window(run, scored))
        for pair, reference, scored in zip(pairs, given, run.scorer().score(pairs), strict=True)
    ]


def _windows_of(run: Run, translations: Sequence[Translation]) -> Iterator[Window | None]:
    """Search does not keep where its windows lay; forced decoding of what it found says it again.

    None where the text is cut into other segments than search wrote.
    """
    if run.config.model.attention.scope == "global" or run.config.model.decoder.context != "attended":
        yield from [None] * len(translations)
        return
    pairs = [(translation.source, translation.text) for translation in translations]
    for translation, scored in zip(translations, run.scorer().score(pairs), strict=True):
        yield _window(run, scored) if scored.target_tokens == translation.tokens else None


def _window(run: Run, scored: ScoredPair) -> Window | None:
    return None if scored.centres is None else Window(scored.centres, run.config.model.attention.window)
