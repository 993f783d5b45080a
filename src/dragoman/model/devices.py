"""Where the model computes, with how many threads, in which precision, and from which random numbers it starts."""

from __future__ import annotations

import ctypes
import sys
from typing import Literal

import torch

from dragoman.errors import ConfigError

DeviceName = Literal["auto", "cpu", "cuda"]

_TRIM_THRESHOLD, _MMAP_THRESHOLD = (-1, 2**31 - 1), (-3, 2**25)
"""glibc's `mallopt` (parameter, value): free memory at the end of the heap that is kept, any amount; the size from
which on a piece is the system's own affair, the largest that can be set."""


def choose_device(name: DeviceName) -> torch.device:
    """The device of that name; `auto` is the GPU if there is one.

    Raises:
        ConfigError: a GPU is asked for and there is none.
    """
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise ConfigError("--device cuda: no CUDA device is available here; use --device cpu or leave the option out")
    return torch.device("cuda" if available and name != "cpu" else "cpu")


def set_threads(threads: int | None) -> None:
    """Processor threads for this process's matrix products; None leaves one a core."""
    if threads is not None:
        torch.set_num_threads(threads)


def keep_freed_memory() -> None:
    """Let the C library keep what is freed for what is asked for next, as far as it can be told to (glibc).

    Every update of training frees and takes the same large tensors. Left to itself the library gives their memory back
    to the system, and the system's fresh pages cost up to a tenth of an update.
    """
    if sys.platform == "linux" and (tell := getattr(ctypes.CDLL(None), "mallopt", None)):
        tell(*_TRIM_THRESHOLD)
        tell(*_MMAP_THRESHOLD)


def choose_precision(precision: Literal["fp32", "bf16", "auto"], device: torch.device) -> torch.dtype | None:
    """The type of matrix products, None for the parameters' own; `auto` is bfloat16 where the hardware has it."""
    if precision == "auto":
        precision = "bf16" if _has_fast_bfloat16(device) else "fp32"
    return torch.bfloat16 if precision == "bf16" else None


def seed_weights(seed: int) -> None:
    """Make the weights that are drawn next, by `build`, follow from `seed` alone."""
    torch.manual_seed(seed)


def place_name(device: torch.device, precision: torch.dtype | None) -> str:
    """The place and the precision in words."""
    products = "bfloat16" if precision == torch.bfloat16 else "float32"
    threads = f", {torch.get_num_threads()} threads" if device.type == "cpu" else ""
    return f"{products} products on {device.type}{threads}"


def _has_fast_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    # Without AVX512-BF16 or AMX (both have that flag) bfloat16 is emulated, and several times slower.
    return bool(torch.cpu.get_capabilities().get("avx512_bf16", False))
