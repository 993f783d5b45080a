"""`dragoman doctor`: what is installed, what is missing, and how fast this machine is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import dragoman

if TYPE_CHECKING:
    from dragoman.requests.installation import DoctorRequest

SUMMARY = "show what is installed, what is missing, and how fast this machine is"
DESCRIPTION = (
    "Lists the versions of all packages, the extras with what they bring and what they lack, and what\n"
    "the processor has for bfloat16 and int8. Then it trains and translates for some seconds each, with\n"
    "a model of the size of the preset `standard`, random weights and random sentences. It needs no model\n"
    "and no network, and writes no file. Add its output to a bug report."
)
EXAMPLES = ("dragoman doctor", "dragoman doctor --json > doctor.json", "dragoman doctor --seconds 0")

REQUEST = "dragoman.requests.installation.DoctorRequest"


def run(request: DoctorRequest) -> None:
    """Look, measure and print."""
    from dragoman.workflows.installation import examine

    report = {"dragoman": dragoman.__version__, **examine(request)}
    print(json.dumps(report, indent=1) if request.json else "\n".join(_lines(report)))


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    """The same for people."""
    from dragoman.systems import size_text

    processor, speed = report["processor"], report["speed"]
    yield f"dragoman {report['dragoman']}, Python {report['python']}, {report['system']}"
    features = " ".join(processor["features"]) or "not known"
    yield f"processor: {processor['name']}, {processor['cores']} usable; features: {features}"
    bf16, amx = ("yes" if processor[name] else "no" for name in ("bf16", "amx"))
    yield f"bfloat16 instructions: {bf16}; AMX: {amx}; memory: {size_text(report['memory_bytes'])}"
    yield ""
    yield ", ".join(f"{name} {version}" for name, version in report["packages"].items() if version)
    yield ""
    width = max(len(extra["name"]) for extra in report["extras"])
    for extra in report["extras"]:
        remedy = f"pip install 'dragoman[{extra['name']}]' (lacks {', '.join(extra['missing'])}): "
        yield f"{extra['name']:<{width}}  {remedy if extra['missing'] else 'installed: '}{extra['brings']}"
    yield ""
    if speed is None:
        yield "speed: not measured" + ("" if report["packages"].get("torch") else "; it needs the extra train")
        return
    device = f"{speed['device']}, {speed['threads']} thread{'' if speed['threads'] == 1 else 's'}"
    yield f"speed (preset {speed['preset']}, {device}, sentences of {speed['words_a_sentence']} words):"
    yield (
        f"  training     {speed['updates_a_second']:.2f} updates a second, each of "
        f"{speed['tokens_an_update']:,} tokens, in {speed['precision']}"
    )
    yield f"  translation  {speed['lines_a_second']:.0f} lines a second, beam {speed['beam']}"
    yield f"  training.precision auto is {speed['precision']} here: {speed['precision_reason']}"
