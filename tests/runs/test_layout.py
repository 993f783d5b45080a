from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.config.presets import load_preset, preset_names
from dragoman.config.schema import FORMAT, Config, SideConfig
from dragoman.errors import InputError, RunError
from dragoman.runs.layout import RunFolder
from dragoman.text.segmentation import train_segmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary

CONFIG = Config()


def complete(path: Path) -> RunFolder:
    """A run folder with everything that a finished run has."""
    folder = RunFolder.create(path, CONFIG)
    characters = train_segmentation(SideConfig(segmentation="characters"), [])
    TextSide(characters, Vocabulary("abc")).save(folder.text, "source")
    TextSide(characters, Vocabulary("xyz")).save(folder.text, "target")
    folder.weights.write_bytes(b"weights")
    folder.log.write_text("{}\n")
    folder.report.write_text("<html>")
    for part in (folder.checkpoints, folder.tensorboard, folder.train_data, folder.dev_data):
        part.mkdir(parents=True)
        (part / "file").write_text("x")
    return folder


def test_names_are_those_of_the_design() -> None:
    folder = RunFolder(Path("run"))
    names = {
        folder.config: "config.yaml",
        folder.text: "text",
        folder.train_data: "data/train",
        folder.dev_data: "data/dev",
        folder.weights: "model.safetensors",
        folder.checkpoints: "checkpoints",
        folder.log: "log.jsonl",
        folder.tensorboard: "tensorboard",
        folder.report: "report.html",
    }
    assert all(path == Path("run") / name for path, name in names.items())
    assert len(names) == 9


def test_created_folder_has_its_configuration_and_a_place_for_text(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "runs" / "first", CONFIG)
    assert folder.load_config() == CONFIG
    assert folder.text.is_dir()


def test_every_preset_survives_the_folder(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", CONFIG)
    for name in preset_names():
        config = load_preset(name)
        folder.save_config(config)
        assert folder.load_config() == config


def test_complete_folder_opens_and_gives_its_parts(tmp_path: Path) -> None:
    complete(tmp_path / "run")
    folder = RunFolder.open(str(tmp_path / "run"))
    assert folder.load_config() == CONFIG
    assert folder.source_side().vocabulary.pieces([4, 5, 6]) == list("abc")
    assert folder.target_side().encode("zx").ids == [6, 4]
    assert RunFolder.resume(tmp_path / "run") == folder


def test_existing_run_is_not_touched(tmp_path: Path) -> None:
    folder = complete(tmp_path / "run")
    with pytest.raises(RunError) as caught:
        RunFolder.create(folder.path, CONFIG)
    assert str(caught.value) == (
        f"{folder.path}: a run is there already; --resume goes on with it, --overwrite starts anew without it, "
        "or give another path"
    )
    assert folder.weights.read_bytes() == b"weights"


def test_a_failure_while_preparing_leaves_nothing_of_ours_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt), RunFolder.create(path, CONFIG).being_prepared():
        raise KeyboardInterrupt
    assert not path.exists()
    path.mkdir()
    (path / "notes.txt").write_text("mine")
    folder = RunFolder.create(path, CONFIG)
    with pytest.raises(RunError), folder.being_prepared():
        raise RunError("the text is bad")
    assert [left.name for left in path.iterdir()] == ["notes.txt"]
    with folder.create(path, CONFIG).being_prepared():
        pass
    assert folder.config.is_file()


def test_overwrite_removes_our_files_and_no_others(tmp_path: Path) -> None:
    folder = complete(tmp_path / "run")
    (folder.path / "notes.txt").write_text("mine")
    RunFolder.create(folder.path, CONFIG, overwrite=True)
    assert sorted(path.name for path in folder.path.iterdir()) == ["config.yaml", "notes.txt", "text"]
    assert list(folder.text.iterdir()) == []


def test_overwrite_does_not_follow_links(tmp_path: Path) -> None:
    folder = complete(tmp_path / "run")
    elsewhere = tmp_path / "elsewhere"
    (folder.path / "data").rename(elsewhere)
    (folder.path / "data").symlink_to(elsewhere)
    RunFolder.create(folder.path, CONFIG, overwrite=True)
    assert not (folder.path / "data").exists()
    assert (elsewhere / "train" / "file").exists()


@pytest.mark.parametrize("overwrite", [False, True])
def test_folder_of_somebody_else_is_left_alone(tmp_path: Path, overwrite: bool) -> None:
    for name in ("data", "text"):
        (tmp_path / name).mkdir()
    with pytest.raises(RunError) as caught:
        RunFolder.create(tmp_path, CONFIG, overwrite=overwrite)
    assert str(caught.value) == (
        f"{tmp_path}: holds text, data but no config.yaml, so it may be no run folder and is left alone; "
        "give another path"
    )
    assert (tmp_path / "data").is_dir()


