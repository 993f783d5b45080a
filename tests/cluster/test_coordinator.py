"""Files in, files out, through shards and a pool: order, failures, interruptions."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import resource
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman.cluster import coordinator
from dragoman.cluster.coordinator import Coordinator, Progress
from dragoman.cluster.inputs import Inputs, find_inputs
from dragoman.cluster.outputs import open_output_folder
from dragoman.cluster.units import read_phrase_pairs, read_sentences
from dragoman.cluster.verbs import ClusterVerb, Computed, Models
from dragoman.cluster.worker import WorkerPlan, compute_shard
from dragoman.errors import DragomanError, InputError, RunError
from dragoman.progress import Console
from dragoman.text.lines import read_lines, write_lines
from tests.cluster.local_pool import LocalPool, upper_case


def _unused(models: Models, options: object) -> Any:
    raise AssertionError("the worker is given")


VERB = ClusterVerb(read_sentences, lambda line: 1, 7, _unused)
"""Shards of seven lines."""
IDENTITY = {"verb": "translate", "models": {"runs": ["0123"]}, "options": {"beam": 5}, "version": "0"}


def run(
    pattern: object,
    out: Path,
    pool: LocalPool | None = None,
    *,
    identity: dict[str, Any] = IDENTITY,
    verb: ClusterVerb = VERB,
    console: Console | None = None,
) -> Progress | None:
    inputs = [Inputs([file]) for file in find_inputs([str(pattern)])]
    with open_output_folder(out, identity, [one.name for one in inputs]) as folder:
        missing = [one for one in inputs if not folder.is_complete(one, verb)]
        if not missing:
            return None
        return Coordinator(verb, pool or LocalPool(upper_case), folder, console or Console(quiet=True)).run(missing)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Three files of 30, 0 and 21 lines, in different compressions."""
    folder = tmp_path / "in"
    folder.mkdir()
    write_lines(folder / "a.gz", [f"line {number}" for number in range(30)])
    write_lines(folder / "b.zst", [])
    write_lines(folder / "c", [f"word {number}" for number in range(21)])
    return folder


def _failed(out: Path) -> list[dict[str, Any]]:
    path = out / "failed.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def _require_upper_case(texts: Path, out: Path) -> None:
    for path in texts.iterdir():
        assert list(read_lines(out / path.name)) == [line.upper() for line in read_lines(path)]
    assert not list(out.glob(".*"))
    assert not (out / "cluster-unfinished").exists()


def test_each_input_has_an_output_of_its_name_with_its_lines_in_order(texts: Path, tmp_path: Path) -> None:
    summary = run(texts / "*", tmp_path / "out")
    assert summary is not None
    assert (summary.files, summary.lines) == (3, 51)
    _require_upper_case(texts, tmp_path / "out")
    assert _failed(tmp_path / "out") == []


def test_nothing_is_computed_again_when_all_is_there(texts: Path, tmp_path: Path) -> None:
    run(texts / "*", tmp_path / "out")
    assert run(texts / "*", tmp_path / "out") is None
    (tmp_path / "out" / "c").unlink()
    pool = LocalPool(upper_case)
    run(texts / "*", tmp_path / "out", pool)
    assert sum(map(len, pool.computed)) == 21
    _require_upper_case(texts, tmp_path / "out")


def test_a_line_that_fails_is_empty_and_listed(tmp_path: Path) -> None:
    lines = [b"a", b"\xff", b"why?", b"", *(b"x" for _ in range(9))]
    (tmp_path / "text").write_bytes(b"\n".join(lines) + b"\n")
    run(tmp_path / "text", tmp_path / "out")
    assert list(read_lines(tmp_path / "out" / "text")) == ["A", "", "", "", *("X" for _ in range(9))]
    assert _failed(tmp_path / "out") == [
        {"file": "text", "line": 2, "reason": "byte 0xff at position 1 is not UTF-8"},
        {"file": "text", "line": 3, "reason": "ValueError: a question"},
    ]


def test_a_group_that_fails_has_an_empty_line_for_each_of_its_own(tmp_path: Path) -> None:
    rows = [f"{phrase} ||| {target} ||| 1" for phrase in ("why?", "yes") for target in "ab"]
    write_lines(tmp_path / "table", rows)

    def compute(groups: Sequence[Any]) -> list[Computed]:
        if any(phrase == "why?" for phrase, *_ in groups):
            raise ValueError("a question")
        return [Computed(lines) for _, *lines in groups]

    verb = ClusterVerb(read_phrase_pairs, len, 100, _unused)
    run(tmp_path / "table", tmp_path / "out", LocalPool(lambda groups: compute_shard(compute, groups)), verb=verb)
    assert list(read_lines(tmp_path / "out" / "table")) == ["", "", *rows[2:]]
    assert [entry["line"] for entry in _failed(tmp_path / "out")] == [1, 2]
    assert compute_shard(compute, [["why?", *rows[:2]], ["yes", *rows[2:]]]).lines == ["", "", *rows[2:]]


