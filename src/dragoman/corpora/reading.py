"""What a command says about the corpora that it reads: which columns they have, and where lines about them go.

A corpus is opened in many places, several times by one command. So the choice is made once, for a block
(`reading_corpora`), and `corpus.read_pairs` follows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dragoman.config.schema import TextConfig
from dragoman.corpora.encodings import require_encoding
from dragoman.text.languages import base_language


class Reading:
    """How corpora are read in a block."""

    def __init__(
        self,
        columns: Sequence[str] | None = None,
        languages: Sequence[str] | None = None,
        encoding: str | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.columns = columns
        """The columns of source and target, by name or number; None to find them."""
        self.languages = languages
        """The languages of source and target, which find columns that are named after languages."""
        self.encoding = encoding
        """The encoding of files that are not UTF-8; None to recognise it."""
        self._say = say
        self._said: set[str] = set()
        self._first_languages: tuple[str, str, str] | None = None
        """The first file whose languages are known, and its source and target language."""

    def expect(self, text: TextConfig) -> None:
        """Take the languages of a model for those of its corpora, unless others are given."""
        source, target = text.source.language, text.target.language
        if source and target and self.languages is None and self is not _ANY:
            self.languages, self._first_languages = (source, target), None

    def conflict(self, path: Path, languages: tuple[str | None, str | None]) -> str | None:
        """Note the languages of a file; return those of an earlier file if they differ."""
        source, target = (None if code is None else base_language(code) for code in languages)
        if source is None or target is None or self is _ANY:
            return None
        self._first_languages = self._first_languages or (str(path), source, target)
        first, *both = self._first_languages
        return None if both == [source, target] else f"{first} is {both[0]} to {both[1]}"

    def say(self, line: str) -> None:
        """Say a line about a file once, however often the file is read."""
        if self._say is not None and line not in self._said:
            self._said.add(line)
            self._say(line)


_ANY = Reading()
"""Outside of blocks; files that are read there have nothing to do with each other."""

_reading = _ANY


def current_reading() -> Reading:
    """Return how corpora are read here."""
    return _reading


@contextmanager
def reading_corpora(
    columns: Sequence[str] | None = None,
    *,
    languages: Sequence[str] | None = None,
    encoding: str | None = None,
    say: Callable[[str], None] | None = None,
) -> Iterator[None]:
    """Decide how corpora are read in a block: by `read_pairs`, `train` and all else that reads pairs.

    Args:
        columns: the columns of source and target in files with several: names or numbers (from 1) of columns, keys.
            Without it they are found from a header, from language codes and from the text.
        languages: the languages of source and target, such as ("ko", "en"), which put the two sides into order where
            columns have the names of languages; without it, those of the first run that is opened.
        encoding: the encoding of text that is not UTF-8 and has no byte order mark, such as "cp949"; without it, it is
            recognised where it is clear.
        say: called with a line about each file whose columns are found, whose encoding is recognised, or that loses
            something.

    Raises:
        ConfigError: there is no encoding of this name.

    >>> from pathlib import Path
    >>> _ = Path("terms.csv").write_text("en,ko,note\\nsea,바다,noun\\n", encoding="utf-8")
    >>> with dragoman.reading_corpora(("ko", "en")):
    ...     next(dragoman.read_pairs([["terms.csv"]])).source
    '바다'
    """
    global _reading
    outer, _reading = (
        _reading,
        Reading(columns, languages, None if encoding is None else require_encoding(encoding), say),
    )
    try:
        yield
    finally:
        _reading = outer
