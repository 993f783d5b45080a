"""Two commands on one run folder, the second begun at a random moment of the first.

Either both succeed, or one is refused with the message about the lock, or, while it reads a run that is being written,
with one line that says what is missing. Never is there a traceback, and the run that is left opens and translates.
"""

from __future__ import annotations

import os
import pickle
import random
import shutil
import time
from pathlib import Path

from campaign.children import Ended, run_command
from campaign.materials import TINY, small_run, small_text
from campaign.result import Result, Settings

TRIALS = 300
READERS = ("translate", "export")
"""Commands that only read the run."""
LONGEST = 2.0
"""Seconds within which the second command begins; the first takes about one."""


def run(settings: Settings) -> list[Result]:
    """Try the pairs of commands in turn."""
    promise = "of two commands on one run both succeed or one is refused, and the run is good"
    result = Result("processes", promise, "pairs of commands")
    draw = random.Random(settings.seed)
    outcomes: dict[str, int] = {}
    count = TRIALS if settings.trials is None else settings.trials
    names = list(_commands(settings, settings.scratch))
    pairs = [(first, second) for first in names for second in names if first not in READERS]
    draw.shuffle(pairs)
    for number in range(count):
        if settings.is_over():
            break
        first, second = pairs[number % len(pairs)]
        delay = draw.uniform(0, LONGEST)
        folder = settings.scratch / str(number)
        folder.mkdir()
        ended = _pair(settings, folder, (first, second), delay)
        result.trials += 1
        outcome = f"{first}, {second}: exit codes {', '.join(str(one.code) for one in ended)}"
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        trial = {"commands": [first, second], "delay": delay, "number": number, "seed": settings.seed}
        _check(settings, folder, (first, second), ended, result, trial)
        shutil.rmtree(folder)
    result.facts["outcomes"] = dict(sorted(outcomes.items()))
    return [result]


def _commands(settings: Settings, folder: Path) -> dict[str, list[str | Path]]:
    """The commands by name, on the run `folder / "run"`."""
    target = folder / "run"
    text = small_text(settings)
    new = ["train", "--preset", "demo", *text.options, "--out", target, "--threads", "1", "--quiet"]
    changed = ["--set", *TINY, "training.epochs=6"]
    return {
        "train": [*new, *changed],
        "train --overwrite": [*new, "--overwrite", *changed],
        "train --resume": [
            "train",
            "--out",
            target,
            "--resume",
            "--threads",
            "1",
            "--quiet",
            "--set",
            "training.epochs=6",
        ],
        "translate": ["translate", target, "-i", text.dev[0], "--threads", "1"],
        "export": ["export", target, "--out", folder / "exported", "--quiet"],
    }


def _pair(settings: Settings, folder: Path, names: tuple[str, str], delay: float) -> tuple[Ended, Ended]:
    """Run two commands at once, each in a child of its own."""
    if names[0] != "train":  # which needs a free folder
        shutil.copytree(small_run(settings), folder / "run")
    first, second = (_commands(settings, folder)[name] for name in names)
    kept = folder / "first"
    process = os.fork()
    if process == 0:
        kept.write_bytes(pickle.dumps(tuple(run_command(first))))
        os._exit(0)
    time.sleep(delay)
    ended = run_command(second)
    os.waitpid(process, 0)
    return Ended(*pickle.loads(kept.read_bytes())), ended


def _check(
    settings: Settings,
    folder: Path,
    names: tuple[str, str],
    ended: tuple[Ended, Ended],
    result: Result,
    trial: dict[str, object],
) -> None:
    """Note what was broken: a traceback, a writer that won against nobody, or a run that does not translate."""
    for name, one in zip(names, ended, strict=True):
        if one.code not in (0, 2) or "Traceback" in one.message:
            result.fail(f"{name}: exit {one.code}: {one.message[-800:]}", **trial)
            return
        if one.code == 2 and len([line for line in one.message.splitlines() if line.startswith("dragoman: ")]) > 1:
            result.fail(f"{name}: several errors: {one.message[-800:]}", **trial)
    if ended[0].code and (ended[1].code or names[1] in READERS):
        result.fail(f"both were refused: {ended[0].message[-400:]}; {ended[1].message[-400:]}", **trial)
        return
    source = small_text(settings).dev[0]
    good = run_command(["translate", folder / "run", "-i", source, "--threads", "1"])
    if good.code or good.out.count(b"\n") != source.read_bytes().count(b"\n"):
        result.fail(f"the run that is left does not translate: exit {good.code}: {good.message[-400:]}", **trial)
    left = sorted(path.name for path in (folder / "run").rglob("*") if path.name.endswith((".new", ".lock")))
    if left:
        result.fail(f"left behind in the run: {', '.join(left)}", **trial)
