"""`dragoman rerank` and `dragoman tune`."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.cli.main import main
from dragoman.text.lines import read_lines, write_lines
from dragoman.tuning.feature_weights import as_vector, read_weights
from dragoman.tuning.pool import CHRF, read_pool

LISTS = (
    "0 ||| a b c d ||| LM= -1 Net= -9 ||| -1",
    "0 ||| a b c e ||| LM= -2 Net= -1 ||| -2",
    "2 ||| x y ||| LM= -3 Net= -2 ||| -3",
    "2 ||| x z ||| LM= -5 Net= -1.5 ||| -5",
)
REFERENCE = ("a b c e", "not there", "x z")


@pytest.fixture
def files(tmp_path):
    write_lines(tmp_path / "list.gz", LISTS)
    write_lines(tmp_path / "reference", REFERENCE)
    return tmp_path


def rerank(files, *more):
    assert main(["rerank", str(files / "list.gz"), "-o", str(files / "out"), *more]) == 0
    return list(read_lines(files / "out"))


def complaint(capsys, out, *words):
    """The error message of a failing command, which writes nothing."""
    assert main([*words, "-o", str(out), "--quiet"]) == 2
    assert not out.exists()
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err.removeprefix("dragoman: error: ").rstrip("\n")


def test_a_sentence_without_hypotheses_gives_an_empty_line(files):
    assert rerank(files) == ["a b c d", "", "x y"]
    assert rerank(files, "--sentences", "5") == ["a b c d", "", "x y", "", ""]


def test_each_criterion_selects_its_own_hypothesis(files):
    (files / "weights").write_text("Net= 1\nLM= 0.1\n")
    assert rerank(files, "--feature-weights", str(files / "weights")) == ["a b c e", "", "x z"]
    assert rerank(files, "--average", "Net") == ["a b c e", "", "x y"]
    assert rerank(files, "--oracle", str(files / "reference")) == ["a b c e", "", "x z"]
    assert rerank(files, "--mbr", "--mbr-scale", "2", "--mbr-size", "3") == ["a b c d", "", "x y"]


def test_an_output_that_cannot_be_written_is_refused_before_tuning(files, capsys):
    words = ["tune", str(files / "list.gz"), "--reference", str(files / "reference"), "-o", str(files / "none" / "w")]
    assert main(words) == 2
    assert capsys.readouterr().err == f"dragoman: error: {files}/none/w: cannot be written: No such file or directory\n"


@pytest.mark.parametrize("method", ["mert", "mira", "pro"])
def test_tuned_weights_reach_the_reported_score(files, capsys, method):
    needed = ["--reference", str(files / "reference"), "--method", method, "-o", str(files / "weights")]
    more = ["--test", str(files / "list.gz"), "--test-reference", str(files / "reference")]
    assert main(["tune", str(files / "list.gz"), *needed, *more]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "2 sentences, 4 distinct hypotheses, 2 weights"
    assert len(said) == 2 + 3 + 2
    assert said[-2].startswith("dev: mean ")
    assert said[-1].endswith(", 3 runs")
    pool = read_pool([files / "list.gz"], [files / "reference"])
    vector = as_vector(read_weights(files / "weights"), pool.shape, "w")
    best = max(float(line.split("BLEU ")[1].split(",")[0]) for line in said[2:5])
    assert pool.score(vector) == pytest.approx(best, abs=0.005)
    # MIRA gives up a sentence whose totals lie further apart than BLEU can be.
    last = "x y" if method == "mira" else "x z"
    assert rerank(files, "--feature-weights", str(files / "weights")) == ["a b c e", "", last]


def test_the_difference_to_other_weights_is_tested_on_dev_and_test(files, capsys):
    write_lines(files / "other", ["LM= 1"])  # Net weighs 0
    lists, reference = str(files / "list.gz"), str(files / "reference")
    words = ["tune", lists, "--reference", reference, "--test", lists, "--test-reference", reference]
    assert main([*words, "--metric", "chrf", "--against", str(files / "other"), "-o", str(files / "weights")]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[1].startswith("start: chrF ")
    pool = read_pool([lists], [reference], CHRF)
    tuned, other = float(said[-1].split()[1]), float(said[-1].split()[3].rstrip(","))
    assert other == pytest.approx(pool.score(np.array([1.0, 0.0])), abs=0.005)
    assert tuned > other
    for line, name in zip(said[-4:], ("dev", "dev", "test", "test"), strict=True):
        assert line.startswith(f"{name}: ")
    assert said[-1].endswith("(randomisation)")


def test_the_oracle_of_rerank_can_be_by_chrf(files, capsys):
    reference = str(files / "reference")
    assert rerank(files, "--oracle", reference, "--metric", "chrf") == ["a b c e", "", "x z"]
    assert main(["rerank", str(files / "list.gz"), "--metric", "chrf"]) == 2
    assert "--metric requires --oracle or --mbr" in capsys.readouterr().err


def test_the_same_seed_gives_the_same_weights_and_lists_accumulate(files):
    write_lines(files / "more", [*LISTS[:1], "2 ||| x z ||| LM= -4 Net= -1 ||| 0"])
    pool = read_pool([files / "list.gz", files / "more"], [files / "reference"])
    assert (pool.starts.tolist(), len(pool.features)) == ([0, 2], 5)
    words = ["tune", str(files / "list.gz"), str(files / "more"), "--reference", str(files / "reference"), "--quiet"]
    for name in ("one", "two"):
        assert main([*words, "--runs", "1", "--seed", "7", "--restarts", "2", "-o", str(files / name)]) == 0
    assert (files / "one").read_text() == (files / "two").read_text()


def test_weights_of_a_list_before_it_was_rescored_are_a_start(files, capsys):
    (files / "before").write_text("LM= 1\n")
    words = ["tune", str(files / "list.gz"), "--reference", str(files / "reference"), "--runs", "1", "--restarts", "0"]
    assert main([*words, "--initial-weights", str(files / "before"), "-o", str(files / "one")]) == 0
    without = capsys.readouterr().err
    (files / "before").write_text("LM= 1\nNet= 0\n")
    assert main([*words, "--initial-weights", str(files / "before"), "-o", str(files / "two")]) == 0
    assert capsys.readouterr().err == without
    assert (files / "one").read_bytes() == (files / "two").read_bytes()


def test_real_lists_are_tuned_and_rescored_totals_are_linear_in_the_features(shared_data, tmp_path):
    folder = shared_data / "moses-nbest-fr-en"
    lists = [str(folder / f"nbest.{number}.xz") for number in range(1, 6)]
    reference = str(folder / "reference.en.xz")
    pool = read_pool(lists, [reference])
    assert (len(pool.starts), dict(pool.shape)) == (10, {"d": 7, "lm": 1, "tm": 5, "w": 1})
    out = tmp_path / "weights"
    words = ["--reference", reference, "--runs", "1", "--restarts", "1", "--quiet", "-o", str(out)]
    assert main(["tune", *lists, *words]) == 0
    tuned = as_vector(read_weights(out), pool.shape, "w")
    # Each of Moses' own runs had weights of its own; on the five lists together tuning must beat equal weights.
    assert pool.score(tuned) > pool.score(tuned * 0 + 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rerank", "LIST", "--average", "No"], "LIST: a hypothesis of sentence 0 has no feature No; it has LM, Net"),
        (["rerank", "LIST", "--feature-weights", "W"], "W: no weight for the feature Net"),
        (["rerank", "LIST", "--oracle", "W"], "W: sentence 2 (counted from 0) has no reference; there are 1 lines"),
        (["rerank", "LIST", "--sentences", "2"], "LIST: has more than 2 sentences (--sentences)"),
        (["rerank", "LIST", "--mbr", "--oracle", "W"], "--oracle and --mbr exclude each other; leave one of "),
        (["tune", "LIST", "--reference", "W"], "LIST:3: sentence 2 (counted from 0) has no reference; W has 1 lines"),
        (["tune", "LIST", "--reference", "R", "W"], "R has 3 lines but W has 1"),
        (["tune", "BAD", "--reference", "R"], "BAD:2: a hypothesis of sentence 0 has the features LM(1), others LM(1)"),
        (
            ["tune", "NONE", "--reference", "R"],
            "NONE:2: a hypothesis of sentence 1 has the features LM(1), others none",
        ),
        (["tune", "EMPTY", "--reference", "R"], "EMPTY: no hypotheses in it"),
        (["tune", "LIST", "--reference", "R", "--test", "LIST"], "--test and --test-reference require each other"),
        (
            ["tune", "LIST", "--reference", "R", "--method", "pro", "--restarts", "3"],
            "--restarts requires --method mert",
        ),
    ],
)
def test_errors_are_reported_in_one_line(files, capsys, words, said):
    (files / "weights").write_text("LM= 1\n")
    write_lines(files / "bad", [LISTS[0], "0 ||| a ||| LM= 1 ||| 0"])
    write_lines(files / "none", ["0 ||| a ||| ||| 0", "1 ||| a ||| LM= 1 ||| 0"])
    write_lines(files / "empty", [])
    names = {"LIST": "list.gz", "W": "weights", "R": "reference", "BAD": "bad", "NONE": "none", "EMPTY": "empty"}
    places = {word: str(files / name) for word, name in names.items()}
    message = complaint(capsys, files / "out", *(places.get(word, word) for word in words))
    for word, place in places.items():
        message = message.replace(place, word)
    assert message.startswith(said)


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (["rerank", "{list}", "--oracle", "{reference}"], "references"),
        (["rerank", "{list}", "--mbr"], "hypotheses"),
        (["tune", "{list}", "--reference", "{reference}", "--runs", "1"], "references"),
    ],
    ids=["oracle", "mbr", "tune"],
)
def test_lines_that_bleu_takes_for_words_are_told_once_and_chrf_measures_them(tmp_path, capsys, words, lines):
    write_lines(tmp_path / "reference", ["今日は天気がとてもいいですね", "明日は雨が降るかもしれません"])
    (tmp_path / "list").write_text(
        "0 ||| 今日は天気がいいですね ||| LM= -1 ||| -1\n0 ||| 今日は雨がとてもいいです ||| LM= -2 ||| -2\n"
        "1 ||| 明日は雨が降ります ||| LM= -1 ||| -1\n1 ||| 明日も雨が降るかもしれない ||| LM= -2 ||| -2\n"
    )
    given = [word.format(list=tmp_path / "list", reference=tmp_path / "reference") for word in words]
    for more, count in ((["--metric", "bleu"], 1), (["--metric", "chrf"], 0)):
        assert main([*given, *more, "-o", str(tmp_path / "out")]) == 0
        message = f"the {lines} have no spaces between words, so BLEU takes whole lines for words"
        assert capsys.readouterr().err.count(message) == count


def test_weights_that_no_score_tells_apart_are_warned_of(tmp_path, capsys):
    short, far = ["the dog", "a cat"], ["p q r s t", "u v w x y"]
    (tmp_path / "list").write_text(
        "".join(
            f"{number} ||| {text} ||| LM= {-place} Net= {place - 3} ||| 0\n"
            for number, texts in enumerate((("a dog", "the dog"), ("a cat", "the cat")))
            for place, text in enumerate(texts)
        )
    )
    words = ["tune", str(tmp_path / "list"), "--reference", str(tmp_path / "ref"), "-o", str(tmp_path / "w")]
    for references, metric, said in (
        (short, "bleu", "BLEU is 0.00 with all weights that were tried, so the tuned ones mean nothing; no reference "),
        (far, "bleu", "BLEU is 0.00 with all weights that were tried, so the tuned ones mean nothing; check that "),
        (short, "chrf", None),
    ):
        write_lines(tmp_path / "ref", references)
        for method in ("mert", "mira"):
            assert main([*words, "--metric", metric, "--method", method, "--runs", "1"]) == 0
            err = capsys.readouterr().err
            assert (said in err) if said else ("warning" not in err), (references, metric, method)


def test_a_score_that_weights_change_is_not_flat(files, capsys):
    words = ["tune", str(files / "list.gz"), "--reference", str(files / "reference"), "-o", str(files / "w")]
    assert main(words) == 0
    assert "warning" not in capsys.readouterr().err
