"""Commands of Dragoman whose outputs are made once, and the processor seconds of each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import RLock

from peers import PYTHONPATH_OF_DRAGOMAN


class TimedCommands:
    """Runs commands in a folder, each only if it has not ended there before; an interrupted training is resumed.

    Several threads may ask for commands of different names at once.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.used: set[str] = set()
        """The names of the commands that were asked for."""
        self._record, self._lock = folder / "seconds.json", RLock()
        folder.mkdir(parents=True, exist_ok=True)

    def once(self, name: str, command: Sequence[str]) -> None:
        """Run a command under a name, unless one of this name has ended before."""
        self.used.add(name)
        if name not in self._known():
            self._remember(name, run(command, self.folder))

    def train(self, name: str, command: Sequence[str]) -> str:
        """The run folder `name`; `command` is the training without --out."""
        out = self.folder / name
        begun = name not in self._known() and (out / "run.json").exists()
        self.once(name, [*command, "--out", str(out), *(["--resume"] if begun else [])])
        return str(out)

    def seconds(self) -> dict[str, float]:
        """The processor seconds of each command that was asked for."""
        known = self._known()
        return {name: known[name] for name in sorted(self.used)}

    def _known(self) -> dict[str, float]:
        with self._lock:
            return json.loads(self._record.read_text(encoding="utf-8")) if self._record.exists() else {}

    def _remember(self, name: str, seconds: float) -> None:
        with self._lock:
            known = self._known() | {name: round(seconds, 1)}
            self._record.write_text(json.dumps(known, indent=1), encoding="utf-8")


def run(command: Sequence[str], folder: Path) -> float:
    """Run a command of Dragoman with one thread in a folder; its processor seconds.

    Raises:
        CalledProcessError: the command failed.
    """
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH_OF_DRAGOMAN, "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "dragoman", *command, "--quiet"]
    process = subprocess.Popen(words, cwd=folder, env=environment)
    _, status, used = os.wait4(process.pid, 0)  # the time of this child alone, whatever else runs
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    return used.ru_utime + used.ru_stime
