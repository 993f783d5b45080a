"""Shortlists for exported models: estimated from sentence pairs, with the part of the output layers that they need."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.ibm1 import Pairs, enough_pairs, list_translations, train_ibm1
from dragoman.corpora.corpus import read_pairs
from dragoman.data.store import Store
from dragoman.engines.shortlist import OutputColumns, Shortlist, other_words
from dragoman.errors import ConfigError, RunError
from dragoman.export.linear import array
from dragoman.export.quantisation import quantise_columns
from dragoman.model.translation import TranslationModel
from dragoman.runs.layout import RunFolder
from dragoman.text.side import TextSide, encode_pair
from dragoman.text.vocabulary import SPECIALS

TRANSLATIONS = 50
"""The largest number of translations listed for a source word."""


def training_pairs(folder: RunFolder, source: TextSide, target: TextSide) -> Pairs:
    """Yield the segmented pairs that a run was trained on, in random order.

    Raises:
        RunError: the run folder no longer contains them, or they are damaged.
    """
    if not folder.train_data.exists():
        raise RunError(
            f"{folder.path}: has no data/train any more, from which a shortlist is learnt; give sentence pairs with "
            "--shortlist-corpus SRC TGT, or export without --shortlist"
        )
    store = Store.open(folder.train_data, (source.vocabulary, target.vocabulary))
    order = np.random.default_rng(1).permutation(len(store))
    return map(store.pair, order)


def given_pairs(files: Sequence[Path], source: TextSide, target: TextSide) -> Pairs:
    """Yield the segmented pairs of a corpus; `files` as for training.

    Raises:
        InputError: as for `read_pairs`.
    """
    for pair in read_pairs([files]):
        encoded = encode_pair((source, target), pair.source, pair.target)
        yield encoded[0].ids, encoded[1].ids


def require_fewer(most: int, vocabulary_size: int) -> None:
    """Check that a shortlist is shorter than the vocabulary.

    Raises:
        ConfigError: it would contain the whole vocabulary.
    """
    if most >= vocabulary_size:
        raise ConfigError(
            f"--shortlist {most}: the target vocabulary has {vocabulary_size:,} entries, and a shortlist must be "
            "shorter; a fifth of the vocabulary is a good beginning"
        )


def make_shortlist(
    models: Sequence[TranslationModel],
    pairs: Pairs,
    sizes: tuple[int, int],
    most: int,
    *,
    int8: bool,
    placeholders: Sequence[int] = (),
) -> Shortlist:
    """Make a shortlist of special symbols, `placeholders`, the `most` frequent words, and the most likely translations
    of the source.

    Args:
        pairs: ids of both sides.
        sizes: the sizes of the source and the target vocabulary.
        most: number of frequent words on every shortlist.
    """
    sample = list(enough_pairs(pairs))
    counts = np.bincount([word for _, target in sample for word in target], minlength=sizes[1])
    frequent = np.argsort(-counts, kind="stable")[:most]
    always = np.union1d([*range(len(SPECIALS)), *placeholders], frequent)
    lists = list_translations(train_ibm1(sample, *sizes), sizes[0], TRANSLATIONS)
    return shortlist_of(models, always, *lists, int8=int8)


def shortlist_of(
    models: Sequence[TranslationModel],
    always: NDArray[np.int64],
    offsets: NDArray[np.int64],
    words: NDArray[np.int64],
    *,
    int8: bool,
) -> Shortlist:
    """Make a shortlist from the words of every shortlist and the words that each source word adds.

    Args:
        always: the words of every shortlist, ascending.
        offsets: source word i adds `words[offsets[i] : offsets[i + 1]]`.
        words: target words; some may be in `always`, too.
    """
    others = other_words(always, models[0].target.num_embeddings)
    new = ~np.isin(words, always)
    offsets = np.concatenate(([0], np.cumsum(new)))[offsets]
    layers = [output_layer(model, others, int8=int8) for model in models]
    return Shortlist(always, offsets, np.searchsorted(others, words[new]), layers)


def output_layer(model: TranslationModel, words: NDArray[np.int64], *, int8: bool) -> OutputColumns:
    """Return the output layer of these words [U], as `engines/shortlist.py` passes it to the step graph."""
    weight = array(model.output.weight)[words]
    bias = np.zeros(len(words), np.float32) if model.output.bias is None else array(model.output.bias)[words]
    if int8:
        return OutputColumns(*quantise_columns(weight), bias)
    return OutputColumns(np.ascontiguousarray(weight.T), None, bias)
