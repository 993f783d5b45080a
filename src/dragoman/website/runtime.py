"""ONNX Runtime for browsers: the files of the npm package onnxruntime-web that an exported site has.

They are not part of the source tree. `python -m dragoman.website.runtime` fetches them once, by npm, and puts them
beside this file, where a build of the package takes them along.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import subprocess
import tarfile
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from dragoman.errors import DragomanError, InputError
from dragoman.progress import Console
from dragoman.text.folders import new_folder

VERSION = "1.30.0"
SHA512 = "q0y+JrrtukXSzsBWEMccVfqX25LRmosXHF+CaRJmg8pZClzcV7svNc4rKY3jL02Vb7QmRMDs1SigqR4CXAfKYQ=="
"""Of the package, as npm states its integrity."""
COMMAND = "python -m dragoman.website.runtime"
SCRIPTS = {"ort.wasm.min.js": "ort.wasm.min.mjs", "ort-wasm-simd-threaded.js": "ort-wasm-simd-threaded.mjs"}
"""The entry for plain WebAssembly, which needs no `unsafe-eval`, and the code around the WebAssembly module, with their
names in the package: not every host knows that .mjs is JavaScript, and browsers refuse scripts of other types."""
MODULE = "ort-wasm-simd-threaded.wasm"
PACKED = f"{MODULE}.gzipped"
"""14 MB become 4. Not .gz: some hosts would announce a compressed transfer, and the browser unpack it unasked."""
LICENCES = ("LICENSE", "ThirdPartyNotices.txt")
"""The package has none; these are ONNX Runtime's own, from its package for Python."""

_FOLDER = Path(__file__).with_name("onnxruntime-web")
_SECONDS = 600


def runtime_files() -> dict[str, bytes]:
    """Read the content of each file by its name.

    Raises:
        InputError: they have not been fetched, or are of another version.
    """
    version = _FOLDER / "VERSION"
    if not version.exists() or version.read_text(encoding="utf-8").strip() != VERSION:
        raise InputError(
            f"{_FOLDER}: the runtime for browsers (onnxruntime-web {VERSION}) is not there; fetch it with `{COMMAND}`, "
            "which needs npm"
        )
    return {name: (_FOLDER / name).read_bytes() for name in (*SCRIPTS, PACKED, *LICENCES)}


def fetch_runtime() -> Path:
    """Fetch the package, check its digest and keep what is needed of it; gives the folder.

    Raises:
        InputError: npm is missing or fails, the package is not the pinned one, or the folder cannot be written.
    """
    with TemporaryDirectory() as folder:
        package = _fetch_package(Path(folder))
        content = package.read_bytes()
        if base64.b64encode(hashlib.sha512(content).digest()).decode() != SHA512:
            raise InputError(
                f"onnxruntime-web {VERSION}: the package has another SHA-512 than the pinned one; try again"
            )
        with tarfile.open(package) as archive, new_folder(_FOLDER, replace=True) as new:
            for name, original in SCRIPTS.items():
                (new / name).write_bytes(_member(archive, original))
            (new / PACKED).write_bytes(gzip.compress(_member(archive, MODULE), mtime=0))
            for name in LICENCES:
                (new / name).write_bytes(_licence(name))
            (new / "VERSION").write_text(f"{VERSION}\n", encoding="utf-8")
    return _FOLDER


def _fetch_package(folder: Path) -> Path:
    command = ["npm", "pack", "--silent", "--pack-destination", str(folder), f"onnxruntime-web@{VERSION}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except FileNotFoundError:
        raise InputError("npm: not found; install Node.js, which includes it") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"npm: did not finish within {_SECONDS} seconds; check the network and try again") from None
    packages = list(folder.glob("*.tgz"))
    if done.returncode or not packages:
        lines = done.stderr.strip().splitlines() or ["no package was written"]
        raise InputError(f"npm: cannot fetch onnxruntime-web {VERSION}: {lines[0]}")
    return packages[0]


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    member = archive.extractfile(f"package/dist/{name}")
    assert member is not None, "the digest of the archive fits"
    return member.read()


def _licence(name: str) -> bytes:
    spec = find_spec("onnxruntime")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).with_name(name).read_bytes()


def main() -> int:
    """Run the command, and return its exit code."""
    console = Console()
    try:
        console.info(f"onnxruntime-web {VERSION}: {fetch_runtime()}")
    except DragomanError as error:
        console.warning(str(error))
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
