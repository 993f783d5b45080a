"""Limits of the process: too little memory, too few files and threads, each told in one line."""

from __future__ import annotations

import argparse
import errno
import importlib.util
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dragoman.cli import presets
from dragoman.cli.main import main
from dragoman.cli.shared.limits import resources_checked
from dragoman.errors import ConfigError, DragomanError, InputError

UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


@pytest.mark.parametrize(
    ("limit", "arguments", "message"),
    [
        ("ulimit -v 600000", "describe standard", "torch needs"),
        ("ulimit -n 6", "presets", "only 6 files may be open at once here, and 32 are needed; raise the limit"),
    ],
)
def test_a_limit_of_the_shell_is_told_before_a_library_fails_on_it(
    limit: str, arguments: str, message: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{limit}; {sys.executable} -m dragoman {arguments}"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"dragoman: error: {message}")
    assert done.stderr.count("\n") == 1


def test_a_library_is_not_loaded_where_its_address_space_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(
        resource, "getrlimit", lambda what: (150_000 * 1024,) * 2 if what == resource.RLIMIT_AS else UNLIMITED
    )
    before = list(sys.meta_path)
    for name, needed in (("numpy", 192), ("onnxruntime", 512), ("torch", 896)):
        monkeypatch.delitem(sys.modules, name, raising=False)
        with (
            pytest.raises(ConfigError, match=f"^{name} needs {needed} MiB of address space, but the limit is 146 MiB"),
            resources_checked("translate"),
        ):
            importlib.util.find_spec(name)
    assert sys.meta_path == before
    with resources_checked("presets"):
        assert importlib.util.find_spec("yaml") is not None


def test_a_library_is_not_loaded_where_its_threads_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def start_or_fail(thread: threading.Thread) -> None:
        if threading.active_count() >= before + allowed:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_or_fail)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1}, raising=False)
    monkeypatch.delitem(sys.modules, "numpy", raising=False)
    before = threading.active_count()
    allowed = 19
    with (
        pytest.raises(ConfigError, match=r"^only 19 more threads can be started here, and 20 are needed; raise"),
        resources_checked("translate"),
    ):
        importlib.util.find_spec("numpy")
    assert threading.active_count() == before
    allowed = 20
    with resources_checked("translate"):
        assert importlib.util.find_spec("numpy") is not None


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "presets: not enough memory; give less input at a time"),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
            "presets: not enough",
        ),
        (RuntimeError("CUDA out of memory. Tried to allocate 20 GiB"), "presets: not enough memory"),
        (RuntimeError("[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : std::bad_alloc"), "presets: not enough memory"),
        (ImportError("libtorch_cpu.so: failed to map segment from shared object"), "presets: not enough memory"),
        (
            RuntimeError("can't start new thread"),
            "presets: no further thread can be started; raise the limit (ulimit -u)",
        ),
        (OSError(errno.EMFILE, "Too many open files"), "presets: too many files are open; raise the limit (ulimit -n)"),
        (OSError(errno.EMFILE, "Too many open files", "a\nb"), r"a\nb: Too many open files"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
    ],
)
def test_a_resource_that_runs_out_is_one_line(
    error: BaseException, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(options: argparse.Namespace) -> None:
        raise error

    monkeypatch.setattr(presets, "run", run)
    assert main(["presets"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"dragoman: error: {message}")
    assert printed.err.count("\n") == 1


def test_the_cause_of_an_error_counts_and_its_notes_are_kept() -> None:
    def fail() -> None:
        try:
            raise MemoryError
        except MemoryError as error:
            told = RuntimeError("cannot translate")
            told.add_note("the output so far is in x.partial")
            raise told from error

    with (
        pytest.raises(DragomanError, match=r"^translate: not enough memory; lower --beam") as caught,
        resources_checked("translate"),
    ):
        fail()
    assert caught.value.__notes__ == ["the output so far is in x.partial"]


def test_words_of_users_are_no_lack_of_memory() -> None:
    with pytest.raises(InputError, match=r"^out of memory\.de: does not exist$"), resources_checked("translate"):
        raise InputError("out of memory.de: does not exist")
    with pytest.raises(RuntimeError, match="a bug"), resources_checked("translate"):
        raise RuntimeError("a bug")
