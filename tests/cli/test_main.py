"""The command itself: finding verbs, complaining in one line, exit codes, help."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import dragoman
from dragoman import systems
from dragoman.cli import presets
from dragoman.cli.main import KERNELS, VERBS, find_verb, main
from dragoman.cli.shared.parsing import Parser
from dragoman.errors import InputError, Interrupted


def _fail(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let `dragoman presets` end with an error."""

    def run(options: argparse.Namespace) -> None:
        raise error

    monkeypatch.setattr(presets, "run", run)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "unknown command trian (did you mean train?); see dragoman --help"),
        (["xyzzy"], "unknown command xyzzy; see dragoman --help"),
        (["smt"], "smt needs a second word: smt train, smt tune, smt translate, smt nbest; each has --help"),
        (["smt", "trian"], "smt needs a second word: smt train, smt tune"),
        (["smt", "train", "--order", "9"], "argument --order: '9' is not a whole number, 2 or more, at most 6"),
        (["train", "--trian", "a", "b"], "unknown option --trian (did you mean --train?) (see dragoman train --help)"),
        (
            ["translate", "R", "--beem=4"],
            "unknown option --beem (did you mean --beam?) (see dragoman translate --help)",
        ),
        (["--versoin"], "unknown option --versoin (did you mean --version?) (see dragoman --help)"),
        (["translate"], "the following arguments are required: RUN (see dragoman translate --help)"),
        (["translate", "R", "--beam"], "argument --beam: expected one argument"),
        (["translate", "R", "--beam", "0"], "argument --beam: '0' is not a whole number, 1 or more"),
        (
            ["translate", "R", "--beam", "9999"],
            "argument --beam: '9999' is not a whole number, 1 or more, at most 1,000",
        ),
        (
            ["translate", "R", "--nbest", "9999"],
            "argument --nbest: '9999' is not a whole number, 1 or more, at most 1,000",
        ),
        (["translate", "R", "--beam", "five"], "argument --beam: 'five' is not a whole number, 1 or more"),
        (
            ["translate", "R", "--max-length-extra", "-1"],
            "argument --max-length-extra: '-1' is not a whole number, 0 or more",
        ),
        (["translate", "R", "--top-p", "1.5"], "argument --top-p: '1.5' is not a number above 0, at most 1"),
        (["translate", "R", "--temperature", "0"], "argument --temperature: '0' is not a number above 0"),
        (
            ["translate", "R", "--min-length-factor", "nan"],
            "argument --min-length-factor: 'nan' is not a number, 0 or more",
        ),
        (["translate", "R", "--format", "xml"], "argument --format: invalid choice: 'xml'"),
        (
            ["train", "--out", "R", "--resume", "--overwrite"],
            "argument --overwrite: not allowed with argument --resume",
        ),
        (["presets", "more"], "unrecognized arguments: more (see dragoman presets --help)"),
    ],
)
def test_a_wrong_command_line_is_one_clear_line_and_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"dragoman: error: {message}")
    assert printed.err.count("\n") == 1


def test_a_users_error_is_its_message_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _fail(monkeypatch, InputError("corpus.en: does not exist"))
    assert main(["presets"]) == 2
    assert capsys.readouterr().err == "dragoman: error: corpus.en: does not exist\n"


def test_an_interruption_with_saved_state_is_exit_code_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _fail(monkeypatch, Interrupted("SIGINT: state saved after update 7"))
    assert main(["presets"]) == 130
    assert capsys.readouterr().err == "dragoman: SIGINT: state saved after update 7\n"


def test_control_c_is_exit_code_130_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _fail(monkeypatch, KeyboardInterrupt())
    assert main(["presets"]) == 130
    assert capsys.readouterr().err == "dragoman: interrupted\n"


def test_a_bug_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    _fail(monkeypatch, ZeroDivisionError("a bug"))
    with pytest.raises(ZeroDivisionError, match="a bug"):
        main(["presets"])


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _fail(monkeypatch, ModuleNotFoundError("No module named 'torch'", name="torch"))
    assert main(["presets"]) == 2
    assert capsys.readouterr().err == (
        "dragoman: error: this needs torch, which is not installed; pip install 'dragoman[train]'\n"
    )


def test_a_missing_module_that_is_no_extra_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    _fail(monkeypatch, ModuleNotFoundError("No module named 'dragoman.nothing'", name="dragoman.nothing"))
    with pytest.raises(ModuleNotFoundError):
        main(["presets"])