def test_the_line_that_ends_its_worker_is_found_and_listed(texts: Path, tmp_path: Path) -> None:
    run(texts / "*", tmp_path / "out", LocalPool(upper_case, deadly=["line 17"]))
    lines = list(read_lines(tmp_path / "out" / "a.gz"))
    assert lines == [f"LINE {number}" if number != 17 else "" for number in range(30)]
    [entry] = _failed(tmp_path / "out")
    assert (entry["file"], entry["line"]) == ("a.gz", 18)
    assert "its worker ended" in entry["reason"]


def test_workers_that_all_end_stop_the_command_with_a_message(texts: Path, tmp_path: Path) -> None:
    pool = LocalPool(upper_case, deadly=[*(f"line {n}" for n in range(30)), *(f"word {n}" for n in range(21))])
    with pytest.raises(RunError, match=r"workers ended one after the other \(killed\).*--workers"):
        run(texts / "*", tmp_path / "out", pool)


def test_lines_that_all_fail_stop_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_lines(tmp_path / "text", ["why?"] * 7)
    monkeypatch.setattr("dragoman.cluster.worker.ALL_FAIL", 7)
    with pytest.raises(RunError, match="all 7 lines fail, the first with: ValueError: a question"):
        run(tmp_path / "text", tmp_path / "out")


@pytest.mark.parametrize("after", range(8))
def test_an_interrupted_command_does_only_what_is_missing(texts: Path, tmp_path: Path, after: int) -> None:
    def interrupt(computed: int) -> None:
        if computed == after:
            raise KeyboardInterrupt

    pool = LocalPool(upper_case, before=interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(texts / "*", tmp_path / "out", pool)
    again = LocalPool(upper_case)
    run(texts / "*", tmp_path / "out", again)
    assert len(pool.computed) == after
    assert len(pool.computed) + len(again.computed) == 8
    _require_upper_case(texts, tmp_path / "out")


def test_progress_counts_what_an_earlier_command_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_lines(tmp_path / "text", [f"{number} {'x' * 20_000}" for number in range(21)])  # more than is read ahead

    def interrupt(computed: int) -> None:
        if computed == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "text", tmp_path / "out", LocalPool(upper_case, before=interrupt))
    monkeypatch.setattr(coordinator, "INTERVAL", 0.0)
    shown = io.StringIO()
    run(tmp_path / "text", tmp_path / "out", console=Console(stream=shown))
    assert re.fullmatch(
        r"7 lines, 100% of the input done, [\d,.]+ lines a second, 1 workers, about 0.0 s left\n", shown.getvalue()
    )


def _killed_at(pattern: Path, out: Path, renaming: int, *, renamed: bool) -> bool:
    """Run in a process that ends without a word before or after it renames a file; whether it came as far as that."""
    child = os.fork()
    if child == 0:
        rename, left = os.replace, renaming

        def replace(old: Any, new: Any) -> None:
            nonlocal left
            left -= 1
            if left or renamed:
                rename(old, new)
            if not left:
                os._exit(9)

        os.replace = replace  # type: ignore[assignment]
        try:
            run(pattern, out)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.parametrize("renamed", [False, True])
def test_a_kill_at_any_point_loses_nothing(tmp_path: Path, renamed: bool) -> None:
    text = tmp_path / "text"
    write_lines(text, ["why?", *(f"line {number}" for number in range(20))])
    renaming = 1
    while _killed_at(text, out := tmp_path / f"out{renaming}", renaming, renamed=renamed):
        there = len(list(out.glob("cluster-unfinished/text/[0-9]*")))
        pool = LocalPool(upper_case)
        run(text, out, pool)
        assert list(read_lines(out / "text")) == ["", *(f"LINE {number}" for number in range(20))]
        assert _failed(out) == [{"file": "text", "line": 1, "reason": "ValueError: a question"}]
        assert len(pool.computed) == 3 - there
        assert not [path for path in out.rglob("*") if "dragoman" in path.name or "unfinished" in path.name]
        renaming += 1
    assert renaming == 7  # the folder's identity, three shards, the output, its record


def test_a_full_disk_is_told_and_the_same_command_goes_on(texts: Path, tmp_path: Path) -> None:
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    pool = LocalPool(upper_case)

    def fill(computed: int) -> None:
        if computed == 2:
            resource.setrlimit(resource.RLIMIT_FSIZE, (50, hard))

    try:
        with pytest.raises(InputError, match=f"{os.strerror(errno.EFBIG)}; make room and give the same command again"):
            run(texts / "*", tmp_path / "out", LocalPool(upper_case, before=fill))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    run(texts / "*", tmp_path / "out", pool)
    assert 0 < len(pool.computed) < 8
    _require_upper_case(texts, tmp_path / "out")


