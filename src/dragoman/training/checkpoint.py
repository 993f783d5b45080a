"""The training state on disk, from which a run resumes as if it had never stopped.

It is one safetensors file: weights, their running average, the states of the optimiser and of the random generators as
tensors, and the rest (position, counters, best result) as JSON in the header. Loading it cannot run code. The file is
replaced as a whole, so there is one consistent state whenever the process dies: the last one or the one before.

The file has a digest, because it may have the right length and wrong bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from msgspec import Struct
from safetensors import SafetensorError, safe_open
from torch import Tensor

from dragoman.errors import RunError, reason_of
from dragoman.model.weights import require_intact, write_tensors
from dragoman.stored_files import decode_json, require_regular
from dragoman.text.lines import replace_file
from dragoman.text.temporary import writing

FORMAT = 3
"""Version of the file; a reader refuses any other."""


class _Header(Struct):
    format: int
    values: dict[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """A training state as it is stored."""

    values: dict[str, Any]
    """Everything but tensors: numbers, strings, and lists and mappings of them."""
    tensors: dict[str, Tensor]
    """Names begin with their part: `weights.`, `average.`, `optimiser.`, `random.`."""

    def part(self, name: str) -> dict[str, Tensor]:
        """The tensors of one part, their names without it."""
        prefix = f"{name}."
        return {key.removeprefix(prefix): value for key, value in self.tensors.items() if key.startswith(prefix)}


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Save a training state in place of the last one.

    Raises:
        InputError: it cannot be written, for example because the disk is full; the last one is unchanged.
    """
    with writing(path.parent, "cannot be created"):
        path.parent.mkdir(parents=True, exist_ok=True)
    header = {"format": FORMAT, "values": checkpoint.values}
    with replace_file(path, binary=True) as file:
        write_tensors(file, checkpoint.tensors, {"dragoman": json.dumps(header)})


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a training state.

    Raises:
        RunError: there is none, it is damaged, or it has another format.
    """
    if not path.exists():
        raise RunError(f"{path}: there is no training state to resume from; start the run again without --resume")
    try:
        require_regular(path)
        with safe_open(path, framework="pt") as file:
            header = decode_json((file.metadata() or {})["dragoman"], _Header)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        version, values = header.format, header.values
    except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:
        raise _damaged(path, error) from None
    if version > FORMAT:
        raise RunError(
            f"{path}: training state format {version} is newer than this version of dragoman reads "
            f"({FORMAT}); upgrade dragoman"
        )
    if version < FORMAT:
        raise RunError(
            f"{path}: training state format {version} is of an older version of dragoman, and this one reads format "
            f"{FORMAT}; finish the training with that version, or train again with --overwrite"
        )
    try:
        require_intact(path)
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from None
    return Checkpoint(values, tensors)


@torch.no_grad()
def restore_tensors(tensors: Mapping[str, Tensor], saved: Mapping[str, Tensor], path: Path) -> None:
    """Copy saved tensors into the tensors of the same name.

    Raises:
        RunError: the names or shapes differ from those of this model.
    """
    for name in sorted(tensors.keys() | saved.keys()):
        here, there = tensors.get(name), saved.get(name)
        if here is None or there is None or here.shape != there.shape:
            shapes = ["no tensor" if tensor is None else str(list(tensor.shape)) for tensor in (there, here)]
            raise RunError(
                f"{path}: the training state is of another model: {name!r} is {shapes[0]} there and {shapes[1]} in the "
                "configured model; resume with the configuration the run began with"
            )
        here.copy_(there)


def random_state(device: torch.device) -> dict[str, Tensor]:
    """The states of the random generators, which dropout uses."""
    state = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state


def restore_random_state(state: Mapping[str, Tensor], device: torch.device) -> None:
    """Restore the random generators; the GPU's stays as it is if the saved run had none."""
    torch.set_rng_state(state["cpu"])
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)


def _damaged(path: Path, error: Exception) -> RunError:
    return RunError(
        f"{path}: the training state is damaged ({reason_of(error)}); put a good copy in its place, or train again "
        "with --overwrite (the best weights so far, model.safetensors, are a file of their own)"
    )
