"""Translation speed of the same weights in Dragoman and in the toolkit that trained them, from file to file.

    python bench/decoding.py prepare MULTI30K TATOEBA --scratch DIR --joeynmt PYTHON --opennmt PYTHON
    python bench/decoding.py measure --scratch DIR --joeynmt PYTHON --opennmt PYTHON

PYTHON is the interpreter of an environment with that toolkit (docs/lab-book/2026-11-speed.md); one peer is enough. The
stage `prepare` segments Multi30k English-German with a joint BPE of 10,000 pieces, trains model B of bench/training.py
with each peer (JoeyNMT needs longer), imports the checkpoint (`dragoman import`) and exports it in each precision. The
stage `measure` translates with each toolkit's own command from file to file, always with the same search: beam search
by log-probability without length normalisation, at most 60 segments. Text is segmented beforehand, so that all
toolkits do the same work; translation of raw text is measured separately.

    Multi30k   beam 1 and 5, in batches: BLEU and the number of translations identical to the peer's on the 1,000
               sentences of test_2016_flickr; throughput on these and on lines of the training text, without repetition
    alone      the same, one sentence at a time; one round
    Tatoeba    its English side in random order, with --tatoeba; one round; all 20,000 lines with the first peer's
               weights, which takes time in addition to --minutes

Throughput = (lines in the long input - lines in its prefix) / (difference of their run times), so that start-up,
loading and compilation cancel. In every round all engines are timed on both inputs, one after the other, in the
opposite order in every other round. Reported are the median and the range of the throughput over the rounds, and of its
ratio to the peer's in the same round. The input sizes of an engine follow from its speed on the test set, so that
everything takes about --minutes; peers, whose start-up time varies by a second, get twice the time of the others.
Tokens are output segments plus EOS. A peer whose translations do not end, because it was trained too little, is left
out. Results go to bench/results/decoding.json. The machine must otherwise be idle: check `cores_used_by_others`; where
it is not near 0, only the processor seconds are meaningful.

    python bench/decoding.py alone --scratch DIR --rounds 12
    python bench/decoding.py stream --scratch DIR --lines 200000

`alone` measures the latency of single raw sentences of twelve words with each exported precision in turn, and writes
bench/results/decoding-alone.json. `stream` compares throughput and memory of long inputs with those of short ones, and
prints them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import sacrebleu
import sentencepiece
import torch
from counting import product_counter
from decoders import LONGEST, SENTENCES, Decoder, checkpoint, dragoman_decoder, peer_decoder
from peers import PEERS
from training import prepare, product_peaks
from watching import Watched, watch

from dragoman.report.facts import machine_name
from dragoman.runs.opening import open_run
from dragoman.text.lines import read_lines, write_lines

RESULTS = Path(__file__).parent / "results" / "decoding.json"
RESULTS_ALONE = RESULTS.with_stem("decoding-alone")
TEST = "test_2016_flickr"
BEAMS = (1, 5)
WHOLE_TEST = 1000
"""Sentences of the test set."""
ALONE_RATE = 50.0
"""Expected sentences per second when translated one at a time; similar for all engines."""
TATOEBA = 20_000
TATOEBA_SIZES = (1_000, TATOEBA)
"""Lines of the shorter and the longer input."""
STARTS = 5
"""Measurements of start-up time; their median is reported."""
TRAINING = {"opennmt": 900.0, "joeynmt": 3600.0}
"""Default training time in seconds, in the order of measurement; JoeyNMT needs more than 900 to learn EOS."""
SHORT = 0.25
"""Length of the shorter input relative to the difference of the two lengths."""
LEAST_SECONDS, MOST_SECONDS = 0.5, 10.0
"""Limits of the time difference between the two inputs; doubled for peers."""
TRIES = 3
"""Attempts at a round whose longer input takes no longer than the shorter one."""
ENDLESS = 0.1
"""Maximum share of translations that reach the length limit; a peer with more is left out."""
PRECISIONS = ("fp32", "int8", "int8 shortlist")
"""Precisions of exported folders."""
SHORTLIST = 2000
"""Frequent target tokens that every shortlist contains, of 9,800."""
PATIENCE = 900.0
"""Timeout of a translation in seconds."""


def main() -> None:
    """Run the chosen stage."""
    options = parse()
    options.stage(options)


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    stages = parser.add_subparsers(required=True)
    preparing = stages.add_parser("prepare", help="train the peers' models, import and export them")
    preparing.add_argument("multi30k", type=Path, help="folder with train.en.gz, val.de.gz, test_2016_flickr.en.gz ...")
    preparing.add_argument("tatoeba", type=Path, help="folder with all.en.xz")
    preparing.add_argument(
        "--seconds", type=float, help=f"training time of each peer (default: {', '.join(map(str, TRAINING.items()))})"
    )
    preparing.set_defaults(stage=prepare_all)
    measuring = stages.add_parser("measure", help="translate with all engines")
    measuring.add_argument("--rounds", type=int, default=3, help="timing rounds (default: %(default)s)")
    measuring.add_argument(
        "--minutes", type=float, default=8.5, help="total time without --tatoeba (default: %(default)s)"
    )
    measuring.add_argument(
        "--tatoeba",
        action="store_true",
        help="also time all lines of Tatoeba once, which takes another quarter of an hour",
    )
    measuring.add_argument("--quick", action="store_true", help="try all engines on a few sentences; writes no results")
    measuring.set_defaults(stage=measure_all)
    waiting = stages.add_parser("alone", help="latency of single sentences")
    waiting.add_argument("--rounds", type=int, default=12, help="timing rounds (default: %(default)s)")
    waiting.set_defaults(stage=measure_alone, quick=False)
    streaming = stages.add_parser("stream", help="throughput and memory of long inputs")
    streaming.add_argument("--lines", type=int, default=200_000)
    streaming.add_argument("--beam", type=int, default=1)
    streaming.set_defaults(stage=measure_streams)
    for stage in (preparing, measuring, waiting, streaming):
        stage.add_argument("--scratch", type=Path, required=True, help="folder for text, models and outputs")
        stage.add_argument("--model", choices=("B", "L"), default="B")
        stage.add_argument("--threads", type=int, default=os.cpu_count())
        for peer in PEERS:
            stage.add_argument(f"--{peer}", metavar="PYTHON", help=f"interpreter of {peer}; left out if absent")
    options = parser.parse_args()
    options.scratch = options.scratch.resolve()
    options.peers = {name: python for name in TRAINING if (python := getattr(options, name))}
    if not options.peers and options.stage in (prepare_all, measure_all):
        parser.error(f"give the interpreter of a peer: {' or '.join(f'--{name}' for name in TRAINING)}")
    return options


# Preparing -----------------------------------------------------------------------------------------------------------


def prepare_all(options: argparse.Namespace) -> None:
    """Everything that needs no idle machine; existing models are not trained again."""
    text = options.scratch / "text"
    if not (text / "vocabulary.txt").exists():
        prepare(options.multi30k, text)
    write_test_sets(options.multi30k, options.tatoeba, text)
    for peer, python in options.peers.items():
        saved = checkpoint(peer, options.model, options.scratch)
        if saved is None:
            train(peer, python, options)
        else:
            print(f"{peer}: {saved} is there; remove its folder to train again", file=sys.stderr, flush=True)
        import_and_export(peer, options.model, options.scratch)
        run = export_folder(run_folder(peer, options.model, options.scratch), "int8")
        engine = Engine("dragoman onnx int8", dragoman_decoder(run, options.threads), options)
        if cut_off(engine.translate(test_lines(text, 100), beam=1).translations):
            print(f"{peer}: {UNFINISHED}", file=sys.stderr, flush=True)


def write_test_sets(multi30k: Path, tatoeba: Path, text: Path) -> None:
    """Write raw and segmented inputs; Tatoeba's distinct English lines are sampled from the whole corpus, which is
    sorted by length."""
    model = sentencepiece.SentencePieceProcessor(model_file=str(text / "bpe.model"))
    test = list(read_lines(multi30k / f"{TEST}.en.gz"))
    english = list(dict.fromkeys(read_lines(tatoeba / "all.en.xz")))
    drawn = random.Random(1).sample(english, TATOEBA)
    write_lines(text / "test.raw.de", read_lines(multi30k / f"{TEST}.de.gz"))
    twelve = [line for line in test if len(line.split()) == 12]
    for language in ("en", "de"):
        write_lines(text / f"train.raw.{language}", read_lines(multi30k / f"train.{language}.gz"))
    for name, lines in (("test", test), ("tatoeba", drawn), ("twelve", twelve)):
        write_lines(text / f"{name}.raw.en", lines)
        write_lines(text / f"{name}.en", (" ".join(model.encode(line, out_type=str)) for line in lines))


def train(peer: str, python: str, options: argparse.Namespace) -> None:
    """Train with the peer's own command, then stop it."""
    seconds = TRAINING[peer] if options.seconds is None else options.seconds
    print(f"{peer}: training for {seconds:.0f} seconds ...", file=sys.stderr, flush=True)
    command = PEERS[peer].command(python, options.model, options.scratch, options.threads)
    if peer == "opennmt":  # does not save when interrupted, unlike JoeyNMT
        command += ["-save_checkpoint_steps", "100" if seconds >= 600 else "20", "-keep_checkpoint", "1"]
    environment = {"OMP_NUM_THREADS": str(options.threads)}
    watched = watch(command, seconds, folder=options.scratch, environment=environment)
    if checkpoint(peer, options.model, options.scratch) is None:
        tail = "\n".join(line for _, line in watched.lines[-20:])
        sys.exit(f"{peer} saved nothing in {seconds:.0f} seconds; give more --seconds\n{tail}")