def test_a_reader_that_has_had_enough_is_no_error() -> None:
    command = f"{sys.executable} -m dragoman config standard | head -n 1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    assert done.returncode == 0


def test_no_arguments_show_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([])
    assert end.value.code == 0
    assert "usage: dragoman COMMAND" in capsys.readouterr().out


def test_the_help_lists_every_verb_with_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert len(VERBS) == 44
    for name, verb in VERBS.items():
        assert f"  {name} " in shown
        assert verb.SUMMARY in shown


def test_every_verbs_help_has_examples_that_parse(capsys: pytest.CaptureFixture[str]) -> None:
    for name, verb in VERBS.items():
        with pytest.raises(SystemExit) as end:
            main([name, "--help"])
        assert end.value.code == 0, name
        shown = capsys.readouterr().out
        assert "--quiet" in shown, name
        assert verb.EXAMPLES, name
        for example in verb.EXAMPLES:
            assert example in shown, name
            named, words = find_verb(example.partition(">")[0].partition("<")[0].split()[1:])
            parser = Parser(prog=f"dragoman {named}", description="")
            VERBS[named].add_options(parser)
            parser.parse(words)


def test_every_option_is_explained_and_shows_its_default() -> None:
    for name, verb in VERBS.items():
        parser = Parser(prog=f"dragoman {name}", description="")
        verb.add_options(parser)
        shown = " ".join(parser.format_help().split())
        for action in parser._actions:
            assert action.help, (name, action.option_strings)
            if action.default not in (None, False, "", [], argparse.SUPPRESS):
                assert f"(default: {action.default})" in shown, (name, action.option_strings)


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    first, versions, processor = capsys.readouterr().out.splitlines()
    assert first == f"dragoman {dragoman.__version__}"
    assert (
        versions
        == f"Python {platform.python_version()}, torch {version('torch')}, onnxruntime {version('onnxruntime')}"
    )
    assert processor.startswith(f"{systems.processor().name}, {platform.system()}: ")


def test_the_installed_command_is_this_one() -> None:
    command = Path(sys.executable).with_name("dragoman")
    done = subprocess.run([command, "presets"], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("demo  ")


def test_torch_is_told_to_keep_few_kernels_unless_somebody_has_told_it_already(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = KERNELS
    for name in KERNELS:
        monkeypatch.setitem(os.environ, name, "")  # put back in the end
    monkeypatch.delitem(os.environ, first)
    monkeypatch.setitem(os.environ, second, "7")
    assert main(["train"]) == 2  # which needs a corpus
    assert (os.environ[first], os.environ[second]) == (KERNELS[first], "7")


def test_mistaken_options_are_answered_with_those_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    for command, hint in (
        ("symmetrize a b --symmetrise union", "--symmetrise (did you mean --symmetrize?)"),
        ("score RUN -i test.tsv", "-i (files stand without an option: RUN FILE)"),
        ("phrase-table --outputs b", "--outputs (did you mean --output?)"),
    ):
        assert main(command.split()) == 2
        assert f"unknown option {hint} (see dragoman " in capsys.readouterr().err


def test_one_name_means_one_thing_in_every_verb() -> None:
    """Options of the same name explain themselves alike: the kind of value, and whether there are several."""
    kinds: dict[str, set[tuple[object, ...]]] = {}
    for name, verb in VERBS.items():
        parser = Parser(prog=f"dragoman {name}", description="")
        verb.add_options(parser)
        for action in parser._actions:
            for option in action.option_strings:
                kinds.setdefault(option, set()).add((action.nargs, bool(action.choices)))
    for option in ("--weights", "--feature-weights", "--symmetrize", "-i", "-o", "--out", "--nbest", "--aligner"):
        assert len(kinds[option]) == 1, (option, kinds[option])


@pytest.mark.parametrize("words", [["-o", ""], ["--output="], [""]])
def test_an_empty_argument_is_refused(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert main(["align", "run", *words]) == 2
    assert "an argument is empty, perhaps from an unset variable of the shell" in capsys.readouterr().err


def test_an_argument_with_a_nul_character_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["align", "run", "-o", "a\0b"]) == 2
    assert capsys.readouterr().err == "dragoman: error: an argument has a NUL character; remove it\n"