def _append(path: Path) -> None:
    with path.open("a") as file:
        file.write("more\n")


CHANGES = [(_append, "has changed while"), (Path.unlink, "has disappeared while")]


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_an_input_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, change: Callable[[Path], None], message: str
) -> None:
    text = tmp_path / "text"
    write_lines(text, [f"line {number}" for number in range(100)])
    pool = LocalPool(upper_case, before=lambda computed: change(text) if computed == 3 else None)
    with pytest.raises(InputError, match=f"{text}: {message} the command ran"):
        run(text, tmp_path / "out", pool)
    assert not (tmp_path / "out" / "text").exists()


def test_an_input_that_has_changed_since_its_output_was_made_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("one\ntwo\n")
    run(text, tmp_path / "out")
    os.utime(text, (1, 1))
    assert run(text, tmp_path / "out") is None  # a copy
    text.write_text("one\nTWO\n")
    with pytest.raises(InputError, match=f"{text}: has changed since {tmp_path / 'out' / 'text'} was made of it"):
        run(text, tmp_path / "out")
    (tmp_path / "out" / "text").write_text("")
    with pytest.raises(InputError, match="has 0 bytes where 8 were written; remove it"):
        run(text, tmp_path / "out")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"models": {"runs": ["4567"]}}, r"holds outputs of other models \(runs\)"),
        ({"options": {"beam": 4}}, r"holds outputs of other options \(beam\)"),
        ({"verb": "score"}, "holds outputs of `dragoman cluster translate`"),
        ({"version": "1"}, "holds outputs of version 0 of dragoman"),
    ],
)
def test_other_outputs_are_not_mixed(texts: Path, tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    run(texts / "*", tmp_path / "out")
    with pytest.raises(InputError, match=f"{message}; give a new folder"):
        run(texts / "*", tmp_path / "out", identity={**IDENTITY, **changed})


def test_a_folder_with_other_files_is_refused(texts: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not empty, and was not made by `dragoman cluster` \(a.gz\)"):
        run(texts / "a.gz", texts)
    with pytest.raises(InputError, match="is a file; give a folder"):
        run(texts / "a.gz", texts / "c")


def test_two_commands_on_one_folder_are_refused(texts: Path, tmp_path: Path) -> None:
    def again(computed: int) -> None:
        with pytest.raises(RunError, match="is writing to this folder; wait until it has ended"):
            run(texts / "*", tmp_path / "out")

    run(texts / "*", tmp_path / "out", LocalPool(upper_case, before=again))
    _require_upper_case(texts, tmp_path / "out")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["1/text", "2/text"], "text: two input files have this name"),
        (["1/failed.jsonl"], "this name is taken by a record of the folder; rename the input file"),
    ],
)
def test_names_that_outputs_cannot_have_are_refused(tmp_path: Path, names: Sequence[str], message: str) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("line\n")
    with pytest.raises(DragomanError, match=message):
        run(tmp_path / "*" / "*", tmp_path / "out")


def test_warnings_of_workers_are_told_with_their_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    import logging

    caplog.set_level(logging.WARNING, logger="dragoman")  # --quiet of an earlier test has set that of all

    def warn(lines: Sequence[str]) -> Any:
        def compute(values: Sequence[str]) -> list[Computed]:
            logging.getLogger("dragoman.some.module").warning("%s is long", values[0])
            return [Computed([value]) for value in values]

        return compute_shard(compute, lines)

    write_lines(tmp_path / "text", [f"{number}" for number in range(8)])
    run(tmp_path / "text", tmp_path / "out", LocalPool(warn))
    assert f"{tmp_path / 'text'}, lines from 8: 7 is long" in capsys.readouterr().err


def test_the_plan_names_the_files_of_the_model(tmp_path: Path) -> None:
    model = tmp_path / "model"
    (model / "text").mkdir(parents=True)
    (model / "encoder.onnx").write_text("1")
    plan = WorkerPlan("translate", {"runs": [str(model)]}, {})
    before, opener = plan.identity(), plan.opener()
    (model / "encoder.onnx").write_text("2")
    assert plan.identity()["models"] != before["models"]
    with pytest.raises(RunError, match="is another model on the machine of a worker"):
        opener()


def test_no_more_shards_are_read_than_there_is_room_for(tmp_path: Path) -> None:
    text = tmp_path / "text"
    write_lines(text, [f"line {number}" for number in range(200)])
    pool = LocalPool(upper_case)
    waiting: list[int] = []
    pool._before = lambda computed: waiting.append(len(pool._tasks))
    run(text, tmp_path / "out", pool)
    assert max(waiting) < 4
    assert coordinator.MAX_LOSSES >= 2
