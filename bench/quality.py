"""Time to quality: BLEU, English to German, after fixed training times, compared with two peers.

    python bench/quality.py DATA --scratch DIR --opennmt PYTHON --minutes 3 5 10 20 40
    python bench/quality.py DATA --scratch DIR --systems dragoman --minutes 20 --seeds 1 2 3
    python bench/quality.py DATA --scratch DIR --systems dragoman-by-updates --threads 1
    python bench/quality.py DATA --text manual --scratch DIR --opennmt PYTHON --minutes 10 20
    python bench/quality.py --table

DATA is a folder with `multi30k-en-de-cs`, the captions, and `libreoffice-help`, a software manual.

Dragoman trains with a time limit (`dragoman train --preset standard --minutes M`, one run for each M, start-up and the
last validation included). OpenNMT-py 3.5.1 has no time limit. Its recurrent model is model B of bench/training.py,
trained for M minutes with a checkpoint every 150 updates; its Transformer has the recipe of bench/transformer.py, whose
schedule ends with the updates that fit into M minutes; of both the last checkpoint within M minutes is measured. All
translate the test set, of captions test_2016_flickr, with beam 5, Dragoman with the search of its preset. A row, with
the processor time used by other programs, is a file in bench/results/quality; rows that are there are not repeated.

The systems `-by-updates` are trained without regard to the clock, for as many updates as two cores of one processor
make in M minutes (an EPYC, Zen 4: `UPDATES`, `transformer.updates_within`, and, for the recurrent model of OpenNMT-py,
older rows by the clock in bench/results/quality.json); so any machine may measure them, one thread each, beside other
programs.

`dragoman-newer-processor` are rows of `dragoman` on an EPYC of Zen 5, where an update takes less time; their
`dev_bleu`, of the dev set and of captions of 2017 and 2018, is added by hand (`dragoman translate`). Rows of former
presets are in bench/results/quality-earlier.json.

BLEU is cased, tokenised by sacreBLEU's 13a; of captions also as in the literature on Multi30k, lower-cased and
tokenised, against the publishers' tokenised text (`tok/` in the data folder, 12,103 words). For the latter translations
are lower-cased and go through Moses' normalisation of punctuation and its tokeniser, as that text did.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import sacrebleu
import transformer
from peers import PEERS, PYTHONPATH_OF_DRAGOMAN
from sacremoses import MosesPunctNormalizer, MosesTokenizer
from training import prepare
from watching import Watched, watch

from dragoman.report.facts import machine_name
from dragoman.runs.opening import open_run
from dragoman.text.lines import read_lines
from dragoman.training.log import read_log

RESULTS = Path(__file__).parent / "results" / "quality"
OLDER_RESULTS = RESULTS.with_suffix(".json")
BEAM = 5
MODEL = "B"
START_AND_END = 0.5
"""Minutes subtracted from Dragoman's limit, which excludes reading, segmentation and the report."""
BY_UPDATES = "-by-updates"
UPDATES = {3: 956, 5: 1731, 10: 3568, 20: 8015, 40: 16030}
"""Updates of the preset `standard` by minutes of two cores of an EPYC (Zen 4)."""
UNLIMITED = 6 * 60
"""Minutes in which a training that is limited by updates has to end."""

Row = dict[str, Any]


class Text(NamedTuple):
    """The files of a text in the data folder; `{}` is the language."""

    train: str
    dev: str
    test: str
    tokenised: str | None = None
    """The test references, lower-cased and tokenised."""


CAPTIONS = "multi30k-en-de-cs/"
MANUAL = "libreoffice-help/en-de."
TEXTS = {
    "captions": Text(
        CAPTIONS + "train.{}.gz",
        CAPTIONS + "val.{}.gz",
        CAPTIONS + "test_2016_flickr.{}.gz",
        CAPTIONS + "tok/test_2016_flickr.lc.norm.tok.de.xz",
    ),
    "manual": Text(MANUAL + "train.{}.xz", MANUAL + "dev.{}.xz", MANUAL + "test.{}.xz"),
}


def main() -> None:
    """Train and measure what is missing; print the table."""
    options = parse()
    RESULTS.mkdir(parents=True, exist_ok=True)
    if not options.table:
        # Commands run in other folders.
        options.data, scratch = options.data.resolve(), options.scratch.resolve() / options.text
        for seed in options.seeds:
            for minutes in options.minutes:
                for system in options.systems:
                    text = "" if options.text == "captions" else f"{options.text}."
                    path = RESULTS / f"{text}{system}.{minutes}.{seed}.json"
                    if not path.exists():
                        write(path, measured(options, system, minutes, seed, scratch))
    print(table())


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, nargs="?", help="folder of the texts")
    parser.add_argument("--text", choices=tuple(TEXTS), default="captions")
    parser.add_argument("--scratch", type=Path, help="folder for text and runs")
    parser.add_argument("--opennmt", metavar="PYTHON", help="interpreter of OpenNMT-py's environment")
    parser.add_argument("--systems", nargs="+", choices=tuple(SYSTEMS), default=BY_THE_CLOCK)
    parser.add_argument("--minutes", nargs="+", type=int, default=[3, 5, 10, 20, 40])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--table", action="store_true", help="only print the rows that are there")
    options = parser.parse_args()
    if not options.table:
        missing = [name for name in ("data", "scratch") if getattr(options, name) is None]
        with_peers = any(system.startswith("opennmt") for system in options.systems)
        missing += ["--opennmt"] if options.opennmt is None and with_peers else []
        if missing:
            parser.error(f"missing: {', '.join(missing)}")
    return options


