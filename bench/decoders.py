"""Who translates a file in bench/decoding.py: a command for each toolkit, all with the same search.

Segmented lines in, segmented lines out, plain log-probabilities, at most `LONGEST` segments. Models are found where
bench/decoding.py left them in its scratch folder.
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
"""Segments of an output."""
SENTENCES = 64
"""Of a batch of the peers; their rates grow little from 16 on, and memory does."""


@dataclass(frozen=True)
class Decoder:
    """One way to translate."""

    command: Callable[[Path, Path, int, bool], list[str]]
    """(source, output, beam, one sentence at a time?) -> command."""
    environment: Mapping[str, str] = field(default_factory=dict)
    streams: bool = False
    """It reads standard input and writes standard output, and is not told of files."""


def checkpoint(peer: str, model: str, scratch: Path) -> Path | None:
    """What a peer saved last, if it has saved anything."""
    if peer == "joeynmt":
        return next(iter((scratch / f"joeynmt.{model}").glob("latest.ckpt")), None)
    saved = (scratch / f"opennmt.{model}").glob("m_step_*.pt")
    return max(saved, key=lambda path: int(re.sub(r"\D", "", path.stem)), default=None)


def peer_decoder(peer: str, python: str, model: str, scratch: Path) -> Decoder:
    """A peer with its own weights."""
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

    # Its own checkpoints hold its options, which torch refuses to read unless told otherwise.
    return Decoder(command, {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"})


def dragoman_decoder(folder: Path, threads: int) -> Decoder:
    """A run folder or an exported folder."""

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
            *(("--batch", "1") if alone else ()),
        ]

    # An installed package has its byte code beside it; a checkout must be allowed to write it.
    return Decoder(command, {"PYTHONPATH": PYTHONPATH_OF_DRAGOMAN, "PYTHONDONTWRITEBYTECODE": ""})
