"""The corpus of an experiment: the user's pairs as plain files, joined to longer ones if requested.

    DIR/corpus/train.source, train.target, dev..., test...     one sentence a line
    DIR/corpus/test.wrong-source, test.wrong-target            the sides of the test set, rotated by half of it
    DIR/corpus/corpus.json                                     what was given, counts, and digests of the files
    DIR/corpus/train.source.words, train.target.words, ...     the same lines tokenised, for phrase-based systems

Joined pairs are constructed: they are up to `join` pairs of the same set with a space between them, of at most
`LONGEST_JOINED` words. Effects of length can be seen in them on a corpus whose sentences are all short. Dev and test
sets are divided into joined pairs of 1 to `join`. The training set has every pair twice, by itself and in a joined
pair: small models learn from short pairs to read their source, which they do not in a few thousand updates of long
ones.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.corpora.corpus import read_pairs
from dragoman.corpora.pairs import Corpora, Pair
from dragoman.errors import InputError, RunError
from dragoman.text.changes import wrong_sources
from dragoman.text.languages import language_of_file
from dragoman.text.lines import read_lines, replace_file, write_lines
from dragoman.text.scripts import is_unsegmented
from dragoman.text.segmentation import DEFAULT_RULES

if TYPE_CHECKING:
    from dragoman.text.segmentation.words import WordSegmentation

SETS = ("train", "dev", "test")
LONGEST_JOINED = 60
"""Words of a joined pair, on either side; a single pair may be longer."""
FEWEST_TEST_PAIRS = 20
"""Fewest pairs of a test set with which a bootstrap over sentences says something."""
_SEED = 1


@dataclass(frozen=True)
class Corpus:
    """The files of an experiment's corpus."""

    folder: Path
    facts: dict[str, Any]
    """`join`, `languages`, and for each set the number of pairs, mean words of both sides, and digests.

    Where several test sets are given, `test sets` has the files and the number of pairs of set-1, set-2 and so on.
    """

    def path(self, name: str, side: str) -> Path:
        """A file, such as that of `train` and `source`; the test set has `wrong-source` and `wrong-target` too."""
        return self.folder / f"{name}.{side}"

    def test_set(self, name: str) -> slice:
        """The lines of one of several test sets, set-1 and so on; all lines where one test set was given."""
        sets = self.facts.get("test sets", {})
        if name not in sets:
            return slice(None)
        ends = list(accumulate(one["pairs"] for one in sets.values()))
        index = list(sets).index(name)
        return slice(ends[index] - sets[name]["pairs"], ends[index])

    @property
    def repeats(self) -> int:
        """How often the training set has each pair."""
        return 2 if self.facts["join"] > 1 else 1

    def words_path(self, name: str, side: str) -> Path:
        """A file with the words of each line separated by spaces (`write_words`)."""
        return self.folder / f"{name}.{side}.words"

    def segmentation(self, side: str) -> WordSegmentation:
        """The words of the language of `source` or `target`; of English, if it is unknown."""
        from dragoman.text.segmentation.words import WordSegmentation  # takes most of half a second

        return WordSegmentation(self.facts["languages"][side == "target"] or DEFAULT_RULES)

    def lines(self, name: str, side: str) -> list[str]:
        """The lines of a file."""
        return list(read_lines(self.path(name, side)))


