"""Training measurements, written to log.jsonl for programs, to TensorBoard for curves, and to the console.

RUN/log.jsonl has one JSON object a line. Each has `kind`, `time` (UTC), `seconds` (of training so far; the time between
a stop and a resumption is not counted), `update` and `epoch` (passes over the data, with fraction); then, by kind:

    train        loss (the objective, label smoothing included, nats per target token), perplexity (from the likelihood
                 without smoothing), tokens_per_second (target tokens; validation not counted), rate, gradient_norm
                 (mean before clipping), with guided alignment its loss (alignment_loss, not weighted, nats per linked
                 target position): all over the updates since the last record of this kind
    validation   perplexity, bleu, chrf, accuracy (those that were measured), best (whether it is the best so far)
    average      the same for the mean of the weights of several validations, and updates: which ones
    event        name, text: a message for the user

Every target token count includes EOS. A number that is not finite is null. A record survives a kill as soon as it is
written, and a power failure from the next saved state on; a resumed run removes the records that came after the state
it resumes from.

TensorBoard's own writer hands records to a thread, which on a full disk prints a traceback and may leave the program
waiting for it for ever. Here a record is written before the call returns.
"""

from __future__ import annotations

import json
import math
import os
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import msgspec

from dragoman.errors import RunError
from dragoman.progress import Console
from dragoman.stored_files import decode_json, read_regular, require_regular
from dragoman.text.temporary import writing


class Moment(NamedTuple):
    """The time of a measurement."""

    seconds: float
    update: int
    epoch: float
    left: float | None
    """Estimated seconds to the end; None until there is a pace to estimate from."""


class _Record(msgspec.Struct):
    """What every record has; values of other keys are for people."""

    kind: str
    update: int
    seconds: float
    epoch: float
    loss: float | None = None
    perplexity: float | None = None
    bleu: float | None = None
    chrf: float | None = None
    accuracy: float | None = None


class TrainingLog:
    """Writes measurements to log.jsonl, TensorBoard and the console; a context manager.

    Raises:
        InputError: one of the files cannot be written.
    """

    def __init__(self, path: Path, tensorboard: Path, console: Console) -> None:
        self._path = path
        self._tensorboard_folder = tensorboard
        self._console = console
        with writing(path):
            if path.exists():
                require_regular(path)  # opening a FIFO would wait for its reader
            self._file = open(path, "ab", buffering=0)  # noqa: SIM115
        self._events: EventFile | None = None

    def __enter__(self) -> TrainingLog:
        self._console.open_bar()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._console.close_bar()
        with suppress(OSError):  # everything is written already, or an error has been raised
            self._file.close()
        if self._events is not None:
            with suppress(OSError):
                self._events.close()

    def move(self, path: Path, tensorboard: Path) -> None:
        """Name the files by their new paths: the run has been renamed, and the open file with it."""
        self._path, self._tensorboard_folder = path, tensorboard

    @property
    def size(self) -> int:
        """Bytes of log.jsonl so far."""
        return self._file.tell()

    def truncate(self, size: int) -> None:
        """Truncate log.jsonl to `size` bytes."""
        if self._file.tell() > size:
            with writing(self._path):
                os.ftruncate(self._file.fileno(), size)
                self._file.seek(0, os.SEEK_END)

    def sync(self) -> None:
        """Let the records so far survive a power failure.

        Raises:
            InputError: the disk has a fault.
        """
        with writing(self._path):
            os.fsync(self._file.fileno())

    def open_tensorboard(self, update: int) -> None:
        """Open TensorBoard's files, if it is installed, and purge what an earlier attempt wrote after `update`."""
        with suppress(ImportError), writing(self._tensorboard_folder):
            self._events = EventFile(self._tensorboard_folder, update + 1)

    def train(self, moment: Moment, measures: Mapping[str, float]) -> None:
        """Write a `train` record; its `measures` are listed at the head of this module."""
        self._write("train", moment, measures)
        self._plot("train", moment.update, measures)
        alignment = f"alignment {measures['alignment_loss']:.3f}  " if "alignment_loss" in measures else ""
        self._console.status(
            f"epoch {moment.epoch:.2f}  update {moment.update}  loss {measures['loss']:.3f}  {alignment}"
            f"perplexity {measures['perplexity']:.2f}  {measures['tokens_per_second']:.0f} tokens/s  "
            f"rate {measures['rate']:.2e}  left {_duration(moment.left)}"
        )

    def validation(self, moment: Moment, results: Mapping[str, float], *, best: bool) -> None:
        """Write a `validation` record."""
        self._write("validation", moment, {**results, "best": best})
        self._plot("dev", moment.update, results)
        self._console.info(f"epoch {moment.epoch:.2f}  update {moment.update}  dev: {_shown(results, best)}")

    def average(self, moment: Moment, results: Mapping[str, float], updates: Sequence[int], *, best: bool) -> None:
        """Write an `average` record: the dev results of the mean of the weights after `updates`."""
        self._write("average", moment, {**results, "updates": list(updates), "best": best})
        listed = ", ".join(map(str, updates))
        self._console.info(f"mean of the weights after updates {listed}  dev: {_shown(results, best)}")

    def event(self, moment: Moment, name: str, text: str, *, warning: bool = False, printed: bool = True) -> None:
        """Write an `event` record, and print its text if `printed`."""
        self._write("event", moment, {"name": name, "text": text})
        if printed:
            (self._console.warning if warning else self._console.info)(text)

    def advance(self, fraction: float) -> None:
        """Move the progress bar to a share of the training, 0 to 1."""
        self._console.advance_bar(fraction)

    def _write(self, kind: str, moment: Moment, values: Mapping[str, Any]) -> None:
        record = {
            "kind": kind,
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "seconds": round(moment.seconds, 3),
            "update": moment.update,
            "epoch": round(moment.epoch, 4),
            **{name: _finite(value) for name, value in values.items()},
        }
        line = json.dumps(record, ensure_ascii=False).encode() + b"\n"
        with writing(self._path):
            while line:  # a nearly full disk takes a part of it, and the next attempt raises
                line = line[self._file.write(line) :]

    def _plot(self, group: str, update: int, values: Mapping[str, float]) -> None:
        if self._events is not None:
            with writing(self._tensorboard_folder):
                for name, value in values.items():
                    self._events.scalar(f"{group}/{name}", value, update)


