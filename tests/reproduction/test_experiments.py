"""Every experiment of the package, end to end at toy size, through the command."""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.errors import ConfigError
from dragoman.reproduction import phrases, steps
from dragoman.reproduction.experiment import experiment_names, load_experiment
from tests.server_processes import running

pytestmark = pytest.mark.reproduction

SERVER = Path(__file__).with_name("command_server.py")
WORDS = "a the dog cat man woman runs sees in on red blue house street water snow ball with two".split()  # noqa: SIM905
SETTINGS = (
    "text.source.vocabulary=24",
    "text.target.vocabulary=24",
    "training.batch.size=16",
    "training.validation.every=2",
    "text.source.min_frequency=1",
    "text.target.min_frequency=1",
    "training.precision=fp32",
)
"""Fewer words than the text has, so that there are unknown ones; a precision that need not be chosen by measuring."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The socket of a server that runs commands."""
    path = tmp_path_factory.mktemp("server") / "s"
    with running([sys.executable, str(SERVER), str(path)]):
        yield path


@pytest.fixture
def commands_by_server(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let steps run in the server."""
    monkeypatch.setattr(steps, "PROGRAM", (sys.executable, "-I", "-S", str(SERVER), str(server)))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The options that name a corpus of made-up sentences, whose words have two translations each."""
    folder, draw = tmp_path_factory.mktemp("text"), random.Random(1)
    options = []
    for name, count in (("train", 120), ("dev", 10), ("test", 24)):
        sources = [draw.choices(WORDS, k=draw.randint(2, 9)) for _ in range(count)]
        targets = [[draw.choice((word.upper(), word.upper(), f"{word} X")) for word in line] for line in sources]
        for language, lines in (("en", sources), ("de", targets)):
            text = "".join(f"{' '.join(words)} .\n" for words in lines)
            (folder / f"{name}.{language}").write_text(text, encoding="utf-8")
        options += [f"--{name}", str(folder / f"{name}.en"), str(folder / f"{name}.de")]
    return options


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all experiments, which share their models."""
    return tmp_path_factory.mktemp("experiments")


def _reproduce(name: str, corpus: list[str], folder: Path) -> list[str]:
    """The command that runs an experiment at toy size."""
    scale = "0.02" if name.startswith("cho2014") else "0.012"  # word vectors of 100 numbers become 2
    size = ["--scale", scale, "--updates", "4", "--seeds", "1", "--jobs", "2", "--quiet", "--set", *SETTINGS]
    return ["reproduce", name, *corpus, "--out", str(folder), *size]


@pytest.mark.usefixtures("commands_by_server")
@pytest.mark.parametrize("name", experiment_names())
def test_an_experiment_runs_to_its_pages(
    name: str, corpus: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("thot", "kenlm"):
        pytest.importorskip(package)
    monkeypatch.setattr(phrases, "CHOSEN", 8)
    assert main(_reproduce(name, corpus, folder)) == 0
    result = json.loads((folder / name / "result.json").read_text(encoding="utf-8"))
    assert result["failed"] == {}
    experiment = load_experiment(name)
    for row in experiment.rows():
        for metric in experiment.measured(row):
            score = result["systems"][row]["scores"][metric]
            assert len(score["values"]) == 1, (row, metric)
            assert (score["values"] == [None]) == (score["not run"] == 1) == (experiment.systems[row].seeds > 1), row
    for claim in result["claims"].values():
        assert claim["verdict"] == "not decided at this size"  # one seed decides nothing
    for page in ("index.html", "result.md"):
        text = (folder / name / page).read_text(encoding="utf-8")
        assert experiment.systems[experiment.rows()[0]].label in text
    for figure in experiment.figures:
        assert (folder / name / f"{figure}.svg").stat().st_size > 1000


@pytest.mark.usefixtures("commands_by_server")
def test_pages_are_written_again_from_configurations_and_logs_of_the_runs(corpus: list[str], folder: Path) -> None:
    command = _reproduce("bahdanau2015-table1", corpus, folder)  # which needs the words that its models know
    assert main(command) == 0
    page = folder / "bahdanau2015-table1" / "result.md"
    before = page.read_text(encoding="utf-8")
    page.unlink()
    for path in (folder / "bahdanau2015-table1" / "runs").glob("*/*"):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in ("config.yaml", "log.jsonl"):
            path.unlink()
    assert main(command) == 0
    assert page.read_text(encoding="utf-8") == before
    # More seeds than were trained: their columns are not run, and nothing runs.
    more = [*command, "--seeds", "2", "--pages-only"]
    assert main(more) == 0
    result = json.loads(page.with_name("result.json").read_text(encoding="utf-8"))
    values = result["systems"]["encdec-30"]["scores"]["bleu"]["values"]
    assert (len(values), values[1]) == (2, None)
    assert "failed" not in page.read_text(encoding="utf-8")


def test_every_claim_of_the_package_names_where_the_paper_makes_it() -> None:
    count = 0
    for name in experiment_names():
        for claim in load_experiment(name).claims.values():
            assert any(word in claim.where for word in ("section", "table", "figure", "abstract")), (name, claim)
            count += 1
    assert count >= 25


def test_mistakes_in_an_experiment_of_ones_own_are_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    good = (
        "title: t\npaper: p\nitem: i\nmodels: {m: {preset: standard}}\n"
        "systems: {s: {label: l, models: [m]}}\nclaims: {c: {claim: c, where: w, expect: ['bleu(s) > 1']}}\n"
    )
    path.write_text(good, encoding="utf-8")
    assert load_experiment(str(path)).name == "mine"
    for old, new, message in (
        ("models: [m]", "models: [x]", "no model named 'x'"),
        ("bleu(s)", "bleu(t)", "no system named 't'"),
        ("bleu(s)", "blue(s)", "no metric named 'blue' .did you mean bleu"),
        ("bleu(s)", "bleu(s, long)", "no part named 'long'"),
        ("bleu(s)", "aer(s)", "is not measured"),
        ("title: t", "titel: t", "titel|title"),
        ("title: t", "title: t\nbased_on: nothing", "no experiment named 'nothing'"),
        ("bleu(s) > 1", "bleu(s)", "write one '>'"),
    ):
        path.write_text(good.replace(old, new), encoding="utf-8")
        with pytest.raises(ConfigError, match=message):
            load_experiment(str(path))


def test_bad_requests_end_with_one_line(corpus: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, out = "luong2015-table1", ["--out", str(tmp_path / "out")]
    for arguments, message in (
        (["nothing", *corpus, *out], "no experiment named 'nothing'"),
        ([name, *corpus], "give --out"),
        ([name, *out], "give --train, --dev, --test"),
        ([name, *corpus, *out, "--set", "model.encoder.cell=lstmm"], "model base"),
        ([name, *corpus, *out, "--set", "model"], "write key=value"),
        ([name, *corpus, *out, "--join", "3", "--gold", "x"], "leave out --join"),
        ([name, *corpus, *out, "--quick", "--seeds", "3"], "--quick has one seed and decides nothing"),
        ([name, *corpus, *out, "--pages-only"], "nothing of luong2015-table1 is done yet"),
    ):
        assert main(["reproduce", *arguments]) == 2, arguments
        printed = capsys.readouterr()
        assert message in printed.err, arguments
        assert printed.err.count("\n") == 1, printed.err
    assert not (tmp_path / "out" / "runs").exists()


def test_a_missing_extra_is_named_before_anything_is_trained(
    corpus: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.reproduction.reproduce.find_spec", lambda name: None if name == "kenlm" else name)
    assert main(["reproduce", "cho2014-table1", *corpus, "--out", str(tmp_path / "out"), "--quiet"]) == 2
    assert "this needs kenlm, which is not installed; pip install 'dragoman[smt]'" in capsys.readouterr().err
    assert not (tmp_path / "out" / "cho2014-table1" / "steps").exists()


def test_rows_that_fail_are_named_and_are_no_success(
    corpus: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = "import sys; sys.exit('dragoman: error: the loss is not a number')"
    monkeypatch.setattr(steps, "PROGRAM", (sys.executable, "-I", "-S", "-c", failing))
    assert main(["reproduce", "sutskever2014-figure2", *corpus, "--out", str(tmp_path), "--seeds", "1", "--quiet"]) == 2
    *_, message = capsys.readouterr().err.splitlines()
    assert message.removeprefix("dragoman: error: ").startswith(
        "failed: train-reversed-seed1; rows without all of their values: reversed LSTM; "
    )
    folder = tmp_path / "sutskever2014-figure2"
    assert json.loads((folder / "result.json").read_text())["failed"] == {
        "train-reversed-seed1": "the loss is not a number"
    }
    assert "| reversed LSTM | failed | failed |" in (folder / "result.md").read_text(encoding="utf-8")
