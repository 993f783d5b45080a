"""Checkpoints of other toolkits: pickles, of which nothing is run."""

from __future__ import annotations

import pickle
import re
import warnings
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dragoman.errors import InputError
from dragoman.text.lines import not_found

_REFUSED = re.compile(r"unsupported (?:global: )?GLOBAL ([\w.]+)", re.IGNORECASE)
"""Where the library's complaint names what the pickle asked for."""


def read_checkpoint(path: Path) -> dict[str, Any]:
    """What lies in a checkpoint, its tensors on the CPU.

    A pickle is a program. Only what builds tensors, plain Python values and `argparse.Namespace` (attributes and
    nothing else: the options of OpenNMT-py) is carried out; a file that asks for anything more is refused unread.

    Raises:
        InputError: the file cannot be read, is no checkpoint, or asks for something else, which is named.
    """
    if not path.exists():
        raise not_found(path)
    try:
        with torch.serialization.safe_globals([Namespace]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about pickles that torch did not write
            checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        found = _REFUSED.search(str(error))
        if found is None:
            raise InputError(f"{path}: is no checkpoint, or damaged") from None
        raise InputError(
            f"{path}: refused: it asks for {found[1]}, which is neither a tensor nor a plain value; "
            "loading it could run code"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot read the checkpoint: {error.strerror}") from None
    except (RuntimeError, EOFError, ValueError, KeyError, IndexError, TypeError, AttributeError, UnicodeDecodeError):
        # what a file that is no pickle, or half of one, makes the library stumble over
        raise InputError(f"{path}: is no checkpoint, or damaged") from None
    if not isinstance(checkpoint, dict):
        raise InputError(f"{path}: holds {type(checkpoint).__name__}, not a checkpoint of a translation model")
    return checkpoint


class CheckpointTensors:
    """The tensors of a model by their names in the toolkit; each is asked for, and none may be left over."""

    def __init__(self, tensors: Mapping[str, Tensor], path: Path) -> None:
        self._tensors, self._path = tensors, path
        self._taken: set[str] = set()

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def take(self, name: str) -> Tensor:
        """A tensor in single precision.

        Raises:
            InputError: there is none of that name.
        """
        if name not in self._tensors:
            raise InputError(
                f"{self._path}: has no tensor {name!r}; it is no recurrent translation model with attention"
            )
        self._taken.add(name)
        return self._tensors[name].float()

    def require_all_taken(self) -> None:
        """Refuse a model that has more than was asked for: something of it would be lost.

        Raises:
            InputError: tensors are left over.
        """
        rest = sorted(self._tensors.keys() - self._taken)
        if rest:
            raise InputError(f"{self._path}: holds what has no place here: {', '.join(rest)}")
