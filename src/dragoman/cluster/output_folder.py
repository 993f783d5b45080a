"""The folder of outputs: one file for each input file, and the records from which an interrupted command goes on.

DIR/NAME                    the output of the input file NAME
DIR/failed.jsonl            a line for each line without output: file, line, reason
DIR/cluster.json            what the outputs were made with: verb, options, models, version
DIR/cluster-finished.jsonl  a line for each output that is complete
DIR/cluster-unfinished/     the computed shards of other outputs; removed at the end
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from dragoman.cluster.inputs import InputFile
from dragoman.cluster.journal import Journal
from dragoman.cluster.shards import Inputs
from dragoman.errors import InputError, RunError
from dragoman.runs.lock import LOCK, lock_for_writing
from dragoman.stored_files import JsonFile, dump_json, read_json
from dragoman.text.lines import replace_file
from dragoman.text.temporary import FILE, make_folder

FORMAT = 1
MANIFEST, FINISHED, UNFINISHED, FAILED = (
    "cluster.json",
    "cluster-finished.jsonl",
    "cluster-unfinished",
    "failed.jsonl",
)


class _Manifest(JsonFile, frozen=True, kw_only=True):
    verb: str
    models: dict[str, list[str]]
    options: dict[str, Any]
    version: str


class _File(msgspec.Struct, frozen=True):
    path: str
    size: int
    modified: int


class FinishedOutput(msgspec.Struct, frozen=True, kw_only=True):
    """An output that is complete."""

    name: str
    inputs: list[_File]
    digest: str
    """Of the text of the inputs."""
    lines: int
    failed: int
    bytes: int
    """Size of the output file."""


class _Failed(msgspec.Struct, frozen=True):
    file: str
    line: int
    reason: str


class OutputFolder:
    """An output folder that this process may write to."""

    def __init__(self, path: Path, finished: dict[str, FinishedOutput]) -> None:
        self.path = path
        self.finished = finished
        """Complete outputs by name."""

    def require_same(self, inputs: Inputs) -> FinishedOutput | None:
        """The record of an output that is complete; None where it has to be made.

        An input whose time of modification alone has changed must be compared by its text (`FinishedOutput.digest`).

        Raises:
            InputError: an input or the output has changed since.
        """
        record = self.finished.get(inputs.name)
        if record is None:
            return None
        output = self.path / inputs.name
        if not output.exists():
            del self.finished[inputs.name]
            return None
        size = output.stat().st_size
        if size != record.bytes:
            raise InputError(
                f"{output}: has {size:,} bytes where {record.bytes:,} were written; remove it, and the same command "
                "makes it again"
            )
        if [file.size for file in inputs.files] != [file.size for file in record.inputs]:
            raise self.changed(inputs)
        return record

    def changed(self, inputs: Inputs) -> InputError:
        """The error for an input that is not the one that its output was made of."""
        return InputError(
            f"{inputs.files[0].path}: has changed since {self.path / inputs.name} was made of it; remove that file, "
            "and the same command makes it again"
        )

    def journal(self, inputs: Inputs) -> Journal:
        """The computed shards of an output."""
        return Journal(self.path / UNFINISHED / inputs.name)

    def finish(self, inputs: Inputs, digest: str, journal: Journal, shards: int) -> FinishedOutput:
        """Write an output whose shards are all computed, and record it.

        Raises:
            InputError: it cannot be written.
        """
        output = self.path / inputs.name
        journal.write_output(output, shards)
        entries = [journal.entries[number] for number in range(shards)]
        failed = [line for entry in entries for line in entry.failed]
        record = FinishedOutput(
            name=inputs.name,
            inputs=[_recorded(file) for file in inputs.files],
            digest=digest,
            lines=sum(entry.lines for entry in entries),
            failed=len(failed),
            bytes=output.stat().st_size,
        )
        self._append(FAILED, [_Failed(inputs.name, line.line, line.reason) for line in failed])
        self._append(FINISHED, [record])
        self.finished[inputs.name] = record
        journal.remove()
        return record

    def _append(self, name: str, entries: Sequence[msgspec.Struct]) -> None:
        path = self.path / name
        if not entries:
            return
        try:
            with path.open("ab") as file:
                file.write(b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise InputError(
                f"{path}: cannot be written: {error.strerror}; make room and give the same command again"
            ) from None

    def remove_unfinished(self) -> None:
        """Remove the folder of computed shards, when all outputs are complete."""
        with suppress(OSError):  # it may hold shards of inputs that are not given any more
            (self.path / UNFINISHED).rmdir()


@contextmanager
def open_output_folder(path: Path, identity: Mapping[str, Any], names: Sequence[str]) -> Iterator[OutputFolder]:
    """Create an output folder, or open one that the same command began; locked until the end of the block.

    Args:
        identity: what outputs depend on besides their inputs, `WorkerPlan.identity`.
        names: those of the outputs.

    Raises:
        InputError: the folder holds something else, or cannot be written; two outputs have one name, or a name that is
            taken.
        RunError: another process writes to it.
    """
    _require_names(path, names)
    try:
        make_folder(path)
    except FileExistsError:
        raise InputError(f"{path}: is a file; give a folder for the outputs") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be created: {error.strerror}") from None
    with lock_for_writing(path, "folder"):
        others = [entry.name for entry in path.iterdir() if entry.name != LOCK and not FILE.fullmatch(entry.name)]
        if (path / MANIFEST).exists():
            _require_same_manifest(path, identity)
        elif others:
            raise InputError(
                f"{path}: is not empty, and was not made by `dragoman cluster` ({sorted(others)[0]}); give a new folder"
            )
        else:
            with replace_file(path / MANIFEST) as file:
                file.write(dump_json({"format": FORMAT, **identity}, indent=1))
        yield OutputFolder(path, _read_finished(path))


def _require_names(path: Path, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in (MANIFEST, FINISHED, UNFINISHED, FAILED, LOCK):
            raise InputError(f"{path / name}: this name is taken by a record of the folder; rename the input file")
        if name in seen:
            raise InputError(
                f"{name}: two input files have this name; outputs are named after their inputs, rename one"
            )
        seen.add(name)


def _require_same_manifest(path: Path, identity: Mapping[str, Any]) -> None:
    remedy = "give a new folder for the outputs"
    manifest = read_json(path / MANIFEST, _Manifest, newest=FORMAT, remedy=remedy)
    for key in ("verb", "models", "options", "version"):
        was, now = getattr(manifest, key), msgspec.to_builtins(identity[key])
        if was != now:
            changed = [name for name in now if was.get(name) != now[name]] if isinstance(now, dict) else []
            what = {"models": "other models", "options": "other options", "version": f"version {was} of dragoman"}.get(
                key, f"`dragoman cluster {was}`"
            )
            where = f" ({', '.join(changed)})" if changed else ""
            raise InputError(f"{path}: holds outputs of {what}{where}; {remedy}")


def _read_finished(path: Path) -> dict[str, FinishedOutput]:
    """The complete outputs; the lines of others are removed from failed.jsonl."""
    finished = {record.name: record for record in _read_records(path / FINISHED, FinishedOutput)}
    for name in [name for name in finished if not (path / name).exists()]:
        del finished[name]
    failed = list(_read_records(path / FAILED, _Failed))
    kept = [entry for entry in failed if entry.file in finished]
    _rewrite(path / FINISHED, finished.values())
    if len(kept) != len(failed):
        _rewrite(path / FAILED, kept)
    return finished


Record = TypeVar("Record", bound=msgspec.Struct)


def _read_records(path: Path, kind: type[Record]) -> Iterator[Record]:
    """The records of a file up to its end, or to where a process was killed while it wrote."""
    try:
        with path.open("rb") as file:
            for line in file:
                try:
                    yield msgspec.json.decode(line, type=kind)
                except msgspec.DecodeError:
                    return
    except FileNotFoundError:
        return
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}") from None


def _rewrite(path: Path, records: Iterable[msgspec.Struct]) -> None:
    with replace_file(path, binary=True) as file:
        for record in records:
            file.write(msgspec.json.encode(record) + b"\n")


def _recorded(file: InputFile) -> _File:
    return _File(file.path, file.size, file.modified)
