"""`dragoman evaluate` with given translations, comparisons and parts of the test set."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.config.building import override
from dragoman.config.files import load_config
from dragoman.runs.layout import RunFolder
from dragoman.workflows import test_sets

from .conftest import Corpus

ONE_THREAD = ["--threads", "1", "--device", "cpu", "--quiet"]


@pytest.fixture
def files(corpus: Corpus) -> list[str]:
    return [str(path) for path in corpus.test]


@pytest.fixture
def hypotheses(corpus: Corpus, tmp_path: Path) -> Path:
    """The references without their last letters."""
    lines = corpus.test[1].read_text(encoding="utf-8").splitlines()
    path = tmp_path / "one.hyp"
    path.write_text("".join(f"{line[:-1]}\n" for line in lines), encoding="utf-8")
    return path


def figures(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    assert main(["evaluate", *arguments, "--json", *ONE_THREAD]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return json.loads(printed.out)


def test_given_translations_need_no_run(files: list[str], hypotheses: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = figures(capsys, *files, "--hyp", str(hypotheses))
    assert found["scores"]["exact match"]["score"] == 0
    assert "perplexity" not in found
    perfect = figures(capsys, *files, "--hyp", files[1])
    assert perfect["scores"]["exact match"]["score"] == 100
    assert perfect["scores"]["tokenised BLEU"]["signature"].endswith("|text:moses-en")


def test_a_missing_system_to_compare_with_is_refused_before_anything_is_measured(
    run_folder: Path, files: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(test_sets, "measure", lambda *_, **__: pytest.fail("measured"))
    assert main(["evaluate", str(run_folder), *files, "--against", "missing", *ONE_THREAD]) == 2
    assert "missing: does not exist" in capsys.readouterr().err


def test_columns_of_languages_are_read_in_the_order_of_the_run(
    run_folder: Path, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, table = Path(shutil.copytree(run_folder, tmp_path / "run")), str(tmp_path / "test.csv")
    languages = ["text.source.language=de", "text.target.language=en"]
    RunFolder(run).save_config(override(load_config(run / "config.yaml"), languages))
    assert main(["convert", files[1], files[0], table, "--languages", "en", "de", "--quiet"]) == 0
    assert figures(capsys, str(run), table) == figures(capsys, str(run), *files)


def test_given_translations_and_a_run_have_a_perplexity(
    run_folder: Path, files: list[str], hypotheses: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = figures(capsys, str(run_folder), *files, "--hyp", str(hypotheses), "--language", "de")
    assert found["scores"]["exact match"]["score"] == 0
    assert found["perplexity"]["sentences"] == 20
    assert found["scores"]["tokenised BLEU"]["signature"].endswith("|text:moses-de")


def test_a_runs_output_given_again_has_the_same_figures(
    run_folder: Path, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    own = figures(capsys, str(run_folder), *files, "-o", str(out))
    assert figures(capsys, str(run_folder), *files, "--hyp", str(out)) == own


def test_a_run_is_compared_with_a_file_and_with_a_run(
    run_folder: Path, files: list[str], hypotheses: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = hypotheses.read_text(encoding="utf-8").splitlines()
    hypotheses.write_text("".join(f"{line[: len(line) // 3]}\n" for line in lines), encoding="utf-8")  # surely worse
    compared = figures(capsys, str(run_folder), *files, "--against", str(hypotheses))
    (comparison,) = compared["comparisons"]
    assert comparison["against"] == str(hypotheses)
    assert set(comparison["scores"]) == {"BLEU", "tokenised BLEU", "chrF", "TER"}
    chrf = comparison["scores"]["chrF"]
    assert chrf["score"] == pytest.approx(compared["scores"]["chrF"]["score"])
    assert chrf["score"] > chrf["other_score"]
    assert chrf["randomisation_p"] < 0.05
    several = [word for name in (run_folder, hypotheses) for word in ("--against", str(name))]
    with_itself, again = figures(capsys, str(run_folder), *files, *several)["comparisons"]
    assert again == comparison
    assert with_itself["scores"]["chrF"]["bootstrap_p"] == 1


def test_slices_of_the_test_set_by_option(
    run_folder: Path, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    every = ["source-length", "reference-length", "source-groups", "reference-groups", "source-window",
             "reference-window", "rarity"]  # fmt: skip
    options = [word for name in every for word in ("--by", name)]
    slices = figures(capsys, str(run_folder), *files, "--group", "8", *options)["slices"]
    assert len(slices) == 7
    for name, parts in slices.items():
        counts = [part["sentences"] for part in parts]
        assert "window" in name or sum(counts) == 20
        if "groups of 8" in name:
            assert counts == [8, 8, 4]
    frequencies = tmp_path / "words"
    frequencies.write_text("a\nb\n", encoding="utf-8")
    rarity = figures(capsys, *files, "--hyp", files[1], "--by", "rarity", "--frequencies", str(frequencies))["slices"]
    assert [list(map(len, rarity.values())), *rarity] == [[1], "mean frequency rank of source words, groups of 200"]


def test_pairs_without_unknown_words_are_translated_without_producing_any(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("ab\tAB\nfe d\tFE D\nab ?\tAB\nab\tAB !\n", encoding="utf-8")  # ? and ! were never seen
    found = figures(capsys, str(run_folder), str(pairs), "--without-unknown")
    every, known = found["slices"]["unknown words"]
    assert (every["label"], every["sentences"]) == ("all", 4)
    assert (known["label"], known["sentences"]) == ("without, none produced", 2)
    assert every["scores"]["chrF"] == found["scores"]["chrF"]["score"]
    assert known["scores"]["exact match"] == 100
    assert known["scores"].keys() == every["scores"].keys(), "the columns of one table"


def test_robustness_is_in_the_table_the_json_and_the_report(
    run_folder: Path, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--robustness", "--robustness-lines", files[1]]  # capitals: the model has never seen them
    plain = figures(capsys, str(run_folder), *files)
    found = figures(capsys, str(run_folder), *files, *options)
    robustness = found.pop("robustness")
    assert found == plain
    assert robustness["sentences"] == 20
    assert {name for name, one in robustness["changes"].items() if one is None} >= {"lower case", "NFD"}
    capitals = robustness["changes"]["ALL CAPITALS"]
    assert capitals["sentences"] == 20
    assert capitals["plain BLEU"] == plain["scores"]["BLEU"]["score"]
    assert robustness["items"]["URL"] is None  # no line has four words
    assert robustness["other_text"]["sentences"] == 20

    assert main(["evaluate", str(run_folder), *files, *options, *ONE_THREAD, "--report", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert re.search(rf"ALL CAPITALS +20 +{capitals['BLEU']:.1f} +{capitals['plain BLEU']:.1f} ", printed)
    assert re.search(r"^NFD +0 +no such text", printed, re.MULTILINE)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f'<tr><th scope="row">ALL CAPITALS</th><td>20</td><td>{capitals["BLEU"]:.1f}</td>' in page


def test_the_table_shows_the_comparison_last(
    files: list[str], hypotheses: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--hyp", str(hypotheses), "--against", files[1], "--tokenizer", "char"]
    assert main(["evaluate", *files, *options, "--quiet"]) == 0
    last = capsys.readouterr().out.split("\n\n")[-1].splitlines()
    assert last[0].startswith(f"against {files[1]} ")
    assert [line.split()[0] for line in last[1:]] == ["BLEU", "chrF", "TER"]  # words between blanks say nothing here


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--hyp", "x", "--beam", "2"], "--beam has no effect with --hyp"),
        (["--against", "x", "--against", "x"], "--against x is given 2 times; once is enough"),
        (["--hyp", "x", "--without-unknown"], "--without-unknown has no effect with --hyp"),
        (["--frequencies", "x"], "--frequencies requires --by rarity"),
        (["--hyp", "x", "--robustness"], "--robustness has no effect with --hyp"),
        (["--robustness-lines", "x"], "--robustness-lines requires --robustness"),
    ],
)
def test_options_without_effect_are_refused(
    options: list[str], message: str, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "run", *files, *options]) == 2
    assert message in capsys.readouterr().err


def test_another_text_without_lines_is_refused(
    run_folder: Path, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").touch()
    options = ["--robustness", "--robustness-lines", str(tmp_path / "empty")]
    assert main(["evaluate", str(run_folder), *files, *options]) == 2
    assert f"{tmp_path / 'empty'}: no lines in it" in capsys.readouterr().err


def test_missing_inputs_are_reported(files: list[str], hypotheses: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", *files, "--hyp", str(hypotheses), "--by", "rarity"]) == 2
    assert "slices by rarity need word frequencies" in capsys.readouterr().err
    short = hypotheses.with_name("short")
    short.write_text("A\n", encoding="utf-8")
    assert main(["evaluate", *files, "--hyp", str(short)]) == 2
    assert f"{short} has 1 lines, but the test set has 20 pairs" in capsys.readouterr().err
    assert main(["evaluate", *files, "--hyp", str(hypotheses), "--against", str(short)]) == 2
    assert f"{short} has 1 lines, but the test set has 20 pairs" in capsys.readouterr().err


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_translated(
    run_folder: Path,
    files: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("dragoman.workflows.test_sets.measure", lambda *_, **__: pytest.fail("translated"))
    assert main(["evaluate", str(run_folder), *files, "--quiet", "-o", str(tmp_path / "none" / "out")]) == 2
    assert f"{tmp_path}/none/out: cannot be written: No such file or directory" in capsys.readouterr().err


def page_of(folder: Path) -> tuple[str, dict]:
    """The page, and the sentences in it."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    found = re.search(r'id="texts">(.*?)</script>', page)
    assert found
    return page, json.loads(found[1])