def import_and_export(peer: str, model: str, scratch: Path) -> None:
    """Import the peer's weights as a run for segmented and one for raw text, and export both."""
    saved, bpe = checkpoint(peer, model, scratch), str(scratch / "text" / "bpe.model")
    importing = ("import", "--from", peer, str(saved), "--overwrite", "--quiet", "--out")
    dragoman(*importing, str(run_folder(peer, model, scratch)))
    raw = run_folder(peer, model, scratch, "raw")
    dragoman(*importing, str(raw), "--source-model", bpe, "--target-model", bpe)
    segments = run_folder(peer, model, scratch)
    listing = ("--int8", "--shortlist", str(SHORTLIST), "--shortlist-corpus")
    pairs, raw_pairs = (
        (str(scratch / "text" / f"{name}.en"), str(scratch / "text" / f"{name}.de")) for name in ("train", "train.raw")
    )
    for run, name, settings in (
        (segments, "fp32", ()),
        (segments, "int8", ("--int8",)),
        (segments, "int8 shortlist", (*listing, *pairs)),
        (raw, "fp32", ()),
        (raw, "int8", ("--int8",)),
        (raw, "int8 shortlist", (*listing, *raw_pairs)),
    ):
        dragoman("export", str(run), "--out", str(export_folder(run, name)), "--overwrite", "--quiet", *settings)


