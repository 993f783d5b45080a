"""Steps that are common to the training of translation models and of language models."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from dragoman.config.schema import ChangesConfig, TrainingConfig
from dragoman.config.section import Section, differences
from dragoman.data.batches import Batches, Budget, sorted_batches
from dragoman.data.changed_pairs import PairChanges
from dragoman.data.mixing import Mix, choose_mix
from dragoman.data.store import Store
from dragoman.errors import ConfigError, InputError
from dragoman.model.devices import choose_precision, device_name
from dragoman.model.trainable import Trainable
from dragoman.model.weights import parameter_count
from dragoman.progress import Console
from dragoman.runs.layout import RunFolder
from dragoman.text.lines import not_found
from dragoman.text.side import TextSide
from dragoman.training.forecast import SmallerModel, Workload
from dragoman.training.validation import perplexity
from dragoman.workflows.settling import Configured, settle_precision

DEV_BUDGET = Budget("tokens", 2048)
"""Batch size for the perplexity of the dev set: without gradients, larger batches than in training fit into memory."""

MAY_CHANGE = (
    "training.epochs",
    "training.updates",
    "training.minutes",
    "training.validation.patience",
    "training.log_every",
    "training.checkpoint_minutes",
)
"""The keys that a resumed training may change: how long it takes, and how often it logs and saves."""


def require_regular_files(paths: Iterable[Path]) -> None:
    """Refuse anything but regular files, before any work is done: training reads its text more than once.

    Raises:
        InputError: a path does not exist, or is a folder, a pipe or the like.
    """
    for path in paths:
        if not path.exists():
            raise not_found(path)
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path}: is not a file; training reads its text more than once, so give a file")


def require_resumable(saved: Section, wanted: Section) -> None:
    """Refuse to resume with a configuration that differs from the run's in anything but `MAY_CHANGE`.

    Raises:
        ConfigError: another key has another value.
    """
    for key, before, now in differences(saved, wanted):
        if key not in MAY_CHANGE:
            raise ConfigError(
                f"--resume: {key} is {now} here but {before} in the run; a resumed training may change only "
                f"{', '.join(MAY_CHANGE)}. Leave the option out, or start anew with --overwrite"
            )


def dropped_counts(left_out: Mapping[str, int]) -> str:
    """The number of lines that cleaning left out, with the reasons."""
    listed = ", ".join(f"{reason} {count:,}" for reason, count in left_out.items() if count)
    return f"dropped {sum(left_out.values()):,}{f' ({listed})' if listed else ''}"


def prepare_model(model: Trainable, config: Configured, folder: RunFolder, console: Console) -> Configured:
    """Set the precision of a new model, and print its size.

    Returns:
        the configuration with the precision that `auto` stands for here.
    """
    config = settle_precision(config, model, folder, console)
    model.set_precision(choose_precision(config.training.precision, model.device))
    console.info(f"model: {parameter_count(model):,} parameters; {device_name(model.device, model.precision)}")
    return config


def training_batches(
    config: TrainingConfig,
    store: Store,
    sides: tuple[TextSide, TextSide] | None = None,
    *,
    source_eos: bool,
) -> Batches:
    """The training batches as the configuration describes them; the sides are for `training.changes`.

    Raises:
        ConfigError: its mix does not fit the stored corpora.
    """
    batch = config.batch
    changes = (
        None if sides is None or config.changes == ChangesConfig() else PairChanges(config.changes, *sides, config.seed)
    )
    return Batches(
        store,
        Budget(batch.unit, batch.size),
        pool=batch.pool,
        seed=config.seed,
        source_eos=source_eos,
        sort=batch.sort,
        mix=choose_mix(config.mix, store.corpora),
        changes=changes,
    )


def target_workload(
    store: Store, mix: Mix | None, parameters: int, smaller: Mapping[float, SmallerModel] = MappingProxyType({})
) -> Workload:
    """The work of an epoch on a stored corpus for a model with so many parameters."""
    tokens = len(store.target.ids) + len(store) if mix is None else mix.tokens(store.target)
    return Workload(tokens, parameters, smaller)


def dev_perplexity(dev: Store, *, source_eos: bool) -> Callable[[Trainable], float]:
    """A function that measures the perplexity of a model on the dev set, in the precision of a finished model."""

    def measure(model: Trainable) -> float:
        with model.full_precision():
            return perplexity(model, sorted_batches(dev, DEV_BUDGET, source_eos=source_eos))

    return measure
