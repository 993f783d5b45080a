"""Commands on a system without `fcntl` and `resource`, such as Windows: neither locks nor limits, and else the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import SMALL, Corpus

WITHOUT = """
import builtins, json, sys
imported = builtins.__import__

def without(name, globals=None, *arguments, **named):
    if name in ("fcntl", "resource") and (globals or {}).get("__name__", "").startswith("dragoman"):
        raise ImportError(name)  # libraries have their own ways on such systems
    return imported(name, globals, *arguments, **named)

builtins.__import__ = without
from dragoman.cli.main import main
from dragoman import systems
from dragoman.serving.server import DESCRIPTORS
systems.raise_open_files_limit(DESCRIPTORS)
assert systems.fcntl is systems.resource is systems.address_space_limit() is None
for words in json.loads(sys.argv[1]):
    assert main(words) == 0, words
"""


@pytest.mark.slow
def test_the_tour_runs_where_no_module_locks_or_limits(run_folder: Path, corpus: Corpus, tmp_path: Path) -> None:
    run, light, out, report = (tmp_path / name for name in ("run", "light", "out", "report"))
    aligned, page = tmp_path / "aligned", tmp_path / "page.html"
    page.write_text("<p>ab</p>")
    text = ["--train", *corpus.train, "--dev", *corpus.dev]
    train = ["train", "--preset", "demo", *text, "--out", run, "--quiet", "--threads", "1"]
    train += ["--set", *SMALL, "training.updates=2", "training.validation.metric=perplexity"]
    commands = (
        train,
        [*train, "--overwrite"],
        ["train", "--out", run, "--resume", "--quiet", "--set", "training.updates=3"],
        ["export", run_folder, "--out", light, "--quiet"],
        ["export", run_folder, "--out", light, "--overwrite", "--quiet"],
        ["translate", light, "-i", corpus.test[0], "-o", out],
        ["translate", run_folder, page, "-o", tmp_path / "translated.html", "--quiet"],
        ["convert", *corpus.test, tmp_path / "test.jsonl", "--quiet"],
        ["evaluate", run_folder, *corpus.test, "--report", report, "--quiet"],
        ["score", run_folder, *corpus.test, "-o", tmp_path / "scored", "--quiet"],
        ["align", run_folder, *corpus.test, "-o", tmp_path / "links", "--quiet"],
        ["translate", run_folder, "-i", corpus.test[0], "--alignments", aligned],
    )
    words = json.dumps(commands, default=str)
    done = subprocess.run([sys.executable, "-c", WITHOUT, words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")], "no lock is left"
    assert done.stdout.endswith(f"\n{out.read_text()}"), "after the scores the same translations"
    lines = len(corpus.test[0].read_text().splitlines())
    assert len(out.read_text().splitlines()) == lines
    for name in ("aligned", "links", "scored", "test.jsonl"):
        assert len((tmp_path / name).read_text().splitlines()) == lines, name
    assert (report / "report.html").stat().st_size
    assert (tmp_path / "translated.html").read_text().startswith("<p>")
