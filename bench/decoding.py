"""Translation speed: the same weights in Dragoman and in the toolkit that trained them, file to file, on one machine.

    python bench/decoding.py prepare MULTI30K TATOEBA --scratch DIR --joeynmt PYTHON --opennmt PYTHON
    python bench/decoding.py measure --scratch DIR --joeynmt PYTHON --opennmt PYTHON

PYTHON is the interpreter of a virtual environment with that toolkit (see docs/performance.md); one peer is enough. The
first stage cuts Multi30k English-German into a joint BPE of 10,000 pieces, has each peer train model B of
bench/training.py for a while (JoeyNMT needs longer), imports what it saved (`dragoman import`) and exports that in each
precision. The second stage translates, every time by the toolkit's own command from a file to a file, with one search
for all: plain log-probability, at most 60 segments. Text is segmented beforehand, so that everybody does the same work;
that of a user's sentence, raw text in and out, is measured beside it.

    Multi30k   beam 1 and 5, in batches; BLEU and how many translations are the peer's, of the 1,000 sentences of
               test_2016_flickr; rates of those and then lines of the training text, so that no line comes twice
    alone      the same, one sentence at a time; one round
    Tatoeba    its English side in random order, with --tatoeba; one round; all 20,000 lines with the first peer's
               weights, for which the time comes on top of --minutes

A rate is of the lines that a longer input has more than a shorter one with which it begins, over the time that they
take more: what a program does once, such as loading and compiling, falls out. Everybody is timed on both inputs in
every round, one after the other, in the opposite order in every other round; told are the median and the range of the
rates of the rounds, and of their ratios to the peer's rate of the same round. How long the inputs are is chosen by
engine, from its rate in a first translation of the test set, so that all together takes --minutes; peers, whose
start-up varies by a second, get twice the time of others. Tokens are output segments and the end marks. A peer that
does not end its sentences, because it was trained too little, is left out. Results go to bench/results/decoding.json.
Nothing else may run on the machine meanwhile: look at `cores_used_by_others`, and where they are not near 0 at nothing
but the processor seconds.

    python bench/decoding.py alone --scratch DIR --rounds 12
    python bench/decoding.py stream --scratch DIR --lines 200000

The former times one raw sentence of twelve words at a time as exported in each precision, in turn, and writes
bench/results/decoding-alone.json; the latter compares the rate and the memory of long inputs with those of short ones,
and prints them.
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
"""Sentences a second that are expected where they are translated one at a time; all come near it."""
TATOEBA = 20_000
TATOEBA_SIZES = (1_000, TATOEBA)
"""The shorter input and the longer one: all of it."""
STARTS = 5
"""Start-ups of which the median is taken."""
TRAINING = {"opennmt": 900.0, "joeynmt": 3600.0}
"""Seconds of training by default, the first to be measured first: what JoeyNMT has after 900 does not end sentences."""
SHORT = 0.25
"""Length of the shorter input, as a share of what the longer one has more."""
LEAST_SECONDS, MOST_SECONDS = 0.5, 10.0
"""That the longer input may take more, however little or much time there is; peers' twice."""
TRIES = 3
"""At a round in which the longer input takes no longer."""
ENDLESS = 0.1
"""Share of translations cut off at the longest length from which on a peer is left out."""
PRECISIONS = ("fp32", "int8", "int8 shortlist")
"""Of exported folders."""
SHORTLIST = 2000
"""Most frequent target words that a shortlist always holds, of 9,800."""
PATIENCE = 900.0
"""Seconds after which a translation is given up."""


def main() -> None:
    """One of the stages."""
    options = parse()
    options.stage(options)


