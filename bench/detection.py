"""How often the server detects the language of a line, among the languages that it serves.

    python bench/detection.py ../shared/data

Of each language up to `--lines` lines (1,000) of one file are detected, once among all languages here (a server of
many), and once among that language and English (English: German), as a server of a single pair does it. Lines are
grouped by length, since short ones are hard. Japanese is detected in three further texts: the rule that tells it from
Chinese was written when the lines of `FILES` had been looked at. Results go to bench/results/detection.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from dragoman.serving.detection import Detector
from dragoman.text.lines import read_lines

RESULTS = Path(__file__).parent / "results" / "detection.json"
FILES = {
    "cs": "multi30k-en-de-cs/test_2016_flickr.cs.gz",
    "de": "multi30k-en-de-cs/test_2016_flickr.de.gz",
    "en": "multi30k-en-de-cs/test_2016_flickr.en.gz",
    "fr": "wmt-newstest-en-de-fr/newstest2013.fr.xz",
    "ja": "kftt-ja-en/test.ja.xz",
    "ko": "korean-en/tatoeba-test-v2021-08-07.ko.xz",
    "ur": "urdu-en-4ref/dev.ur-en.ur.xz urdu-en-4ref/devtest.ur-en.ur.xz",
    "zh": "align-zh-en-tsinghua/zhen.src-tgt.xz",
}
"""The files of each language; that of Chinese has English after a bar."""
FURTHER = {
    "ja": {
        "KFTT dev": "kftt-ja-en/dev.ja.xz",
        "KFTT tune": "kftt-ja-en/tune.ja.xz",
        "Tanaka": "tanaka-small-en-ja/train.ja.xz",
    }
}
"""Further texts of a language."""
ALIGNED = ("bg", "da", "es", "et", "hu", "it", "nl", "pt", "ru", "sl")
"""Languages of align-en-xx-xlwa, in the second column."""
SHORT = 40
"""Characters below which a line counts as short."""


def main() -> None:
    """Print and write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, help="folder of the data sets")
    parser.add_argument("--lines", type=int, default=1000, help="lines of each language")
    options = parser.parse_args()
    languages = sorted([*FILES, *ALIGNED])
    among_all = Detector(languages)
    result: dict[str, Any] = {"library": f"py3langid {version('py3langid')}", "languages": {}}
    print(f"{'':4} {'lines':>6} {'among all':>10} {'short':>12} {'of two':>8}")
    for language in languages:
        lines = list(islice(_lines(options.data, language), options.lines))
        short = [line for line in lines if len(line) < SHORT]
        of_two = Detector([language, "de" if language == "en" else "en"])
        row = {
            "lines": len(lines),
            "among_all": _share(among_all, lines, language),
            "short_lines": len(short),
            "short_among_all": _share(among_all, short, language),
            "of_two": _share(of_two, lines, language),
        }
        result["languages"][language] = row
        among, few = f"{row['among_all']:.1%}", f"{row['short_among_all']:.0%} of {len(short)}"
        print(f"{language:4} {row['lines']:6} {among:>10} {few:>12} {row['of_two']:>8.1%}")
    result["further"] = {}
    for language, texts in FURTHER.items():
        for name, file in texts.items():
            lines = list(islice(_lines_of(options.data, file), options.lines))
            found = {"language": language, "lines": len(lines), "among_all": _share(among_all, lines, language)}
            result["further"][name] = found
            print(f"{language:4} {len(lines):6} {found['among_all']:>10.1%} {name}")
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _share(detector: Detector, lines: list[str], language: str) -> float:
    """The share of lines of which the language is detected."""
    right = sum(detector.rank(line)[0].language == language for line in lines)
    return round(right / max(len(lines), 1), 4)


def _lines(data: Path, language: str) -> Iterator[str]:
    """The lines of a language that are not empty."""
    if language in ALIGNED:
        path = data / "align-en-xx-xlwa" / f"{language}.train.tsv.xz"
        lines = (line.split("\t")[1] for line in read_lines(str(path)))
    else:
        return _lines_of(data, FILES[language])
    return (line for line in lines if line.strip())


def _lines_of(data: Path, files: str) -> Iterator[str]:
    """The lines of some files that are not empty, without what stands after a bar."""
    for file in files.split():
        for line in read_lines(str(data / file)):
            text = line.partition(" ||| ")[0]
            if text.strip():
                yield text


if __name__ == "__main__":
    main()
