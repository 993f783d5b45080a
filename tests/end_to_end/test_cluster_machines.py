"""`dragoman cluster` on several machines, for which nodes of Ray on this one stand: one of them disappears."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.main import main
from dragoman.cluster.worker import ShardWorker
from dragoman.errors import RunError
from dragoman.text.lines import read_lines, write_lines

pytestmark = pytest.mark.processes

NODE = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}
"""Settings of a node that stands for a machine."""


@contextmanager
def ray_head() -> Iterator[Any]:
    """A Ray cluster of a head without CPUs."""
    pytest.importorskip("dragoman.cluster.ray_pool", reason="Ray is not installed (extra `cluster`)")
    from ray.cluster_utils import Cluster

    # The paths of Ray's sockets, below its folder, may have 107 bytes: more than some TMPDIR leave.
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as folder, pytest.MonkeyPatch.context() as patch:
        # `Cluster` writes its address into RAY_TMPDIR/ray, which must exist, whatever `temp_dir` is.
        patch.setenv("RAY_TMPDIR", folder)
        (Path(folder) / "ray").mkdir()
        cluster = Cluster(initialize_head=True, head_node_args={**NODE, "num_cpus": 0, "temp_dir": folder})
        try:
            yield cluster
        finally:
            cluster.shutdown()


def _words_when_none_is_left(cluster: Any, last: Any, light: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a pool says of a task whose machine disappears, and then of the lack of any other."""
    from dragoman.cluster.ray_pool import RayPool, connected

    words = []
    with connected(cluster.address, 1):
        pool = RayPool(partial(ShardWorker, "translate", {"runs": [str(light)]}), 1)
        while not pool.workers():
            pool.wait(1.0)
        monkeypatch.setattr("dragoman.cluster.ray_pool.START_SECONDS", 2.0)
        pool.submit(0, ["ab c"] * 100_000)
        cluster.remove_node(last, allow_graceful=False)
        try:
            while len(words) < 2:
                words += [str(done.outcome) for done in pool.wait(0.2)]
        except RunError as error:
            words.append(str(error))
    return words


def test_a_machine_that_disappears_costs_nothing_and_when_none_is_left_that_is_told(
    light: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, out, alone = (tmp_path / name for name in ("in", "out", "alone"))
    texts.mkdir()
    alone.mkdir()
    for name in ("a.gz", "b"):
        write_lines(texts / name, [("ab c", "d", "ef a")[number % 3] for number in range(4_000)])
    with ray_head() as cluster:
        # The second machine comes once the first is gone: of two, one may do everything before the other is ready.
        first = cluster.add_node(**NODE)
        options = [str(light), "--input", f"{texts}/*", "--output", str(out), "--address", cluster.address]
        driver = subprocess.Popen(
            [sys.executable, "-m", "dragoman", "cluster", "translate", *options, "--beam", "2"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            journals, deadline = out / "cluster-unfinished", time.monotonic() + 100
            while not (journals.exists() and list(journals.iterdir())) and time.monotonic() < deadline:
                assert driver.poll() is None, driver.communicate()
                time.sleep(0.05)
            cluster.remove_node(first, allow_graceful=False)
            second = cluster.add_node(**NODE)
            _, error = driver.communicate(timeout=150)
        finally:
            driver.kill()
        words = _words_when_none_is_left(cluster, second, light, monkeypatch)
    assert words[0].startswith("Lost")
    assert words[1].startswith("no worker was ready after 2 seconds; see `ray status`")
    assert driver.returncode == 0, error
    assert "a worker ended" in error
    assert "8,000 lines computed" in error
    assert not (out / "failed.jsonl").exists()
    for name in ("a.gz", "b"):
        single = ["translate", str(light), "-i", str(texts / name), "-o", str(alone / name), "--beam", "2"]
        assert main([*single, "--threads", "1", "--quiet"]) == 0
        assert list(read_lines(out / name)) == list(read_lines(alone / name))
    assert (out / "b").read_bytes() == (alone / "b").read_bytes()
