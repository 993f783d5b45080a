"""The best single model that two cores learn from Multi30k in three hours: data diversification, then a long training.

    python bench/best_model.py ../shared/data/multi30k-en-de-cs --scratch DIR
    python bench/best_model.py --table

Two models of each direction rewrite the 29,000 pairs (as the row `diversified` of `combining.py`, but with the search
of the preset), and the models of `STUDENTS` learn from the pairs and the four rewritten texts. They are exported in
int8. The dev set chooses one of them and its search among `BEAMS` and `REWARDS`; that one alone translates
test_2016_flickr, once. Two commands run at a time, each on one thread. A command that has ended is not repeated, and an
interrupted training is resumed. The result is bench/results/best-model.json: BLEU of every choice on the dev set, BLEU
of the chosen one on the test set (cased, 13a, and lower-cased as in `quality.py`), processor seconds of each command.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import sacrebleu
from combining import DEV, SEEDS, TEST, Models
from quality import lowercased_tokenised_bleu
from recipe_variations import Settings, sizes
from timed_commands import run

from dragoman.report.facts import machine_name
from dragoman.text.lines import read_lines

RESULTS = Path(__file__).parent / "results" / "best-model.json"
UPDATES_OF_TEACHERS = 9_600
Result = TypeVar("Result")
BEAMS = (5, 10)
REWARDS = (0.5, 0.75, 1.0)
"""What search adds to the log-probability for each segment."""


class Student(NamedTuple):
    """A model that learns from the rewritten text: its updates, and settings over the preset `standard`."""

    updates: int
    settings: Settings = ()


STUDENTS: Mapping[str, Student] = {
    "standard": Student(45_000),
    "wider": Student(32_000, sizes(256, 384)),
}
"""Two sizes that take as long as each other."""


class Choice(NamedTuple):
    """An exported student and its search."""

    student: str
    beam: int
    reward: float


def main() -> None:
    """Train, choose and measure, unless that is done; print the table."""
    options = parse()
    if not options.table and not RESULTS.exists():
        models = Models(options.data.resolve(), options.scratch.resolve(), UPDATES_OF_TEACHERS, settings=())
        result = measured(models)
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(table(json.loads(RESULTS.read_text(encoding="utf-8"))))


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, nargs="?", help="folder of Multi30k")
    parser.add_argument("--scratch", type=Path, help="folder for runs and text")
    parser.add_argument("--table", action="store_true", help="only print the result that is there")
    options = parser.parse_args()
    if not options.table and (options.data is None or options.scratch is None):
        parser.error("give the folder of Multi30k and --scratch DIR, or --table")
    return options


def measured(models: Models) -> dict[str, Any]:
    """Train the students, choose one on the dev set, and measure it on the test set."""
    two_at_a_time([partial(write, seed) for seed in SEEDS[:2] for write in (models.translated, models.back_translated)])
    scores = two_at_a_time([partial(dev_bleu, models, name, student) for name, student in STUDENTS.items()])
    dev = {choice: score for found in scores for choice, score in found.items()}
    chosen = max(dev, key=dev.__getitem__)
    found = translated(models, chosen, TEST)
    tokenised = models.data / "tok" / f"{TEST}.lc.norm.tok.de.xz"
    return {
        "students": {name: student._asdict() for name, student in STUDENTS.items()},
        "dev": [choice._asdict() | {"bleu": score} for choice, score in dev.items()],
        "chosen": chosen._asdict(),
        "bleu": bleu(models, found, TEST),
        "bleu_lowercased_tokenised": round(lowercased_tokenised_bleu(found, tokenised), 2),
        "processor_seconds": models.commands.seconds(),
        "processor": machine_name(),
        "date": time.strftime("%Y-%m-%d"),
    }


def two_at_a_time(calls: Sequence[Callable[[], Result]]) -> list[Result]:
    """What the calls return, in their order; after an error or Ctrl-C no further one begins."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        jobs = [pool.submit(call) for call in calls]
        try:
            return [job.result() for job in jobs]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def dev_bleu(models: Models, name: str, student: Student) -> dict[Choice, float]:
    """Train and export a student; BLEU on the dev set with each search."""
    trained = models.diversified(name, student.updates, student.settings)
    models.commands.once(f"export {name}", ["export", trained, "--int8", "--overwrite", "--out", exported(name)])
    choices = [Choice(name, beam, reward) for beam, reward in itertools.product(BEAMS, REWARDS)]
    return {choice: bleu(models, translated(models, choice, DEV), DEV) for choice in choices}


def exported(student: str) -> str:
    """The folder of an exported student."""
    return f"{student}.int8"


def translated(models: Models, choice: Choice, part: str) -> list[str]:
    """Translate a part of the data with an exported student."""
    out = f"{part}.{choice.student}.{choice.beam}.{choice.reward}"
    search = ["--beam", str(choice.beam), "--normalisation", "none", "--word-penalty", str(-choice.reward)]
    run(["translate", exported(choice.student), "-i", models.file(part, "en"), "-o", out, *search], models.folder)
    return list(read_lines(models.folder / out))


def bleu(models: Models, found: list[str], part: str) -> float:
    """Cased BLEU (13a) of translations of a part of the data."""
    return round(sacrebleu.corpus_bleu(found, [list(read_lines(models.file(part, "de")))]).score, 2)


def table(result: dict[str, Any]) -> str:
    """A Markdown table of BLEU on the dev set, and a line on the test set and the time."""
    lines = ["| student | beam | reward | BLEU, dev |", "| --- | --: | --: | --: |"]
    for row in result["dev"]:
        lines.append(f"| {row['student']} | {row['beam']} | {row['reward']} | {row['bleu']:.1f} |")
    hours = sum(result["processor_seconds"].values()) / 3600
    chosen = Choice(**result["chosen"])
    scores = f"{result['bleu']} BLEU, {result['bleu_lowercased_tokenised']} lower-cased and tokenised"
    return "\n".join([*lines, f"\n{TEST}, {chosen}: {scores}; {hours:.2f} processor hours"])


if __name__ == "__main__":
    main()
