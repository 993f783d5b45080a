"""Comparisons: what a claim expects of measured values, such as `perplexity(base) > perplexity(reverse)`.

    comparison := sum (">" | "<") sum
    sum        := ["-"] term (("+" | "-") term)*
    term       := NUMBER | [NUMBER "*"] METRIC "(" SYSTEM ("|" SYSTEM)* ["," PART] ")"

A value belongs to one system on the whole test set or on a part of it: `bleu(search, long) - bleu(search, short) > -1`.
With several systems it is the value of the best one: `bleu(ensemble) > bleu(feed|local-p)`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from dragoman.errors import ConfigError

WHOLE = "all"
"""The part of the test set with all sentences."""

_TERM = re.compile(
    r"\s*(?P<sign>[-+]\s*)?(?:(?:(?P<factor>\d+(?:\.\d+)?)\s*\*\s*)?(?P<metric>[a-z_]+)"
    r"\(\s*(?P<systems>[\w.+-]+(?:\|[\w.+-]+)*)\s*(?:,\s*(?P<part>[\w.+-]+)\s*)?\)|(?P<number>\d+(?:\.\d+)?))\s*"
)


@dataclass(frozen=True)
class ScoreOf:
    """A metric of a system, or of the best of several, on a part of the test set."""

    metric: str
    systems: tuple[str, ...]
    part: str = WHOLE

    @property
    def system(self) -> str:
        """The system of a value that names one."""
        [system] = self.systems
        return system

    def __str__(self) -> str:
        return f"{self.metric}({'|'.join(self.systems)}{'' if self.part == WHOLE else f', {self.part}'})"


@dataclass(frozen=True)
class Comparison:
    """A weighted sum of values and a constant; it is expected to be greater than 0."""

    text: str
    terms: tuple[tuple[float, ScoreOf], ...]
    constant: float

    def with_systems(self, chosen: Mapping[ScoreOf, str]) -> Comparison:
        """The comparison with one system in place of several."""
        text, terms = self.text, []
        for weight, value in self.terms:
            if value in chosen:
                text = text.replace("|".join(value.systems), chosen[value])
                value = replace(value, systems=(chosen[value],))
            terms.append((weight, value))
        return Comparison(text, tuple(terms), self.constant)


def parse_comparison(text: str) -> Comparison:
    """Parse a comparison.

    Raises:
        ConfigError: the text is not a comparison.
    """
    sides = re.split("[<>]", text)
    if len(sides) != 2:
        raise ConfigError(f"comparison {text!r}: write one '>' or '<' between two sums")
    terms: list[tuple[float, ScoreOf]] = []
    constant = 0.0
    for side, factor in zip(sides if ">" in text else reversed(sides), (1.0, -1.0), strict=True):
        if not side.strip():
            raise ConfigError(f"comparison {text!r}: a side is empty")
        position = 0
        while position < len(side):
            term = _TERM.match(side, position)
            if term is None:
                raise ConfigError(
                    f"comparison {text!r}: cannot read {side[position:]!r}; write such as bleu(base) > bleu(x)"
                )
            if position and not term["sign"]:
                raise ConfigError(f"comparison {text!r}: write + or - between two terms")
            weight = factor * (-1.0 if (term["sign"] or "").startswith("-") else 1.0)
            if term["number"]:
                constant += weight * float(term["number"])
            else:
                value = ScoreOf(term["metric"], tuple(term["systems"].split("|")), term["part"] or WHOLE)
                terms.append((weight * float(term["factor"] or 1), value))
            position = term.end()
    if not terms:
        raise ConfigError(f"comparison {text!r}: names no value, such as bleu(base)")
    return Comparison(text, tuple(terms), constant)
