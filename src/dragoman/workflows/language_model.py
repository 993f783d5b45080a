"""From text of one language to the run folder of a language model, by the loop that trains translators.

check -> segmentation -> stored lines and vocabulary -> model -> training, the perplexity of dev deciding
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dragoman.config.language_model import LanguageConfig, override_language
from dragoman.data.batches import Batches, Budget, sorted_batches
from dragoman.data.preparation import store_lines
from dragoman.data.store import Store
from dragoman.errors import ConfigError, InputError
from dragoman.model.assembly import build_language_model
from dragoman.model.devices import DeviceName, choose_device, choose_precision, place_name, seed_weights
from dragoman.model.language_model import LanguageModel
from dragoman.progress import Console
from dragoman.runs.language_model import existing_language_folder
from dragoman.runs.layout import RunFolder
from dragoman.text.corpus import Pair
from dragoman.text.lines import not_found, read_lines
from dragoman.text.segmentation import train_segmentation
from dragoman.text.side import TextSide
from dragoman.training.loop import train
from dragoman.training.precision import settle_precision
from dragoman.training.validation import Validators, perplexity
from dragoman.workflows.training import DEV_BUDGET, MAY_CHANGE, TrainedRun


def train_language_model(
    config: LanguageConfig,
    text: Sequence[Path],
    dev: Sequence[Path],
    out: str | Path,
    *,
    overwrite: bool = False,
    device: DeviceName = "auto",
    console: Console | None = None,
) -> TrainedRun:
    """Train on the lines of the files `text`; all that is needed afterwards lies in the folder `out`.

    Raises:
        InputError: a file cannot be read or has nothing in it.
        RunError: there is a run in `out` already, and not `overwrite`.
        TrainingError, Interrupted: as `training.loop.train` has it.
    """
    console = console or Console()
    choose_device(device)  # complains early
    for path in (*text, *dev):
        if not path.exists():
            raise not_found(path)
        if not path.is_file():
            raise InputError(f"{path}: is not a file; training reads its text more than once, so give a file")
    for files in (text, dev):
        if not any(pair.target.strip() for pair in _read(files)):
            raise InputError(f"{' and '.join(map(str, files))}: no line with words in it; give text to learn from")
    folder = RunFolder.create(out, config, overwrite=overwrite)
    with folder.being_prepared():
        console.info("segmentation ...")
        segmentation = train_segmentation(config.text, (pair.target for pair in _read(text)))
        with console.counter("lines") as progress:
            store, side = store_lines(
                folder.train_data,
                _read(text),
                segmentation,
                config.text,
                lambda pair, _, segments: _refused(segments, config.cleaning.max_length),
                progress=progress,
            )
        console.info(_facts(store, side))
        side.save(folder.text, "target")
        store_lines(
            folder.dev_data, _read(dev), segmentation, side.vocabulary, lambda pair, _, segments: _refused(segments)
        )
    return _train(config, folder, device, console, resume=False)


def resume_language_model(
    out: str | Path, changes: Sequence[str], *, device: DeviceName = "auto", console: Console | None = None
) -> TrainedRun:
    """Go on with a training that was stopped, exactly from its last saved state.

    Args:
        changes: `key=value` for a longer or shorter training (`MAY_CHANGE` of the pipeline).

    Raises:
        ConfigError: something else is to change.
        RunError: the folder is none of a language model, or has no state to go on from.
        TrainingError, Interrupted, InputError: as for `train_language_model`.
    """
    choose_device(device)
    for change in changes:
        if change.partition("=")[0].strip() not in MAY_CHANGE:
            raise ConfigError(
                f"--resume: {change} is not what a resumed training may change: {', '.join(MAY_CHANGE)}; leave it out, "
                "or start anew with --overwrite"
            )
    folder, config = existing_language_folder(out)
    folder.require_state()
    if changes:
        config = override_language(config, changes)
        folder.save_config(config)
    return _train(config, folder, device, console or Console(), resume=True)


def _read(files: Sequence[Path]) -> Iterator[Pair]:
    """The lines as targets of nothing."""
    for path in files:
        for number, line in enumerate(read_lines(path), 1):
            yield Pair("", line, f"{path}:{number}")


def _refused(segments: int, longest: int | None = None) -> str | None:
    if not segments:
        return "blank"
    return "too long" if longest is not None and segments > longest else None


def _facts(store: Store, side: TextSide) -> str:
    listed = ", ".join(f"{reason} {count:,}" for reason, count in store.left_out.items() if count)
    mean = len(store.target.ids) / len(store)
    return (
        f"lines: kept {len(store):,}, dropped {sum(store.left_out.values()):,}{f' ({listed})' if listed else ''}\n"
        f"vocabulary: {len(side.vocabulary):,}; segments a line: {mean:.1f}"
    )


def _train(
    config: LanguageConfig, folder: RunFolder, device: DeviceName, console: Console, *, resume: bool
) -> TrainedRun:
    place = choose_device(device)
    seed_weights(config.training.seed)
    model = build_language_model(config.model, len(folder.target_side().vocabulary)).to(place)
    config = settle_precision(config, override_language, model, folder, console)
    model.set_precision(choose_precision(config.training.precision, place))
    count = sum(parameter.numel() for parameter in model.parameters())
    console.info(f"model: {count:,} parameters; {place_name(place, model.precision)}")
    batch, dev = config.training.batch, Store.open(folder.dev_data)

    def measure(model: LanguageModel) -> float:
        with model.full_precision():
            return perplexity(model, sorted_batches(dev, DEV_BUDGET, source_eos=False))

    summary = train(
        model,
        Batches(
            Store.open(folder.train_data),
            Budget(batch.unit, batch.size),
            pool=batch.pool,
            seed=config.training.seed,
            source_eos=False,
        ),
        config.training,
        folder,
        Validators(measure),
        resume=resume,
        console=console,
    )
    return TrainedRun(folder, summary)
