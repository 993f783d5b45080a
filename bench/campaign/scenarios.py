"""Commands that write, each with what is in its folder before, how to see whether the result is whole, and trials."""

from __future__ import annotations

import importlib.util
import random
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from campaign import interposer
from campaign.children import run_command, run_function
from campaign.interposer import Fault, Mode, Step, run_watched
from campaign.materials import (
    LANGUAGE_MODEL,
    QUIET,
    TINY,
    small_export,
    small_run,
    small_system,
    small_text,
)
from campaign.result import Result, Settings
from campaign.states import PARTIAL, State, state_of

RESUMABLE = (
    *("training.average_decay=0.9", "training.average_best=2", "training.epochs=1", "training.validation.every=2"),
    *("training.checkpoint_minutes=0.000001", "training.log_every=2", "training.batch.size=20"),
    *("model.dropout.embedding=0.2", "text.source.segmentation=bpe", "text.target.segmentation=bpe"),
)
"""Settings over `TINY` with which a training has all parts of a state, and saves it after every update."""
NOT_VALIDATED = "training has not reached its first validation"
_NEVER_STARTED = ("does not exist", "not a run folder", "no training state")


class Broken(Exception):
    """A promise was broken; the text says how."""


@dataclass(frozen=True)
class Scenario:
    """A command that writes files into the current folder.

    This class is for commands whose outputs are files: each is the old or the new one at any time.
    """

    name: str
    command: Sequence[str]
    fill: Callable[[Path], object] = lambda folder: None
    """Puts into the folder what is there before the command: old outputs, a run."""
    stdin: bytes = b""
    scores: str = ""
    """The file in which the command keeps what it has computed, for the next time."""

    def require_usable(self, folder: Path, before: State, after: State) -> None:
        """Check what is in the folder after the command was stopped at any point.

        Raises:
            Broken: a file is neither the old one nor the new one.
        """
        found = state_of(folder)
        for name in {*before, *after} - {self.scores}:
            if found.get(name) not in (before.get(name), after.get(name)):
                raise Broken(f"{name} is neither the old file nor the new one ({found.get(name)})")

    def next_command(self, folder: Path) -> Sequence[str]:
        """What a user gives after the command was stopped."""
        return self.command

    def require_going_on(self, folder: Path, after: State) -> None:
        """Check that the next command works and leaves what the stopped one would have left.

        Raises:
            Broken: it fails, or a file is missing, different or left over.
        """
        ended = run_command(self.next_command(folder), folder=folder, stdin=self.stdin)
        if ended.code:
            raise Broken(f"the next command ends in {ended.code}: {ended.message[-400:]}")
        self.require_equal(folder, after, partial=True)

    def require_equal(self, folder: Path, after: State, *, partial: bool) -> None:
        """Check that the folder is what the command leaves when nothing happens.

        Args:
            partial: whether unfinished output that is kept under its own name is allowed.

        Raises:
            Broken: a file is missing, different or left over.
        """
        found = state_of(folder)
        for name in sorted({*found, *after}):
            if found.get(name) == after.get(name) or (partial and name not in after and PARTIAL.search(name)):
                continue
            if name not in after:
                raise Broken(f"{name} is left over")
            raise Broken(f"{name} is {'different' if name in found else 'missing'}")

    def names(self, before: State, after: State) -> set[str]:
        """The files and folders that messages may name: those that a user knows."""
        return {*before, *after, self.scores}

    def require_no_rest(self, folder: Path, before: State, named: str) -> None:
        """Check that the command left nothing of unfinished work, except what its message names.

        Raises:
            Broken: there is a file that was not there before and is not named.
        """
        for name in sorted(state_of(folder)):
            if name not in before and name != self.scores and Path(name).name not in named:
                raise Broken(f"{name} is left over, and the message does not name it")


