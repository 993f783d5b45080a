"""The text of a training: dev set, segmentations, stored corpus, vocabularies; the trial of a user's own patterns."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from dragoman.config.schema import Config, SideConfig
from dragoman.corpora.cleaning import Cleaner
from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.held_out import HeldOut, hold_out
from dragoman.corpora.pairs import Corpora, Pair
from dragoman.data.preparation import PreparedCorpus, build_store
from dragoman.data.segment_journal import SegmentJournal
from dragoman.errors import ConfigError, InputError
from dragoman.inspection.advice import seen_in_training
from dragoman.progress import Console
from dragoman.runs.layout import RunFolder
from dragoman.text.items import PLACEHOLDERS, Items
from dragoman.text.lines import not_found, replace_output, write_lines
from dragoman.text.raw_lines import is_blank
from dragoman.text.segmentation import Segmentation, train_segmentation
from dragoman.text.segmentation.normal_form import NormalForm, NormalisedSegmentation
from dragoman.text.segmentation.protected import ProtectedSegmentation, extended
from dragoman.workflows.fine_tuning import TrainedModel, unknown_segments
from dragoman.workflows.training_steps import dropped_counts

SEEN = 0.02
"""From this share of the dev set on that is also in the training text, the training begins with a warning."""


def require_alignments(config: Config, corpora: Corpora, alignments: Sequence[Path]) -> None:
    """Check that guided alignment has a file of links for each corpus.

    Raises:
        ConfigError: there are no links, more or fewer than corpora, or no guided alignment to use them.
    """
    guided = config.training.guided_alignment
    if guided and not alignments:
        raise ConfigError(
            f"training.guided_alignment: {guided} needs alignment links; give --alignments FILE for each corpus "
            "(Pharaoh lines, such as 0-0 1-2)"
        )
    if alignments and not guided:
        raise ConfigError("--alignments: has no effect with training.guided_alignment: 0; set its weight, such as 0.5")
    if alignments and len(alignments) != len(corpora):
        raise ConfigError(
            f"--alignments: {len(alignments)} given for {len(corpora)} training corpora; give one for each, in their "
            "order"
        )


def read_dev(dev: Corpora) -> list[Pair]:
    """Read a given dev set.

    Raises:
        InputError: a file cannot be read, or no pair has text on both sides.
    """
    pairs = list(read_pairs(dev))
    if not any(not is_blank(pair.source) and not is_blank(pair.target) for pair in pairs):
        files = " ".join(str(path) for files in dev for path in files)
        raise InputError(
            f"the dev set ({files}) has no pair with text on both sides; training needs one to validate on"
        )
    return pairs


def hold_out_pairs(corpora: Corpora, longest: int) -> HeldOut:
    """Hold out a part of the training text as the dev set, of pairs with at most `longest` words a side."""

    def usable(pair: Pair) -> bool:
        return all(0 < len(line.split()) <= longest for line in (pair.source, pair.target))

    return hold_out(read_pairs(corpora), usable)


@dataclass(frozen=True)
class TrainingText:
    """The pairs to train on, which can be read repeatedly."""

    corpora: Corpora
    alignments: Sequence[Path]
    held_out: HeldOut
    cut: bool
    """Whether the dev set is a part of the corpora, which is left out."""

    def pairs(self) -> Iterator[Pair]:
        """Read the pairs without their links."""
        pairs = read_pairs(self.corpora)
        return self.held_out.without(pairs) if self.cut else pairs

    def observed(self) -> Iterator[Pair]:
        """Read the pairs with their links; `held_out.seen` then counts the pairs of a given dev set among them."""
        pairs = read_pairs(self.corpora, self.alignments)
        return self.held_out.without(pairs) if self.cut else self.held_out.observed(pairs)


def prepare_text(
    config: Config,
    text: TrainingText,
    folder: RunFolder,
    dropped: str | Path | None,
    console: Console,
    trained: TrainedModel | None,
    journal: SegmentJournal,
) -> PreparedCorpus:
    """Make the segmentations, unless a trained model has them; then store the corpus and make its vocabularies.

    Args:
        dropped: a file to write the pairs to that cleaning leaves out, or None.
        trained: the model that a fine-tuning begins with, or None.
        journal: what an earlier start has segmented.

    Raises:
        InputError: a file cannot be read, or no pair is left after cleaning.
        ConfigError: a pattern of `text.patterns` is slow, or matches most of the text.
    """
    for warning in try_patterns(config.text.patterns, (pair.source for pair in text.pairs())):
        console.info(warning)
    console.info("segmentation ...")
    store: Callable[..., PreparedCorpus]
    read = _ReadPairs()
    if trained is None:
        store = partial(build_store, segmentations=_segmentations(config, text, read), config=config.text)
    else:
        store = trained.knowing(text.pairs).store
    with nullcontext() if dropped is None else replace_output(dropped, keep_partial=True) as listing:
        cleaner = Cleaner(config.cleaning, listing)
        with console.counter("pairs", read.total) as progress:
            prepared = store(folder.train_data, text.observed(), cleaner=cleaner, progress=progress, journal=journal)
    if journal.taken:
        console.info(f"preparation: went on after the {journal.taken:,} pairs that an earlier start had segmented")
    for fact in _text_facts(prepared):
        console.info(fact)
    if trained:
        unknown, large = unknown_segments(prepared.store)
        advice = "the model cannot learn these; --extend-vocabulary adds them to what it knows"
        console.info(f"warning: {unknown}; {advice}" if large else unknown)
    seen, size = text.held_out.seen, len(text.held_out.pairs)
    if seen >= SEEN * size:
        console.info(f"warning: {seen_in_training('dev', seen, size)}")
    return prepared


class _ReadPairs:
    """Counts the pairs that the training of a segmentation reads; the same number will be stored."""

    def __init__(self) -> None:
        self.total: int | None = None
        """None if nothing was read."""

    def counted(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """The same pairs."""
        count = 0
        for pair in pairs:
            count += 1
            yield pair
        self.total = count


def _segmentations(config: Config, text: TrainingText, read: _ReadPairs) -> tuple[Segmentation, Segmentation]:
    source, target = _formed_segmentations(config, text, read)
    if not config.text.protected:
        return source, target
    foreign = source.form.foreign_words if isinstance(source, NormalisedSegmentation) else None
    items = Items.of_kinds(
        config.text.protected,
        lambda: ((pair.source, pair.target) for pair in text.pairs()),
        foreign,
        config.text.patterns,
    )
    return (
        ProtectedSegmentation(extended(source, PLACEHOLDERS), items, source=True),
        ProtectedSegmentation(extended(target, PLACEHOLDERS), items, source=False),
    )


def _formed_segmentations(config: Config, text: TrainingText, read: _ReadPairs) -> tuple[Segmentation, Segmentation]:
    if not config.text.normal_form:
        return _inner_segmentations(config, lambda: read.counted(text.pairs()))
    source_form = NormalForm.of_sources(pair.source for pair in read.counted(text.pairs()))
    if config.text.spelling:
        source_form = source_form.with_spelling(pair.source for pair in text.pairs())
    forms = source_form, NormalForm()

    def formed() -> Iterator[Pair]:
        for pair in text.pairs():
            yield replace(pair, source=forms[0].text(pair.source), target=forms[1].text(pair.target))

    source, target = map(NormalisedSegmentation, _inner_segmentations(config, formed), forms)
    return source, target


def _inner_segmentations(config: Config, pairs: Callable[[], Iterable[Pair]]) -> tuple[Segmentation, Segmentation]:
    source, target = config.text.source, config.text.target
    train = partial(train_segmentation, case_marks=config.text.case_marks)
    if not config.text.joint:
        return train(source, (pair.source for pair in pairs())), train(target, (pair.target for pair in pairs()))
    both = train(source, _lines_of_both(pairs()))
    if source.segmentation != "words":
        return both, both
    # A joint vocabulary of words: each language is tokenised by its own rules.
    return both, train_segmentation(SideConfig(language=target.language, segmentation="words"), ())


def _lines_of_both(pairs: Iterable[Pair]) -> Iterator[str]:
    for pair in pairs:
        yield pair.source
        yield pair.target


def _text_facts(prepared: PreparedCorpus) -> tuple[str, str]:
    store = prepared.store
    sizes = f"{len(prepared.source.vocabulary):,} and {len(prepared.target.vocabulary):,}"
    if prepared.source.vocabulary is prepared.target.vocabulary:
        sizes = f"{len(prepared.source.vocabulary):,}, joint"
    mean = len(store.source.ids) / len(store), len(store.target.ids) / len(store)
    links = "" if store.links is None else f"; links a line: {len(store.links.links) / len(store):.1f}"
    return (
        f"pairs: kept {len(store):,}, {dropped_counts(store.left_out)}",
        f"vocabulary: {sizes}; segments a line: {mean[0]:.1f} source, {mean[1]:.1f} target{links}",
    )


def save_dev(folder: RunFolder, pairs: Sequence[Pair], *, normal_form: bool) -> None:
    """Write the dev set into the run, where resuming and reports find it.

    With `normal_form`, targets are written as the model writes its translations, which are compared with them.
    """
    path = folder.dev_text
    path.parent.mkdir(parents=True, exist_ok=True)
    formed = NormalForm().text if normal_form else str
    entries = ({"source": pair.source, "target": formed(pair.target), "origin": pair.origin} for pair in pairs)
    write_lines(path, (json.dumps(entry, ensure_ascii=False) for entry in entries))


TRIED_LINES = 10_000
"""Training sources on which a pattern is tried."""
TRIAL_SECONDS = 10.0
"""Time for all of them; most patterns take a tenth of a second."""
LARGEST_MATCHED_SHARE = 0.5
"""Share of the characters that the matches of a pattern may have: a model has to see the text around items."""
_REPEATED = ("a", "A", "1", " ", "-", ".", "a1", "A-", "a ", "a.", '"', "/")
_HARD = [text * 200 + end for text in _REPEATED for end in ("", "\u00a7")]
"""Text on which patterns with repetitions inside repetitions take for ever; some do so only if the line goes on."""
_COUNT = """
import json, re, sys
pattern, lines = json.load(sys.stdin)
for line in lines:
    print(sum(len(match[0]) for match in re.finditer(pattern, line, re.ASCII)), flush=True)
