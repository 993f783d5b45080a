"""Too little memory, too few files and threads, each told in one line."""

from __future__ import annotations

import argparse
import errno

import pytest

from dragoman.cli import presets
from dragoman.cli.main import main
from dragoman.cli.shared.failures import resources_checked
from dragoman.errors import DragomanError, InputError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "presets: not enough memory; lower the beam"),
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
        pytest.raises(DragomanError, match=r"^translate: not enough memory; lower the beam") as caught,
        resources_checked("translate"),
    ):
        fail()
    assert caught.value.__notes__ == ["the output so far is in x.partial"]


def test_words_of_users_are_no_lack_of_memory() -> None:
    with pytest.raises(InputError, match=r"^out of memory\.de: does not exist$"), resources_checked("translate"):
        raise InputError("out of memory.de: does not exist")
    with pytest.raises(RuntimeError, match="a bug"), resources_checked("translate"):
        raise RuntimeError("a bug")
