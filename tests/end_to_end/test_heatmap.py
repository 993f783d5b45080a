"""`dragoman heatmap`: a picture for each line, or a page of all."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

import pytest

from dragoman.alignment.heat_map import HeatMap
from dragoman.cli.main import main
from dragoman.runs.opening import open_run
from dragoman.workflows.heatmaps import align_sentences, draw_heat_maps

from .conftest import Corpus

ONE_THREAD = ["--threads", "1", "--device", "cpu"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_lines_are_translated_and_drawn_in_every_requested_format(
    run_folder: Path, corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "pictures"
    options = ["--out", str(out), "--format", "png", "svg", "pdf", "html", "--lines", "2,4-5", *ONE_THREAD]
    assert main(["heatmap", str(run_folder), str(corpus.test[0]), *options]) == 0
    assert names(out) == sorted(
        [f"{n}.{kind}" for n in (2, 4, 5) for kind in ("png", "svg", "pdf")] + ["heatmaps.html"]
    )
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 10
    assert (out / "2.png").read_bytes().startswith(b"\x89PNG")
    found = re.search(r'id="texts">(.*?)</script>', (out / "heatmaps.html").read_text(encoding="utf-8"))
    assert found
    page = json.loads(found[1])
    assert [sentence["n"] for sentence in page["sentences"]] == [2, 4, 5]
    assert page["open"] is True


def test_without_lines_the_first_ones_are_drawn(run_folder: Path, corpus: Corpus, tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.write_text(corpus.test[0].read_text(encoding="utf-8") * 2, encoding="utf-8")
    assert main(["heatmap", str(run_folder), str(many), "--out", str(tmp_path / "out"), "--quiet", *ONE_THREAD]) == 0
    assert len(names(tmp_path / "out")) == 20


def test_word_weights_agree_with_alignment_and_token_weights_with_the_model(run_folder: Path) -> None:
    run = open_run(run_folder, device="cpu", threads=1)
    source, target = "ab c", "AB C"
    (scored,) = run.scorer().score([(source, target)])
    (words,) = align_sentences(run, [(source, target)]).heat_maps
    assert (words.source_words, words.target_words) == (["ab", "c"], ["AB", "C"])
    assert scored.word_weights is not None
    assert words.weights == pytest.approx(scored.word_weights.weights, abs=1e-6)
    (segments,) = align_sentences(run, [(source, target)], segments=True).heat_maps
    assert segments.source_words == [*scored.source_tokens, "</s>"]
    assert segments.target_words == [*scored.target_tokens, "</s>"]
    assert segments.weights.sum(axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("more", [[], ["--segments"], ["--format", "html"]])
def test_an_empty_line_has_no_picture_and_is_named(
    run_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    more: list[str],
) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    command = ["heatmap", str(run_folder), str(source), "--out", str(out), *ONE_THREAD, *more]
    source.write_text("\nab\n\u3000\n", encoding="utf-8")
    assert main(command) == 0
    assert names(out) == (["heatmaps.html"] if "html" in more else ["2.png"])
    assert "no picture of line 1, 3: it is empty, or its translation is" in capsys.readouterr().err
    source.write_text("\n", encoding="utf-8")
    assert main(command) == 2
    assert "nothing to draw: every line is empty, or has an empty translation" in capsys.readouterr().err


@pytest.mark.parametrize("formats", [["png", "svg"], ["png", "html"]])
def test_letters_that_no_font_has_are_reported_once_with_a_remedy(
    run_folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, formats: list[str]
) -> None:
    run = open_run(run_folder, device="cpu", threads=1)
    aligned = align_sentences(run, [("ab", "AB")])
    aligned.heat_maps[0] = HeatMap(aligned.heat_maps[0].weights, ["\U000e0fff"], ["AB"])
    with caplog.at_level(logging.WARNING):
        assert len(list(draw_heat_maps(tmp_path, run, aligned, [1], formats))) == 2
    (message,) = caplog.messages
    assert message.startswith("no font of this system has \U000e0fff; they are drawn as boxes.")
    assert "Install a font for these letters (Noto: apt-get install fonts-noto-core)" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--format", "html", "--segments"], "--segments has no effect on --format html"),
        (["--lines", "3-1"], "'3-1' is not a list of line numbers such as 1,5-8"),
        (["--lines", "0"], "'0' is not a list of line numbers"),
        (["--lines", "19-21"], "--lines: there is no line 21, the input has 20"),
    ],
)
def test_options_that_cannot_be_drawn_are_refused(
    options: list[str],
    message: str,
    run_folder: Path,
    corpus: Corpus,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    assert main(["heatmap", str(run_folder), str(corpus.test[0]), "--out", str(out), *options, *ONE_THREAD]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_a_folder_that_cannot_be_created_is_named(
    run_folder: Path, corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    out = str(tmp_path / "file" / "out")
    assert main(["heatmap", str(run_folder), str(corpus.test[0]), "--out", out, *ONE_THREAD]) == 2
    assert f"{out}: the folder for the pictures cannot be created" in capsys.readouterr().err
