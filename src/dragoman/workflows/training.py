"""Training a translation model: from parallel text to a run folder.

    check -> dev set -> segmentation -> stored corpus and vocabularies -> model -> training with validation -> report

The training loop measures the dev set through the validators that are made here, so that it does not depend on search
or evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dragoman.config.building import build_config, override
from dragoman.config.scaling import scale
from dragoman.config.schema import Config
from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.held_out import HeldOut
from dragoman.corpora.pair_files import files_of
from dragoman.corpora.pairs import Corpora, GivenCorpora, Pair, as_paths
from dragoman.corpora.reading import current_reading
from dragoman.data.mixing import Mix, require_weights
from dragoman.data.preparation import PreparedCorpus, store_pairs
from dragoman.data.segment_journal import SegmentJournal
from dragoman.data.store import Store
from dragoman.engines.torch_engine import TorchEngine
from dragoman.errors import ConfigError, RunError
from dragoman.evaluation.metrics import ExactMatch, bleu, chrf, corpus_score
from dragoman.inspection.summary import TextSummary, save_summary, summarise
from dragoman.model.assembly import assemble, build
from dragoman.model.description import describe, multiplications
from dragoman.model.devices import choose_device, seed_weights, set_threads
from dragoman.model.translation import TranslationModel
from dragoman.progress import Console
from dragoman.runs.layout import RunFolder
from dragoman.runs.new_run import NewRun
from dragoman.runs.opening import open_run, resumed_folder
from dragoman.runs.parts import changing
from dragoman.systems import DeviceName, require_rows
from dragoman.training.callbacks import TrainingCallback
from dragoman.training.forecast import SmallerModel, Workload
from dragoman.training.joining import MINUTES
from dragoman.training.loop import Beginning, Execution, TrainingResult, TrainingTask
from dragoman.training.loop import train as train_model
from dragoman.training.memory import SMALLEST_VOCABULARY, require_memory_for_batch, require_memory_for_training
from dragoman.training.validation import DevTranslations, Validators
from dragoman.translation.options import require_threads
from dragoman.translation.translator import Translator
from dragoman.workflows.calibration import calibrate
from dragoman.workflows.evaluation import tokenizer_of, warn_of_empty_references, warn_of_references_unfit_for_bleu
from dragoman.workflows.fine_tuning import TrainedModel
from dragoman.workflows.languages import with_languages, with_tokenizer
from dragoman.workflows.other_ranks import follow_training, joined_for_training, publish_run
from dragoman.workflows.reports import DEV_SET, write_run_report
from dragoman.workflows.settling import as_settled, settle_aligned_word, settle_window
from dragoman.workflows.training_steps import (
    dev_perplexity,
    prepare_model,
    require_regular_files,
    require_resumable,
    target_workload,
    training_batches,
)
from dragoman.workflows.training_text import (
    TrainingText,
    hold_out_pairs,
    prepare_text,
    read_dev,
    require_alignments,
    save_dev,
    unchanged,
)

SMALLER = (0.5, 0.25)
"""Factors of the sizes of smaller models that the forecast of a training can advise."""


@dataclass(frozen=True)
class TrainedRun:
    """A run folder after training, and the result of the training.

    >>> config = dragoman.override(dragoman.load_config("small.yaml"), ["training.epochs=0.2"])
    >>> trained = dragoman.train(config, [["train.low", "train.up"]], [["dev.low", "dev.up"]], "TRAINED")
    >>> trained.folder.path.name, trained.result.epochs < 0.3
    ('TRAINED', True)
    """

    folder: RunFolder
    result: TrainingResult


def train(
    config: Config,
    corpora: GivenCorpora,
    dev: GivenCorpora,
    out: str | Path,
    *,
    alignments: Sequence[str | Path] = (),
    overwrite: bool = False,
    dropped: str | Path | None = None,
    inputs: Sequence[str | Path] = (),
    minutes: float | None = None,
    resume: bool = False,
    start_from: str | Path | None = None,
    extend_vocabulary: bool = False,
    callbacks: Sequence[TrainingCallback] = (),
    device: DeviceName = "auto",
    threads: int | None = None,
    console: Console | None = None,
    rank_timeout: float = MINUTES,
) -> TrainedRun:
    """Train a translation model on parallel text, and write everything that translating needs to the folder `out`.

    The run is prepared beside `out` and takes its place there when its first training state is saved. Until then an
    older run that it may overwrite is whole, and a failure or a signal leaves it as it was.

    Languages that the configuration does not name are those of the files' names (train.de, train.en), or unknown.

    Processes that torchrun started train together (docs/scale.md): rank 0 does what is said here, calls the callbacks
    and prints; the others compute their part of every update, and read only the run folder.

    Args:
        config: the configuration, such as `load_preset("standard")`; `override` changes single values of it.
        corpora: the training text: for each corpus its two files (source, target), or one .tsv or .jsonl file.
        dev: the development set for validation, likewise; empty to hold out a part of the training text (see
            `text.held_out`).
        out: the run folder to write.
        alignments: for guided alignment, a Pharaoh file for each corpus, in their order.
        overwrite: replace an older run in `out`; files that no training wrote are never removed.
        dropped: a file to write the pairs to that cleaning leaves out: origin, reason, source, target, tab-separated.
        inputs: other files that were read, such as a configuration file; `overwrite` refuses to remove any of them.
        minutes: stop after so many and keep the best weights; in place of `training.minutes` of the configuration.
        resume: continue the run in `out` exactly where it stopped. Its corpus is stored in it, so no file is read; the
            configuration must be that of the run but for the length of the training.
        start_from: a run to fine-tune: the new run begins with its weights, vocabularies and segmentation. Its
            configuration, changed by `config.fine_tuning`, is what `--from` uses.
        extend_vocabulary: with `start_from`, add the segments and characters of the text that its vocabularies lack;
            they begin with the mean of the embeddings of known ones that they are made of.
        callbacks: called after updates, validations and saved states; see `TrainingCallback`.
        device: "cpu", "cuda", or "auto" for the GPU if there is one.
        threads: CPU threads; None for one per core, or with `resume` for as many as before.
        console: where messages and progress go; None for standard error.
        rank_timeout: how long ranks wait for each other, in minutes; longer than a validation takes.

    Returns:
        the run folder and the result: why training ended, and its best validation.

    Raises:
        InputError: a file cannot be read, changes while it is read, or no pair is left of it.
        RunError: `out` holds something else, or a run without `overwrite`; with `resume`, it has no training state.
        ConfigError: the configuration is not valid, or its metric needs translations that are not made.
        TrainingError: loss, gradient or weights are no longer finite numbers.
        Interrupted: SIGINT, SIGTERM or SIGHUP came; the state is saved.
        Exception: any that a callback raises; the state is saved.

    >>> config = dragoman.override(dragoman.load_config("small.yaml"), ["training.epochs=0.2"])
    >>> corpus, dev = [["train.low", "train.up"]], [["dev.low", "dev.up"]]
    >>> trained = dragoman.train(config, corpus, dev, "NEW", minutes=10)
    >>> trained.result.reason, trained.result.metric
    ('epochs', 'perplexity')
    """
    if minutes is not None:
        config = override(config, [f"training.minutes={minutes}"])
    if resume:
        return resume_training(
            out, config, callbacks=callbacks, device=device, threads=threads, console=console, rank_timeout=rank_timeout
        )
    links, others = as_paths([alignments, inputs])
    files = _TrainingFiles(as_paths(corpora), as_paths(dev), links, start_from, out, overwrite, dropped, others)
    require_threads(threads)
    set_threads(threads)
    with joined_for_training(rank_timeout, device, config) as ranks:
        if not ranks.leads:
            return TrainedRun(*follow_training(out, device, ranks, threads))
        execution = Execution(device, None, console or Console(), callbacks, ranks)
        return _train_new(config, files, execution, extend_vocabulary=extend_vocabulary)


@dataclass(frozen=True)
class _TrainingFiles:
    """What a new training reads and writes, by the names of the arguments of `train`."""

    corpora: Corpora
    dev: Corpora
    alignments: Sequence[Path]
    start_from: str | Path | None
    out: str | Path
    overwrite: bool
    dropped: str | Path | None
    inputs: Sequence[Path]


def _train_new(config: Config, files: _TrainingFiles, execution: Execution, *, extend_vocabulary: bool) -> TrainedRun:
    console, corpora, dev, alignments = execution.console, files.corpora, files.dev, files.alignments
    config = build_config(config.values(), "config")  # one made in Python may not be valid
    if extend_vocabulary and files.start_from is None:
        raise ConfigError("--extend-vocabulary requires --from RUN: it adds to the vocabulary of a trained model")
    trained = None if files.start_from is None else TrainedModel.open(files.start_from, config)
    _require_memory(config, SMALLEST_VOCABULARY, SMALLEST_VOCABULARY, execution.device)
    require_alignments(config, corpora, alignments)
    require_weights(config.training.mix, len(corpora))
    given = [*files_of([*corpora, *dev]), *alignments]
    require_regular_files(given)
    current_reading().expect(config.text)
    config, languages = with_languages(config, corpora)
    config, note = with_tokenizer(config)
    for line in filter(None, (languages, note)):
        console.info(line)
    held_out = HeldOut(read_dev(dev)) if dev else None
    read = [*files.inputs, *(trained.files if trained else ()), *given]
    written = [Path(files.dropped)] if files.dropped is not None else []
    with NewRun(files.out, config, overwrite=files.overwrite, inputs=read, outputs=written) as new:
        folder = new.folder
        with unchanged(given):
            if held_out is None:
                held_out = hold_out_pairs(corpora, config.cleaning.max_length)
                origin = "held out of the training text (data/dev.jsonl)"
                console.info(
                    f"dev set: {len(held_out.pairs):,} pairs held out of the training text, in {new.final.dev_text}"
                )
            else:
                origin = " ".join(str(path) for paths in dev for path in paths)
            save_dev(folder, held_out.pairs, normal_form=config.text.normal_form)
            summary = summarise(corpora, dev)
            for sentence in summary.warnings:
                console.info(f"warning: {sentence}")
            facts = {**summary.facts, DEV_SET: f"{len(held_out.pairs):,} pairs, {origin}"}
            if trained is not None:
                facts["fine-tuned from"] = str(trained.folder.path)
            save_summary(folder.inspection, TextSummary(facts, summary.advice))
            text = TrainingText(corpora, alignments, held_out, cut=not dev)
            if trained is not None and extend_vocabulary:
                trained = trained.extended(text.pairs, config.text)
                source, target = (f"{len(parts):,}" for parts in trained.parts)
                both = trained.source.vocabulary is trained.target.vocabulary
                console.info(
                    f"vocabulary: {f'{source} new segments' if both else f'{source} and {target} new segments'}"
                )
            prepared = prepare_text(config, text, folder, files.dropped, console, trained, SegmentJournal(new.segments))
            prepared.source.save(folder.text, "source")
            prepared.target.save(folder.text, "target")
            config = settle_window(config, prepared.store, folder, console)
            store_pairs(folder.dev_data, held_out.pairs, prepared.source, prepared.target)
        return _train(config, folder, prepared, execution, new, trained)


def resume_training(
    out: str | Path,
    config: Config | None = None,
    *,
    callbacks: Sequence[TrainingCallback] = (),
    device: DeviceName = "auto",
    threads: int | None = None,
    console: Console | None = None,
    rank_timeout: float = MINUTES,
) -> TrainedRun:
    """Resume a stopped training exactly from its last saved state, on the corpus stored in the run.

    Args:
        config: None for the run's configuration, or one that differs from it only in `training_steps.MAY_CHANGE`.
        threads: CPU threads; None for as many as before, which the weights depend on by rounding.
        rank_timeout: as for `train`. There may be more or fewer ranks than before; with as many as before the weights
            are those of a training that was never stopped, bit for bit.

    Raises:
        ConfigError: the configuration differs in another key, or is not valid.
        RunError: the folder is not a run folder, has no training state, or another process writes to it.
        TrainingError, Interrupted, InputError: as for `train`.
    """
    config = None if config is None else build_config(config.values(), "config")
    require_threads(threads)
    set_threads(threads)
    with joined_for_training(rank_timeout, device, config) as ranks:
        if not ranks.leads:
            return TrainedRun(*follow_training(out, device, ranks, threads))
        folder = resumed_folder(out)
        with changing(folder.path):
            return _resume(folder, config, Execution(device, threads, console or Console(), callbacks, ranks))


def _resume(folder: RunFolder, config: Config | None, execution: Execution) -> TrainedRun:
    saved = folder.load_config()
    if config is not None:
        config = as_settled(config, saved)
    if config is not None and config != saved:
        require_resumable(saved, config)
        folder.save_config(config)
    source, target = folder.source_side(), folder.target_side()
    store = Store.open(folder.train_data, (source.vocabulary, target.vocabulary))
    prepared = PreparedCorpus(store, source, target)
    return _train(config or saved, folder, prepared, execution)


def _require_memory(config: Config, source: int, target: int, device: DeviceName, text: Store | None = None) -> None:
    """Refuse a model, a batch, or a beam of its validation, that does not fit with vocabularies of these sizes.

    `text` is the stored corpus; None before it is read.
    """
    require_memory_for_training(lambda: assemble(config.model, source, target), config.training, device)
    model = config.model
    cells = model.encoder.layers * model.encoder.size * (2 if model.encoder.direction == "both" else 1)
    states = model.embedding.source + model.embedding.target + cells + model.decoder.layers * model.decoder.size
    require_memory_for_batch(config.training.batch, states, target, device, text)
    require_rows(config.search.beam, target, "search.beam: a beam")
    if config.training.validation.metric != "perplexity":
        require_rows(config.training.validation.beam, target, "training.validation.beam: a beam")


def _train(
    config: Config,
    folder: RunFolder,
    prepared: PreparedCorpus,
    execution: Execution,
    new: NewRun | None = None,
    trained: TrainedModel | None = None,
) -> TrainedRun:
    """Train a new run, which may begin with a trained model, or resume one."""
    device, console, ranks = execution.device, execution.console, execution.ranks
    if config.training.guided_alignment and prepared.store.links is None:
        raise RunError(
            f"{folder.train_data}: the stored corpus has no links for training.guided_alignment; train again with "
            "--overwrite and --alignments"
        )
    chosen_device = choose_device(device)
    sizes = len(prepared.source.vocabulary), len(prepared.target.vocabulary)
    _require_memory(config, *sizes, device, prepared.store)
    seed_weights(config.training.seed)
    model = build(config.model, *sizes)
    if trained is not None:
        trained.restore(model)
    model = model.to(chosen_device)
    config = prepare_model(model, config, folder, console)
    folder.require_intact(folder.dev_text)
    dev = list(read_pairs([[folder.dev_text]]))
    if config.training.validation.metric != "perplexity":
        warn_of_empty_references(dev)
    if config.training.validation.metric == "bleu":
        warn_of_references_unfit_for_bleu(tokenizer_of(config), dev)
    sides = prepared.source, prepared.target
    batches = training_batches(config.training, prepared.store, sides, source_eos=config.model.source_eos)
    if batches.mix is not None:
        console.info(f"mix: {batches.mix}")
    if ranks.size > 1:
        console.info(f"ranks: {ranks.size} processes")
    if batches.changes is not None:
        counts = batches.changes.count(len(prepared.store), batches.pool_rows)
        listed = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
        console.info(f"pairs drawn to be changed in the first epoch: {listed}")

    def take_place(new: NewRun) -> RunFolder:
        placed = new.take_place()
        publish_run(ranks, config, placed)
        return placed

    if new is None:
        publish_run(ranks, config, folder)
    dev_store = Store.open(folder.dev_data, prepared.vocabularies)
    validators = _validators(config, dev, dev_store, prepared)
    workload = None if config.training.minutes is None else _workload(config, prepared, batches.mix)
    beginning = None if new is None else Beginning(partial(take_place, new), validate_first=trained is not None)
    task = TrainingTask(model, batches, config.training, validators, workload)
    result = train_model(task, folder, execution, beginning)
    folder = new.folder if new else folder  # a new run has taken its place
    run = open_run(folder.path, device=device)
    if settle_aligned_word(run.config, run.model(), prepared.store, dev_store, folder, console):
        run = open_run(folder.path, device=device)
    calibrate(run, dev)
    write_run_report(run, dev)
    return TrainedRun(folder, result)


def _workload(config: Config, prepared: PreparedCorpus, mix: Mix | None) -> Workload:
    """The text and the model, and smaller models."""
    vocabularies = len(prepared.source.vocabulary), len(prepared.target.vocabulary)
    work = multiplications(config.model, *vocabularies)
    smaller = {}
    for factor in SMALLER:
        with suppress(ConfigError):  # rounding can break relations between the parts
            model = scale(config, factor).model
            share = multiplications(model, *vocabularies) / work
            smaller[factor] = SmallerModel(share, describe(model, *vocabularies).count)
    return target_workload(prepared.store, mix, describe(config.model, *vocabularies).count, smaller)


def _validators(
    config: Config, dev: Sequence[Pair], store: Store, prepared: PreparedCorpus
) -> Validators[TranslationModel]:
    """The validators of the loop: the perplexity of the dev set, and the quality of its translations."""

    tokenizer = tokenizer_of(config)

    def translate(model: TranslationModel) -> DevTranslations:
        search = config.search.replaced(beam=config.training.validation.beam, search_again=False)
        translator = Translator(TorchEngine(model), prepared.source, prepared.target, search)
        wanted = dev[: config.training.validation.sentences or None]
        with model.full_precision():
            best = [n_best[0] for n_best in translator.translate_lines(pair.source for pair in wanted)]
        hypotheses, references = [translation.text for translation in best], [pair.target for pair in wanted]
        scores = {"bleu": bleu(hypotheses, references, tokenizer), "chrf": chrf(hypotheses, references)}
        if config.training.validation.metric == "accuracy":
            scores["accuracy"] = corpus_score(ExactMatch(), hypotheses, references)
        return DevTranslations(hypotheses, references, scores, sum(not translation.finished for translation in best))

    only_perplexity = config.training.validation.metric == "perplexity"
    return Validators(dev_perplexity(store, source_eos=config.model.source_eos), None if only_perplexity else translate)
