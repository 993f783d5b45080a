"""What tests of several packages share."""

from __future__ import annotations

import fcntl
import gc
import logging
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

# One thread a process, here and in the processes that tests start: pytest-xdist runs one process a core. The libraries
# read it when they are loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

from dragoman.engines.protocol import Distributions, EngineStep, ForcedScores
from dragoman.text.vocabulary import BOS, EOS, PAD

if TYPE_CHECKING:
    from tests.training.rank_process import RankProcesses

# Tests say nothing about time: a machine that is busy is no failure.
settings.register_profile("dragoman", deadline=None)
settings.load_profile("dragoman")

# Tests send signals to processes that they start. These inherit what is ignored here, such as SIGINT in a job that a
# shell runs in the background, but not what is caught.
for _number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)

# What a test has written need not survive a failure of power, and waiting for the disk takes milliseconds each time.
# Processes that tests start do wait.
os.fsync = os.fstat  # type: ignore[assignment]  # which requires an open file, too

# What is loaded and collected stays: looking through it for garbage would be a fifth of the time of collection.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


Answer = Callable[[tuple[int, ...], tuple[int, ...]], Mapping[int, float]]


class ToyEngine:
    """A model that is a function of the source and of the symbols so far, and that checks what search promises.

    `answer(source, prefix)` gives probabilities of next symbols (what it leaves out gets a trace); without it, they
    are random but follow from `seed`, source and prefix. The state is the prefixes themselves, so a wrong parent is
    a wrong answer. Numbers of a row cannot depend on other rows.
    """

    def __init__(
        self,
        vocabulary_size: int,
        seed: int = 1,
        *,
        answer: Answer | None = None,
        spread: float = 2.0,
        source_eos: bool = True,
        attention_shift: int = 0,
        attends: bool = True,
    ) -> None:
        self.vocabulary_size = vocabulary_size
        self.source_eos = source_eos
        self.attention_shift = attention_shift
        self.steps: list[tuple[int, int]] = []
        """(rows, k) of every step."""
        self._seed, self._answer, self._spread, self.attends = seed, answer, spread, attends

    def distribution(self, source: tuple[int, ...], prefix: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """log-probabilities float32 [V] and attention float32 [S] after `prefix` (BOS included)."""
        random = np.random.default_rng([self._seed, *source, *prefix])
        if self._answer is None:
            logits = random.normal(size=self.vocabulary_size) * self._spread
        else:
            logits = np.full(self.vocabulary_size, np.log(1e-30))
            for token, probability in self._answer(source, prefix).items():
                logits[token] = np.log(probability)
        log_probabilities = logits - np.log(np.exp(logits).sum())
        return log_probabilities.astype(np.float32), random.dirichlet(np.ones(len(source))).astype(np.float32)

    def start(self, source, source_lengths):
        assert source.dtype == source_lengths.dtype == np.int64
        sources = []
        for row, length in zip(source, source_lengths, strict=True):
            assert length >= 1
            assert (row[length:] == PAD).all()
            assert (row[:length] != PAD).all()
            assert (row[length - 1] == EOS) == self.source_eos
            sources.append(tuple(row[:length].tolist()))
        self._width = source.shape[1]
        return {"rows": [(index, source, ()) for index, source in enumerate(sources)]}

    def step_all(self, state, parents, tokens):
        step = self.step(state, parents, tokens, self.vocabulary_size)
        log_probabilities = np.empty_like(step.log_probabilities)
        np.put_along_axis(log_probabilities, step.tokens, step.log_probabilities, axis=1)
        return Distributions(log_probabilities, step.attention, step.state)

    def step(self, state, parents, tokens, k):
        assert parents.dtype == tokens.dtype == np.int64
        assert 1 <= k <= self.vocabulary_size
        assert len(parents) == len(tokens) >= 1
        old = state.pop("rows")  # a second step from the same state fails here
        rows = [
            (*old[parent][:2], (*old[parent][2], token)) for parent, token in zip(parents, tokens.tolist(), strict=True)
        ]
        owners = [sentence for sentence, _, _ in rows]
        assert owners == sorted(owners)
        if old[0][2] == ():
            assert parents.tolist() == list(range(len(old)))
            assert (tokens == BOS).all()
        else:
            assert not np.isin(tokens, (PAD, BOS, EOS)).any()
        self.steps.append((len(rows), k))
        answers = [self.distribution(source, prefix) for _, source, prefix in rows]
        log_probabilities = np.stack([answer[0] for answer in answers])
        best = np.argsort(-log_probabilities, axis=1)[:, :k]
        return EngineStep(
            np.take_along_axis(log_probabilities, best, axis=1),
            best.astype(np.int64),
            self._pad([answer[1] for answer in answers]) if self.attends else None,
            {"rows": rows},
        )

    def force(self, source, source_lengths, target, target_lengths):
        log_probabilities = np.zeros(target.shape, dtype=np.float32)
        attention = np.zeros((*target.shape, source.shape[1]), dtype=np.float32)
        for row, (_, words, _) in enumerate(self.start(source, source_lengths)["rows"]):
            assert target[row, target_lengths[row] - 1] == EOS
            prefix = (BOS,)
            for step, token in enumerate(target[row, : target_lengths[row]].tolist()):
                answer, weights = self.distribution(words, prefix)
                log_probabilities[row, step] = answer[token]
                attention[row, step, : len(weights)] = weights
                prefix = (*prefix, token)
        return ForcedScores(log_probabilities, attention if self.attends else None)

    def _pad(self, rows):
        padded = np.zeros((len(rows), self._width), dtype=np.float32)
        for row, weights in zip(padded, rows, strict=True):
            row[: len(weights)] = weights
        return padded


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Take back the number of threads that a test has chosen, which holds for the process.

    More threads than free cores wait for each other at every small product: all later tests would take many times as
    long.
    """
    yield
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() != 1:
        torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Take back levels and handlers that a command has set in this process: with `--quiet`, later tests would see none
    of the warnings that they wait for. A fixture of the session may have run one before this one.
    """
    root = logging.getLogger()
    root.setLevel(logging.WARNING)
    handlers = root.handlers[:]
    yield
    root.setLevel(logging.WARNING)
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
    for name, logger in root.manager.loggerDict.items():
        if isinstance(logger, logging.Logger) and name.partition(".")[0] == "dragoman":
            logger.setLevel(logging.NOTSET)


@pytest.fixture
def toy_engine() -> type[ToyEngine]:
    """The class itself: `toy_engine(vocabulary_size, seed, ...)`."""
    return ToyEngine


@pytest.fixture
def full_disk() -> Callable[[int], AbstractContextManager[None]]:
    """Inside, no file can grow beyond so many bytes: the kernel refuses as a full disk does."""

    @contextmanager
    def limited(free: int) -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (free, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data, which may not be published with this project and lies beside the checkout."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"real data is not at {folder}")
    return folder


@pytest.fixture(scope="session")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RankProcesses]:
    """`ranks(size, function, ...)`: compute a case of tests/training/rank_process.py on so many ranks."""
    from tests.training.rank_process import RankProcesses  # here, because it imports torch

    processes = RankProcesses(tmp_path_factory.mktemp("ranks"))
    yield processes
    processes.end()


FillFolder = Callable[[Path], None]


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, FillFolder], Path]:
    """`shared_folder(name, fill)`: a folder that `fill` fills once in a session, however many processes run its tests.

    The folder does not exist when `fill` is called, so that `fill` may copy or train into it.
    """
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent  # of all processes

    def make(name: str, fill: FillFolder) -> Path:
        folder, done = root / "shared" / name, root / "shared" / f"{name}.done"
        folder.parent.mkdir(exist_ok=True)
        with (root / "shared" / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                fill(folder)
                done.touch()
        return folder

    return make
