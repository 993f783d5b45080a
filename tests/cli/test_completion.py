"""`dragoman completion`: real shells read the scripts and complete with them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dragoman.cli.main import main

CASES = (
    ("trans", {"translate"}),
    ("smt t", {"train", "tune", "translate"}),
    ("translate --form", {"--format"}),
    ("translate --format n", {"nbest"}),
    ("translate RUN -i new.", {"new.de", "new.en"}),
    ("evaluate RUN new.de new.e", {"new.en"}),
    ("train --preset luong2015-b", {"luong2015-base"}),
    ("lm train --train new.d", {"new.de"}),
    ("describe RU", {"RUN"}),
)
"""What is typed after `dragoman` -> what may follow; `translate --beam 5` needs no test: numbers are not completed."""

BASH = """
source ./script
while IFS= read -r line; do
    read -ra COMP_WORDS <<< "dragoman $line"
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
    _shtab_dragoman 2>/dev/null  # compopt complains outside a completion
    echo "${COMPREPLY[*]}"
done
"""

FISH = """
source ./script
while read line
    echo (complete -C "dragoman $line" | string split -f 1 \\t | string trim -r -c /)
end
"""


def _script(shell: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert main(["completion", shell]) == 0
    (folder / "script").write_text(capsys.readouterr().out, encoding="utf-8")


@pytest.mark.parametrize(("shell", "program"), [("bash", BASH), ("fish", FISH)])
def test_a_shell_completes_verbs_options_and_files(
    shell: str, program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _script(shell, tmp_path, capsys)
    for name in ("new.de", "new.en"):
        (tmp_path / name).touch()
    (tmp_path / "RUN").mkdir()
    typed = "".join(f"{line}\n" for line, _ in CASES)
    done = subprocess.run([shell, "-c", program], cwd=tmp_path, input=typed, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    for (line, expected), found in zip(CASES, done.stdout.splitlines(), strict=True):
        assert set(found.split()) == expected, line


def test_zsh_reads_its_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _script("zsh", tmp_path, capsys)
    (tmp_path / "script").rename(tmp_path / "_dragoman")
    program = (
        "fpath=($PWD $fpath) && autoload -Uz compinit && compinit -u -d dump && echo $_comps[dragoman] && "
        "autoload +X _dragoman && zsh -n _dragoman"
    )
    done = subprocess.run(["zsh", "-fc", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("_dragoman\n", "")
