"""A folder is the old one or the new one, whatever ends the process that prepares it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.errors import InputError, RunError
from dragoman.text import folders, temporary
from dragoman.text.folders import PreparedFolder, new_folder, restore_folder
from dragoman.text.lines import replace_file
from dragoman.text.locks import lock_beside
from dragoman.text.temporary import create_temporary_file, make_folder, sync_tree

KILLED = """
import os, sys
from pathlib import Path
from dragoman.text.folders import new_folder
from dragoman.text.temporary import create_temporary_file
create_temporary_file(Path(sys.argv[1]) / "a.txt")
with new_folder(Path(sys.argv[1]) / "light") as new:
    (new / "half").write_text("half")
    os.kill(os.getpid(), 9)
"""


def killed_process(folder: Path) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False).returncode == -9


def test_the_next_writer_removes_what_a_killed_process_left(tmp_path: Path) -> None:
    killed_process(tmp_path)
    left = sorted(path.name.split("-")[0] for path in tmp_path.iterdir())
    assert left == [".a.txt.dragoman", ".light.dragoman", ".light.dragoman.lock"]
    with replace_file(tmp_path / "a.txt") as file:
        file.write("new\n")
    with new_folder(tmp_path / "light") as new:
        (new / "whole").touch()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.txt", "light", "whole"]


@pytest.mark.parametrize("name", [".", "..", "../work"])
def test_the_current_folder_is_not_replaced(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for replace in False, True:
        refused = pytest.raises(RunError, match="is the current folder, or above it, and the whole folder is replaced")
        with refused, new_folder(Path(name), replace=replace):
            pass
    assert os.listdir(tmp_path) == ["work"]


def test_two_processes_do_not_prepare_one_folder(tmp_path: Path) -> None:
    final = tmp_path / "light"
    with new_folder(final) as new:
        with pytest.raises(RunError, match=rf"light: process {os.getpid()} on .* is writing to this folder"):
            new_folder(final, replace=True).__enter__()
        assert new.is_dir()
    assert os.listdir(tmp_path) == ["light"]


def test_nothing_is_removed_on_a_disk_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed_process(tmp_path)

    def no_locks(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(temporary, "lock", no_locks)
    _, path = create_temporary_file(tmp_path / "a.txt")
    assert path.name == ".a.txt.dragoman-new2"
    with new_folder(tmp_path / "light") as new:
        (new / "whole").touch()
    assert len(list(tmp_path.glob(".light.dragoman-*"))) == 1


def test_an_older_folder_is_there_until_the_moment_it_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    final = tmp_path / "light"
    final.mkdir()
    (final / "old").touch()

    def refuse(*_: object) -> None:
        raise AssertionError("the old folder was moved away first")

    monkeypatch.setattr(os, "rename", refuse)
    with new_folder(final, replace=True) as new:
        (new / "new").touch()
        assert os.listdir(final) == ["old"]
    assert os.listdir(final) == ["new"]
    assert os.listdir(tmp_path) == ["light"]


def test_where_names_cannot_be_exchanged_the_folder_is_replaced_in_two_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    final = tmp_path / "light"
    final.mkdir()
    (final / "old").touch()
    monkeypatch.setattr(folders, "_exchange", lambda *_: False)
    final.chmod(0o2750)
    with new_folder(final, replace=True) as new:
        (new / "new").touch()
    assert os.listdir(final) == ["new"]
    assert final.stat().st_mode & 0o7777 == 0o2750


def test_an_older_folder_is_not_put_back_while_its_process_runs(tmp_path: Path) -> None:
    final = tmp_path / "light"
    (tmp_path / ".light.dragoman-12345678" / "old").mkdir(parents=True)
    with lock_beside(final):
        restore_folder(final)
        assert not final.exists()
    restore_folder(final)
    assert final.exists()


def test_files_that_cannot_be_moved_to_the_new_folder_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    final, rename = tmp_path / "run", os.rename
    final.mkdir()
    (final / "notes").write_text("mine")

    def refuse(old: Path, new: Path) -> None:
        if Path(old).name == "notes":
            raise OSError(16, "Device or resource busy")
        rename(old, new)

    def replace() -> None:
        with PreparedFolder.open(final, is_part=lambda name: name != "notes") as prepared:
            prepared.take_place(replace=True)

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(OSError, match="busy"):
        replace()
    monkeypatch.setattr(os, "rename", rename)
    replace()
    assert (final / "notes").read_text() == "mine"
    assert os.listdir(tmp_path) == ["run"]


def test_a_folder_with_open_files_is_replaced_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = os.rename

    def rename_closed(old: Path, new: Path) -> None:
        if (Path(old) / "text").exists():
            raise PermissionError(13, "Access is denied")
        rename(old, new)

    final = tmp_path / "light"
    final.mkdir()
    (final / "old").touch()
    monkeypatch.setattr(folders, "IS_WINDOWS", True)
    monkeypatch.setattr(folders, "_exchange", lambda *_: False)
    monkeypatch.setattr(os, "rename", rename_closed)
    with new_folder(final, replace=True) as new:
        (new / "text").mkdir()
        (new / "text" / "log").touch()
        with (new / "text" / "log").open("w") as open_file:
            open_file.write("1")
    assert (final / "text" / "log").read_text() == "1"
    assert sorted(path.name for path in final.iterdir()) == ["text"]
    assert os.listdir(tmp_path) == ["light"]


def test_a_folder_that_appeared_meanwhile_is_not_replaced_unless_asked_for(tmp_path: Path) -> None:
    final = tmp_path / "light"

    def appear() -> None:
        final.mkdir()
        (final / "mine").touch()

    with pytest.raises(InputError, match="light: cannot be written: Directory not empty"), new_folder(final):
        appear()
    assert os.listdir(final) == ["mine"]
    assert os.listdir(tmp_path) == ["light"]


def test_a_folder_is_on_disk_before_it_gets_its_name(tmp_path: Path, synced: Callable[[], list[str]]) -> None:
    with new_folder(tmp_path / "light") as new:
        (new / "text").mkdir()
        (new / "text" / "a").touch()
        (new / "b").touch()
    assert synced() == ["a", "text", "b", "new", "rename", tmp_path.name]


def test_all_files_and_folders_of_a_tree_are_synchronised(tmp_path: Path, synced: Callable[[], list[str]]) -> None:
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a").touch()
    sync_tree(tmp_path)
    assert synced() == ["a", "text", tmp_path.name]


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """A function that gives the names that were synchronised so far, and "rename" for each rename."""
    names: list[str] = []
    fsync, rename = os.fsync, os.rename

    def watched_fsync(descriptor: int) -> None:
        names.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        fsync(descriptor)

    def watched_rename(old: Path, new: Path) -> None:
        names.append("rename")
        rename(old, new)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "rename", watched_rename)
    return lambda: names


def test_the_names_of_new_folders_are_on_disk(tmp_path: Path, synced: Callable[[], list[str]]) -> None:
    make_folder(tmp_path / "a" / "b")
    assert synced() == ["a", tmp_path.name]
    make_folder(tmp_path / "a" / "b")
    assert len(synced()) == 2


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_message_about_a_file_in_a_prepared_folder_names_its_later_place(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    def write() -> None:
        with new_folder(final, replace=True) as new, replace_file(new / "a.txt") as file:
            file.write("half")
            monkeypatch.setattr(os, failing, fail)

    final = tmp_path / "light"
    final.mkdir()
    with pytest.raises(InputError) as raised:
        write()
    assert str(raised.value) == f"{final / 'a.txt'}: cannot be written: Input/output error"
