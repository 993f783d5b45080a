"""The program for Ray Train on the page about job systems: two workers train what two ranks without Ray train."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from dragoman.cli.main import main
from tests.training.rank_process import RankProcesses

from .conftest import SMALL, Corpus
from .session_processes import session_processes

pytestmark = pytest.mark.processes

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "job-systems.md"
UPDATES = ("training.updates=4", "training.validation.every=4", "training.validation.metric=perplexity")
RAY = """
import ray
ray.init(num_cpus=2, object_store_memory=100 << 20, include_dashboard=False, log_to_driver=False, _temp_dir={folder!r})
"""
"""A Ray of two CPUs, whatever the machine has."""


def require_ray_train() -> None:
    pytest.importorskip("ray", reason="Ray is not installed (extra `cluster`)")
    pytest.importorskip("ray.train.torch", reason="Ray Train is not installed (ray[train])", exc_type=ImportError)


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc to find the processes of workers")
def test_the_program_of_the_page_trains_what_ranks_without_ray_train(
    ranks: RankProcesses, corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    require_ray_train()
    assert main(["config", "demo", "--quiet", "--set", *SMALL, *UPDATES]) == 0
    (tmp_path / "small.yaml").write_text(capsys.readouterr().out)
    for part in ("train", "dev"):
        for path, language in zip(getattr(corpus, part), ("de", "en"), strict=True):
            shutil.copy(path, tmp_path / f"{part}.{language}")

    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert "/shared/RUN" in program
    program = program.replace("/shared", str(tmp_path))
    # The paths of Ray's sockets, below its folder, may have 107 bytes: more than some TMPDIR leave.
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as folder:
        done = subprocess.Popen(
            [sys.executable, "-c", RAY.format(folder=folder) + program],
            env={**os.environ, "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            said, _ = done.communicate(timeout=200)
        finally:
            done.kill()
    assert done.returncode == 0, said
    assert session_processes(done.pid) == {}

    text = ["--train", "train.de", "train.en", "--dev", "dev.de", "dev.en"]
    words = ["train", "small.yaml", *text, "--out", "ALONE", "--threads", "1", "--quiet"]
    answers = ranks(2, "command", [str(tmp_path)] * 2, *words)
    assert [answer["value"] for answer in answers] == [0, 0], answers[0]["said"]
    with_ray, without = (load_file(tmp_path / name / "model.safetensors") for name in ("RUN", "ALONE"))
    assert with_ray.keys() == without.keys()
    assert all((with_ray[name] == without[name]).all() for name in without)
