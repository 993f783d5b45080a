"""Subwords: SentencePiece models (Kudo and Richardson 2018), BPE or unigram, trained here or given.

Models trained here
- keep the text as it is (normalisation "identity"): `join(segment(line)) == line` for every line that has single
  spaces between words and none at its ends. SentencePiece's usual NFKC would turn "…" into "...", "²" into "2" and a
  no-break space into a space, and no translation could contain them;
- split numbers into digits, so that an unseen number can be copied;
- cover every character of the training text unless they would fill more than half of the vocabulary (Chinese,
  Japanese), and then 99.95 % of it, as SentencePiece's documentation advises;
- depend on the text alone: the same lines give the same bytes, on any number of cores.

The ids of the words of a BPE model are computed once for each word, because most words of a text are repetitions. No
merge of BPE crosses a space where no piece of the model has one inside, so that the pieces of a line are those of its
words, one after the other. That does not hold bit for bit for a unigram model, which adds the scores of a line.
"""

from __future__ import annotations

import hashlib
import io
import random
import re
import struct
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np
import sentencepiece
from numpy.typing import NDArray

from dragoman.errors import ConfigError, InputError, RunError
from dragoman.stored_files import read_regular
from dragoman.text.lines import not_found, replace_file
from dragoman.text.raw_lines import printable
from dragoman.text.segmentation.base import (
    NONE,
    SPACE_SYMBOL,
    Entries,
    SegmentedLines,
    Segments,
    in_order_of_appearance,
    index_pieces,
    save_description,
)
from dragoman.text.segmentation.case_marks import (
    CAPITAL,
    CAPITALS,
    LOWER_CASE,
    MARKS,
    OF_TEXT,
    CaseMarks,
    mark_case,
    restore_case,
)
from dragoman.text.vocabulary import SPECIALS, UNK

_SAMPLE = 1_000_000  # lines; more hardly change the model
_LONGEST = 10_000  # characters of a line that a model is trained on
_JOINED = 10
"""One of so many entries of a vocabulary with case marks is at most a mark and a piece."""
_JOINED_COUNT = 50
"""Occurrences in the training text from which a mark and a piece are one piece."""
_SPACES = re.compile(" {2,}")
_QUIET = 4  # log level above that of fatal errors, which are raised as exceptions


