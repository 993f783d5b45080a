"""The language of a text, among the served ones only, by the library py3langid (n-grams of bytes, naive Bayes).

`bench/detection.py` measures it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Sequence
from typing import NamedTuple

from py3langid.langid import MODEL_FILE, LanguageIdentifier

from dragoman.text.languages import base_language
from dragoman.text.raw_lines import has_letter

MAX_CHARACTERS = 2000
"""What is read of a text."""


class Detected(NamedTuple):
    """A language and how sure it is."""

    language: str
    confidence: float
    """From 0 to 100."""


_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa]")
_HAN = re.compile("[\u3400-\u9fff]")
_CHINESE_SETS, _JAPANESE_SET = ("gb2312", "big5"), "shift_jis"
"""Encodings that have the characters of everyday use: simplified and traditional Chinese, Japanese."""


def _east_asian(text: str) -> str | None:
    """Whether a text of Chinese characters is Japanese ("ja") or Chinese ("zh"); None if it does not show.

    The library takes many Japanese lines for Chinese. Kana are Japanese; without them, the characters that both write
    differently decide (simplified 东, traditional 東; 経 is neither): those that the character set of a language lacks.
    """
    kana, han = len(_KANA.findall(text)), _HAN.findall(text)
    if kana and 10 * kana >= len(han):
        return "ja"
    japanese = _lacking(_JAPANESE_SET, han)
    chinese = min(_lacking(name, han) for name in _CHINESE_SETS)
    if japanese == chinese:
        return "ja" if kana else None
    return "ja" if japanese < chinese else "zh"


def _lacking(encoding: str, characters: Sequence[str]) -> int:
    """How many of the characters an encoding does not have."""
    return len(characters) - len("".join(characters).encode(encoding, "ignore").decode(encoding))


class Detector:
    """Ranks languages by how probable they are for a text; a language that the library does not know comes last."""

    def __init__(self, languages: Sequence[str]) -> None:
        """`languages` are codes; of two regions of one language only the first is ever detected."""
        self._languages = list(languages)
        self._by_base: dict[str, str] = {}
        for code in languages:
            self._by_base.setdefault(base_language(code), code)
        self._identifier: LanguageIdentifier | None = None
        self._lock = threading.Lock()
        self.loaded = False

    def rank(self, text: str, among: Collection[str] | None = None) -> list[Detected]:
        """All languages, or those `among` them, the most probable first.

        Confidences are 0 where the text has no letters.
        """
        codes = [code for code in self._languages if among is None or code in among]
        text = text[:MAX_CHARACTERS]
        if len(codes) == 1:
            return [Detected(codes[0], 100.0 if has_letter(text) else 0.0)]
        if not has_letter(text):
            return [Detected(code, 0.0) for code in codes]
        shares = {self._by_base[name]: float(share) for name, share in self._ranked(text) if name in self._by_base}
        known = {code: shares.get(code, 0.0) for code in codes}
        bases = {code: base_language(code) for code in codes}
        if bases[max(codes, key=known.__getitem__)] in ("ja", "zh"):
            written = _east_asian(text)
            if written in bases.values():
                known = {code: float(base == written) for code, base in bases.items()}
        total = sum(known.values()) or 1.0
        ranked = [Detected(code, round(100 * share / total, 1)) for code, share in known.items()]
        return sorted(ranked, key=lambda one: -one.confidence)

    def load(self) -> None:
        """Load the library's model, which takes a quarter of a second; several threads may call this."""
        with self._lock:
            if not self.loaded:
                identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
                known = [base for base in self._by_base if base in set(identifier.nb_classes)]
                if known:
                    identifier.set_languages(known)
                    self._identifier = identifier
                self.loaded = True

    def _ranked(self, text: str) -> list[tuple[str, float]]:
        self.load()
        return [] if self._identifier is None else list(self._identifier.rank(text))