@dataclass(frozen=True)
class Written(Scenario):
    """A command that writes a folder, whose result `probe` reads."""

    probe: Sequence[str] = ()
    """A command that uses the result."""
    asked: bytes = b"ab c\nd\n"
    again: Sequence[str] = ("--overwrite",)
    """What is added to the command to give it again, over what is there."""

    def next_command(self, folder: Path) -> Sequence[str]:
        """Write it again."""
        return [*self.command, *(option for option in self.again if option not in self.command)]

    def require_usable(self, folder: Path, before: State, after: State) -> None:
        """The result gives the old answers or the new ones, or is not there and was not there before."""
        found = run_command(self.probe, folder=folder, stdin=self.asked)
        if "Traceback" in found.message or found.code not in (0, 2):
            raise Broken(f"reading the result ends in {found.code}: {found.message[-300:]}")
        if found.code == 2 and not self.may_be_missing(before, found.message):
            raise Broken(f"the result cannot be read: {found.message}")

    def may_be_missing(self, before: State, message: str) -> bool:
        """Whether the message of a failed probe is right where the folder was as in `before`."""
        return not before and any(text in message for text in _NEVER_STARTED)


class Training(Written):
    """Training into `run`."""

    def may_be_missing(self, before: State, message: str) -> bool:
        """A training that has not reached its first validation has no weights."""
        return NOT_VALIDATED in message or super().may_be_missing(before, message)

    def next_command(self, folder: Path) -> Sequence[str]:
        """Resume, where the new run is there; else start again."""
        seed = re.search(r"seed=(\d+)", " ".join(self.command))
        config = folder / "run" / "config.yaml"
        if config.exists() and (seed is None or re.search(rf"seed: {seed[1]}\b", config.read_text("utf-8"))):
            return [*self.command[: self.command.index("train") + 1], "--out", "run", "--resume", *QUIET]
        return self.command


class System(Written):
    """Training a phrase-based system into `system`."""

    def next_command(self, folder: Path) -> Sequence[str]:
        """Train again, in the place of a system that is there: that also removes what a stopped command left."""
        shutil.rmtree(folder / "system", ignore_errors=True)
        return self.command


# Courses and trials ---------------------------------------------------------------------------------------------------


class Course(NamedTuple):
    """A scenario that has run to its end once: what there was before and after it, and what it did."""

    scenario: Scenario
    start: Path
    """A folder as it is before the command; each trial has a copy."""
    folder: Path
    """The folder in which it ran."""
    before: State
    after: State
    steps: list[Step]

    def fill(self, folder: Path) -> None:
        """Put into a folder what is there before the command."""
        shutil.copytree(self.start, folder, dirs_exist_ok=True)


Drawn = TypeVar("Drawn")
Trial = dict[str, Any]
"""What was tried: what is needed to repeat it."""


def try_courses(
    result: Result,
    settings: Settings,
    points: Callable[[Course], Sequence[Drawn]],
    attempt: Callable[[Course, Drawn, Path, Trial], str],
) -> list[Result]:
    """Attempt every point of every scenario, or as many drawn ones as the settings ask for.

    Args:
        points: the points of a course.
        attempt: tries a point in an empty folder, notes in the trial what repeats it, and gives the kind of the trial;
            raises `Broken`.
    """
    if not interposer.is_loaded():
        return []
    for course in _courses(settings):
        drawn = list(points(course))
        wanted = settings.trials if settings.seconds is None else settings.trials or 5
        if wanted is not None and wanted < len(drawn):
            drawn = random.Random(settings.seed).sample(drawn, wanted)
        for point in drawn:
            if settings.is_over():
                return [result]
            folder = settings.scratch / "trial"
            folder.mkdir()
            trial: Trial = {"scenario": course.scenario.name, "command": " ".join(course.scenario.command)}
            kind = course.scenario.name
            try:
                kind = attempt(course, point, folder, trial)
            except Broken as broken:
                result.fail(str(broken), **trial)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            result.count(kind)
    return [result]