def measured(options: argparse.Namespace, system: str, minutes: int, seed: int, scratch: Path) -> Row:
    """Train a system for so many minutes, and measure it."""
    watched, seconds, updates, found = SYSTEMS[system](options, minutes, seed, scratch / f"{system}.{minutes}.{seed}")
    text = TEXTS[options.text]
    scores = {"bleu": sacrebleu.corpus_bleu(found, [_lines(options, text.test, "de")]).score}
    if text.tokenised:
        scores["bleu_lowercased_tokenised"] = lowercased_tokenised_bleu(found, options.data / text.tokenised)
    return {
        "text": options.text,
        "system": system,
        "minutes": minutes,
        "seed": seed,
        **{name: round(score, 2) for name, score in scores.items()},
        "seconds": round(seconds),
        "processor_seconds": round(watched.processor_seconds),
        "updates": updates,
        "peak_memory_mb": round(watched.peak_mb),
        "cores_used_by_others": round(watched.others, 2),
        "threads": options.threads,
        "processor": machine_name(),
        "date": time.strftime("%Y-%m-%d"),
    }


Trained = tuple[Watched, float, int, list[str]]
"""Measurements of the training, seconds until the model that is measured, its updates, and its translations."""


def _dragoman(options: argparse.Namespace, minutes: int, seed: int, out: Path) -> Trained:
    """The preset `standard` with a time limit."""
    return _standard(options, ["--minutes", str(minutes - START_AND_END)], minutes + 5, seed, out)


def _dragoman_by_updates(options: argparse.Namespace, minutes: int, seed: int, out: Path) -> Trained:
    """The preset `standard` with the updates that two Zen 4 cores make.

    Raises:
        SystemExit: they are not known for so many minutes.
    """
    if minutes not in UPDATES:
        sys.exit(f"dragoman{BY_UPDATES}: updates are known for {', '.join(map(str, UPDATES))} minutes, not {minutes}")
    return _standard(options, ["--set", f"training.updates={UPDATES[minutes]}"], UNLIMITED, seed, out)


