"""What is installed and how fast it is: the versions of packages, and the extras of Dragoman with what they bring."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

from dragoman.systems import machine_memory, processor, processors

if TYPE_CHECKING:  # `dragoman --version` starts without msgspec
    from dragoman.requests.installation import DoctorRequest

BRINGS = {
    "evaluate": "BLEU, chrF and TER, reports, heat maps, without torch: evaluate, heatmap",
    "train": "training, and translation with run folders: train, demo, export, import",
    "ja": "words of Japanese for BLEU",
    "ko": "words of Korean for BLEU",
    "align": "statistical word aligners: align --aligner",
    "smt": "the phrase-based translator: smt",
    "maps": "words, phrases and sentences in the plane: map",
    "serve": "the HTTP server and its page: serve; paragraphs: translate --paragraphs",
    "files": "corpora of other kinds and encodings (.xlsx, .tmx, .xliff, .po, .json); documents: translate a.docx",
    "cluster": "many files on many machines, object storage: cluster",
    "completion": "commands completed by bash, zsh and fish: completion",
}
"""The extras for users, and what each of them brings."""


@dataclass(frozen=True)
class Extra:
    """An extra of the package."""

    name: str
    brings: str
    missing: tuple[str, ...]
    """Packages of it that are not installed."""


def package_version(name: str) -> str | None:
    """The version of an installed package, None without one; nothing is imported."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def packages() -> dict[str, str | None]:
    """Every package that Dragoman or an extra for users needs, with its version; None where it is not installed."""
    needed = dict.fromkeys(name for extra in ("", *BRINGS) for name in _needed(extra))
    return {name: package_version(name) for name in needed}


def extras() -> list[Extra]:
    """The extras for users."""
    installed = packages()
    return [
        Extra(name, brings, tuple(package for package in _needed(name) if installed[package] is None))
        for name, brings in BRINGS.items()
    ]


def examine(request: DoctorRequest) -> dict[str, Any]:
    """What is installed and what this machine has, as the JSON output of `dragoman doctor` has it.

    Its speed is not measured without torch, nor in no seconds.

    Raises:
        ConfigError: a GPU is requested but not available.
    """
    name, features = processor()
    report: dict[str, Any] = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": {
            "name": name,
            "cores": processors(),
            "features": list(features),
            "bf16": any("bf16" in feature for feature in features),
            "amx": any(feature.startswith("amx") for feature in features),
        },
        "memory_bytes": machine_memory(),
        "packages": packages(),
        "extras": [asdict(extra) for extra in extras()],
        "speed": None,
    }
    if request.seconds and report["packages"].get("torch"):
        from dragoman.model.devices import set_threads
        from dragoman.workflows.speed import measure_speed

        set_threads(request.general.threads)
        report["speed"] = asdict(measure_speed(request.seconds, request.general.device))
    return report


def _needed(extra: str) -> Iterator[str]:
    """The packages of an extra; for an empty name the packages that Dragoman always needs."""
    for requirement in metadata.requires("dragoman") or ():
        marker = re.search(r"""extra == ['"](\w+)['"]""", requirement)
        name = re.match(r"[\w.-]+", requirement)
        if name and (marker[1] if marker else "") == extra:
            yield name[0]
