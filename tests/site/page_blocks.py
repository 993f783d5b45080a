"""The blocks of a page: what is run, what is compared with an output, and what the page says is not run.

A comment of Markdown in front of a block tells the tests about it; readers of the page do not see it:

<!-- not run: REASON -->       nothing runs it here
<!-- before: COMMAND -->       a command that comes before, which makes what the reader has and the toy folder lacks
<!-- given: PROGRAM -->        the same for a block of Python
<!-- file: NAME -->            the block is the text of a file that later commands read
<!-- files -->                 the first word of each line is a file that exists
<!-- prints: COMMAND -->       the block is a part of what this command prints
<!-- printed above -->         the block is a part of what the block before it printed
<!-- words vary -->            an output in which a model's words stand: only its lines and columns are compared

A block without one is run: lines of a shell, a transcript (`$ command`, then what it prints), or Python.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cli.test_documented_commands import PAGES, ROOT

_MARK = re.compile(r"<!-- ((?:not run|before|given|file|prints): .+|files|printed above|words vary) -->")
_COMMENT = re.compile(r"<!--.*")
_SHELL = ("", "sh")
_NUMBER = re.compile(r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?(?:/\d+)?")


@dataclass(frozen=True)
class Block:
    """A block of a page; `marks` are its comments."""

    page: Path
    line: int
    language: str
    text: str
    marks: tuple[str, ...]

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def reason(self) -> str | None:
        """Why it is not run; None if it is."""
        return next(iter(self.said("not run")), None)

    @property
    def file(self) -> str | None:
        """The file whose text it is."""
        return next(iter(self.said("file")), None)

    def said(self, kind: str) -> list[str]:
        """What the comments of a kind say."""
        return [mark.removeprefix(f"{kind}: ") for mark in self.marks if mark.startswith(f"{kind}: ")]

    @property
    def is_output(self) -> bool:
        return bool(self.said("prints")) or "printed above" in self.marks

    @property
    def is_list_of_files(self) -> bool:
        return "files" in self.marks

    @property
    def words_vary(self) -> bool:
        return "words vary" in self.marks

    @property
    def is_python(self) -> bool:
        return self.language == "python"

    @property
    def is_shell(self) -> bool:
        return self.language in _SHELL

    def steps(self) -> list[tuple[str, list[str] | None]]:
        """What a shell runs, in order, each with the lines that the page shows behind it; None for none.

        An empty command stands for the one before the block.
        """
        if self.is_output:
            command = next(iter(self.said("prints")), "")
            return [(command, ["...", *self.text.splitlines(), "..."])]
        if not self.text.startswith("$ "):
            return [(self.text, None)]
        parts = re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]
        return [(lines[0], lines[1:]) for lines in (part.splitlines() for part in parts)]


def pages_of_own_code() -> list[Path]:
    """Pages but for translated ones, whose code another test compares, and the lab book, which is a diary."""
    record = json.loads((ROOT / "docs" / "ko" / "translated.json").read_text(encoding="utf-8"))
    own = {ROOT / "docs" / page for page, source in record.items() if source is None}
    return [
        page
        for page in PAGES
        if page in own or (page.name != "README.ko.md" and not {"lab-book", "ko"} & set(page.relative_to(ROOT).parts))
    ]


def blocks_of(page: Path) -> Iterator[Block]:
    """The blocks of code of a page in their order; those that Sphinx reads as directives are left out."""
    lines = page.read_text(encoding="utf-8").splitlines()
    number, marks = 0, list[str]()
    while number < len(lines):
        line, start = lines[number], number + 1
        if found := _MARK.fullmatch(line):
            marks.append(found[1])
        elif re.fullmatch(r"```\S*", line):
            end = lines.index("```", start)
            if not line.startswith("```{"):
                yield Block(page, start, line[3:], "\n".join(lines[start:end]), tuple(marks))
            number, marks = end, []
        elif line.startswith("    ") and _indented_block_may_begin(lines[:number]):
            end = next((k for k in range(start, len(lines)) if lines[k].strip() and lines[k][:4] != "    "), len(lines))
            text = "\n".join(one[4:] for one in lines[number:end]).rstrip()
            yield Block(page, start, "", text, tuple(marks))
            number, marks = end - 1, []
        elif line.strip():
            assert not _COMMENT.match(line), f"{page}:{start}: a comment that the tests do not know"
            assert not marks, f"{page}:{start}: a comment for a block without a block behind it"
        number += 1


def _indented_block_may_begin(before: Sequence[str]) -> bool:
    """Whether what is indented is a block: an empty line is before it, and no item of a list before that."""
    if not before:
        return True
    text = [line for line in before if line.strip()]
    return not before[-1].strip() and not re.match(r"\s*([-*]|\d+\.) |\s", text[-1])


def same(shown: Sequence[str], printed: Sequence[str], *, words_vary: bool = False) -> bool:
    """Whether an output is the one that a page shows, but for its figures, values in quotes and widths of columns.

    A line `...` of the page stands for any lines. With `words_vary`, lines are compared by the number of their columns,
    divided by tabs, `|||` or two spaces.
    """
    wanted, found = ([_elided(line, words_vary) for line in lines if line.strip()] for lines in (shown, printed))
    pattern = "".join(r"(?:[^\n]*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in wanted)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in found)) is not None


def _elided(line: str, words_vary: bool) -> str:
    if line.strip() == "...":
        return "..."
    if words_vary:
        return " | ".join("w" for _ in re.split(r"\t| \|\|\||\s{2,}", line.strip()))
    return re.sub(r"\s+", " ", re.sub(r"'[^']*'", "''", _NUMBER.sub("0", line))).strip()
