"""Advice on a corpus: what the figures of an inspection mean for training."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.inspection.corpus_reader import FileCounts
from dragoman.inspection.findings import FINDING_KINDS, NOT_UTF8, Finding
from dragoman.inspection.inspect import LONGEST, Inspection, SideFacts
from dragoman.text.lines import is_compressed

LOW_CORRELATION = 0.5
"""Length correlation below which lines are probably not translations of each other; shuffled sides have about 0."""

ENOUGH_LINES = 100
"""Pairs from which on statistics of the whole corpus are reliable."""

FEW = 5000
"""Pairs from which on training is worthwhile in a narrow domain."""

MANY_SINGLETONS = 0.02
"""Share of running words that occur once above which a word vocabulary leaves many words unknown."""

ICONV = "iconv -f WINDOWS-1252 -t UTF-8"

NEARLY_ALL = 0.95
"""Share of the bad lines of a file that must look alike before their encoding is guessed."""


FEW_LETTERS = 0.1
"""Share of letters among the characters of a side, spaces included, below which it is hardly text."""

SPOILING = 0.1
"""Share of the pairs with a finding from which on the training begins with a warning."""


class CorpusCheck(NamedTuple):
    """A condition on the corpus or on one side of it, and the advice where it holds."""

    applies: Callable[[Inspection, SideFacts], bool]
    """For each side; of a condition on the corpus, for the source alone."""
    advice: str
    """`{0}` is the inspection, `{1}` the name of the side, `{2}` its share of words that occur once."""
    of_side: bool = False
    warns: bool = False
    """Whether training begins with a warning."""


PROBLEMS = (
    CorpusCheck(
        lambda corpus, _: corpus.length_correlation < LOW_CORRELATION and corpus.pairs >= ENOUGH_LINES,
        "The lengths of the two sides hardly correlate ({0.length_correlation:.2f}): check that line k of one file is "
        "the translation of line k of the other.",
        warns=True,
    ),
    CorpusCheck(
        lambda corpus, _: corpus.pairs < FEW,
        "{0.pairs:,} pairs are few: expect a model only for very narrow text, such as dates or spellings, or find "
        "more.",
        warns=True,
    ),
    CorpusCheck(
        lambda corpus, _: not corpus.sides_told_apart and corpus.pairs >= ENOUGH_LINES,
        "The two sides cannot be told apart by their letters: they are in one language or nearly so, or mixed. Lines "
        "on the wrong side were therefore not searched for.",
    ),
    CorpusCheck(
        lambda corpus, side: _letters(side, corpus.pairs) < FEW_LETTERS,
        "The {1} consists almost only of digits and other signs without letters: check that these are the right files.",
        of_side=True,
        warns=True,
    ),
)
"""What questions the training as a whole."""

SETTINGS = (
    CorpusCheck(
        lambda _, side: side.words.singleton_share > MANY_SINGLETONS,
        "{1} words: {2} of the running words occur only once, so a word vocabulary would "
        "leave many unknown; subwords (bpe, the default) do not.",
        of_side=True,
    ),
    CorpusCheck(
        lambda _, side: side.lengths.words[99] > LONGEST,
        f"{{1}} lengths: more than one line in a hundred is longer than {LONGEST} words; split these into sentences, "
        "or raise cleaning.max_length.",
        of_side=True,
    ),
)
"""What to set before training."""


def _letters(side: SideFacts, pairs: int) -> float:
    """The share of letters among the characters of a side."""
    characters = side.lengths.mean_characters * pairs
    return sum(side.scripts.values()) / characters if characters else 1.0


def _checked(checks: Sequence[CorpusCheck], inspection: Inspection) -> Iterator[str]:
    for name, side in (("source", inspection.source), ("target", inspection.target)):
        for check in checks:
            if (check.of_side or name == "source") and check.applies(inspection, side):
                yield check.advice.format(inspection, name, _percent(side.words.singleton_share))


def advice(inspection: Inspection) -> list[str]:
    """Return sentences, problems before settings; without problems the first sentence states that."""
    problems = [
        *_checked(PROBLEMS, inspection),
        *_held_out_problems(inspection),
        *_pair_problems(inspection),
    ] or ["No problems were found: this text can be used for training."]
    return [*problems, *_checked(SETTINGS, inspection)]


def warnings(inspection: Inspection) -> list[str]:
    """Return the sentences of `advice` that question the training as a whole.

    Held-out pairs that are in the training text are not among them: they need a look at the whole text.
    """
    return [
        *_checked([check for check in PROBLEMS if check.warns], inspection),
        *_swapped_sets(inspection),
        *(
            _finding_advice(finding, inspection.pairs, inspection.not_utf8)
            for finding in inspection.findings
            if FINDING_KINDS[finding.kind].spoils and finding.pairs >= SPOILING * inspection.pairs
        ),
    ]


def _held_out_problems(inspection: Inspection) -> Iterator[str]:
    yield from _swapped_sets(inspection)
    for held in inspection.held_out:
        for finding in held.findings:
            yield f"{held.name}, {_finding_advice(finding, held.size, held.not_utf8)}"
        if held.seen:
            yield seen_in_training(held.name, held.seen, held.size)


def seen_in_training(name: str, seen: int, size: int) -> str:
    """Return the advice where `seen` of the `size` pairs of a held-out set are in the training text."""
    return (
        f"{name}: {seen:,} of {counted(size)} ({_percent(seen / size)}) have a side that is in the training text, "
        f"exactly or nearly. Scores on them are too high: remove them from training, or from {name}."
    )


def _swapped_sets(inspection: Inspection) -> Iterator[str]:
    for held in inspection.held_out:
        known = held.known_words
        if known is not None and known.swapped:
            yield (
                f"{held.name}: source and target look swapped: {_percent(known.source_in_target)} of the words of its "
                f"source are in the target of the training text, {_percent(known.source)} in the source. Swap the two "
                "sides."
            )


def _pair_problems(inspection: Inspection) -> Iterator[str]:
    composed = inspection.source.lines_with_composed_letters + inspection.target.lines_with_composed_letters
    mixed = f"Normal forms are mixed: {composed:,} lines have composed letters. " if composed else ""
    for finding in inspection.findings:
        remark = mixed if finding.kind == "decomposed letter" else ""
        yield _finding_advice(finding, inspection.pairs, inspection.not_utf8, remark)


def _finding_advice(finding: Finding, pairs: int, not_utf8: Mapping[str, FileCounts], remark: str = "") -> str:
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
    lines = "1 line" if counts.lines == 1 else f"{counts.lines:,} lines"
    if counts.look_like.get("Windows-1252", 0) < NEARLY_ALL * counts.lines:
        if counts.look_like.get("broken UTF-8", 0) >= NEARLY_ALL * counts.lines:
            return (
                f"{name}: {lines} of UTF-8 with truncated or damaged characters; get the text again, or remove these "
                "pairs."
            )
        return (
            f"{name}: {lines} in an encoding that cannot be guessed; find out which it is (iconv -l lists those it "
            "knows), or remove these pairs."
        )
    verb = "decodes" if counts.lines == 1 else "decode"
    decodes = f"{name}: {lines} that {verb} as Windows-1252 (or Latin-1, a part of it)"
    others = counts.other_lines_beyond_ascii
    if others >= (1 - NEARLY_ALL) * counts.lines:
        shown = "" if is_compressed(name) else f" (sed -n 17p FILE | {ICONV} shows line 17)"
        return (
            f"{decodes} beside {others:,} in UTF-8 beyond ASCII, which converting the whole file would damage. "
            f"Convert the bad ones alone{shown}, or remove these pairs."
        )
    rest = f"{others:,} of the others are not ASCII either" if others else "the others are ASCII"
    return f"{decodes}; {rest}. Convert the whole file, then check its accents: {_command(name)}"


def _command(name: str) -> str:
    """The command that converts a file, compressed or not, from Windows-1252."""
    path = Path(name)
    unpack = {".gz": "gzip -dc", ".xz": "xz -dc", ".zst": "zstd -dc"}.get(path.suffix)
    plain = path if unpack is None else path.with_suffix("")
    converted = shlex.quote(str(plain.with_name(f"utf8.{plain.name}")))
    given = shlex.quote(name)
    return f"{ICONV} {given} > {converted}" if unpack is None else f"{unpack} {given} | {ICONV} > {converted}"
