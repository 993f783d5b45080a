"""Checkpoints of other toolkits, unpickled without running code."""

from __future__ import annotations

import pickle
import re
import warnings
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from dragoman.errors import InputError
from dragoman.stored_files import read_regular, require_regular
from dragoman.text.lines import not_found

_REFUSED = re.compile(r"unsupported (?:global: )?GLOBAL ([\w.]+)", re.IGNORECASE)
"""The name of the refused object in torch's error message."""


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Load a checkpoint with its tensors on the CPU.

    A pickle is a program. Only tensors, plain Python values and `argparse.Namespace` (attributes only: the options of
    OpenNMT-py) are constructed; a file that refers to anything else is refused.

    Raises:
        InputError: the file cannot be read, is not a checkpoint, or refers to another object, which is named.
    """
    if not path.exists():
        raise not_found(path)
    try:
        with torch.serialization.safe_globals([Namespace]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns about pickles that it did not write
            require_regular(path)
            checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        refused = _REFUSED.search(str(error))
        if refused is None:
            raise InputError(f"{path}: is no checkpoint, or damaged") from None
        raise InputError(
            f"{path}: refused: it refers to {refused[1]}, which is neither a tensor nor a plain value; "
            "loading it could run code"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot read the checkpoint: {error.strerror}") from None
    except (RuntimeError, EOFError, ValueError, KeyError, IndexError, TypeError, AttributeError, UnicodeDecodeError):
        # raised by torch for truncated files and files that are no pickles
        raise InputError(f"{path}: is no checkpoint, or damaged") from None
    if not isinstance(checkpoint, dict):
        raise InputError(f"{path}: holds {type(checkpoint).__name__}, not a checkpoint of a translation model")
    return checkpoint


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """Load the tensors of a safetensors file of another toolkit onto the CPU.

    Raises:
        InputError: the file cannot be read or is damaged.
    """
    try:
        return load(read_regular(path))
    except OSError as error:
        raise InputError(f"{path}: cannot read the weights: {error.strerror}") from None
    except (SafetensorError, ValueError, KeyError) as error:
        raise InputError(f"{path}: is damaged ({error})") from None


class CheckpointTensors:
    """The tensors of a checkpoint by their names in the toolkit; it records the ones that are taken."""

    def __init__(self, tensors: Mapping[str, Tensor], path: Path) -> None:
        self._tensors, self._path = tensors, path
        self._taken: set[str] = set()

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def take(self, name: str) -> Tensor:
        """Take a tensor in single precision, and mark it as taken.

        Raises:
            InputError: the checkpoint has no tensor of that name.
        """
        if name not in self._tensors:
            raise InputError(
                f"{self._path}: has no tensor {name!r}; it is no recurrent translation model with attention"
            )
        self._taken.add(name)
        return self._tensors[name].float()

    def require_all_taken(self) -> None:
        """Check that every tensor was taken: no parameter is lost.

        Raises:
            InputError: some tensors were not taken.
        """
        rest = sorted(self._tensors.keys() - self._taken)
        if rest:
            raise InputError(f"{self._path}: has parameters that cannot be imported: {', '.join(rest)}")