def parse() -> argparse.Namespace:
    """Options of the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    stages = parser.add_subparsers(required=True)
    preparing = stages.add_parser("prepare", help="train the peers' models, import and export them")
    preparing.add_argument("multi30k", type=Path, help="folder with train.en.gz, val.de.gz, test_2016_flickr.en.gz ...")
    preparing.add_argument("tatoeba", type=Path, help="folder with all.en.xz")
    preparing.add_argument(
        "--seconds", type=float, help=f"of each training (default: {', '.join(map(str, TRAINING.items()))})"
    )
    preparing.set_defaults(stage=prepare_all)
    measuring = stages.add_parser("measure", help="translate with everybody")
    measuring.add_argument("--rounds", type=int, default=3, help="in which everybody is timed")
    measuring.add_argument("--minutes", type=float, default=8.5, help="that everything else together is to take")
    measuring.add_argument(
        "--tatoeba",
        action="store_true",
        help="also time all lines of Tatoeba, once: a quarter of an hour more",
    )
    measuring.add_argument("--quick", action="store_true", help="a few sentences of everything; writes no results")
    measuring.set_defaults(stage=measure_all)
    waiting = stages.add_parser("alone", help="what one waits for a sentence")
    waiting.add_argument("--rounds", type=int, default=12, help="in which each folder is timed")
    waiting.set_defaults(stage=measure_alone, quick=False)
    streaming = stages.add_parser("stream", help="rate and memory of long inputs")
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
    """Everything that needs no quiet machine; a model that is there is not trained again."""
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
    """Raw and segmented; of Tatoeba the English side, every line once, drawn from the whole corpus, which is in order
    of length."""
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
    if peer == "opennmt":  # unlike the other, it saves nothing when it is interrupted
        command += ["-save_checkpoint_steps", "100" if seconds >= 600 else "20", "-keep_checkpoint", "1"]
    environment = {"OMP_NUM_THREADS": str(options.threads)}
    watched = watch(command, seconds, folder=options.scratch, environment=environment)
    if checkpoint(peer, options.model, options.scratch) is None:
        tail = "\n".join(line for _, line in watched.lines[-20:])
        sys.exit(f"{peer} saved nothing in {seconds:.0f} seconds; give more --seconds\n{tail}")


def import_and_export(peer: str, model: str, scratch: Path) -> None:
    """The peer's weights as a run that reads segments, as one that reads raw text, and as exported folders."""
    saved, bpe = checkpoint(peer, model, scratch), str(scratch / "text" / "bpe.model")
    importing = ("import", "--from", peer, str(saved), "--overwrite", "--quiet", "--out")
    dragoman(*importing, str(run_folder(peer, model, scratch)))
    raw = run_folder(peer, model, scratch, "raw")
    dragoman(*importing, str(raw), "--source-model", bpe, "--target-model", bpe)
    segments = run_folder(peer, model, scratch)
    listing = ("--int8", "--shortlist", str(SHORTLIST), "--pairs")
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
    """Where the imported run lies that reads this kind of text."""
    return scratch / f"dragoman.{peer}.{model}.{text}"


def export_folder(run: Path, name: str) -> Path:
    """Where it lies exported."""
    return run.with_name(f"{run.name}.{name.replace(' ', '-')}")


def dragoman(*arguments: str) -> None:
    """Our own command."""
    subprocess.run([sys.executable, "-m", "dragoman", *arguments], check=True)


# Measuring -----------------------------------------------------------------------------------------------------------


def measure_all(options: argparse.Namespace) -> None:
    """Everybody in turn; print and write."""
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
        sys.exit("nobody is left to be measured")
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
    """A run of an engine over a file."""

    watched: Watched
    translations: list[str]

    @property
    def tokens(self) -> int:
        """End marks count."""
        return sum(len(line.split()) + 1 for line in self.translations)


