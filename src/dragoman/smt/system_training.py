"""Training a system: links between words, phrase pairs, their tables, a language model, and the moses.ini of all.

SYSTEM/moses.ini                                              the features, their files, the first weights
SYSTEM/phrase-table.gz
SYSTEM/reordering-table.wbe-msd-bidirectional-fe.gz
SYSTEM/lm.arpa                                                of the target side
SYSTEM/aligned.txt                                            links of the training text, Pharaoh format
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from dragoman.alignment.symmetrize import symmetrize
from dragoman.errors import InputError
from dragoman.progress import Console
from dragoman.scoring.nbest import BARS
from dragoman.smt.arpa import write_arpa
from dragoman.smt.kneser_ney import SPECIAL, estimate
from dragoman.smt.lexical_weights import learn_lexicon
from dragoman.smt.moses_ini import (
    LANGUAGE_MODEL,
    PHRASE_TABLE,
    REORDERING_TABLE,
    write_configuration,
)
from dragoman.smt.phrase_scoring import AlignedPair, count_pairs, phrase_table, reordering_table
from dragoman.smt.settings import Recipe
from dragoman.text.corpus import Pair, read_pairs
from dragoman.text.lines import not_found, read_lines, write_lines
from dragoman.text.links import Link, write_links

ALIGNED = "aligned.txt"
Corpus = Sequence[tuple[list[str], list[str]]]
"""Source and target words of each pair."""


def train(
    corpora: Sequence[Sequence[Path]],
    folder: Path,
    recipe: Recipe,
    console: Console,
    *,
    alignments: Sequence[Path] = (),
    monolingual: Sequence[Path] = (),
) -> None:
    """Train a system from parallel text whose words stand between blanks, into a folder that does not exist yet.

    Args:
        alignments: none, or links for each corpus, instead of an aligner's.
        monolingual: more text of the target language for the language model.

    Raises:
        InputError: a file cannot be read or written, is malformed, or holds words that the formats do not allow.
    """
    with _new_folder(folder) as new:
        pairs = list(read_pairs(corpora, alignments))
        corpus = [_words(pair) for pair in pairs]
        console.info(f"{len(pairs)} pairs")
        links = [list(pair.links or ()) for pair in pairs] if alignments else _align(corpus, recipe, console)
        write_links(new / ALIGNED, links)
        aligned = [(source, target, one) for (source, target), one in zip(corpus, links, strict=True)]
        _write_tables(new, aligned, recipe, console)
        _write_language_model(new, [target for _, target in corpus], monolingual, recipe, console)
        write_configuration(new, order=recipe.order, distortion_limit=recipe.distortion_limit)


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """A folder beside the wanted one, which takes its place at the end of a successful `with` block."""
    if folder.exists():
        raise InputError(f"{folder}: exists already; give a new folder, or remove it")
    if not folder.absolute().parent.is_dir():
        raise not_found(folder.absolute().parent)
    beside = folder.with_name(f".{folder.name}.{os.getpid()}.new")
    beside.mkdir()
    try:
        yield beside
        beside.rename(folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def _words(pair: Pair) -> tuple[list[str], list[str]]:
    return _allowed(pair.source.split(), pair.origin), _allowed(pair.target.split(), pair.origin)


def _allowed(words: list[str], place: str) -> list[str]:
    """The words, none of which means something else in tables and language models."""
    for word in words:
        if BARS in word or word in SPECIAL:
            raise InputError(
                f"{place}: the word {word!r} has a meaning of its own in phrase tables or language models; replace it, "
                "as escape-special-chars.perl of Moses does"
            )
    return words


def _align(corpus: Corpus, recipe: Recipe, console: Console) -> list[list[Link]]:
    """By a statistical aligner, in both directions."""
    from dragoman.alignment.statistical import align_statistically

    console.info(f"aligning with {recipe.aligner}, both ways")
    ahead = align_statistically(corpus, recipe.aligner, console=console)
    back = align_statistically([(target, source) for source, target in corpus], recipe.aligner, console=console)
    return [
        symmetrize(there, [(i, j) for j, i in home], recipe.symmetrization)
        for there, home in zip(ahead, back, strict=True)
    ]


def _write_tables(folder: Path, aligned: Sequence[AlignedPair], recipe: Recipe, console: Console) -> None:
    lexicon = learn_lexicon(aligned)
    counted = count_pairs(aligned, recipe.phrase_length)
    if not counted:
        raise InputError("no phrase pairs: the links of the training text allow none; check the alignment")
    console.info(f"{len(counted)} distinct phrase pairs")
    write_lines(folder / PHRASE_TABLE, phrase_table(counted, lexicon))
    write_lines(folder / REORDERING_TABLE, reordering_table(counted))


def _write_language_model(
    folder: Path, targets: Sequence[list[str]], monolingual: Sequence[Path], recipe: Recipe, console: Console
) -> None:
    more = (
        _allowed(line.split(), f"{path}:{number}")
        for path in monolingual
        for number, line in enumerate(read_lines(path), 1)
    )
    model = estimate(chain(targets, more), recipe.order)
    counts = " ".join(str(len(order.words)) for order in model.orders)
    console.info(f"language model: {counts} n-grams of 1 to {recipe.order} words")
    if model.guessed_discounts:
        orders = ", ".join(map(str, model.guessed_discounts))
        console.info(f"too little text to tell the discounts of n-grams of {orders} words; they are set to fixed ones")
    write_arpa(folder / LANGUAGE_MODEL, model)
