"""`dragoman translate`: every option, every output, whatever the lines hold."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dragoman
from dragoman.cli.main import main
from dragoman.text.lines import read_lines

from .conftest import Corpus

LINES = ["ab c", "", "fed cba", "   ", "a"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """LINES in a file."""
    path = tmp_path / "source"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


def _translate(run: Path, *options: str) -> int:
    return main(["translate", str(run), "--threads", "1", "--device", "cpu", *options])


def test_lines_become_translations_and_blank_lines_stay_blank(
    run_folder: Path, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _translate(run_folder, "-i", str(source)) == 0
    printed = capsys.readouterr()
    assert printed.out.split("\n") == ["AB C", "", "FED CBA", "", "A", ""]
    assert printed.err == ""


def test_lines_without_letters_stay_as_they_are(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert dragoman.load(run_folder).translate("1.234,50").text != "1.234,50"  # without protected items
    monkeypatch.setattr("dragoman.text.side.TextSide.letterless_stay", True)
    source, out, links, weights = (tmp_path / name for name in ("source", "out", "links", "weights.npz"))
    source.write_text("1.234,50 15 %\nab\n+49 30  123\n", encoding="utf-8")
    options = ["-i", source, "-o", out, "--alignments", links, "--attention", weights]
    assert _translate(run_folder, *map(str, options)) == 0
    assert out.read_text() == "1.234,50 15 %\nAB\n+49 30  123\n"
    assert links.read_text() == "0-0 1-1 2-2\n0-0\n0-0 1-1 2-2\n"
    translator = dragoman.load(run_folder)
    assert [best.text for best in translator.translate(["42", "a"], beam=2)] == ["42", "A"]
    assert translator.translate("42", prefix="B").text.startswith("B")


def test_standard_input_to_standard_output_is_the_default(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"ab c\n\nde")))
    assert _translate(run_folder) == 0
    assert capfdbinary.readouterr().out == b"AB C\n\nDE\n"


def test_compressed_files_go_in_and_out(run_folder: Path, tmp_path: Path) -> None:
    packed, out = tmp_path / "in.gz", tmp_path / "out.xz"
    packed.write_bytes(gzip.compress(b"ab c\nde\n"))
    assert _translate(run_folder, "--input", str(packed), "--output", str(out)) == 0
    assert list(read_lines(out)) == ["AB C", "DE"]


def test_alignments_are_pharaoh_lines_over_the_words_of_the_raw_lines(
    run_folder: Path, source: Path, tmp_path: Path
) -> None:
    links = tmp_path / "links"
    assert _translate(run_folder, "-i", str(source), "-o", str(tmp_path / "out"), "--alignments", str(links)) == 0
    assert links.read_text(encoding="utf-8").split("\n") == ["0-0 1-1", "", "0-0 1-1", "", "0-0", ""]


def test_attention_is_an_array_for_each_line(run_folder: Path, source: Path, tmp_path: Path) -> None:
    path = tmp_path / "weights.npz"
    assert _translate(run_folder, "-i", str(source), "-o", str(tmp_path / "out"), "--attention", str(path)) == 0
    with np.load(path) as arrays:
        assert arrays.files == ["0", "1", "2", "3", "4"]
        assert arrays["0"].shape == (5, 5)  # 4 characters and the end of sentence, each way
        np.testing.assert_allclose(arrays["0"].sum(axis=1), 1, rtol=1e-5)
        assert arrays["1"].shape == arrays["3"].shape == (0, 0)


def test_json_lines_hold_everything(run_folder: Path, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _translate(run_folder, "-i", str(source), "--format", "jsonl", "--nbest", "2", "--beam", "3") == 0
    entries = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [entry["id"] for entry in entries] == [0, 1, 2, 3, 4]
    assert [entry["source"] for entry in entries] == LINES
    first = entries[0]["translations"]
    assert len(first) == 2
    assert first[0]["text"] == "AB C"
    assert first[0]["score"] > first[1]["score"]
    assert first[0]["log_probability"] < 0
    assert first[0]["finished"] is True
    assert first[0]["alignment"] == [[0, 0], [1, 1]]
    assert len(first[0]["attention"]) == len(first[0]["tokens"]) + 1
    assert len(first[0]["attention"][0]) == len(entries[0]["source_tokens"]) + 1
    assert entries[1]["translations"] == [
        {
            "text": "",
            "score": 0.0,
            "log_probability": 0.0,
            "confidence": None,
            "doubt": None,
            "finished": True,
            "searched_again": False,
            "tokens": [],
            "alignment": [],
            "attention": None,
        }
    ]


def test_moses_n_best_lists_have_id_text_feature_and_score(
    run_folder: Path, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _translate(run_folder, "-i", str(source), "--format", "nbest", "--nbest", "3", "--beam", "4") == 0
    entries = [line.split(" ||| ") for line in capsys.readouterr().out.splitlines()]
    assert [entry[0] for entry in entries] == ["0"] * 3 + ["1"] + ["2"] * 3 + ["3"] + ["4"] * 3
    assert entries[0][1] == "AB C"
    for _, _, feature, score in entries:
        name, value = feature.split()
        assert name == "dragoman="
        assert float(value) <= float(score)  # the mean over the length is nearer to 0 than the sum


@pytest.mark.parametrize(
    "options",
    [
        ["--beam", "1"],
        ["--beam", "4", "--normalisation", "none", "--finish", "shrink"],
        ["--normalisation", "gnmt", "--alpha", "0.8", "--finish", "refill"],
        ["--block-unknown", "--max-length-factor", "2", "--max-length-extra", "5", "--min-length-factor", "0.5"],
        ["--chunk-size", "1"],
        ["--quiet"],
    ],
)
def test_the_search_can_be_set(
    options: list[str], run_folder: Path, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _translate(run_folder, "-i", str(source), *options) == 0
    assert capsys.readouterr().out.split("\n") == ["AB C", "", "FED CBA", "", "A", ""]


def test_the_longest_and_the_shortest_length_are_obeyed(
    run_folder: Path, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _translate(run_folder, "-i", str(source), "--max-length-factor", "0.5", "--max-length-extra", "0") == 0
    assert capsys.readouterr().out.splitlines()[0] in ("AB", "A", "B")
    assert _translate(run_folder, "-i", str(source), "--min-length-factor", "2") == 0
    assert len(capsys.readouterr().out.splitlines()[-1]) >= 2


def test_sampling_follows_from_the_seed(run_folder: Path, corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = []
    for seed in ("1", "1", "2"):
        hot = ["--sample", "--temperature", "3", "--top-k", "8", "--top-p", "0.99", "--seed", seed]
        assert _translate(run_folder, "-i", str(corpus.test[0]), *hot) == 0
        drawn.append(capsys.readouterr().out)
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0].count("\n") == 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--temperature", "2"], "--temperature requires --sample"),
        (["--top-k", "2"], "--top-k requires --sample"),
        (["--sample", "--beam", "2"], "--beam has no effect with --sample; leave one of them out"),
        (["--nbest", "2"], "--nbest 2: --format text has one translation per line; use --format nbest or jsonl"),
        (["--alpha", "1"], "--alpha requires --normalisation gnmt or power"),
        (["--nbest", "6", "--beam", "5", "--format", "nbest"], "n-best is 6, but a beam of 5 keeps no more than 5"),
        (["-o", "SOURCE"], "is both an input and an output, so it would be destroyed"),
        (["--alignments", "SOURCE"], "is both an input and an output, so it would be destroyed"),
        (["-o", "OUT", "--alignments", "OUT"], "is given for two outputs; each needs a file of its own"),
        (["-o", "FOLDER/none/out"], "cannot be written: No such file or directory"),
        (["--attention", "FOLDER/none/out"], "cannot be written: No such file or directory"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_is_written(
    options: list[str],
    message: str,
    run_folder: Path,
    source: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    places = {"SOURCE": str(source), "OUT": str(tmp_path / "out"), "FOLDER": str(tmp_path)}
    filled = []
    for option in options:
        for name, place in places.items():
            option = option.replace(name, place)
        filled.append(option)
    assert _translate(run_folder, "-i", str(source), *filled) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""
    assert list(read_lines(source)) == LINES


def test_a_missing_input_leaves_an_older_output_alone(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.write_text("precious\n", encoding="utf-8")
    assert _translate(run_folder, "-i", str(tmp_path / "missing"), "-o", str(out)) == 2
    assert "missing: does not exist" in capsys.readouterr().err
    assert out.read_text(encoding="utf-8") == "precious\n"


ODD = {
    "NUL": "a\0b",
    "tab": "a\tb",
    "emoji": "👩‍👩‍👧 a",
    "half a surrogate's neighbours": "\U0001f600\ufeff",
    "other line ends": "a\u2028b\u0085c\x0b\x0cd\x1c\x1d\x1e",
    "blanks": " \t\u3000 ",
    "nothing": "",
    "combining": "e\u0301\u0323",
    "right to left": "\u202eabc\u05d0",
    "letters never seen": "zzz ЖЖЖ 你好",
    "the marks of the vocabulary": "<s> </s> <unk> <pad> ▁",
    "triple bars": "a ||| b",
}


def test_odd_lines_are_lines_never_shifted(run_folder: Path, tmp_path: Path) -> None:
    source, target, links = tmp_path / "source", tmp_path / "target", tmp_path / "links"
    lines = [line for odd in ODD.values() for line in (odd, "ab c")]
    source.write_bytes(b"\xef\xbb\xbf" + "".join(f"{line}\r\n" for line in lines).encode())
    assert _translate(run_folder, "-i", str(source), "-o", str(target), "--alignments", str(links)) == 0
    translations = target.read_bytes().decode().split("\n")
    assert len(translations) == len(lines) + 1
    assert translations[1::2] == ["AB C"] * len(ODD)
    assert translations[0] != ""
    assert dict(zip(ODD, translations[::2], strict=False))["blanks"] == ""
    assert links.read_text(encoding="utf-8").count("\n") == len(lines)
    assert target.read_bytes().count(b"\r") == 0


def test_a_line_of_100_000_characters_is_a_line(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("ab c\n" + "a" * 100_000 + "\nde\n", encoding="utf-8")
    options = ["--beam", "1", "--max-length-factor", "0.05"]
    assert _translate(run_folder, "-i", str(source), "-o", str(target), *options) == 0
    lines = list(read_lines(target))
    assert len(lines) == 3
    assert lines[1]
    said = capsys.readouterr().err  # whether its translation ends before the longest length depends on the model
    assert said.startswith(
        "dragoman: warning: line 2 has 100000 segments; such a line is truncated to its first 1000 (reported once)\n"
    )
    assert said.count("100000 segments") == 1


def test_a_reader_gets_answers_before_the_input_ends_and_may_leave(run_folder: Path) -> None:
    command = [sys.executable, "-m", "dragoman", "translate", str(run_folder), "--chunk-size", "2", "--threads", "1"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        process.stdin.write(b"ab c\nde\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"AB C\n"
        assert process.stdout.readline() == b"DE\n"
        process.stdout.close()
        process.stdin.write(b"f\n" * 50)
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0


def test_the_python_door_gives_text_score_tokens_and_alignment(run_folder: Path) -> None:
    translation = dragoman.load(run_folder, device="cpu").translate("ab c")
    assert translation.text == "AB C"
    assert translation.log_probability < translation.score < 0
    assert translation.tokens == ["A", "B", "▁", "C"]
    assert translation.alignment == [(0, 0), (1, 1)]
    assert "AB C" in translation._repr_html_()
