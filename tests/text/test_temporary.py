"""Temporary files of processes that run, and what is no temporary file, are left alone."""

from __future__ import annotations

import os
from pathlib import Path

from dragoman.text.lines import replace_file


def test_files_of_running_processes_are_left_alone(tmp_path: Path) -> None:
    final = tmp_path / "a.txt"
    with replace_file(final) as first:
        first.write("first\n")
        with replace_file(final) as second:
            second.write("second\n")
            assert sorted(os.listdir(tmp_path)) == [".a.txt.dragoman-new", ".a.txt.dragoman-new2"]
        assert final.read_text() == "second\n"
    assert final.read_text() == "first\n"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_link_under_the_name_of_a_temporary_file_is_not_followed(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (tmp_path / ".a.txt.dragoman-new").symlink_to(mine)
    with replace_file(tmp_path / "a.txt") as file:
        file.write("new\n")
    assert mine.read_text() == "mine"
    assert (tmp_path / ".a.txt.dragoman-new").is_symlink()
