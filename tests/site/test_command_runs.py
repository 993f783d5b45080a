"""The blocks of pages are run in the order of their page, on one small run, and what pages print is compared.

Each page has a folder of its own, a copy of one that has the files which pages name. Its blocks are given to bash, in
which `dragoman` is a command that takes about a second (`page_server.py`): trainings make two updates of a small model.
A block that is not run says why, in a comment in front of it (`page_blocks.py`); `make docs` runs this.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.test_documented_commands import ROOT
from tests.server_processes import running
from tests.site import toy_folder
from tests.site.page_blocks import Block, blocks_of, pages_of_own_code, same

pytestmark = pytest.mark.site

CLIENT = ROOT / "tests" / "reproduction" / "command_server.py"
PAGES = [page for page in pages_of_own_code() if any(block.reason is None for block in blocks_of(page))]


_TOY = re.compile(r"warning: .* (were truncated at|looped or ran to) the maximum length")
"""What only models print that were trained for a second."""


class Shell:
    """Runs lines of a shell in a folder, and notes how every command of `dragoman` in them ended."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs

    def run(self, lines: str, folder: Path) -> tuple[int, list[str]]:
        """The exit code, 2 where a command before the last failed, and the lines that were printed."""
        path = f"{self._programs}{os.pathsep}{os.environ['PATH']}"
        notes = folder / ".failed"
        notes.unlink(missing_ok=True)
        done = subprocess.run(
            ["bash", "-e", "-c", lines],
            cwd=folder,
            env={**os.environ, "PATH": path, "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
        lines = done.stdout.replace(f"{folder}/", "").splitlines()
        return done.returncode or 2 * notes.exists(), [line for line in lines if not _TOY.search(line)]


@pytest.fixture(scope="session")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A shell whose programs are forks of a server; one for each process of pytest."""
    programs = tmp_path_factory.mktemp("bin")
    server = programs / "s"
    client = f"{sys.executable} -I -S {CLIENT} {server}"
    for name in ("dragoman", "python", "pip"):
        _program(programs / name, f'{client} {name} "$@" || {{ code=$?; touch .failed; exit $code; }}')
    curl = shutil.which("curl")
    _program(programs / "curl", f'exec {curl} -sS --fail-with-body "${{@//:5000/:$(cat .port)}}"')
    with running([sys.executable, "-m", "tests.site.page_server", str(server), str(programs / "dragoman")], ROOT):
        yield Shell(programs)


def _program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/bash\n{line}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture(scope="session")
def toy(shell: Shell, shared_folder: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """The folder with what pages name; made once for all processes."""

    def fill(folder: Path) -> None:
        def command(line: str) -> None:
            code, printed = shell.run(line, folder)
            assert code == 0, "\n".join([line, *printed])

        folder.mkdir()
        toy_folder.fill(folder, command)

    return shared_folder("pages", fill)


@pytest.fixture
def folder(toy: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of it for one page; a server that the page starts is ended."""
    folder = tmp_path / "page"
    shutil.copytree(toy, folder)
    yield folder
    with suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int((folder / ".servers").read_text()), signal.SIGKILL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_blocks_of_a_page_run_and_print_what_it_shows(page: Path, folder: Path, shell: Shell) -> None:
    wrong: list[str] = []
    programs: list[str] = []
    printed: list[str] = []
    blocks = list(blocks_of(page))
    for block in blocks:
        if block.file is not None:  # some pages show a file behind the command that reads it
            (folder / block.file).write_text(f"{block.text}\n", encoding="utf-8")
    for block in blocks:
        if block.reason is not None:
            continue
        for command in block.said("before"):
            wrong += _unlike(block, command, None, *shell.run(command, folder))
        if block.file is not None:
            (folder / block.file).write_text(f"{block.text}\n", encoding="utf-8")
        elif block.is_list_of_files:
            names = [line.split()[0] for line in block.text.splitlines()]
            wrong += [f"{block.place}: {name} does not exist" for name in names if not (folder / name).exists()]
        elif block.is_python:
            programs += [*block.said("given"), block.text]
            (folder / "program.py").write_text("\n".join(programs), encoding="utf-8")
            code, printed = shell.run("python program.py", folder)
            wrong += _unlike(block, "python", None, code, printed)
        elif block.is_shell or block.is_output:
            for command, shown in block.steps():
                if command:
                    code, printed = shell.run(command, folder)
                wrong += _unlike(block, command, shown, code if command else 0, printed)
        else:
            wrong.append(f"{block.place}: a block of {block.language} says neither what it is nor why it is not run")
    assert not wrong, "\n\n".join(wrong)


def _unlike(block: Block, command: str, shown: list[str] | None, code: int, printed: list[str]) -> Iterator[str]:
    """What is wrong with a command: its end, or what it printed."""
    said = "\n    ".join(["", *printed[-12:]])
    refused = shown is not None and any(line.startswith("dragoman: error:") for line in shown)
    if code != (2 if refused else 0):
        yield f"{block.place}: {command}\n  ended with {code}:{said}"
    elif shown is not None and not same(shown, printed, words_vary=block.words_vary):
        wanted = "\n    ".join(["", *shown])
        yield f"{block.place}: {command}\n  the page shows:{wanted}\n  it printed:{said}"
