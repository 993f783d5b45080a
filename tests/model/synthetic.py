"""Copy, reverse and sort: strings of symbols that tiny models learn in seconds, and how well they have."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

import numpy as np
import torch

from dragoman.config.building import override
from dragoman.config.schema import Config, OptimiserConfig, SearchConfig
from dragoman.data.batches import Batch
from dragoman.engines.torch_engine import TorchEngine
from dragoman.model.assembly import build
from dragoman.model.translation import TranslationModel
from dragoman.search.beam import beam_search
from dragoman.text.padding import pad
from dragoman.text.vocabulary import SPECIALS
from dragoman.training.optimisers import build_optimiser, clip_gradients, set_rate

SYMBOLS = 8
VOCABULARY = len(SPECIALS) + SYMBOLS
LONGEST = 6
"""Symbols of a string in training, end mark not counted; shorter ones are as frequent."""

Task = Callable[[list[int]], list[int]]
TASKS: dict[str, Task] = {"copy": list, "reverse": lambda string: string[::-1], "sort": sorted}


def train(settings: list[str], task: Task, *, updates: int = 100, seed: int = 1) -> TranslationModel:
    """A model of the given parts after so many updates by Adam on 64 fresh strings each, the rate falling to zero."""
    torch.manual_seed(seed)
    model = build(override(Config(), [f"model.{setting}" for setting in settings]).model, VOCABULARY, VOCABULARY)
    optimiser = build_optimiser(model.parameters(), OptimiserConfig(name="adam"))
    rng = np.random.default_rng(seed)
    for update in range(updates):
        set_rate(optimiser, 0.012 * (1 - update / updates))
        loss = model.loss(make_batch(model, draw(64, (1, LONGEST), rng, held_out=False), task))
        optimiser.clear_gradients()
        (loss.objective / loss.tokens).backward()
        clip_gradients(model.parameters(), 1.0)
        optimiser.step()
    return model.eval()


def draw(count: int, lengths: tuple[int, int], rng: np.random.Generator, *, held_out: bool) -> list[list[int]]:
    """Random strings, all lengths from first to last alike; an eighth of all there are is never trained on."""
    strings: list[list[int]] = []
    while len(strings) < count:
        symbols = rng.integers(len(SPECIALS), VOCABULARY, rng.integers(lengths[0], lengths[1] + 1)).tolist()
        if (crc32(bytes(symbols)) % 8 == 0) == held_out:
            strings.append(symbols)
    return strings


def make_batch(model: TranslationModel, strings: list[list[int]], task: Task) -> Batch:
    """Strings and what becomes of them, as the model reads them."""
    source, target = pad(strings, eos=model.source_eos), pad([task(string) for string in strings], eos=True)
    return Batch(*source, *target, np.arange(len(strings)))


def exact_match(model: TranslationModel, task: Task, *lengths: int) -> float:
    """The share of 200 strings that greedy search gets right as a whole; lengths from first to last."""
    strings = draw(200, (lengths[0], lengths[-1]), np.random.default_rng(77), held_out=True)
    search = SearchConfig(beam=1, max_length_factor=1.0, max_length_extra=5)
    found = beam_search(TorchEngine(model), *pad(strings, eos=model.source_eos), search, n_best=1)
    right = [best.tokens[:-1] == task(string) for (best,), string in zip(found, strings, strict=True)]
    return sum(right) / len(right)


@torch.no_grad()
def held_out_loss(model: TranslationModel, task: Task) -> float:
    """Nats a symbol, end marks among them, on 500 strings of all lengths."""
    loss = model.loss(make_batch(model, draw(500, (1, LONGEST), np.random.default_rng(78), held_out=True), task))
    return float(loss.nll) / loss.tokens
