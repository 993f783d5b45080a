"""What several models give that one does not, and at what cost: ensembles, distillation, minimum risk, rescoring.

    python bench/combining.py ../shared/data/multi30k-en-de-cs --scratch DIR
    python bench/combining.py ../shared/data/multi30k-en-de-cs --scratch DIR --only one student
    python bench/combining.py --table

Models are trained on Multi30k English-German by the preset `standard` for `--updates` updates each, on one thread:
four seeds; one of German-English; a student of the four seeds, on the same sources with their translations; and a
language model of the German side. `METHODS` then translate test_2016_flickr; weights of rescoring are tuned on the dev
set. All of it is done by commands, which a row repeats. Measured are BLEU (cased, 13a, and lower-cased as in
`quality.py`), and the processor seconds of training and of translating 1,000 sentences, each of which does not depend
on what else runs. A row is a file in bench/results/combining; rows that are there are not repeated, and an interrupted
training is resumed. The rows in `earlier-preset` are older: models of the preset before weight decay, with a vocabulary
of 3,000, 20,000 updates of 768 tokens, and scores divided by the length.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sacrebleu
from quality import lowercased_tokenised_bleu
from timed_commands import TimedCommands, run

from dragoman.report.facts import machine_name
from dragoman.text.lines import read_lines

RESULTS = Path(__file__).parent / "results" / "combining"
DEV, TEST = "val", "test_2016_flickr"
SEEDS = (1, 2, 3, 4)
UPDATES = 8_015
"""Of each model: those of 20 minutes in `quality.py`, system `dragoman-by-updates`."""
UPDATES_OF_LANGUAGE_MODEL = 2300
"""Ten epochs of its preset, after nine of which the dev perplexity was lowest."""
BEAM, LIST = 5, 20
"""Beam of translations, and size of n-best lists."""


def main() -> None:
    """Train the models and measure the methods that are missing; print the table."""
    options = parse()
    if not options.table:
        RESULTS.mkdir(parents=True, exist_ok=True)
        models = Models(options.data.resolve(), options.scratch.resolve(), options.updates)
        for name in options.only or METHODS:
            path = row_path(name, options.updates)
            if not path.exists():
                row = measured(models, name, METHODS[name])
                path.write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
                print(f"{name}: {row['bleu']} BLEU", file=sys.stderr, flush=True)
    print(table(options.updates))


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, nargs="?", help="folder of Multi30k")
    parser.add_argument("--scratch", type=Path, help="folder for runs and lists")
    parser.add_argument("--updates", type=int, default=UPDATES, help="updates of each model (default: %(default)s)")
    parser.add_argument("--only", nargs="+", choices=METHODS, metavar="METHOD", help="these methods")
    parser.add_argument("--table", action="store_true", help="only print the rows that are there")
    options = parser.parse_args()
    if not options.table and (options.data is None or options.scratch is None):
        parser.error("give the folder of Multi30k and --scratch DIR, or --table")
    return options


def back_translations(seed: int) -> str:
    """The name of the file of `Models.back_translated`."""
    return f"back-translated-{seed}.tsv"


class Models:
    """Models of the preset `standard` that are trained when first asked for."""

    def __init__(self, data: Path, scratch: Path, updates: int) -> None:
        self.data, self.folder, self.updates = data, scratch / f"combining-{updates}", updates
        self.commands = TimedCommands(self.folder)

    def file(self, part: str, language: str) -> str:
        """A file of the data."""
        return str(self.data / f"{part}.{language}.gz")

    def forward(self, seed: int) -> str:
        """The run of a seed, English to German."""
        return self.commands.train(f"seed-{seed}", self._translation_model("en", "de", seed, self.real("en", "de")))

    def all_forward(self, count: int) -> list[str]:
        """The runs of the first seeds."""
        return [self.forward(seed) for seed in SEEDS[:count]]

    def reverse(self, seed: int = 1) -> str:
        """The run of a seed, German to English."""
        name = "reverse" if seed == 1 else f"reverse-{seed}"
        return self.commands.train(name, self._translation_model("de", "en", seed, self.real("de", "en")))

    def student(self) -> str:
        """The run that learns from the translations of all seeds."""
        pairs = "distilled.tsv"
        text = [*self.real("en", "de"), "-o", pairs, "--candidates", str(BEAM), "--beam", str(BEAM)]
        self.commands.once("distilled pairs", ["distill", *self.all_forward(len(SEEDS)), *text])
        return self.commands.train("student", self._translation_model("en", "de", 1, [pairs]))

    def back_translated(self, seed: int) -> str:
        """The pairs of the targets' back-translations by the reverse run of a seed, and the targets."""
        pairs = back_translations(seed)
        text = ["-i", self.file("train", "de"), "-o", pairs, "--beam", str(BEAM)]
        self.commands.once(f"back-translated {seed}", ["backtranslate", self.reverse(seed), *text])
        return pairs

    def learnt(self, name: str, texts: Sequence[Sequence[str]], updates: int, settings: Sequence[str]) -> str:
        """The run that learns from texts, English to German."""
        return self.commands.train(name, self._translation_model("en", "de", 1, *texts, updates=updates, more=settings))

    def language_model(self) -> str:
        """The run of the language model."""
        files = ["--train", self.file("train", "de"), "--dev", self.file(DEV, "de")]
        length = ["--updates", str(UPDATES_OF_LANGUAGE_MODEL)]
        return self.commands.train("language-model", ["lm", "train", *files, *length])

    def real(self, source: str, target: str) -> list[str]:
        """The files of the pairs."""
        return [self.file("train", source), self.file("train", target)]

    def _translation_model(
        self,
        source: str,
        target: str,
        seed: int,
        *texts: Sequence[str],
        updates: int | None = None,
        more: Sequence[str] = (),
    ) -> list[str]:
        train = [word for text in texts for word in ("--train", *text)]
        dev = [self.file(DEV, source), self.file(DEV, target)]
        settings = [f"text.source.language={source}", f"text.target.language={target}", f"training.seed={seed}"]
        return [
            *("train", "--preset", "standard", *train, "--dev", *dev),
            *("--updates", str(updates or self.updates), "--set", *settings, *more),
        ]