def read_log(path: Path) -> list[dict[str, Any]]:
    """The records of a log.jsonl, oldest first; an incomplete last line (of a killed process) is skipped.

    Raises:
        RunError: it cannot be read, or any other line is not such a record.
    """
    records = []
    try:
        lines = read_regular(path).split(b"\n")
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}; take it from a copy of the run folder") from None
    for number, line in enumerate(lines[:-1], 1):
        try:
            decode_json(line, _Record)
            records.append(decode_json(line, dict[str, Any]))
        except ValueError as error:
            raise RunError(f"{path}:{number}: not a record of a training ({error}); remove the line to go on") from None
    return records


def _shown(results: Mapping[str, float], best: bool) -> str:
    return "  ".join(f"{name} {value:.2f}" for name, value in results.items()) + ("  (best)" if best else "")


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


class EventFile:
    """Writes scalars to a new file events.out.tfevents.* in a folder.

    Raises:
        ImportError: TensorBoard is not installed.
        OSError (also in the methods): the file cannot be written.
    """

    def __init__(self, folder: Path, first_step: int) -> None:
        """`first_step`: TensorBoard forgets what earlier files of the folder have for this step and later ones."""
        from tensorboard.compat.proto.event_pb2 import SessionLog
        from tensorboard.summary.writer.record_writer import RecordWriter

        folder.mkdir(exist_ok=True)
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}"
        self._file = open(folder / name, "ab")  # noqa: SIM115
        self._records: Any = RecordWriter(self._file)
        self._write(file_version="brain.Event:2")
        self._write(step=first_step, session_log=SessionLog(status=SessionLog.START))

    def scalar(self, tag: str, value: float, step: int) -> None:
        """Write a value of a curve."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        self._write(step=step, summary=Summary(value=[Summary.Value(tag=tag, simple_value=value)]))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, **fields: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        self._records.write(Event(wall_time=time.time(), **fields).SerializeToString())
        self._file.flush()
