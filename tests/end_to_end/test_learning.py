"""`dragoman learn`: what is learnt, refused, taken back and undone, and that it follows from the log, bit for bit."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import torch

import dragoman
from dragoman.cli.main import main
from dragoman.config.building import override
from dragoman.config.files import load_config
from dragoman.errors import ConfigError, RunError
from dragoman.learning import learner as module
from dragoman.learning.checks import RefusedCorrection
from dragoman.model.weights import weights_of
from dragoman.runs.layout import RunFolder
from dragoman.stored_files import model_digest, sha256_of
from dragoman.text.segmentation import load_segmentation
from dragoman.text.segmentation.normal_form import NormalForm, NormalisedSegmentation
from dragoman.text.spelling import Spelling
from dragoman.workflows import learning as workflow

PAIRS = [("ab c", "AB X"), ("fed", "FED F"), ("cab", "CAB B"), ("a f", "A FF"), ("dd e", "DD EE")]
Said = pytest.CaptureFixture[str]


def learner(run: Path, folder: Path) -> dragoman.Learner:
    return dragoman.Learner(run, folder, device="cpu", threads=1)


def bits(one: dragoman.Learner) -> dict[str, torch.Tensor]:
    return {name: weight.clone() for name, weight in weights_of(one.run.model()).items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "BLOCK", 2)
    monkeypatch.setattr(module, "LOST", 100.0)
    return


def learn_all(run: Path, folder: Path, pairs: list[tuple[str, str]]) -> dict[str, torch.Tensor]:
    with learner(run, folder) as one:
        for pair in pairs:
            one.learn(*pair)
        return bits(one)


def test_a_correction_becomes_more_probable_and_the_run_stays(run_folder: Path, tmp_path: Path) -> None:
    before = {path: sha256_of(path) for path in run_folder.rglob("*") if path.is_file()}
    with learner(run_folder, tmp_path / "learned") as one:
        scorer = one.run.scorer()
        [old] = scorer.score([PAIRS[0]])
        learnt = one.learn(*PAIRS[0])
        [new] = scorer.score([PAIRS[0]])
        assert learnt.number == 1
        assert learnt.updates > 0
        assert new.log_probability > old.log_probability
        assert one.learn(*PAIRS[0]) == (1, 0, None)  # the same again
        assert one.learn("ab c", "AB Y").number == 2
        assert one.learn(*PAIRS[0]).number == 3  # no longer the last of its source
        assert len(one.corrections) == 3
    for change in (partial(one.log, *PAIRS[1]), partial(one.undo, 1), one.undo_all):
        with pytest.raises(RunError, match="this Learner has ended; open another one to go on"):
            change()
    assert {path: sha256_of(path) for path in run_folder.rglob("*") if path.is_file()} == before


def test_words_of_corrections_are_known_from_then_on(run_folder: Path, tmp_path: Path) -> None:
    run, folder, out = tmp_path / "run", tmp_path / "learned", tmp_path / "out"
    shutil.copytree(run_folder, run)
    form = NormalForm("abcdef ", Spelling(["faced", "bead"], 2, 0))
    path = run / "text" / "source.segmentation.json"
    NormalisedSegmentation(load_segmentation(path), form).save(path)
    (run / "run.json").unlink()  # has the digest of the file before
    pairs = [("fcaed ab", "FCAED AB"), ("ab baed", "AB"), ("fcaed baed c", "C C")]
    with learner(run, folder) as one:
        assert [error.read_as for error in one.run.source.typing_errors("fcaed baed")] == ["faced", "bead"]
        one.learn(*pairs[0])
        assert one.run.source.typing_errors("fcaed ab") == []
        assert [error.read_as for error in one.run.source.typing_errors("baed")] == ["bead"]
    whole = learn_all(run, folder, pairs[1:])
    assert same(whole, learn_all(run, tmp_path / "at once", pairs))
    assert main(["learn", str(run), "--learned", str(folder), "--out", str(out), "--quiet"]) == 0
    assert dragoman.open_run(out).source.typing_errors("fcaed baed") == []
    with learner(run, folder) as one:
        one.undo(1)
        one.undo(2)
        assert [error.read_as for error in one.run.source.typing_errors("fcaed")] == ["faced"]
    assert [error.read_as for error in dragoman.open_run(run).source.typing_errors("fcaed baed")] == ["faced", "bead"]


def test_the_weights_follow_from_the_log(run_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "learned"
    whole = learn_all(run_folder, folder, PAIRS)
    assert not same(whole, weights_of(dragoman.open_run(run_folder, device="cpu").model()))
    assert same(whole, learn_all(run_folder, folder, []))  # from the last block on
    for broken in ("learned.json", "learned.safetensors"):
        for damage in (Path.unlink, lambda path: path.write_bytes(b"x")):
            damage(folder / broken)
            assert same(whole, learn_all(run_folder, folder, []))
    by_and_by = tmp_path / "several"
    for pair in PAIRS:
        again = learn_all(run_folder, by_and_by, [pair])
    assert same(whole, again)


@pytest.mark.parametrize("last", ["learn_pair", "sha256_of"])  # the updates; saving the weights of a block
def test_an_interrupted_correction_is_learnt_whole_later(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    whole, function = learn_all(run_folder, tmp_path / "whole", PAIRS), getattr(module, last)

    def interrupted(*args: object) -> None:
        monkeypatch.setattr(module, last, function)
        function(*args)
        raise KeyboardInterrupt

    with learner(run_folder, tmp_path / "learned") as one:
        one.learn(*PAIRS[0])
        monkeypatch.setattr(module, last, interrupted)
        with pytest.raises(KeyboardInterrupt):
            one.learn(*PAIRS[1])
        for pair in PAIRS[2:]:
            one.learn(*pair)
        assert one.learnt == len(PAIRS)
        assert same(whole, bits(one))


def test_undoing_is_learning_without(run_folder: Path, tmp_path: Path) -> None:
    for number in (1, len(PAIRS)):
        folder = tmp_path / f"undone{number}"
        learn_all(run_folder, folder, PAIRS)
        with learner(run_folder, folder) as one:
            one.undo(number)
            undone = bits(one)
        without = [*PAIRS[: number - 1], *PAIRS[number:]]
        assert same(undone, learn_all(run_folder, tmp_path / f"without{number}", without))
        with learner(run_folder, folder) as one, pytest.raises(ConfigError, match="has no correction 5; it has 4"):
            one.undo(5)


def test_what_costs_too_much_is_taken_back(run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with learner(run_folder, tmp_path / "learned") as one:
        base = bits(one)
        assert [one.learn(*pair).taken_back for pair in PAIRS[:2]] == [None, None]
        kept = bits(one)
        assert not same(base, kept)
        monkeypatch.setattr(module, "LOST", -1.0)
        monkeypatch.setattr(one._guard, "lost", lambda: 3.0)
        assert [one.learn(*pair).taken_back for pair in PAIRS[2:4]] == [None, 3.0]
        assert same(kept, bits(one))
        assert one.taken_back == [1]
        one.learn(*PAIRS[4])
        assert one.finish_block() == 3.0
        assert same(kept, bits(one))
        monkeypatch.setattr(one._guard, "lost", lambda: -2.0)  # what is learnt then follows from the log all the same
        assert one.learn("ca", "CA C") == (6, 3, None)
        whole = bits(one)
    assert len(module.CorrectionLog(tmp_path / "learned" / module.LOG).entries) == 6
    (tmp_path / "learned" / module.WEIGHTS).unlink()
    lost = iter([-2.0, 3.0, -2.0])
    monkeypatch.setattr(module.Guard, "lost", lambda self: next(lost))
    assert same(whole, learn_all(run_folder, tmp_path / "learned", []))


def test_what_is_taken_back_is_told_again(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    monkeypatch.setattr(workflow, "BLOCK", 2)
    monkeypatch.setattr(module.Guard, "lost", lambda self: 200.0)
    learn_all(run_folder, tmp_path / "learned", PAIRS)
    for option in (["--list"], ["--undo", "5"]):
        assert main(["learn", str(run_folder), "--learned", str(tmp_path / "learned"), *option]) == 0
        said = capsys.readouterr().err
        assert [f"corrections {first} to {first + 1} cost more than 0.5 BLEU" in said for first in (1, 3, 5)] == [
            True, True, False]  # fmt: skip


def test_what_is_not_learnt_yet_is_listed_at_once(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    learn_all(run_folder, tmp_path / "learned", PAIRS)
    (tmp_path / "learned" / module.WEIGHTS).unlink()
    monkeypatch.setattr(module, "learn_pair", lambda *_: pytest.fail("a list needs no weights"))
    assert main(["learn", str(run_folder), "--learned", str(tmp_path / "learned"), "--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(PAIRS)


def test_what_is_no_correction_is_refused(run_folder: Path, tmp_path: Path) -> None:
    with learner(run_folder, tmp_path / "learned") as one:
        before = bits(one)
        for source, target, reason in (
            ("ab", " ", "one side is empty"),
            ("", "AB", "one side is empty"),
            ("ab", "A" * 40, "one side has 40 segments, the other 2"),
            ("ab", "A" * 400, "more than cleaning.max_length"),
            ("ab", "жщю", "the model knows less than half of the translation's letters"),
            ("ab", "ж щ ю a", "the model knows less than half of the translation's letters"),
            ("жщю", "AB", "the model knows less than half of the source's letters"),
            ("ab", "--", "one side has no letter"),
        ):
            with pytest.raises(RefusedCorrection, match=reason):
                one.learn(source, target)
        assert one.corrections == ()
        assert same(before, bits(one))


def test_one_process_learns_in_a_folder_and_the_log_belongs_to_its_run(run_folder: Path, tmp_path: Path) -> None:
    with learner(run_folder, tmp_path / "learned") as one:
        one.learn(*PAIRS[0])
        with pytest.raises(RunError, match="is writing to this folder"):
            learner(run_folder, tmp_path / "learned")
    other = tmp_path / "other"
    assert main(["learn", str(run_folder), "--learned", str(tmp_path / "learned"), "--out", str(other), "--quiet"]) == 0
    with pytest.raises(RunError, match=r"corrections.jsonl:1: is a correction of another run"):
        learner(other, tmp_path / "learned")
    shutil.rmtree(other / "data" / "train")
    learn_all(other, tmp_path / "without-text", PAIRS[:1])
    shutil.copytree(run_folder / "data" / "train", other / "data" / "train")
    with pytest.raises(RunError, match="was learnt beside 0 pairs of the training text"):
        learner(other, tmp_path / "without-text")


def test_the_command_learns_lists_undoes_and_writes_a_run(run_folder: Path, tmp_path: Path, capsys: Said) -> None:
    pairs, run = tmp_path / "pairs.tsv", tmp_path / "RUN"
    shutil.copytree(run_folder, run)
    lines = [*PAIRS, PAIRS[-1], ("b", "")]
    pairs.write_text("".join(f"{source}\t{target}\n" for source, target in lines), encoding="utf-8")
    out = tmp_path / "NEW"
    assert main(["learn", str(run), "--pairs", str(pairs), "--out", str(out), "--threads", "1"]) == 0
    said = capsys.readouterr().err
    assert "pairs.tsv:7: 'b' is not learnt: one side is empty" in said
    assert "corrections: 5 learnt, 1 known, 1 refused; in " in said
    with learner(run, tmp_path / "RUN.learned") as one:
        assert same(bits(one), weights_of(dragoman.open_run(out, device="cpu").model()))
    assert main(["learn", str(run), "--undo", "2", "--list", "--threads", "1"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown == [f"{number}\t{source}\t{target}" for number, (source, target) in enumerate(
        [PAIRS[0], *PAIRS[2:]], 1)]  # fmt: skip
    assert main(["translate", str(out), "-i", str(pairs), "--quiet"]) == 0
    assert main(["learn", str(out), "--pairs", str(pairs), "--quiet", "--threads", "1"]) == 0
    capsys.readouterr()
    for options, message in (
        ([], "nothing to do: give --pairs FILE"),
        (["--pairs", str(pairs), "--undo", "1"], "--undo and --pairs: give one after the other"),
        (["--out", str(out)], "a run is there already"),
        (["--overwrite", "--list"], "--overwrite requires --out RUN"),
        (["--list", "--encoding", "cp949"], "--encoding requires --pairs: it is about its files"),
        (["--undo", "9"], "has no correction 9; it has 4"),
        (["--list", "--learned", str(tmp_path / "mistyped")], "mistyped: does not exist; learn with --pairs first"),
    ):
        assert main(["learn", str(run), *options]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "mistyped").exists()


def test_what_is_learnt_is_not_kept_in_a_run(run_folder: Path, tmp_path: Path, capsys: Said) -> None:
    run, pairs = shutil.copytree(run_folder, tmp_path / "run"), tmp_path / "pairs.tsv"
    pairs.write_text("ab c\tAB D\n", encoding="utf-8")
    before = model_digest(run)
    learn = ["learn", str(run), "--pairs", str(pairs), "--learned"]
    for folder, out in ((f"{tmp_path}/out/../run", []), (f"{tmp_path}/out", ["--out", f"{tmp_path}/out"])):
        assert main([*learn, folder, *out]) == 2
        assert f"--learned: {folder} is a run; give a folder of its own" in capsys.readouterr().err
    assert model_digest(run) == before
    assert not (tmp_path / "out").exists()


def test_corrections_in_columns_of_languages_are_read_in_the_order_of_the_run(
    run_folder: Path, tmp_path: Path, capsys: Said
) -> None:
    run, pairs = shutil.copytree(run_folder, tmp_path / "run"), tmp_path / "pairs.csv"
    pairs.write_text("en,de\na,b\n", encoding="utf-8")
    languages = ["text.source.language=de", "text.target.language=en"]
    RunFolder(run).save_config(override(load_config(run / "config.yaml"), languages))
    assert main(["learn", str(run), "--pairs", str(pairs), "--learned", str(run)]) == 2  # once they are read
    assert "source de, target en" in capsys.readouterr().err