Commands = list[list[str]]
Method = Callable[[Models, str, str], Commands]
"""Maps (models, part of the data, output file) to the commands that translate that part."""


def translated(models: Models, runs: Sequence[str], part: str, out: str, *options: str) -> list[str]:
    """The command that translates a part of the data with runs."""
    beam = () if "--beam" in options else ("--beam", str(BEAM))
    threads = ("--threads", "1")
    return ["translate", *runs, "-i", models.file(part, "en"), "-o", out, *beam, *threads, *options]


def rescored(models: Models, part: str, out: str, features: Mapping[str, str], *more: str) -> Commands:
    """N-best lists of the first seed with features of models and more, weighted as on the dev set."""
    name = "-".join(key.strip("-") for key in (*features, *more))

    def with_features(part: str) -> tuple[Commands, str]:
        plain, richer = f"{part}.{name}.nbest", f"{part}.{name}.features"
        size = ("--format", "nbest", "--nbest", str(LIST), "--beam", str(LIST))
        make = translated(models, [models.forward(1)], part, plain, *size)
        flags = [word for feature in features.items() for word in feature]
        source = ["--source", models.file(part, "en")] if "--reverse" in features else []
        return [make, ["rescore", plain, *source, *flags, *more, "-o", richer]], richer

    weights = models.folder / f"{name}.weights"
    if not weights.exists():
        commands, tuned_on = with_features(DEV)
        for command in commands:
            run(command, models.folder)
        run(["tune", tuned_on, "--reference", models.file(DEV, "de"), "-o", str(weights)], models.folder)
    commands, richer = with_features(part)
    return [*commands, ["rerank", richer, "--feature-weights", str(weights), "-o", out]]


