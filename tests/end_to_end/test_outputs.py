"""Output files: an old file is kept until the new one is complete, and only regular files are replaced."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dragoman.cli.main import main
from tests.end_to_end.conftest import Corpus

Printed = pytest.CaptureFixture[str]
BAD = b"ab\nc\n\xff\nd\n"


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """Input whose third line is not UTF-8."""
    path = tmp_path / "bad"
    path.write_bytes(BAD)
    return path


def test_an_old_translation_survives_bad_input(run_folder: Path, bad: Path, tmp_path: Path, capsys: Printed) -> None:
    out = tmp_path / "ex"
    out.write_text("OLD\n")
    assert main(["translate", str(run_folder), "-i", str(bad), "-o", str(out), "--chunk-size", "1"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"dragoman: error: {bad}:3: byte 0xff at position 1 is not UTF-8")
    assert said.endswith(f"; the output so far is in {out}.partial; {out} is unchanged\n")
    assert out.read_text() == "OLD\n"
    assert len((tmp_path / "ex.partial").read_text().splitlines()) == 2


def test_partial_outputs_of_translate_are_kept(run_folder: Path, bad: Path, tmp_path: Path, capsys: Printed) -> None:
    words = ["translate", str(run_folder), "-i", str(bad), "--chunk-size", "1", "--replace-unk"]
    options = {"-o": "text", "--alignments": "links", "--attention": "weights.npz", "--unk-log": "unknown"}
    for option, name in options.items():
        (tmp_path / name).write_text("OLD")
        words += [option, str(tmp_path / name)]
    assert main(words) == 2
    assert all((tmp_path / name).read_text() == "OLD" for name in options.values())
    said = capsys.readouterr().err
    for name in ("text", "links", "weights.npz"):
        assert f"the output so far is in {tmp_path / name}.partial" in said
    assert len(zipfile.ZipFile(tmp_path / "weights.npz.partial").namelist()) == 2
    assert not (tmp_path / "unknown.partial").exists(), "an empty file was kept"


def test_a_failure_before_the_first_line_keeps_no_file(run_folder: Path, tmp_path: Path, capsys: Printed) -> None:
    bad, out = tmp_path / "bad", tmp_path / "new.npz"
    bad.write_bytes(b"a\n\xff\n")
    words = ["translate", str(run_folder), "-i", str(bad), "-o", str(tmp_path / "new"), "--attention", str(out)]
    assert main(words) == 2
    assert os.listdir(tmp_path) == ["bad"]
    assert "output so far" not in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["score", "align"])
def test_old_scores_and_links_survive_bad_input(
    verb: str, run_folder: Path, bad: Path, tmp_path: Path, capsys: Printed
) -> None:
    good, out = tmp_path / "good", tmp_path / "out"
    good.write_bytes(BAD.replace(b"\xff", b"x"))
    out.write_text("OLD\n")
    assert main([verb, str(run_folder), str(bad), str(good), "-o", str(out)]) == 2
    assert f"{bad}:3: byte 0xff" in capsys.readouterr().err
    assert out.read_text() == "OLD\n"


@pytest.mark.parametrize(
    "options",
    [
        ("-o", "x", "--alignments", "./x"),
        ("-o", "x", "--attention", "link"),
        ("-o", "-", "--alignments", "/dev/stdout"),
    ],
)
def test_one_file_under_two_names_is_refused_as_two_outputs(
    options: tuple[str, ...], run_folder: Path, tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("x")
    (tmp_path / "in").write_text("ab\n")
    assert main(["translate", str(run_folder), "-i", "in", *options]) == 2
    said = f"dragoman: error: {options[3]}: is given for two outputs; each needs a file of its own\n"
    assert capsys.readouterr().err == said


def test_align_does_not_write_links_and_weights_into_one_file(
    run_folder: Path, corpus: Corpus, tmp_path: Path, capsys: Printed
) -> None:
    out = str(tmp_path / "x.npz")
    words = ["align", str(run_folder), *map(str, corpus.test), "-o", out, "--matrix", f"{tmp_path}/./x.npz"]
    assert main(words) == 2
    assert "is given for two outputs" in capsys.readouterr().err
    assert not os.path.exists(out)


WRITERS: dict[str, Callable[[Path, Corpus, Path], list[str]]] = {
    "translate": lambda run, corpus, out: ["translate", str(run), "-i", str(corpus.test[0]), "-o", str(out)],
    "alignments": lambda run, corpus, out: [
        *("translate", str(run), "-i", str(corpus.test[0]), "--alignments", str(out), "-o", str(out) + ".text")
    ],
    "attention": lambda run, corpus, out: [
        *("translate", str(run), "-i", str(corpus.test[0]), "--attention", str(out), "-o", str(out) + ".text")
    ],
    "score": lambda run, corpus, out: ["score", str(run), *map(str, corpus.test), "-o", str(out)],
    "tree": lambda run, corpus, out: ["tree", str(run), "--text", "ab c", "-o", str(out)],
    "dropped": lambda run, corpus, out: [
        *("train", "--train", *map(str, corpus.train), "--dev", *map(str, corpus.dev), "--preset", "demo"),
        *("--set", "cleaning.max_length=1", "--out", str(out) + ".run", "--dropped", str(out)),
    ],
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_fifo_is_written_through(writer: str, run_folder: Path, corpus: Corpus, tmp_path: Path) -> None:
    fifo = tmp_path / "out"
    os.mkfifo(fifo)
    with ThreadPoolExecutor(1) as beside:
        reading = beside.submit(fifo.read_bytes)
        main([*WRITERS[writer](run_folder, corpus, fifo), "--quiet"])
        if not stat.S_ISFIFO(fifo.stat().st_mode):
            fifo.unlink()
            pytest.fail("the FIFO was replaced by a file")
        assert reading.result(timeout=30)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_keeps_the_old_file_and_the_partial_output(run_folder: Path, tmp_path: Path, number: int) -> None:
    out, kept = tmp_path / "out", tmp_path / "out.partial"
    out.write_text("OLD\n")
    words = ["translate", str(run_folder), "-o", str(out), "--chunk-size", "1", "--threads", "1"]
    command = [sys.executable, "-m", "dragoman", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"ab\nc\nd\n")
        process.stdin.flush()
        for _ in range(600):
            if kept.exists() and kept.stat().st_size:
                break
            time.sleep(0.1)
        process.send_signal(number)
        said = process.stderr.read().decode()
        assert process.wait(timeout=60) == 130
    assert said == (f"dragoman: interrupted; the output so far is in {kept}; {out} is unchanged\n")
    assert out.read_text() == "OLD\n"
