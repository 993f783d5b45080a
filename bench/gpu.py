"""Training speed and correctness on one GPU, in less than ten minutes.

    python bench/gpu.py
    python bench/gpu.py --device cpu --updates 2 --batches 2 --models B     (a trial run without a GPU)

No data are needed: token ids are random, with lengths like those of real text. The models are

    B, L            the models of bench/training.py: 512 units, vocabulary 10,000, batches of 64 sentences
    bahdanau2015    RNNsearch in full size (1000 units, embeddings 620, vocabulary 30,000), 80 sentences
    luong2015       four layers of 1000 units, vocabulary 50,000, input feeding, 128 sentences
    standard-N      the preset `standard`, vocabulary 8,000, batches of N tokens
    sutskever2014   the size of the paper, 384 million parameters, 128 sentences; too large to be compared with the CPU

in float32 and bfloat16. Measured are real target tokens per second of whole updates, peak memory, the share of the
fastest measured matrix product, and the share of time that the device spends in kernels instead of waiting for
launches. Correctness is the difference of loss and gradients of one batch from the CPU's, in float64 with the same
weights. Results go to bench/results/gpu.json, after each model.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from counting import product_counter
from peers import dragoman_values
from torch.profiler import ProfilerActivity, profile

from dragoman.config.building import build_config
from dragoman.config.presets import load_preset
from dragoman.config.schema import Config
from dragoman.data.batches import Batch, Budget, batch_ids
from dragoman.model.assembly import build
from dragoman.model.translation import TranslationModel
from dragoman.report.facts import machine_name
from dragoman.training.objective import TrainingObjective, accumulate_gradients
from dragoman.training.optimisers import build_optimiser, clip_gradients

RESULTS = Path(__file__).parent / "results" / "gpu.json"
WARM_UP = 5
SPECIALS = 4
MODELS: dict[str, tuple[Callable[[], Config], tuple[int, int], Budget]] = {
    **{
        f"standard-{size}": (lambda: load_preset("standard"), (8_000, 8_000), Budget("tokens", size))
        for size in (1_500, 8_000, 32_000)
    },
    "B": (lambda: build_config(dragoman_values("B"), "B"), (10_000, 10_000), Budget("sentences", 64)),
    "L": (lambda: build_config(dragoman_values("L"), "L"), (10_000, 10_000), Budget("sentences", 64)),
    "bahdanau2015": (lambda: load_preset("bahdanau2015"), (30_000, 30_000), Budget("sentences", 80)),
    "luong2015": (lambda: load_preset("luong2015-local-p-general"), (50_000, 50_000), Budget("sentences", 128)),
    "sutskever2014": (lambda: load_preset("sutskever2014"), (160_000, 80_000), Budget("sentences", 128)),
}
"""Configuration, vocabulary sizes of source and target, size of a batch."""
TOO_LARGE = ("sutskever2014",)
"""Models that are not compared with the CPU."""
WORDS = 22
"""Mean length of the random sentences."""
PRECISIONS = {"fp32": None, "bf16": torch.bfloat16}


def main() -> None:
    """Measure everything, print, write."""
    options = parse()
    device = torch.device(options.device)
    peaks = {name: product_peak(device, precision or torch.float32) for name, precision in PRECISIONS.items()}
    result: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": torch.cuda.get_device_name() if device.type == "cuda" else machine_name(),
        "torch": torch.__version__,
        "product_peaks_tflops": peaks,
        "models": {},
    }
    for name in options.models:
        configured, vocabularies, budget = MODELS[name]
        config = configured()
        batches = draw_batches(vocabularies, budget, options.batches, source_eos=config.model.source_eos)
        rows: dict[str, Any] = {}
        if name not in TOO_LARGE:
            rows["against_cpu"] = against_cpu(config, vocabularies, batches[0], device)
        for precision, peak in peaks.items():
            row = speed(config, vocabularies, batches, precision, options.updates, device)
            rate = row["target_tokens_per_second"] * row["megaflops_per_target_token"] / 1e6
            rows[precision] = {**row, "share_of_product_peak": rate / peak}
        result["models"][name] = rows
        print(name, json.dumps(rows, indent=1), flush=True)
        if device.type == "cuda":
            RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--device", default="cuda", choices=("cuda", "cpu"), help="device; results are written for cuda only"
    )
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument(
        "--updates", type=int, default=60, help="timed updates in each precision (default: %(default)s)"
    )
    parser.add_argument(
        "--batches", type=int, default=20, help="number of different batches, used in turn (default: %(default)s)"
    )
    return parser.parse_args()


def draw_batches(vocabularies: tuple[int, int], budget: Budget, count: int, *, source_eos: bool) -> list[Batch]:
    """Random batches of sentences of 5 to 50 words, about `WORDS` on average, with similar lengths on both sides,
    sorted as in training."""
    rng = np.random.default_rng(0)
    sentences = budget.size if budget.unit == "sentences" else budget.size // WORDS
    lengths = np.clip(rng.lognormal(3.0, 0.5, 20 * count * sentences), 5, 50).astype(int)
    others = np.clip(lengths * rng.normal(1.0, 0.1, len(lengths)), 5, 50).astype(int)

    def drawn(counts: np.ndarray, vocabulary: int) -> list[list[int]]:
        return [rng.integers(SPECIALS, vocabulary, length).tolist() for length in counts]

    sides = (drawn(counts, size) for counts, size in zip((lengths, others), vocabularies, strict=True))
    cut = list(batch_ids(*sides, budget, source_eos=source_eos))
    return cut[10::20]


def product_peak(device: torch.device, precision: torch.dtype) -> float:
    """TFLOP/s of the product of two large matrices."""
    size = 8192 if device.type == "cuda" else 1024
    x = torch.randn(size, size, device=device).to(precision)
    return 2 * size**3 / seconds_of(lambda: torch.mm(x, x), 10, device) / 1e12


def speed(
    config: Config,
    vocabularies: tuple[int, int],
    batches: list[Batch],
    precision: str,
    updates: int,
    device: torch.device,
) -> dict[str, float]:
    """Speed of whole updates: loss, gradients, clipping and optimiser step."""
    model = build(config.model, *vocabularies).to(device).train()
    model.set_precision(PRECISIONS[precision])
    parameters = list(model.parameters())
    optimiser = build_optimiser(parameters, config.training.optimiser)
    turn = itertools.cycle(batches)

    def update() -> int:
        totals = accumulate_gradients(model, [next(turn)], TrainingObjective())
        clip_gradients(parameters, config.training.optimiser.max_gradient_norm)
        optimiser.step()
        optimiser.clear_gradients()
        return totals.tokens

    # Every shape once, to compile kernels and allocate memory.
    for _ in range(max(WARM_UP, len(batches))):
        update()
    synchronise(device)
    began = time.perf_counter()
    tokens = sum(update() for _ in range(updates))
    synchronise(device)
    seconds = time.perf_counter() - began
    row = {
        "target_tokens_per_second": tokens / seconds,
        "milliseconds_an_update": 1000 * seconds / updates,
        "megaflops_per_target_token": statistics.mean(megaflops(model, batch) for batch in batches[:5]),
    }
    if device.type == "cuda":
        row["peak_memory_gb"] = torch.cuda.max_memory_allocated() / 2**30
        row["share_of_time_in_kernels"] = share_in_kernels(update)
        torch.cuda.reset_peak_memory_stats()
    return row


def share_in_kernels(update: Callable[[], int]) -> float:
    """Share of the time of five updates that the device spends in kernels."""
    synchronise(device := torch.device("cuda"))
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        began = time.perf_counter()
        for _ in range(5):
            update()
        synchronise(device)
        seconds = time.perf_counter() - began
    return sum(event.self_device_time_total for event in profiled.key_averages()) / 1e6 / seconds


def megaflops(model: TranslationModel, batch: Batch) -> float:
    """Megaflops of matrix products, forward and backward, per real target token."""
    counter = product_counter()
    with counter:
        loss = model.loss(batch)
        loss.objective.backward()
    model.zero_grad()
    return counter.get_total_flops() / loss.tokens / 1e6


def against_cpu(config: Config, vocabularies: tuple[int, int], batch: Batch, device: torch.device) -> dict[str, float]:
    """Relative difference of the loss from the CPU, and the largest one of the gradients; without dropout."""
    torch.manual_seed(1)
    here = build(config.model, *vocabularies).double().eval()
    there = build(config.model, *vocabularies).double().eval()
    there.load_state_dict(here.state_dict())
    there.to(device)
    return differences(
        loss_with_gradients(here, batch), here.parameters(), loss_with_gradients(there, batch), there.parameters()
    )


def loss_with_gradients(model: TranslationModel, batch: Batch) -> torch.Tensor:
    """Compute the loss, detached, and leave its gradients in the parameters."""
    model.zero_grad()
    loss = model.loss(batch).objective
    loss.backward()
    return loss.detach()


def differences(
    loss: torch.Tensor,
    parameters: Iterable[torch.Tensor],
    other_loss: torch.Tensor,
    other_parameters: Iterable[torch.Tensor],
) -> dict[str, float]:
    """Relative difference of the losses, and the largest one of all parameters' gradients."""
    worst = max(
        float((q.grad.to(p.device) - p.grad).norm() / p.grad.norm().clamp(min=1e-30))
        for p, q in zip(parameters, other_parameters, strict=True)
        if p.grad is not None and q.grad is not None
    )
    return {"loss": abs(1 - other_loss.item() / loss.item()), "gradients": worst}


def seconds_of(call: Callable[[], object], times: int, device: torch.device) -> float:
    """Mean seconds of a call, after one warm-up call."""
    call()
    synchronise(device)
    began = time.perf_counter()
    for _ in range(times):
        call()
    synchronise(device)
    return (time.perf_counter() - began) / times


def synchronise(device: torch.device) -> None:
    """Wait until the device has finished all work."""
    if device.type == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
