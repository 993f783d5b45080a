"""The commands that pages print are run, in the order of their page, on one small run; `make docs` does this.

Every command of a block runs in a fork of this process that has imported what it needs, in a folder that has the files
which pages name. Trainings are shortened to two updates of a small model. A command that names a file which neither
the folder nor an earlier command of its page has made is left out and counted; so is one for a shell (pipes, loops).
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import dragoman
from dragoman.cli.main import find_verb, main
from tests.cli.test_documented_commands import PAGES, ROOT, commands_of
from tests.reproduction.command_server import NEEDED

pytestmark = pytest.mark.site

SMALL = (
    *("model.embedding.source=16", "model.embedding.target=16", "model.encoder.size=16", "model.decoder.size=16"),
    *("model.attention.size=16", "model.readout.size=16", "text.source.vocabulary=300", "text.target.vocabulary=300"),
    *("training.precision=fp32", "training.validation.at_least=0"),
)
WRITTEN = {"-o", "--out", "--output", "--alignments", "--attention", "--listing", "--dropped", "--report", "--matrix"}
"""Options whose value a command writes; alignments are read by `train`."""

LEFT_OUT = ("demo", "serve", "reproduce", "smt train", "smt tune", "smt translate", "smt nbest")
"""Commands that take minutes, that never end, or whose systems are too large for a page's small text; their own tests
run them; so do those of web sites, which need a runtime that npm fetches."""

FEW = 300
"""Pairs of the training text."""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that pages name: German and English text, RUN, and other runs of the same shape."""
    for module in NEEDED:
        importlib.import_module(module)  # once here, not in every child
    import dragoman.workflows.training as workflow

    folder = tmp_path_factory.mktemp("pages")
    text = tmp_path_factory.mktemp("text")
    files = dragoman.write_demo_corpus(text, "de", "en")
    for part, count in (("train", FEW), ("dev", 20), ("test", 20)):
        for path in files[part]:
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)[:count]
            (folder / path.name).write_text("".join(lines), encoding="utf-8")
    shutil.copy(folder / "test.de", folder / "new.de")
    for copy in ("corrections", "invoices", "invoices-dev", "new-dev"):
        for language in ("de", "en"):
            shutil.copy(folder / f"dev.{language}", folder / f"{copy}.{language}")
    shutil.copy(folder / "dev.en", folder / "news.en")
    for name, line in (("never.txt", "of"), ("begins.en", "1"), ("must.jsonl", '["1"]')):
        (folder / name).write_text(f"{line}\n" * 20, encoding="utf-8")
    (folder / "terms.tsv").write_text("1\t2\n", encoding="utf-8")
    (folder / "pairs.tsv").write_text("1 Meter\t1 meter\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workflow, "write_run_report", lambda *_: None)
        for out in ("RUN", "RUN2"):
            arguments = ["train", "--preset", "demo", "--train", "train.de", "train.en", "--dev", "dev.de", "dev.en"]
            assert _run([*arguments, "--out", out, "--updates", "20", "--set", *SMALL], folder, None, None) == 0
    for name in ("RUN1", "RUN3"):
        shutil.copytree(folder / "RUN", folder / name)
    return folder


def _run(arguments: Sequence[str], folder: Path, read: str | None, write: str | None) -> int:
    """Run a command in a child of this process; its exit code. Errors stay in FOLDER/.stderr."""
    child = os.fork()
    if child == 0:
        code = 1
        signal.alarm(300)  # one that waits for something ends, and is reported
        try:
            os.chdir(folder)
            for number, name, flags in (
                (0, read or os.devnull, os.O_RDONLY),
                (1, write or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
                (2, ".stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
            ):
                os.dup2(os.open(name, flags, 0o644), number)
            sys.stdin, sys.stdout, sys.stderr = map(os.fdopen, (0, 1, 2), "rww")
            import dragoman.workflows.training as workflow

            workflow.write_run_report = lambda *_: None
            code = main(arguments)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _prepared(command: str) -> tuple[list[str], str | None, str | None] | None:
    """Words, standard input and standard output of a command; None for one that needs a shell or elides something."""
    if re.search(r"[$|;&*]|\.\.\.|<\(", command):
        return None
    words = shlex.split(command)[1:]
    streams: dict[str, str] = {}
    while len(words) > 2 and words[-2] in ("<", ">"):
        streams[words[-2]] = words[-1]
        words = words[:-2]
    if {"<", ">", "2>"} & set(words) or words[:1] in (["--version"], ["--help"]):
        return None
    name, _ = find_verb(words)
    if "--web" in words or name in LEFT_OUT or name.startswith("cluster"):
        return None
    if name in ("train", "lm train"):
        if "--minutes" in words:
            del words[words.index("--minutes") : words.index("--minutes") + 2]
        words += ["--updates", "2"] if "--updates" not in words else []
        if "--preset" not in words and "--from" not in words and "--resume" not in words and name == "train":
            words += ["--preset", "demo"]
        small = SMALL if name == "train" and "--from" not in words and "--resume" not in words else ()
        if "--set" in words:
            words[words.index("--set") + 1 : words.index("--set") + 1] = small
        elif small:
            words += ["--set", *small]
        if "--out" in words and "--resume" not in words:
            words += ["--overwrite"]
    if name == "export":
        words += ["--overwrite"]
        if "--shortlist" in words:
            words[words.index("--shortlist") + 1] = "50"  # shorter than the vocabulary here
    return words, streams.get("<"), streams.get(">")


def _missing(words: Sequence[str], read: str | None, folder: Path) -> list[str]:
    """The files and folders that a command reads and that are not there."""
    names = [read] if read else []
    written = WRITTEN - {"--alignments"} if words[0] == "train" else WRITTEN
    for before, word in zip(["", *words], words, strict=False):
        looks_like_file = re.fullmatch(r"[\w/-]+(\.[\w.-]+)+|[A-Z][A-Z0-9-]+|demo-run", word)
        if looks_like_file and before not in written and "=" not in word and not word.replace(".", "").isdigit():
            names.append(word)
    return [name for name in names if name not in dragoman.__all__ and not (folder / name).exists()]


def test_the_commands_of_pages_run(folder: Path) -> None:
    failed, ran, left = [], 0, []
    pages = [page for page in PAGES if not {"lab-book", "learn", "ko"} & set(page.relative_to(ROOT).parts)]
    for page in pages:
        for complete, command in commands_of(page.read_text(encoding="utf-8")):
            if not complete:
                continue
            prepared = _prepared(command)
            if prepared is None or _missing(prepared[0], prepared[1], folder):
                left.append(f"{page.relative_to(ROOT)}: {command}")
                continue
            ran += 1
            if code := _run(prepared[0], folder, prepared[1], prepared[2]):
                message = (folder / ".stderr").read_text(encoding="utf-8").strip().splitlines()[-1:]
                failed.append(f"{page.relative_to(ROOT)}: {command}\n    {code} {''.join(message)}")
    print(f"{ran} commands ran, {len(left)} were left out", *left, sep="\n")
    assert not failed, "\n".join(failed)
    assert ran >= 60, "\n".join(left)
