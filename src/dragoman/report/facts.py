"""The facts of a run in words: what a reader of a report must know before any score means something."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path

from babel import Locale, UnknownLocaleError

Facts = Mapping[str, str]
"""Name to value, in the order in which they are shown."""


def training_facts(
    *, preset: str, pairs: int, dropped: Mapping[str, int], parameters: int, updates: int, seconds: float, machine: str
) -> Facts:
    """What a model was made of: `pairs` are those kept, `dropped` counts the others by reason."""
    reasons = {reason: count for reason, count in dropped.items() if count}
    left_out = "; ".join(f"{reason} {count:,}" for reason, count in reasons.items()) or "none"
    facts = {
        "Preset": preset,
        "Training pairs": f"{pairs:,}",
        "Pairs left out": left_out,
        "Parameters": f"{parameters:,}",
        "Updates": f"{updates:,}",
        "Training time": duration(seconds),
        "Machine": machine,
    }
    return {name: value for name, value in facts.items() if value}


def machine_name() -> str:
    """The processor as its maker calls it, cores that may be used, and the system."""
    processor = platform.processor() or platform.machine()
    described = Path("/proc/cpuinfo")
    if described.exists():
        names = (line.partition(":")[2].strip() for line in described.read_text().splitlines() if "model name" in line)
        processor = next(names, processor)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return f"{processor}, {cores} {'core' if cores == 1 else 'cores'}, {platform.system()}"


def language_name(code: str) -> str:
    """The English name of a language, or the code itself if nobody knows it."""
    try:
        return Locale.parse(code, sep="-" if "-" in code else "_").get_display_name("en") or code
    except (UnknownLocaleError, ValueError):
        return code


def duration(seconds: float) -> str:
    """A length of time as people say it, to two units."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
