"""The commands with which bench/decoding.py translates a file: one for each toolkit, all with the same search.

Input and output are segmented lines; search maximises log-probability without length normalisation, up to `LONGEST`
segments. Models are read from the scratch folder of bench/decoding.py.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from peers import PYTHONPATH_OF_DRAGOMAN

LONGEST = 60
"""Maximum number of segments of a translation, EOS excluded."""
SENTENCES = 64
"""Batch size of the peers; beyond 16 their throughput grows little, but their memory does."""


@dataclass(frozen=True)
class Decoder:
    """A translation command of one toolkit."""

    command: Callable[[Path, Path, int, bool], list[str]]
    """Maps (source file, output file, beam, one sentence at a time?) to a command."""
    environment: Mapping[str, str] = field(default_factory=dict)
    streams: bool = False
    """Whether it reads standard input and writes standard output instead of files."""


def checkpoint(peer: str, model: str, scratch: Path) -> Path | None:
    """The last checkpoint of a peer, or None."""
    if peer == "joeynmt":
        return next(iter((scratch / f"joeynmt.{model}").glob("latest.ckpt")), None)
    saved = (scratch / f"opennmt.{model}").glob("m_step_*.pt")
    return max(saved, key=lambda path: int(re.sub(r"\D", "", path.stem)), default=None)


def peer_decoder(peer: str, python: str, model: str, scratch: Path) -> Decoder:
    """The translation command of a peer."""
    return {"joeynmt": _joeynmt, "opennmt": _opennmt}[peer](python, model, scratch)


def _joeynmt(python: str, model: str, scratch: Path) -> Decoder:
    def command(source: Path, output: Path, beam: int, alone: bool) -> list[str]:
        config = yaml.safe_load((scratch / f"joeynmt.{model}.yaml").read_text(encoding="utf-8"))
        config["testing"] = {
            "load_model": str(checkpoint("joeynmt", model, scratch)),
            "beam_size": beam,
            "beam_alpha": -1,
            "batch_size": 1 if alone else SENTENCES,
            "batch_type": "sentence",
            "max_output_length": LONGEST,
        }
        path = scratch / f"joeynmt.{model}.decode.yaml"
        path.write_text(yaml.safe_dump(config), encoding="utf-8")
        return [python, "-m", "joeynmt", "translate", str(path)]

    return Decoder(command, streams=True)


def _opennmt(python: str, model: str, scratch: Path) -> Decoder:
    def command(source: Path, output: Path, beam: int, alone: bool) -> list[str]:
        return [
            *(str(Path(python).parent / "onmt_translate"), "-model", str(checkpoint("opennmt", model, scratch))),
            *("-src", str(source), "-output", str(output), "-beam_size", str(beam)),
            *("-batch_size", str(1 if alone else SENTENCES), "-batch_type", "sents"),
            *("-length_penalty", "none", "-max_length", str(LONGEST), "-max_length_ratio", "0"),
        ]

    # The checkpoints contain pickled options, which torch refuses to load by default.
    return Decoder(command, {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"})


def dragoman_decoder(folder: Path, threads: int) -> Decoder:
    """The translation command of Dragoman for a run folder or an exported folder."""

    def command(source: Path, output: Path, beam: int, alone: bool) -> list[str]:
        return [
            *(sys.executable, "-m", "dragoman", "translate", str(folder), "-i", str(source), "-o", str(output)),
            *(
                "--beam",
                str(beam),
                "--normalisation",
                "none",
                "--max-length-factor",
                "1e-6",
                "--max-length-extra",
                str(LONGEST),
            ),
            *("--threads", str(threads), "--device", "cpu"),
            *(("--chunk-size", "1") if alone else ()),
        ]

    # Allow the checkout to cache byte code, as an installed package does.
    return Decoder(command, {"PYTHONPATH": PYTHONPATH_OF_DRAGOMAN, "PYTHONDONTWRITEBYTECODE": ""})
