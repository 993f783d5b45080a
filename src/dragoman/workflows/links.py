"""Links from files: compared with gold alignments, combined from both directions, counted into a dictionary.

Each function imports what it alone needs, as these commands spend most of their time on imports.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.alignment.symmetrize import symmetrize
from dragoman.errors import InputError
from dragoman.progress import Console
from dragoman.requests.alignment import AerRequest, DictionaryRequest, SymmetrizationRequest
from dragoman.text.lines import shown_name
from dragoman.text.links import Link, LinkFormat, read_links, write_links
from dragoman.text.scripts import SpacingWatch

if TYPE_CHECKING:
    from dragoman.alignment.aer import Agreement

log = logging.getLogger(__name__)


def compare_links(request: AerRequest) -> tuple[Agreement, dict[str, LinkFormat]]:
    """The agreement of alignments with gold alignments, and the formats of both files.

    Raises:
        InputError: as for `read_alignments` and `agreement`.
    """
    from dragoman.alignment.aer import agreement
    from dragoman.alignment.formats import MarkedLinks, read_alignments

    gold = read_alignments(request.gold, request.gold_format, one_based=request.one_based)
    hypothesis = read_alignments(request.hypothesis, request.hyp_format, one_based=request.one_based)
    # The NAACL format has no line for a sentence without links, so it cannot say that the last ones have none.
    sentences = [list(gold.sentences), list(hypothesis.sentences)]
    longest = max(map(len, sentences))
    for part, form in zip(sentences, (gold.format, hypothesis.format), strict=True):
        if form == "naacl":
            part.extend([MarkedLinks(frozenset(), frozenset())] * (longest - len(part)))
    result = agreement(sentences[0], [marked.possible for marked in sentences[1]])
    return result, {"gold_format": gold.format, "hyp_format": hypothesis.format}


def symmetrize_files(request: SymmetrizationRequest) -> None:
    """Combine the alignments of both directions, as a stream.

    Raises:
        InputError: a file cannot be read, is malformed, or ends before the other.
    """

    def joined() -> Iterator[list[Link]]:
        both = zip_longest(read_links(request.forward), read_links(request.backward))
        for number, (forward, backward) in enumerate(both, 1):
            if forward is None or backward is None:
                shorter = request.forward if forward is None else request.backward
                raise InputError(f"{shown_name(shorter)}: ends after line {number - 1}, but the other file goes on")
            back = [(j, i) for i, j in backward] if request.swapped else backward
            yield symmetrize(forward, back, request.symmetrize)

    write_links(request.output, joined())


def make_dictionary(request: DictionaryRequest) -> None:
    """Count the aligned word pairs and write the most frequent one of each source word.

    Raises:
        InputError: as for `read_pairs`, or the dictionary cannot be written.
    """
    from dragoman.alignment.dictionary import CHANCE, learn_dictionary, write_dictionary
    from dragoman.corpora.corpus import read_pairs

    pairs = read_pairs([[Path(request.source), Path(request.target)]], [Path(request.links)])
    watch = SpacingWatch("segment the text before it is aligned")

    def sentences() -> Iterator[tuple[str, str, Sequence[Link]]]:
        for pair in pairs:
            watch.add(pair.source, pair.target)
            yield pair.source, pair.target, pair.links or []

    learned = learn_dictionary(sentences(), request.min_count)
    write_dictionary(request.output, learned.words)
    Console(quiet=request.general.quiet).info(
        f"dictionary: {len(learned.words):,} source words, of pairs with {learned.minimum} or more links in "
        f"{learned.sentences:,} lines"
    )
    if not learned.words:
        log.warning(
            "the dictionary is empty: the most frequent pair of words has %d of %d links%s",
            learned.most,
            learned.minimum,
            "; lower --min-count" if learned.most else "; the alignments link no words to each other",
        )
    watch.warn()
    if 2 * learned.by_chance > len(learned.words):
        log.warning(
            "%d of %d pairs are linked hardly more often (less than %g times) than random links would be: the model "
            "that aligned the text is perhaps undertrained",
            learned.by_chance,
            len(learned.words),
            CHANCE,
        )