@pytest.mark.parametrize("overwrite", [False, True])
def test_empty_folder_or_one_with_other_things_is_fine(tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert RunFolder.create(tmp_path, CONFIG, overwrite=overwrite).config.is_file()
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("below", ["", "run"])
def test_file_in_the_way_of_a_new_run(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("mine")
    path = tmp_path / "file" / below
    with pytest.raises(RunError, match=r"file.*: is a file, or lies under one; give the path of a folder"):
        RunFolder.create(path, CONFIG, overwrite=True)
    assert (tmp_path / "file").read_text() == "mine"


def test_folder_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="the run folder cannot be made: File name too long"):
        RunFolder.create(tmp_path / ("x" * 300), CONFIG)


def test_configuration_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone/config.yaml: cannot be written: No such file or directory"):
        RunFolder(tmp_path / "gone").save_config(CONFIG)


@pytest.mark.parametrize("door", [RunFolder.open, RunFolder.resume])
class TestDoors:
    def test_impossible_name_does_not_exist(self, tmp_path: Path, door: object) -> None:
        with pytest.raises(RunError, match="x: does not exist"):
            door(tmp_path / ("x" * 300))  # type: ignore[operator]

    def test_mistyped_name_gets_the_nearest_one(self, tmp_path: Path, door: object) -> None:
        complete(tmp_path / "en-de")
        with pytest.raises(RunError) as caught:
            door(tmp_path / "en-ed")  # type: ignore[operator]
        assert str(caught.value) == f"{tmp_path / 'en-ed'}: does not exist; did you mean {tmp_path / 'en-de'}?"

    def test_file_is_no_run_folder(self, tmp_path: Path, door: object) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(RunError) as caught:
            door(tmp_path / "file")  # type: ignore[operator]
        expected = "is a file, not a run folder; give the folder that `dragoman train --out` wrote"
        assert str(caught.value) == f"{tmp_path / 'file'}: {expected}"

    def test_any_folder_is_no_run_folder(self, tmp_path: Path, door: object) -> None:
        with pytest.raises(RunError) as caught:
            door(tmp_path)  # type: ignore[operator]
        assert str(caught.value) == f"{tmp_path}: not a run folder: it has no config.yaml"

    def test_missing_text_is_named(self, tmp_path: Path, door: object) -> None:
        folder = complete(tmp_path / "run")
        folder.text.rename(tmp_path / "elsewhere")
        with pytest.raises(RunError) as caught:
            door(folder.path)  # type: ignore[operator]
        assert str(caught.value) == (
            f"{folder.path}: has no text/, the segmentations and vocabularies that its weights belong to; "
            "take it from a copy of the run folder, or train again with --overwrite"
        )

    def test_newer_format_is_refused(self, tmp_path: Path, door: object) -> None:
        folder = complete(tmp_path / "run")
        text, newer = folder.config.read_text(), FORMAT + 1
        assert f"format: {FORMAT}" in text
        folder.config.write_text(text.replace(f"format: {FORMAT}", f"format: {newer}", 1))
        message = rf"config.yaml: configuration format {newer} is newer than .* upgrade dragoman"
        with pytest.raises(RunError, match=message):
            door(folder.path)  # type: ignore[operator]

    def test_wrong_key_is_an_error_of_the_run(self, tmp_path: Path, door: object) -> None:
        folder = complete(tmp_path / "run")
        with folder.config.open("a") as file:
            file.write("beem: 3\n")
        with pytest.raises(RunError, match="beem"):
            door(folder.path)  # type: ignore[operator]


def test_missing_weights_are_named(tmp_path: Path) -> None:
    folder = complete(tmp_path / "run")
    folder.weights.unlink()
    with pytest.raises(RunError) as caught:
        RunFolder.open(folder.path)
    assert str(caught.value) == (
        f"{folder.path}: has no model.safetensors: training has not come to its first validation; "
        "go on with it (--resume), or take the file from a copy of the run folder"
    )
    assert RunFolder.resume(folder.path) == folder


def test_nothing_to_resume_is_said(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", CONFIG)
    with pytest.raises(RunError) as caught:
        RunFolder.resume(folder.path)
    assert str(caught.value) == (
        f"{folder.path}: has no checkpoints/: it stopped before its first training state was saved; "
        "start it anew with --overwrite"
    )


def test_missing_vocabulary_is_named(tmp_path: Path) -> None:
    folder = complete(tmp_path / "run")
    (folder.text / "target.vocabulary").unlink()
    with pytest.raises(RunError, match=r"text/target.vocabulary: missing"):
        RunFolder.open(folder.path).target_side()


def test_torch_is_not_needed() -> None:
    program = "import sys, dragoman.runs.layout; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": ":".join(sys.path)}).returncode == 0
