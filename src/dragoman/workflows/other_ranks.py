"""Training a translation model on several ranks: what rank 0 publishes, and what the other ranks do.

Rank 0 prepares the run, and the others wait. They open the stored corpus in the folder that rank 0 wrote, or in their
own copy of it on a machine that does not share a disk with it, and get everything else from rank 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from dragoman.config.building import build_config
from dragoman.config.schema import Config
from dragoman.data.store import META, Store
from dragoman.errors import DragomanError
from dragoman.model.assembly import build
from dragoman.model.devices import choose_device, choose_precision
from dragoman.runs.layout import RunFolder
from dragoman.stored_files import sha256_of
from dragoman.systems import DeviceName
from dragoman.training.joining import joined_ranks
from dragoman.training.loop import TrainingResult, follow
from dragoman.training.ranks import Ranks
from dragoman.workflows.training_steps import training_batches

_PREPARED = "the prepared run"


def joined_for_training(minutes: float, device: DeviceName, config: Config | None) -> AbstractContextManager[Ranks]:
    """Join the other ranks, which must have the same configuration; None for a resumed run, whose own one counts.

    Raises: as for `joined_ranks`.
    """
    facts = {} if config is None else _flat(config.values())
    remedy = "give all ranks the same configuration"
    return joined_ranks(minutes, gpu=choose_device(device).type == "cuda", facts=facts, remedy=remedy)


def publish_run(ranks: Ranks, config: Config, folder: RunFolder) -> None:
    """Publish the settled configuration, and which text is stored in a run, once the run is in its place."""
    if ranks.size > 1:
        ranks.publish(_PREPARED, [config.values(), _text(folder)])


def follow_training(
    out: str | Path, device: DeviceName, ranks: Ranks, threads: int | None
) -> tuple[RunFolder, TrainingResult]:
    """Train on a rank other than 0, once rank 0 has prepared the run or resumed it.

    Args:
        threads: None for the library's own number, or in a training that is resumed for that of rank 0.

    Raises:
        RunError: the folder `out` is not there on this machine, or not the run of rank 0.
        OtherRankError, TrainingError: as for `loop.follow`.
    """
    values, text = ranks.wait_for(_PREPARED)
    config = build_config(values, "rank 0")
    try:
        folder = RunFolder.existing(out)
        source, target = folder.source_side(), folder.target_side()
        store = Store.open(folder.train_data, (source.vocabulary, target.vocabulary))
    except DragomanError as error:
        error.add_note(f"this is {ranks.name()}: every rank needs the folder of the run, or a copy of it")
        raise
    remedy = f"give {out} on this machine as rank 0 has it: the same folder, or a new copy of it"
    ranks.require_equal(text, _text(folder), remedy)
    model = build(config.model, len(source.vocabulary), len(target.vocabulary)).to(choose_device(device))
    model.set_precision(choose_precision(config.training.precision, model.device))
    batches = training_batches(config.training, store, (source, target), source_eos=config.model.source_eos)
    return folder, follow(model, batches, config.training, ranks, threads)


def _text(folder: RunFolder) -> dict[str, str]:
    """The digest of the description of a stored corpus, which has the digests of vocabularies and ids."""
    return {"the stored text (SHA-256 of data/train/meta.json)": sha256_of(folder.train_data / META)}


def _flat(values: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return flat
