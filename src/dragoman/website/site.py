"""Export of runs as a web site: static files that translate in the visitor's browser.

DIR/index.html, ...        the page (page/static), under a content security policy of its own
DIR/translator.js          what translates for the page: it starts a worker
DIR/translator/            the worker: segmentation, search and alignment in JavaScript
DIR/service_worker.js      keeps the page for use without a network
DIR/manifest.webmanifest   lets browsers install the page
DIR/runtime/               ONNX Runtime for browsers, with its licences
DIR/model/                 an exported folder (runs/exported.py)
DIR/site.json              languages, search settings; size and SHA-256 of every other file
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from dragoman.errors import ConfigError, RunError
from dragoman.export.writing import ExportOptions, prepare, write_model
from dragoman.inputs import unnoted
from dragoman.page.files import CONTENT_SECURITY_POLICY, page_files
from dragoman.runs.opening import Run
from dragoman.stored_files import JsonFile, read_json, sha256_of
from dragoman.text.folders import new_folder, require_free
from dragoman.text.segmentation.characters import CharacterSegmentation, LetterSegmentation, WhitespaceSegmentation
from dragoman.text.segmentation.protected import innermost
from dragoman.text.segmentation.subwords import SubwordSegmentation
from dragoman.website.runtime import runtime_files

FORMAT = 1
SITE, SERVICE_WORKER, MANIFEST = "site.json", "service_worker.js", "manifest.webmanifest"
UNUSED = ("http_translator.js",)
"""Files of the page that need a server."""
POLICY = {
    **{name: value for name, value in CONTENT_SECURITY_POLICY.items() if name != "frame-ancestors"},  # not in a page
    "script-src": "'self' 'wasm-unsafe-eval'",
    "worker-src": "'self'",
    "manifest-src": "'self'",
    "trusted-types": "dragoman",  # translator.js lets the two workers start, and nothing else
}
"""The content security policy of the page. Hosts may send it as a header too, and should, for the worker."""
_HEAD = '<meta charset="utf-8">'
_SEGMENTATIONS = (WhitespaceSegmentation, CharacterSegmentation, SubwordSegmentation)


class Site(NamedTuple):
    """The result of an export.

    bytes:      the size of the folder
    download:   what a visitor's browser fetches, in bytes
    difference: as in `export.writing.Exported`
    """

    bytes: int
    download: int
    difference: float


def export_site(
    runs: Sequence[Run],
    out: Path,
    options: ExportOptions,
    *,
    languages: Sequence[str] | None = None,
    overwrite: bool = False,
) -> Site:
    """Export runs to the folder `out`, several as one ensemble.

    Args:
        languages: codes of source and target; None for the languages of the first run.

    Raises:
        ConfigError: the languages are unknown; a run segments its text in a way that browsers do not have; as for
            `export_runs`.
        InputError: the runtime has not been fetched; as for `export_runs`.
        RunError: as for `export_runs`.
    """
    assert options.shortlist is None
    known = _languages(runs[0], languages)
    _require_segmentations(runs[0])
    refuse = partial(require_free, out, "exported site", _foreign_files, overwrite=overwrite)
    refuse()
    runtime = runtime_files()
    prepared = prepare(runs, options)
    settings = {
        "languages": dict(zip(("source", "target"), known, strict=True)),
        "search": runs[0].config.search.values(),
        "facts": {
            "vocabularySize": runs[0].engine.vocabulary_size,
            "sourceEos": runs[0].engine.source_eos,
            "attentionShift": max(run.engine.attention_shift for run in runs),
        },
    }
    with new_folder(out, replace=overwrite, refuse=refuse) as new:
        (new / "model").mkdir()
        write_model(new / "model", runs, prepared, int8=options.int8)
        (new / "runtime").mkdir()
        for name, content in runtime.items():
            (new / "runtime" / name).write_bytes(content)
        _write_page(new, known)
        _write_site(new, settings)
    sizes = {file.relative_to(out).as_posix(): file.stat().st_size for file in out.rglob("*") if file.is_file()}
    # By any browser.
    unfetched = ("runtime/LICENSE", "runtime/ThirdParty", "model/manifest", "model/config")
    fetched = sum(size for name, size in sizes.items() if not name.startswith(unfetched))
    return Site(sum(sizes.values()), fetched, prepared.difference)


def _languages(run: Run, given: Sequence[str] | None) -> tuple[str, str]:
    source, target = given or run.config.text.languages
    if source is None or target is None:
        raise ConfigError(f"{run.folder.path}: does not name its languages; give them, such as --languages de en")
    return source, target


def _require_segmentations(run: Run) -> None:
    for name, side in (("source", run.source), ("target", run.target)):
        segmentation = innermost(side.segmentation)
        if not isinstance(segmentation, _SEGMENTATIONS):
            kind = "letters" if isinstance(segmentation, LetterSegmentation) else "words"
            raise ConfigError(
                f"{run.folder.path}: its {name} is segmented into {kind}, by rules that a site does not have; export "
                f"without --web, or train with text.{name}.segmentation=bpe, unigram, characters or whitespace"
            )


def _write_page(folder: Path, languages: tuple[str, str]) -> None:
    content = {name: data for name, data in page_files().items() if name not in UNUSED}
    content |= _files_below(files("dragoman.website") / "static")
    content |= {name: _with_policy(data) for name, data in content.items() if name.endswith(".html")}
    name, icon = f"Dragoman {'-'.join(languages)}", {"src": "icon.svg", "sizes": "any", "type": "image/svg+xml"}
    names = {"name": name, "short_name": name, "start_url": ".", "scope": ".", "display": "standalone", "icons": [icon]}
    content[MANIFEST] = json.dumps(names, indent=1).encode()
    for name, data in content.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)


def _files_below(folder: Traversable, prefix: str = "") -> dict[str, bytes]:
    content: dict[str, bytes] = {}
    for entry in folder.iterdir():
        if entry.is_dir():
            content |= _files_below(entry, f"{prefix}{entry.name}/")
        else:
            content[prefix + entry.name] = entry.read_bytes()
    return content


def _with_policy(page: bytes) -> bytes:
    policy = "; ".join(f"{name} {value}" for name, value in POLICY.items())
    added = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n  <link rel="manifest" href="{MANIFEST}">'
    text = page.decode()
    assert text.count(_HEAD) == 1
    return text.replace(_HEAD, f"{_HEAD}\n  {added}").encode()


def _write_site(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write site.json, and the version into the service worker: browsers look for another one there."""
    names = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    facts = {
        name: {"bytes": (folder / name).stat().st_size, "sha256": sha256_of(folder / name)}
        for name in names
        if name != SERVICE_WORKER
    }
    worker = (folder / SERVICE_WORKER).read_text(encoding="utf-8")
    version = hashlib.sha256(json.dumps([facts, settings, worker]).encode()).hexdigest()[:16]
    declaration = 'const VERSION = "";'
    assert worker.count(declaration) == 1
    (folder / SERVICE_WORKER).write_text(worker.replace(declaration, f'const VERSION = "{version}";'), encoding="utf-8")
    site = {"format": FORMAT, "version": version, "model": settings, "files": facts}
    (folder / SITE).write_text(json.dumps(site, indent=1), encoding="utf-8")


class _FileFacts(Struct, forbid_unknown_fields=True, frozen=True):
    bytes: int
    sha256: str


class _SiteFile(JsonFile, frozen=True, kw_only=True):
    version: str
    model: dict[str, Any]
    files: dict[str, _FileFacts]


@unnoted()
def _foreign_files(out: Path) -> list[str] | None:
    """The files of an exported site that it does not list; None for another folder."""
    try:
        site = read_json(out / SITE, _SiteFile, newest=FORMAT, remedy="export to another folder")
    except (FileNotFoundError, RunError):
        return None
    known = {SITE, SERVICE_WORKER, *site.files}
    names = (entry.relative_to(out).as_posix() for entry in sorted(out.rglob("*")) if not entry.is_dir())
    return [name for name in names if name not in known]