def test_the_report_shows_all_systems_with_their_alignments(
    run_folder: Path, files: list[str], hypotheses: Path, tmp_path: Path
) -> None:
    options = ["--against", str(hypotheses), "--against", str(run_folder), "--report", str(tmp_path / "figures")]
    assert main(["evaluate", str(run_folder), *files, *options, *ONE_THREAD]) == 0
    page, texts = page_of(tmp_path / "figures")
    assert texts["systems"] == ["tiny", str(hypotheses), str(run_folder)]  # two have the same short name
    assert len(texts["sentences"]) == 20
    for sentence in texts["sentences"]:
        own, given, same = sentence["t"]
        assert (own["a"], given["a"], same["a"]) == (True, False, True)
        assert own["x"] == same["x"]
        assert same["d"] == []
    assert "no clear difference" in page
    assert "is known, so its words are not aligned: that needs a model" in page


def test_the_report_of_given_translations_states_that_they_are_not_aligned(
    files: list[str], hypotheses: Path, tmp_path: Path
) -> None:
    options = ["--hyp", str(hypotheses), "--report", str(tmp_path / "figures")]
    assert main(["evaluate", *files, *options, "--quiet"]) == 0
    page, texts = page_of(tmp_path / "figures")
    assert "Evaluation of one.hyp" in page
    assert "is known, so its words are not aligned: that needs a model" in page
    assert not any(sentence["t"][0]["a"] for sentence in texts["sentences"])


