"""The command: where the run goes, and that it is one like any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.cli.main import main
from tests.importing.toolkits import JoeyNMT, OpenNMT


def test_an_existing_run_is_kept_unless_it_may_be_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = OpenNMT().save(tmp_path / "1"), OpenNMT(rnn="GRU").save(tmp_path / "2")
    out = str(tmp_path / "run")
    assert main(["import", "--from", "opennmt", str(first), "--out", out]) == 0
    before = (tmp_path / "run" / "model.safetensors").read_bytes()
    capsys.readouterr()
    assert main(["import", "--from", "opennmt", str(second), "--out", out]) == 2
    assert capsys.readouterr().err == (
        f"dragoman: error: {out}: a run is there already; --overwrite replaces it, or give another path\n"
    )
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == before
    assert main(["import", "--from", "opennmt", str(second), "--out", out, "--overwrite"]) == 0
    assert (tmp_path / "run" / "model.safetensors").read_bytes() != before


def test_the_run_folder_is_printed_unless_quiet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint, out = JoeyNMT().save(tmp_path), tmp_path / "run"
    assert main(["import", "--from", "joeynmt", str(checkpoint), "--out", str(out)]) == 0
    assert capsys.readouterr().err == f"run: {out}\n"
    assert main(["import", "--from", "joeynmt", str(checkpoint), "--out", str(out), "--overwrite", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("option", [["--config", "c.yaml"], ["--vocabulary", "a", "b"]])
def test_options_of_the_other_toolkit_are_refused(
    option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["import", "--from", "opennmt", str(OpenNMT().save(tmp_path)), "--out", str(tmp_path / "run")]
    assert main([*arguments, *option]) == 2
    assert capsys.readouterr().err == (
        "dragoman: error: --config and --vocabulary require --from joeynmt; an OpenNMT-py checkpoint contains both\n"
    )


def test_an_imported_run_translates_scores_and_aligns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "run")
    assert main(["import", "--from", "opennmt", str(OpenNMT().save(tmp_path)), "--out", out, "--quiet"]) == 0
    source, target = tmp_path / "x.de", tmp_path / "x.en"
    source.write_text("der Hund läuft\n\nx y .\n", encoding="utf-8")
    target.write_text("a b\nb\na a\n", encoding="utf-8")
    assert main(["translate", out, "-i", str(source), "--device", "cpu"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert main(["score", out, str(source), str(target), "--device", "cpu"]) == 0
    assert all(float(line) < 0 for line in capsys.readouterr().out.splitlines())
    assert main(["align", out, str(source), str(target), "--device", "cpu"]) == 0
    assert [len(line.split()) for line in capsys.readouterr().out.splitlines()] == [2, 0, 2]
