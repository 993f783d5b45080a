"""No command replaces a file that it reads: each with every output option onto every input, by its name and by links.

Verbs and options come from the parsers, so that a new option has to be declared as an output, or named here.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dragoman.cli.main import VERBS, main
from dragoman.cli.shared.parsing import Parser, output_file, output_folder
from dragoman.smt.arpa import write_arpa
from dragoman.smt.kneser_ney import estimate
from dragoman.text.lines import write_lines
from tests.importing.toolkits import OpenNMT
from tests.smt.conftest import CONFIGURATION, MONOLINGUAL, PHRASES, REORDERING

from .conftest import SMALL

COMMANDS: dict[str, tuple[str, ...]] = {
    "inspect": ("src tgt --dev src2 tgt2 --test pairs.tsv",),
    "train": (
        "config.yaml --train src tgt --dev src2 tgt2 --alignments links --out new",
        "--train src tgt --from run --out new",
    ),
    "backtranslate": ("run --input src",),
    "distill": ("run light pairs.tsv", "run src tgt"),
    "learn": ("run --pairs pairs.tsv --out new",),
    "translate": (
        "run light --input src --ban-file words",
        "light --input src --prefix tgt",
        "run --input src --replace-unk --dictionary dictionary",
        "run --input src --constraints tgt",
        "run --input src --glossary pairs.tsv",
        "run --input src --memory pairs.tsv",
    ),
    "evaluate": (
        "run src tgt --against tgt2 --by rarity --frequencies words",
        "run pairs.tsv --robustness --robustness-lines words2",
        "run src tgt --hyp tgt2",
    ),
    "score": ("run light src tgt",),
    "heatmap": ("run src tgt",),
    "tree": ("run --input src",),
    "curves": ("run",),
    "map": ("run --input src --of phrases",),
    "align": ("run src tgt --reverse run2", "src tgt --aligner ibm1 --train src2 tgt2"),
    "symmetrize": ("links links2",),
    "dictionary": ("src tgt links",),
    "rescore": (
        "nbest --source src --model run --reverse run2",
        "nbest --lm lm",
    ),
    "tune": (
        "nbest nbest2 --reference ref --initial-weights weights --against weights2",
        "nbest --reference ref --test nbest2 --test-reference ref2",
    ),
    "rerank": ("nbest --feature-weights weights", "nbest --oracle ref"),
    "phrase-table": ("table --model run --reverse run2 --filter src",),
    "smt tune": ("system --source src --reference tgt --initial-weights system/weights",),
    "smt translate": ("system --input src --feature-weights system/weights",),
    "smt nbest": ("system --input src --feature-weights system/weights",),
    "lm score": ("lm --input src",),
}
"""What each verb reads; names of files and folders of `place`."""

ALONE = {
    ("phrase-table", "--write-pairs"): "table",
    ("evaluate", "--output"): "run src tgt",
    ("evaluate", "--report"): "src tgt --hyp tgt2",  # it is written at the end, and a model would take its time
    ("align", "--matrix"): "run src tgt",
}
"""Outputs that go with none of the other options."""

WITH = {"--unk-log": "--replace-unk"}
"""What an output needs."""

SUFFIXES = {
    ("backtranslate", "--output"): ".tsv",
    ("distill", "--output"): ".jsonl",
    ("curves", "--output"): ".png",
    ("map", "--output"): ".tsv",
    ("phrase-table", "--write-pairs"): ".tsv",
}
"""Outputs that need a name with an ending, which is checked before anything is read."""

WRITTEN = {("evaluate", "--report"): "report.html", ("heatmap", "--out"): "1.png"}
"""The first file that is written into an output folder."""

REFUSED_FOLDERS = {
    ("train", "--out"): (
        "--train src tgt --from run --out run --overwrite",
        "run/config.yaml --train src tgt --out run --overwrite",
    ),
    ("learn", "--out"): ("run --pairs src tgt --out run --overwrite", "run --pairs run/data/dev.jsonl --out run"),
    ("lm train", "--out"): (
        "lm/config.yaml --train src --out lm --overwrite",
        "--train lm/text/target.vocabulary --out lm --overwrite",
    ),
    ("import", "--out"): ("run/text/source.model --from opennmt --out run --overwrite",),
    ("export", "--out"): ("run --out run --overwrite", "run --shortlist 5 --shortlist-corpus light/x.tsv --out light"),
    ("smt train", "--out"): ("--train system/src system/tgt --out system",),
    ("cluster translate", "--output"): ("run --input system/src --output system",),
    ("cluster score", "--output"): ("run --input system/src --target system/tgt --output system",),
    ("cluster align", "--output"): ("run --input system/src --target system/tgt --output system",),
    ("cluster rescore", "--output"): ("--input system/nbest --lm lm --output system",),
    ("cluster phrase-table", "--output"): ("--input system/table --model run --output system",),
}
"""Folders that hold an input."""

UNTRIED = {
    ("demo", "--out"): "it reads no file",
    ("learn", "--learned"): "it writes its own files there only",
    ("reproduce", "--out"): "its steps are other commands",
}

KINDS: dict[str, Callable[[Path, Path], object]] = {
    "symbolic": lambda link, file: link.symlink_to(file),
    "hard": lambda link, file: link.hardlink_to(file),
}

NOT_FILES = {
    *(
        "--tag",
        "--ban",
        "--tokenised",
        "--feature",
        "--average",
        "--name",
        "--text",
        "--set",
        "--preset",
        "--languages",
    ),
    *("--columns", "--encoding"),
    *("--language", "--tokenizer", "--weights", "--format", "--lines", "--from", "--to"),
    *("--host", "--host-name", "--cors", "--trusted-proxy", "--address"),
}
"""Options with text that is not the name of a file."""

READ = {
    *("--train", "--dev", "--test", "--gold", "--alignments", "--monolingual", "--shortlist-corpus"),
    *("--input", "--source", "--target", "--model", "--reverse", "--lm", "--memory"),
    *("--api-keys", "--config", "--vocabulary", "--source-model", "--target-model"),
}
"""Inputs of the verbs that write a folder, or nothing."""

FOLDER_FILES = {
    "run": (
        "config.yaml",
        "model.safetensors",
        "text/source.vocabulary",
        "checkpoints/latest.safetensors",
        "log.jsonl",
    ),
    "light": ("config.yaml", "manifest.json", "step.onnx", "text/target.vocabulary"),
    "lm": ("config.yaml", "model.safetensors", "text/target.vocabulary"),
    "system": ("moses.ini", "phrase-table.gz", "reordering-table.gz", "lm.arpa"),
}
FOLDER_FILES["run2"] = FOLDER_FILES["run"]


def _parser(verb: str) -> Parser:
    parser = Parser(prog=verb, description="")
    VERBS[verb].add_options(parser)
    return parser


def _options(verb: str, kind: object) -> list[str]:
    """The options with a value of a type, but those with a list of choices; by their last names."""
    return [
        action.option_strings[-1]
        for action in _parser(verb)._actions
        if action.option_strings and action.nargs != 0 and action.choices is None and action.type is kind
    ]


OUTPUTS = [(verb, option) for verb in VERBS for option in _options(verb, output_file)]
FOLDERS = [(verb, option) for verb in VERBS for option in _options(verb, output_folder)]


@pytest.fixture(scope="module")
def made(run_folder: Path, light: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small files of every kind that a command reads."""
    place = tmp_path_factory.mktemp("made")
    for name, folder in (("run", run_folder), ("run2", run_folder), ("light", light)):
        shutil.copytree(folder, place / name)
    texts = {
        "src": ["a b", "b c"],
        "tgt": ["A B", "B C"],
        "pairs.tsv": ["a b\tA B", "b c\tB C"],
        "links": ["0-0 1-1", "0-0 1-1"],
        "words": ["A", "B"],
        "dictionary": ["a\tA\t3", "b\tB\t2"],
        "nbest": ["0 ||| A B ||| LM= -1 TM= -2 ||| -3", "1 ||| B C ||| LM= -1 TM= -2 ||| -3"],
        "ref": ["A B", "B C"],
        "weights": ["LM= 0.5", "TM= 0.5"],
        "table": list(PHRASES),
    }
    for name, lines in texts.items():
        write_lines(place / name, lines)
        write_lines(place / f"{name}2", lines)
    (place / "config.yaml").write_text("training: {epochs: 1, guided_alignment: 0.5}\n")
    system = place / "system"
    system.mkdir()
    write_lines(system / "phrase-table.gz", PHRASES)
    write_lines(system / "reordering-table.gz", REORDERING)
    write_arpa(system / "lm.arpa", estimate([line.split() for line in MONOLINGUAL], 3))
    (system / "moses.ini").write_text(CONFIGURATION)
    (system / "weights").write_text(CONFIGURATION.partition("[weight]\n")[2])
    for name in ("src", "tgt", "nbest", "table"):
        shutil.copy(place / name, system)
    shutil.copy(place / "pairs.tsv", place / "light" / "x.tsv")
    text = ["--train", str(place / "src"), "--dev", str(place / "tgt"), "--out", str(place / "lm"), "--quiet"]
    sizes = [
        "model.embedding=4",
        "model.recurrent.size=4",
        "model.feed_forward.layers=[4]",
        "text.segmentation=whitespace",
    ]
    assert main(["lm", "train", *text, "--set", *sizes, "training.epochs=1", "training.precision=fp32"]) == 0
    shutil.move(OpenNMT().save(place), place / "run" / "text" / "source.model")
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the files, as the working folder."""
    copy = shutil.copytree(made, tmp_path / "place")
    monkeypatch.chdir(copy)
    return copy


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _inputs(words: list[str]) -> Iterator[Path]:
    """The files that a command reads."""
    for word in words:
        for path in [Path(word, name) for name in FOLDER_FILES[word]] if word in FOLDER_FILES else [Path(word)]:
            if path.is_file():
                yield path


def _commands(verb: str, option: str) -> list[list[str]]:
    """The words after the verb."""
    lines = [ALONE[verb, option]] if (verb, option) in ALONE else COMMANDS[verb]
    return [[*line.split(), *WITH.get(option, "").split()] for line in lines]


def test_every_option_that_names_a_file_is_tried() -> None:
    assert {verb for verb, _ in OUTPUTS} <= set(COMMANDS)
    assert set(FOLDERS) == WRITTEN.keys() | REFUSED_FOLDERS.keys() | UNTRIED.keys()
    unknown = [
        f"{verb} {option}"
        for verb in VERBS
        for option in _options(verb, None) + _options(verb, Path)
        if option not in NOT_FILES
        if not (any(option in line.split() for line in COMMANDS[verb]) if verb in COMMANDS else option in READ)
    ]
    assert not unknown, f"declare an output with type=output_file, and name an input in COMMANDS: {unknown}"


@pytest.mark.parametrize(("verb", "option"), OUTPUTS, ids=" ".join)
def test_an_output_never_replaces_an_input(
    verb: str, option: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = _contents(place)
    for command in _commands(verb, option):
        for number, path in enumerate(_inputs(command)):
            names = {"itself": str(path)}
            for kind, make in list(KINDS.items())[number % 2 :][:1]:  # in turn
                names[kind] = f"link{number}-{kind}{SUFFIXES.get((verb, option), '')}"
                make(place / names[kind], path.absolute())
            for kind, name in names.items():
                assert main([*verb.split(), *command, option, name, "--quiet"]) == 2, f"{option} onto {path} ({kind})"
                said = capsys.readouterr().err
                if kind != "itself" or (verb, option) not in SUFFIXES:
                    assert f"{name}: is both an input and an output" in said, said
                os.unlink(name) if kind != "itself" else None
        assert _contents(place).items() >= before.items()  # what align had written stays as NAME.partial


def test_converted_text_never_replaces_the_corpus(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "symbolic.tsv").symlink_to(place / "pairs.tsv")
    (place / "hard.tsv").hardlink_to(place / "pairs.tsv")
    before = _contents(place)
    for line in (
        *(f"pairs.tsv {name}.tsv" for name in ("pairs", "symbolic", "hard")),
        *("src tgt src tgt", "src tgt new src", "src tgt tgt new", "pairs.tsv new hard.tsv", "src tgt new new"),
    ):
        assert main(["convert", *line.split(), "--quiet"]) == 2, line
        said = capsys.readouterr().err
        assert "is both an input and an output" in said or "is given for two outputs" in said, said
        assert _contents(place) == before, line


@pytest.mark.parametrize(("verb", "option"), WRITTEN, ids=" ".join)
def test_a_file_in_an_output_folder_never_replaces_an_input(
    verb: str, option: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, folder = _contents(place), Path("out")
    for command in _commands(verb, option):
        for path in _inputs(command):
            for kind, make in KINDS.items():
                folder.mkdir()
                make(folder / WRITTEN[verb, option], path.absolute())
                assert main([*verb.split(), *command, option, "out", "--quiet"]) == 2, f"{option} onto {path} ({kind})"
                assert f"{folder / WRITTEN[verb, option]}: is both an input and an output" in capsys.readouterr().err
                shutil.rmtree(folder)
        assert _contents(place) == before


@pytest.mark.parametrize(("verb", "option"), REFUSED_FOLDERS, ids=" ".join)
def test_an_output_folder_never_replaces_one_with_an_input(verb: str, option: str, place: Path) -> None:
    before = _contents(place)
    for line in REFUSED_FOLDERS[verb, option]:
        small = ["--set", *SMALL] if verb == "train" else []
        assert main([*verb.split(), *line.split(), *small, "--quiet"]) == 2, line
        assert _contents(place) == before
