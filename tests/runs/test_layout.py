from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.config.presets import load_preset, preset_names
from dragoman.config.schema import FORMAT, Config, SideConfig
from dragoman.errors import InputError, RunError
from dragoman.runs.layout import RunFolder
from dragoman.runs.new_run import NewRun
from dragoman.runs.parts import write_mark
from dragoman.text.segmentation import train_segmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary

CONFIG = Config()


def made(path: Path) -> RunFolder:
    """A run folder with the parts that are created first."""
    with NewRun(path, CONFIG) as new:
        return new.take_place()


def complete(path: Path) -> RunFolder:
    """A run folder with everything that a finished run has."""
    folder = made(path)
    characters = train_segmentation(SideConfig(segmentation="characters"), [])
    TextSide(characters, Vocabulary("abc")).save(folder.text, "source")
    TextSide(characters, Vocabulary("xyz")).save(folder.text, "target")
    folder.weights.write_bytes(b"weights")
    folder.log.write_text("{}\n")
    folder.report.write_text("<html>")
    for part, name in (
        (folder.checkpoints, "latest.safetensors"),
        (folder.tensorboard, "events.out.tfevents.1.host.1.0"),
        (folder.train_data, "source.ids"),
        (folder.dev_data, "meta.json"),
    ):
        part.mkdir(parents=True)
        (part / name).write_text("x")
    return folder


def test_names_of_the_parts() -> None:
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
    folder = made(tmp_path / "runs" / "first")
    assert folder.load_config() == CONFIG
    assert folder.text.is_dir()


def test_every_preset_survives_the_folder(tmp_path: Path) -> None:
    folder = made(tmp_path / "run")
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


def test_configuration_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone/config.yaml: cannot be written: No such file or directory"):
        RunFolder(tmp_path / "gone").save_config(CONFIG)


@pytest.mark.parametrize("door", [RunFolder.open, RunFolder.resume])
class TestWaysToOpen:
    def test_impossible_name_does_not_exist(self, tmp_path: Path, door: object) -> None:
        with pytest.raises(RunError, match="x: does not exist"):
            door(tmp_path / ("x" * 300))  # type: ignore[operator]

    def test_mistyped_name_gets_the_nearest_one(self, tmp_path: Path, door: object) -> None:
        complete(tmp_path / "en-de")
        with pytest.raises(RunError) as caught:
            door(tmp_path / "en-ed")  # type: ignore[operator]
        assert str(caught.value) == f"{tmp_path / 'en-ed'}: does not exist; did you mean {tmp_path / 'en-de'}?"

    def test_file_is_refused(self, tmp_path: Path, door: object) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(RunError) as caught:
            door(tmp_path / "file")  # type: ignore[operator]
        expected = "is a file, not a run folder; give the folder that `dragoman train --out` wrote"
        assert str(caught.value) == f"{tmp_path / 'file'}: {expected}"

    def test_folder_without_a_run_is_refused(self, tmp_path: Path, door: object) -> None:
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

    def test_newer_format_of_the_folder_is_refused(self, tmp_path: Path, door: object) -> None:
        folder = complete(tmp_path / "run")
        (folder.path / "run.json").write_text('{"kind": "dragoman run", "format": 2}')
        with pytest.raises(RunError, match=r"run.json: format 2 is newer than .* \(1\); upgrade dragoman"):
            door(folder.path)  # type: ignore[operator]

    def test_a_copy_without_the_mark_opens(self, tmp_path: Path, door: object) -> None:
        folder = complete(tmp_path / "run")
        (folder.path / "run.json").unlink()
        assert door(folder.path) == folder  # type: ignore[operator]

    def test_wrong_key_is_a_run_error(self, tmp_path: Path, door: object) -> None:
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
        f"{folder.path}: has no model.safetensors: training has not reached its first validation; "
        "continue it (--resume), or take the file from a copy of the run folder"
    )
    assert RunFolder.resume(folder.path) == folder


def test_missing_training_states_are_named(tmp_path: Path) -> None:
    folder = made(tmp_path / "run")
    with pytest.raises(RunError) as caught:
        RunFolder.resume(folder.path)
    assert str(caught.value) == (
        f"{folder.path}: has no checkpoints/, so there is no training state to resume from (an imported run has none); "
        "take the folder from a copy of the run, or train again with --overwrite"
    )


def test_missing_vocabulary_is_named(tmp_path: Path) -> None:
    folder = complete(tmp_path / "run")
    (folder.text / "target.vocabulary").unlink()
    with pytest.raises(RunError, match=r"text/target.vocabulary: missing"):
        RunFolder.open(folder.path).target_side()


def test_torch_is_not_needed() -> None:
    program = "import sys, dragoman.runs.layout; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": ":".join(sys.path)}).returncode == 0


@pytest.mark.parametrize("side", ["source", "target"])
def test_an_altered_vocabulary_is_refused(tmp_path: Path, side: str) -> None:
    folder = complete(tmp_path / "run")
    write_mark(folder.path)
    load = folder.source_side if side == "source" else folder.target_side
    assert load()
    vocabulary = folder.text / f"{side}.vocabulary"
    vocabulary.write_text("\n".join([*vocabulary.read_text().splitlines()[:-1], "d"]) + "\n")
    with pytest.raises(RunError, match=rf"{side}.vocabulary: is damaged: its SHA-256 differs from that in run.json"):
        load()
    (folder.path / "run.json").unlink()
    assert load(), "a copy without the mark is not checked"
