"""Vector representations of words, phrases and sentences.

words:      rows of the embedding matrix; the mean over the segments of a word (Cho et al. 2014, figure 4)
phrases:    the source summary c from which a decoder without attention starts: the last state of the top encoder layer,
            or tanh(V h_N) of it if the model has such a layer (Cho et al. 2014, figure 5)
sentences:  the final states of all encoder layers, and the cell states of LSTMs, concatenated: the 8000 numbers of
            Sutskever et al. 2014, figure 2

With attention, the last two may contain little information, because the decoder attends to every word.
"""

from __future__ import annotations

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
    """The most frequent entries of a vocabulary, which are its first ones."""
    vocabulary = _side(run, side).vocabulary
    last = min(len(vocabulary), len(SPECIALS) + count)
    return [LabelledText(piece) for piece in vocabulary.pieces(range(len(SPECIALS), last))]


def embed_words(run: Run, side: SideName, lines: Sequence[LabelledText], *, entries: bool = False) -> Points:
    """The embeddings of words.

    Args:
        entries: whether the texts are vocabulary entries instead of raw text.

    Raises:
        ConfigError: the run was exported.
    """
    model, text = run.model(), _side(run, side)
    ids = [text.vocabulary.ids([line.text]) if entries else text.encode(line.text).ids for line in lines]
    ids = [[index for index in word if index != UNK] for word in ids]
    table = (model.source if side == "source" else model.target).weight.detach().float().cpu().numpy()
    known = [(line, table[rows].mean(axis=0)) for line, rows in zip(lines, ids, strict=True) if rows]
    return _points(known, len(lines))


def summarise_phrases(run: Run, lines: Sequence[LabelledText]) -> Points:
    """The encoder's summaries of phrases.

    Raises:
        ConfigError: the run was exported.
    """
    from dragoman.model.representation import summaries

    return _encoded(run, lines, summaries)


def sentence_states(run: Run, lines: Sequence[LabelledText]) -> Points:
    """The final encoder states of sentences.

    Raises:
        ConfigError: the run was exported.
    """
    from dragoman.model.representation import final_states

    return _encoded(run, lines, final_states)


VectorFunction = Callable[["TranslationModel", NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]


def _encoded(run: Run, lines: Sequence[LabelledText], encode: VectorFunction) -> Points:
    model = run.model()
    sources = [run.source.encode(line.text).ids for line in lines]
    full = [place for place, ids in enumerate(sources) if ids]
    full.sort(key=lambda place: len(sources[place]))  # to reduce padding
    found: dict[int, NDArray[np.float32]] = {}
    for start in range(0, len(full), BATCH):
        places = full[start : start + BATCH]
        source, lengths = pad([sources[place] for place in places], eos=run.engine.source_eos)
        found.update(zip(places, encode(model, source, lengths), strict=True))
    return _points([(lines[place], found[place]) for place in sorted(found)], len(lines))


def _points(known: Sequence[tuple[LabelledText, NDArray[np.float32]]], given: int) -> Points:
    vectors = np.stack([vector for _, vector in known]) if known else np.zeros((0, 0), np.float32)
    return Points([line for line, _ in known], vectors, given - len(known))


def _side(run: Run, side: SideName) -> TextSide:
    return run.source if side == "source" else run.target
