"""Commands on a system without `fcntl` and `resource`, such as Windows: neither locks nor limits, and else the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import SMALL, Corpus

WITHOUT = """
import builtins, sys
imported = builtins.__import__

def without(name, globals=None, *arguments, **named):
    if name in ("fcntl", "resource") and (globals or {}).get("__name__", "").startswith("dragoman"):
        raise ImportError(name)  # libraries have their own ways on such systems
    return imported(name, globals, *arguments, **named)

builtins.__import__ = without
from dragoman.cli.main import main
if sys.argv[1:] == ["server"]:
    from dragoman import systems
    from dragoman.serving.server import _raise_descriptor_limit
    _raise_descriptor_limit()
    assert systems.fcntl is systems.resource is systems.address_space_limit() is None
    sys.exit(0)
sys.exit(main(sys.argv[1:]))
"""


def run_without(*words: object) -> str:
    """Run a command in a process that cannot import the modules; gives what it prints."""
    command = [sys.executable, "-c", WITHOUT, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


@pytest.mark.slow
def test_commands_run_where_no_module_locks_or_limits(run_folder: Path, corpus: Corpus, tmp_path: Path) -> None:
    run, light, out = tmp_path / "run", tmp_path / "light", tmp_path / "out"
    text = ["--train", *corpus.train, "--dev", *corpus.dev]
    train = ["train", "--preset", "demo", *text, "--out", run, "--quiet", "--threads", "1"]
    train += ["--set", *SMALL, "training.updates=2", "training.validation.metric=perplexity"]
    for words in (
        train,
        [*train, "--overwrite"],
        ["train", "--out", run, "--resume", "--quiet", "--set", "training.updates=3"],
        ["export", run_folder, "--out", light, "--quiet"],
        ["export", run_folder, "--out", light, "--overwrite", "--quiet"],
        ["translate", light, "-i", corpus.test[0], "-o", out],
        ["server"],
    ):
        run_without(*words)
    assert sorted(os.listdir(tmp_path)) == ["light", "out", "run"]
    expected = run_without("translate", run_folder, "-i", corpus.test[0])
    assert out.read_text() == expected
    assert len(expected.splitlines()) == len(corpus.test[0].read_text().splitlines())
