"""Vector representations of words, phrases and sentences.

words:      rows of the embedding matrix; the mean over the segments of a word (Cho et al. 2014, figure 4)
phrases:    the source summary c from which a decoder without attention starts: the last state of the top encoder layer,
            or tanh(V h_N) of it if the model has such a layer (Cho et al. 2014, figure 5)
sentences:  the final states of all encoder layers, and the cell states of LSTMs, concatenated: the 8000 numbers of
            Sutskever et al. 2014, figure 2

With attention, the last two may contain little information, because the decoder attends to every word.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import InputError
from dragoman.runs.opening import Run
from dragoman.text.padding import pad
from dragoman.text.side import SideName, TextSide
from dragoman.text.vocabulary import SPECIALS, UNK

if TYPE_CHECKING:
    from dragoman.model.translation import TranslationModel

log = logging.getLogger(__name__)

BATCH = 64
"""Lines per batch of the encoder."""


class LabelledText(NamedTuple):
    """A text and the group that determines its colour."""

    text: str
    group: str = ""


class Points(NamedTuple):
    """N texts and their vectors, float32 [N, W]."""

    lines: list[LabelledText]
    vectors: NDArray[np.float32]
    left_out: int
    """Number of lines without a vector: empty lines and unknown words."""


def read_lines_and_groups(lines: Iterable[str], origin: str) -> list[LabelledText]:
    """Parse lines of a text, optionally followed by a tab and its group.

    Raises:
        InputError: a line has more than one tab.
    """
    read = []
    for number, line in enumerate(lines, 1):
        text, *groups = line.split("\t")
        if len(groups) > 1:
            raise InputError(f"{origin}:{number}: {len(groups)} tabs; a line is a text, or a text, a tab and its group")
        read.append(LabelledText(text, groups[0] if groups else ""))
    return read


def frequent_words(run: Run, side: SideName, count: int) -> list[LabelledText]:
    """Return the most frequent entries of a vocabulary, which are its first ones."""
    vocabulary = _side(run, side).vocabulary
    last = min(len(vocabulary), len(SPECIALS) + count)
    return [LabelledText(piece) for piece in vocabulary.pieces(range(len(SPECIALS), last))]


def embed_words(run: Run, side: SideName, lines: Sequence[LabelledText], *, entries: bool = False) -> Points:
    """Look up the embeddings of words.

    Args:
        entries: whether the texts are vocabulary entries instead of raw text.

    Raises:
        ConfigError: the run was exported.
    """
    model, text = run.model(), _side(run, side)
    ids = [text.vocabulary.ids([line.text]) if entries else text.encode(line.text).ids for line in lines]
    ids = [[index for index in word if index != UNK] for word in ids]
    table = (model.source if side == "source" else model.target).weight.detach().float().cpu().numpy()
    return _points(lines, [table[rows].mean(axis=0) if rows else None for rows in ids])


def summarise_phrases(run: Run, lines: Sequence[LabelledText]) -> Points:
    """Compute the encoder's summaries of phrases; warns of phrases without a known word.

    Raises:
        ConfigError: the run was exported.
    """
    from dragoman.model.translation import summaries

    return _encoded(run, lines, summaries)


def sentence_states(run: Run, lines: Sequence[LabelledText]) -> Points:
    """Compute the final encoder states of sentences; warns of sentences without a known word.

    Raises:
        ConfigError: the run was exported.
    """
    from dragoman.model.translation import final_states

    return _encoded(run, lines, final_states)


def _encoded(
    run: Run,
    lines: Sequence[LabelledText],
    encode: Callable[[TranslationModel, NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]],
) -> Points:
    """The vectors of the lines that have segments; `encode` makes those of a batch, ids [B, S] -> [B, n]."""
    model = run.model()
    sources = [run.source.encode(line.text).ids for line in lines]
    if unknown := sum(bool(ids) and set(ids) == {UNK} for ids in sources):
        log.warning(
            "the model knows no word of %d of the %d texts; texts of the same length have the same point",
            unknown,
            len(lines),
        )
    full = sorted((index for index, ids in enumerate(sources) if ids), key=lambda index: len(sources[index]))
    vectors: list[NDArray[np.float32] | None] = [None] * len(lines)
    for start in range(0, len(full), BATCH):  # lines of similar lengths, to reduce padding
        indices = full[start : start + BATCH]
        source, lengths = pad([sources[index] for index in indices], eos=run.engine.source_eos)
        for index, vector in zip(indices, encode(model, source, lengths), strict=True):
            vectors[index] = vector
    return _points(lines, vectors)


def _points(lines: Sequence[LabelledText], vectors: Sequence[NDArray[np.float32] | None]) -> Points:
    """The points of the lines that have a vector, [n] each."""
    known = [(line, vector) for line, vector in zip(lines, vectors, strict=True) if vector is not None]
    stacked = np.stack([vector for _, vector in known]) if known else np.zeros((0, 0), np.float32)
    return Points([line for line, _ in known], stacked, len(lines) - len(known))


def _side(run: Run, side: SideName) -> TextSide:
    return run.source if side == "source" else run.target