class SubwordSegmentation:
    """Pieces of a SentencePiece model; a space is the "▁" at the start of the piece that follows it.

    A run of characters that the model does not know becomes one piece, unchanged.
    """

    def __init__(self, model: bytes, case: CaseMarks | None = None) -> None:
        """With `case`, the model is one of words in lower case.

        Raises:
            RuntimeError: the model is damaged.
        """
        sentencepiece.set_min_log_level(_QUIET)
        self.model = model
        """A serialised SentencePiece model."""
        self.case = case
        """Puts the case of words into marks, or None where pieces have it."""
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self._words: WordIds | Literal[False] | None = None  # None: not known whether words can be encoded

    def __reduce__(self) -> tuple[type[SubwordSegmentation], tuple[bytes, CaseMarks | None]]:
        return SubwordSegmentation, (self.model, self.case)

    @classmethod
    def load(cls, path: Path, digest: str, case: CaseMarks | None = None) -> SubwordSegmentation:
        """Read a model file of a run folder and compare its SHA-256.

        Raises:
            RunError: the file is missing or damaged.
        """
        try:
            model = read_regular(path)
        except FileNotFoundError:
            raise RunError(f"{path}: missing; the run folder is not complete") from None
        except OSError as error:
            raise RunError(f"{path}: cannot be read: {error.strerror}; take it from a copy of the run folder") from None
        if hashlib.sha256(model).hexdigest() != digest:
            raise RunError(f"{path}: damaged, or another run's model; take the file from a copy of the run folder")
        try:
            return cls(model, case)
        except (RuntimeError, ValueError):
            raise RunError(f"{path}: not a SentencePiece model; take the file from a copy of the run folder") from None

    def segment(self, line: str) -> Segments:
        line = printable(line)
        if self.case is not None:
            marked = mark_case(line)
            return self.case.insert(self._segment(marked.text), marked.marks)
        return self._segment(line)

    def _segment(self, line: str) -> Segments:
        encoded = self._processor.encode(line, return_type="offset_mapping")
        # A piece of the library includes the space before the word; a span covers the word only.
        offsets = [
            (end - len(line[start:end].lstrip(" ")), end) if line.startswith(" ", start, end) else (start, end)
            for start, end in encoded["offsets"]
        ]
        return Segments(encoded["pieces"], offsets)

    def segment_lines(self, lines: Sequence[str]) -> SegmentedLines:
        """Segment many raw lines, without places: the pieces that `segment` gives, several times as fast."""
        printed = [printable(line) for line in lines]
        if self.case is None:
            return self._segment_printed(printed)
        marked = [mark_case(_SPACES.sub(" ", line.translate(OF_TEXT)).strip(" ")) for line in printed]
        segmented = self.case.insert_all(self._segment_printed([line.text for line in marked]), marked)
        return index_pieces(self.segment(line).pieces for line in lines) if segmented is None else segmented

    def _segment_printed(self, printed: Sequence[str]) -> SegmentedLines:
        ids, lengths = self._ids_of(printed)
        surfaces: dict[str, int] = {}  # of pieces that the model does not know, numbered from the size of the model on
        names = self._names
        ends = np.cumsum(lengths)
        for position in np.flatnonzero(ids == self._processor.unk_id()).tolist():
            line = int(np.searchsorted(ends, position, side="right"))
            pieces = self._processor.encode(printed[line], return_type="offset_mapping")["pieces"]
            surface = pieces[position - int(ends[line] - lengths[line])]
            ids[position] = surfaces.setdefault(surface, len(names) + len(surfaces))
        return in_order_of_appearance([*names, *surfaces], ids, lengths)

    def _ids_of(self, lines: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The ids of all lines, int32 [ids], and their number in each line, int64 [lines]."""
        if self._words is None:
            self._words = WordIds(self._processor) if encodes_words(self._processor) else False
        if self._words and (encoded := self._words.encode(lines)) is not None:
            return encoded
        rows = self._processor.encode(lines, num_threads=1)  # lists: an array a line would take a microsecond more
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        return np.fromiter(chain.from_iterable(rows), np.int32, int(lengths.sum())), lengths

    @cached_property
    def _names(self) -> list[str]:
        """All pieces of the model by id."""
        return [self._processor.id_to_piece(number) for number in range(self._processor.get_piece_size())]

    def join(self, pieces: Sequence[str]) -> str:
        if self.case is None:
            return str(self._processor.decode(list(pieces)))
        parts = CaseMarks.split(pieces)
        text = restore_case(self._processor.decode(parts))
        return text.removeprefix(" ") if parts and parts[0] in MARKS else text

    def unknown_characters(self, line: str) -> str:
        """The characters of a line that the model does not know, as its normalisation writes them."""
        line = printable(line)
        pieces = self._segment(line if self.case is None else mark_case(line).text).pieces
        unknown = self._processor.unk_id()
        return "".join(piece for piece in pieces if self._processor.piece_to_id(piece) == unknown)

    def extended(self, characters: Sequence[str]) -> SubwordSegmentation:
        """The segmentation whose model knows more characters: each is a piece of its own, and other pieces stay.

        Args:
            characters: each once, and none that the model knows.
        """
        # Appended to a serialised message of Protocol Buffers, entries extend its lists. The score is below that of
        # all pieces, and stays an integer in a model of BPE, where it is the rank of a merge.
        scores = [self._processor.get_score(number) for number in range(self._processor.get_piece_size())]
        model = self.model + b"".join(_entry(one, min(scores) - 1) for one in characters)
        return SubwordSegmentation(model, self.case)

    def save(self, path: Path, entries: Entries = NONE) -> None:
        with replace_file(model_path(path), binary=True) as file:
            file.write(self.model)
        description = {"sha256": hashlib.sha256(self.model).hexdigest(), **entries}
        if self.case is not None:
            description["case_marks"] = self.case.joined
        save_description(path, "sentencepiece", description)


def _entry(piece: str, score: float) -> bytes:
    """A piece as an entry of a serialised SentencePiece model: field 1, a message of a string (1) and a float (2)."""
    text = piece.encode()
    assert len(text) < 100, "lengths up to 127 take one byte"
    fields = bytes((0x0A, len(text))) + text + b"\x15" + struct.pack("<f", score)
    return bytes((0x0A, len(fields))) + fields


def model_path(path: Path) -> Path:
    """The model file beside the description at `path`: source.model for source.segmentation.json."""
    return path.with_name(path.name.split(".")[0] + ".model")


def read_model(path: Path) -> bytes:
    """Read a SentencePiece model that the user gives.

    Raises:
        InputError: the file is missing, unreadable or not a SentencePiece model.
    """
    try:
        model = read_regular(path)
        SubwordSegmentation(model)
    except FileNotFoundError:
        raise not_found(path) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (RuntimeError, ValueError):
        raise InputError(f"{path}: not a SentencePiece model; give the .model file that spm_train wrote") from None
    return model


def train_case_marks(lines: Iterable[str], kind: Literal["bpe", "unigram"], vocabulary: int) -> SubwordSegmentation:
    """Train a model on the lines in lower case, and choose the pieces that are one with a mark for a capital.

    Most words with a capital are then no longer than without marks: names, German nouns, the first word of a line.

    Raises:
        InputError, ConfigError: as for `train_model`.
    """
    sample = _sample(lines)
    joined_size = vocabulary // _JOINED
    model = train_model((mark_case(line).text for line in sample), kind, vocabulary - len(MARKS) - joined_size)
    segmented = SubwordSegmentation(model, CaseMarks()).segment_lines(sample)
    names = segmented.pieces
    pairs: Counter[tuple[int, int]] = Counter()
    for mark in (CAPITAL, CAPITALS, LOWER_CASE):
        positions = np.flatnonzero(segmented.ids[:-1] == names.index(mark)) if mark in names else np.zeros(0, np.int64)
        counts = np.bincount(segmented.ids[positions + 1])
        pairs.update({(names.index(mark), piece): int(counts[piece]) for piece in np.flatnonzero(counts).tolist()})
    joined = [
        names[mark] + names[piece] for (mark, piece), count in pairs.most_common(joined_size) if count >= _JOINED_COUNT
    ]
    return SubwordSegmentation(model, CaseMarks(joined))


def train_model(lines: Iterable[str], kind: Literal["bpe", "unigram"], vocabulary: int) -> bytes:
    """Train a SentencePiece model on at most a million of the lines.

    Args:
        vocabulary: entries of the vocabulary of the pieces, special symbols included; a small text gives fewer.

    Raises:
        InputError: every line is blank.
        ConfigError: the vocabulary is too small for the characters of the text.
    """
    sample = [printable(line)[:_LONGEST] for line in _sample(lines)]
    characters = set(chain.from_iterable(sample)) - {" "}
    if not characters:
        raise InputError("every line of the training text is blank, so no segmentation can be trained")
    size = vocabulary - len(SPECIALS)
    too_small = ConfigError(
        f"vocabulary: {vocabulary} is too small for text of {len(characters):,} different characters; "
        f"give at least {len(characters) + len(SPECIALS) + 1:,}"
    )
    if size < 1:  # which SentencePiece calls an internal error
        raise too_small
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sample),
            model_writer=model,
            model_type=kind,
            vocab_size=size + 1,  # plus its unknown piece, which never appears
            hard_vocab_limit=False,
            character_coverage=1.0 if len(characters) <= size // 2 else 0.9995,
            normalization_rule_name="identity",
            split_digits=True,
            bos_id=-1,
            eos_id=-1,
            pad_id=-1,
            unk_surface=SPECIALS[UNK],
            max_sentence_length=4 * _LONGEST,  # bytes; longer lines would be left out
            num_threads=4,  # a constant, because it is written into the model
            minloglevel=_QUIET,
        )
    except RuntimeError as error:
        if "required_chars" not in str(error):
            raise
        raise too_small from None
    return model.getvalue()


def _sample(lines: Iterable[str]) -> list[str]:
    """A uniform sample of at most _SAMPLE lines, the same on every call."""
    chance = random.Random(1)
    sample: list[str] = []
    for number, line in enumerate(lines):
        if number < _SAMPLE:
            sample.append(line)
        elif (index := chance.randrange(number + 1)) < _SAMPLE:
            sample[index] = line
    return sample


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
        sizes = counts[numbers]
        ends = np.cumsum(sizes)
        positions = np.repeat(starts[numbers] - (ends - sizes), sizes) + np.arange(ends[-1])
        return np.array(self._ids, np.int32)[positions], np.diff(ends[numbers == 0], prepend=0)

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