def _courses(settings: Settings) -> Iterator[Course]:
    """Every scenario, run to its end; in an order drawn by the seed where time is limited."""
    listed = scenarios(settings)
    if settings.seconds is not None:
        random.Random(settings.seed).shuffle(listed)
    for number, scenario in enumerate(listed):
        if settings.is_over():
            return
        start, folder = (settings.scratch / f"{number}-{name}" for name in ("start", "whole"))
        start.mkdir()
        scenario.fill(start)
        shutil.copytree(start, folder)
        watched = run_watched(scenario.command, folder, stdin=scenario.stdin)
        watched.ended.require(f"{scenario.name} without a fault")
        yield Course(scenario, start, folder, state_of(start), state_of(folder), watched.steps)
        shutil.rmtree(start)
        shutil.rmtree(folder)


# The commands ---------------------------------------------------------------------------------------------------------


def scenarios(settings: Settings) -> list[Scenario]:
    """All commands that write; making the list is quick, `fill` makes what is needed."""
    text = small_text(settings)
    train = ["train", "--preset", "demo", *text.options, "--out", "run", *QUIET]
    train += ["--set", *TINY, *RESUMABLE, "training.seed=2"]
    learn = ["lm", "train", "--train", str(text.train[1]), "--dev", str(text.dev[1]), "--out", "run", *QUIET]
    learn += ["--set", *LANGUAGE_MODEL, "training.seed=2"]
    resume = ["train", "--out", "run", "--resume", *QUIET]
    run, checkpoints = str(settings.shared / "run"), settings.shared / "joeynmt"
    bring = ["import", "--from", "joeynmt", str(checkpoints / "7.ckpt"), "--out", "run", "--quiet"]
    export = ["export", run, "--out", "light", "--quiet"]

    def need_run(folder: Path) -> None:
        small_run(settings)

    def old_run(folder: Path) -> None:
        shutil.copytree(small_run(settings), folder / "run")

    def stopped_run(folder: Path) -> None:
        shutil.copytree(_stopped(settings, train), folder, dirs_exist_ok=True)

    def old_export(folder: Path) -> None:
        shutil.copytree(small_export(settings), folder / "light")

    def need_checkpoint(folder: Path) -> None:
        _save_joeynmt(checkpoints)

    def old_run_and_checkpoint(folder: Path) -> None:
        _save_joeynmt(checkpoints)
        old_run(folder)

    training = partial(Training, probe=["translate", "run", "--threads", "1"])
    imported = partial(Written, probe=["translate", "run", "--threads", "1"], asked=b"der Hund\nx\n")
    exported = partial(Written, probe=["translate", "light", "--threads", "1"])
    return [
        training("train", train),
        training("train --overwrite", [*train, "--overwrite"], old_run),
        training("train --resume", resume, stopped_run),
        Training("lm train", learn, probe=["lm", "score", "run", "--threads", "1"], asked=b"AB C\nD\n"),
        exported("export", export, need_run),
        exported("export --int8", [*export, "--int8"], need_run),
        exported("export --overwrite", [*export, "--int8", "--overwrite"], old_export),
        imported("import", bring, need_checkpoint),
        imported("import --overwrite", [*bring, "--overwrite"], old_run_and_checkpoint),
        *_files(settings, *map(str, text.dev)),
        *_smt(settings),
    ]