def run_folder(peer: str, model: str, scratch: Path, text: str = "segments") -> Path:
    """The folder of the imported run for `segments` or `raw` text."""
    return scratch / f"dragoman.{peer}.{model}.{text}"


def export_folder(run: Path, name: str) -> Path:
    """The folder of an exported run."""
    return run.with_name(f"{run.name}.{name.replace(' ', '-')}")


def dragoman(*arguments: str) -> None:
    """Run a `dragoman` command."""
    subprocess.run([sys.executable, "-m", "dragoman", *arguments], check=True)


# Measuring -----------------------------------------------------------------------------------------------------------


def measure_all(options: argparse.Namespace) -> None:
    """Measure all engines in turn; print and write the results."""
    began = time.monotonic()
    peaks = {} if options.quick else all_peaks()
    megaflops, engines, left_out = {}, {}, {}
    for peer, python in options.peers.items():
        if not run_folder(peer, options.model, options.scratch).is_dir():
            sys.exit(f"{peer}: nothing of it in {options.scratch}; run the stage prepare with --{peer}")
        megaflops[peer] = {beam: flops_per_token(peer, options, beam) / 1e6 for beam in BEAMS}
        found = start_and_test(peer, python, options)
        if found is None:
            left_out[peer] = UNFINISHED
            print(f"{peer}: {UNFINISHED}", flush=True)
            continue
        for engine in found:
            engine.timings = timings(engine, options, first=not engines)
        engines[peer] = found
    everybody = [engine for of_peer in engines.values() for engine in of_peer]
    if not everybody:
        sys.exit("all peers were left out")
    raw = {peer: raw_text(peer, options) for peer in engines}
    if not options.quick:
        choose_sizes(everybody, 60 * options.minutes - (time.monotonic() - began))
    time_in_rounds(engines, options.rounds, began)
    result: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "command": "python bench/decoding.py measure --scratch DIR"
        + "".join(f" --{peer} PYTHON" for peer in options.peers)
        + f" --threads {options.threads} --rounds {options.rounds} --minutes {options.minutes:g}"
        + " --tatoeba" * options.tatoeba,
        "seconds": time.monotonic() - began,
        "machine": {
            "processor": machine_name(),
            "threads": options.threads,
            "torch": torch.__version__,
            "product_peaks_gflops": peaks,
        },
        "search": f"plain log-probability, at most {LONGEST} segments; batches of the peers: {SENTENCES} sentences",
        "left_out": left_out,
        "weights": {},
    }
    for peer, of_peer in engines.items():
        rows = {engine.name: engine.row() for engine in of_peer}
        add_ratios(of_peer, rows)
        add_shares(rows, megaflops[peer], peaks)
        result["weights"][peer] = {
            "model": options.model,
            "megaflops_per_token": {f"beam {beam}": value for beam, value in megaflops[peer].items()},
            "decoders": rows,
            "raw_text": raw[peer],
        }
        print(table(peer, rows), flush=True)
        print(json.dumps(raw[peer]))
    if not options.quick:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


