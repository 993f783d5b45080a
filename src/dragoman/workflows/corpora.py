"""A corpus inspected, or written as files of another kind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.pair_files import holds_pairs
from dragoman.corpora.writing import corpus_writer
from dragoman.errors import ConfigError, InputError
from dragoman.inputs import inputs_protected
from dragoman.inspection.inspect import inspect_corpus
from dragoman.inspection.presentation import text, to_json
from dragoman.progress import Console
from dragoman.requests.corpora import ConversionRequest, InspectionRequest
from dragoman.text.lines import replace_output
from dragoman.workflows.languages import languages_of


def inspect_files(request: InspectionRequest) -> str:
    """The figures and findings of a corpus as text or JSON.

    Raises:
        ConfigError, InputError: as for `inspect_corpus`, or a file cannot be read twice.
    """
    corpus = [Path(name) for name in request.corpus]
    for path in corpus:
        if str(path) == "-" or (path.exists() and not path.is_file() and not path.is_dir()):
            raise InputError(f"{path}: is no regular file; the corpus is read twice, so give a file")
    held_out = {**_named("dev", request.dev), **_named("test", request.test)}
    listing = nullcontext() if request.listing is None else replace_output(request.listing)
    with listing as file, Console(quiet=request.general.quiet).counter("pairs, twice") as progress:
        inspection = inspect_corpus(
            [corpus],
            held_out,
            subwords=request.subwords,
            examples=request.examples,
            listing=file,
            progress=progress,
        )
    return json.dumps(to_json(inspection), ensure_ascii=False, indent=2) if request.json else text(inspection)


def _named(name: str, sets: Sequence[Sequence[str]]) -> dict[str, list[Path]]:
    """dev, or dev 1, dev 2 where there are several."""
    names = [name] if len(sets) == 1 else [f"{name} {number}" for number in range(1, len(sets) + 1)]
    return {one: [Path(file) for file in files] for one, files in zip(names, sets, strict=True)}


def convert(request: ConversionRequest) -> None:
    """Write the pairs of a corpus to two files, or to one with both sides; say what is changed.

    Raises:
        ConfigError: there is no corpus of one file or two.
        InputError: as for `read_pairs` and `corpus_writer`; the old outputs are unchanged.
    """
    files = [Path(name) for name in request.files]
    count = 1 if holds_pairs(files[-1]) else 2
    inputs, outputs = files[:-count], files[-count:]
    if len(inputs) not in (1, 2):
        raise ConfigError("give a corpus of one file or two, then one file with both sides, or two, to write")
    names, console = " ".join(map(str, outputs)), Console(quiet=request.general.quiet)
    with inputs_protected([str(path) for path in outputs]):
        source, target = request.languages or languages_of(inputs)
        with corpus_writer(outputs, (source, target)) as writer, console.counter("pairs") as progress:
            for pair in read_pairs([inputs]):
                writer.write(pair.source, pair.target)
                progress(writer.pairs)
        console.info(f"{names}: {_counted(writer.pairs, 'pair')}")
        for what, lost in writer.changes.items():
            if lost:
                console.warning(
                    f"{names}: {what} of {_counted(lost, 'side')} are not kept; they are spaces or left out"
                )


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
