"""Neural scores as columns of a phrase table, of Moses or of a system, and the pairs of a table as training text."""

from __future__ import annotations

from pathlib import Path

from dragoman.errors import ConfigError, InputError
from dragoman.inputs import is_standard_output
from dragoman.progress import Console
from dragoman.requests.rescoring import TABLE_NAME, PhraseTableRequest
from dragoman.scoring.phrase_scores import compute, identity, moses_lines, write
from dragoman.scoring.phrases import PhrasesOfText, distinct_pairs, read_table
from dragoman.smt.moses_ini import FILE, PHRASE_TABLE, MosesConfiguration, extend_configuration, read_configuration
from dragoman.text.journal import Journal
from dragoman.text.lines import read_lines, replace_output, shown_name
from dragoman.text.temporary import make_folder, writing
from dragoman.workflows.smt_features import open_columns

NEW_WEIGHT, UNKNOWN_WEIGHT = 0.2, 0.0
"""Weights of new scores in the moses.ini of a new system, from which tuning starts."""


def score_phrase_table(request: PhraseTableRequest) -> list[str]:
    """Score all pairs, then write the table or the system; or write the pairs alone.

    Returns:
        the lines of moses.ini for a new table; none where the moses.ini of a system or no table is written.

    Raises:
        ConfigError, InputError, RunError: as for `open_columns` and `read_table`, or the output cannot be written.
    """
    if request.write_pairs is not None:
        system = _system(request)
        _write_pairs(str(system.phrase_table) if system else request.table, request.write_pairs)
        return []
    assert request.output is not None, "required by a rule"
    if is_standard_output(request.output):
        raise ConfigError(
            f"--output {request.output}: give another file, because the table is written after all pairs are scored"
        )
    system = _system(request)
    if system is None:
        return _add_columns(request, request.table, request.output)
    _extend(request, system, Path(request.output))
    return []


def _system(request: PhraseTableRequest) -> MosesConfiguration | None:
    """The configuration of the system, where a folder is given."""
    if not Path(request.table).is_dir():
        return None
    if request.name is not None:
        raise ConfigError("--name: the table has its name from the moses.ini of the system; leave it out")
    return read_configuration(request.table)


def _extend(request: PhraseTableRequest, system: MosesConfiguration, folder: Path) -> None:
    """Make a system with more scores; its moses.ini is written last."""
    if (folder / FILE).exists():
        raise InputError(f"{folder}: has a system already; give a new folder, or remove it")
    _add_columns(request, str(system.phrase_table), str(folder / PHRASE_TABLE), folder)
    added = [NEW_WEIGHT] * (len(request.model) + len(request.reverse)) + [UNKNOWN_WEIGHT] * request.unknown
    extend_configuration(system, folder, added)


def _write_pairs(table: str, out: str) -> None:
    with replace_output(out) as file:
        for source, target in distinct_pairs(read_table(table)):
            file.write(f"{source.replace(chr(9), ' ')}\t{target.replace(chr(9), ' ')}\n")


def _add_columns(request: PhraseTableRequest, table: str, out: str, folder: Path | None = None) -> list[str]:
    """Write the table with the scores; returns the lines of moses.ini for it.

    `folder` is made for it once the table is read and the models are opened, so that a wrong name leaves nothing.
    """
    console, texts = Console(quiet=request.general.quiet), request.filter
    sources = PhrasesOfText(line for path in texts for line in read_lines(path)) if texts else None
    first = next(read_table(table, sources), None)
    if first is None:
        raise ConfigError(f"{shown_name(table)}: no phrase pairs{' of the phrases in --filter' if texts else ''}")
    device, threads = request.general.device, request.general.threads
    columns = open_columns(request.model, request.reverse, unknown=request.unknown, device=device, threads=threads)
    names = ["forward"] * len(request.model) + ["reverse"] * len(request.reverse) + ["unknown"] * request.unknown
    if folder is not None:
        with writing(folder):
            make_folder(folder)
    what = identity(table, [*request.model, *request.reverse], names, texts)
    with Journal(Path(f"{out}.scores"), {"phrase-scores": what}) as journal:
        with console.counter("phrase pairs") as advance:
            before = compute(table, columns, journal, advance, sources)
        if before:
            console.info(f"{before} phrase pairs were scored before")
        write(table, journal, len(columns), out, sources)
    return moses_lines(out, len(first.scores) + len(columns), len(columns), request.name or TABLE_NAME)
