"""Rescoring n-best lists through the command."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.runs.opening import open_run
from dragoman.scoring.nbest import by_sentence, read_nbest
from dragoman.text.lines import read_lines, write_lines

from .conftest import Corpus


@pytest.fixture
def n_best(corpus: Corpus, run_folder: Path, tmp_path: Path) -> Path:
    """What the run itself finds for the test set."""
    path = tmp_path / "test.nbest.gz"
    search = ["--beam", "4", "--nbest", "4", "--format", "nbest", "--quiet"]
    assert main(["translate", str(run_folder), "-i", str(corpus.test[0]), "-o", str(path), *search]) == 0
    return path


def _rescore(n_best: Path, corpus: Corpus, run_folder: Path, out: Path, *more: str) -> int:
    needed = ["--source", str(corpus.test[0]), "--model", str(run_folder), "-o", str(out), "--quiet"]
    return main(["rescore", str(n_best), *needed, *more])


def test_the_new_feature_is_what_search_reported_and_the_rest_stays(
    n_best: Path, corpus: Corpus, run_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.xz"
    assert _rescore(n_best, corpus, run_folder, out) == 0
    before, after = list(read_nbest(n_best)), list(read_nbest(out))
    assert len(after) > 40
    same = 0
    for old, new in zip(before, after, strict=True):
        (value,) = new.features["Neural"]
        assert new.line.replace(new.line[new.line.index(" Neural=") : new.line.rindex(" |||")], "", 1) == old.line
        same += math.isclose(value, old.features["dragoman"][0], abs_tol=1e-4)
    assert same > 0.8 * len(after)  # but for texts that lost a blank at their end


def test_several_models_reverse_ensemble_and_normalised(
    n_best: Path, corpus: Corpus, run_folder: Path, tmp_path: Path
) -> None:
    run = str(run_folder)
    plain, out, mean = tmp_path / "plain", tmp_path / "out", tmp_path / "mean"
    assert _rescore(n_best, corpus, run_folder, plain) == 0
    # A second --model adds a run. The same run as the other direction: what it makes of lower case as target is a
    # number like any other.
    assert _rescore(n_best, corpus, run_folder, out, "--model", run, "--reverse", run, "--feature", "Net") == 0
    assert _rescore(n_best, corpus, run_folder, mean, "--model", run, "--ensemble", "--normalised") == 0
    sources = list(read_lines(corpus.test[0]))
    scorer = open_run(run_folder).scorer()
    for one, several, ensemble in zip(*map(read_nbest, (plain, out, mean)), strict=True):
        (value,) = one.features["Neural"]
        assert several.features["Net"] == pytest.approx((value, value), abs=1e-5)
        (scored,) = scorer.score([(one.text, sources[one.sentence])])
        assert several.features["NetReverse"] == pytest.approx((scored.log_probability,), abs=1e-4)
        (scored,) = scorer.score([(sources[one.sentence], one.text)])
        length = len(scored.token_log_probabilities)
        assert ensemble.features["Neural"] == pytest.approx((value / length,), abs=1e-5)


def test_tokenised_hypotheses_are_scored_as_raw_text(corpus: Corpus, run_folder: Path, tmp_path: Path) -> None:
    for name, text in (("words", "A &apos;s B , C ."), ("raw", "A's B, C.")):
        write_lines(tmp_path / name, [f"0 ||| {text} ||| LM= -1 ||| -1", "1 ||| D ||| LM= -2 ||| -2"])
    outputs = {name: tmp_path / f"{name}.out" for name in ("raw", "words", "wrong")}
    run = str(run_folder)
    assert _rescore(tmp_path / "raw", corpus, run_folder, outputs["raw"], "--reverse", run) == 0
    assert _rescore(tmp_path / "words", corpus, run_folder, outputs["wrong"], "--reverse", run) == 0
    joined = ("--reverse", run, "--tokenised", "en")
    assert _rescore(tmp_path / "words", corpus, run_folder, outputs["words"], *joined) == 0
    raw, words, wrong = ([entry.features for entry in read_nbest(path)] for path in outputs.values())
    assert words == raw != wrong
    assert [entry.text for entry in read_nbest(outputs["words"])] == ["A &apos;s B , C .", "D"]


def test_length_counts_words_and_needs_no_model(tmp_path: Path) -> None:
    path, out = tmp_path / "list", tmp_path / "out"
    texts = {"a  b c": 3, "": 0, "Dampf\u00a0schiff": 1}
    write_lines(path, (f"0 ||| {text} ||| X= 1 ||| 1" for text in texts))
    assert main(["rescore", str(path), "--length", "--feature", "Net", "-o", str(out), "--quiet"]) == 0
    assert [entry.features["NetLength"] for entry in read_nbest(out)] == [(count,) for count in texts.values()]
    assert next(iter(read_lines(out))) == "0 ||| a  b c ||| X= 1 NetLength= 3 ||| 1"


def test_products_in_bfloat16_give_nearly_the_same_scores(
    n_best: Path, corpus: Corpus, run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, rounded = tmp_path / "plain", tmp_path / "rounded"
    assert _rescore(n_best, corpus, run_folder, plain) == 0
    assert _rescore(n_best, corpus, run_folder, rounded, "--precision", "bfloat16") == 0
    one, other = ([entry.features["Neural"][0] for entry in read_nbest(path)] for path in (plain, rounded))
    assert one != other
    assert other == pytest.approx(one, rel=0.02, abs=0.3)
    assert _rescore(n_best, corpus, run_folder, rounded, "--precision", "fp16") == 2
    assert capsys.readouterr().err.startswith(
        "dragoman: error: argument --precision: expected fp32 or bf16, not 'fp16'; float16 has too small a range"
    )


def test_sentences_may_be_missing_and_the_list_comes_from_a_pipe(
    n_best: Path, corpus: Corpus, run_folder: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    write_lines(kept, (entry.line for entry in read_nbest(n_best) if entry.sentence in (3, 11)))
    words = ["-m", "dragoman", "rescore", "-", "--source", str(corpus.test[0]), "--model", str(run_folder)]
    with kept.open("rb") as file:
        done = subprocess.run([sys.executable, *words], stdin=file, capture_output=True, check=True)
    piped = tmp_path / "piped"
    piped.write_bytes(done.stdout)
    whole = tmp_path / "whole"
    assert _rescore(n_best, corpus, run_folder, whole) == 0
    expected = {(one.sentence, one.text): one.features for one in read_nbest(whole)}
    assert [group[0].sentence for group in by_sentence(read_nbest(piped))] == [3, 11]
    for entry in read_nbest(piped):
        assert entry.features["Neural"] == pytest.approx(expected[entry.sentence, entry.text]["Neural"], abs=1e-5)


@pytest.mark.parametrize(
    ("lines", "more", "said"),
    [
        (["0 ||| A ||| Neural= 1 ||| 1"], [], "sentence 0 has a feature Neural already; give another name (--feature)"),
        (["0 ||| A ||| 1"], [], ":1: 3 of at least 4 fields between triple bars"),
        (["99 ||| A ||| X= 1 ||| 1"], [], "ends before sentence 99 (counted from 0), which the list has"),
        (["0 ||| A ||| X= 1 ||| 1"], ["--feature", "a b"], "--feature 'a b': feature names contain no space"),
    ],
)
def test_bad_input_is_one_line_and_leaves_an_old_output_alone(
    lines: list[str],
    more: list[str],
    said: str,
    corpus: Corpus,
    run_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path, out = tmp_path / "list", tmp_path / "out"
    write_lines(path, ["0 ||| AB ||| X= 1 ||| 1", *lines])
    out.write_text("old\n")
    assert _rescore(path, corpus, run_folder, out, *more) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("dragoman: error: ")
    assert said.replace(":1:", ":2:") in printed
    assert out.read_text() == "old\n"
    assert sorted(name.name for name in tmp_path.iterdir()) == ["list", "out"]
