"""Measurements, in three places: log.jsonl for programs, TensorBoard for curves, standard error for whoever watches.

RUN/log.jsonl has one JSON object a line. Each has `kind`, `time` (UTC), `seconds` (of training so far, pauses between
resumed parts left out), `update` and `epoch` (passes done, with fraction); then, by kind:

    train        loss (what is minimised, label smoothing included, nats per target token), perplexity (of the plain
                 likelihood), tokens_per_second (target tokens; validation not counted), rate, gradient_norm (mean
                 before clipping), with guided attention its loss (alignment_loss, not weighted, nats per linked
                 target position): all over the updates since the last such line
    validation   perplexity, bleu, chrf (those that were measured), best (whether it is the best so far)
    average      the same of the mean of the weights of several validations, and updates: which ones
    event        name, text: what a person ought to know

Every target token count includes the end of sentence. A number that is not finite is null. A line is on disk as
soon as it is written; a resumed run takes away the lines that came after the state it resumes from.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from tqdm import tqdm

from dragoman.errors import InputError, RunError

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class Moment(NamedTuple):
    """When something was measured."""

    seconds: float
    update: int
    epoch: float
    left: float | None
    """Seconds to the end, if the pace stays; None while nobody can tell."""


class Console:
    """What is said on standard error: a progress bar on a terminal, plain lines elsewhere, only warnings if quiet."""

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._bar: tqdm[Any] | None = None
        if self._stream.isatty() and not quiet:
            self._bar = tqdm(
                total=1.0, bar_format="{percentage:3.0f}% |{bar}| {desc}", file=self._stream, dynamic_ncols=True
            )

    def advance(self, fraction: float) -> None:
        """Move the bar; it repaints at most ten times a second."""
        if self._bar is not None:
            self._bar.update(min(1.0, fraction) - self._bar.n)

    def measured(self, text: str) -> None:
        """A training measurement: beside the bar, or a line."""
        if self._bar is not None:
            self._bar.set_description_str(text)
        else:
            self.say(text)

    def say(self, text: str) -> None:
        """A line, above the bar."""
        if not self._quiet:
            self._line(text)

    def warn(self, text: str) -> None:
        """A line that is shown even if quiet."""
        self._line(f"warning: {text}")

    def close(self) -> None:
        """Leave the bar as it stands and the cursor below it."""
        if self._bar is not None:
            self._bar.close()

    def _line(self, text: str) -> None:
        if self._bar is not None:
            self._bar.write(text, file=self._stream)
        else:
            print(text, file=self._stream, flush=True)


class TrainingLog:
    """The three places together; a context manager. Where one cannot be written to, InputError says which and why."""

    def __init__(self, path: Path, tensorboard: Path, console: Console) -> None:
        self._path = path
        self._tensorboard_folder = tensorboard
        self._console = console
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115
        self._writer: SummaryWriter | None = None

    def __enter__(self) -> TrainingLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._console.close()
        self._file.close()
        if self._writer is not None:
            with suppress(OSError):  # closing flushes; on a full disk there is another error to report
                self._writer.close()

    @property
    def size(self) -> int:
        """Bytes of log.jsonl so far."""
        return self._file.tell()

    def cut(self, size: int) -> None:
        """Take away what was written after the log had `size` bytes."""
        if self._file.tell() > size:
            os.ftruncate(self._file.fileno(), size)
            self._file.seek(0, os.SEEK_END)

    def begin(self, update: int) -> None:
        """Open TensorBoard's files, if it is installed; it drops what an earlier attempt wrote after `update`."""
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            return
        self._writer = SummaryWriter(str(self._tensorboard_folder), purge_step=update + 1)

    def train(self, moment: Moment, measures: Mapping[str, float]) -> None:
        """A training measurement; `measures` as the module's docstring has them."""
        self._write("train", moment, measures)
        self._plot("train", moment.update, measures)
        alignment = f"alignment {measures['alignment_loss']:.3f}  " if "alignment_loss" in measures else ""
        self._console.measured(
            f"epoch {moment.epoch:.2f}  update {moment.update}  loss {measures['loss']:.3f}  {alignment}"
            f"perplexity {measures['perplexity']:.2f}  {measures['tokens_per_second']:.0f} tokens/s  "
            f"rate {measures['rate']:.2e}  left {_duration(moment.left)}"
        )

    def validation(self, moment: Moment, results: Mapping[str, float], *, best: bool) -> None:
        """What the dev set said."""
        self._write("validation", moment, {**results, "best": best})
        self._plot("dev", moment.update, results)
        self._console.say(f"epoch {moment.epoch:.2f}  update {moment.update}  dev: {_shown(results, best)}")

    def average(self, moment: Moment, results: Mapping[str, float], updates: Sequence[int], *, best: bool) -> None:
        """What the dev set said of the mean of the weights of several validations."""
        self._write("average", moment, {**results, "updates": list(updates), "best": best})
        listed = ", ".join(map(str, updates))
        self._console.say(f"mean of the weights after updates {listed}  dev: {_shown(results, best)}")

    def event(self, moment: Moment, name: str, text: str, *, warning: bool = False) -> None:
        """Something a person ought to know."""
        self._write("event", moment, {"name": name, "text": text})
        (self._console.warn if warning else self._console.say)(text)

    def advance(self, fraction: float) -> None:
        """An update is done."""
        self._console.advance(fraction)

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
        with _naming(self._path):
            while line:  # on a disk that is nearly full a part is written, and the next attempt says so
                line = line[self._file.write(line) :]

    def _plot(self, group: str, update: int, values: Mapping[str, float]) -> None:
        if self._writer is not None:
            with _naming(self._tensorboard_folder):
                for name, value in values.items():
                    self._writer.add_scalar(f"{group}/{name}", value, update)


def read_log(path: Path) -> list[dict[str, Any]]:
    """The records of a log.jsonl, oldest first; a last line that a killed process left unfinished is passed over.

    Raises:
        RunError: another line is not a record.
    """
    records = []
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        try:
            records.append(json.loads(line))
        except ValueError:
            raise RunError(f"{path}:{number}: not a JSON object; take the line out to go on") from None
    return records


def _shown(results: Mapping[str, float], best: bool) -> str:
    return "  ".join(f"{name} {value:.2f}" for name, value in results.items()) + ("  (best)" if best else "")


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
