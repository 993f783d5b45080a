"""The folder of outputs, in which what exists is done: each file is written beside its place and renamed.

DIR/NAME                        the output of the input file NAME
DIR/failed.jsonl                a line for each line without output: file, line, reason
DIR/cluster.json                what the outputs are made with: verb, options, models, version
DIR/cluster-finished/NAME.json  what the output NAME was made of, and which lines failed
DIR/cluster-unfinished/NAME/    a file for each computed shard of an output that is not there yet
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from dragoman.cluster.inputs import InputFile, Inputs
from dragoman.cluster.units import text_digest
from dragoman.cluster.verbs import ClusterVerb
from dragoman.errors import InputError
from dragoman.stored_files import JsonFile, dump_json, read_json
from dragoman.text.lines import replace_file, replace_output
from dragoman.text.locks import LOCK, lock_for_writing
from dragoman.text.temporary import FILE, make_folder

FORMAT = 2
MANIFEST, FINISHED, UNFINISHED, FAILED = "cluster.json", "cluster-finished", "cluster-unfinished", "failed.jsonl"


class FailedLine(msgspec.Struct, frozen=True):
    """A line that has no output."""

    line: int
    """From 1, in its file."""
    reason: str


class ComputedShard(msgspec.Struct, frozen=True):
    """The output of a shard."""

    lines: list[str]
    failed: list[FailedLine]


class FinishedOutput(JsonFile, frozen=True, kw_only=True):
    """What is known of an output that is complete."""

    inputs: list[InputFile]
    text: str
    """A digest of the text of the inputs, `text_digest`."""
    bytes: int
    """Size of the output file."""
    failed: list[FailedLine]


class _Provenance(JsonFile, frozen=True, kw_only=True):
    verb: str
    models: dict[str, list[str]]
    options: dict[str, Any]
    version: str


class OutputFolder:
    """An output folder that this process may write to; `open_output_folder` opens it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.finished: dict[str, FinishedOutput] = {}
        """Complete outputs by name."""
        for record in (path / FINISHED).glob("*.json"):
            if (path / record.stem).exists():
                remedy = f"remove it and {path / record.stem}, and the same command makes that again"
                self.finished[record.stem] = read_json(
                    record, FinishedOutput, newest=FORMAT, oldest=FORMAT, remedy=remedy
                )
                shutil.rmtree(path / UNFINISHED / record.stem, ignore_errors=True)
        failures = "".join(_listed(name, output.failed) for name, output in self.finished.items())
        if failures:
            with replace_file(path / FAILED) as file:
                file.write(failures)
        else:
            (path / FAILED).unlink(missing_ok=True)

    def is_complete(self, inputs: Inputs, verb: ClusterVerb) -> bool:
        """Whether the output of these inputs is there.

        Raises:
            InputError: an input or the output has changed since it was made.
        """
        output = self.finished.get(inputs.name)
        if output is None:
            return False
        path = self.path / inputs.name
        if path.stat().st_size != output.bytes:
            raise InputError(
                f"{path}: has {path.stat().st_size:,} bytes where {output.bytes:,} were written; remove it, and the "
                "same command makes it again"
            )
        now, then = ([(file.size, file.modified) for file in files] for files in (inputs.files, output.inputs))
        if now != then:  # a copy of the same text has another time
            same = [size for size, _ in now] == [size for size, _ in then]
            if not same or text_digest(shard.digest for shard in verb.read_shards(inputs)) != output.text:
                raise InputError(
                    f"{inputs.files[0].path}: has changed since {path} was made of it; remove that file, and the same "
                    "command makes it again"
                )
        return True

    def has_shard(self, name: str, number: int, digest: str) -> bool:
        """Whether a shard of an output is computed."""
        return self._shard(name, number, digest).exists()

    def keep_shard(self, name: str, number: int, digest: str, computed: ComputedShard) -> None:
        """Write a computed shard.

        Raises:
            InputError: it cannot be written.
        """
        with _resumable():
            path = self._shard(name, number, digest)
            make_folder(path.parent)
            with replace_file(path, binary=True) as file:
                file.write(msgspec.json.encode(computed))

    def finish(self, inputs: Inputs, shards: Sequence[str]) -> None:
        """Write an output from its computed shards, whose digests are given.

        Raises:
            InputError: it cannot be written.
        """
        name, failed = inputs.name, list[FailedLine]()
        with _resumable():
            with replace_output(self.path / name) as file:
                for number, digest in enumerate(shards):
                    computed = msgspec.json.decode(self._shard(name, number, digest).read_bytes(), type=ComputedShard)
                    file.writelines(f"{line}\n" for line in computed.lines)
                    failed += computed.failed
            output = FinishedOutput(
                format=FORMAT,
                inputs=list(inputs.files),
                text=text_digest(shards),
                bytes=(self.path / name).stat().st_size,
                failed=failed,
            )
            with replace_file(self.path / FINISHED / f"{name}.json") as file:
                file.write(dump_json(msgspec.to_builtins(output)))
            if failed:
                with (self.path / FAILED).open("a", encoding="utf-8") as listed:
                    listed.write(_listed(name, failed))
        self.finished[name] = output
        shutil.rmtree(self.path / UNFINISHED / name, ignore_errors=True)

    def _shard(self, name: str, number: int, digest: str) -> Path:
        return self.path / UNFINISHED / name / f"{number}-{digest}"


def _listed(name: str, failed: Sequence[FailedLine]) -> str:
    entries = ({"file": name, "line": entry.line, "reason": entry.reason} for entry in failed)
    return "".join(f"{msgspec.json.encode(entry).decode()}\n" for entry in entries)


@contextmanager
def _resumable() -> Iterator[None]:
    """Say in the message of a failed write that the same command goes on."""
    remedy = "make room and give the same command again"
    try:
        yield
    except InputError as error:
        raise InputError(f"{error}; {remedy}") from None
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be written: {error.strerror}; {remedy}") from None


@contextmanager
def open_output_folder(path: Path, identity: Mapping[str, Any], names: Sequence[str]) -> Iterator[OutputFolder]:
    """Create an output folder, or open one that the same command began; locked until the end of the block.

    Args:
        identity: what outputs depend on besides their inputs, `WorkerPlan.identity`.
        names: the names of the outputs.

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
    with lock_for_writing(path):
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
        with _resumable():
            make_folder(path / FINISHED)
            folder = OutputFolder(path)
        yield folder
        with suppress(OSError):  # it may hold shards of inputs that are not given any more
            (path / UNFINISHED).rmdir()


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
    manifest = read_json(path / MANIFEST, _Provenance, newest=FORMAT, oldest=FORMAT, remedy=remedy)
    what = {"models": "other models", "options": "other options", "version": f"version {manifest.version} of dragoman"}
    for key in ("verb", "models", "options", "version"):
        was, now = getattr(manifest, key), msgspec.json.decode(msgspec.json.encode(identity[key]))
        if was != now:
            changed = [name for name in now if was.get(name) != now[name]] if isinstance(now, dict) else []
            where = f" ({', '.join(changed)})" if changed else ""
            raise InputError(f"{path}: holds outputs of {what.get(key, f'`dragoman cluster {was}`')}{where}; {remedy}")
