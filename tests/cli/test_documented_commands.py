"""No page prints a command that would be refused: every `dragoman ...` of the documentation is parsed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.cli.main import VERBS, find_verb
from dragoman.cli.shared.parsing import Parser
from dragoman.errors import ConfigError

ROOT = Path(__file__).parents[2]
BUILT = (ROOT / "docs" / "_build", ROOT / "docs" / "reference" / "printed")
PAGES = [
    *sorted(ROOT.glob("README*.md")),
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if not set(BUILT) & set(page.parents)),
]

ALONE = (["smt"], ["cluster"], ["--version"], ["--help"])
"""What sentences may name after `dragoman` that is no verb: families and options."""


def commands_of(text: str) -> Iterator[tuple[bool, str]]:
    """The commands of a page: those of blocks and, without the mark of being complete, those within sentences."""
    fenced = False
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            while line.endswith("\\"):
                line = f"{line[:-1]} {next(lines).strip()}"
            for part in re.split(r" # |;|&&|\|(?!\w)|\bdo\b", line):
                command = part.strip().removeprefix("$ ")  # of a transcript, which may hold other programs too
                if command.split()[:1] in (["dragoman"], [".venv/bin/dragoman"]):
                    yield True, command
        else:
            for span in re.findall(r"`+(dragoman [^`]+)`", line):
                yield False, span


def _parse(command: str, *, complete: bool) -> None:
    """Parse a command as the shell and the command would.

    Redirections are left out, and so are `...`, and what a sentence need not repeat.

    Raises:
        ConfigError: it would be refused.
    """
    command = re.sub(r"\$\{[^}]*\}", " ", command)
    words = shlex.split(re.split(r" [<>] ?| [12]>", command)[0])[1:]
    if words[:1] in (["--version"], ["--help"]):
        return
    if not complete and any(verb.startswith(f"{words[0]} ") for verb in VERBS) and len(words) == 1:
        return  # a family, such as smt
    name, rest = find_verb(words)
    parser = Parser(prog=f"dragoman {name}", description="")
    VERBS[name].add_options(parser)
    partial = not complete or "..." in rest
    try:
        options = parser.parse([word for word in rest if word != "..." or not partial or complete])
    except ConfigError as error:
        if partial and ("are required" in str(error) or "expected one argument" in str(error)):
            return
        if not complete and "expected at least one argument" in str(error):
            return
        raise
    if not partial:
        VERBS[name].request(options)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_on_a_page_is_accepted(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # whether a file exists must make no difference
    refused = []
    for complete, command in commands_of(page.read_text(encoding="utf-8")):
        try:
            _parse(command, complete=complete)
        except ConfigError as error:
            refused.append(f"{command}\n    {error}")
    assert not refused, "\n".join(refused)


def test_commands_are_found_wherever_a_page_has_them_and_wrong_ones_are_refused() -> None:
    page = """Use `dragoman align` or `dragoman evaluate --report`; `dragoman smt` too.
```sh
$ dragoman train --train a b \\
    --dev c d --out RUN   # a comment
for x in 1 2; do dragoman score RUN a b > c && dragoman aer a b; done
python other.py
```

    dragoman translate RUN < a | sort
"""
    found = list(commands_of(page))
    assert [command.split()[1] for _, command in found] == [
        *("align", "evaluate", "smt", "train", "score", "aer", "translate")
    ]
    for complete, command in found:
        _parse(command, complete=complete)
    for complete, command, message in (
        (True, "dragoman translate RUN --sample --nbest 50 < a", "format text has one translation per line"),
        (True, "dragoman translate", "RUN"),
        (True, "dragoman train --preset cho2014 --sets a=b ...", "--sets"),
        (False, "dragoman trian", "trian"),
        (False, "dragoman evaluate --reports", "--reports"),
    ):
        with pytest.raises(ConfigError, match=message):
            _parse(command, complete=complete)


def test_the_pages_show_commands_of_nearly_all_verbs() -> None:
    commands = [command.split()[1:] for page in PAGES for _, command in commands_of(page.read_text(encoding="utf-8"))]
    assert len({find_verb(words)[0] for words in commands if words not in ALONE}) >= 25
