"""How fast this machine trains and translates with the preset `standard`, measured in seconds with random weights."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from dragoman.config.presets import load_preset
from dragoman.config.schema import TrainingConfig
from dragoman.engines.torch_engine import TorchEngine
from dragoman.model.assembly import build
from dragoman.model.devices import choose_device, choose_precision, seed_weights, threads_in_use
from dragoman.model.translation import TranslationModel
from dragoman.search.beam import beam_search
from dragoman.systems import DeviceName
from dragoman.training.objective import TrainingObjective, accumulate_gradients
from dragoman.training.optimisers import build_optimiser, clip_gradients, measured_parameters
from dragoman.training.precision import LENGTH, fastest_precision, random_batch
from dragoman.translation.translator import MAX_ROWS

PRESET = "standard"


@dataclass(frozen=True)
class Speed:
    """The speed of a machine."""

    preset: str
    device: str
    threads: int
    """CPU threads of a matrix product."""
    precision: str
    """What `training.precision: auto` is here."""
    precision_reason: str
    words_a_sentence: int
    tokens_an_update: int
    updates_a_second: float
    beam: int
    lines_a_second: float


def measure_speed(seconds: float, device: DeviceName = "auto") -> Speed:
    """Train and translate random sentences with a model of the preset's size, so many seconds each.

    At least one update and one batch of translations are measured, however long they take.

    Every sentence has `LENGTH` words, and so has every translation: untrained models do not know where to end.

    Raises:
        ConfigError: a GPU is requested but not available.
    """
    config = load_preset(PRESET)
    seed_weights(config.training.seed)
    vocabulary = config.text.target.vocabulary
    model = build(config.model, vocabulary, vocabulary).to(choose_device(device))
    choice = fastest_precision(model)
    model.set_precision(choose_precision(choice.precision, model.device))
    updates = _updates_a_second(model, config.training, seconds)
    model.set_precision(None)
    search = config.search.replaced(max_length_factor=1.0, max_length_extra=0, min_length_factor=1.0)
    lines = max(1, MAX_ROWS // search.beam)
    source = random_batch(model, lines)
    engine = TorchEngine(model.eval())
    searches = _rate(lambda: beam_search(engine, source.source, source.source_lengths, search), seconds)
    return Speed(
        preset=PRESET,
        device=model.device.type,
        threads=threads_in_use(),
        precision=choice.precision,
        precision_reason=choice.reason,
        words_a_sentence=LENGTH,
        tokens_an_update=config.training.batch.size,
        updates_a_second=updates,
        beam=search.beam,
        lines_a_second=lines * searches,
    )


def _updates_a_second(model: TranslationModel, config: TrainingConfig, seconds: float) -> float:
    model.train()
    batch = random_batch(model, config.batch.size // (LENGTH + 1))
    parameters = list(model.parameters())
    optimiser = build_optimiser(parameters, config.optimiser)
    measured = measured_parameters(model, config.optimiser.gradient_norm)
    objective = TrainingObjective(config.loss_normalisation, config.label_smoothing)

    def update() -> float:
        totals = accumulate_gradients(model, [batch], objective)
        clip_gradients(parameters, config.optimiser.max_gradient_norm, measured)
        optimiser.step()
        optimiser.clear_gradients()
        return float(totals.nll)  # waits for a GPU

    return _rate(update, seconds)


def _rate(act: Callable[[], object], seconds: float) -> float:
    """How often a second a function can be called, after a first call that compiles kernels and allocates memory.

    If the first call takes all the seconds, it counts, so that nobody waits for a slow machine.
    """
    began, count = time.perf_counter(), 0
    act()
    first = time.perf_counter() - began
    if first >= seconds:
        return 1 / first
    began = time.perf_counter()
    while count == 0 or time.perf_counter() - began < seconds - first:
        act()
        count += 1
    return count / (time.perf_counter() - began)
