from __future__ import annotations

import errno
import io
import json
import math
import os
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

import pytest

from dragoman.errors import InputError, RunError
from dragoman.progress import Console
from dragoman.training.log import EventFile, Moment, TrainingLog, read_log

MOMENT = Moment(seconds=12.3456, update=50, epoch=1.25, left=3725.0)
MEASURES = {"loss": 2.5, "perplexity": 10.5, "tokens_per_second": 4321.0, "rate": 1e-3, "gradient_norm": 0.75}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def make_log(folder: Path, screen: io.StringIO | None = None, quiet: bool = False) -> TrainingLog:
    console = Console(quiet=quiet, stream=screen or io.StringIO())
    return TrainingLog(folder / "log.jsonl", folder / "tensorboard", console)


def test_every_measurement_is_a_line_with_its_moment(tmp_path: Path) -> None:
    with make_log(tmp_path) as log:
        log.train(MOMENT, MEASURES)
        log.validation(MOMENT, {"perplexity": 9.5, "bleu": 31.25}, best=True)
        log.event(MOMENT, "collapse", "übel")
    train, validation, event = read_log(tmp_path / "log.jsonl")
    moment = {"seconds": 12.346, "update": 50, "epoch": 1.25}
    for record in (train, validation, event):
        assert datetime.fromisoformat(record.pop("time")).tzinfo is not None
    assert train == {"kind": "train", **moment, **MEASURES}
    assert validation == {"kind": "validation", **moment, "perplexity": 9.5, "bleu": 31.25, "best": True}
    assert event == {"kind": "event", **moment, "name": "collapse", "text": "übel"}


def test_a_line_is_on_disk_as_soon_as_it_is_written(tmp_path: Path) -> None:
    with make_log(tmp_path) as log:
        log.event(MOMENT, "a", "b")
        assert len(read_log(tmp_path / "log.jsonl")) == 1


def test_a_full_disk_is_a_clear_error(tmp_path: Path, full_disk: Callable[..., AbstractContextManager[None]]) -> None:
    log = make_log(tmp_path)
    log.event(MOMENT, "a", "b")
    whole = log.size
    with full_disk(free=whole + 10), pytest.raises(InputError, match=re.escape(f"{tmp_path / 'log.jsonl'}: cannot be")):
        log.event(MOMENT, "c", "d")
    with log:  # closing writes no more
        assert log.size == whole + 10
    assert [record["name"] for record in read_log(tmp_path / "log.jsonl")] == ["a"]


def test_numbers_that_are_not_finite_are_null(tmp_path: Path) -> None:
    with make_log(tmp_path) as log:
        log.validation(MOMENT, {"perplexity": math.inf}, best=False)
    line = (tmp_path / "log.jsonl").read_text()
    assert json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))["perplexity"] is None


def test_what_came_after_the_resumed_state_is_cut(tmp_path: Path) -> None:
    with make_log(tmp_path) as log:
        log.event(MOMENT, "kept", "")
        size = log.size
        log.event(MOMENT, "cut", "")
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"half a li')
    with make_log(tmp_path) as log:
        log.truncate(size)
        log.event(MOMENT, "new", "")
        assert log.size == (tmp_path / "log.jsonl").stat().st_size
    assert [record["name"] for record in read_log(tmp_path / "log.jsonl")] == ["kept", "new"]


def test_cutting_a_log_that_is_shorter_already_changes_nothing(tmp_path: Path) -> None:
    with make_log(tmp_path) as log:
        log.event(MOMENT, "kept", "")
        log.truncate(10**6)
    assert len(read_log(tmp_path / "log.jsonl")) == 1


def test_a_last_line_cut_by_a_kill_is_passed_over(tmp_path: Path) -> None:
    record = {"kind": "train", "update": 1, "seconds": 0.5, "epoch": 1.0, "loss": None}
    (tmp_path / "log.jsonl").write_text(f'{json.dumps(record)}\n{{"kin')
    assert read_log(tmp_path / "log.jsonl") == [record]


