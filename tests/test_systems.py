"""Systems without `fcntl` and `resource`, such as Windows: what is missing there stops nothing but the cluster."""

from __future__ import annotations

import errno
import importlib
import os
import platform
import resource
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dragoman import systems
from dragoman.cli.main import main
from dragoman.config.building import override
from dragoman.config.language_model import LanguageConfig, override_language
from dragoman.config.presets import load_preset
from dragoman.config.schema import BatchConfig, SearchConfig, SideConfig
from dragoman.corpora.pairs import Pair
from dragoman.data.preparation import store_lines
from dragoman.errors import ConfigError
from dragoman.search.beam import beam_search
from dragoman.search.sampling import Sampling, sample
from dragoman.systems import machine_memory, require_memory, require_rows
from dragoman.text.segmentation import train_segmentation
from dragoman.training.memory import require_memory_for_batch
from dragoman.workflows.language_model import train_language_model
from dragoman.workflows.training import train


def test_windows_locks_a_byte_behind_the_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locked: set[tuple[str, int]] = set()

    def locking(descriptor: int, mode: int, count: int) -> None:
        place = os.readlink(f"/proc/self/fd/{descriptor}"), os.lseek(descriptor, 0, os.SEEK_CUR)
        assert (mode, count) == (2, 1)
        if place in locked:
            raise OSError(errno.EACCES, "Permission denied")
        locked.add(place)

    msvcrt = ModuleType("msvcrt")
    vars(msvcrt).update(locking=locking, LK_NBLCK=2)
    monkeypatch.setitem(sys.modules, "msvcrt", msvcrt)
    monkeypatch.setattr(sys, "platform", "win32")
    path = tmp_path / "file"
    path.write_text("content")
    with path.open() as file, path.open() as other:
        file.read(3)
        systems.lock(file.fileno())
        assert file.read() == "tent"
        assert [place for _, place in locked] == [1 << 40]
        with pytest.raises(BlockingIOError):
            systems.lock(other.fileno())


def test_a_system_without_locks_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    without = importlib.util.module_from_spec(importlib.util.find_spec("dragoman.systems"))  # type: ignore[arg-type]
    without.__spec__.loader.exec_module(without)  # type: ignore[union-attr]
    with (tmp_path / "file").open("w") as file, pytest.raises(OSError, match="not supported"):
        without.lock(file.fileno())


def test_the_processor_is_named_with_what_it_has_for_products() -> None:
    for described, name, features in (
        (
            "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nflags\t\t: fpu avx2 avx512f\n\n"
            "processor\t: 1\nmodel\t: 18\nflags\t: amx_bf16\n",
            "AMD EPYC (family 25, model 17)",  # the number that a virtual machine hides
            ("avx2", "avx512f"),
        ),
        (
            "cpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R) 8481C\nflags\t: amx_int8 avx512_bf16\n",
            "Intel(R) Xeon(R) 8481C",
            ("avx512_bf16", "amx_int8"),
        ),
        ("model name\t: A series\n", "A series", ()),
        ("processor\t: 0\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd bf16\n", "", ("asimd", "bf16")),  # ARM
    ):
        assert systems.described_processor(described) == (name, features)


def test_a_system_that_does_not_describe_its_processor_is_named_by_its_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(systems, "_CPUINFO", tmp_path / "none")
    found = systems.processor()
    assert found.name
    assert found.features == ()
    assert 1 <= systems.processors() <= (os.cpu_count() or 1)


def test_the_memory_of_the_machine_is_bounded_by_the_limit_of_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 2**24 < machine_memory() < 2**60
    monkeypatch.setattr(resource, "getrlimit", lambda what: (12345, 12345))
    assert machine_memory() == 12345


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has the settings")
def test_freed_memory_is_used_again_without_new_pages() -> None:
    program = """
import resource
from dragoman.systems import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        bytearray(4 << 20)  # a thousand pages
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

before = faults()
keep_freed_memory()
faults()
print(before, faults())
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    before, after = map(int, found.stdout.split())
    assert after < 1000 < before


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has the settings")
def test_freed_memory_is_returned_from_between_what_is_used() -> None:
    program = """
from dragoman.systems import keep_freed_memory, return_freed_memory

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 >> 20

keep_freed_memory()
blocks = [bytearray(1 << 20) for _ in range(64)]
del blocks[:-1]
before = resident()
return_freed_memory()
print(before - resident())
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 50 < int(found.stdout) < 70


