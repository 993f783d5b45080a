"""`dragoman cluster`: the same lines as the verbs without it; with workers in this process, and once with Ray."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.cluster.worker import ShardWorker
from dragoman.errors import ConfigError
from dragoman.text.lines import read_lines, write_lines

from .conftest import Corpus
from .session_processes import session_processes

pytestmark = pytest.mark.processes


TABLE = [
    f"{source} ||| {target} ||| 0.5 1e-3 ||| 0-0 ||| 7 {number} 1 |||"
    for source in ("ab", "ab c", "c", "zz")
    for number, target in enumerate((source.upper(), "A?", "AB C"))
]
NBEST = [
    f"{sentence} ||| {text} ||| LM= -1.5 ||| -2"
    for sentence, texts in ((0, ("AB", "A B")), (2, ("C D", "C", "C")), (5, ("F",)))
    for text in texts
]


@pytest.mark.usefixtures("without_ray")
@pytest.mark.parametrize(
    ("verb", "more", "given", "single"),
    [
        ("translate", ["--beam", "3", "--ban", "F"], ["text.gz"], ["-i", "text.gz"]),
        ("score", ["--token-counts"], ["pairs.tsv.gz"], ["pairs.tsv.gz"]),
        ("score", [], ["text.gz", "--target", "target"], ["text.gz", "target"]),
        ("align", ["--threshold", "0.2", "--one-based"], ["pairs.tsv.gz"], ["pairs.tsv.gz"]),
        ("align", ["--reverse", "MODEL"], ["pairs.tsv.gz"], ["pairs.tsv.gz"]),
        ("align", ["--segments"], ["pairs.tsv.gz"], ["pairs.tsv.gz"]),
        (
            "rescore",
            ["--reverse", "MODEL", "--normalised", "--length"],
            ["nbest", "--source", "text.gz"],
            ["nbest", "--source"],
        ),
        ("phrase-table", ["--reverse", "MODEL", "--unknown"], ["table.xz"], ["table.xz"]),
    ],
)
def test_each_verb_gives_the_lines_that_it_gives_without_cluster(
    verb: str,
    more: list[str],
    given: list[str],
    single: list[str],
    light: Path,
    corpus: Corpus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    sources, targets = (list(read_lines(path)) for path in corpus.test)
    write_lines("text.gz", sources)
    write_lines("target", targets)
    write_lines("pairs.tsv.gz", [f"{source}\t{target}" for source, target in zip(sources, targets, strict=True)])
    write_lines("nbest", NBEST)
    write_lines("table.xz", TABLE)
    more = [str(light) if word == "MODEL" else word for word in more]
    runs, models = ([], ["--model", str(light)]) if verb in ("rescore", "phrase-table") else ([str(light)], [])
    command = [verb, *runs, *models, *more, "--quiet"]
    assert main(["cluster", *command, "--input", *given, "--output", "out"]) == 0
    source = ["text.gz"] if verb == "rescore" else []
    order = [verb, *runs, *single, *source, *models, *more]
    assert main([*order, "--threads", "1", "--quiet", "--output", "alone"]) == 0
    lines = list(read_lines(f"out/{given[0]}"))
    assert lines == list(read_lines("alone"))
    assert len(lines) == len(list(read_lines(given[0])))


@pytest.mark.usefixtures("without_ray")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["translate", "RUN", "--input", "no/*"], "no/*: no file matches this pattern"),
        (["translate", "MISSING", "--input", "text"], "MISSING: does not exist; workers open the folders of models"),
        (["translate", "loop", "--input", "text"], "loop: does not exist; workers open the folders of models"),
        (["score", "RUN", "--input", "text"], "text: a file of pairs is .csv, .tsv, .jsonl"),
        (
            ["score", "RUN", "--input", "text", "--target", "text", "other"],
            "--input matches 1 files and --target 2; the k-th of one belongs to the k-th of the other",
        ),
        (["rescore", "--input", "text"], "--model, --reverse, --lm or --length is required"),
        (["align", "RUN", "--input", "x.tsv", "--symmetrize", "union"], "--symmetrize requires a run of the opposite"),
    ],
)
def test_bad_input_is_told_in_one_line(
    words: list[str],
    message: str,
    light: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("text", "other", "x.tsv"):
        Path(name).write_text("a\n")
    Path("loop").symlink_to("loop")
    words = [str(light) if word == "RUN" else word for word in words]
    assert main(["cluster", *words, "--output", "out"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.usefixtures("without_ray")
def test_the_folder_of_the_inputs_is_no_output_folder(
    light: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text("a\n")
    assert main(["cluster", "translate", str(light), "--input", f"{tmp_path}/text", "--output", str(tmp_path)]) == 2
    assert f"holds the input {tmp_path}/text; give another folder" in capsys.readouterr().err


def test_a_worker_is_plain_python(light: Path) -> None:
    """What the documentation shows for other schedulers."""
    code = (
        "import sys; from dragoman.cluster.worker import ShardWorker;"
        f"worker = ShardWorker('translate', {{'runs': [{str(light)!r}]}});"
        "print(worker(['ab c', '']).lines, 'ray' in sys.modules, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "['AB C', ''] False False\n", done.stderr
    assert ShardWorker("translate", {"runs": [str(light)]}, {"search": {"beam": 1}})(["d"]).lines == ["D"]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:1", "--address 127.0.0.1:1: no Ray cluster answers there"),
        ("nobody", "--address nobody: give HOST:PORT of a running Ray cluster, or auto"),
    ],
)
def test_an_address_where_nobody_listens_is_refused(address: str, message: str) -> None:
    ray_pool = pytest.importorskip("dragoman.cluster.ray_pool", reason="Ray is not installed (extra `cluster`)")
    with pytest.raises(ConfigError, match=message), ray_pool.connected(address, None):
        pass


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc to find the processes of workers")
def test_ray_goes_on_when_a_worker_is_killed_and_leaves_no_process(light: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed (extra `cluster`)")
    texts = tmp_path / "in"
    texts.mkdir()
    for name in ("a.gz", "b"):
        write_lines(texts / name, [("ab c", "d", "ef a")[number % 3] for number in range(3000)])
    words = [str(light), "--input", f"{texts}/*", "--output", str(tmp_path / "out"), "--workers", "1", "--beam", "2"]
    command = [sys.executable, "-m", "dragoman", "cluster", "translate", *words]
    driver = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        journals, deadline = tmp_path / "out" / "cluster-unfinished", time.monotonic() + 100
        while not (journals.exists() and list(journals.iterdir())) and time.monotonic() < deadline:
            assert driver.poll() is None, driver.stderr.read() if driver.stderr else ""
            time.sleep(0.05)
        [actor] = [process for process, name in session_processes(driver.pid).items() if "Actor" in name]
        os.kill(actor, signal.SIGKILL)
        output, error = driver.communicate(timeout=100)
    finally:
        driver.kill()
    assert driver.returncode == 0, error
    assert "a worker ended" in error
    assert "6,000 lines computed" in error
    assert output == ""
    for name in ("a.gz", "b"):
        assert list(read_lines(tmp_path / "out" / name)) == [line.upper() for line in read_lines(texts / name)]
    assert not (tmp_path / "out" / "failed.jsonl").exists()
    assert session_processes(driver.pid) == {}