UNFINISHED = (
    f"left out: more than {ENDLESS:.0%} of its translations do not end within {LONGEST} segments, so it was trained "
    "too little to be timed; remove its folder and prepare it with more --seconds"
)


class Translated(NamedTuple):
    """One translation of a file by an engine."""

    watched: Watched
    translations: list[str]

    @property
    def tokens(self) -> int:
        """Output segments, EOS included."""
        return sum(len(line.split()) + 1 for line in self.translations)


@dataclass
class Timing:
    """A measurement of an engine in several rounds, on a shorter and a longer input."""

    name: str
    """Name in the results."""
    lines: Sequence[str]
    beam: int
    alone: bool
    rounds: int
    expected: float
    """Approximate sentences per second."""
    sizes: tuple[int, int] = (10, 50)
    fixed: bool = False
    """Whether `sizes` are given; otherwise they follow from the available time."""
    done: list[tuple[Translated, Translated] | None] = field(default_factory=list)
    """The shorter and the longer run of each round; None where noise exceeded their difference."""

    def choose(self, seconds: float) -> None:
        """Choose sizes for which the longer input takes about `seconds` more than the shorter one."""
        more = max(1, round(seconds * self.expected))
        shorter = max(1, round(SHORT * more))
        self.sizes = shorter, shorter + more

    def rates(self) -> list[float]:
        """Tokens per second by round; NaN where noise exceeded the difference."""
        return [
            float("nan")
            if pair is None
            else (pair[1].tokens - pair[0].tokens) / (pair[1].watched.seconds - pair[0].watched.seconds)
            for pair in self.done
        ]

    def row(self) -> dict[str, Any]:
        """Medians over the rounds."""
        pairs = [pair for pair in self.done if pair is not None]
        rates = [rate for rate in self.rates() if rate == rate]
        if not pairs:
            return {"sizes": self.sizes, "tokens_per_second": float("nan")}
        more = self.sizes[1] - self.sizes[0]
        tokens = (pairs[0][1].tokens - pairs[0][0].tokens) / more
        return {
            "sizes": self.sizes,
            "sentences": more,
            "tokens_a_sentence": tokens,
            "sentences_per_second": median(rates) / tokens,
            "tokens_per_second": median(rates),
            "tokens_per_second_range": [min(rates), max(rates)],
            "rounds": len(rates),
            "processor_seconds": median(
                longer.watched.processor_seconds - shorter.watched.processor_seconds for shorter, longer in pairs
            ),
            "peak_memory_mb": max(longer.watched.peak_mb for _, longer in pairs),
            "cores_used_by_others": max(run.watched.others for pair in pairs for run in pair),
        }


