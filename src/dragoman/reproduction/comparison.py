"""Comparisons: what a claim expects of measured values, such as `perplexity(base) > perplexity(reverse)`.

    comparison := sum (">" | "<") sum
    sum        := ["-"] term (("+" | "-") term)*
    term       := NUMBER | [NUMBER "*"] METRIC "(" SYSTEM ("|" SYSTEM)* ["," PART] ")"

A value is that of one system on the whole test set or on a part of it: `bleu(search, long) - bleu(search, short) > -1`.
With several systems it is the value of the best of them: `bleu(ensemble) > bleu(feed|local-p)`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from dragoman.errors import ConfigError

WHOLE = "all"
"""The part of the test set with all sentences."""

_TOKEN = re.compile(
    r"\s*(?:(?P<metric>[a-z_]+)\(\s*(?P<systems>[\w.+-]+(?:\|[\w.+-]+)*)\s*(?:,\s*(?P<part>[\w.+-]+)\s*)?\)"
    r"|(?P<number>\d+(?:\.\d+)?)|(?P<sign>[-+*<>]))\s*"
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
    """A weighted sum of values and a constant that is expected to be greater than 0."""

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
    tokens = _tokens(text)
    signs = [place for place, token in enumerate(tokens) if token["sign"] in ("<", ">")]
    if len(signs) != 1:
        raise ConfigError(f"comparison {text!r}: write one '>' or '<' between two sums")
    left, right = tokens[: signs[0]], tokens[signs[0] + 1 :]
    greater, smaller = (left, right) if tokens[signs[0]]["sign"] == ">" else (right, left)
    terms: list[tuple[float, ScoreOf]] = []
    constant = 0.0
    for side, factor in ((greater, 1.0), (smaller, -1.0)):
        found, number = _sum(side, text)
        terms += [(factor * weight, value) for weight, value in found]
        constant += factor * number
    if not terms:
        raise ConfigError(f"comparison {text!r}: names no value, such as bleu(base)")
    return Comparison(text, tuple(terms), constant)


def _tokens(text: str) -> list[re.Match[str]]:
    tokens, place = [], 0
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            raise ConfigError(f"comparison {text!r}: cannot read {text[place:]!r}; write such as bleu(base) > bleu(x)")
        tokens.append(token)
        place = token.end()
    return tokens


def _sum(tokens: list[re.Match[str]], text: str) -> tuple[list[tuple[float, ScoreOf]], float]:
    """The weighted values of one side, and the sum of its numbers."""
    terms: list[tuple[float, ScoreOf]] = []
    constant, place = 0.0, 0
    while place < len(tokens):
        sign = 1.0
        if tokens[place]["sign"] in ("+", "-"):
            sign = -1.0 if tokens[place]["sign"] == "-" else 1.0
            place += 1
        elif place > 0:
            raise ConfigError(f"comparison {text!r}: write + or - between two terms")
        factor, following = 1.0, place + 1
        if place + 2 < len(tokens) and tokens[place]["number"] and tokens[following]["sign"] == "*":
            factor, place = float(tokens[place]["number"]), place + 2
        if place >= len(tokens) or tokens[place]["sign"]:
            raise ConfigError(f"comparison {text!r}: a term is missing")
        term = tokens[place]
        if term["number"]:
            constant += sign * float(term["number"])
        else:
            terms.append(
                (sign * factor, ScoreOf(term["metric"], tuple(term["systems"].split("|")), term["part"] or WHOLE))
            )
        place += 1
    if not tokens:
        raise ConfigError(f"comparison {text!r}: a side is empty")
    return terms, constant
