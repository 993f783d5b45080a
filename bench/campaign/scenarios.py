"""Commands that write, each with what is in its folder before, and how to see whether the result is whole."""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaign.children import Ended, run_command, run_function
from campaign.interposer import Fault, Mode, run_watched
from campaign.materials import LANGUAGE_MODEL, TINY, small_export, small_run, small_text
from campaign.result import Settings
from campaign.states import PARTIAL, State, state_of

RESUMABLE = (
    "training.average_decay=0.9",
    "training.average_best=2",
    "training.epochs=1",
    "training.validation.every=2",
    "training.checkpoint_minutes=0.000001",
    "training.log_every=2",
    "training.batch.size=20",
    "model.dropout.embedding=0.2",
    "text.source.segmentation=bpe",
    "text.target.segmentation=bpe",
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

    def run(self, folder: Path) -> Ended:
        """Run the command as it is."""
        return run_command(self.command, folder=folder, stdin=self.stdin)

    def require_usable(self, folder: Path, before: State, after: State) -> None:
        """Check what is in the folder after the command was stopped at any point.

        Raises:
            Broken: a file is neither the old one nor the new one.
        """
        found = state_of(folder)
        for name in {*before, *after}:
            if found.get(name) not in (before.get(name), after.get(name)):
                raise Broken(f"{name} is neither the old file nor the new one ({found.get(name)})")

    def go_on(self, folder: Path) -> Ended:
        """What a user does after the command was stopped."""
        return self.run(folder)

    def require_going_on(self, folder: Path, after: State) -> None:
        """Check that the next command works and leaves what the stopped one would have left.

        Raises:
            Broken: it fails, or a file is missing, different or left over.
        """
        ended = self.go_on(folder)
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
        return {*before, *after}

    def require_no_rest(self, folder: Path, before: State, named: str) -> None:
        """Check that the command left nothing of unfinished work, except what its message names.

        Raises:
            Broken: there is a file that was not there before and is not named.
        """
        for name in sorted(state_of(folder)):
            if name not in before and Path(name).name not in named:
                raise Broken(f"{name} is left over, and the message does not name it")


class Written(Scenario):
    """A command that writes a folder, of which `probe` reads the result."""

    def probe(self, folder: Path) -> Ended:
        """Use the result."""
        raise NotImplementedError

    def require_usable(self, folder: Path, before: State, after: State) -> None:
        """The result gives the old answers or the new ones, or is not there and was not there before."""
        found = self.probe(folder)
        if "Traceback" in found.message or found.code not in (0, 2):
            raise Broken(f"reading the result ends in {found.code}: {found.message[-300:]}")
        if found.code == 2 and not self.may_be_missing(before, found.message):
            raise Broken(f"the result cannot be read: {found.message}")

    def may_be_missing(self, before: State, message: str) -> bool:
        """Whether the message of a failed probe is right where the folder was as in `before`."""
        return not before and any(text in message for text in _NEVER_STARTED)


class Training(Written):
    """Training into `run`."""

    def probe(self, folder: Path) -> Ended:
        """Translate two lines."""
        return run_command(["translate", "run", "--threads", "1"], folder=folder, stdin=b"ab c\nd\n")

    def may_be_missing(self, before: State, message: str) -> bool:
        """A training that has not reached its first validation has no weights."""
        return NOT_VALIDATED in message or super().may_be_missing(before, message)

    def next_command(self, folder: Path) -> Sequence[str]:
        """The command that resumes, where the new run is there; else the one that starts again."""
        seed = re.search(r"seed=(\d+)", " ".join(self.command))
        config = folder / "run" / "config.yaml"
        if config.exists() and (seed is None or re.search(rf"seed: {seed[1]}\b", config.read_text("utf-8"))):
            verb = self.command[:2] if self.command[0] == "lm" else self.command[:1]
            return [*verb, "--out", "run", "--resume", "--threads", "1", "--quiet"]
        return self.command

    def go_on(self, folder: Path) -> Ended:
        """Resume, or start again."""
        return run_command(self.next_command(folder), folder=folder)


class LanguageModelTraining(Training):
    """Training a language model into `run`."""

    def probe(self, folder: Path) -> Ended:
        """Score two lines."""
        return run_command(["lm", "score", "run", "--threads", "1"], folder=folder, stdin=b"AB C\nD\n")


class Import(Training):
    """Importing a model into `run`; there is no training to resume."""

    def probe(self, folder: Path) -> Ended:
        """Translate two lines."""
        return run_command(["translate", "run", "--threads", "1"], folder=folder, stdin=b"der Hund\nx\n")

    def go_on(self, folder: Path) -> Ended:
        """Import again, over what is there."""
        return run_command([*self.command, "--overwrite"], folder=folder)


class Export(Written):
    """Exporting a run to `light`."""

    def probe(self, folder: Path) -> Ended:
        """Translate two lines."""
        return run_command(["translate", "light", "--threads", "1"], folder=folder, stdin=b"ab c\nd\n")

    def go_on(self, folder: Path) -> Ended:
        """Export again, over what is there."""
        return run_command([*self.command, *(() if "--overwrite" in self.command else ("--overwrite",))], folder=folder)


class PhraseTable(Scenario):
    """Adding scores to a phrase table; the scores computed so far are kept for the next time."""

    JOURNAL = "out.scores"

    def require_usable(self, folder: Path, before: State, after: State) -> None:
        """The table is the old one or the new one."""
        found = state_of(folder).get("out")
        if found not in (before["out"], after["out"]):
            raise Broken("the table is neither the old one nor the new one")

    def names(self, before: State, after: State) -> set[str]:
        """The file of scores too."""
        return {*super().names(before, after), self.JOURNAL}

    def require_no_rest(self, folder: Path, before: State, named: str) -> None:
        """The scores so far are kept without a word: the same command goes on with them."""
        super().require_no_rest(folder, before, f"{named} {self.JOURNAL}")


class System(Written):
    """Training a phrase-based system into `system`."""

    def probe(self, folder: Path) -> Ended:
        """Translate two lines."""
        return run_command(["smt", "translate", "system"], folder=folder, stdin=b"ab c\nd\n")

    def go_on(self, folder: Path) -> Ended:
        """Train again, in the place of a system that is there: that also removes what a stopped command left."""
        shutil.rmtree(folder / "system", ignore_errors=True)
        return self.run(folder)


def scenarios(settings: Settings) -> list[Scenario]:
    """All commands that write; making the list is quick, `fill` makes what is needed."""
    text = small_text(settings)
    source, target = map(str, text.dev)
    train = ["train", "--preset", "demo", *text.options, "--out", "run", "--threads", "1", "--quiet"]
    train += ["--set", *TINY, *RESUMABLE, "training.seed=2"]
    learn = ["lm", "train", "--train", str(text.train[1]), "--dev", str(text.dev[1]), "--out", "run", "--quiet"]
    learn += ["--threads", "1", "--set", *LANGUAGE_MODEL, "training.seed=2"]
    listed = [
        Training("train", train),
        Training("train --overwrite", [*train, "--overwrite"], fill=lambda folder: _copy(_old_run(settings), folder)),
        Training(
            "train --resume",
            ["train", "--out", "run", "--resume", "--threads", "1", "--quiet"],
            fill=lambda folder: _copy(_stopped(settings, train), folder),
        ),
        LanguageModelTraining("lm train", learn),
        *_exports(settings),
        *_imports(settings),
        *_files(settings, source, target),
        *_smt(settings, text.train, text.dev),
    ]
    return listed


def _copy(made: Path, folder: Path) -> None:
    shutil.copytree(made, folder, dirs_exist_ok=True)


def _old_run(settings: Settings) -> Path:
    """A folder with a run in `run`, of another seed than the one that replaces it."""
    folder = settings.shared / "old"
    if not folder.exists():
        _copy(small_run(settings), folder / "run")
    return folder


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


def _exports(settings: Settings) -> list[Scenario]:
    run = str(settings.shared / "run")

    def need_run(folder: Path) -> None:
        small_run(settings)

    def old(folder: Path) -> None:
        shutil.copytree(small_export(settings), folder / "light")

    return [
        Export("export", ["export", run, "--out", "light", "--quiet"], fill=need_run),
        Export("export --int8", ["export", run, "--out", "light", "--int8", "--quiet"], fill=need_run),
        Export("export --overwrite", ["export", run, "--out", "light", "--int8", "--quiet", "--overwrite"], fill=old),
    ]


def _imports(settings: Settings) -> list[Scenario]:
    made = settings.shared / "joeynmt"
    command = ["import", "--from", "joeynmt", str(made / "7.ckpt"), "--out", "run", "--quiet"]

    def need_checkpoint(folder: Path) -> None:
        if not made.exists():
            made.mkdir()
            _save_joeynmt(made)

    def old(folder: Path) -> None:
        need_checkpoint(folder)
        _copy(_old_run(settings), folder)

    return [
        Import("import", command, fill=need_checkpoint),
        Import("import --overwrite", [*command, "--overwrite"], fill=old),
    ]


def _save_joeynmt(folder: Path) -> None:
    """A JoeyNMT checkpoint with its configuration and vocabularies, made of the models of the tests."""

    def save() -> int:
        import torch

        from tests.importing.toolkits import JoeyNMT

        torch.manual_seed(1)
        JoeyNMT().save(folder)
        return 0

    ended = run_function(save)
    if ended.code:
        raise RuntimeError(f"the checkpoint of the campaign cannot be made: {ended.message}")


def _files(settings: Settings, source: str, target: str) -> list[Scenario]:
    """Commands that write the files they are given names of, over old ones."""
    run, export = str(settings.shared / "run"), str(settings.shared / "export")
    nbest, links, table = (str(settings.shared / name) for name in ("nbest", "links", "phrase-table"))
    threads = ("--threads", "1")

    def prepare(*outputs: str) -> Callable[[Path], None]:
        def fill(folder: Path) -> None:
            small_run(settings)
            small_export(settings)
            Path(nbest).write_text("".join(f"{n} ||| {t} ||| F= -{n} ||| -{n}\n" for n in range(5) for t in "AB"))
            Path(links).write_text("0-0\n" * 10)
            Path(table).write_text("".join(f"{s} ||| {s.upper()} ||| 0.5 0.4 ||| 0-0\n" for s in "abcdef"))
            for output in outputs:
                (folder / output).parent.mkdir(exist_ok=True)
                (folder / output).write_text("OLD\n")

        return fill

    def command(name: str, *outputs: str, words: Sequence[str], stdin: bytes = b"") -> Scenario:
        return Scenario(name, words, prepare(*outputs), stdin)

    return [
        command("translate", "out", words=["translate", run, "-i", source, "-o", "out", *threads]),
        command(
            "translate with alignments, attention and log",
            *("out.gz", "links", "weights.npz", "unknown"),
            words=[
                *("translate", export, "-i", source, "-o", "out.gz", "--alignments", "links"),
                *("--attention", "weights.npz", "--replace-unk", "--unk-log", "unknown", *threads),
            ],
        ),
        command("score", "out", words=["score", run, source, target, "-o", "out", *threads]),
        command("rescore", "out", words=["rescore", nbest, "--source", source, "--model", run, "-o", "out", *threads]),
        PhraseTable(
            "phrase-table", ["phrase-table", table, "--model", run, "-o", "out", *threads, "--quiet"], prepare("out")
        ),
        command("align", "out", words=["align", run, source, target, "-o", "out", *threads]),
        command(
            "align with weights",
            *("out", "weights.npz"),
            words=["align", run, source, target, "-o", "out", "--matrix", "weights.npz", *threads],
        ),
        command(
            "heatmap", words=["heatmap", run, source, target, "--out", "maps", "--lines", "1,2", "--quiet", *threads]
        ),
        command(
            "evaluate --report",
            *("out",),
            words=["evaluate", run, source, target, "-o", "out", "--report", "report", "--quiet", *threads],
        ),
        command("tree", "tree.html", words=["tree", run, "--text", "ab", "-o", "tree.html", *threads]),
        command("curves", "curves.svg", words=["curves", run, "-o", "curves.svg"]),
        command("symmetrize", "out", words=["symmetrize", links, links, "-o", "out"]),
        command("dictionary", "out", words=["dictionary", source, target, links, "--min-count", "1", "-o", "out"]),
        command("rerank", "out", words=["rerank", nbest, "-o", "out"]),
        command("inspect --listing", "out", words=["inspect", source, target, "--listing", "out"]),
    ]


def _smt(settings: Settings, train: tuple[Path, Path], dev: tuple[Path, Path]) -> list[Scenario]:
    """Commands of the phrase-based translator, where its libraries are installed."""
    if importlib.util.find_spec("kenlm") is None:
        return []
    links = settings.shared / "train.links"
    command = ["smt", "train", "--train", *map(str, train), "--alignments", str(links), "--order", "2", "--quiet"]

    def need_links(folder: Path) -> None:
        lengths = (len(line.split()) for line in train[0].read_text("utf-8").splitlines())
        links.write_text("".join(" ".join(f"{i}-{i}" for i in range(n)) + "\n" for n in lengths))

    def need_system(folder: Path) -> None:
        need_links(folder)
        system = settings.shared / "system"
        if not system.exists():
            ended = run_command([*command, "--out", system])
            if ended.code:
                raise RuntimeError(f"the system of the campaign cannot be trained: {ended.message}")
        _copy(system, folder / "system")

    tune = ["smt", "tune", "system", "--source", str(dev[0]), "--reference", str(dev[1]), "--iterations", "1"]
    return [
        System("smt train", [*command, "--out", "system"], need_links),
        Scenario("smt tune", [*tune, "--nbest", "10", "--quiet"], need_system),
        Scenario(
            "smt nbest", ["smt", "nbest", "system", "-i", str(dev[0]), "-o", "out.gz", "--nbest", "5"], need_system
        ),
    ]
