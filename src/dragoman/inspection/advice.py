"""What the figures of an inspection mean for training, in plain words."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.inspection.coverage import Coverage
from dragoman.inspection.findings import KINDS
from dragoman.inspection.inspect import LONGEST, Inspection, SideFacts
from dragoman.inspection.overlap import HeldOut

HARDLY_TOGETHER = 0.5
"""Correlation of lengths under which lines are probably no translations of each other; shuffled sides have about 0."""

FEW = 5000
"""Pairs from which on training is worth while in a narrow domain."""

MANY_RARE = 0.02
"""Share of running words that come only once, beyond which whole words leave much unknown."""


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
        if seen:
            yield (
                f"{held.name}: {seen:,} of {counted(len(held.pairs))} ({_percent(seen / len(held.pairs))}) have a side "
                "that training has seen, exactly or nearly. Figures on them flatter: take them out of training, or "
                f"out of {held.name}."
            )


def lines_seen(held: HeldOut) -> int:
    """Held-out pairs of which either side is also in training, exactly or nearly."""
    return len(held.sides["source"].found.keys() | held.sides["target"].found.keys())


def _found(inspection: Inspection) -> Iterator[str]:
    for found in inspection.found:
        share = found.pairs / inspection.pairs
        mixed = _mixed(inspection) if found.kind == "decomposed letter" else ""
        yield f"{found.kind} ({counted(found.pairs)}, {_percent(share)}): {mixed}{KINDS[found.kind].advice}"


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
