"""Device, threads, precision and seed of a model's computations."""

from __future__ import annotations

from typing import Literal

import torch

from dragoman.errors import ConfigError
from dragoman.systems import DeviceName, machine_memory


def choose_device(name: DeviceName) -> torch.device:
    """The device of that name; `auto` is the GPU if there is one.

    Raises:
        ConfigError: a GPU is requested but not available.
    """
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise ConfigError("--device cuda: no CUDA device is available here; use --device cpu or leave the option out")
    return torch.device("cuda" if available and name != "cpu" else "cpu")


def device_memory(device: torch.device) -> int:
    """Bytes of memory of a device; for the CPU, those that this process can have."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    return machine_memory()


def set_threads(threads: int | None) -> None:
    """Set the number of CPU threads of matrix products; None keeps the default, one per core."""
    if threads is not None:
        torch.set_num_threads(threads)


def threads_in_use() -> int:
    """The number of CPU threads of matrix products."""
    return torch.get_num_threads()


def choose_precision(precision: Literal["fp32", "bf16", "auto"], device: torch.device) -> torch.dtype | None:
    """The type of matrix products, None for the type of the parameters; `auto` is bfloat16 on hardware that supports
    it."""
    if precision == "auto":
        precision = "bf16" if _has_fast_bfloat16(device) else "fp32"
    return torch.bfloat16 if precision == "bf16" else None


def seed_weights(seed: int) -> None:
    """Seed the initialisation of parameters, so that those that `build` draws next depend on `seed` alone."""
    torch.manual_seed(seed)


def device_name(device: torch.device, precision: torch.dtype | None) -> str:
    """The device and the precision in words, for logs."""
    products = "bfloat16" if precision == torch.bfloat16 else "float32"
    count = threads_in_use()
    threads = f", {count} thread{'' if count == 1 else 's'}" if device.type == "cpu" else ""
    return f"{products} products on {device.type}{threads}"


def _has_fast_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    # Without AVX512-BF16 or AMX (both have that flag) bfloat16 is emulated, and several times slower.
    return bool(torch.cpu.get_capabilities().get("avx512_bf16", False))