METHODS: Mapping[str, Method] = {
    "one-greedy": lambda m, part, out: [translated(m, [m.forward(1)], part, out, "--beam", "1")],
    "one": lambda m, part, out: [translated(m, [m.forward(1)], part, out)],
    "one-seed-2": lambda m, part, out: [translated(m, [m.forward(2)], part, out)],
    "one-seed-3": lambda m, part, out: [translated(m, [m.forward(3)], part, out)],
    "one-seed-4": lambda m, part, out: [translated(m, [m.forward(4)], part, out)],
    "one-beam-20": lambda m, part, out: [translated(m, [m.forward(1)], part, out, "--beam", str(LIST))],
    "risk-chrf": lambda m, part, out: [
        translated(m, [m.forward(1)], part, out, "--beam", str(LIST), "--nbest", str(LIST), "--mbr", "chrf")
    ],
    "risk-bleu": lambda m, part, out: [
        translated(m, [m.forward(1)], part, out, "--beam", str(LIST), "--nbest", str(LIST), "--mbr", "bleu")
    ],
    "ensemble-2": lambda m, part, out: [translated(m, m.all_forward(2), part, out)],
    "ensemble-4": lambda m, part, out: [translated(m, m.all_forward(4), part, out)],
    "rescored-reverse": lambda m, part, out: rescored(m, part, out, {"--reverse": m.reverse()}),
    "rescored-lm-length": lambda m, part, out: rescored(m, part, out, {"--lm": m.language_model()}, "--length"),
    "rescored-reverse-lm-length": lambda m, part, out: rescored(
        m, part, out, {"--reverse": m.reverse(), "--lm": m.language_model()}, "--length"
    ),
    "student": lambda m, part, out: [translated(m, [m.student()], part, out)],
    "student-greedy": lambda m, part, out: [translated(m, [m.student()], part, out, "--beam", "1")],
}


def measured(models: Models, name: str, method: Method) -> dict[str, Any]:
    """Translate the test set by a method, and measure it."""
    models.commands.used.clear()
    out = models.folder / f"{TEST}.{name}"
    commands = method(models, TEST, str(out))
    seconds = sum(run(command, models.folder) for command in commands)
    found, references = list(read_lines(out)), list(read_lines(models.file(TEST, "de")))
    tokenised = models.data / "tok" / f"{TEST}.lc.norm.tok.de.xz"
    return {
        "name": name,
        "updates": models.updates,
        "bleu": round(sacrebleu.corpus_bleu(found, [references]).score, 2),
        "bleu_lowercased_tokenised": round(lowercased_tokenised_bleu(found, tokenised), 2),
        "processor_seconds_of_translation": round(seconds, 1),
        "sentences": len(found),
        "processor_seconds_of_training": models.commands.seconds(),
        "commands": [_readable(command, models) for command in commands],
        "processor": machine_name(),
        "date": time.strftime("%Y-%m-%d"),
    }


def _readable(command: Sequence[str], models: Models) -> str:
    words = " ".join(["dragoman", *command])
    return words.replace(f"{models.folder}/", "").replace(f"{models.data}/", "")


def row_path(name: str, updates: int) -> Path:
    """The file of the row of a method, with models of so many updates."""
    return RESULTS / f"{name}.{updates}.json"


def table(updates: int) -> str:
    """A Markdown table of the rows of models of so many updates, in the order of the methods."""
    lines = [
        "| method | BLEU, cased | lower-cased, tokenised | seconds a 1,000 sentences | seconds of training |",
        "| --- | --: | --: | --: | --: |",
    ]
    for name in METHODS:
        path = row_path(name, updates)
        if path.exists():
            row = json.loads(path.read_text(encoding="utf-8"))
            seconds = 1000 * row["processor_seconds_of_translation"] / row["sentences"]
            training = sum(row["processor_seconds_of_training"].values())
            scores = f"{row['bleu']:.1f} | {row['bleu_lowercased_tokenised']:.1f}"
            lines.append(f"| {name} | {scores} | {seconds:.0f} | {training:,.0f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
