"""Weights on disk in the safetensors format, which contains tensors and their names but no code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from dragoman.errors import RunError
from dragoman.model.tensor_file import require_intact, write_tensors
from dragoman.stored_files import read_regular
from dragoman.text.lines import replace_file
from dragoman.text.vocabulary import SPECIALS


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """All parameters by name, detached; a tied matrix is listed once."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def save_weights(path: Path, weights: Mapping[str, Tensor]) -> None:
    """Write weights atomically: a reader sees the old file or the new one.

    Raises:
        InputError: the file cannot be written.
    """
    with replace_file(path, binary=True) as file:
        write_tensors(file, weights)


def load_weights(path: Path) -> dict[str, Tensor]:
    """Read weights onto the CPU.

    Raises:
        RunError: the file is missing, cannot be read, or is damaged.
    """
    try:
        require_intact(path)
        return load(read_regular(path))
    except OSError as error:
        raise RunError(f"{path}: cannot read the weights: {error.strerror}") from None
    except (SafetensorError, ValueError, KeyError) as error:
        raise RunError(
            f"{path}: the weights are damaged ({error}); restore the file, or go on from the last saved "
            "state with `dragoman train --resume`"
        ) from None


def packed_weights(weights: Mapping[str, Tensor]) -> bytes:
    """Weights for another process."""
    return save({name: weight.cpu().contiguous() for name, weight in weights.items()})


def unpacked_weights(content: bytes) -> dict[str, Tensor]:
    """What `packed_weights` was given, on the CPU."""
    return load(content)


def restore_weights(model: nn.Module, weights: Mapping[str, Tensor], path: Path) -> None:
    """Copy weights into a model.

    Raises:
        RunError: they do not fit the model: a name is missing or unknown, or a shape differs.
    """
    parameters = dict(model.named_parameters())
    for name in sorted(parameters.keys() | weights.keys()):
        if name not in weights:
            raise RunError(f"{path}: the weights lack {name!r}; they do not belong to this run's config.yaml")
        if name not in parameters:
            raise RunError(f"{path}: the model has no {name!r}; the weights do not belong to this run's config.yaml")
        if parameters[name].shape != weights[name].shape:
            raise RunError(
                f"{path}: {name!r} is {list(weights[name].shape)} where config.yaml and vocabularies make it "
                f"{list(parameters[name].shape)}; the weights do not belong to this run"
            )
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])


_ROWS_OF_WORDS = {"source.weight": 0, "target.weight": 1, "output.weight": 1, "output.bias": 1}
"""The tensors of a translation model with a row for each word of a vocabulary: 0 of the source, 1 of the target."""


def extended_rows(
    weights: Mapping[str, Tensor], parts: tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]]
) -> dict[str, Tensor]:
    """Weights of a translation model whose vocabularies have grown: the row of a new word is the mean of other rows.

    Args:
        weights: by name, as `load_weights` gives them.
        parts: of source and target, for each new word the ids of the words whose mean it takes; none for all words but
            the special ones.
    """
    extended = dict(weights)
    for name, side in _ROWS_OF_WORDS.items():
        if name in weights and parts[side]:
            rows = weights[name]
            every = rows[len(SPECIALS) :].mean(dim=0)
            new = [rows[list(ids)].mean(dim=0) if ids else every for ids in parts[side]]
            extended[name] = torch.cat((rows, torch.stack(new)))  # [V, ...] -> [V + new, ...]
    return extended