class Engine:
    """A translation command under measurement."""

    def __init__(self, name: str, decoder: Decoder, options: argparse.Namespace) -> None:
        self.name = name
        self._decoder, self._threads, self._scratch = decoder, options.threads, options.scratch
        self.starts: list[float] = []
        """Seconds from the start of the process to the end of one translation."""
        self.tests: dict[int, Translated] = {}
        """Translations of the test set by beam size."""
        self.timings: list[Timing] = []

    @property
    def start_seconds(self) -> float:
        return median(self.starts)

    @property
    def patience(self) -> float:
        """Factor on the time of each timing."""
        return 2.0 if self.name in PEERS else 1.0

    def start(self, line: str, times: int) -> None:
        """Measure the start-up time."""
        self.starts = [self.translate([line], beam=1).watched.seconds for _ in range(times)]

    def sentences_per_second(self, beam: int) -> float:
        """Approximate speed on the test set."""
        test = self.tests[beam]
        seconds = max(test.watched.seconds - self.start_seconds, 0.2 * test.watched.seconds)
        return len(test.translations) / seconds

    def row(self) -> dict[str, Any]:
        """All measurements."""
        row: dict[str, Any] = {
            "start_seconds": self.start_seconds,
            "start_seconds_range": [min(self.starts), max(self.starts)],
        }
        return row | {timing.name: timing.row() for timing in self.timings}

    def translate(self, lines: Iterable[str], beam: int, *, alone: bool = False) -> Translated:
        """Translate lines from a file to a file by the engine's own command."""
        given, output = self._scratch / "input.txt", self._scratch / "output.txt"
        write_lines(given, lines)
        output.unlink(missing_ok=True)
        watched = watch(
            self._decoder.command(given, output, beam, alone),
            PATIENCE,
            folder=self._scratch,
            environment={"OMP_NUM_THREADS": str(self._threads), **self._decoder.environment},
            **({"stdin": given, "stdout": output} if self._decoder.streams else {}),
        )
        if watched.exit_code or not output.exists():
            sys.exit(f"{self.name} failed:\n" + "\n".join(line for _, line in watched.lines[-20:]))
        translations, count = list(read_lines(output)), sum(1 for _ in read_lines(given))
        if len(translations) != count:
            sys.exit(f"{self.name}: {len(translations)} translations of {count} lines")
        return Translated(watched, translations)


def start_and_test(peer: str, python: str, options: argparse.Namespace) -> list[Engine] | None:
    """All engines of a peer's weights, the peer first, with start-up times and translations of the test set; None if
    the peer's translations do not end."""
    lines = test_lines(options.scratch / "text", 40 if options.quick else WHOLE_TEST)
    engines = [Engine(name, decoder, options) for name, decoder in decoders(peer, python, options)]
    for engine in engines:
        print(f"{engine.name}: starts, then the test set by beam {BEAMS} ...", file=sys.stderr, flush=True)
        engine.start(lines[0], STARTS)
        for beam in BEAMS:
            engine.tests[beam] = engine.translate(lines, beam)
            if cut_off(engine.tests[beam].translations) and not options.quick:
                return None
    return engines


def cut_off(translations: Sequence[str]) -> bool:
    """Whether too many translations reach the length limit."""
    return sum(len(line.split()) >= LONGEST - 1 for line in translations) > ENDLESS * len(translations)


def test_lines(text: Path, count: int) -> list[str]:
    """The first segmented lines of the test set."""
    return list(itertools.islice(read_lines(text / "test.en"), count))


def decoders(peer: str, python: str, options: argparse.Namespace) -> Iterator[tuple[str, Decoder]]:
    """(name, command) of the peer and of Dragoman's engines with the same weights."""
    run = run_folder(peer, options.model, options.scratch)
    yield peer, peer_decoder(peer, python, options.model, options.scratch)
    yield "dragoman torch fp32", dragoman_decoder(run, options.threads)
    for name in PRECISIONS:
        yield f"dragoman onnx {name}", dragoman_decoder(export_folder(run, name), options.threads)