def write_corpus(
    folder: Path, given: Mapping[str, Corpora], *, join: int = 1, languages: Sequence[str] | None = None
) -> Corpus:
    """Write the corpus, or check that the folder has the same one and write the files that are missing.

    Args:
        given: the user's corpora of `train`, `dev` and `test`.
        join: the greatest number of pairs that are joined; 1 keeps all sets as they are.
        languages: of both sides; None: the languages that the training files are named after.

    Raises:
        InputError: a corpus cannot be read, or the test set has fewer than `FEWEST_TEST_PAIRS` pairs.
        RunError: the folder has another corpus.
    """
    facts: dict[str, Any] = {"join": join, "languages": list(languages or _languages(given["train"]))}
    sides: dict[tuple[str, str], list[str]] = {}
    for name in SETS:
        read = (read_pairs([files]) for files in given[name])
        corpora = [[pair for pair in pairs if pair.source.strip() and pair.target.strip()] for pairs in read]
        pairs = list(chain.from_iterable(corpora))
        if join > 1:
            pairs = pairs + list(_joined(pairs, 2, join)) if name == "train" else list(_joined(pairs, 1, join))
        if name == "test" and len(pairs) < FEWEST_TEST_PAIRS:
            raise InputError(f"the test set has {len(pairs)} pairs; an experiment needs {FEWEST_TEST_PAIRS} or more")
        if not pairs:
            raise InputError(f"the {name} set has no pair with text on both sides")
        facts[name] = {"pairs": len(pairs)}
        for side in ("source", "target"):
            lines = sides[name, side] = [" ".join(getattr(pair, side).splitlines()) for pair in pairs]
            words = sum(len(line.split()) for line in lines) / len(lines)
            digest = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
            facts[name][side] = {"words": round(words, 2), "sha256": digest}
        if name == "test" and len(corpora) > 1 and join == 1:
            facts["test sets"] = {
                f"set-{number}": {"files": [path.name for path in files], "pairs": len(set_pairs)}
                for number, (files, set_pairs) in enumerate(zip(given[name], corpora, strict=True), 1)
            }
    for side in ("source", "target"):
        sides["test", f"wrong-{side}"] = wrong_sources(sides["test", side])
    corpus = Corpus(folder, facts)
    about = folder / "corpus.json"
    known = about.exists()
    if known:
        _require_same(about, facts)
    folder.mkdir(parents=True, exist_ok=True)
    for (name, side), lines in sides.items():
        if not (known and corpus.path(name, side).exists()):  # results may be kept without the text
            write_lines(corpus.path(name, side), lines)
    if not known:
        with replace_file(about) as file:
            json.dump(facts, file, indent=1)
            file.write("\n")
    return corpus


def write_words(corpus: Corpus) -> None:
    """Write the tokenised files that are missing.

    Raises:
        InputError: a side has no spaces between words.
    """
    for side in ("source", "target"):
        segmentation = corpus.segmentation(side)
        for name in SETS:
            path = corpus.words_path(name, side)
            if path.exists():
                continue
            lines = [" ".join(segmentation.segment(line).pieces) for line in read_lines(corpus.path(name, side))]
            if is_unsegmented(lines):
                raise InputError(
                    f"the {side} side of the {name} set has no spaces between words, which a phrase-based system "
                    "needs; give text that is divided into words"
                )
            write_lines(path, lines)


def _languages(corpora: Corpora) -> list[str | None]:
    """The languages whose codes the files are named after; None for a side without one."""
    sides = [{language_of_file(files[side]) for files in corpora if len(files) == 2} - {None} for side in (0, 1)]
    return [side.pop() if len(side) == 1 else None for side in sides]


def _joined(pairs: Sequence[Pair], fewest: int, most: int) -> Iterator[Pair]:
    """Pairs joined from `fewest` to `most` random pairs, or fewer where words or pairs do not suffice."""
    draw = random.Random(_SEED)
    order = draw.sample(pairs, len(pairs))
    while order:
        count = draw.randint(fewest, most)
        parts = [order.pop()]
        while order and len(parts) < count and _words([*parts, order[-1]]) <= LONGEST_JOINED:
            parts.append(order.pop())
        yield Pair(" ".join(part.source for part in parts), " ".join(part.target for part in parts), parts[0].origin)


def _words(pairs: Sequence[Pair]) -> int:
    """Words of the longer side of pairs when they are joined."""
    return max(sum(len(pair.source.split()) for pair in pairs), sum(len(pair.target.split()) for pair in pairs))


def _require_same(about: Path, facts: dict[str, Any]) -> None:
    """Refuse a folder with another corpus.

    Raises:
        RunError: the corpus in it is not the given one, or its description is damaged.
    """
    try:
        earlier = json.loads(about.read_text(encoding="utf-8"))
    except ValueError:
        raise RunError(f"{about}: is not JSON; remove {about.parent} to write the corpus again") from None
    if earlier != facts:
        different = [key for key in facts if not isinstance(earlier, dict) or earlier.get(key) != facts[key]]
        raise RunError(
            f"{about.parent}: has another corpus ({', '.join(different)} differ); give another folder to --out, or "
            "the same files and --join"
        )
