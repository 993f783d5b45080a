"""Writing sentence pairs to one file, which `corpus.read_pairs` reads."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman.errors import InputError
from dragoman.text.corpus import pair_format
from dragoman.text.lines import replace_output

WritePair = Callable[[str, str], None]


def require_pair_file(path: str | Path) -> None:
    """Refuse a name that is not that of a file of pairs.

    Raises:
        InputError: it ends neither in .tsv nor in .jsonl.
    """
    if pair_format(Path(path)) not in (".tsv", ".jsonl"):
        raise InputError(f"{path}: pairs are written to one .tsv or .jsonl file (also .gz, .xz, .zst); name it so")


@contextmanager
def write_pairs(path: str | Path) -> Iterator[WritePair]:
    """Inside, a function that writes a source and a target; an old file is replaced at the end.

    In .tsv a tab within a line is written as a space. After an error what was written stays as PATH.partial.

    Raises:
        InputError: the name is not that of a file of pairs, or it cannot be written.
    """
    require_pair_file(path)
    as_json = pair_format(Path(path)) == ".jsonl"
    with replace_output(path, keep_partial=True) as file:

        def write(source: str, target: str) -> None:
            if as_json:
                file.write(json.dumps({"source": source, "target": target}, ensure_ascii=False) + "\n")
            else:
                file.write("\t".join(re.sub("\t", " ", side) for side in (source, target)) + "\n")

        yield write
