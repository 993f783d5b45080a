"""What more text gives: back-translation of text without translations, and fine-tuning on another domain.

    python bench/more_text.py ../shared/data --scratch DIR
    python bench/more_text.py ../shared/data --scratch DIR --only back-translation
    python bench/more_text.py --table

**back-translation**: Tatoeba, English to French, `PAIRS` pairs and `ALONE` French sentences of others. A reverse model
of the same pairs translates these; the translator is trained on both, mixed 1 to 1.

**fine-tuning**: a model of `BASE` pairs of Tatoeba, French to English, learns Europarl (lower-cased and tokenised
sentences of speeches) from so many pairs, alone and mixed 1 to 1 with the old text; beside it, models of the new pairs
alone and of both texts from the start. Each is measured on both domains.

No English sentence is in two of the parts of Tatoeba. Models have the preset `standard`, with batches of 768 tokens as
it had when the first rows were measured, and `--updates` updates on one thread, fine-tuned ones a quarter of them. All
of it is done by commands, which a row repeats. Measured are BLEU and chrF (beam 5, scores divided by the length) of
test sets that no choice depends on. A row is a file in bench/results/more-text; rows that are there are not repeated,
and an interrupted training is resumed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import sacrebleu
from recipe_variations import EARLIER_PRESET, SEARCH
from timed_commands import TimedCommands, run

from dragoman.report.facts import machine_name
from dragoman.text.lines import read_lines, write_lines

RESULTS = Path(__file__).parent / "results" / "more-text"
PAIRS = (3_000, 10_000, 29_000)
ALONE = 100_000
BASE = 100_000
NEW_PAIRS = (100, 1_000, 9_000)
HELD_OUT = 1_000
"""Pairs of Tatoeba's dev set and of its test set; half as many of Europarl's, which has 10,000 pairs in all."""


class Row(NamedTuple):
    """A model and the text that it is measured on."""

    train: Callable[[Experiment], str]
    """Trains it, and gives its run folder."""
    direction: tuple[str, str]
    tests: tuple[str, ...] = ("tatoeba",)


class Experiment:
    """The text of both domains in a folder, and the trainings on it."""

    def __init__(self, data: Path, scratch: Path, updates: int) -> None:
        self.updates = updates
        self.folder = scratch / f"more-text-{updates}"
        self.commands = TimedCommands(self.folder)
        if not (self.folder / "europarl.test.en").exists():
            self._write_tatoeba(data / "tatoeba-en-fr")
            self._write_europarl(data / "europarl-fr-en-10k-aligned")

    def _write_tatoeba(self, data: Path) -> None:
        """Write pairs, `tatoeba.N.en` and `.fr`, each part the beginning of the next; dev and test; French alone."""
        pairs: dict[str, list[str]] = {}  # all translations of an English sentence stay together
        for english, french in zip(read_lines(data / "all.en.xz"), read_lines(data / "all.fr.xz"), strict=True):
            pairs.setdefault(english, []).append(french)
        sentences = sorted(pairs)
        random.Random(1).shuffle(sentences)
        flat = [(english, french) for english in sentences for french in pairs[english]]
        dev, test, rest = flat[:HELD_OUT], flat[HELD_OUT : 2 * HELD_OUT], flat[2 * HELD_OUT :]
        self._write("tatoeba.dev", dev)
        self._write("tatoeba.test", test)
        for count in (*PAIRS, BASE):
            self._write(f"tatoeba.{count}", rest[:count])
        used = {side for pair in (*dev, *test, *rest[: max(PAIRS)]) for side in pair}
        others = dict.fromkeys(french for pair in rest[max(PAIRS) :] if used.isdisjoint(pair) for french in pair[1:])
        write_lines(self.folder / "alone.fr", list(others)[:ALONE])

    def _write_europarl(self, data: Path) -> None:
        pairs = list(zip(read_lines(data / "train.en.xz"), read_lines(data / "train.fr.xz"), strict=True))
        random.Random(1).shuffle(pairs)
        half = HELD_OUT // 2
        self._write("europarl.dev", pairs[:half])
        for count in NEW_PAIRS:
            self._write(f"europarl.{count}", pairs[2 * half : 2 * half + count])
        self._write("europarl.test", pairs[half : 2 * half])

    def _write(self, name: str, pairs: Sequence[tuple[str, str]]) -> None:
        for language, lines in zip(("en", "fr"), zip(*pairs, strict=True), strict=True):
            write_lines(self.folder / f"{name}.{language}", lines)

    def files(self, name: str, direction: tuple[str, str]) -> list[str]:
        """The files of both sides."""
        return [f"{name}.{language}" for language in direction]

    def trained(self, name: str, direction: tuple[str, str], *texts: Sequence[str], dev: str = "tatoeba") -> str:
        """The run of a model of these texts, mixed alike where there are several."""
        return self.commands.train(
            name,
            [
                *("train", "--preset", "standard", *self._text(direction, texts, dev)),
                *("--updates", str(self.updates), "--set", "training.precision=auto", *SEARCH, *EARLIER_PRESET),
            ],
        )

    def tuned(self, name: str, base: str, direction: tuple[str, str], *texts: Sequence[str]) -> str:
        """The run of a model that is fine-tuned on these texts."""
        updates = ("--updates", str(self.updates // 4))
        return self.commands.train(name, ["train", "--from", base, *self._text(direction, texts, "europarl"), *updates])

    def _text(self, direction: tuple[str, str], texts: Sequence[Sequence[str]], dev: str) -> list[str]:
        mix = ["--mix", *["1"] * len(texts)] if len(texts) > 1 else []
        train = [word for text in texts for word in ("--train", *text)]
        return [*train, *mix, "--dev", *self.files(f"{dev}.dev", direction), "--languages", *direction]


TO_FRENCH, TO_ENGLISH = ("en", "fr"), ("fr", "en")


def pairs_alone(count: int, experiment: Experiment) -> str:
    """Train on so many pairs of Tatoeba."""
    return experiment.trained(f"pairs-{count}", TO_FRENCH, experiment.files(f"tatoeba.{count}", TO_FRENCH))


def with_back_translation(count: int, options: tuple[str, ...], experiment: Experiment) -> str:
    """Train on so many pairs, and on French sentences that a model of these pairs has translated."""
    reverse = experiment.trained(f"reverse-{count}", TO_ENGLISH, experiment.files(f"tatoeba.{count}", TO_ENGLISH))
    light = f"reverse-{count}-light"
    experiment.commands.once(light, ["export", reverse, "--int8", "--out", light])
    kind = "-".join(["made", str(count), *(option.strip("-<>").lower() for option in options)])
    made = f"{kind}.tsv"
    experiment.commands.once(kind, ["backtranslate", light, "-i", "alone.fr", "-o", made, "--threads", "1", *options])
    return experiment.trained(f"with-{kind}", TO_FRENCH, experiment.files(f"tatoeba.{count}", TO_FRENCH), [made])


def old_model(experiment: Experiment) -> str:
    """Train on Tatoeba alone."""
    return experiment.trained("old", TO_ENGLISH, experiment.files(f"tatoeba.{BASE}", TO_ENGLISH))


def new_text_alone(count: int, experiment: Experiment) -> str:
    """Train on so many pairs of Europarl alone."""
    return experiment.trained(
        f"new-{count}", TO_ENGLISH, experiment.files(f"europarl.{count}", TO_ENGLISH), dev="europarl"
    )


def both_from_the_start(count: int, experiment: Experiment) -> str:
    """Train on both texts, mixed alike."""
    texts = (experiment.files(name, TO_ENGLISH) for name in (f"europarl.{count}", f"tatoeba.{BASE}"))
    return experiment.trained(f"both-{count}", TO_ENGLISH, *texts, dev="europarl")


def fine_tuned(count: int, mixed: bool, experiment: Experiment) -> str:
    """Fine-tune the model of Tatoeba on so many pairs of Europarl, alone or mixed with the old text."""
    names = (f"europarl.{count}", *([f"tatoeba.{BASE}"] if mixed else []))
    texts = (experiment.files(name, TO_ENGLISH) for name in names)
    return experiment.tuned(f"tuned-{count}{'-mixed' * mixed}", old_model(experiment), TO_ENGLISH, *texts)


BOTH = ("europarl", "tatoeba")
ROWS: Mapping[str, Mapping[str, Row]] = {
    "back-translation": {
        **{f"{count} pairs": Row(partial(pairs_alone, count), TO_FRENCH) for count in PAIRS},
        **{
            f"{count} pairs and back-translation": Row(partial(with_back_translation, count, ()), TO_FRENCH)
            for count in PAIRS
        },
        "10000 pairs and back-translation, sampled": Row(
            partial(with_back_translation, 10_000, ("--sample",)), TO_FRENCH
        ),
        "10000 pairs and back-translation, tagged": Row(
            partial(with_back_translation, 10_000, ("--tag", "<BT>")), TO_FRENCH
        ),
    },
    "fine-tuning": {
        "old text": Row(old_model, TO_ENGLISH, BOTH),
        **{
            f"{count} new pairs, {how}": Row(train, TO_ENGLISH, BOTH)
            for count in NEW_PAIRS
            for how, train in (
                ("fine-tuned", partial(fine_tuned, count, False)),
                ("fine-tuned, mixed with old text", partial(fine_tuned, count, True)),
                ("alone", partial(new_text_alone, count)),
                ("both from the start", partial(both_from_the_start, count)),
            )
        },
    },
}


def main() -> None:
    """Train and measure the rows that are missing; print the tables."""
    options = parse()
    if not options.table:
        experiment = Experiment(options.data.resolve(), options.scratch.resolve(), options.updates)
        for part in options.only:
            for name, row in ROWS[part].items():
                path = result_file(part, name)
                if not path.exists():
                    found = measured(experiment, name, row)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
                    print(f"{part}, {name}: {found['scores']}", file=sys.stderr, flush=True)
    print("\n\n".join(map(table, ROWS)))


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, nargs="?", help="folder of tatoeba-en-fr and europarl-fr-en-10k-aligned")
    parser.add_argument("--scratch", type=Path, help="folder for text and runs")
    parser.add_argument("--only", nargs="+", choices=tuple(ROWS), default=tuple(ROWS))
    parser.add_argument("--updates", type=int, default=4800, help="updates of each model (default: %(default)s)")
    parser.add_argument("--table", action="store_true", help="only print the rows that are there")
    options = parser.parse_args()
    if not options.table and (options.data is None or options.scratch is None):
        parser.error("give the folder of the corpora and --scratch DIR, or --table")
    return options


def result_file(part: str, name: str) -> Path:
    """Where a row is kept."""
    return RESULTS / part / f"{name.replace(',', '').replace(' ', '-')}.json"


def measured(experiment: Experiment, name: str, row: Row) -> dict[str, Any]:
    """Train a model, and measure it on its test sets."""
    experiment.commands.used.clear()
    model = row.train(experiment)
    scores = {}
    for test in row.tests:
        source, target = (f"{test}.test.{language}" for language in row.direction)
        out = f"{Path(model).name}.{test}.hyp"
        run(["translate", model, "-i", source, "-o", out, "--beam", "5", "--threads", "1"], experiment.folder)
        found, references = (list(read_lines(experiment.folder / file)) for file in (out, target))
        scores[test] = {
            "BLEU": round(sacrebleu.corpus_bleu(found, [references]).score, 2),
            "chrF": round(sacrebleu.corpus_chrf(found, [references]).score, 2),
        }
    return {
        "name": name,
        "updates": experiment.updates,
        "scores": scores,
        "processor_seconds": experiment.commands.seconds(),
        "processor": machine_name(),
        "date": time.strftime("%Y-%m-%d"),
    }


def table(part: str) -> str:
    """A Markdown table of the rows of a part."""
    tests = next(iter(ROWS[part].values())).tests
    lines = [
        f"| {part} | {' | '.join(f'{test}, BLEU | chrF' for test in tests)} |",
        f"| --- |{' --: | --: |' * len(tests)}",
    ]
    for name in ROWS[part]:
        path = result_file(part, name)
        if path.exists():
            scores = json.loads(path.read_text(encoding="utf-8"))["scores"]
            cells = (f"{scores[test][metric]:.1f}" for test in tests for metric in ("BLEU", "chrF"))
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
