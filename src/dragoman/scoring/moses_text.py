"""Text in the files of Moses: what has a meaning there is escaped where we write, and undone where we read.

A list or a table divides its fields at triple bars. Moses also divides the factors of a word at "|", takes a word
in brackets such as [X] for a non-terminal, and language models have the words <s>, </s> and <unk>. These words
are written as escape-special-chars.perl of Moses writes them. All others are left as they are, so that text which that
program has escaped already is not escaped twice. A word that contains &#124; is therefore read as one with "|".
"""

from __future__ import annotations

import re

BARS = "|||"
"""What divides the fields of a line."""
_ESCAPED_BARS = "&#124;&#124;&#124;"
_RESERVED = ("<s>", "</s>", "<unk>", "<UNK>")  # KenLM takes the last for the third
_ESCAPED = {word.replace("<", "&lt;").replace(">", "&gt;"): word for word in _RESERVED}
_ESCAPES = {word: escaped for escaped, word in _ESCAPED.items()}
_WORD = re.compile(r"[^ \t]+")


def escape_bars(text: str) -> str:
    """Text that can be a field of a line: triple bars are escaped, and nothing else."""
    return text.replace(BARS, _ESCAPED_BARS)


def unescape_bars(text: str) -> str:
    """Undo `escape_bars`."""
    return text.replace(_ESCAPED_BARS, BARS)


def escape_word(word: str) -> str:
    """A word that Moses and language models take as a word."""
    if len(word) > 1 and word[0] == "[" and word[-1] == "]":
        word = f"&#91;{word[1:-1]}&#93;"
    return _ESCAPES.get(word, word.replace("|", "&#124;"))


def unescape_words(text: str) -> str:
    """Undo `escape_word` in each word of a text; words are separated by spaces and tabs."""
    return _WORD.sub(lambda found: _unescape(found[0]), text) if "&" in text else text


def _unescape(word: str) -> str:
    if word.startswith("&#91;") and word.endswith("&#93;"):
        word = f"[{word[5:-5]}]"
    return _ESCAPED.get(word, word.replace("&#124;", "|"))
