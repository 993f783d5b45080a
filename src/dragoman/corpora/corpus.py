"""Corpora as sentence pairs: parallel files, or files that hold both sides; with the links between their words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path

from dragoman.corpora.pair_files import (
    INFLECTIONS,
    KINDS,
    corpus_files,
    corpus_lines,
    holds_pairs,
    pair_format,
    read_inflections,
    read_pair_file,
)
from dragoman.corpora.pairs import GivenCorpora, Pair, as_paths
from dragoman.errors import InputError
from dragoman.text.lines import OnUndecodable, shown_name
from dragoman.text.links import Link, read_links
from dragoman.text.words import words_in


def read_pairs(
    corpora: GivenCorpora, alignments: Sequence[Path] = (), *, on_undecodable: OnUndecodable | None = None
) -> Iterator[Pair]:
    """Yield the pairs of several corpora, one after the other.

    A corpus is two files of equally many lines (source, target), or one file: .tsv with two columns, .jsonl with an
    object a line that has the keys "source" and "target"; .csv, .tsv with a header, .jsonl and .json with other
    columns or keys, of which `reading_corpora` chooses; .xlsx and .ods; .tmx, .xliff, .xlf, .sdlxliff, .mqxliff, .po
    and .mo, without what is not translated; or an inflection table (.trn, .dev, .tst) with a lemma, its form and tags
    such as V;PST, whose source is "lemma TAB tags"; each also as .gz, .xz or .zst. Line breaks within a side are read
    as spaces, but for .tsv and .jsonl. A folder, or a name with * and ?, stands for all such files in it.

    Args:
        corpora: for each corpus its files: [["a.de", "a.en"], ["b.tsv.gz"]].
        alignments: none, or a Pharaoh file for each corpus: line k links the words of its pair k.
        on_undecodable: called with each line that is not UTF-8, before its pair is yielded; see `read_lines`.

    Returns:
        an iterator of pairs with `source`, `target` and the place that they come from; nothing is held in memory.

    Raises:
        TypeError: files are given in place of lists of files.
        InputError: a corpus has no lines, its two files or its alignment differ in their number of lines, a line does
            not have the form that its file promises, the columns of source and target are not found, a link names a
            word that is not there, or a file cannot be read.

    >>> pair = next(dragoman.read_pairs([["test.low", "test.up"]]))
    >>> pair.source.upper() == pair.target
    True
    """
    assert len(alignments) in (0, len(corpora)), "an alignment for each corpus, or none"
    for number, files in enumerate(as_paths(corpora)):
        pairs = _read_corpus(files, on_undecodable, number)
        yield from _not_empty(_linked(pairs, files, alignments[number]) if alignments else pairs, files, "a corpus")


def read_test_set(files: Sequence[str | Path]) -> Iterator[Pair]:
    """Yield the pairs of a test set, which may have several references for a source.

    An empty reference is none, where the source has another, so that lines may have different numbers of references.

    Args:
        files: source, reference, reference ...; or one file: a .tsv whose columns after the first are references, or a
            .jsonl with a string or a list of strings under "target".

    Returns:
        an iterator of pairs; `references` of a pair has all of them, `target` the first.

    Raises:
        TypeError: `files` is not a list of files.
        InputError: as for `read_pairs`.

    >>> pair = next(dragoman.read_test_set(["test.low", "test.up", "test.low"]))
    >>> pair.references == (pair.target, pair.source)
    True
    """
    if isinstance(files, str | Path) or not all(isinstance(file, str | Path) for file in files):
        raise TypeError(f"{files!r} stands where a list of files is expected: [source, reference, ...]")
    if len(files) > 2:
        readers = [read_pairs([(files[0], reference)]) for reference in files[1:]]
        for pairs in zip(*readers, strict=True):
            yield pairs[0].with_references([pair.target for pair in pairs])
        return
    yield from _not_empty(_read_corpus([Path(file) for file in files], None, 0, several=True), files, "a test set")


def _not_empty(pairs: Iterator[Pair], files: Sequence[str | Path], what: str) -> Iterator[Pair]:
    empty = True
    for pair in pairs:
        empty = False
        yield pair
    if empty:
        raise InputError(f"{' and '.join(map(shown_name, files))}: no lines in it; {what} needs at least one pair")


def _read_corpus(
    files: Sequence[Path], on_undecodable: OnUndecodable | None, number: int, *, several: bool = False
) -> Iterator[Pair]:
    """Yield the pairs of corpus `number`; with `several` a line of one file may have several targets, as references."""
    if len(files) == 2:
        both = [path for path in files if holds_pairs(path) and pair_format(path) not in (".tsv", ".jsonl")]
        if both:
            raise InputError(f"{both[0]}: holds both sides of a corpus; give it without {files[both[0] == files[0]]}")
        return _read_parallel(files[0], files[1], on_undecodable, number)
    if len(files) == 1:
        path = Path(files[0])
        members = corpus_files(path)
        if members != [path]:
            return chain.from_iterable(_read_corpus([one], on_undecodable, number, several=several) for one in members)
        if holds_pairs(path):
            return read_pair_file(path, on_undecodable, number, several)
        if pair_format(path) in INFLECTIONS:
            return read_inflections(path, on_undecodable, number)
        raise InputError(
            f"{path}: a corpus in one file is {', '.join(KINDS)}, or an inflection table ({', '.join(INFLECTIONS)}); "
            "also .gz, .xz, .zst; or give two files, source and target"
        )
    raise InputError(f"a corpus is one file or two (source and target), not {len(files)}: {' '.join(map(str, files))}")


def _read_parallel(source: Path, target: Path, on_undecodable: OnUndecodable | None, corpus: int) -> Iterator[Pair]:
    pairs = enumerate(zip_longest(corpus_lines(source, on_undecodable), corpus_lines(target, on_undecodable)), 1)
    name = shown_name(source)  # made once: text of millions of lines is read here
    for number, (source_line, target_line) in pairs:
        if source_line is None or target_line is None:
            shorter = number - 1
            longer = number + sum(1 for _ in pairs)
            counts = (shorter, longer) if source_line is None else (longer, shorter)
            raise InputError(
                f"{name} has {counts[0]:,} lines but {shown_name(target)} has {counts[1]:,}; "
                "line k of one must be the translation of line k of the other"
            )
        yield Pair(source_line, target_line, f"{name}:{number}", corpus=corpus)


def _linked(pairs: Iterator[Pair], files: Sequence[Path], alignment: Path) -> Iterator[Pair]:
    both = enumerate(zip_longest(pairs, read_links(alignment)), 1)
    for number, (pair, links) in both:
        if pair is None or links is None:
            counts = [number - 1, number + sum(1 for _ in both)]  # the shorter, the longer
            corpus, lines = counts if pair is None else reversed(counts)
            raise InputError(
                f"{shown_name(alignment)} has {lines:,} lines but the corpus {' '.join(map(shown_name, files))} "
                f"has {corpus:,} pairs; "
                "line k must hold the links of pair k, and be empty where there are none"
            )
        _require_words(pair, links, f"{shown_name(alignment)}:{number}")
        yield replace(pair, links=links)


def _require_words(pair: Pair, links: Sequence[Link], origin: str) -> None:
    counts = len(words_in(pair.source)), len(words_in(pair.target))
    for link in links:
        for name, word, count in zip(("source", "target"), link, counts, strict=True):
            if word >= count:
                raise InputError(
                    f"{origin}: the link {link[0]}-{link[1]} names {name} word {word}, but {pair.origin} has "
                    f"{count} {name} words; words are counted from 0 and separated by spaces"
                )