@pytest.mark.parametrize("change", [{"update": None}, {"update": 1.5}, {"loss": "low"}, {"kind": []}, {"seconds": {}}])
def test_a_damaged_line_is_named(change: dict[str, object], tmp_path: Path) -> None:
    record = {"kind": "train", "update": 1, "seconds": 0.5, "epoch": 1.0, "loss": None}
    (tmp_path / "log.jsonl").write_text(f"{json.dumps(record)}\n{json.dumps({**record, **change})}\n")
    with pytest.raises(RunError, match=re.escape("log.jsonl:2: not a record of a training")):
        read_log(tmp_path / "log.jsonl")


def test_without_a_terminal_there_are_plain_lines(tmp_path: Path) -> None:
    screen = io.StringIO()
    with make_log(tmp_path, screen) as log:
        log.advance(0.5)
        log.train(MOMENT, MEASURES)
        log.validation(MOMENT, {"perplexity": 9.5, "bleu": 31.25}, best=True)
    assert screen.getvalue() == (
        "epoch 1.25  update 50  loss 2.500  perplexity 10.50  4321 tokens/s  rate 1.00e-03  left 1:02:05\n"
        "epoch 1.25  update 50  dev: perplexity 9.50  bleu 31.25  (best)\n"
    )


def test_on_a_terminal_there_is_a_bar_and_lines_above_it(tmp_path: Path) -> None:
    screen = Terminal()
    with make_log(tmp_path, screen) as log:
        log.train(MOMENT, MEASURES)
        log.advance(0.5)
        log.advance(1.2)
        log.validation(MOMENT, {"perplexity": 9.5}, best=False)
    shown = screen.getvalue()
    assert re.search(r"100% \|.*\| epoch 1.25  update 50  loss 2.500", shown)
    assert "epoch 1.25  update 50  dev: perplexity 9.50\n" in shown
    assert "(best)" not in shown


def test_quiet_shows_warnings_only(tmp_path: Path) -> None:
    for screen in (io.StringIO(), Terminal()):
        with make_log(tmp_path, screen, quiet=True) as log:
            log.train(MOMENT, MEASURES)
            log.validation(MOMENT, {"perplexity": 9.5}, best=False)
            log.event(MOMENT, "resumed", "resumed")
            log.event(MOMENT, "collapse", "all alike", warning=True)
        assert screen.getvalue() == "warning: all alike\n"


def test_nobody_knows_yet_how_long_it_takes(tmp_path: Path) -> None:
    screen = io.StringIO()
    with make_log(tmp_path, screen) as log:
        log.train(MOMENT._replace(left=None), MEASURES)
        log.train(MOMENT._replace(left=59.6), MEASURES)
    assert [line.rpartition("left ")[2] for line in screen.getvalue().splitlines()] == ["?", "1:00"]


def test_tensorboard_gets_the_same_numbers(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with make_log(tmp_path) as log:
        log.open_tensorboard(update=0)
        log.train(MOMENT, MEASURES)
        log.validation(MOMENT, {"bleu": 31.25}, best=True)
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [(event.step, event.value) for event in events.Scalars("train/loss")] == [(50, 2.5)]
    assert [(event.step, event.value) for event in events.Scalars("dev/bleu")] == [(50, 31.25)]


def test_without_tensorboard_there_is_no_such_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard.summary.writer.record_writer", None)
    with make_log(tmp_path) as log:
        log.open_tensorboard(update=0)
        log.train(MOMENT, MEASURES)
    assert not (tmp_path / "tensorboard").exists()


def test_a_log_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{tmp_path}/none/log.jsonl: cannot be written"):
        make_log(tmp_path / "none")


def test_a_fault_of_the_disk_under_tensorboard_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with make_log(tmp_path) as log:
        log.open_tensorboard(update=0)
        monkeypatch.setattr(EventFile, "scalar", full)
        with pytest.raises(InputError, match="tensorboard: cannot be written: No space left on device"):
            log.train(MOMENT, MEASURES)