"""
"""A program of its own, because nothing else can stop a match."""


def try_patterns(patterns: Sequence[str], sources: Iterable[str]) -> list[str]:
    """Return what a user should know of the patterns: warnings of those that match nothing.

    Raises:
        ConfigError: a pattern is slow on some line, or matches most of the text.
    """
    if not patterns:
        return []
    lines = list(islice(sources, TRIED_LINES))
    return [warning for pattern in patterns for warning in _tried(pattern, lines)]


def _tried(pattern: str, lines: Sequence[str]) -> list[str]:
    matched = sum(_matched_characters(pattern, lines))
    if matched > LARGEST_MATCHED_SHARE * sum(map(len, lines)):
        raise ConfigError(
            f"text.patterns: {pattern!r} matches more than half of the training text, and a model would see "
            "placeholders in its place; narrow it"
        )
    return [] if matched else [f"warning: text.patterns: {pattern!r} matches nothing in the training text"]


def _matched_characters(pattern: str, lines: Sequence[str]) -> list[int]:
    """The number of characters of each line that are in matches."""
    text = json.dumps((pattern, [*_HARD, *lines]))
    program = [sys.executable, "-I", "-c", _COUNT]
    try:
        done = subprocess.run(
            program, input=text, capture_output=True, encoding="ascii", check=True, timeout=TRIAL_SECONDS
        )
    except subprocess.TimeoutExpired as stopped:
        index = (stopped.stdout or b"").count(b"\n") - len(_HARD)
        where = f"line {index + 1} of the training text" if index >= 0 else f"a line such as {_HARD[index][:6]}..."
        raise ConfigError(
            f"text.patterns: {pattern!r} is slow: after {TRIAL_SECONDS:g} s it was at {where}; avoid repetitions "
            "inside repetitions, such as (?:a+)+"
        ) from None
    return [int(count) for count in done.stdout.split()[len(_HARD) :]]


@contextmanager
def unchanged(paths: Iterable[Path]) -> Iterator[None]:
    """Require that files do not change within a block.

    If another program writes to a file, a second reading gives other lines, and errors that name only a consequence,
    such as sides of different length. So files are also compared if the block fails with an InputError or an error of
    the operating system, as for a file that has disappeared; a change is then the error.

    Raises:
        InputError: a file does not exist at the start, has disappeared, or has another size or time of modification.
    """
    before = {path: _state(path) for path in paths}
    for path, state in before.items():
        if state is None:
            raise not_found(path)
    try:
        yield
    except (InputError, OSError):
        _require(before)
        raise
    _require(before)


def _state(path: Path) -> tuple[int, int] | None:
    """Size in bytes and time of modification in nanoseconds; None for a file that does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _require(before: dict[Path, tuple[int, int] | None]) -> None:
    for path, state in before.items():
        now = _state(path)
        if now is None:
            raise InputError(f"{path}: has disappeared while it was read; put it back and give the command again")
        if now != state:
            raise InputError(f"{path}: has changed while it was read; give the command again when nobody writes to it")