def test_the_message_has_both_sizes() -> None:
    require_memory(100, "it", "make it smaller", 100)
    message = "^it needs 101 bytes of memory, but there are 100 bytes here; make it smaller$"
    with pytest.raises(ConfigError, match=message):
        require_memory(101, "it", "make it smaller", 100)
    with pytest.raises(ConfigError, match=r"needs 123 EB of memory, but there are 1\.5 GB here"):
        require_memory(123 * 10**18, "it", "make it smaller", 1_500_000_000)
    require_rows(100, 10_000, "a beam")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "model.encoder.size=1000000",
            r"^training [\d,]+ parameters \(weights, gradients, running average, state of adam",
        ),
        (
            "model.encoder.size=1000000000",
            "^the model is too large for any machine: one of its matrices alone has more",
        ),
        (
            "training.batch.size=1000000000",
            r"^training\.batch\.size: a batch of 1,000,000,000 tokens \(its states and logits alone\) needs "
            r"[\d.]+ TB of memory, but there are 8 GB here; lower it$",
        ),
        ("search.beam=1000", r"^search\.beam: a beam of 1,000 over 8 words needs 480 kB of memory"),
        ("training.validation.beam=1000", r"^training\.validation\.beam: a beam of 1,000 over 8 words"),
    ],
)
def test_a_model_that_cannot_fit_is_refused_before_the_text_is_read(
    setting: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.systems._NEGLIGIBLE", 0)
    monkeypatch.setattr("dragoman.systems.machine_memory", lambda: 400_000)
    monkeypatch.setattr("dragoman.model.devices.machine_memory", lambda: 8 * 10**9)
    config = override(load_preset("standard"), [setting])
    files = [(tmp_path / "none.de", tmp_path / "none.en")]
    with pytest.raises(ConfigError, match=message):
        train(config, files, files, tmp_path / "run", device="cpu")
    assert list(tmp_path.iterdir()) == []


def test_a_language_model_that_cannot_fit_is_refused(tmp_path: Path) -> None:
    config = override_language(LanguageConfig(), ["model.embedding=1000000000"])
    with pytest.raises(ConfigError, match=r"^training [\d,]+ parameters \(weights, gradients, state of adam\) needs"):
        train_language_model(config, [tmp_path / "none"], [tmp_path / "none"], tmp_path / "run", device="cpu")
    assert list(tmp_path.iterdir()) == []


def test_a_batch_of_a_language_model_that_cannot_fit_is_refused(tmp_path: Path) -> None:
    for settings in ([], ["model.network=feed-forward"], ["training.batch.unit=sentences"]):
        config = override_language(LanguageConfig(), ["training.batch.size=1000000000", *settings])
        with pytest.raises(ConfigError, match=r"^training\.batch\.size: a batch of 1,000,000,000 (tokens|sentences)"):
            train_language_model(config, [tmp_path / "none"], [tmp_path / "none"], tmp_path / "run", device="cpu")
    assert list(tmp_path.iterdir()) == []


def test_a_stored_text_limits_the_memory_of_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segmentation = train_segmentation(SideConfig(segmentation="characters"), [])
    lines = [Pair("", "abc", str(number)) for number in range(100)]  # with EOS 400 tokens
    store, _ = store_lines(tmp_path, lines, segmentation, SideConfig(segmentation="characters"), lambda *_: None)
    monkeypatch.setattr("dragoman.model.devices.machine_memory", lambda: 4 * 400 * (50 + 2 * 1000))
    for unit in ("tokens", "sentences"):
        batch = BatchConfig(unit=unit, size=10**9)
        require_memory_for_batch(batch, 50, 1000, "cpu", store)
        with pytest.raises(ConfigError, match="states and logits alone"):
            require_memory_for_batch(batch, 51, 1000, "cpu", store)
    require_memory_for_batch(BatchConfig(unit="sentences", size=50), 51, 1000, "cpu", store)


def test_a_beam_or_samples_that_cannot_fit_are_refused(toy_engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.systems.machine_memory", lambda: 8 * 10**9)
    source, lengths = np.array([[5, 3]]), np.array([2])
    with pytest.raises(ConfigError, match=r"^a beam of 1,000,000,000 over 12 words needs 720 GB of memory"):
        beam_search(toy_engine(12), source, lengths, SearchConfig(beam=10**9))
    with pytest.raises(ConfigError, match=r"^a number of samples of 1,000,000,000 over 12 words needs 720 GB"):
        sample(toy_engine(12), source, lengths, SearchConfig(), Sampling(), np.array([0]), 10**9)


def test_a_description_of_any_size_is_one_line_or_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "standard", "--set", "model.encoder.size=1000000000"]) == 2
    assert capsys.readouterr().err.startswith("dragoman: error: the model is too large for any machine")
