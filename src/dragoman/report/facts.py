"""Facts about a run in words: preset, data, size, time and machine, as a report shows them."""

from __future__ import annotations

import platform
from collections.abc import Mapping

from babel import Locale, UnknownLocaleError

from dragoman.systems import processor, processors

Facts = Mapping[str, str]
"""Name -> value, in the order shown."""


def training_facts(
    *, preset: str, pairs: int, dropped: Mapping[str, int], parameters: int, updates: int, seconds: float, machine: str
) -> Facts:
    """Return the facts of a training run: `pairs` were kept, `dropped` counts the others by reason."""
    reasons = {reason: count for reason, count in dropped.items() if count}
    reasons_text = "; ".join(f"{reason} {count:,}" for reason, count in reasons.items()) or "none"
    facts = {
        "Preset": preset,
        "Training pairs": f"{pairs:,}",
        "Pairs dropped": reasons_text,
        "Parameters": f"{parameters:,}",
        "Updates": f"{updates:,}",
        "Training time": duration(seconds),
        "Machine": machine,
    }
    return {name: value for name, value in facts.items() if value}


def machine_name() -> str:
    """Return the name of the processor, the usable cores, and the operating system."""
    cores = processors()
    return f"{processor().name}, {cores} {'core' if cores == 1 else 'cores'}, {platform.system()}"


def language_name(code: str) -> str:
    """Return the English name of a language, or the code itself if it is unknown."""
    try:
        return Locale.parse(code, sep="-" if "-" in code else "_").get_display_name("en") or code
    except (UnknownLocaleError, ValueError):
        return code


def duration(seconds: float) -> str:
    """Format a duration with its two largest units."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
