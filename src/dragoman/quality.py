"""How good a run is: a test set translated, measured against its references, and shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.config.schema import SearchConfig
from dragoman.data.store import Store
from dragoman.errors import InputError
from dragoman.evaluation.evaluate import Evaluation, Perplexity, evaluate
from dragoman.evaluation.metrics import Tokenizer
from dragoman.evaluation.slices import by_source_length
from dragoman.folder import RunFolder
from dragoman.narration import Narrator
from dragoman.report.facts import machine_name, training_facts
from dragoman.report.page import write_report
from dragoman.report.samples import Sample, make_sample
from dragoman.run import Run
from dragoman.search.translator import Translation
from dragoman.text.corpus import Pair
from dragoman.training.log import read_log

SAMPLES = 10
"""Sentences that a report shows."""


@dataclass(frozen=True)
class Quality:
    """A test set, its translations and what they are worth."""

    search: SearchConfig
    """How the translations were looked for."""
    references: Sequence[str]
    translations: Sequence[Translation]
    evaluation: Evaluation


def measure(
    run: Run,
    pairs: Sequence[Pair],
    *,
    beam: int | None = None,
    tokenizer: Tokenizer = "13a",
    narrator: Narrator | None = None,
) -> Quality:
    """Translate the sources and measure the translations; also the perplexity of the references.

    Args:
        beam: hypotheses kept; None for the run's own number.

    Raises:
        InputError: there are no pairs.
    """
    if not pairs:
        raise InputError("the test set is empty; it needs at least one pair")
    narrator = narrator or Narrator()
    search = run.config.search if beam is None else run.config.search.model_copy(update={"beam": beam})
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    translations = []
    with narrator.counting("translated", total=len(pairs)) as progress:
        for n_best in run.translator(search).translate_lines(sources):
            translations.append(n_best[0])
            progress(len(translations))
    evaluation = evaluate(
        [translation.text for translation in translations],
        references,
        slicings=[by_source_length(sources)],
        perplexity=_perplexity(run, zip(sources, references, strict=True)),
        tokenizer=tokenizer,
    )
    return Quality(search, references, translations, evaluation)


def _perplexity(run: Run, pairs: Iterable[tuple[str, str]]) -> Perplexity:
    nll, tokens, sentences = 0.0, 0, 0
    for scored in run.scorer().score(pairs):
        nll -= scored.log_probability
        tokens += len(scored.token_log_probabilities)
        sentences += 1
    return Perplexity(nll, tokens, sentences)


# Reports -------------------------------------------------------------------------------------------------------------


def write_run_report(run: Run, pairs: Sequence[Pair], evaluation: Evaluation | None = None) -> Path:
    """RUN/report.html: what the model is made of, how training went, and some of the pairs, translated.

    Raises:
        InputError: it cannot be written.
        RunError: the log or the stored corpus is damaged.
    """
    shown = [pairs[row] for row in _spread(len(pairs))]
    translations = [n_best[0] for n_best in run.translator().translate_lines(pair.source for pair in shown)]
    folder = RunFolder(run.folder.path)
    records = read_log(folder.log)
    store = Store.open(folder.train_data)
    write_report(
        folder.report,
        title=f"Training of {folder.path.resolve().name}",
        facts=training_facts(
            preset=run.config.preset,
            pairs=len(store),
            dropped=store.left_out,
            parameters=run.parameters,
            updates=records[-1]["update"],
            seconds=records[-1]["seconds"],
            machine=machine_name(),
        ),
        records=records,
        evaluation=evaluation,
        samples=_samples(run, translations, [pair.target for pair in shown]),
        source_language=run.config.text.source.language,
        target_language=run.config.text.target.language,
    )
    return folder.report


def write_quality_report(folder: Path, run: Run, quality: Quality) -> Path:
    """FOLDER/report.html: the figures of a test set and some of its translations.

    Raises:
        InputError: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: the folder for the report cannot be made: {error.strerror}") from None
    path, search, rows = folder / "report.html", quality.search, _spread(len(quality.translations))
    write_report(
        path,
        title=f"Quality of {run.folder.path.resolve().name}",
        facts={
            "Run": str(run.folder.path),
            "Preset": run.config.preset or "none",
            "Parameters": f"{run.parameters:,}",
            "Search": f"beam {search.beam}, length normalisation {search.normalisation}",
            "Machine": machine_name(),
        },
        evaluation=quality.evaluation,
        samples=_samples(run, [quality.translations[row] for row in rows], [quality.references[row] for row in rows]),
        source_language=run.config.text.source.language,
        target_language=run.config.text.target.language,
    )
    return path


def _spread(count: int) -> list[int]:
    """Up to SAMPLES rows out of `count`, evenly over all."""
    shown = min(SAMPLES, count)
    return [index * count // shown for index in range(shown)]


def _samples(run: Run, translations: Sequence[Translation], references: Sequence[str]) -> list[Sample]:
    shift = run.engine.attention_shift
    return [
        make_sample(translation, reference, run.source, run.target, shift)
        for translation, reference in zip(translations, references, strict=True)
    ]
