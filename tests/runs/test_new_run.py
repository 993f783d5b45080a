"""A new run never removes files that dragoman did not write, and there is always a complete run, old or new."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.config.building import override
from dragoman.config.schema import Config
from dragoman.data.store_writer import StoreWriter
from dragoman.errors import ConfigError, RunError
from dragoman.runs.layout import RunFolder
from dragoman.runs.new_run import NewRun
from dragoman.runs.parts import changing, sort_files
from dragoman.stored_files import dump_json
from dragoman.text.vocabulary import Vocabulary

OLD, NEW = Config(), override(Config(), ["training.seed=77"])


def run_of(path: Path, config: Config = OLD) -> RunFolder:
    """A run with a file in each of its folders."""
    with NewRun(path, config, overwrite=True) as new:
        fill(new.folder, b"old")
        return new.take_place()


def fill(folder: RunFolder, content: bytes) -> None:
    for path in (
        folder.text / "source.vocabulary",
        folder.weights,
        folder.checkpoints / "latest.safetensors",
        folder.checkpoints / "best-3.safetensors",
        folder.log,
        folder.tensorboard / "events.out.tfevents.1.host.1.0",
        folder.train_data / "source.ids",
        folder.dev_data / "meta.json",
        folder.path / "data" / "dev.jsonl",
        folder.report,
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def tree(path: Path) -> dict[str, bytes]:
    """The contents of all files below a folder, by path."""
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_a_run_is_marked(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run")
    digests = {
        place: {name: hashlib.sha256((folder.path / place / name).read_bytes()).hexdigest()}
        for place, name in (("text", "source.vocabulary"), ("data", "dev.jsonl"))
    }
    mark = {"kind": "dragoman run", "format": 1, **digests}
    assert (folder.path / "run.json").read_text() == dump_json(mark)


def test_a_new_run_is_hidden_until_it_is_moved_into_place(tmp_path: Path) -> None:
    with NewRun(tmp_path / "runs" / "run", NEW) as new:
        assert not new.final.config.exists()
        assert new.folder.load_config() == NEW
        assert new.folder.text.is_dir()
        assert new.take_place() == new.folder == new.final
    assert RunFolder(tmp_path / "runs" / "run").load_config() == NEW
    assert sorted(os.listdir(tmp_path / "runs" / "run")) == ["config.yaml", "run.json", "text"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RunError])
def test_a_failure_while_preparing_leaves_the_old_run_unchanged(tmp_path: Path, error: type[BaseException]) -> None:
    folder = run_of(tmp_path / "run")
    before = tree(tmp_path)

    def fail() -> None:
        with NewRun(folder.path, NEW, overwrite=True) as new:
            fill(new.folder, b"new")
            assert RunFolder.open(folder.path).load_config() == OLD, "the older run can be used meanwhile"
            raise error

    with pytest.raises(error):
        fail()
    assert tree(tmp_path) == before
    assert os.listdir(tmp_path) == ["run"]


def test_a_failure_removes_the_folders_that_it_created(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        with NewRun(path, NEW):
            raise KeyboardInterrupt

    (tmp_path / "mine").mkdir()
    for name in ("run", "mine"):
        with pytest.raises(KeyboardInterrupt):
            fail(tmp_path / name)
    assert os.listdir(tmp_path) == ["mine"], "the existing folder is kept, the folder of the run is removed"


def test_overwriting_removes_the_run_and_nothing_else(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run")
    (folder.path / "notes.txt").write_text("mine")
    (folder.path / "corpus").mkdir()
    (folder.path / "corpus" / "train.de").write_text("mine")
    with NewRun(folder.path, NEW, overwrite=True) as new:
        new.take_place()
    assert set(tree(folder.path)) == {"config.yaml", "run.json", "notes.txt", "corpus/train.de"}
    assert folder.load_config() == NEW


def test_overwriting_does_not_follow_links(tmp_path: Path) -> None:
    folder, elsewhere = run_of(tmp_path / "run"), tmp_path / "elsewhere"
    (folder.path / "data").rename(elsewhere)
    (folder.path / "data").symlink_to(elsewhere)
    run_of(folder.path, NEW)
    assert not (folder.path / "data").is_symlink()
    assert (elsewhere / "train" / "source.ids").exists()


def test_a_link_to_the_folder_of_a_run_stays_one(tmp_path: Path) -> None:
    folder, link = run_of(tmp_path / "run"), tmp_path / "link"
    link.symlink_to(folder.path)
    run_of(link, NEW)
    assert link.is_symlink()
    assert folder.load_config() == NEW


def test_the_current_folder_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(tmp_path / "run")
    before = tree(tmp_path)
    monkeypatch.chdir(run.text)
    for path, name in ((Path(".."), ".."), (run.path, run.path)):
        with pytest.raises(RunError) as caught:
            NewRun(path, NEW, overwrite=True).__enter__()
        assert str(caught.value) == (
            f"{name}: is the current folder, or above it, and the whole folder is replaced; give another path to --out"
        )
    assert tree(tmp_path) == before


def test_a_folder_that_nobody_may_write_to_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(tmp_path / "run")
    monkeypatch.setattr(os, "access", lambda path, mode: (path, mode) != (run.path, os.W_OK))
    with pytest.raises(RunError, match="run: you are not permitted to write to this folder; give another path"):
        NewRun(run.path, NEW, overwrite=True).__enter__()


def test_a_mounted_folder_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "ismount", lambda path: path == tmp_path)
    with pytest.raises(RunError, match="is a mounted file system, and the whole folder is replaced"):
        NewRun(tmp_path, NEW).__enter__()
    with NewRun(tmp_path / "run", NEW) as new:
        new.take_place()


def test_a_run_is_kept_unless_it_may_be_overwritten(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run")
    before = tree(tmp_path)
    with pytest.raises(RunError) as caught:
        NewRun(folder.path, NEW).__enter__()
    assert str(caught.value) == (
        f"{folder.path}: a run is there already; --resume goes on with it, --overwrite starts anew without it, "
        "or give another path"
    )
    assert tree(tmp_path) == before


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("mark", [None, "{}", '{"kind": "database", "format": 1}', "not JSON"])
def test_a_folder_without_the_mark_is_left_unchanged(tmp_path: Path, overwrite: bool, mark: str | None) -> None:
    for name in ("data", "text"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.txt").write_text("mine")
    (tmp_path / "config.yaml").write_text("training:\n  epochs: 1\n")
    if mark is not None:
        (tmp_path / "run.json").write_text(mark)
    before = tree(tmp_path)
    with pytest.raises(RunError, match=r"config.yaml, text, data but no valid run.json, the mark of a dragoman run"):
        NewRun(tmp_path, NEW, overwrite=overwrite).__enter__()
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    "name", ["text/notes.txt", "data/my-corpus.de", "data/train/mine", "data/old/x", "checkpoints/a.safetensors"]
)
def test_a_foreign_file_is_named(tmp_path: Path, name: str) -> None:
    folder = run_of(tmp_path / "run")
    (folder.path / name).parent.mkdir(exist_ok=True)
    (folder.path / name).write_text("mine")
    before = tree(tmp_path)
    named = folder.path / name
    with pytest.raises(RunError) as caught:
        NewRun(folder.path, NEW, overwrite=True).__enter__()
    assert str(caught.value) == (
        f"{folder.path}: --overwrite removes the run there, but not {named}, which dragoman did not write; "
        "move files that are not part of the run to another folder"
    )
    assert tree(tmp_path) == before


def test_an_error_names_one_file_and_counts_the_others(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run")
    for number in range(5):
        (folder.text / str(number)).write_text("mine")
    with pytest.raises(RunError, match=r"not .*text/0 and 4 more, which"):
        NewRun(folder.path, NEW, overwrite=True).__enter__()


def test_a_foreign_file_written_meanwhile_stops_the_new_run(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run")

    def replace() -> None:
        with NewRun(folder.path, NEW, overwrite=True) as new:
            (folder.text / "notes.txt").write_text("mine")
            new.take_place()

    with pytest.raises(RunError, match=r"text/notes.txt, which dragoman did not write"):
        replace()
    assert RunFolder.open(folder.path).load_config() == OLD


@pytest.mark.parametrize("name", ["config.yaml", "data/dev.jsonl", "model.safetensors"])
@pytest.mark.parametrize("by", ["its name", "a link"])
def test_an_input_is_not_removed(tmp_path: Path, name: str, by: str) -> None:
    folder = run_of(tmp_path / "run")
    given = folder.path / name
    if by == "a link":
        given = tmp_path / "link"
        given.symlink_to(folder.path / name)
    before = tree(tmp_path)
    with pytest.raises(RunError, match="is an input, and --overwrite would remove it with the run in") as caught:
        NewRun(folder.path, NEW, overwrite=True, inputs=[given]).__enter__()
    assert str(caught.value).startswith(f"{given}: ")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["text/dropped.tsv", "report.html", ".report.html.dragoman-new"])
def test_an_output_among_the_files_of_a_run_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"is among the files of the run .*run; give another path"):
        NewRun(tmp_path / "run", NEW, outputs=[tmp_path / "run" / name]).__enter__()
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("below", ["", "run"])
def test_a_file_in_the_way_of_a_new_run(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RunError, match=r"file.*: is a file, or lies under one; give the path of a folder"):
        NewRun(tmp_path / "file" / below, NEW, overwrite=True).__enter__()
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be created: File name too long"):
        NewRun(tmp_path / ("x" * 300), NEW).__enter__()


TWO_STEPS = """
from dragoman.text import folders
folders._exchange = lambda first, second: False
"""

KILL = """
import json, os, sys
from pathlib import Path
from dragoman.config.building import override
from dragoman.config.schema import Config
from dragoman.runs.new_run import NewRun

