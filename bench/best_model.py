"""The best single model that two cores learn from Multi30k in three hours: distillation on more sources than it has.

    python bench/best_model.py ../shared/data/multi30k-en-de-cs --scratch DIR
    python bench/best_model.py --table

Four models translate from English to German, two from German to English (as in `combining.py`, whose scratch folder
this program shares: a model that one has trained the other does not train again). The latter translate the German side,
which gives 58,000 English sentences that nobody wrote; the former, as an ensemble, translate these and the sources of
the pairs. Students, of two sizes, learn from the pairs, the back-translations and these three texts.

Students are exported in int8. The dev set chooses one of them and its search among `BEAMS` and `REWARDS`; that one
alone translates test_2016_flickr, once. Two commands run at a time, each on one thread. A command that has ended is not
repeated, and an interrupted training is resumed. The result is bench/results/best-model.json: BLEU of every choice on
the dev set, BLEU of the chosen one on the test set (cased, 13a, and lower-cased as in `quality.py`), processor seconds
of each command. best-model-earlier-preset.json is older: two rounds, of which the first students translate for the
second, with the preset before weight decay and with a vocabulary of 3,000.
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
from combining import DEV, SEEDS, TEST, UPDATES, Models, back_translations
from quality import lowercased_tokenised_bleu
from recipe_variations import Settings, sizes
from timed_commands import run

from dragoman.report.facts import machine_name
from dragoman.text.lines import read_lines

RESULTS = Path(__file__).parent / "results" / "best-model.json"
Result = TypeVar("Result")
BEAMS = (5, 10, 20)
REWARDS = (0.5, 0.75, 1.0)
"""What search adds to the log-probability for each segment."""


class Student(NamedTuple):
    """A model that learns from the rewritten text: its updates, and settings over the preset `standard`."""

    updates: int
    settings: Settings = ()


STUDENTS: Mapping[str, Student] = {
    "standard": Student(25_000),
    "wider": Student(20_000, sizes(256, 384)),
}
"""Two sizes that take about as long as each other."""
Texts = Sequence[Sequence[str]]
"""Training texts, each of one or two files."""


class Choice(NamedTuple):
    """An exported student and its search."""

    student: str
    beam: int
    reward: float


def main() -> None:
    """Train, choose and measure, unless the result is there; print the table."""
    options = parse()
    if not options.table and not RESULTS.exists():
        result = measured(Models(options.data.resolve(), options.scratch.resolve(), UPDATES))
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


def written_texts(models: Models) -> Texts:
    """The pairs, the back-translations, and what the ensemble makes of the sources of each."""
    reverse_seeds = SEEDS[:2]
    calls: list[Callable[[], object]] = [partial(models.back_translated, seed) for seed in reverse_seeds]
    calls += [partial(exported_teacher, models, seed) for seed in SEEDS]
    two_at_a_time(calls)
    sources = [models.real("en", "de"), *([back_translations(seed)] for seed in reverse_seeds)]

    def distilled(number: int) -> list[str]:
        pairs = f"distilled-{number}.tsv"
        ensemble = [exported(f"seed-{seed}") for seed in SEEDS]
        command = ["distill", *ensemble, *sources[number], "-o", pairs, "--threads", "1"]
        models.commands.once(f"distilled {number}", command)
        return [pairs]

    return [*sources, *two_at_a_time([partial(distilled, number) for number in range(len(sources))])]


def exported_teacher(models: Models, seed: int) -> None:
    """Train and export the model of a seed, English to German."""
    export(models, f"seed-{seed}", models.forward(seed))


def export(models: Models, name: str, run_folder: str) -> None:
    """Export a run in int8."""
    models.commands.once(f"export {name}", ["export", run_folder, "--int8", "--overwrite", "--out", exported(name)])


def measured(models: Models) -> dict[str, Any]:
    """Train the students, choose one on the dev set, and measure it on the test set."""
    texts = written_texts(models)
    scores = two_at_a_time([partial(dev_bleu, models, name, student, texts) for name, student in STUDENTS.items()])
    dev = {choice: score for found in scores for choice, score in found.items()}
    chosen = max(dev, key=dev.__getitem__)
    found = translated(models, chosen, TEST)
    tokenised = models.data / "tok" / f"{TEST}.lc.norm.tok.de.xz"
    return {
        "students": {name: student._asdict() for name, student in STUDENTS.items()},
        "updates_of_teachers": models.updates,
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
    export(models, name, trained)
    choices = [Choice(name, beam, reward) for beam, reward in itertools.product(BEAMS, REWARDS)]
    return {choice: bleu(models, translated(models, choice, DEV), DEV) for choice in choices}


def exported(name: str) -> str:
    """The folder of an exported model."""
    return f"{name}.int8"


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


def table(result: Mapping[str, Any]) -> str:
    """A Markdown table of BLEU on the dev set, and a line on the test set and the time of all commands."""
    lines = ["| student | beam | reward | BLEU, dev |", "| --- | --: | --: | --: |"]
    lines += [f"| {row['student']} | {row['beam']} | {row['reward']} | {row['bleu']:.1f} |" for row in result["dev"]]
    hours = sum(result["processor_seconds"].values()) / 3600
    scores = f"{result['bleu']} BLEU, {result['bleu_lowercased_tokenised']} lower-cased and tokenised"
    return "\n".join([*lines, "", f"{TEST}, {Choice(**result['chosen'])}: {scores}; {hours:.2f} processor hours"])


if __name__ == "__main__":
    main()
