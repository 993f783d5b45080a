"""Single words: training chooses the preset, translation and evaluation know tags, phones and error rates."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dragoman.cli.main import main

SMALLEST = (
    *("model.embedding.source=8", "model.embedding.target=8", "model.encoder.size=8", "model.decoder.size=8"),
    *("model.attention.size=8", "model.readout.size=8", "training.validation.at_least=1"),
)


def write(path: Path, *lines: str) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def train(corpus: str, out: Path) -> int:
    files = ["--train", corpus, "--dev", corpus, "--out", str(out)]
    return main(["train", *files, "--updates", "2", "--threads", "1", "--set", *SMALLEST])


def test_an_inflection_table_is_trained_on_and_evaluated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = write(tmp_path / "x.trn", *(f"{stem}en\tge{stem}t\tV.PTCP;PST" for stem in ("sag", "mach", "hör", "lern")))
    assert train(table, tmp_path / "run") == 0
    said = capsys.readouterr().err
    assert "preset: characters, because the text has single words (source: letters and tags, target: letters)" in said
    assert "accuracy" in said
    assert ";PST" in (tmp_path / "run" / "text" / "source.vocabulary").read_text(encoding="utf-8")

    covered = write(tmp_path / "covered", "sagen\tV.PTCP;PST", "", "\tV;PST")
    assert main(["translate", str(tmp_path / "run"), "-i", covered, "-o", str(tmp_path / "out")]) == 0
    assert len((tmp_path / "out").read_text(encoding="utf-8").splitlines()) == 3

    capsys.readouterr()
    for verb in ("score", "align"):
        capsys.readouterr()
        assert main([verb, str(tmp_path / "run"), table]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 4
    assert main(["heatmap", str(tmp_path / "run"), table, "--out", str(tmp_path / "maps"), "--format", "html"]) == 0
    page = re.search(r'id="texts">(.*?)</script>', (tmp_path / "maps" / "heatmaps.html").read_text(encoding="utf-8"))
    assert page
    assert '"t":[{"x":"gesagt"' in page[1]  # the form of the table, not a translation of the whole line
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path / "run"), table, "--json", "--quiet"]) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert scores["WER"]["score"] == pytest.approx(100 - scores["exact match"]["score"])
    assert "CER" in scores


def test_error_rates_of_given_pronunciations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    test = write(tmp_path / "test.tsv", "cat\tK AE T", "read\tR IY D\tR EH D")
    found = write(tmp_path / "found", "K AA T", "R EH D")
    assert main(["evaluate", test, "--hyp", found, "--error-rates", "phones", "--json"]) == 0
    printed = capsys.readouterr()
    scores = json.loads(printed.out)["scores"]
    assert (scores["WER"]["score"], scores["PER"]["score"]) == (50, pytest.approx(100 / 6))
    assert scores["PER"]["signature"] == "nrefs:var|case:mixed|symbols:phones"
    assert "4-grams" not in printed.err  # no advice about BLEU, which is not the metric of words
