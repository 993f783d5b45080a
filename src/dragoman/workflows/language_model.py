"""Training a language model: from text of one language to a run folder, by the loop that trains translation models.
Texts are scored by what was trained.

check -> segmentation -> stored lines and vocabulary -> model -> training with the perplexity of the dev text
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dragoman.config.language_model import LanguageConfig, override_language
from dragoman.corpora.held_out import HeldOut, hold_out
from dragoman.corpora.pairs import Pair
from dragoman.data.mixing import require_weights
from dragoman.data.preparation import open_lines, store_lines
from dragoman.data.segment_journal import SegmentJournal
from dragoman.data.store import Store
from dragoman.errors import InputError
from dragoman.model.assembly import assemble_language_model, build_language_model
from dragoman.model.devices import choose_device, seed_weights, set_threads
from dragoman.model.weights import parameter_count
from dragoman.progress import Console
from dragoman.requests.training import LanguageModelScoringRequest, LanguageModelTrainingRequest, PerplexityRequest
from dragoman.runs.language_model import existing_language_folder, open_language_run, read_language_config
from dragoman.runs.layout import RunFolder
from dragoman.runs.new_run import NewRun
from dragoman.runs.parts import changing
from dragoman.scoring.given_targets import log_probability
from dragoman.scoring.language_model import PerplexityCounter
from dragoman.systems import DeviceName
from dragoman.text.lines import read_lines, replace_output, shown_name, write_lines
from dragoman.text.raw_lines import is_blank
from dragoman.text.segmentation import train_segmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import UNK
from dragoman.training.loop import Beginning, Execution, TrainingTask, train
from dragoman.training.memory import SMALLEST_VOCABULARY, require_memory_for_batch, require_memory_for_training
from dragoman.training.validation import Validators
from dragoman.workflows.input_lines import InputLines
from dragoman.workflows.languages import with_language
from dragoman.workflows.training import TrainedRun
from dragoman.workflows.training_steps import (
    dev_perplexity,
    dropped_counts,
    prepare_model,
    require_regular_files,
    require_resumable,
    target_workload,
    training_batches,
)


def train_requested(request: LanguageModelTrainingRequest) -> None:
    """Train a language model, or resume its training, and say where the run is.

    Raises:
        DragomanError: as for `train_language_model` and `resume_language_model`.
    """
    model, text, run, device = request.model, request.text, request.run, request.general.device
    set_threads(request.general.threads)
    console = Console(quiet=request.general.quiet)
    languages = [] if text.language is None else [f'text.language="{text.language}"']
    changes = [*model.set, *languages, *run.length.settings]
    if run.resume:
        threads = request.general.threads
        trained = resume_language_model(run.out, changes, device=device, threads=threads, console=console)
    else:
        config = LanguageConfig() if model.config is None else read_language_config(Path(model.config))
        trained = train_language_model(
            override_language(config, changes),
            [Path(name) for name in text.train],
            [Path(name) for name in text.dev],
            run.out,
            overwrite=run.overwrite,
            inputs=[] if model.config is None else [Path(model.config)],
            device=device,
            console=console,
        )
    console.info(f"language model: {trained.folder.path}")


def score_text(request: LanguageModelScoringRequest) -> None:
    """Write the log-probability of each line, or of its tokens.

    Raises:
        ConfigError, InputError, RunError: as for `open_language_run` and `InputLines`.
    """
    general = request.general
    scorer = open_language_run(request.run, device=general.device, threads=general.threads).scorer()
    with (
        InputLines(request.input, "score", quiet=general.quiet) as lines,
        replace_output(request.output, keep_partial=True) as file,
    ):
        lines.before_waiting = file.flush
        for scores in scorer.score_lines(lines, lines.paused):
            shown = scores if request.tokens else [log_probability(scores)]
            file.write(" ".join(f"{term:.6f}" for term in shown) + "\n")


def measure_perplexity(request: PerplexityRequest) -> tuple[PerplexityCounter, int]:
    """The perplexity of a text, and how many of its tokens are unknown.

    Raises:
        ConfigError, InputError, RunError: as for `open_language_run`, or the text is empty.
    """
    opened = open_language_run(request.run, device=request.general.device, threads=request.general.threads)
    measured, unknown = PerplexityCounter(), 0

    def counted() -> Iterator[str]:
        nonlocal unknown
        for line in read_lines(request.input):
            unknown += opened.side.encode(line).ids.count(UNK)
            yield line

    for scores in opened.scorer().score_lines(counted()):
        measured.add(scores)
    if not measured.lines:
        raise InputError(f"{shown_name(request.input)}: empty file, so there is no perplexity")
    return measured, unknown


def train_language_model(
    config: LanguageConfig,
    text: Sequence[Path],
    dev: Sequence[Path],
    out: str | Path,
    *,
    overwrite: bool = False,
    inputs: Sequence[Path] = (),
    device: DeviceName = "auto",
    console: Console | None = None,
) -> TrainedRun:
    """Train on the lines of the files `text`, and write everything that scoring needs to the folder `out`.

    The run takes its place there when its first training state is saved, as in `workflows.training.train`.

    Args:
        dev: empty to hold out a part of the lines (see `text.held_out`), which are kept in RUN/data/dev.txt.
        overwrite: replace an older run in `out`; files that no training wrote are never removed.
        inputs: other files that were read, such as a configuration file; `overwrite` refuses to remove any of them.

    Raises:
        InputError: a file cannot be read or has no text.
        RunError: as for `runs.new_run.require_free`.
        TrainingError, Interrupted: as for `training.loop.train`.
    """
    console = console or Console()
    _require_memory(config, SMALLEST_VOCABULARY, device)
    require_weights(config.training.mix, len(text))
    require_regular_files((*text, *dev))
    for files in (text, dev) if dev else (text,):
        if not any(not is_blank(pair.target) for pair in _read(files)):
            raise InputError(f"{' and '.join(map(str, files))}: no line with words in it; give a file with text")
    with_its_language, language = with_language(config.text, text)
    config = config.replaced(text=with_its_language)
    console.info(language)
    with NewRun(out, config, overwrite=overwrite, inputs=[*text, *dev, *inputs]) as new:
        folder = new.folder
        held_out = None if dev else _hold_out(config, text, new, console)

        def lines() -> Iterator[Pair]:
            return _read(text) if held_out is None else held_out.without(_read(text))

        console.info("segmentation ...")
        segmentation = train_segmentation(config.text, (pair.target for pair in lines()))
        with console.counter("lines") as progress:
            store, side = store_lines(
                folder.train_data,
                lines(),
                segmentation,
                config.text,
                lambda pair, _, segments: _refused(segments, config.cleaning.max_length),
                progress=progress,
                journal=SegmentJournal(new.segments),
            )
        for fact in _facts(store, side):
            console.info(fact)
        side.save(folder.text, "target")
        store_lines(
            folder.dev_data,
            _read(dev) if held_out is None else held_out.pairs,
            segmentation,
            side.vocabulary,
            lambda pair, _, segments: _refused(segments),
        )
        return _train(config, folder, Execution(device, console=console), new)


def resume_language_model(
    out: str | Path,
    changes: Sequence[str],
    *,
    device: DeviceName = "auto",
    threads: int | None = None,
    console: Console | None = None,
) -> TrainedRun:
    """Resume a stopped training exactly from its last saved state.

    Args:
        changes: `key=value` for keys of `training_steps.MAY_CHANGE`.
        threads: CPU threads; None for as many as before, which the weights depend on by rounding.

    Raises:
        ConfigError: another key changes, or a value is not valid.
        RunError: the folder is not a language model's, or has no training state, or another process writes to it.
        TrainingError, Interrupted, InputError: as for `train_language_model`.
    """
    choose_device(device)
    set_threads(threads)
    folder, saved = existing_language_folder(out)
    folder.require_state()
    config = override_language(saved, changes)
    require_resumable(saved, config)
    with changing(folder.path):
        if config != saved:
            folder.save_config(config)
        return _train(config, folder, Execution(device, threads, console or Console()))


def _read(files: Sequence[Path]) -> Iterator[Pair]:
    """The lines as targets of empty sources."""
    for corpus, path in enumerate(files):
        for number, line in enumerate(read_lines(path), 1):
            yield Pair("", line, f"{path}:{number}", corpus=corpus)


def _hold_out(config: LanguageConfig, text: Sequence[Path], new: NewRun, console: Console) -> HeldOut:
    """Hold out lines of the training text, and write them to RUN/data/dev.txt."""
    longest = config.cleaning.max_length
    held_out = hold_out(_read(text), lambda pair: 0 < len(pair.target.split()) <= longest)
    written = new.folder.dev_data.with_suffix(".txt")
    written.parent.mkdir(parents=True, exist_ok=True)
    write_lines(written, (pair.target for pair in held_out.pairs))
    path = new.final.dev_data.with_suffix(".txt")
    console.info(f"dev text: {len(held_out.pairs):,} lines held out of the training text, in {path}")
    return held_out


def _refused(segments: int, longest: int | None = None) -> str | None:
    if not segments:
        return "blank"
    return "too long" if longest is not None and segments > longest else None


def _facts(store: Store, side: TextSide) -> tuple[str, str]:
    mean = len(store.target.ids) / len(store)
    return (
        f"lines: kept {len(store):,}, {dropped_counts(store.left_out)}",
        f"vocabulary: {len(side.vocabulary):,}; segments a line: {mean:.1f}",
    )


def _require_memory(config: LanguageConfig, vocabulary: int, device: DeviceName, text: Store | None = None) -> None:
    """Refuse a model or a batch that does not fit; `text` is the stored text, None before it is read."""
    require_memory_for_training(lambda: assemble_language_model(config.model, vocabulary), config.training, device)
    model = config.model
    layers = (
        model.feed_forward.layers
        if model.network == "feed-forward"
        else (model.recurrent.size,) * model.recurrent.layers
    )
    require_memory_for_batch(config.training.batch, model.embedding + sum(layers), vocabulary, device, text)


def _train(config: LanguageConfig, folder: RunFolder, execution: Execution, new: NewRun | None = None) -> TrainedRun:
    """Train a new run, or resume one."""
    device, console = execution.device, execution.console
    chosen_device = choose_device(device)
    seed_weights(config.training.seed)
    vocabulary = folder.target_side().vocabulary
    store = open_lines(folder.train_data, vocabulary)
    _require_memory(config, len(vocabulary), device, store)
    model = build_language_model(config.model, len(vocabulary)).to(chosen_device)
    config = prepare_model(model, config, folder, console)
    batches = training_batches(config.training, store, source_eos=False)
    if batches.mix is not None:
        console.info(f"mix: {batches.mix}")
    task = TrainingTask(
        model,
        batches,
        config.training,
        Validators(dev_perplexity(open_lines(folder.dev_data, vocabulary), source_eos=False)),
        target_workload(store, batches.mix, parameter_count(model)),
    )
    result = train(task, folder, execution, None if new is None else Beginning(new.take_place))
    return TrainedRun(new.folder if new else folder, result)  # a new run has taken its place
