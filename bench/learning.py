"""A simulated translator: a document in its order, each segment translated, then its reference given as the correction.

    python bench/learning.py RUN SOURCE TARGET --dev DEV.SOURCE DEV.TARGET --segments 300

RUN is a run that has not seen the document. Measured is what the translator would be shown, in four ways: `static`, the
run as it is; `memory`, a translation memory of the corrections so far: the translation of an equal source, that of the
nearest source from `NEAR` on, else the run's; `learning`, the run that learns from each correction; `both`. Times are
those of the processor. Results go to bench/results/NAME.json.

Keys are what the translator presses with `static` and with `both`: one to accept what is offered as far as it is right,
those of the next word and a space, whereupon the model offers the rest anew, one to confirm. A term is a word of the
references with `TERM` letters or more that the training targets do not have; counted is whether it is shown where it
is wanted for the second time, in another sentence.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import dragoman
from dragoman.data.store import Store
from dragoman.evaluation.metrics import bleu, chrf, corpus_score, ter_metric
from dragoman.learning import updates
from dragoman.learning.learner import BLOCK, Learner
from dragoman.translation_memory.memory import TranslationMemory

RESULTS = Path(__file__).parent / "results"
NEAR = 0.9
STRETCH = 50
"""Segments of a point of the curves."""
TERM = 4
WORD = re.compile(r"\w+")

Pairs = list[tuple[str, str]]


def main() -> None:
    """Simulate, measure, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--dev", nargs=2, type=Path, required=True)
    parser.add_argument("--segments", type=int, default=300)
    parser.add_argument("--name", default="learning", help="of the file of results")
    options = parser.parse_args()
    pairs = list(itertools.islice(_pairs(options.source, options.target), options.segments))
    dev = list(_pairs(*options.dev))
    translator = dragoman.load(options.run, device="cpu", threads=1)
    static = [one.text for one in translator.translate([source for source, _ in pairs])]
    shown = {"static": static, "memory": [], "learning": [], "both": []}
    memory = TranslationMemory((), translator._run.source.formed)
    keys = {"static": 0, "both": 0}
    times: list[float] = []
    counts: list[int] = []
    with tempfile.TemporaryDirectory() as folder, Learner(options.run, folder, device="cpu", threads=1) as learner:
        learning = learner.run.translator()
        before = _bleu(learning, dev)
        for (source, target), fixed in zip(pairs, static, strict=True):
            learnt = learning.translate(source).text
            kept = _kept(memory, source)
            shown["memory"].append(fixed if kept is None else kept)
            shown["learning"].append(learnt)
            shown["both"].append(learnt if kept is None else kept)
            keys["static"] += _keys(translator, source, target, fixed)
            keys["both"] += _keys(learning, source, target, shown["both"][-1])
            memory.add(source, target)
            start = time.process_time()
            try:
                found = learner.learn(source, target)
            except dragoman.DragomanError as error:
                print(error)
                continue
            times.append(time.process_time() - start)
            counts.append(found.updates)
            if found.number % STRETCH == 0:
                print(found.number, flush=True)
        after = _bleu(learning, dev)
        taken_back = len(learner.taken_back)
        words = _training_words(learner)
        again = [one.text for one in learning.translate([source for source, _ in pairs])]
    references = [target for _, target in pairs]
    half = len(pairs) // 2
    results = {
        "segments": len(pairs),
        "rule": {"updates": updates.UPDATES, "rate": updates.RATE, "copies": updates.COPIES, "enough": updates.ENOUGH},
        "shown": {
            name: {
                "all": _scores(lines, references),
                "second half": _scores(lines[half:], references[half:]),
                f"TER of each {STRETCH}": [
                    _scores(lines[place : place + STRETCH], references[place : place + STRETCH])["TER"]
                    for place in range(0, len(pairs), STRETCH)
                ],
            }
            for name, lines in shown.items()
        },
        "keys for each character of the references": {
            name: round(count / sum(map(len, references)), 3) for name, count in keys.items()
        },
        "terms shown when wanted for the second time": _terms(shown, pairs, words),
        "exact when translated again, %": {
            "static": _exact(static, references),
            "learning": _exact(again, references),
            "memory": _exact([memory.exact(source) or "" for source, _ in pairs], references),
        },
        "dev, BLEU": {"pairs": len(dev), "before": before, "after": after},
        "blocks taken back": taken_back,
        "blocks": len(times) // BLOCK,
        "seconds of the processor for a correction": {
            "median": round(statistics.median(times), 2),
            "of each block, with the guard": round(sum(times) / len(times), 2),
        },
        "updates for a correction, mean": round(statistics.mean(counts), 2),
    }
    (RESULTS / f"{options.name}.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=2))


def _pairs(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    return ((pair.source, pair.target) for pair in dragoman.read_pairs([[source, target]]))


def _kept(memory: TranslationMemory, source: str) -> str | None:
    exact = memory.exact(source)
    near = memory.near(source, 1) if exact is None else []
    return near[0].target if near and near[0].score >= NEAR else exact


def _keys(translator: dragoman.Translator, source: str, target: str, offered: str) -> int:
    """The keys that a person presses until a translation stands there."""
    keys, done = 1, ""
    while offered != target:
        same = sum(1 for _ in itertools.takewhile(lambda two: two[0] == two[1], zip(offered, target, strict=False)))
        keys += same > len(done)
        if same == len(target):  # and more, which one key takes away
            return keys + 1
        right = target.rfind(" ", 0, same + 1) + 1  # the words that are right
        end = target.find(" ", max(right, len(done), 1))
        done, before = (target if end < 0 else target[: end + 1]), max(right, len(done))
        keys += len(done) - before
        offered = translator.translate(source, prefix=done).text if done != target else target
    return keys


def _training_words(learner: Learner) -> set[str]:
    target = learner.run.target
    store = Store.open(learner.base.train_data, (learner.run.source.vocabulary, target.vocabulary))
    return {word for row in range(len(store)) for word in WORD.findall(target.decode(store.target.line(row)))}


def _terms(shown: Mapping[str, Sequence[str]], pairs: Pairs, known: set[str]) -> dict[str, int]:
    """How many terms, words that are not known, are wanted a second time, and how many of them each system shows."""
    first: dict[str, str] = {}
    counts = dict.fromkeys(("wanted", *shown), 0)
    for place, (source, target) in enumerate(pairs):
        for word in dict.fromkeys(WORD.findall(target)):
            if len(word) < TERM or word in known:
                continue
            if first.setdefault(word, source) != source:
                known.add(word)
                counts["wanted"] += 1
                for name, lines in shown.items():
                    counts[name] += word in WORD.findall(lines[place])
    return counts


def _bleu(translator: dragoman.Translator, pairs: Pairs) -> float:
    found = translator.translate([source for source, _ in pairs], beam=1)
    return round(bleu([one.text for one in found], [target for _, target in pairs]), 2)


def _scores(lines: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    found = {"TER": corpus_score(ter_metric(), lines, references), "BLEU": bleu(lines, references)}
    return {name: round(score, 2) for name, score in {**found, "chrF": chrf(lines, references)}.items()}


def _exact(lines: Sequence[str], references: Sequence[str]) -> float:
    return round(100 * sum(one == other for one, other in zip(lines, references, strict=True)) / len(lines), 1)


if __name__ == "__main__":
    main()
