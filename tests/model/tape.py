"""What a CUDA graph does, without a GPU: operations recorded with their tensors, and done again in the same memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

Result = TypeVar("Result")


class Tapes:
    """Records operations and nothing else: what Python decides in between stays as it was in the recording."""

    def __init__(self) -> None:
        self.recorded = self.replayed = 0

    def warm_up(self, work: Callable[[], object]) -> None:
        with torch.random.fork_rng():
            work()

    def record(self, work: Callable[[], Result]) -> tuple[Callable[[], None], Result]:
        with torch.random.fork_rng(), _Tape() as tape:  # a graph that is recorded has not drawn any numbers yet
            result = work()
        self.recorded += 1

        def replay() -> None:
            self.replayed += 1
            tape.replay()

        return replay, result


class _Tape(TorchDispatchMode):
    """Below automatic differentiation: the operations of a way back are recorded too."""

    def __init__(self) -> None:
        super().__init__()
        self._operations: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self._operations.append((func, args, kwargs or {}, result))
        return result

    def replay(self) -> None:
        """Every operation once more on its tensors, its result where it was."""
        for func, args, kwargs, result in self._operations:
            for old, new in zip(_tensors(result), _tensors(func(*args, **kwargs)), strict=True):
                if old.numel() and old.data_ptr() != new.data_ptr():  # else a view, or what was changed in place
                    old.copy_(new)


def _tensors(result: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