@dataclass
class Timing:
    """What is timed of an engine in several rounds, on a shorter and on a longer input."""

    name: str
    """For the results."""
    lines: Sequence[str]
    beam: int
    alone: bool
    rounds: int
    expected: float
    """Sentences a second, roughly."""
    sizes: tuple[int, int] = (10, 50)
    fixed: bool = False
    """The sizes are given; otherwise they follow from the time there is."""
    done: list[tuple[Translated, Translated] | None] = field(default_factory=list)
    """By round, the shorter and the longer; None where the difference was lost in the noise."""

    def choose(self, seconds: float) -> None:
        """Let the longer input take so much more time."""
        more = max(1, round(seconds * self.expected))
        shorter = max(1, round(SHORT * more))
        self.sizes = shorter, shorter + more

    def rates(self) -> list[float]:
        """Tokens a second by round; NaN where the difference was lost in the noise."""
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
    """A way to translate, under the watch."""

    def __init__(self, name: str, decoder: Decoder, options: argparse.Namespace) -> None:
        self.name = name
        self._decoder, self._threads, self._scratch = decoder, options.threads, options.scratch
        self.starts: list[float] = []
        """Seconds from the start of the process to the end of one translation."""
        self.tests: dict[int, Translated] = {}
        """The test set by beam."""
        self.timings: list[Timing] = []

    @property
    def start_seconds(self) -> float:
        return median(self.starts)

    @property
    def patience(self) -> float:
        """How much more of the time it gets than others."""
        return 2.0 if self.name in PEERS else 1.0

    def start(self, line: str, times: int) -> None:
        """Note how long it takes to start."""
        self.starts = [self.translate([line], beam=1).watched.seconds for _ in range(times)]

    def sentences_per_second(self, beam: int) -> float:
        """Roughly, on the test set."""
        test = self.tests[beam]
        seconds = max(test.watched.seconds - self.start_seconds, 0.2 * test.watched.seconds)
        return len(test.translations) / seconds

    def row(self) -> dict[str, Any]:
        """Everything that was measured."""
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
    """All engines with these weights, the peer first, started and with the test set translated once by each beam; None
    if the peer does not end its sentences."""
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
    """Whether too many translations have no end."""
    return sum(len(line.split()) >= LONGEST - 1 for line in translations) > ENDLESS * len(translations)


def test_lines(text: Path, count: int) -> list[str]:
    """Segmented lines of the test set, as far as there are any."""
    return list(itertools.islice(read_lines(text / "test.en"), count))


def decoders(peer: str, python: str, options: argparse.Namespace) -> Iterator[tuple[str, Decoder]]:
    """(name, how to translate) of all that have these weights."""
    run = run_folder(peer, options.model, options.scratch)
    yield peer, peer_decoder(peer, python, options.model, options.scratch)
    yield "dragoman torch fp32", dragoman_decoder(run, options.threads)
    for name in PRECISIONS:
        yield f"dragoman onnx {name}", dragoman_decoder(export_folder(run, name), options.threads)


def timings(engine: Engine, options: argparse.Namespace, *, first: bool) -> list[Timing]:
    """What is timed of an engine; all of Tatoeba with the first peer's weights only."""
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
    """Let everything together take so many seconds, starts included."""
    all_of_it = [(engine, timing) for engine in engines for timing in engine.timings if not timing.fixed]
    starts = sum(2 * timing.rounds * engine.start_seconds for engine, timing in all_of_it)
    shares = sum(timing.rounds * engine.patience * (1 + 2 * SHORT) for engine, timing in all_of_it)
    each = min(max((seconds - starts) / shares, LEAST_SECONDS), MOST_SECONDS)
    print(
        f"{seconds:.0f} seconds are left, {starts:.0f} of them for starts: the longer inputs take {each:.1f} seconds "
        f"more than the shorter, those of peers {2 * each:.1f}",
        file=sys.stderr,
        flush=True,
    )
    for engine, timing in all_of_it:
        timing.choose(engine.patience * each)


