"""What the figures of an inspection mean for training, in plain words."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from dragoman.inspection.findings import KINDS, NOT_UTF8, Found
from dragoman.inspection.inspect import LONGEST, Inspection, SideFacts
from dragoman.inspection.overlap import HeldOut
from dragoman.inspection.reading import FileCounts
from dragoman.inspection.vocabulary_coverage import Coverage
from dragoman.text.lines import is_compressed

HARDLY_TOGETHER = 0.5
"""Correlation of lengths under which lines are probably no translations of each other; shuffled sides have about 0."""

FEW = 5000
"""Pairs from which on training is worth while in a narrow domain."""

MANY_RARE = 0.02
"""Share of running words that come only once, beyond which whole words leave much unknown."""

ICONV = "iconv -f WINDOWS-1252 -t UTF-8"

NEARLY_ALL = 0.95
"""Share of the bad lines of a file that must look alike for a guess at their encoding."""


def advice(inspection: Inspection) -> list[str]:
    """Sentences, the gravest first; one says so if there is nothing to worry about."""
    said = [*_pairing(inspection), *_held_out(inspection), *_found(inspection)]
    return [*(said or ["Nothing here speaks against training on this text."]), *_settings(inspection)]


def _pairing(inspection: Inspection) -> Iterator[str]:
    if inspection.ratio.correlation < HARDLY_TOGETHER and inspection.pairs >= 100:
        yield (
            f"The lengths of the two sides hardly go together (correlation {inspection.ratio.correlation:.2f}): look "
            "whether line k of one file is the translation of line k of the other."
        )
    if inspection.pairs < FEW:
        yield (
            f"{inspection.pairs:,} pairs are few: expect a model only for very narrow text, such as dates or "
            "spellings, or find more."
        )
    if not inspection.sides_apart and inspection.pairs >= 100:
        yield (
            "The two sides could not be told apart by their letters: they are of one language or nearly so, or mixed. "
            "Lines on the wrong side were therefore not looked for."
        )


def _held_out(inspection: Inspection) -> Iterator[str]:
    for held in inspection.held_out:
        seen = lines_seen(held)
        for found in held.found:
            yield f"{held.name}, {_found_sentence(found, held.size, held.bad_files)}"
        if seen:
            yield (
                f"{held.name}: {seen:,} of {counted(held.size)} ({_percent(seen / held.size)}) have a side "
                "that training has seen, exactly or nearly. Figures on them flatter: take them out of training, or "
                f"out of {held.name}."
            )


def lines_seen(held: HeldOut) -> int:
    """Held-out pairs of which either side is also in training, exactly or nearly."""
    return len(held.sides["source"].found.keys() | held.sides["target"].found.keys())


def _found(inspection: Inspection) -> Iterator[str]:
    for found in inspection.found:
        mixed = _mixed(inspection) if found.kind == "decomposed letter" else ""
        yield _found_sentence(found, inspection.pairs, inspection.bad_files, mixed)


def _found_sentence(found: Found, pairs: int, bad_files: Mapping[str, FileCounts], remark: str = "") -> str:
    conversions = [_conversion(*file) for file in bad_files.items()] if found.kind == NOT_UTF8 else []
    said = " ".join([KINDS[found.kind].advice, *conversions])
    return f"{found.kind} ({counted(found.pairs)}, {_percent(found.pairs / pairs)}): {remark}{said}"


def _conversion(name: str, counts: FileCounts) -> str:
    """What to do with a file that has lines which are not UTF-8."""
    lines = "1 line" if counts.bad == 1 else f"{counts.bad:,} lines"
    if counts.looks.get("Windows-1252", 0) < NEARLY_ALL * counts.bad:
        broken = counts.looks.get("broken UTF-8", 0)
        if broken >= NEARLY_ALL * counts.bad:
            return (
                f"{name}: {lines} of UTF-8 with characters that were cut or damaged; get the text again, or take "
                "these pairs out."
            )
        return (
            f"{name}: {lines} of no encoding that can be told from here; find out which it is (iconv -l lists those it "
            "knows), or take these pairs out."
        )
    reads = f"{name}: {lines} that {'reads' if counts.bad == 1 else 'read'} as Windows-1252 (or Latin-1, a part of it)"
    if counts.other >= (1 - NEARLY_ALL) * counts.bad:
        shown = "" if is_compressed(name) else f" (sed -n 17p FILE | {ICONV} shows line 17)"
        return (
            f"{reads} beside {counts.other:,} that are UTF-8 and not only ASCII, which a conversion of the whole file "
            f"would spoil. Convert the bad ones alone{shown}, or take these pairs out."
        )
    rest = f"{counts.other:,} of the others are not ASCII either" if counts.other else "the others are ASCII"
    return f"{reads}; {rest}. Convert the whole file, and look whether its accents are right then: {_command(name)}"


def _command(name: str) -> str:
    """That converts a file, compressed or not, from Windows-1252."""
    path = Path(name)
    unpack = {".gz": "gzip -dc", ".xz": "xz -dc", ".zst": "zstd -dc"}.get(path.suffix)
    plain = path if unpack is None else path.with_suffix("")
    converted = shlex.quote(str(plain.with_name(f"utf8.{plain.name}")))
    given = shlex.quote(name)
    return f"{ICONV} {given} > {converted}" if unpack is None else f"{unpack} {given} | {ICONV} > {converted}"


def _mixed(inspection: Inspection) -> str:
    """How much of the text is in the other normal form."""
    composed = inspection.source.composed + inspection.target.composed
    return f"Normal forms are mixed: {composed:,} lines have composed letters. " if composed else ""


def counted(pairs: int) -> str:
    """So many pairs, in words."""
    return "1 pair" if pairs == 1 else f"{pairs:,} pairs"


def _percent(share: float) -> str:
    return "under 0.1 %" if share < 0.001 else f"{100 * share:.1f} %"


def _settings(inspection: Inspection) -> Iterator[str]:
    for name, side in (("source", inspection.source), ("target", inspection.target)):
        yield from _vocabulary(name, side.words)
        yield from _length(name, side)


def _vocabulary(name: str, words: Coverage) -> Iterator[str]:
    once = words.once / max(1, words.running)
    if once > MANY_RARE:
        yield (
            f"{name} words: {_percent(once)} of the running words come only once, so a vocabulary of words would "
            "leave many unknown; subwords (bpe, the default) do not."
        )


def _length(name: str, side: SideFacts) -> Iterator[str]:
    if side.lengths.words[99] > LONGEST:
        yield (
            f"{name} lengths: more than one line in a hundred is longer than {LONGEST} words; divide them into "
            "sentences, or raise cleaning.max_length."
        )
