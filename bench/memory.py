"""How long a translation memory of a million units takes to build, its size, and how quickly it answers.

    python bench/memory.py ../shared/data

The units are the English sides of the data sets, then the same with words changed, up to `--units`; their targets are
the sources in capitals. The queries are units in which a word or two was replaced, left out or added. What is found is
compared with a search of all units. Times are those of the processor, on one thread. Results go to
bench/results/memory.json.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import lzma
import random
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import extractOne

from dragoman.translation_memory.memory import LEAST, TranslationMemory

RESULTS = Path(__file__).parent / "results" / "memory.json"
SETS = ("kftt-ja-en/*train*.en.*", "tatoeba-en-fr/all.en.*", "libreoffice-help/en-de.train.en.*")
QUERIES, COMPARED = 500, 60


def main() -> None:
    """Build, measure, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--units", type=int, default=1_000_000)
    options = parser.parse_args()
    draw = random.Random(1)
    lines = list(dict.fromkeys(_lines(options.data)))
    start = time.process_time()
    changed = (_changed(line, draw) for line in itertools.cycle(lines))
    memory = TranslationMemory((), lambda line: line)
    for line in itertools.chain(lines, changed):
        memory.add(line, line.upper())
        if len(memory) == options.units:
            break
    built = time.process_time() - start
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    queries = [_changed(draw.choice(lines), draw) for _ in range(QUERIES)]
    times, best = [], []
    for query in queries:
        start = time.process_time()
        found = memory.near(query)
        times.append(1000 * (time.process_time() - start))
        best.append(found[0].score if found else 0.0)
    wanted = [_best(memory, query) for query in queries[:COMPARED]]
    there = [(found, score) for found, score in zip(best, wanted, strict=False) if score >= LEAST]
    results = {
        "units": len(memory),
        "different lines of the data": len(lines),
        "build, seconds of the processor": round(built, 1),
        "memory of the process at most, MiB": round(size / 1024),
        "answer, ms of the processor": {
            name: round(float(np.percentile(times, share)), 1)
            for name, share in (("median", 50), ("95 %", 95), ("longest", 100))
        },
        "queries": QUERIES,
        "queries with a near match": sum(score > 0 for score in best),
        "compared with all units": {
            "queries with a near match": len(there),
            "found one": sum(found > 0 for found, _ in there),
            "found the best score": sum(abs(found - score) < 1e-9 for found, score in there),
        },
    }
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=2))


def _lines(data: Path) -> Iterator[str]:
    for pattern in SETS:
        for path in sorted(data.glob(pattern)):
            opened = gzip.open if path.suffix == ".gz" else lzma.open
            with opened(path, "rt", encoding="utf-8", newline="\n") as file:
                yield from (line.rstrip("\n") for line in file)


def _changed(line: str, draw: random.Random) -> str:
    """The line with one or two words replaced by others, left out, or added."""
    words = line.split(" ")
    for _ in range(draw.randint(1, 2)):
        place = draw.randrange(len(words))
        words[place : place + draw.randint(0, 1)] = draw.choice(([], [draw.choice(words)[::-1]]))
        words = words or [line]
    return " ".join(words)


def _best(memory: TranslationMemory, query: str) -> float:
    found = extractOne(query, memory._index.texts, scorer=Levenshtein.normalized_similarity, score_cutoff=LEAST)
    return found[1] if found else 0.0


if __name__ == "__main__":
    main()
