"""The exported folder: its files, and their verification against the manifest.

    DIR/encoder.onnx, step.onnx   the model
    DIR/config.yaml               the complete configuration of the run
    DIR/text/                     segmentations and vocabularies of both sides
    DIR/shortlist.npz             optional: likely target words per source word, the rest of the output layer
    DIR/confidence.json           optional: how far its translations can be trusted
    DIR/manifest.json             format version, precision, and size and SHA-256 of every other file

No file is used before all have been checked against the manifest.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from dragoman.config.files import load_config
from dragoman.config.schema import Config
from dragoman.errors import ConfigError, RunError, quoted
from dragoman.inputs import unnoted
from dragoman.stored_files import JsonFile, dump_json, read_json, read_regular, require_digest, sha256_of
from dragoman.text.side import TextSide
from dragoman.translation import confidence

FORMAT = 2
"""Version of the folder; others are refused. Since 2 the step graph returns whole distributions."""
_REMEDY = "copy the exported folder again, or export the run again"
MANIFEST, CONFIG, ENCODER, STEP, TEXT = "manifest.json", "config.yaml", "encoder.onnx", "step.onnx", "text"
SHORTLIST = "shortlist.npz"


@dataclass(frozen=True)
class ExportFolder:
    """An exported folder that has been checked."""

    path: Path
    int8: bool
    parameters: int
    """Trained parameters; a matrix that is shared counts once."""
    shortlist: bytes | None

    @property
    def text(self) -> Path:
        """The folder of segmentations and vocabularies."""
        return self.path / TEXT

    @property
    def encoder(self) -> Path:
        """The graph of the encoder."""
        return self.path / ENCODER

    @property
    def step(self) -> Path:
        """The graph of one step of the decoder."""
        return self.path / STEP

    @classmethod
    def open(cls, path: str | Path) -> ExportFolder:
        """Read and check the folder.

        Raises:
            RunError: a file is missing, truncated, altered or unknown to the manifest, or the format is newer.
        """
        folder = Path(path)
        manifest = _read_manifest(folder)
        present = {f"{TEXT}/{entry.name}" for entry in (folder / TEXT).glob("*")}
        present |= {name for name in (SHORTLIST, confidence.FILE) if (folder / name).exists()}
        for name in sorted({CONFIG, ENCODER, STEP} | present):
            if name not in manifest.files:
                raise RunError(f"{folder / name}: {MANIFEST} does not list it; {_REMEDY}")
        for name, facts in manifest.files.items():
            require_digest(folder / name, facts.sha256, MANIFEST, _REMEDY)
        shortlist = read_regular(folder / SHORTLIST) if SHORTLIST in present else None
        return cls(folder, manifest.int8, manifest.parameters, shortlist)

    def load_config(self) -> Config:
        """The configuration of the run that was exported.

        Raises:
            RunError: it has a key or value that this version does not know.
        """
        try:
            return load_config(self.path / CONFIG)
        except ConfigError as error:
            raise RunError(str(error)) from None

    def source_side(self) -> TextSide:
        """Segmentation and vocabulary of the source."""
        return TextSide.load(self.text, "source")

    def target_side(self) -> TextSide:
        """Segmentation and vocabulary of the target."""
        return TextSide.load(self.text, "target")


def is_export(path: str | Path) -> bool:
    """Whether a folder is an exported folder, complete or not."""
    return any(os.path.lexists(os.path.join(path, name)) for name in (MANIFEST, ENCODER, STEP))


@unnoted()
def foreign_files(folder: Path) -> list[str] | None:
    """The files of an exported folder that its manifest does not list; None for a folder without a manifest."""
    try:
        known = {MANIFEST, *_read_manifest(folder).files}
    except RunError:
        return None
    if not {CONFIG, ENCODER, STEP} <= known:
        return None
    folders = {parent.as_posix() for name in known for parent in Path(name).parents}
    names = (entry.relative_to(folder).as_posix() for entry in sorted(folder.rglob("*")))
    return [name for name in names if name not in known and name not in folders]


def write_manifest(folder: Path, *, int8: bool, parameters: int) -> None:
    """Write the manifest of a folder's files; written last, it marks the folder as complete."""
    files = {}
    for file in sorted(entry for entry in folder.rglob("*") if entry.is_file()):
        files[file.relative_to(folder).as_posix()] = {"bytes": file.stat().st_size, "sha256": sha256_of(file)}
    manifest = {"format": FORMAT, "int8": int8, "parameters": parameters, "files": files}
    (folder / MANIFEST).write_text(dump_json(manifest, indent=1), encoding="utf-8")


class _Facts(Struct, forbid_unknown_fields=True, frozen=True):
    bytes: int
    sha256: str


class _Manifest(JsonFile, frozen=True, kw_only=True):
    int8: bool
    parameters: Annotated[int, Meta(ge=0)]
    files: dict[str, _Facts]


def _read_manifest(folder: Path) -> _Manifest:
    path = folder / MANIFEST
    try:
        manifest = read_json(path, _Manifest, newest=FORMAT, oldest=FORMAT, remedy=_REMEDY)
    except FileNotFoundError:
        raise RunError(f"{folder}: an exported folder, but its {MANIFEST} is missing; {_REMEDY}") from None
    for name in manifest.files:
        if not _PLAIN.fullmatch(name):
            raise RunError(
                f"{path}: is damaged: files: {quoted(name)} is not the name of a file in the folder; {_REMEDY}"
            )
    return manifest


_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
"""Names that stay inside the folder; no part begins with a dot."""