def test_a_system_that_is_compared_with_itself_has_two_names(
    files: list[str], hypotheses: Path, tmp_path: Path
) -> None:
    options = ["--hyp", str(hypotheses), "--against", str(hypotheses), "--report", str(tmp_path / "figures")]
    assert main(["evaluate", *files, *options, "--quiet"]) == 0
    page, texts = page_of(tmp_path / "figures")
    assert texts["systems"] == [str(hypotheses), f"{hypotheses} (2)"]
    assert page.count("no clear difference") == 4


def test_a_run_aligns_given_translations_in_their_report(
    run_folder: Path, files: list[str], hypotheses: Path, tmp_path: Path
) -> None:
    options = ["--hyp", str(hypotheses), "--report", str(tmp_path / "figures")]
    assert main(["evaluate", str(run_folder), *files, *options, *ONE_THREAD]) == 0
    page, texts = page_of(tmp_path / "figures")
    assert "aligned it by forced decoding" in page
    assert all(sentence["t"][0]["a"] for sentence in texts["sentences"] if sentence["t"][0]["x"])


@pytest.fixture
def japanese(tmp_path: Path) -> list[str]:
    """A test set with Japanese references, and translations with one wrong character each."""
    lines = ["道元は鎌倉時代の初期の禅僧である。", "曹洞宗の開祖とされる人物で、晩年には永平寺を開いた。"]
    files = []
    for name, text in (
        ("s.en", ["Dogen was a monk.", "He opened a temple."]),
        ("r.ja", lines),
        ("h", [line.replace("る", "た") for line in lines]),
    ):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
        files.append(str(tmp_path / name))
    return [*files[:2], "--hyp", files[2]]


