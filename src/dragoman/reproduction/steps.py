"""Steps: commands that write one output each, run side by side, and run again only where they have not succeeded.

Each step is a process of its own with one thread. Its record, `steps/NAME.json` in the folder of the experiment, holds
the command, the outcome and the seconds that it took. A step whose record says that it succeeded is not run again, even
if its output was deleted after all steps that read it had succeeded; one that was interrupted or failed is. A step that
needs another that failed is blocked.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from dragoman.errors import RunError
from dragoman.progress import Console
from dragoman.report.facts import machine_name
from dragoman.text.lines import replace_file

PROGRAM = (sys.executable, "-m", "dragoman")
"""The program that runs the words of a step."""
RUNS_A_MODEL = "--threads"
"""Option that the commands have that run a model: they are also given the device."""
POLL_SECONDS = 0.1
"""Time between looks at the running processes."""
STOP_SECONDS = 60.0
"""Time that processes have to save their state after an interruption."""


@dataclass(frozen=True)
class Step:
    """A `dragoman` command."""

    name: str
    command: tuple[str, ...]
    """Its words after `dragoman`."""
    output: Path
    """The file or folder that exists once it succeeded, relative to the folder in which the command runs."""
    needs: tuple[str, ...] = ()
    """Names of the steps whose outputs it reads."""
    resumable: tuple[str, ...] = ()
    """The command that continues a training whose run folder, that of `output`, has training states; () for others."""


@dataclass(frozen=True)
class Outcome:
    """How a step ended."""

    state: str
    """done, failed, or blocked by a step that failed; in the record of one that was interrupted, begun."""
    seconds: float
    message: str = ""
    """The last line on standard error of a step that failed."""
    machine: str = ""
    """The machine on which it ran; "" where an older record does not name it."""


def run_steps(
    steps: Sequence[Step], folder: Path, *, jobs: int, console: Console, device: str = "auto"
) -> dict[str, Outcome]:
    """Run the steps in their order, up to `jobs` at a time, and return the outcome of each. Commands that run a model
    are given the device. The device is not recorded, as the outputs of some steps may come from another machine.

    An interruption stops the running processes as SIGTERM does, so that trainings save their state, and is raised
    again when they have ended.

    Raises:
        RunError: an output exists that a step of another command made, or that no step made.
    """
    (folder / "steps").mkdir(parents=True, exist_ok=True)
    outcomes = steps_done(steps, folder)
    waiting = [step for step in steps if step.name not in outcomes]
    progress = _Progress(console, len(steps), len(outcomes))
    running: list[_Process] = []
    try:
        while waiting or running:
            for step in waiting.copy():
                needed = [outcomes[name].state if name in outcomes else "" for name in step.needs]
                if not set(needed) <= {"done", ""}:
                    waiting.remove(step)
                    outcomes[step.name] = Outcome("blocked", 0.0, "a step that it needs failed")
                    progress.ended(step, outcomes[step.name])
                elif "" not in needed and len(running) < jobs:
                    waiting.remove(step)
                    running.append(_Process(step, folder, device))
            for process in running.copy():
                outcome = process.poll()
                if outcome is not None:
                    outcomes[process.step.name] = outcome
                    running.remove(process)
                    progress.ended(process.step, outcome)
            if running:
                time.sleep(POLL_SECONDS)
    except BaseException:
        for process in running:  # all are asked to save and end at the same time
            with suppress(ProcessLookupError):
                process.process.send_signal(signal.SIGTERM)
        for process in running:
            process.wait()
        raise
    return outcomes


def is_done(outcomes: Mapping[str, Outcome], step: str) -> bool:
    """Whether a step succeeded."""
    return step in outcomes and outcomes[step].state == "done"


def steps_done(steps: Sequence[Step], folder: Path, *, without_weights: bool = False) -> dict[str, Outcome]:
    """The outcomes of the steps that need not be run any more.

    Args:
        without_weights: count trainings whose weights are gone, too, as for pages that show what they were.

    Raises:
        RunError: an output exists that a step of another command made, or that no step made.
    """
    outcomes: dict[str, Outcome] = {}
    earlier = {step.name: _record(folder / "steps", step.name) for step in steps}
    for step in steps:
        _require_own_output(step, earlier[step.name], folder)
    for step in reversed(steps):  # those that need a step come after it
        record = earlier[step.name]
        if record is None or record.outcome.state != "done":
            continue
        # An output is no longer needed where steps read it and all of them are done.
        readers = [other.name for other in steps if step.name in other.needs]
        spent = bool(readers) and all(name in outcomes for name in readers)
        if (folder / step.output).exists() or (without_weights and step.resumable) or spent:
            outcomes[step.name] = record.outcome
    return outcomes


def on_device(command: tuple[str, ...], device: str) -> tuple[str, ...]:
    """A command on a device other than the one that it would choose; only commands that run a model have one."""
    return command if device == "auto" or RUNS_A_MODEL not in command else (*command, "--device", device)


class _Process:
    """A running step."""

    def __init__(self, step: Step, folder: Path, device: str) -> None:
        self.step = step
        self._device = device
        self._path = folder / "steps" / f"{step.name}.json"
        self._output = folder / step.output
        self._start, self._before = time.monotonic(), 0.0
        command = step.command
        if step.resumable:
            record, run = _record(folder / "steps", step.name), self._output.parent
            self._before = record.outcome.seconds if record else 0.0
            if record and record.outcome.state == "done" and not (run / "run.json").exists():
                # A finished training of which these were kept: without its mark `train` would take it for another's.
                for name in ("config.yaml", "log.jsonl"):
                    (run / name).unlink(missing_ok=True)
            if (run / "checkpoints").is_dir():
                command = step.resumable
            elif (run / "run.json").exists():  # without its states
                command = (*step.command, "--overwrite")
        self.log = folder / "logs" / f"{step.name}.log"
        for path in (self.log, self._output):
            path.parent.mkdir(parents=True, exist_ok=True)
        self._write("begun")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*PROGRAM, *on_device(command, device)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                start_new_session=True,  # Ctrl-C is passed on once, by `run_steps`
            )

    def poll(self) -> Outcome | None:
        """The outcome, once the process has ended; it is recorded."""
        code = self.process.poll()
        if code is None:
            return None
        if code == 0 and self._output.exists():
            return self._write("done")
        lines = [line for line in self.log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        message = lines[-1].removeprefix("dragoman: ").removeprefix("error: ") if lines else f"exit code {code}"
        return self._write("failed", message)

    def wait(self) -> None:
        """Wait for the end of a process that was asked to stop, and record how long it has run."""
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._write("begun")

    def _write(self, state: str, message: str = "") -> Outcome:
        """Record the state of the step, and return it."""
        machine = machine_name() + (", GPU" if self._device == "cuda" else "")
        outcome = Outcome(state, self._before + time.monotonic() - self._start, message, machine)
        record = {"command": self.step.command, **asdict(outcome), "seconds": round(outcome.seconds, 1)}
        with replace_file(self._path) as file:
            json.dump(record | {"device": self._device}, file, ensure_ascii=False)
            file.write("\n")
        return outcome


class _Progress:
    """Prints a line for each step that ended, with an estimate of the time left."""

    def __init__(self, console: Console, steps: int, done: int) -> None:
        self._console = console
        self._steps, self._done = steps, done
        self._ended = 0
        self._start = time.monotonic()
        if done:
            console.info(f"{done} of {steps} steps were done before")

    def ended(self, step: Step, outcome: Outcome) -> None:
        self._done += 1
        self._ended += 1
        if outcome.state != "done":
            self._console.warning(f"{step.name} {outcome.state}: {outcome.message}")
        left = (time.monotonic() - self._start) / self._ended * (self._steps - self._done)
        minutes, seconds = divmod(round(left), 60)
        self._console.info(
            f"{self._done} of {self._steps} steps: {step.name} {outcome.state} after {outcome.seconds:.0f} s; "
            f"about {minutes // 60}:{minutes % 60:02d}:{seconds:02d} left"
        )


def _require_own_output(step: Step, record: _Record | None, folder: Path) -> None:
    """Refuse an output of another command.

    Raises:
        RunError: there is one.
    """
    output = folder / step.output
    if record is None:
        if output.exists():
            raise RunError(f"{output}: exists, but this experiment has not made it; give another folder to --out")
    elif record.command != step.command:
        gone = [word for word in record.command if word not in step.command][:2]
        come = [word for word in step.command if word not in record.command][:2]
        raise RunError(
            f"{output}: was made with other settings ({' '.join(gone) or 'fewer'} instead of "
            f"{' '.join(come) or 'more'}); give another folder to --out, or the same settings"
        )


class _Record(NamedTuple):
    command: tuple[str, ...]
    outcome: Outcome


def _record(records: Path, name: str) -> _Record | None:
    """The record of a step, or None where there is none.

    Raises:
        RunError: it is damaged.
    """
    path = records / f"{name}.json"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        state, seconds, machine = str(record["state"]), float(record["seconds"]), str(record.get("machine", ""))
        return _Record(tuple(record["command"]), Outcome(state, seconds, machine=machine))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError):
        raise RunError(f"{path}: is damaged; remove it and the output of the step") from None