def _standard(options: argparse.Namespace, budget: list[str], limit: float, seed: int, out: Path) -> Trained:
    """The preset `standard` with a budget; `limit`: minutes after which something is wrong."""
    text = TEXTS[options.text]
    train, dev = (
        [str(options.data / name.format(language)) for language in ("en", "de")] for name in (text.train, text.dev)
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    command = [
        *(sys.executable, "-m", "dragoman", "train", "--preset", "standard", "--overwrite"),
        *("--train", *train, "--dev", *dev, "--out", str(out), *budget),
        *("--threads", str(options.threads), "--set", "text.source.language=en", "text.target.language=de"),
        *("training.epochs=120", f"training.seed={seed}"),
    ]
    watched = _watch(options, command, 60 * limit, out.parent, {"PYTHONPATH": PYTHONPATH_OF_DRAGOMAN})
    if watched.exit_code:
        sys.exit("\n".join(line for _, line in watched.lines[-20:]))
    run = open_run(out)
    search = run.config.search.replaced(beam=BEAM)
    lines = _lines(options, text.test, "en")
    found = [best.text for best, *_ in run.translator(search).translate_lines(lines)]
    return watched, watched.seconds, read_log(run.folder.log)[-1]["update"], found


def _recurrent(options: argparse.Namespace, minutes: int, seed: int, out: Path, *, by_updates: bool = False) -> Trained:
    """Model B of OpenNMT-py; `by_updates`: trained for as many as an older row of so many minutes had.

    Raises:
        SystemExit: there is no such row.
    """
    text = out / "text"
    prepare(options.data, text, train=TEXTS[options.text].train, dev=TEXTS[options.text].dev)
    command = PEERS["opennmt"].command(options.opennmt, MODEL, out, options.threads)
    command += ["-save_checkpoint_steps", "150", "-seed", str(seed)]
    if by_updates:
        known = json.loads(OLDER_RESULTS.read_text(encoding="utf-8"))["minutes"]
        if str(minutes) not in known:
            sys.exit(f"opennmt-recurrent{BY_UPDATES}: updates are known for {', '.join(known)} minutes, not {minutes}")
        command += ["-train_steps", str(known[str(minutes)]["opennmt"]["updates"])]
    return _peer(options, command, UNLIMITED if by_updates else minutes, out, text, MODEL, "none", {})


def _transformer(
    options: argparse.Namespace, minutes: int, seed: int, out: Path, *, limit: int | None = None
) -> Trained:
    """A small Transformer of OpenNMT-py with the recipe that is best on the dev set after the nearest budget.

    `limit`: minutes in which a checkpoint must have been saved; by default `minutes`.
    """
    text = out.parent / f"text-{transformer.PIECES}"
    if not (text / "vocabulary.txt").exists():
        prepare(options.data, text, transformer.PIECES, TEXTS[options.text].train, TEXTS[options.text].dev)
    updates = transformer.updates_within(0.97 * minutes)
    command = transformer.training_command(options.opennmt, transformer.best(minutes), updates, text, out, seed)
    penalty, products = transformer.LENGTH_PENALTY, transformer.FAST_PRODUCTS
    return _peer(options, command, limit or minutes, out, text, transformer.NAME, penalty, products)


SYSTEMS: dict[str, Callable[[argparse.Namespace, int, int, Path], Trained]] = {
    "dragoman": _dragoman,
    f"dragoman{BY_UPDATES}": _dragoman_by_updates,
    "opennmt-recurrent": _recurrent,
    f"opennmt-recurrent{BY_UPDATES}": partial(_recurrent, by_updates=True),
    "opennmt-transformer": _transformer,
    f"opennmt-transformer{BY_UPDATES}": partial(_transformer, limit=UNLIMITED),
}

BY_THE_CLOCK = [system for system in SYSTEMS if not system.endswith(BY_UPDATES)]


def _peer(
    options: argparse.Namespace,
    command: list[str],
    minutes: int,
    out: Path,
    text: Path,
    model: str,
    length_penalty: str,
    environment: Mapping[str, str],
) -> Trained:
    """Train for so many minutes at most; translate with the last checkpoint that was there in time."""
    began = time.time()
    watched = _watch(options, command, 60 * minutes + 5, out, environment)
    saved = [
        path
        for path in (out / f"opennmt.{model}").glob("m_step_*.pt")
        if began < path.stat().st_mtime <= began + 60 * minutes
    ]
    if not saved:
        sys.exit(f"OpenNMT-py had saved nothing after {minutes} minutes")
    last = max(saved, key=lambda path: path.stat().st_mtime)
    within = out / "within"
    (within / f"opennmt.{model}").mkdir(parents=True, exist_ok=True)
    (within / f"opennmt.{model}" / last.name).hardlink_to(last)
    lines = _lines(options, TEXTS[options.text].test, "en")
    found = transformer.peer_translations(options.opennmt, model, text, within, lines, length_penalty)
    return watched, last.stat().st_mtime - began, int(last.stem.rpartition("_")[2]), found


def _watch(
    options: argparse.Namespace, command: list[str], seconds: float, folder: Path, environment: Mapping[str, str]
) -> Watched:
    print(" ".join(command[:6]), "...", file=sys.stderr, flush=True)
    threads = {"OMP_NUM_THREADS": str(options.threads)}
    return watch(command, seconds, folder=folder, environment={**environment, **threads})


def _lines(options: argparse.Namespace, name: str, language: str) -> list[str]:
    return list(read_lines(options.data / name.format(language)))


def lowercased_tokenised_bleu(found: list[str], references: Path) -> float:
    """BLEU of raw German translations against a file of lower-cased, normalised and tokenised references."""
    normalizer, tokenizer = MosesPunctNormalizer("de"), MosesTokenizer("de")
    tokenised = [tokenizer.tokenize(normalizer.normalize(line.lower()), return_str=True) for line in found]
    return sacrebleu.corpus_bleu(tokenised, [list(read_lines(references))], tokenize="none", force=True).score


def table() -> str:
    """A Markdown table of the rows: mean of the seeds, and how far they deviate."""
    groups: dict[tuple[str, int, str], list[Row]] = defaultdict(list)
    for path in sorted(RESULTS.glob("*.json")):
        row = json.loads(path.read_text(encoding="utf-8"))
        groups[row.get("text", "captions"), row["minutes"], row["system"]].append(row)
    lines = [
        "| text | minutes | system | seeds | updates | BLEU, cased | lower-cased, tokenised | memory, MB |",
        "| --- | --: | --- | --: | --: | --: | --: | --: |",
    ]
    for (text, minutes, system), rows in sorted(groups.items()):
        scores = [_mean([row[key] for row in rows if key in row]) for key in ("bleu", "bleu_lowercased_tokenised")]
        updates = round(statistics.mean(row["updates"] for row in rows))
        memory = max(row["peak_memory_mb"] for row in rows)
        lines.append(
            f"| {text} | {minutes} | {system} | {len(rows)} | {updates:,} | {' | '.join(scores)} | {memory:,} |"
        )
    return "\n".join(lines)


def _mean(values: list[float]) -> str:
    if not values:
        return ""
    deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{deviation}"


def write(path: Path, row: Row) -> None:
    """Write a row and print it."""
    path.write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
