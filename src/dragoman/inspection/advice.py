"""Advice on a corpus: what the figures of an inspection mean for training."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from dragoman.inspection.corpus_reader import EncodingGuess, FileCounts
from dragoman.inspection.findings import FINDING_KINDS, NOT_UTF8, Finding
from dragoman.inspection.inspect import LONGEST, Inspection
from dragoman.text.lines import is_compressed

LOW_CORRELATION = 0.5
"""Length correlation below which lines are probably not translations of each other; shuffled sides have about 0."""

ENOUGH_LINES = 100
"""Pairs from which on statistics of the whole corpus are reliable."""

FEW = 5000
"""Pairs from which on training is worthwhile in a narrow domain."""

MANY_SINGLETONS = 0.02
"""Share of running words that occur once above which a word vocabulary leaves many words unknown."""

FEW_LETTERS = 0.1
"""Share of letters among the characters of a side, spaces included, below which it is hardly text."""

SPOILING = 0.1
"""Share of the pairs with a finding from which on the training begins with a warning."""

NEARLY_ALL = 0.95
"""Share of the bad lines of a file that must look alike before their encoding is guessed."""

ENCODINGS: dict[EncodingGuess, tuple[str, str, str]] = {
    "Windows-1252": ("Windows-1252 (or Latin-1, a part of it)", "iconv -f WINDOWS-1252 -t UTF-8", "accents"),
    "cp949": ("cp949, in Korean (or EUC-KR, a part of it)", "iconv -f CP949 -t UTF-8", "letters"),
}
"""By encodings that are guessed: what to call them, the command that converts from them, and what to look at then."""


class Advice(NamedTuple):
    """One sentence or more on one matter."""

    text: str
    warns: bool = False
    """Whether it questions the training as a whole, so that training begins with it."""


def advice(inspection: Inspection) -> list[str]:
    """Return sentences, problems before settings; without problems the first sentence states that."""
    problems = [each.text for each in _problems(inspection)]
    return [*(problems or ["No problems were found: this text can be used for training."]), *_settings(inspection)]


def warnings(inspection: Inspection) -> list[str]:
    """Return the sentences of `advice` that question the training as a whole.

    Held-out pairs that are in the training text are not among them: they need a look at the whole text.
    """
    return [each.text for each in _problems(inspection) if each.warns]


def _problems(inspection: Inspection) -> Iterator[Advice]:
    yield from _corpus_problems(inspection)
    for held in inspection.held_out:
        known = held.known_words
        if known is not None and known.swapped:
            yield Advice(
                f"{held.name}: source and target look swapped: {_percent(known.source_in_target)} of the words of its "
                f"source are in the target of the training text, {_percent(known.source)} in the source. Swap the two "
                "sides.",
                warns=True,
            )
    for held in inspection.held_out:
        for finding in held.findings:
            yield Advice(f"{held.name}, {_on_finding(finding, held.size, held.not_utf8)}")
        if held.seen:
            yield Advice(seen_in_training(held.name, held.seen, held.size))
    composed = inspection.source.lines_with_composed_letters + inspection.target.lines_with_composed_letters
    for finding in inspection.findings:
        mixed = finding.kind == "decomposed letter" and composed
        remark = f"Normal forms are mixed: {composed:,} lines have composed letters. " if mixed else ""
        spoils = FINDING_KINDS[finding.kind].spoils and finding.pairs >= SPOILING * inspection.pairs
        yield Advice(_on_finding(finding, inspection.pairs, inspection.not_utf8, remark), spoils)


def _corpus_problems(inspection: Inspection) -> Iterator[Advice]:
    pairs = inspection.pairs
    if inspection.length_correlation < LOW_CORRELATION and pairs >= ENOUGH_LINES:
        yield Advice(
            f"The lengths of the two sides hardly correlate ({inspection.length_correlation:.2f}): check that line k "
            "of one file is the translation of line k of the other.",
            warns=True,
        )
    if pairs < FEW:
        yield Advice(
            f"{pairs:,} pairs are few: expect a model only for very narrow text, such as dates or spellings, or find "
            "more.",
            warns=True,
        )
    if not inspection.sides_told_apart and pairs >= ENOUGH_LINES:
        yield Advice(
            "The two sides cannot be told apart by their letters: they are in one language or nearly so, or mixed. "
            "Lines on the wrong side were therefore not searched for."
        )
    for name, side in inspection.sides.items():
        if sum(side.scripts.values()) < FEW_LETTERS * side.lengths.mean_characters * pairs:
            yield Advice(
                f"The {name} consists almost only of digits and other signs without letters: check that these are the "
                "right files.",
                warns=True,
            )


def _settings(inspection: Inspection) -> Iterator[str]:
    """What to set before training."""
    for name, side in inspection.sides.items():
        if side.words.singleton_share > MANY_SINGLETONS:
            yield (
                f"{name} words: {_percent(side.words.singleton_share)} of the running words occur only once, so a "
                "word vocabulary would leave many unknown; subwords (bpe, the default) do not."
            )
        if side.lengths.words[99] > LONGEST:
            yield (
                f"{name} lengths: more than one line in a hundred is longer than {LONGEST} words; split these into "
                "sentences, or raise cleaning.max_length."
            )


def seen_in_training(name: str, seen: int, size: int) -> str:
    """Return the advice where `seen` of the `size` pairs of a held-out set are in the training text."""
    return (
        f"{name}: {seen:,} of {counted(size)} ({_percent(seen / size)}) have a side that is in the training text, "
        f"exactly or nearly. Scores on them are too high: remove them from training, or from {name}."
    )


def _on_finding(finding: Finding, pairs: int, not_utf8: Mapping[str, FileCounts], remark: str = "") -> str:
    conversions = [_conversion(*file) for file in not_utf8.items()] if finding.kind == NOT_UTF8 else []
    sentences = " ".join([FINDING_KINDS[finding.kind].advice, *conversions])
    return f"{finding.kind} ({counted(finding.pairs)}, {_percent(finding.pairs / pairs)}): {remark}{sentences}"


def counted(pairs: int) -> str:
    """A number of pairs with its noun."""
    return "1 pair" if pairs == 1 else f"{pairs:,} pairs"


def _percent(share: float) -> str:
    return "under 0.1 %" if share < 0.001 else f"{100 * share:.1f} %"


# Files that are not UTF-8 --------------------------------------------------------------------------------------------


def _conversion(name: str, counts: FileCounts) -> str:
    """What to do about a file that has lines which are not UTF-8."""
    bad = f"{name}: 1 line" if counts.lines == 1 else f"{name}: {counts.lines:,} lines"
    others = counts.other_lines_beyond_ascii
    if counts.look_like.get("broken UTF-8", 0) >= NEARLY_ALL * counts.lines:
        return f"{bad} of UTF-8 with truncated or damaged characters; get the text again, or remove these pairs."
    known = next((name for name in ENCODINGS if counts.look_like.get(name, 0) >= NEARLY_ALL * counts.lines), None)
    if known is None:
        return (
            f"{bad} in an encoding that cannot be guessed; find out which it is (iconv -l lists those it knows), or "
            "remove these pairs."
        )
    encoding, iconv, looked_at = ENCODINGS[known]
    decodes = f"{bad} that {'decodes' if counts.lines == 1 else 'decode'} as {encoding}"
    if others >= (1 - NEARLY_ALL) * counts.lines:
        shown = "" if is_compressed(name) else f" (sed -n 17p FILE | {iconv} shows line 17)"
        return (
            f"{decodes} beside {others:,} in UTF-8 beyond ASCII, which converting the whole file would damage. "
            f"Convert the bad ones alone{shown}, or remove these pairs."
        )
    rest = f"{others:,} of the others are not ASCII either" if others else "the others are ASCII"
    return f"{decodes}; {rest}. Convert the whole file, then check its {looked_at}: {_command(name, iconv)}"


def _command(name: str, iconv: str) -> str:
    """The command that converts a file, compressed or not."""
    path = Path(name)
    unpack = {".gz": "gzip -dc", ".xz": "xz -dc", ".zst": "zstd -dc"}.get(path.suffix)
    plain = path if unpack is None else path.with_suffix("")
    converted = shlex.quote(str(plain.with_name(f"utf8.{plain.name}")))
    given = shlex.quote(name)
    return f"{iconv} {given} > {converted}" if unpack is None else f"{unpack} {given} | {iconv} > {converted}"
