"""Systems without `fcntl` and `resource`, such as Windows: what is missing there stops nothing but the cluster."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from dragoman import systems


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