def time_in_rounds(engines: Mapping[str, Sequence[Engine]], rounds: int, began: float) -> None:
    """Time everybody on everything; what is compared is timed close together."""
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
    """One round of one engine: the shorter input and the longer, or turned round; again where their difference is lost
    in the noise."""
    sizes = timing.sizes[::-1] if turned else timing.sizes
    for _ in range(TRIES):
        runs = [engine.translate(repeated(timing.lines, size), timing.beam, alone=timing.alone) for size in sizes]
        shorter, longer = reversed(runs) if turned else runs
        if longer.watched.seconds > shorter.watched.seconds:
            timing.done.append((shorter, longer))
            return
    timing.done.append(None)


def add_ratios(engines: Sequence[Engine], rows: dict[str, Any]) -> None:
    """BLEU and the number of the peer's own translations, and rates beside the peer's of the same round."""
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
                # Median and range of the ratios, not ratio of the medians.
                "ratio_to_peer": median(ratios) if ratios else float("nan"),
                "ratio_to_peer_range": [min(ratios), max(ratios)] if ratios else [],
            }


def bleu(translations: Sequence[str], text: Path) -> float:
    """BLEU of segmented translations of the first lines of the test set, joined, against the raw references."""
    model = sentencepiece.SentencePieceProcessor(model_file=str(text / "bpe.model"))
    references = list(itertools.islice(read_lines(text / "test.raw.de"), len(translations)))
    score: float = sacrebleu.corpus_bleu([model.decode(line.split()) for line in translations], [references]).score
    return score


def raw_text(peer: str, options: argparse.Namespace) -> dict[str, Any]:
    """What somebody waits for who has one sentence of twelve words: raw text in and out, beam 5; by exported folder, in
    turn."""
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
    """Start-up, and milliseconds a sentence, one at a time."""
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
    """One sentence at a time, with the weights of every peer that is there."""
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
    """GFLOP/s of products in float32, and in 8-bit whole numbers in the shapes of a decoder's step."""
    peaks = {shape: rate for shape, rate in product_peaks().items() if shape.endswith("fp32")}
    for rows, n_in, n_out in ((64, 512, 1536), (320, 512, 1536), (320, 512, 10_000)):
        x = torch.randint(-127, 127, (rows, n_in), dtype=torch.int8)
        w = torch.randint(-127, 127, (n_out, n_in), dtype=torch.int8).t()
        rate = 2 * rows * n_in * n_out * calls_per_second(partial(torch._int_mm, x, w))
        peaks[f"{rows} x {n_in} to {n_out}, int8"] = rate / 1e9
    return peaks


def calls_per_second(call: Callable[[], object]) -> float:
    """Of a function that is called for a second."""
    for _ in range(5):
        call()
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < 1.0:
        call()
        count += 1
    return count / (time.perf_counter() - began)


def flops_per_token(peer: str, options: argparse.Namespace, beam: int) -> float:
    """Floating-point operations of the products for each output token of the first batch, padding counted."""
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
    """Of the fastest product measured in float32 or int8."""
    for name, row in rows.items():
        kind = "int8" if "int8" in name else "fp32"
        best = max((rate for shape, rate in peaks.items() if shape.endswith(kind)), default=0)
        for beam in BEAMS if best else ():
            measured = row[f"multi30k beam {beam}"]
            measured["share_of_product_peak"] = measured["tokens_per_second"] * megaflops[beam] / 1000 / best


def table(peer: str, rows: dict[str, Any]) -> str:
    """Output tokens a second, with BLEU, start and memory."""
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
    """Tatoeba's lines again and again, int8: memory must not depend on how many there are, nor the rate of those that
    each input has more than the one before."""
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
    """So many lines, the given ones over and over."""
    return itertools.islice(itertools.cycle(lines), count)


def sizes(most: int) -> list[int]:
    """1,000, ten times that, and so on, and `most`."""
    powers = itertools.takewhile(lambda size: size < most, (1000 * 10**power for power in itertools.count()))
    return [*powers, most]


if __name__ == "__main__":
    main()
