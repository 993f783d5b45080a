"""The main job: from parallel text to a run folder, in the words of its steps.

    check -> segmentation -> stored corpus and vocabularies -> model -> training with validation -> report

The loop of `training/` asks about the dev set through callables; they are made here, because here search and
evaluation are known too.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.config.building import build_config, override
from dragoman.config.schema import Config, SideConfig
from dragoman.data.batches import Batches, Budget, sorted_batches
from dragoman.data.preparation import PreparedCorpus, build_store, store_pairs
from dragoman.data.store import Store
from dragoman.engines.torch_engine import TorchEngine
from dragoman.errors import ConfigError, InputError, RunError
from dragoman.evaluation.metrics import bleu, chrf
from dragoman.inspection.summary import save_summary, summarise
from dragoman.model.assembly import build
from dragoman.model.devices import DeviceName, choose_device, choose_precision, place_name, seed_weights
from dragoman.model.translation import TranslationModel
from dragoman.progress import Console
from dragoman.runs.layout import RunFolder
from dragoman.runs.opening import open_run, parameters
from dragoman.text.corpus import Cleaner, Corpora, Pair, read_pairs
from dragoman.text.lines import not_found, open_output, write_lines
from dragoman.text.segmentation import Segmentation, train_segmentation
from dragoman.training.loop import TrainingResult
from dragoman.training.loop import train as train_model
from dragoman.training.precision import settle_precision
from dragoman.training.validation import DevTranslations, Validators, perplexity
from dragoman.translation.translator import Translator
from dragoman.workflows.reports import write_run_report

DEV_BUDGET = Budget("tokens", 8192)
"""Batches for the perplexity of the dev set: no gradients, so larger ones than in training fit."""

MAY_CHANGE = (
    "training.epochs",
    "training.minutes",
    "training.validation.patience",
    "training.log_every",
    "training.checkpoint_minutes",
)
"""What a resumed training may do otherwise than it began: how long it goes on and how often it speaks."""


@dataclass(frozen=True)
class TrainedRun:
    """A run folder after training, and how that ended."""

    folder: RunFolder
    summary: TrainingResult


def train(
    config: Config,
    corpora: Corpora,
    dev: Corpora,
    out: str | Path,
    *,
    alignments: Sequence[Path] = (),
    overwrite: bool = False,
    dropped: str | Path | None = None,
    device: DeviceName = "auto",
    console: Console | None = None,
) -> TrainedRun:
    """Train a translator on parallel text; everything it needs afterwards lies in the folder `out`.

    Args:
        alignments: for guided attention, a Pharaoh file for each corpus, in their order.
        dropped: a file for the pairs that cleaning leaves out: where from, why, source, target, between tabs.

    Raises:
        InputError: a file cannot be read or has nothing in it, or nothing is left of it.
        RunError: there is a run in `out` already, and not `overwrite`.
        ConfigError: the configuration has values that it cannot have; and as `training.loop.train` has it.
        TrainingError, Interrupted: as `training.loop.train` has it.
    """
    console = console or Console()
    config = _checked(config)
    choose_device(device)  # complains early
    _require_alignments(config, corpora, alignments)
    _require_regular_files([*corpora, *dev, alignments])
    dev_pairs = _read_dev(dev)
    folder = RunFolder.create(out, config, overwrite=overwrite)
    with folder.being_prepared():
        prepared = _prepare(config, corpora, alignments, folder, dropped, console)
        prepared.source.save(folder.text, "source")
        prepared.target.save(folder.text, "target")
        _save_dev(folder, dev_pairs)
        store_pairs(folder.dev_data, dev_pairs, prepared.source, prepared.target)
        save_summary(folder.inspection, summarise(corpora, dev))
    return _train(config, folder, prepared, device, console, resume=False)


def resume(
    out: str | Path, config: Config | None = None, *, device: DeviceName = "auto", console: Console | None = None
) -> TrainedRun:
    """Go on with a training that was stopped, exactly from its last saved state, on the corpus stored in the run.

    Args:
        config: the configuration that is wanted now; None for the one the run has. It may ask for a longer or shorter
            training (`MAY_CHANGE`), and must otherwise be the run's.

    Raises:
        ConfigError: the configuration differs in another way, or has values that it cannot have.
        RunError: the folder is no run, or has no state to go on from.
        TrainingError, Interrupted, InputError: as for `train`.
    """
    config = None if config is None else _checked(config)
    choose_device(device)
    folder = RunFolder.resume(out)
    saved = folder.load_config()
    if config is not None and config.training.precision == "auto":
        config = override(config, [f"training.precision={saved.training.precision}"])
    if config is not None and config != saved:
        _require_resumable(saved, config)
        folder.save_config(config)
    prepared = PreparedCorpus(Store.open(folder.train_data), folder.source_side(), folder.target_side())
    return _train(config or saved, folder, prepared, device, console or Console(), resume=True)


def _checked(config: Config) -> Config:
    """The same configuration: one that was put together in Python has not been checked yet."""
    return build_config(config.values(), "config")


# Text ----------------------------------------------------------------------------------------------------------------


def _require_alignments(config: Config, corpora: Corpora, alignments: Sequence[Path]) -> None:
    guided = config.training.guided_alignment
    if guided and not alignments:
        raise ConfigError(
            f"training.guided_alignment: {guided} needs links to guide by; give --alignments FILE for each corpus "
            "(Pharaoh lines, such as 0-0 1-2)"
        )
    if alignments and not guided:
        raise ConfigError("--alignments: not looked at with training.guided_alignment: 0; set its weight, such as 0.5")
    if alignments and len(alignments) != len(corpora):
        raise ConfigError(
            f"--alignments: {len(alignments)} given for {len(corpora)} training corpora; give one for each, in their "
            "order"
        )


def _require_regular_files(corpora: Corpora) -> None:
    """Look at every file before the first hour of work is done; a pipe would be empty at the second reading."""
    for path in (path for files in corpora for path in files):
        if not path.exists():
            raise not_found(path)
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path}: is not a file; training reads its text more than once, so give a file")


def _read_dev(dev: Corpora) -> list[Pair]:
    pairs = list(read_pairs(dev))
    if not any(pair.source.strip() and pair.target.strip() for pair in pairs):
        files = " ".join(str(path) for files in dev for path in files)
        raise InputError(
            f"the dev set ({files}) has no pair with text on both sides; training needs one to validate on"
        )
    return pairs


def _prepare(
    config: Config,
    corpora: Corpora,
    alignments: Sequence[Path],
    folder: RunFolder,
    dropped: str | Path | None,
    console: Console,
) -> PreparedCorpus:
    """Segmentations, then the stored corpus and its vocabularies."""
    console.info("segmentation ...")
    segmentations = _segmentations(config, corpora)
    with nullcontext() if dropped is None else open_output(dropped) as listing:
        cleaner = Cleaner(config.cleaning, listing)
        with console.counter("pairs") as progress:
            pairs = read_pairs(corpora, alignments)
            prepared = build_store(folder.train_data, pairs, segmentations, config.text, cleaner, progress=progress)
    console.info(_text_facts(prepared))
    return prepared


def _segmentations(config: Config, corpora: Corpora) -> tuple[Segmentation, Segmentation]:
    source, target = config.text.source, config.text.target
    if not config.text.joint:
        return (
            train_segmentation(source, (pair.source for pair in read_pairs(corpora))),
            train_segmentation(target, (pair.target for pair in read_pairs(corpora))),
        )
    both = train_segmentation(source, _lines_of_both(corpora))
    if source.segmentation != "words":
        return both, both
    # Words are joint in their vocabulary, but each language is tokenised by its own rules.
    return both, train_segmentation(SideConfig(language=target.language, segmentation="words"), ())


def _lines_of_both(corpora: Corpora) -> Iterator[str]:
    for pair in read_pairs(corpora):
        yield pair.source
        yield pair.target


def _text_facts(prepared: PreparedCorpus) -> str:
    store = prepared.store
    left_out = {reason: count for reason, count in store.left_out.items() if count}
    listed = ", ".join(f"{reason} {count:,}" for reason, count in left_out.items())
    dropped = f"dropped {sum(left_out.values()):,}" + (f" ({listed})" if listed else "")
    sizes = f"{len(prepared.source.vocabulary):,} and {len(prepared.target.vocabulary):,}"
    if prepared.source.vocabulary is prepared.target.vocabulary:
        sizes = f"{len(prepared.source.vocabulary):,}, joint"
    mean = len(store.source.ids) / len(store), len(store.target.ids) / len(store)
    links = "" if store.links is None else f"; links a line: {len(store.links.links) / len(store):.1f}"
    return (
        f"pairs: kept {len(store):,}, {dropped}\n"
        f"vocabulary: {sizes}; segments a line: {mean[0]:.1f} source, {mean[1]:.1f} target{links}"
    )


def _dev_text(folder: RunFolder) -> Path:
    """The dev set as raw text; translations of it are measured after a resumption too."""
    return folder.path / "data" / "dev.jsonl"


def _save_dev(folder: RunFolder, pairs: Sequence[Pair]) -> None:
    path = _dev_text(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_lines(
        path, (json.dumps({"source": pair.source, "target": pair.target}, ensure_ascii=False) for pair in pairs)
    )


# Training ------------------------------------------------------------------------------------------------------------


def _train(
    config: Config, folder: RunFolder, prepared: PreparedCorpus, device: DeviceName, console: Console, *, resume: bool
) -> TrainedRun:
    if config.training.guided_alignment and prepared.store.links is None:
        raise RunError(
            f"{folder.train_data}: the stored corpus has no links for training.guided_alignment; train again with "
            "--overwrite and --alignments"
        )
    place = choose_device(device)
    seed_weights(config.training.seed)
    model = build(config.model, len(prepared.source.vocabulary), len(prepared.target.vocabulary)).to(place)
    config = settle_precision(config, override, model, folder, console)
    model.set_precision(choose_precision(config.training.precision, place))
    console.info(f"model: {parameters(model):,} parameters; {place_name(place, model.precision)}")
    dev = list(read_pairs([[_dev_text(folder)]]))
    summary = train_model(
        model,
        _batches(config, prepared.store),
        config.training,
        folder,
        _validators(config, dev, Store.open(folder.dev_data), prepared),
        resume=resume,
        console=console,
    )
    write_run_report(open_run(folder.path, device=device), dev)
    return TrainedRun(folder, summary)


def _batches(config: Config, store: Store) -> Batches:
    batch = config.training.batch
    return Batches(
        store,
        Budget(batch.unit, batch.size),
        pool=batch.pool,
        seed=config.training.seed,
        source_eos=config.model.source_eos,
        sort=batch.sort,
    )


def _validators(
    config: Config, dev: Sequence[Pair], store: Store, prepared: PreparedCorpus
) -> Validators[TranslationModel]:
    """What the loop asks about the dev set: its perplexity, and how good real beam output is."""

    def measure_perplexity(model: TranslationModel) -> float:
        with model.full_precision():
            return perplexity(model, sorted_batches(store, DEV_BUDGET, source_eos=config.model.source_eos))

    def translate(model: TranslationModel) -> DevTranslations:
        search = config.search.replaced(beam=config.training.validation.beam)
        translator = Translator(TorchEngine(model), prepared.source, prepared.target, search)
        wanted = dev[: config.training.validation.sentences or None]
        with model.full_precision():
            best = [n_best[0] for n_best in translator.translate_lines(pair.source for pair in wanted)]
        hypotheses, references = [translation.text for translation in best], [pair.target for pair in wanted]
        scores = {"bleu": bleu(hypotheses, references), "chrf": chrf(hypotheses, references)}
        return DevTranslations(hypotheses, references, scores, sum(not translation.finished for translation in best))

    only_perplexity = config.training.validation.metric == "perplexity"
    return Validators(measure_perplexity, None if only_perplexity else translate)


def _require_resumable(saved: Config, wanted: Config) -> None:
    for key, before, now in _differences(saved.values(), wanted.values(), ""):
        if key not in MAY_CHANGE:
            raise ConfigError(
                f"--resume: {key} is {now} here but {before} in the run; a resumed training may change only "
                f"{', '.join(MAY_CHANGE)}. Leave the option out, or start anew with --overwrite"
            )


def _differences(saved: dict[str, Any], wanted: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any, Any]]:
    for name, before in saved.items():
        now, key = wanted[name], f"{prefix}{name}"
        if isinstance(before, dict):
            yield from _differences(before, now, f"{key}.")
        elif before != now:
            yield key, before, now
