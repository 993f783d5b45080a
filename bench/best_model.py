"""The best single model that two cores learn from Multi30k in three hours: data diversification and distillation.

    python bench/best_model.py ../shared/data/multi30k-en-de-cs --scratch DIR
    python bench/best_model.py --table

In the first round two models of each direction rewrite the 29,000 pairs (as the row `diversified` of `combining.py`,
but with the search of the preset), and students, of two sizes, learn from the pairs and the four rewritten texts. In
the second round these students, as an ensemble, translate the sources of the pairs and of the two back-translations,
which are sources that nobody wrote; new students learn from the pairs, the back-translations and these three texts.

Students are exported in int8. In each round the dev set chooses one of them and its search among `BEAMS` and `REWARDS`;
that one alone translates test_2016_flickr, once. Two commands run at a time, each on one thread. A command that has
ended is not repeated, and an interrupted training is resumed. The result is bench/results/best-model.json, a list of
rounds: BLEU of every choice on the dev set, BLEU of the chosen one on the test set (cased, 13a, and lower-cased as in
`quality.py`), processor seconds of each command that the round adds. Rounds that are there are not repeated; the second
goes on from the scratch folder of the first.
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
from combining import BEAM, DEV, SEEDS, TEST, Models, back_translations
from quality import lowercased_tokenised_bleu
from recipe_variations import EARLIER_PRESET, Settings, sizes
from timed_commands import run

from dragoman.report.facts import machine_name
from dragoman.text.lines import read_lines

RESULTS = Path(__file__).parent / "results" / "best-model.json"
UPDATES_OF_TEACHERS = 9_600
Result = TypeVar("Result")
BEAMS = (5, 10)
REWARDS = (0.5, 0.75, 1.0)
"""What search adds to the log-probability for each segment."""
REWARD = 0.75
"""That of the preset, with which students together translate for the next round."""


class Student(NamedTuple):
    """A model that learns from the rewritten text: its updates, and settings over the preset `standard`."""

    updates: int
    settings: Settings = ()


WIDER = sizes(256, 384)
ROUNDS: Sequence[Mapping[str, Student]] = (
    {"standard": Student(45_000), "wider": Student(32_000, WIDER)},
    {"standard-2": Student(24_000), "wider-2": Student(18_000, WIDER)},
)
"""The students of each round: two sizes that take as long as each other."""
Texts = Sequence[Sequence[str]]
"""Training texts, each of one or two files."""


class Choice(NamedTuple):
    """An exported student and its search."""

    student: str
    beam: int
    reward: float


def main() -> None:
    """Train, choose and measure in the rounds that are missing; print the table."""
    options = parse()
    rounds = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    for students in ROUNDS[len(rounds) :] if not options.table else ():
        models = Models(options.data.resolve(), options.scratch.resolve(), UPDATES_OF_TEACHERS, EARLIER_PRESET)
        rounds.append(measured(models, students, TEXTS[len(rounds)](models)))
        RESULTS.write_text(json.dumps(rounds, indent=1) + "\n", encoding="utf-8")
    print(table(rounds))


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


def diversified_texts(models: Models) -> Texts:
    """The pairs, and what two models of each direction make of either side."""
    seeds = SEEDS[:2]
    rewritten = two_at_a_time(
        [partial(write, seed) for seed in seeds for write in (models.translated, models.back_translated)]
    )
    return [models.real("en", "de"), *([text] for text in rewritten)]


def distilled_texts(models: Models) -> Texts:
    """The pairs, the back-translations, and what the first students together make of the sources of each."""
    sources = [models.real("en", "de"), *([back_translations(seed)] for seed in SEEDS[:2])]
    teachers = [str(models.folder / name) for name in ROUNDS[0]]

    def distilled(number: int) -> list[str]:
        pairs = f"distilled-{number}.tsv"
        command = ["distill", *teachers, *sources[number], "-o", pairs, *search(BEAM, REWARD), "--threads", "1"]
        models.commands.once(f"distilled {number}", command)
        return [pairs]

    return [*sources, *two_at_a_time([partial(distilled, number) for number in range(len(sources))])]


TEXTS: Sequence[Callable[[Models], Texts]] = (diversified_texts, distilled_texts)
"""What makes the texts of each round."""


def measured(models: Models, students: Mapping[str, Student], texts: Texts) -> dict[str, Any]:
    """Train the students, choose one on the dev set, and measure it on the test set."""
    scores = two_at_a_time([partial(dev_bleu, models, name, student, texts) for name, student in students.items()])
    dev = {choice: score for found in scores for choice, score in found.items()}
    chosen = max(dev, key=dev.__getitem__)
    found = translated(models, chosen, TEST)
    tokenised = models.data / "tok" / f"{TEST}.lc.norm.tok.de.xz"
    return {
        "students": {name: student._asdict() for name, student in students.items()},
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


def dev_bleu(models: Models, name: str, student: Student, texts: Texts) -> dict[Choice, float]:
    """Train and export a student; BLEU on the dev set with each search."""
    trained = models.learnt(name, texts, student.updates, student.settings)
    models.commands.once(f"export {name}", ["export", trained, "--int8", "--overwrite", "--out", exported(name)])
    choices = [Choice(name, beam, reward) for beam, reward in itertools.product(BEAMS, REWARDS)]
    return {choice: bleu(models, translated(models, choice, DEV), DEV) for choice in choices}


def exported(student: str) -> str:
    """The folder of an exported student."""
    return f"{student}.int8"


def translated(models: Models, choice: Choice, part: str) -> list[str]:
    """Translate a part of the data with an exported student."""
    out = f"{part}.{choice.student}.{choice.beam}.{choice.reward}"
    files = ["-i", models.file(part, "en"), "-o", out]
    run(["translate", exported(choice.student), *files, *search(choice.beam, choice.reward)], models.folder)
    return list(read_lines(models.folder / out))


def search(beam: int, reward: float) -> list[str]:
    """The options of a search with a reward for each segment."""
    return ["--beam", str(beam), "--normalisation", "none", "--word-penalty", str(-reward)]


def bleu(models: Models, found: list[str], part: str) -> float:
    """Cased BLEU (13a) of translations of a part of the data."""
    return round(sacrebleu.corpus_bleu(found, [list(read_lines(models.file(part, "de")))]).score, 2)


def table(rounds: Sequence[Mapping[str, Any]]) -> str:
    """A Markdown table of BLEU on the dev set, and of each round a line on the test set and the time it added."""
    lines = ["| student | beam | reward | BLEU, dev |", "| --- | --: | --: | --: |"]
    lines += [
        f"| {row['student']} | {row['beam']} | {row['reward']} | {row['bleu']:.1f} |"
        for found in rounds
        for row in found["dev"]
    ]
    for found in rounds:
        hours = sum(found["processor_seconds"].values()) / 3600
        scores = f"{found['bleu']} BLEU, {found['bleu_lowercased_tokenised']} lower-cased and tokenised"
        lines.append(f"\n{TEST}, {Choice(**found['chosen'])}: {scores}; {hours:.2f} processor hours")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
