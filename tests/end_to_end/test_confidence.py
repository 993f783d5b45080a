"""The confidence of translations: kept with a run and in exported folders, null where there is none."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import dragoman
from dragoman.cli.main import main
from dragoman.corpora.corpus import read_test_set
from dragoman.corpora.pairs import Pair
from dragoman.runs.opening import open_run
from dragoman.workflows.calibration import calibrate

from .conftest import Corpus

ONE_THREAD = ["--threads", "1", "--device", "cpu", "--quiet"]


@pytest.fixture
def calibrated(run_folder: Path, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that was calibrated with lines of letters, and with lines of signs that no translation is like."""
    run = tmp_path / "run"
    shutil.copytree(run_folder, run)
    good = [replace(pair, target=best.text) for pair, best in zip(pairs_of(corpus), _best(run, corpus), strict=True)]
    bad = [Pair("? ! " * 6 + pair.source, "x" * 30, "here") for pair in good]
    monkeypatch.setattr("dragoman.text.side.TextSide.letterless_stay", True)
    alone = Pair("12 / 7", "12 / 7", "here")  # which is then not translated
    assert calibrate(open_run(run, device="cpu"), [*good, *bad, alone, alone, alone]) is not None
    assert calibrate(open_run(run, device="cpu"), [alone]) is None
    calibrate(open_run(run, device="cpu"), [*good, *bad])
    return run


def pairs_of(corpus: Corpus) -> list[Pair]:
    return list(read_test_set(corpus.test))


def _best(run: Path, corpus: Corpus) -> list[dragoman.Translation]:
    return dragoman.load(run).translate([pair.source for pair in pairs_of(corpus)])


def test_a_line_like_the_text_is_trusted_more_than_unknown_signs(calibrated: Path, corpus: Corpus) -> None:
    known, blank, unknown = dragoman.load(calibrated).translate([pairs_of(corpus)[0].source, " ", "Ж Ы " * 8])
    assert blank.confidence is blank.doubt is None
    assert known.confidence is not None
    assert unknown.confidence is not None
    assert 0 <= unknown.confidence < 0.5 < known.confidence <= 1
    assert known.doubt is None
    assert unknown.doubt is not None
    assert dragoman.load(calibrated, calibrated).translate("ab").confidence is None  # an ensemble


def test_an_exported_folder_and_json_lines_have_the_confidence_of_the_run(
    calibrated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lines").write_text("ab c\n", encoding="utf-8")
    assert main(["export", str(calibrated), "--out", str(tmp_path / "exported"), "--quiet"]) == 0
    values = []
    for model in (calibrated, tmp_path / "exported"):
        capsys.readouterr()
        assert main(["translate", str(model), "-i", str(tmp_path / "lines"), "--format", "jsonl", *ONE_THREAD]) == 0
        values.append(json.loads(capsys.readouterr().out)["translations"][0]["confidence"])
    own = dragoman.load(calibrated).translate("ab c").confidence
    assert values == [pytest.approx(own), pytest.approx(own, abs=1e-3)]


def test_a_run_without_calibration_has_none_and_an_older_one_is_removed(calibrated: Path, corpus: Corpus) -> None:
    run = open_run(calibrated, device="cpu")
    good = [
        replace(pair, target=best.text) for pair, best in zip(pairs_of(corpus), _best(calibrated, corpus), strict=True)
    ]
    assert calibrate(run, good[:1]) is None  # nothing is bad
    assert not (calibrated / "confidence.json").exists()
    assert dragoman.load(calibrated).translate("ab").confidence is None


def test_unsure_sentences_of_a_document_are_listed_with_their_places(
    calibrated: Path, corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = pairs_of(corpus)[0].source
    page, catalogue = tmp_path / "a.html", tmp_path / "a.po"
    page.write_text(f"<p>{known}\n<p>{'Ж Ы ' * 8}\n", encoding="utf-8")
    assert main(["translate", str(calibrated), str(page), "-o", str(tmp_path / "b.html"), *ONE_THREAD[:-1]]) == 0
    *_, unsure, summary = capsys.readouterr().err.splitlines()
    assert unsure.startswith(f"unsure: line 2: {('Ж Ы ' * 8).strip()} (0.")
    assert summary.endswith(" 0 repeated, 1 unsure")
    pytest.importorskip("polib", reason="needs polib")
    catalogue.write_text(f'msgid "{known}"\nmsgstr ""\n', encoding="utf-8")
    found = dragoman.translate_file(calibrated, catalogue, tmp_path / "b.po")
    assert found.places == ["line 1"]
    assert (
        (tmp_path / "b.po")
        .read_text()
        .startswith(f"# machine translation, confidence {found.sentences[0].confidence:.2f}\n#, fuzzy\nmsgid")
    )