def _stopped(settings: Settings, train: Sequence[str]) -> Path:
    """A folder with a run that was killed in the middle of its training."""
    folder = settings.shared / "stopped"
    if not folder.exists():
        whole = settings.shared / "whole"
        whole.mkdir()
        count = run_watched(train, whole).count
        shutil.rmtree(whole)
        folder.mkdir()
        run_watched(train, folder, Fault(Mode.KILL, count * 2 // 3))
    return folder


def _save_joeynmt(folder: Path) -> None:
    """A JoeyNMT checkpoint with its configuration and vocabularies, made of the models of the tests."""

    def save() -> int:
        import torch

        from tests.importing.toolkits import JoeyNMT

        torch.manual_seed(1)
        JoeyNMT().save(folder)
        return 0

    if not folder.exists():
        folder.mkdir()
        run_function(save).require("making a checkpoint")


def _files(settings: Settings, source: str, target: str) -> Iterator[Scenario]:
    """Commands that write the files they are given names of, over old ones."""
    run, export = str(settings.shared / "run"), str(settings.shared / "export")
    nbest, links, table = (str(settings.shared / name) for name in ("nbest", "links", "phrase-table"))
    one = ("--threads", "1")

    def fill(outputs: Sequence[str], folder: Path) -> None:
        small_export(settings)
        Path(nbest).write_text("".join(f"{n} ||| {t} ||| F= -{n} ||| -{n}\n" for n in range(5) for t in "AB"))
        Path(links).write_text("0-0\n" * 10)
        Path(table).write_text("".join(f"{s} ||| {s.upper()} ||| 0.5 0.4 ||| 0-0\n" for s in "abcdef"))
        for output in outputs:
            (folder / output).write_text("OLD\n")

    more = ("--alignments", "links", "--attention", "weights.npz", "--replace-unk", "--unk-log", "unknown")
    maps = ("--out", "maps", "--lines", "1,2", "--quiet")
    report = ("--report", "report", "--quiet")
    for outputs, words in (
        (["out"], ["translate", run, "-i", source, "-o", "out", *one]),
        (
            ["out.gz", "links", "weights.npz", "unknown"],
            ["translate", export, "-i", source, "-o", "out.gz", *more, *one],
        ),
        (["out"], ["score", run, source, target, "-o", "out", *one]),
        (["out"], ["rescore", nbest, "--source", source, "--model", run, "-o", "out", *one]),
        (["out"], ["phrase-table", table, "--model", run, "-o", "out", *QUIET]),
        (["out"], ["align", run, source, target, "-o", "out", *one]),
        (["out", "weights.npz"], ["align", run, source, target, "-o", "out", "--matrix", "weights.npz", *one]),
        ([], ["heatmap", run, source, target, *maps, *one]),
        (["out"], ["evaluate", run, source, target, "-o", "out", *report, *one]),
        (["tree.html"], ["tree", run, "--text", "ab", "-o", "tree.html", *one]),
        (["curves.svg"], ["curves", run, "-o", "curves.svg"]),
        (["out"], ["symmetrize", links, links, "-o", "out"]),
        (["out"], ["dictionary", source, target, links, "--min-count", "1", "-o", "out"]),
        (["out"], ["rerank", nbest, "-o", "out"]),
        (["out"], ["inspect", source, target, "--listing", "out"]),
    ):
        name = " ".join([words[0], *outputs[1:]])
        scores = "out.scores" if words[0] == "phrase-table" else ""
        yield Scenario(name, words, partial(fill, outputs), scores=scores)


def _smt(settings: Settings) -> list[Scenario]:
    """Commands of the phrase-based translator, where its libraries are installed."""
    if importlib.util.find_spec("kenlm") is None:
        return []
    text, links = small_text(settings), str(settings.shared / "train.links")

    def need_links(folder: Path) -> None:
        small_system(settings)

    def need_system(folder: Path) -> None:
        shutil.copytree(small_system(settings), folder / "system")

    train = ["smt", "train", "--train", *map(str, text.train), "--alignments", links, "--order", "2", "--quiet"]
    tune = ["smt", "tune", "system", "--source", str(text.dev[0]), "--reference", str(text.dev[1])]
    nbest = ["smt", "nbest", "system", "-i", str(text.dev[0]), "-o", "out.gz", "--nbest", "5"]
    return [
        System("smt train", [*train, "--out", "system"], need_links, probe=["smt", "translate", "system"]),
        Scenario("smt tune", [*tune, "--iterations", "1", "--nbest", "10", "--quiet"], need_system),
        Scenario("smt nbest", nbest, need_system),
    ]