def timings(engine: Engine, options: argparse.Namespace, *, first: bool) -> list[Timing]:
    """The timings of an engine; all of Tatoeba with the first peer's weights only."""
    text = options.scratch / "text"
    multi30k = [*read_lines(text / "test.en"), *read_lines(text / "train.en")]
    found = []
    for beam in BEAMS:
        rate = engine.sentences_per_second(beam)
        found.append(Timing(f"multi30k beam {beam}", multi30k, beam, False, options.rounds, rate))
        found.append(Timing(f"multi30k beam {beam} one at a time", multi30k, beam, True, 1, ALONE_RATE))
        if options.tatoeba:
            tatoeba = Timing(f"tatoeba beam {beam}", list(read_lines(text / "tatoeba.en")), beam, False, 1, rate)
            found.append(replace(tatoeba, sizes=TATOEBA_SIZES, fixed=True) if first and not options.quick else tatoeba)
    return found


def choose_sizes(engines: Sequence[Engine], seconds: float) -> None:
    """Choose input sizes so that all timings take about `seconds`, start-up included."""
    all_of_it = [(engine, timing) for engine in engines for timing in engine.timings if not timing.fixed]
    starts = sum(2 * timing.rounds * engine.start_seconds for engine, timing in all_of_it)
    shares = sum(timing.rounds * engine.patience * (1 + 2 * SHORT) for engine, timing in all_of_it)
    each = min(max((seconds - starts) / shares, LEAST_SECONDS), MOST_SECONDS)
    print(
        f"{seconds:.0f} seconds are left, {starts:.0f} of them for start-up: the longer inputs take {each:.1f} seconds "
        f"more than the shorter ones, those of peers {2 * each:.1f}",
        file=sys.stderr,
        flush=True,
    )
    for engine, timing in all_of_it:
        timing.choose(engine.patience * each)


def time_in_rounds(engines: Mapping[str, Sequence[Engine]], rounds: int, began: float) -> None:
    """Run all timings in rounds; runs that are compared follow each other closely."""
    names = list(dict.fromkeys(timing.name for found in engines.values() for e in found for timing in e.timings))
    for number in range(rounds):
        for name, (peer, of_peer) in itertools.product(names, engines.items()):
            for engine in of_peer[:: 1 if number % 2 == 0 else -1]:
                for timing in engine.timings:
                    if timing.name == name and number < timing.rounds:
                        time_once(engine, timing, turned=number % 2 == 1)
                        seconds = time.monotonic() - began
                        print(
                            f"{seconds:4.0f} s, round {number + 1} of {timing.rounds}: {name}, {engine.name} ({peer}), "
                            f"{timing.sizes[0]:,} and {timing.sizes[1]:,} lines: {timing.rates()[-1]:,.0f} tokens/s",
                            file=sys.stderr,
                            flush=True,
                        )


def time_once(engine: Engine, timing: Timing, *, turned: bool) -> None:
    """One round of one engine: both inputs, the longer first if `turned`; repeated if noise exceeds the difference."""
    sizes = timing.sizes[::-1] if turned else timing.sizes
    for _ in range(TRIES):
        runs = [engine.translate(repeated(timing.lines, size), timing.beam, alone=timing.alone) for size in sizes]
        shorter, longer = reversed(runs) if turned else runs
        if longer.watched.seconds > shorter.watched.seconds:
            timing.done.append((shorter, longer))
            return
    timing.done.append(None)


def add_ratios(engines: Sequence[Engine], rows: dict[str, Any]) -> None:
    """Add BLEU, the number of translations identical to the peer's, and throughput relative to the peer's by round."""
    peer = engines[0]
    text = peer._scratch / "text"
    for engine in engines:
        for beam, test in engine.tests.items():
            pairs = zip(test.translations, peer.tests[beam].translations, strict=True)
            rows[engine.name][f"multi30k beam {beam}"] |= {
                "bleu": bleu(test.translations, text),
                "identical_to_peer": sum(ours == theirs for ours, theirs in pairs),
            }
        for ours, theirs in zip(engine.timings, peer.timings, strict=True):
            ratios = [own / other for own, other in zip(ours.rates(), theirs.rates(), strict=True)]
            ratios = [ratio for ratio in ratios if ratio == ratio]
            rows[engine.name][ours.name] |= {
                # Median and range of the ratios, not the ratio of medians.
                "ratio_to_peer": median(ratios) if ratios else float("nan"),
                "ratio_to_peer_range": [min(ratios), max(ratios)] if ratios else [],
            }


