"""A model and a corpus small enough to train in a second, and the real loop around them."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.config.building import build_config
from dragoman.config.schema import (
    AttentionConfig,
    DecoderConfig,
    DropoutConfig,
    EmbeddingConfig,
    EncoderConfig,
    ModelConfig,
    ReadoutConfig,
    TrainingConfig,
)
from dragoman.data.batches import BEGINNING, Batch, Batches, Budget, Position, sorted_batches
from dragoman.data.store import Links, RaggedIds, Store
from dragoman.model.assembly import build
from dragoman.model.translation import TranslationModel
from dragoman.progress import Console
from dragoman.runs.layout import RunFolder
from dragoman.training.forecast import Workload
from dragoman.training.loop import Beginning, Execution, TrainingResult, TrainingTask, train
from dragoman.training.validation import DevTranslations, Validators, perplexity

VOCABULARY = 16


def tiny_model(dropout: float = 0.2) -> TranslationModel:
    torch.manual_seed(3)
    config = ModelConfig(
        embedding=EmbeddingConfig(source=8, target=8),
        encoder=EncoderConfig(size=8),
        decoder=DecoderConfig(size=8),
        attention=AttentionConfig(size=8),
        readout=ReadoutConfig(size=8),
        dropout=DropoutConfig(embedding=dropout, readout=dropout),
    )
    return build(config, VOCABULARY, VOCABULARY)


def copying_store(pairs: int = 40) -> Store:
    """Lines of one to three words; the target is the source, and each word is linked with itself."""
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, 4, pairs)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    side = RaggedIds(rng.integers(4, VOCABULARY, lengths.sum()), offsets)
    positions = np.concatenate([np.arange(length) for length in lengths])
    return Store(side, side, ("", ""), {}, Links(np.stack((positions, positions), axis=1), offsets))


class Clock:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class TrainingHarness:
    """A training of the tiny model, with everything about it open to the test."""

    path: Path
    model: TranslationModel = field(default_factory=tiny_model)
    store: Store = field(default_factory=copying_store)
    clock: Clock = field(default_factory=Clock)
    update_seconds: float = 1.0
    validation_seconds: float = 0.0
    perplexity: Callable[[int], float] | None = None
    """The dev perplexity of the n-th validation from 0, instead of the measured one."""
    translate: Callable[[TranslationModel], DevTranslations] | None = None
    on_batch: Callable[[int], None] = lambda number: None
    """Called with the number of the batch, from 1, before it is used."""
    screen: io.StringIO = field(default_factory=io.StringIO)
    validations: int = 0
    weights_validated: list[torch.Tensor] = field(default_factory=list)
    modes_validated: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.path.mkdir(exist_ok=True)
        self.folder = RunFolder(self.path)

    def run(
        self,
        config: TrainingConfig,
        *,
        resume: bool = False,
        beginning: Beginning | None = None,
        workload: Workload | None = None,
        quiet: bool = False,
        **options: Any,
    ) -> TrainingResult:
        validators = Validators(self._validated, self.translate)
        task = TrainingTask(self.model, _Counted(self), config, validators, workload)
        execution = Execution(console=Console(stream=self.screen, quiet=quiet), clock=self.clock, **options)
        return train(task, self.folder, execution, None if resume else beginning or Beginning())

    def _validated(self, model: TranslationModel) -> float:
        self.clock.now += self.validation_seconds
        self.validations += 1
        self.weights_validated.append(model.output.weight.clone())
        self.modes_validated.append(model.training or torch.is_grad_enabled())
        if self.perplexity is not None:
            return self.perplexity(self.validations - 1)
        return perplexity(model, sorted_batches(self.store, Budget("sentences", 20), source_eos=True))


class _Counted(Batches):
    """Batches that take time."""

    def __init__(self, harness: TrainingHarness) -> None:
        super().__init__(harness.store, Budget("sentences", 4), pool=3, seed=1, source_eos=True)
        self._harness = harness

    def from_position(self, position: Position = BEGINNING) -> Iterator[tuple[Batch, Position]]:
        for number, item in enumerate(super().from_position(position), 1):
            self._harness.clock.now += self._harness.update_seconds
            self._harness.on_batch(number)
            yield item


@pytest.fixture
def harness(tmp_path: Path) -> Callable[..., TrainingHarness]:
    """Make a training harness in its own run folder."""
    made = 0

    def make(**options: Any) -> TrainingHarness:
        nonlocal made
        made += 1
        return TrainingHarness(tmp_path / f"run{made}", **options)

    return make


@pytest.fixture
def recipe() -> Callable[..., TrainingConfig]:
    """A training configuration by dotted keys over a small default."""

    def make(**values: Any) -> TrainingConfig:
        defaults = {"epochs": 2.0, "log_every": 5, "validation.metric": "perplexity", "checkpoint_minutes": 1.0}
        defaults["validation.at_least"] = 0  # so that a test says when there are validations
        tree = TrainingConfig().values()
        for key, value in {**defaults, **{key.replace("__", "."): value for key, value in values.items()}}.items():
            *path, last = key.split(".")
            section = tree
            for name in path:
                section = section[name]
            assert last in section, key
            section[last] = value
        return build_config({"training": tree}, "recipe").training

    return make


@pytest.fixture
def tiny() -> Callable[..., TranslationModel]:
    """Make a tiny model; always the same one."""
    return tiny_model
