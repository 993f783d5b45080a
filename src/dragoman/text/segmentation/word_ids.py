"""The ids of the words of a BPE model, computed once for each word: most words of a text are repetitions.

No merge of BPE crosses a space where no piece of the model has one inside, so that the pieces of a line are those of
its words, one after the other. That does not hold bit for bit for a unigram model, which adds the scores of a line.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
import sentencepiece
from numpy.typing import NDArray

from dragoman.text.segmentation.base import SPACE_SYMBOL

MOST = 200_000
"""Words that are remembered, some 50 MB; then all are forgotten, and the frequent ones are soon back."""
_TEXT = "a  b ² … Ａ ﬁ e\u0301 \u00a0x "
"""Of this any normalisation of SentencePiece changes something, but "identity" extra spaces only."""
_LINE_END = "\n"


class WordIds:
    """Encodes lines word by word, to the ids that SentencePiece gives for the lines."""

    def __init__(self, processor: sentencepiece.SentencePieceProcessor) -> None:
        """`processor`: of a model for which `encodes_words` is true."""
        self._processor = processor
        self._forget()

    def _forget(self) -> None:
        self._numbers = {_LINE_END: 0, "": 1}  # of the words, from 0; the end of a line counts as one
        self._counts = array("q", (0, 0))  # ids of each word
        self._ids = array("i")  # of all words, one after the other

    def encode(self, lines: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None:
        """The ids of all lines one after the other, int32 [ids], and their number in each line, int64 [lines].

        None if a line has the symbol of a space, which SentencePiece takes for one.

        Args:
            lines: without control characters.
        """
        text = "".join(f"{line} {_LINE_END} " for line in lines)[:-1]
        if not text or SPACE_SYMBOL in text:
            return None
        words = text.split(" ")
        self._learn(words)
        numbers = np.fromiter(map(self._numbers.__getitem__, words), np.int64, len(words))
        counts = np.array(self._counts)
        starts = np.cumsum(counts) - counts  # of the ids of each word
        found = counts[numbers]
        ends = np.cumsum(found)
        places = np.repeat(starts[numbers] - (ends - found), found) + np.arange(ends[-1])
        return np.array(self._ids, np.int32)[places], np.diff(ends[numbers == 0], prepend=0)

    def _learn(self, words: Sequence[str]) -> None:
        if len(self._numbers) > MOST:
            self._forget()
        new = list(set(words).difference(self._numbers))
        for word, ids in zip(new, self._processor.encode(new, num_threads=1), strict=True):
            self._numbers[word] = len(self._numbers)
            self._counts.append(len(ids))
            self._ids.extend(ids)


def encodes_words(processor: sentencepiece.SentencePieceProcessor) -> bool:
    """Whether the ids of any line are those of its words: a model of BPE that knows spaces and has none in a piece.

    A model that is given can have any normalisation, spaces at the ends of pieces, and none before the first word.
    """
    pieces = [processor.id_to_piece(number) for number in range(processor.get_piece_size())]
    return (
        all(processor.get_score(number).is_integer() for number in range(len(pieces)))  # ranks of merges
        and not any(SPACE_SYMBOL in piece[1:] or " " in piece for piece in pieces)
        and processor.piece_to_id(SPACE_SYMBOL) != processor.unk_id()
        and processor.normalize(_TEXT) == "".join(f"{SPACE_SYMBOL}{word}" for word in _TEXT.split(" ") if word)
    )