def bleu(translations: Sequence[str], text: Path) -> float:
    """BLEU of detokenised translations of the first lines of the test set against the raw references."""
    model = sentencepiece.SentencePieceProcessor(model_file=str(text / "bpe.model"))
    references = list(itertools.islice(read_lines(text / "test.raw.de"), len(translations)))
    score: float = sacrebleu.corpus_bleu([model.decode(line.split()) for line in translations], [references]).score
    return score


def raw_text(peer: str, options: argparse.Namespace) -> dict[str, Any]:
    """Latency of single raw sentences of twelve words with beam 5, by exported folder in turn."""
    run = run_folder(peer, options.model, options.scratch, "raw")
    lines = list(read_lines(options.scratch / "text" / "twelve.raw.en"))
    engines = [
        Engine(name, dragoman_decoder(export_folder(run, name), options.threads), options) for name in PRECISIONS
    ]
    for engine in engines:
        engine.start(lines[0], STARTS)
        timing = Timing("raw text", lines, 5, True, options.rounds, ALONE_RATE)
        if not options.quick:
            timing.choose(2.0)
        engine.timings.append(timing)
    for number in range(options.rounds):
        for engine in engines[:: 1 if number % 2 == 0 else -1]:
            time_once(engine, engine.timings[0], turned=number % 2 == 1)
    return {engine.name: one_raw_sentence(engine) for engine in engines}


def one_raw_sentence(engine: Engine) -> dict[str, Any]:
    """Start-up time, and milliseconds per sentence translated alone."""
    (timing,) = engine.timings
    row = timing.row()
    count = row.get("sentences", 0)
    if not count:
        sys.exit("raw text: the longer input took no longer than the shorter in any round")
    times = [
        1000 * (longer.watched.seconds - shorter.watched.seconds) / count
        for shorter, longer in filter(None, timing.done)
    ]
    return {
        "start_seconds": engine.start_seconds,
        "milliseconds_a_sentence": median(times),
        "milliseconds_a_sentence_by_round": times,
        "processor_milliseconds_a_sentence": 1000 * row["processor_seconds"] / count,
        "cores_used_by_others": row["cores_used_by_others"],
    }


def measure_alone(options: argparse.Namespace) -> None:
    """Latency of single sentences with the weights of every prepared peer."""
    peers = [name for name in PEERS if run_folder(name, options.model, options.scratch, "raw").is_dir()]
    result = {
        "date": time.strftime("%Y-%m-%d"),
        "command": f"python bench/decoding.py alone --scratch DIR --rounds {options.rounds}",
        "machine": {"processor": machine_name(), "threads": options.threads},
        "weights": {peer: raw_text(peer, options) for peer in peers},
    }
    print(json.dumps(result, indent=1))
    RESULTS_ALONE.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def all_peaks() -> dict[str, float]:
    """GFLOP/s of matrix products in float32, and in int8 in the shapes of a decoder step."""
    peaks = {shape: rate for shape, rate in product_peaks().items() if shape.endswith("fp32")}
    for rows, n_in, n_out in ((64, 512, 1536), (320, 512, 1536), (320, 512, 10_000)):
        x = torch.randint(-127, 127, (rows, n_in), dtype=torch.int8)
        w = torch.randint(-127, 127, (n_out, n_in), dtype=torch.int8).t()
        rate = 2 * rows * n_in * n_out * calls_per_second(partial(torch._int_mm, x, w))
        peaks[f"{rows} x {n_in} to {n_out}, int8"] = rate / 1e9
    return peaks


def calls_per_second(call: Callable[[], object]) -> float:
    """Calls per second of a function, measured over one second."""
    for _ in range(5):
        call()
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < 1.0:
        call()
        count += 1
    return count / (time.perf_counter() - began)


