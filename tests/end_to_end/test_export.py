"""`dragoman export`, and every command that takes the folder in place of the run it came from."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

import dragoman
from dragoman.cli.main import main
from dragoman.model.weights import save_weights
from dragoman.runs import exported as export_folder
from dragoman.runs.layout import RunFolder
from dragoman.stored_files import dump_json

from .conftest import Corpus

Printed = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def exported(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny run, exported in float32. Tests must not change it."""
    out = tmp_path_factory.mktemp("exported") / "new" / "light"
    assert main(["export", str(run_folder), "--out", str(out), "--quiet"]) == 0
    return out


@pytest.fixture(scope="module")
def other_run(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of another model with the same symbols. Tests must not change it."""
    folder = Path(shutil.copytree(run_folder, tmp_path_factory.mktemp("other") / "run"))
    weights = load_file(folder / "model.safetensors")
    draw = np.random.default_rng(2)
    noisy = {name: array + draw.normal(0, 0.02, array.shape).astype(array.dtype) for name, array in weights.items()}
    save_weights(folder / "model.safetensors", {name: torch.from_numpy(array) for name, array in noisy.items()})
    return folder


@pytest.fixture
def copy(exported: Path, tmp_path: Path) -> Path:
    """One to damage."""
    return Path(shutil.copytree(exported, tmp_path / "copy"))


def _translate(folder: Path, source: Path) -> int:
    return main(["translate", str(folder), "-i", str(source), "--threads", "1", "--device", "cpu"])


def test_exporting_says_how_near_its_numbers_are_and_how_large_it_is(
    run_folder: Path, tmp_path: Path, capsys: Printed
) -> None:
    assert main(["export", str(run_folder), "--out", str(tmp_path / "light")]) == 0
    printed = capsys.readouterr()
    difference, size = printed.err.splitlines()
    assert printed.out == ""
    beginning = "largest difference of a log-probability from the run, on random sentences: "
    assert difference.endswith(" (rounding in float32)")
    assert float(difference.removeprefix(beginning).split()[0]) < 1e-4
    assert size.startswith(f"exported: {tmp_path / 'light'} (")
    names = {file.relative_to(tmp_path / "light").as_posix() for file in (tmp_path / "light").rglob("*.*")}
    assert {"manifest.json", "config.yaml", "encoder.onnx", "step.onnx", "text/source.vocabulary"} <= names


@pytest.mark.parametrize(
    "command",
    [
        ["translate", "RUN", "-i", "SOURCE"],
        ["translate", "RUN", "-i", "SOURCE", "--beam", "1"],
        ["translate", "RUN", "-i", "SOURCE", "--nbest", "3", "--format", "nbest", "--alignments", "-", "-o", "OUT"],
        ["translate", "RUN", "-i", "SOURCE", "--sample", "--seed", "3"],
        ["align", "RUN", "SOURCE", "TARGET"],
    ],
    ids=" ".join,
)
def test_commands_print_the_same_for_the_run_and_the_exported_folder(
    run_folder: Path, exported: Path, corpus: Corpus, tmp_path: Path, capsys: Printed, command: list[str]
) -> None:
    printed = []
    for run in (run_folder, exported):
        names = {"RUN": run, "SOURCE": corpus.test[0], "TARGET": corpus.test[1], "OUT": tmp_path / "out"}
        words = [str(names.get(word, word)) for word in command]
        assert main([*words, "--threads", "1", "--device", "cpu"]) == 0
        printed.append(capsys.readouterr())
    assert printed[0] == printed[1]
    assert len(printed[0].out.splitlines()) == 20
    assert printed[0].err == ""


def test_scores_are_the_same_to_1e_4(run_folder: Path, exported: Path, corpus: Corpus, capsys: Printed) -> None:
    scores = []
    for run in (run_folder, exported):
        assert main(["score", str(run), *map(str, corpus.dev), "--threads", "1"]) == 0
        scores.append([float(line) for line in capsys.readouterr().out.splitlines()])
    assert len(scores[0]) == 20
    assert scores[1] == pytest.approx(scores[0], abs=1e-4)


def test_load_gives_the_same_translation(run_folder: Path, exported: Path) -> None:
    ours, theirs = (dragoman.load(folder).translate("fed cba") for folder in (exported, run_folder))
    assert (ours.text, ours.alignment) == (theirs.text, theirs.alignment)
    assert ours.log_probability == pytest.approx(theirs.log_probability, abs=1e-4)


@pytest.mark.parametrize("command", ["translate", "score"])
@pytest.mark.parametrize("kind", ["exported", "limited"])
def test_an_exported_folder_needs_neither_torch_nor_onnx(
    request: pytest.FixtureRequest, kind: str, corpus: Corpus, command: str
) -> None:
    exported: Path = request.getfixturevalue(kind)
    files = ["-i", str(corpus.test[0])] if command == "translate" else [str(corpus.test[0]), str(corpus.test[1])]
    program = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(['torch', 'onnx', 'safetensors', 'sacrebleu', 'matplotlib']))\n"
        "from dragoman.cli.main import main\n"
        f"assert main([{command!r}, {str(exported)!r}, *{files!r}, '--threads', '1']) == 0\n"
        "assert sys.modules['torch'] is None\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 20


def test_an_exported_folder_is_measured_and_drawn_without_torch(exported: Path, corpus: Corpus, tmp_path: Path) -> None:
    page, pictures = tmp_path / "page", tmp_path / "pictures"
    files = list(map(str, corpus.test))
    program = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(['torch', 'onnx', 'safetensors', 'tensorboard']))\n"
        "from dragoman.cli.main import main\n"
        f"assert main(['evaluate', {str(exported)!r}, *{files!r}, '--report', {str(page)!r}, '--threads', '1']) == 0\n"
        f"assert main(['heatmap', {str(exported)!r}, {files[0]!r}, '--lines', '1', '--out', {str(pictures)!r}]) == 0\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "perplexity per token" in done.stdout
    assert (page / "report.html").is_file()
    assert (pictures / "1.png").is_file()


def test_int8_learns_nothing_wrong_and_is_smaller(
    run_folder: Path, exported: Path, corpus: Corpus, tmp_path: Path, capsys: Printed
) -> None:
    light = tmp_path / "int8"
    assert main(["export", str(run_folder), "--out", str(light), "--int8", "--quiet"]) == 0
    assert (light / "encoder.onnx").stat().st_size < (exported / "encoder.onnx").stat().st_size
    assert _translate(light, corpus.test[0]) == 0
    found = capsys.readouterr().out.splitlines()
    references = corpus.test[1].read_text(encoding="utf-8").splitlines()
    right = sum(one == other for one, other in zip(found, references, strict=True))
    assert _translate(exported, corpus.test[0]) == 0
    exact = capsys.readouterr().out.splitlines()
    assert right >= sum(one == other for one, other in zip(exact, references, strict=True)) - 1


def test_an_export_is_replaced_only_when_asked(run_folder: Path, copy: Path, tmp_path: Path, capsys: Printed) -> None:
    words = ["export", str(run_folder), "--out", str(copy), "--int8", "--quiet"]
    assert main(words) == 2
    assert capsys.readouterr().err == (
        f"dragoman: error: {copy}: an exported folder is there already; --overwrite replaces it, or give another path\n"
    )
    assert main([*words, "--overwrite"]) == 0
    assert json.loads((copy / "manifest.json").read_text())["int8"] is True
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]  # nothing is left beside it


@pytest.mark.parametrize("more", [[], ["--minutes", "1"], ["--preset", "standard"]])
def test_an_exported_folder_is_not_resumed(exported: Path, capsys: Printed, more: list[str]) -> None:
    assert main(["train", "--out", str(exported), "--resume", *more]) == 2
    assert capsys.readouterr().err.endswith(
        f"{exported}: is an exported folder, which cannot be trained; give the run it was exported from\n"
    )


@pytest.mark.parametrize("out", ["a file", "a folder with other files", "the run itself"])
def test_nothing_else_is_ever_replaced(run_folder: Path, tmp_path: Path, capsys: Printed, out: str) -> None:
    path = run_folder if out == "the run itself" else tmp_path / "out"
    if out == "a file":
        path.write_text("precious")
    elif out == "a folder with other files":
        path.mkdir()
        (path / "thesis.tex").write_text("precious")
    before = sorted(path.rglob("*"))
    assert main(["export", str(run_folder), "--out", str(path), "--overwrite"]) == 2
    message = "is there already and is no folder" if out == "a file" else "holds other files"
    assert f"dragoman: error: {path}: {message}; give " in capsys.readouterr().err
    assert sorted(path.rglob("*")) == before


def test_an_exported_folder_is_not_exported_again(exported: Path, tmp_path: Path, capsys: Printed) -> None:
    assert main(["export", str(exported), "--out", str(tmp_path / "again")]) == 2
    assert capsys.readouterr().err == (
        f"dragoman: error: {exported}: is an exported folder without a torch model; give the run folder\n"
    )


def test_an_exported_folder_is_for_the_cpu(exported: Path, corpus: Corpus, capsys: Printed) -> None:
    assert main(["translate", str(exported), "-i", str(corpus.test[0]), "--device", "cuda"]) == 2
    assert "is an exported folder, which runs on the CPU; give the run folder" in capsys.readouterr().err


@pytest.fixture(scope="module")
def limited(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny run with a shortlist of the 2 most frequent words and the translations of each. Not to be changed."""
    out = tmp_path_factory.mktemp("limited") / "light"
    assert main(["export", str(run_folder), "--out", str(out), "--int8", "--shortlist", "2", "--quiet"]) == 0
    return out


def test_with_a_shortlist_it_translates_as_without(
    exported: Path, limited: Path, corpus: Corpus, capsys: Printed
) -> None:
    """Every letter has one translation here, and the lexicon finds it."""
    printed = []
    for folder, options in ((exported, []), (limited, []), (limited, ["--no-shortlist"])):
        assert main(["translate", str(folder), "-i", str(corpus.test[0]), "--threads", "1", *options]) == 0
        printed.append(capsys.readouterr().out.splitlines())
    plain, listed, unlisted = printed
    assert sum(one != other for one, other in zip(plain, listed, strict=True)) <= 1
    assert sum(one != other for one, other in zip(plain, unlisted, strict=True)) <= 1


def test_a_shortlist_does_not_restrict_constraints(limited: Path, tmp_path: Path, capsys: Printed) -> None:
    source, prefix = tmp_path / "source", tmp_path / "prefix"
    source.write_text("abc\n", encoding="utf-8")
    prefix.write_text("FED\n", encoding="utf-8")  # none of which a source of a, b and c lists
    assert main(["translate", str(limited), "-i", str(source), "--prefix", str(prefix)]) == 0
    assert capsys.readouterr().out.startswith("FED")


def test_given_translations_score_with_a_shortlist_as_without(
    run_folder: Path, limited: Path, corpus: Corpus, tmp_path: Path, capsys: Printed
) -> None:
    assert main(["export", str(run_folder), "--out", str(tmp_path / "int8"), "--int8", "--quiet"]) == 0
    scores = []
    for folder in (tmp_path / "int8", limited):
        assert main(["score", str(folder), *map(str, corpus.dev), "--threads", "1"]) == 0
        scores.append([float(line) for line in capsys.readouterr().out.splitlines()])
    assert scores[1] == pytest.approx(scores[0], abs=1e-4)


def test_a_shortlist_longer_than_the_vocabulary_is_refused(run_folder: Path, tmp_path: Path, capsys: Printed) -> None:
    assert main(["export", str(run_folder), "--out", str(tmp_path / "light"), "--shortlist", "5000"]) == 2
    size = len(RunFolder(run_folder).target_side().vocabulary)
    assert capsys.readouterr().err == (
        f"dragoman: error: --shortlist 5000: the target vocabulary has {size} entries, and a shortlist must be "
        "shorter; a fifth of the vocabulary is a good beginning\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_shortlist_is_learnt_from_given_pairs_where_the_training_data_is_gone(
    run_folder: Path, corpus: Corpus, tmp_path: Path, capsys: Printed
) -> None:
    bare = Path(shutil.copytree(run_folder, tmp_path / "bare", ignore=shutil.ignore_patterns("data", "checkpoints")))
    words = ["export", str(bare), "--out", str(tmp_path / "light"), "--shortlist", "2", "--quiet"]
    assert main(words) == 2
    assert capsys.readouterr().err == (
        f"dragoman: error: {bare}: has no data/train any more, from which a shortlist is learnt; give sentence pairs "
        "with --shortlist-corpus SRC TGT, or export without --shortlist\n"
    )
    assert main([*words, "--shortlist-corpus", *map(str, corpus.train)]) == 0
    assert (tmp_path / "light" / "shortlist.npz").is_file()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shortlist-corpus", "a", "b"], "--shortlist-corpus requires --shortlist K"),
        (
            ["--shortlist-corpus", "a", "b", "c", "--shortlist", "2"],
            "--shortlist-corpus: give two files (source and target), or one",
        ),
        (["--combine", "logits"], "--combine requires several runs, but only RUN is given"),
        (["--shortlist", "2", "--columns", "de", "en"], "--columns requires --shortlist-corpus: it is about its files"),
        (["RUN", "--weights", "1"], "--weights: 1 weights for 2 runs; give one per run"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    tmp_path: Path, capsys: Printed, options: list[str], message: str
) -> None:
    assert main(["export", "RUN", *options, "--out", str(tmp_path / "light")]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--combine", "log-probabilities", "--weights", "1", "2"]], ids=" ".join)
def test_several_runs_become_one_folder_that_translates_as_they_do_together(
    run_folder: Path, other_run: Path, corpus: Corpus, tmp_path: Path, capsys: Printed, options: list[str]
) -> None:
    out, runs = tmp_path / "both", [str(run_folder), str(other_run)]
    assert main(["export", *runs, "--out", str(out), *options]) == 0
    told = re.search(r"on random sentences: (\S+) \(rounding in float32\)", capsys.readouterr().err)
    assert told is not None
    assert float(told[1]) < 1e-4
    exported = []
    for number, run in enumerate(runs):
        exported.append(str(tmp_path / str(number)))
        assert main(["export", run, "--out", exported[-1], "--quiet"]) == 0
    printed = []
    for folders, combining in ((runs, options), ([str(out)], []), (exported, options)):
        command = ["translate", *folders, "-i", str(corpus.test[0]), *combining, "--alignments", "-", "-o"]
        assert main([*command, str(tmp_path / "translations"), "--threads", "1", "--device", "cpu"]) == 0
        printed.append((capsys.readouterr().out, (tmp_path / "translations").read_text(encoding="utf-8")))
    assert printed[0] == printed[1] == printed[2]


def test_runs_that_read_other_symbols_cannot_be_one_folder(run_folder: Path, tmp_path: Path, capsys: Printed) -> None:
    other = Path(shutil.copytree(run_folder, tmp_path / "other"))
    (other / "run.json").unlink()  # without it the digests of text/ are not checked
    path = other / "text" / "source.vocabulary"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines[:5], lines[6], lines[5], *lines[7:], ""]), encoding="utf-8")
    assert main(["export", str(run_folder), str(other), "--out", str(tmp_path / "both")]) == 2
    assert capsys.readouterr().err == (
        f"dragoman: error: {run_folder} and {other} cannot become one exported folder: their source vocabularies "
        "differ; export each by itself and give `dragoman translate` all the folders, which combines them the same "
        "way\n"
    )


