"""The source side of an ensemble: each member has a segmentation of its own; the target vocabulary is shared.

The distributions of the members are combined by `engines/ensemble_engine.py`.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.extract import Span, words_of
from dragoman.config.schema import Combination
from dragoman.engines.ensemble_engine import (
    EnsembleEngine,
    EnsembleMember,
    MemberSource,
    normalised_weights,
)
from dragoman.engines.protocol import Engine, ShortlistEngine
from dragoman.errors import ConfigError
from dragoman.text.segmentation.protected import ProtectedSegmentation, innermost
from dragoman.text.side import Encoded, TextSide
from dragoman.text.spelling import TypingError
from dragoman.text.vocabulary import Vocabulary
from dragoman.text.words import bare_words, raw_words
from dragoman.translation.source_encoding import (
    EncodedLine,
    SourceBatch,
    Truncator,
    engine_threads,
    engine_workers,
    pad_sources,
)


class Ensemble:
    """Several models that translate together: a `SourceEncoder` that makes an engine for each batch of lines."""

    def __init__(
        self,
        members: Sequence[tuple[Engine, TextSide]],
        combination: Combination = "probabilities",
        weights: Sequence[float] | None = None,
    ) -> None:
        """`members` are engines with their source sides; `weights` are divided by their sum, None weights them equally.

        Shortlists are ignored: members may list different words, and given targets are scored step by step.

        Raises:
            ConfigError: the number of weights is wrong, or one is not above 0; only some members protect items.
        """
        protecting = [isinstance(side.segmentation, ProtectedSegmentation) for _, side in members]
        if any(protecting) and not all(protecting):
            raise ConfigError(
                f"member {protecting.index(False) + 1} of the ensemble has no placeholders for protected items, but "
                f"member {protecting.index(True) + 1} has; combine models that were trained with text.protected, or "
                "models without"
            )
        shares = normalised_weights(weights, len(members))
        engines = [engine.full_vocabulary() if isinstance(engine, ShortlistEngine) else engine for engine, _ in members]
        self.members = [EnsembleMember(engine, share) for engine, share in zip(engines, shares, strict=True)]
        self.sources = [side for _, side in members]
        self._combination = combination
        self._truncate = Truncator()

    @property
    def attention_shift(self) -> int:
        return max(member.engine.attention_shift for member in self.members)

    @property
    def attends(self) -> bool:
        return any(member.engine.attends for member in self.members)

    @property
    def workers(self) -> int:
        return min(engine_workers(member.engine) for member in self.members)

    def threads(self, count: int | None) -> AbstractContextManager[int]:
        return engine_threads([member.engine for member in self.members], count)

    def encode(self, text: str, origin: str) -> EncodedLine:
        """Encode the line for each member; the columns of the attention are the words of the raw line.

        The first member finds the protected items, so that a placeholder is the same item for all of them.
        """
        words = raw_words(text)
        masked = self.sources[0].mask(text)
        parts = [self._truncate(side.encode_masked(masked), origin) for side in self.sources]
        return EncodedLine(parts, [text[start:end] for start, end in words], words)

    def batch(self, lines: Sequence[EncodedLine]) -> SourceBatch:
        """An engine for these lines only; its `source` [B, I] holds no more than the number of words."""
        words = np.array([max(1, len(line.offsets)) for line in lines], dtype=np.int64)
        columns = int(words.max())
        sources = [self._member_source(number, lines, columns) for number in range(len(self.members))]
        engine = EnsembleEngine(self.members, self._combination, sources, columns)
        segments = np.array([line.segments for line in lines], dtype=np.int64)
        return SourceBatch(engine, np.ones((len(lines), columns), dtype=np.int64), words, segments)

    def _member_source(self, number: int, lines: Sequence[EncodedLine], columns: int) -> MemberSource:
        """The lines as member `number` reads them, [B, S]; the raw lines have up to `columns` words."""
        parts = [line.parts[number] for line in lines]
        source, lengths = pad_sources(self.members[number].engine, [part.ids for part in parts])
        pairs = zip(parts, lines, strict=True)
        words = [_words_of_segments(part, line, columns, source.shape[1]) for part, line in pairs]
        return MemberSource(source, lengths, np.stack(words))

    def typing_errors(self, text: str) -> list[TypingError]:
        return self.sources[0].typing_errors(text)

    def copied_words(self, text: str, line: EncodedLine) -> list[Span]:
        return bare_words(text)


def _words_of_segments(part: Encoded, line: EncodedLine, columns: int, width: int) -> NDArray[np.int64]:
    """[S] the word of the raw line that each segment belongs to, S being `width`; `columns` for none."""
    words = np.full(width, columns, dtype=np.int64)
    indices = words_of(part.offsets, line.offsets)
    words[: len(indices)] = np.where(indices >= 0, indices, columns)
    return words


def require_same_target(names: Sequence[str], vocabularies: Sequence[Vocabulary]) -> None:
    """Refuse members with different target vocabularies, and name the first difference.

    Raises:
        ConfigError: a target vocabulary differs from the first one's.
    """
    first, *others = vocabularies
    for name, other in zip(names[1:], others, strict=True):
        if other.digest == first.digest:
            continue
        ids = range(min(len(first), len(other)))
        different = next((token for token in ids if first.pieces([token]) != other.pieces([token])), None)
        detail = (
            "the longer one continues after that"
            if different is None
            else f"entry {different} is {first.pieces([different])[0]!r} in the first "
            f"and {other.pieces([different])[0]!r} in the second"
        )
        raise ConfigError(
            f"{names[0]} and {name} cannot form an ensemble: their target vocabularies differ "
            f"({len(first):,} and {len(other):,} entries; {detail}); train one with the text files of the other"
        )


def require_same_segmentation(names: Sequence[str], sides: Sequence[TextSide]) -> None:
    """Refuse members that segment a given target differently: one cannot score the segments of the other.

    Raises:
        ConfigError: a target side is segmented in another way than the first one.
    """
    first, *others = (pickle.dumps(side.segmentation) for side in sides)  # all that it depends on
    for name, other in zip(names[1:], others, strict=True):
        if other != first:
            raise ConfigError(
                f"{names[0]} and {name} cannot score given translations together: they segment the target differently "
                f"({_kind(sides[0])} and {_kind(sides[names.index(name)])}); "
                "train one with the text files of the other"
            )


def _kind(side: TextSide) -> str:
    return type(innermost(side.segmentation)).__name__.removesuffix("Segmentation").lower()