def flops_per_token(peer: str, options: argparse.Namespace, beam: int) -> float:
    """Floating-point operations of matrix products per output token of the first batch, padding included."""
    run = open_run(run_folder(peer, options.model, options.scratch), device="cpu", threads=options.threads)
    search = run.config.search.replaced(
        beam=beam, normalisation="none", max_length_factor=1e-6, max_length_extra=LONGEST
    )
    lines = list(itertools.islice(read_lines(options.scratch / "text" / "test.en"), SENTENCES))
    counter = product_counter()
    with counter:
        found = [best for best, *_ in run.translator(search).translate_lines(lines)]
    return counter.get_total_flops() / sum(len(translation.tokens) + 1 for translation in found)


def add_shares(rows: dict[str, Any], megaflops: dict[int, float], peaks: dict[str, float]) -> None:
    """Add the share of the fastest measured matrix product in float32 or int8."""
    for name, row in rows.items():
        kind = "int8" if "int8" in name else "fp32"
        best = max((rate for shape, rate in peaks.items() if shape.endswith(kind)), default=0)
        for beam in BEAMS if best else ():
            measured = row[f"multi30k beam {beam}"]
            measured["share_of_product_peak"] = measured["tokens_per_second"] * megaflops[beam] / 1000 / best


def table(peer: str, rows: dict[str, Any]) -> str:
    """A table of output tokens per second, BLEU, start-up time and memory."""
    columns = [name for name in rows[peer] if "beam" in name]
    lines = [f"weights of {peer}; tokens/s: {', '.join(columns)}; BLEU 1, 5; start s; memory MB at beam 5"]
    for name, row in rows.items():
        rates = "".join(f"{row[column]['tokens_per_second']:8.0f}" for column in columns)
        scores = "".join(f"{row[f'multi30k beam {beam}']['bleu']:7.2f}" for beam in BEAMS)
        memory = row["multi30k beam 5"].get("peak_memory_mb", float("nan"))
        lines.append(f"{name:28}{rates}{scores}{row['start_seconds']:7.2f}{memory:7.0f}")
    lines.append("ratios to the peer, median (least to most) of the rounds; share of the product peak")
    for name, row in rows.items():
        told = []
        for beam in BEAMS:
            measured = row[f"multi30k beam {beam}"]
            span = " to ".join(f"{ratio:.2f}" for ratio in measured["ratio_to_peer_range"])
            share = measured.get("share_of_product_peak", float("nan"))
            told.append(f"beam {beam}: {measured['ratio_to_peer']:.2f} ({span}), {share:.1%}")
        lines.append(f"{name:28}  {';  '.join(told)}")
    return "\n".join(lines)


# Long inputs ---------------------------------------------------------------------------------------------------------


def measure_streams(options: argparse.Namespace) -> None:
    """Repeated lines of Tatoeba with int8: neither memory nor throughput should depend on the length of the input."""
    peer = next(peer for peer in PEERS if run_folder(peer, options.model, options.scratch, "raw").is_dir())
    folder = export_folder(run_folder(peer, options.model, options.scratch, "raw"), "int8")
    lines = list(read_lines(options.scratch / "text" / "tatoeba.raw.en"))
    engine = Engine("stream", dragoman_decoder(folder, options.threads), options)
    before = engine.translate(lines[:1], options.beam)
    for count in sizes(options.lines):
        run = engine.translate(repeated(lines, count), options.beam)
        rate = (run.tokens - before.tokens) / (run.watched.seconds - before.watched.seconds)
        print(json.dumps({"sentences": count, "tokens_per_second": rate, "peak_memory_mb": run.watched.peak_mb}))
        before = run


def repeated(lines: Sequence[str], count: int) -> Iterable[str]:
    """`count` lines, by repeating the given ones."""
    return itertools.islice(itertools.cycle(lines), count)


def sizes(most: int) -> list[int]:
    """The powers of ten from 1,000 below `most`, and `most`."""
    powers = itertools.takewhile(lambda size: size < most, (1000 * 10**power for power in itertools.count()))
    return [*powers, most]


if __name__ == "__main__":
    main()