def _remove(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def _cut(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:-10])


def _alter(name: str) -> Callable[[Path], object]:
    def alter(folder: Path) -> None:
        content = bytearray((folder / name).read_bytes())
        content[len(content) // 2] ^= 1
        (folder / name).write_bytes(content)

    return alter


def _rewrite(**changes: object) -> Callable[[Path], object]:
    def rewrite(folder: Path) -> None:
        manifest = json.loads((folder / "manifest.json").read_text())
        (folder / "manifest.json").write_text(dump_json({**manifest, **changes}))

    return rewrite


DAMAGES = {
    "no encoder": (_remove("encoder.onnx"), "encoder.onnx: is missing; copy the exported folder again, or export"),
    "no vocabulary": (_remove("text/target.vocabulary"), "text/target.vocabulary: is missing"),
    "no manifest": (_remove("manifest.json"), "an exported folder, but its manifest.json is missing"),
    "a shortlist of another folder": (
        lambda folder: (folder / "shortlist.npz").write_bytes(b"x"),
        "shortlist.npz: manifest.json does not list it",
    ),
    "truncated step": (_cut("step.onnx"), "step.onnx: is damaged: its SHA-256 differs"),
    "altered step": (_alter("step.onnx"), "step.onnx: is damaged: its SHA-256 differs from that in manifest.json"),
    "altered vocabulary": (_alter("text/source.vocabulary"), "text/source.vocabulary: is damaged"),
    "altered configuration": (_alter("config.yaml"), "config.yaml: is damaged"),
    "truncated manifest": (_cut("manifest.json"), "manifest.json: is damaged: not JSON that can be read"),
    "a list for a manifest": (
        lambda folder: (folder / "manifest.json").write_text("[]"),
        "is damaged: Expected object, got array",
    ),
    "manifest without files": (_rewrite(files=None), "is damaged: files: Expected object, got null"),
    "manifest that forgets the graphs": (_rewrite(files={}), "manifest.json does not list it"),
    "manifest that leads elsewhere": (
        _rewrite(files={"../x": {"bytes": 1, "sha256": ""}}),
        "manifest.json: is damaged: files: '../x' is not the name of a file in the folder",
    ),
    "newer format": (
        _rewrite(format=3),
        "manifest.json: format 3 is newer than this version of dragoman reads (2); upgrade dragoman",
    ),
    "earlier format": (
        _rewrite(format=1),
        "manifest.json: format 1 is from an earlier version of dragoman; copy the exported folder again, or export",
    ),
    "a text file of another run": (
        lambda folder: (folder / "text" / "source.model").write_text("x"),
        "text/source.model: manifest.json does not list it",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_told_and_not_used(copy: Path, corpus: Corpus, capsys: Printed, damage: str) -> None:
    act, message = DAMAGES[damage]
    act(copy)
    assert _translate(copy, corpus.test[0]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith(f"dragoman: error: {copy}")
    assert message in printed.err


def test_a_vocabulary_that_does_not_fit_is_refused(copy: Path, corpus: Corpus, capsys: Printed) -> None:
    """A folder put together from two runs, with a manifest for it."""
    path = copy / "text" / "target.vocabulary"
    header, *pieces = path.read_text(encoding="utf-8").splitlines()
    count = len(pieces)
    path.write_text("\n".join([header.replace(str(count), str(count - 1)), *pieces[:-1], ""]), encoding="utf-8")
    (copy / "manifest.json").unlink()
    export_folder.write_manifest(copy, int8=False, parameters=1)
    assert _translate(copy, corpus.test[0]) == 2
    assert capsys.readouterr().err == (
        f"dragoman: error: {copy}: the model knows {count} target symbols and the vocabulary in text/ has {count - 1}; "
        "they do not belong to the same run; export the run again\n"
    )
