"""Warns of text in other languages than a run translates, by the names of its files or else by the text itself.

The text is compared with the two sides of the run. It needs no list of languages: a line costs few nats under the
vocabulary of its own language, whose ids are ranks by frequency, and many under another one. It can find text that fits
the other side better, and text that the vocabulary does not know. Another language with the same letters is found where
the run knows the words of its training sources (`text.spelling`).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from dragoman.config.schema import Config
from dragoman.corpora.pairs import Pair
from dragoman.runs.opening import Run
from dragoman.text.items import Masked
from dragoman.text.languages import base_language, language_of_file
from dragoman.text.side import SideName, TextSide
from dragoman.text.vocabulary import SPECIALS, UNK

Item = TypeVar("Item")

log = logging.getLogger(__name__)

FEWEST, MOST = 100, 2000
"""Characters of text that a comparison needs, and characters after which it is made."""
OTHER_SIDE = 0.8
"""Text is taken for the other side if its cost under the vocabulary of that side, divided by the cost under that of its
own, is below this.
Five lines of captions, news and handbooks cost 0.22 to 1.06 on the wrong side of a model of captions, and 1.1 to 5 on
the right one; a third language costs 0.7 to 1.05."""
KNOWN = 0.15
"""A source is in another language if the training sources had less than this share of its words. Five lines of captions
share 0.07 with captions of another language (the largest 0.19), a manual 0.48 with 3,000 captions (the least 0.17)."""
UNKNOWN = 0.5
"""Text is not of the language or script of its side above this share of letters in unknown segments."""

_NATS_OF_A_CHARACTER = 2.0
_ONE_LANGUAGE = ({"no", "nb", "nn"}, {"zh", "cmn"})
"""Codes that name the same language."""


def checked_lines(lines: Iterable[str], file: str | Path, name: str, run: Run) -> Iterator[str]:
    """Yield source lines of a file; warn where they are not in the source language of the run, which `name` names."""
    warned = _warn_of_names(name, run.config, {Path(file): "source"})
    return _watched(lines, lambda line: (line, ""), name, run, warned=warned)


def checked_pairs(pairs: Iterable[Pair], files: Sequence[str | Path], name: str, run: Run) -> Iterator[Pair]:
    """Yield pairs; warn where a side is not in the language of that side of the run.

    Args:
        files: where the pairs come from: one file, or a source and one or more targets.
        name: what the message calls the run.
    """
    sides: dict[Path, SideName] = {Path(file): "target" if index else "source" for index, file in enumerate(files)}
    warned = _warn_of_names(name, run.config, sides if len(files) > 1 else {})
    return _watched(pairs, lambda pair: (pair.source, pair.target), name, run, warned=warned)


def warn_of_declared(file: Path, declared: Mapping[SideName, str], name: str, config: Config) -> None:
    """Warn of a file that names other languages than a run translates; "" where it names none."""
    languages = _languages(config)
    odd = [
        f"{file} says that its {side} is {code}"
        for side, code in declared.items()
        if code and languages[side] is not None and not _alike(code.lower(), languages[side])
    ]
    if odd:
        _warn(name, config, odd)


def _warn_of_names(name: str, config: Config, files: Mapping[Path, SideName]) -> bool:
    """Warn of files whose names have another language than their side; return whether there were any."""
    languages = _languages(config)
    named = {file: language_of_file(file) for file in files}
    odd = [
        f"the name of the {side} {file} says {named_language}"
        for (file, side), named_language in zip(files.items(), named.values(), strict=True)
        if named_language is not None and languages[side] is not None and not _alike(named_language, languages[side])
    ]
    if odd:
        _warn(name, config, odd)
    return bool(odd)


def _watched(
    items: Iterable[Item], sides: Callable[[Item], tuple[str, str]], name: str, run: Run, *, warned: bool
) -> Iterator[Item]:
    """Yield the items; once enough text has passed, compare it with the run, unless a warning was given already."""
    sources: list[str] = []
    targets: list[str] = []
    size = 0
    for item in items:
        if not warned:
            source, target = sides(item)
            sources.append(source)
            targets.append(target)
            size += len(source)
            if size >= MOST:
                _warn_of_text(name, run, sources, targets)
                warned = True
        yield item
    if not warned:
        _warn_of_text(name, run, sources, targets)


def _warn_of_text(name: str, run: Run, sources: Sequence[str], targets: Sequence[str]) -> None:
    odd = [
        f"the {side} {oddity}"
        for side, lines, own, other in (
            ("source", sources, run.source, run.target),
            ("target", targets, run.target, run.source),
        )
        if (oddity := _oddity(lines, own, other)) is not None
    ]
    if odd:
        _warn(name, run.config, odd)


def _oddity(lines: Sequence[str], own: TextSide, other: TextSide) -> str | None:
    """Return what is wrong with the lines of one side of a run; None if nothing is, or there is too little text."""
    if sum(map(len, lines)) < FEWEST:
        return None
    cost, unknown = _cost(lines, own)
    if _cost(lines, other)[0] < OTHER_SIDE * cost:
        return "text is like the other side of its training text"
    if (share := own.known_share(lines)) is not None and share < KNOWN:
        return f"text shares only {100 * share:.0f} % of its words with the training text"
    if unknown > UNKNOWN:
        return f"text has {100 * unknown:.0f} % letters in segments that its vocabulary lacks"
    return None


def _cost(lines: Iterable[str], side: TextSide) -> tuple[float, float]:
    """Return the nats of lines under the vocabulary of a side, by Zipf's law, and the share of unknown letters."""
    nats, letters, unknown = 0.0, 0, 0
    for line in lines:
        # Placeholders would hide the words of the other language that are taken for names.
        encoded = side.encode_masked(Masked(line, None))
        for index, (start, end) in zip(encoded.ids, encoded.offsets, strict=True):
            count = sum(map(str.isalpha, line[start:end]))
            letters += count
            if index == UNK:
                unknown += count
                nats += math.log(len(side.vocabulary)) + _NATS_OF_A_CHARACTER * (end - start)
            else:
                nats += math.log(index - len(SPECIALS) + 2)
    return nats, unknown / max(1, letters)


def _warn(name: str, config: Config, odd: Sequence[str]) -> None:
    languages = _languages(config)
    known = None not in languages.values()
    direction = f"translates {languages['source']} to {languages['target']}, but " if known else ""
    log.warning(
        "%s %s%s; check that this is the run for these files, and that they are in order",
        name if known else f"{name}:",
        direction,
        ", and ".join(odd),
    )


def _languages(config: Config) -> dict[SideName, str | None]:
    return {"source": config.text.source.language, "target": config.text.target.language}


def _alike(one: str, other: str | None) -> bool:
    codes = {base_language(code) for code in (one, other) if code}
    return len(codes) == 1 or any(codes <= group for group in _ONE_LANGUAGE)