def test_the_language_of_the_references_chooses_the_tokenizer(
    japanese: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("dragoman.evaluation.tokenizers.find_spec", lambda name: None)
    assert main(["evaluate", *japanese]) == 0
    printed = capsys.readouterr()
    assert "|tok:char|" in printed.out
    assert "references: language ja, from the file name; BLEU tokenizer: char\n" in printed.err
    assert "pip install 'dragoman[ja]'" in printed.err
    assert float(printed.out.split()[1]) > 80
    assert main(["evaluate", *japanese, "--language", "zh"]) == 0
    printed = capsys.readouterr()
    assert "|tok:zh|" in printed.out
    assert "references: language zh, as given; BLEU tokenizer: zh\n" in printed.err
    unnamed = tmp_path / "r.txt"
    unnamed.write_bytes(Path(japanese[1]).read_bytes())
    assert main(["evaluate", japanese[0], str(unnamed), *japanese[2:], "--against", japanese[-1]]) == 0
    printed = capsys.readouterr()
    assert "language unknown (--language); BLEU tokenizer: 13a and Moses rules: en" in printed.err
    warning = "the references have no spaces between words, so BLEU with tokenizer 13a takes whole lines"
    assert printed.err.count(warning) == 1


def test_references_without_four_tokens_are_warned_of(
    files: list[str], hypotheses: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["evaluate", *files, "--hyp", str(hypotheses)]
    warning = "dragoman: warning: no reference has four tokens, and BLEU counts 4-grams: it is 0, or more only where a"
    assert main([*given, "--against", str(hypotheses)]) == 0
    assert capsys.readouterr().err.count(warning) == 1
    assert main([*given, "--tokenizer", "char"]) == 0
    assert warning not in capsys.readouterr().err


def test_empty_references_and_tokenised_translations_are_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {
        "source": ["A B C", "B C D", "C D E"],
        "reference": ["the dog bit the man.", "", " "],
        "other": ["", "the man had just bitten him.", "he ran."],
        "raw": ["the dog bit the man.", "he had bitten him.", "it ran."],
        "tokenised": ["the dog bit the man .", "he had bitten him .", "it ran ."],
    }
    paths = {name: tmp_path / name for name in texts}
    for name, path in paths.items():
        path.write_text("".join(f"{line}\n" for line in texts[name]), encoding="utf-8")
    source, reference, other, raw, tokenised = map(str, paths.values())
    for references, hypotheses, empty, named in (
        ([reference], raw, f"2 of 3 references are empty, the first at {source}:2: ", False),
        ([reference, other], raw, None, False),
        ([reference, other], tokenised, None, True),
    ):
        assert main(["evaluate", source, *references, "--hyp", hypotheses, "--against", tokenised]) == 0
        err = capsys.readouterr().err
        assert (empty in err) if empty else ("are empty" not in err)
        assert ("the translations look tokenised" in err) is named
        assert f"{tokenised} look tokenised" in err


@pytest.mark.parametrize(
    ("name", "message"),
    [("flores200", "flores200 downloads a model when it is first used"), ("moses", "'moses' is none of 13a, none")],
)
def test_other_tokenizers_are_refused(
    name: str, message: str, japanese: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", *japanese, "--tokenizer", name]) == 2
    assert message in capsys.readouterr().err


def test_several_references_go_through_the_whole_path(
    files: list[str], hypotheses: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = hypotheses.read_text(encoding="utf-8").splitlines()
    second = tmp_path / "second"
    second.write_text("".join(f"{line if number % 2 else ''}\n" for number, line in enumerate(lines)), encoding="utf-8")
    given = ["--hyp", str(hypotheses), "--against", files[1]]
    found = figures(capsys, *files, str(second), *given, "--report", str(tmp_path / "page"))
    assert found["references"] == {"fewest": 1, "most": 2}
    equal = sum(bool(line.strip()) for line in lines[1::2])
    assert found["scores"]["exact match"]["score"] == 5 * equal
    assert found["scores"]["BLEU"]["signature"].startswith("nrefs:var|")
    (parts,) = found["slices"].values()
    assert sum(part["sentences"] * part["scores"]["exact match"] for part in parts) == pytest.approx(100 * equal)
    (comparison,) = found["comparisons"]
    assert comparison["scores"]["chrF"]["score"] == pytest.approx(found["scores"]["chrF"]["score"])
    assert comparison["scores"]["chrF"]["signature"].startswith("nrefs:var|")
    _, texts = page_of(tmp_path / "page")
    for number, (sentence, line) in enumerate(zip(texts["sentences"], lines, strict=True)):
        assert sentence.get("o") == ([line] if number % 2 and line.strip() else None)
        assert "o" not in sentence or sentence["t"][0]["c"] == 100
    assert main(["evaluate", *files, str(second), "--hyp", str(hypotheses)]) == 0
    assert "references each" in capsys.readouterr().out
    assert main(["evaluate", "run"]) == 2
    assert "evaluate run: give a test set, the source and its references" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["translate", "evaluate", "score", "align", "check", "distill", "backtranslate"])
def test_text_of_the_other_side_is_told_by_every_verb_that_reads_it(
    verb: str, run_folder: Path, corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["-o", str(tmp_path / "out.tsv")]
    for source, target, warned in ((*corpus.test, False), (*reversed(corpus.test), True)):
        names = ["-i", str(source)] if verb in ("translate", "backtranslate") else [str(source), str(target)]
        more = [] if verb == "check" else out
        assert main([verb, str(run_folder), *names, *more, "--threads", "1"]) == 0
        found = capsys.readouterr().err.count("the source text is like the other side of its training text")
        assert found == warned, (verb, source)