# A child for each trial, so that none has to import what this process has imported.
for line in sys.stdin:
    if os.fork() == 0:
        break
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
else:
    sys.exit()
name, steps = json.loads(line)
path, count = Path(name), 0

def counted(change):
    def changed(*arguments, **options):
        global count
        count += 1
        if count > steps:
            os.kill(os.getpid(), 9)
        return change(*arguments, **options)
    return changed

with NewRun(path, override(Config(), ["training.seed=77"]), overwrite=True) as new:
    new.folder.weights.write_bytes(b"new")
    (new.folder.text / "target.vocabulary").write_bytes(b"new")
    for name in ("rename", "unlink", "rmdir"):
        setattr(os, name, counted(getattr(os, name)))
    new.take_place()
"""


INTERRUPT = KILL.replace("count > steps", "False").replace(
    "return change(*arguments, **options)",
    """try:
            return change(*arguments, **options)
        finally:
            if count == steps + 1:
                raise KeyboardInterrupt""",
)


@contextmanager
def trials(program: str) -> Iterator[Callable[[Path, int], int]]:
    """`ended(path, steps)`: the exit code of a process that makes a new run and is stopped after so many steps."""
    command = [sys.executable, "-c", program]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        given, told = process.stdin, process.stdout
        assert given is not None
        assert told is not None

        def ended(path: Path, steps: int) -> int:
            given.write(json.dumps([str(path), steps]) + "\n")
            given.flush()
            return int(told.readline())

        yield ended


def go_on_with(path: Path) -> None:
    with changing(path):
        pass


@pytest.mark.parametrize("program", [KILL, TWO_STEPS + KILL, TWO_STEPS + INTERRUPT])
def test_a_kill_at_any_step_leaves_the_old_run_or_the_new_one(tmp_path: Path, program: str) -> None:
    path, codes = tmp_path / "run [1]", []
    ended: list[str] = []
    with trials(program) as trial:
        while 0 not in codes and len(codes) < 60:
            run_of(path)
            (path / "notes.txt").write_text("mine")
            steps = len(codes)
            codes.append(trial(path, steps))
            folder = RunFolder.open(path)  # puts the old run back, where a kill left none
            ended.append("new" if folder.load_config() == NEW else "old")
            content = {"weights": b"new", "vocabulary": b"new"} if ended[-1] == "new" else {"weights": b"old"}
            assert folder.weights.read_bytes() == content["weights"], f"mixed after {steps} steps"
            assert (folder.text / "target.vocabulary").exists() == ("vocabulary" in content), f"mixed after {steps}"
            (run_of if steps % 2 else go_on_with)(path)  # complete what was begun
            assert (path / "notes.txt").read_text() == "mine"
            assert os.listdir(tmp_path) == ["run [1]"], "hidden folders of killed processes remain"
    assert codes[-1] == 0, "the replacement never completed"
    assert set(codes[:-1]) == {-2 if INTERRUPT in program else -9}
    assert ended == sorted(ended, reverse=True), "an old run came back"
    assert set(ended) == ({"new"} if program == KILL else {"old", "new"})
    assert len(codes) > 6


def hidden_folders(path: Path) -> list[Path]:
    return [found for found in path.parent.glob(f".{path.name}.dragoman-*") if found.is_dir()]


def test_a_kill_while_preparing_leaves_the_old_run_and_is_cleaned_up_later(tmp_path: Path) -> None:
    path = tmp_path / "run"
    run_of(path)
    program = KILL.replace("new.take_place()", "os.kill(os.getpid(), 9)")
    with trials(program) as trial:
        assert trial(path, 0) == -9
    assert len(hidden := hidden_folders(path)) == 1
    assert RunFolder.open(path).load_config() == OLD
    with NewRun(path, NEW, overwrite=True) as new:
        assert not hidden[0].exists()
        with pytest.raises(RunError, match="is writing to this run"):
            NewRun(path, NEW, overwrite=True).__enter__()
        assert new.folder.config.exists(), "the folder of a running process is not removed"
    assert os.listdir(tmp_path) == ["run"]


def test_a_killed_first_run_does_not_block_the_next(tmp_path: Path) -> None:
    path = tmp_path / "run"
    program = KILL.replace("new.take_place()", "os.kill(os.getpid(), 9)")
    with trials(program) as trial:
        assert trial(path, 0) == -9
    with NewRun(path, NEW) as new:
        new.take_place()
    assert sorted(os.listdir(path)) == ["config.yaml", "run.json", "text"]


def test_segmented_text_is_kept_until_its_run_takes_its_place(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with NewRun(path, NEW) as new:  # which is stopped
        new.segments.write_text("the first chunks")
    with NewRun(path, NEW) as new:
        assert new.segments.read_text() == "the first chunks"
        new.take_place()
    assert os.listdir(tmp_path) == ["run"]
    new.segments.write_text("of a preparation that would have replaced the run")
    go_on_with(path)
    assert os.listdir(tmp_path) == ["run"]


def test_files_of_a_run_are_distinguished_from_foreign_files(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run")
    (folder.text / ".source.vocabulary.dragoman-new").write_text("cut off")
    (folder.text / ".mine.dragoman-new").write_text("mine")
    (folder.path / "notes.txt").write_text("mine")
    ours, foreign = sort_files(folder.path)
    assert foreign == [folder.text / ".mine.dragoman-new"]
    assert len(ours) == 13


def test_every_file_that_preparing_writes_is_known(tmp_path: Path) -> None:
    with NewRun(tmp_path / "run", NEW) as new:
        for folder in (new.folder.train_data, new.folder.dev_data):
            with StoreWriter(folder, joint=False) as writer:
                assert sort_files(new.folder.path).foreign == [], "unfinished"
                writer.finish((Vocabulary("a"), Vocabulary("b")), {})
        assert sort_files(new.folder.path).foreign == [], "finished"
