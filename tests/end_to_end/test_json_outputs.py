"""What commands print and write as JSON is what its schema in docs/reference/schemas says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dragoman.cli.main import VERBS, main
from dragoman.cli.shared.parsing import Parser
from tests.schemas import SCHEMAS, require_fits

from .conftest import Corpus

QUIET = ("--quiet", "--threads", "1")

HERE = {"translate", "evaluate", "aer", "check", "describe", "inspect", "log", "run", "summary", "export"}
ELSEWHERE = {"perplexity": "tests/language_model/test_verbs.py", "doctor": "tests/cli/test_doctor.py"}
"""Schemas whose outputs are held against them in another file, which has what they need."""


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]):
    def run(*arguments: object) -> list[Any]:
        capsys.readouterr()
        assert main([str(argument) for argument in arguments]) == 0
        text = capsys.readouterr().out
        return [json.loads(line) for line in text.splitlines()] if "jsonl" in arguments else [json.loads(text)]

    return run


def test_every_schema_and_every_option_json_is_tried() -> None:
    assert {path.stem for path in SCHEMAS.glob("*.json")} == HERE | set(ELSEWHERE)
    for name, file in ELSEWHERE.items():
        assert f'require_fits("{name}"' in (SCHEMAS.parents[2] / file).read_text(encoding="utf-8")
    with_json = set()
    for verb in VERBS:
        parser = Parser(prog=f"dragoman {verb}", description="")
        VERBS[verb].add_options(parser)
        with_json |= {verb} if "--json" in parser._option_string_actions else set()
    titles = {json.loads(path.read_text(encoding="utf-8"))["title"] for path in SCHEMAS.glob("*.json")}
    assert {f"dragoman {verb} --json" for verb in with_json} == {title for title in titles if "--json" in title}


def test_translations_fit(run_folder: Path, corpus: Corpus, tmp_path: Path, printed) -> None:
    (tmp_path / "lines").write_text("ab c\n\nd\n", encoding="utf-8")
    lines = printed("translate", run_folder, "-i", tmp_path / "lines", "--format", "jsonl", "--nbest", 2, *QUIET)
    assert len(lines) == 3
    for line in lines:
        require_fits("translate", line)


def test_evaluations_fit(run_folder: Path, corpus: Corpus, printed) -> None:
    source, reference = corpus.test
    [with_model] = printed("evaluate", run_folder, source, reference, reference, "--json", *QUIET,
                           "--robustness", "--robustness-lines", source)  # fmt: skip
    assert {"references", "perplexity", "slices", "robustness"} <= set(with_model)
    [given] = printed("evaluate", source, reference, "--hyp", reference, "--against", source, "--json", "--quiet")
    assert "comparisons" in given
    for evaluation in (with_model, given):
        require_fits("evaluate", evaluation)


def test_figures_of_a_model_and_of_text_fit(run_folder: Path, corpus: Corpus, tmp_path: Path, printed) -> None:
    (tmp_path / "links").write_text("0-0\n", encoding="utf-8")
    (tmp_path / "none").write_text("\n", encoding="utf-8")
    bad = tmp_path / "bad.tsv"
    bad.write_bytes("".join(f"hus{number}\thouse{number}\n" for number in range(20)).encode() + b"caf\xe9\tcafe\n")
    for name, arguments in (
        ("aer", ("aer", tmp_path / "links", tmp_path / "links", "--json")),
        ("aer", ("aer", tmp_path / "none", tmp_path / "none", "--json")),
        ("check", ("check", run_folder, *corpus.test, "--json", "--threads", "1")),
        ("describe", ("describe", run_folder, "--json")),
        ("inspect", ("inspect", *corpus.train, "--dev", *corpus.dev, "--subwords", "30", "--json", "--quiet")),
        ("inspect", ("inspect", bad, "--json", "--quiet")),
    ):
        require_fits(name, printed(*arguments)[0])


def test_the_files_of_runs_and_exported_folders_fit(run_folder: Path, light: Path) -> None:
    records = [json.loads(line) for line in (run_folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {record["kind"] for record in records} >= {"train", "validation", "event"}
    for record in records:
        require_fits("log", record)
    for name, path in (
        ("run", run_folder / "run.json"),
        ("summary", run_folder / "data" / "inspection.json"),
        ("export", light / "manifest.json"),
    ):
        require_fits(name, json.loads(path.read_text(encoding="utf-8")))


def test_another_field_does_not_fit(run_folder: Path) -> None:
    run = json.loads((run_folder / "run.json").read_text(encoding="utf-8"))
    with pytest.raises(jsonschema.ValidationError, match="'more' was unexpected"):
        require_fits("run", {**run, "more": 1})
