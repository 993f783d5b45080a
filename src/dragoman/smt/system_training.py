"""Training a phrase-based system: word alignment, phrase extraction and scoring, language model, moses.ini.

SYSTEM/moses.ini                                              the features, their files, the initial weights
SYSTEM/phrase-table.gz
SYSTEM/reordering-table.wbe-msd-bidirectional-fe.gz
SYSTEM/lm.arpa                                                language model of the target side
SYSTEM/aligned.txt                                            word alignment of the training text, Pharaoh format
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from dragoman.alignment.symmetrize import DEFAULT_METHOD, symmetrize
from dragoman.corpora.corpus import read_pairs
from dragoman.errors import InputError
from dragoman.progress import Console
from dragoman.requests.smt import ALIGNER, SystemModels, SystemTrainingRequest, WordAlignment
from dragoman.scoring.nbest import escape_word
from dragoman.smt.arpa import write_arpa
from dragoman.smt.kneser_ney import estimate
from dragoman.smt.moses_ini import (
    LANGUAGE_MODEL,
    PHRASE_TABLE,
    REORDERING_TABLE,
    write_configuration,
)
from dragoman.smt.phrase_scoring import AlignedPair, count_lexical_table, count_pairs, phrase_table, reordering_table
from dragoman.text.folders import new_folder
from dragoman.text.lines import read_lines, write_lines
from dragoman.text.links import Link, write_links
from dragoman.text.words import words_in

_SPLIT_BY_KENLM = re.compile("[\0\v\f\r]")
ALIGNED = "aligned.txt"
Corpus = Sequence[tuple[list[str], list[str]]]
"""Source and target words of each pair."""


def train_system(request: SystemTrainingRequest) -> None:
    """Train a system on parallel text with space-separated words, into a folder that does not exist yet.

    Raises:
        InputError: a file cannot be read or written, is malformed, or contains words that the formats do not allow.
    """
    console, words, models = Console(quiet=request.general.quiet), request.words, request.models
    folder = Path(request.out)
    if folder.exists():
        raise InputError(f"{folder}: exists already; give a new folder, or remove it")
    corpora = [[Path(name) for name in files] for files in request.train]
    pairs = list(read_pairs(corpora, [Path(name) for name in words.alignments]))
    corpus = [
        (_escaped(words_in(pair.source), pair.origin), _escaped(words_in(pair.target), pair.origin)) for pair in pairs
    ]
    with new_folder(folder) as new:
        console.info(f"{len(pairs)} pairs")
        # Before the alignment, which may take hours: it reads more files.
        _write_language_model(new, [target for _, target in corpus], models, console)
        links = [list(pair.links or ()) for pair in pairs] if words.alignments else _align(corpus, words, console)
        write_links(new / ALIGNED, links)
        aligned = [(source, target, one) for (source, target), one in zip(corpus, links, strict=True)]
        _write_tables(new, aligned, models.max_phrase_length, console)
        write_configuration(new, order=models.order, distortion_limit=models.distortion_limit)


def _escaped(words: list[str], origin: str) -> list[str]:
    """The words as tables and language models have them, after a check that KenLM does not divide them."""
    for word in words:
        if _SPLIT_BY_KENLM.search(word):
            raise InputError(
                f"{origin}: the word {word!r} has a control character at which KenLM divides words; remove it, for "
                r"example with tr -d '\000\013\014\015'"
            )
    return [escape_word(word) for word in words]


def _align(corpus: Corpus, words: WordAlignment, console: Console) -> list[list[Link]]:
    """Align in both directions with a statistical aligner, and symmetrize."""
    from dragoman.alignment.statistical import align_statistically

    aligner = words.aligner or ALIGNER
    console.info(f"aligning with {aligner}, in both directions")
    forward = align_statistically(corpus, aligner, console=console)
    backward = align_statistically([(target, source) for source, target in corpus], aligner, console=console)
    return [
        symmetrize(links, [(i, j) for j, i in reversed_links], words.symmetrize or DEFAULT_METHOD)
        for links, reversed_links in zip(forward, backward, strict=True)
    ]


def _write_tables(folder: Path, aligned: Sequence[AlignedPair], longest: int, console: Console) -> None:
    table = count_lexical_table(aligned)
    counted = count_pairs(aligned, longest)
    if not counted:
        raise InputError("no phrase pairs: the links of the training text allow none; check the alignment")
    console.info(f"{len(counted)} distinct phrase pairs")
    write_lines(folder / PHRASE_TABLE, phrase_table(counted, table))
    write_lines(folder / REORDERING_TABLE, reordering_table(counted))


def _write_language_model(folder: Path, targets: Sequence[list[str]], models: SystemModels, console: Console) -> None:
    more = (
        _escaped(words_in(line), f"{path}:{number}")
        for path in models.monolingual
        for number, line in enumerate(read_lines(path), 1)
    )
    model = estimate(chain(targets, more), models.order)
    counts = " ".join(str(len(order.words)) for order in model.orders)
    console.info(f"language model: {counts} n-grams of 1 to {models.order} words")
    if model.fallback_orders:
        orders = ", ".join(map(str, model.fallback_orders))
        console.info(f"too little text to estimate the discounts of {orders}-grams; fallback discounts are used")
    write_arpa(folder / LANGUAGE_MODEL, model)
