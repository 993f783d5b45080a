"""Translation speed: the same weights in Dragoman and in the toolkit that trained them, file to file, on one machine.

    python bench/decoding.py prepare MULTI30K TATOEBA --scratch DIR --joeynmt PYTHON --opennmt PYTHON
    python bench/decoding.py measure --scratch DIR --joeynmt PYTHON --opennmt PYTHON

PYTHON is the interpreter of a virtual environment with that toolkit (see docs/performance.md). The first stage cuts
Multi30k English-German into a joint BPE of 10,000 pieces, has each peer train model B of bench/training.py for a
while, imports what it saved (`dragoman import`) and exports that in each precision. The second stage translates,
every time by the toolkit's own command from a file to a file, with one search for all: plain log-probability, at most
60 segments. Text is segmented beforehand, so that everybody does the same work; that of a user's sentence, raw text
in and out, is measured beside it.

    Multi30k test_2016_flickr   1,000 sentences; beam 1 and 5; in batches, and the first of them one at a time
    Tatoeba English             20,000 lines, of which peers and torch translate a tenth; the first peer's weights alone

A rate leaves the start-up out, which is the time that one sentence takes. Tokens are output segments and the end
marks. Results go to bench/results/decoding.json. Nothing else may run on the machine meanwhile: look at
`cores_used_by_others`, and where they are not near 0 at nothing but the processor seconds.

    python bench/decoding.py stream --scratch DIR --lines 200000

compares the rate and the memory of long inputs with those of short ones, and prints them.
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import sacrebleu
import sentencepiece
import torch
from decoders import LONGEST, SENTENCES, Decoder, checkpoint, dragoman_decoder, peer_decoder
from peers import PEERS
from torch.utils.flop_counter import FlopCounterMode
from training import prepare, product_peaks
from watching import Watched, watch

from dragoman.report.facts import machine_name
from dragoman.run import open_run
from dragoman.text.lines import read_lines, write_lines

RESULTS = Path(__file__).parent / "results" / "decoding.json"
TEST = "test_2016_flickr"
BEAMS = (1, 5)
ALONE = 100
"""Sentences that are translated one at a time."""
TATOEBA = 20_000
STARTS = 3
"""Start-ups of which the median is taken."""
SHORTLIST = 2000
"""Most frequent target words that a shortlist always holds, of 9,800."""
PATIENCE = 600.0
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
    preparing.add_argument("--seconds", type=float, default=900, help="of each training")
    preparing.set_defaults(stage=prepare_all)
    measuring = stages.add_parser("measure", help="translate with everybody")
    measuring.add_argument(
        "--lines", type=int, default=TATOEBA, help="of Tatoeba; peers and torch translate a tenth of them"
    )
    measuring.add_argument("--quick", action="store_true", help="a few sentences of everything; writes no results")
    measuring.set_defaults(stage=measure_all)
    streaming = stages.add_parser("stream", help="rate and memory of long inputs")
    streaming.add_argument("--lines", type=int, default=200_000)
    streaming.add_argument("--beam", type=int, default=1)
    streaming.set_defaults(stage=measure_streams)
    for stage in (preparing, measuring, streaming):
        stage.add_argument("--scratch", type=Path, required=True, help="folder for text, models and outputs")
        stage.add_argument("--model", choices=("B", "L"), default="B")
        stage.add_argument("--threads", type=int, default=os.cpu_count())
        for peer in PEERS:
            stage.add_argument(f"--{peer}", metavar="PYTHON", help=f"interpreter of {peer}; left out if absent")
    options = parser.parse_args()
    options.scratch = options.scratch.resolve()
    options.peers = {name: python for name in PEERS if (python := getattr(options, name))}
    return options


# Preparing -----------------------------------------------------------------------------------------------------------


def prepare_all(options: argparse.Namespace) -> None:
    """Everything that needs no quiet machine; a model that is there is not trained again."""
    text = options.scratch / "text"
    if not (text / "vocabulary.txt").exists():
        prepare(options.multi30k, text)
    write_test_sets(options.multi30k, options.tatoeba, text)
    for peer, python in options.peers.items():
        if checkpoint(peer, options.model, options.scratch) is None:
            train(peer, python, options)
        import_and_export(peer, options.model, options.scratch)


def write_test_sets(multi30k: Path, tatoeba: Path, text: Path) -> None:
    """Raw and segmented; of Tatoeba the English side, every line once, drawn from the whole corpus, which is in order
    of length."""
    model = sentencepiece.SentencePieceProcessor(model_file=str(text / "bpe.model"))
    test = list(read_lines(multi30k / f"{TEST}.en.gz"))
    english = list(dict.fromkeys(read_lines(tatoeba / "all.en.xz")))
    drawn = random.Random(1).sample(english, TATOEBA)
    write_lines(text / "test.raw.de", read_lines(multi30k / f"{TEST}.de.gz"))
    twelve = [line for line in test if len(line.split()) == 12]
    for name, lines in (("test", test), ("tatoeba", drawn), ("twelve", twelve)):
        write_lines(text / f"{name}.raw.en", lines)
        write_lines(text / f"{name}.en", (" ".join(model.encode(line, out_type=str)) for line in lines))


def train(peer: str, python: str, options: argparse.Namespace) -> None:
    """Train with the peer's own command, then stop it."""
    print(f"{peer}: training for {options.seconds:.0f} seconds ...", file=sys.stderr, flush=True)
    command = PEERS[peer].command(python, options.model, options.scratch, options.threads)
    if peer == "opennmt":  # unlike the other, it saves nothing when it is interrupted
        command += ["-save_checkpoint_steps", "100", "-keep_checkpoint", "1"]
    environment = {"OMP_NUM_THREADS": str(options.threads)}
    watched = watch(command, options.seconds, folder=options.scratch, environment=environment)
    if checkpoint(peer, options.model, options.scratch) is None:
        sys.exit("nothing was saved:\n" + "\n".join(line for _, line in watched.lines[-20:]))


def import_and_export(peer: str, model: str, scratch: Path) -> None:
    """The peer's weights as a run that reads segments, as one that reads raw text, and as exported folders."""
    saved, bpe = checkpoint(peer, model, scratch), str(scratch / "text" / "bpe.model")
    importing = ("import", "--from", peer, str(saved), "--overwrite", "--quiet", "--out")
    dragoman(*importing, str(run_folder(peer, model, scratch)))
    raw = run_folder(peer, model, scratch, "raw")
    dragoman(*importing, str(raw), "--source-model", bpe, "--target-model", bpe)
    segments = run_folder(peer, model, scratch)
    pairs = (str(scratch / "text" / "train.en"), str(scratch / "text" / "train.de"))
    for run, name, settings in (
        (segments, "fp32", ()),
        (segments, "int8", ("--int8",)),
        (segments, "int8 shortlist", ("--int8", "--shortlist", str(SHORTLIST), "--pairs", *pairs)),
        (raw, "int8", ("--int8",)),
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
    peaks = {} if options.quick else all_peaks()
    result: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "command": f"python bench/decoding.py measure --scratch DIR --joeynmt PYTHON --opennmt PYTHON "
        f"--threads {options.threads} --lines {options.lines}",
        "machine": {
            "processor": machine_name(),
            "threads": options.threads,
            "torch": torch.__version__,
            "product_peaks_gflops": peaks,
        },
        "search": f"plain log-probability, at most {LONGEST} segments; batches of the peers: {SENTENCES} sentences",
        "weights": {},
    }
    for place, (peer, python) in enumerate(options.peers.items()):
        megaflops = {beam: flops_per_token(peer, options, beam) / 1e6 for beam in BEAMS}
        rows: dict[str, Any] = {}
        of_peer: dict[int, list[str]] = {}
        for name, decoder, lines in decoders(peer, python, options):
            rows[name] = measure(name, decoder, options, tatoeba=0 if place else lines, of_peer=of_peer)
        add_shares(rows, megaflops, peaks)
        result["weights"][peer] = {
            "model": options.model,
            "megaflops_per_token": {f"beam {beam}": value for beam, value in megaflops.items()},
            "decoders": rows,
            "raw_text": raw_text(peer, options),
        }
        print(table(peer, rows), flush=True)
        print(json.dumps(result["weights"][peer]["raw_text"]))
        if not options.quick:
            RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def decoders(peer: str, python: str, options: argparse.Namespace) -> Iterator[tuple[str, Decoder, int]]:
    """(name, how to translate, lines of Tatoeba) of all that have these weights."""
    run = run_folder(peer, options.model, options.scratch)
    yield peer, peer_decoder(peer, python, options.model, options.scratch), options.lines // 10
    yield "dragoman torch fp32", dragoman_decoder(run, options.threads), options.lines // 10
    for name in ("fp32", "int8", "int8 shortlist"):
        yield f"dragoman onnx {name}", dragoman_decoder(export_folder(run, name), options.threads), options.lines


def measure(
    name: str, decoder: Decoder, options: argparse.Namespace, *, tatoeba: int, of_peer: dict[int, list[str]]
) -> dict[str, Any]:
    """One decoder on everything; the first one's translations by each beam are `of_peer`."""
    text = options.scratch / "text"
    test, alone = (40, 5) if options.quick else (1000, ALONE)
    tatoeba = min(tatoeba, 80) if options.quick else tatoeba
    timed = Timed(name, decoder, options)
    row: dict[str, Any] = {"start_seconds": timed.start(text / "test.en", STARTS if "dragoman" in name else 1)}
    for beam in BEAMS:
        measured = row[f"multi30k beam {beam}"] = timed.rate(text / "test.en", test, beam)
        measured["bleu"] = bleu(timed.translations, text)
        pairs = zip(timed.translations, of_peer.setdefault(beam, timed.translations), strict=True)
        measured["identical_to_peer"] = sum(ours == theirs for ours, theirs in pairs)
        row[f"multi30k beam {beam} one at a time"] = timed.rate(text / "test.en", alone, beam, alone=True)
        if tatoeba:
            row[f"tatoeba beam {beam}"] = timed.rate(text / "tatoeba.en", tatoeba, beam)
    return row


class Timed:
    """A decoder under the watch."""

    def __init__(self, name: str, decoder: Decoder, options: argparse.Namespace) -> None:
        self._name, self._decoder, self._threads = name, decoder, options.threads
        self._scratch = options.scratch
        self._started = self._spent = 0.0
        self._output = options.scratch / "output.txt"
        self.translations: list[str] = []
        """The latest."""

    def start(self, source: Path, times: int) -> float:
        """Seconds from the start of the process to the first translation, the median of so many."""
        watched = [self._run(source, 1, 1, alone=False) for _ in range(times)]
        self._started = median(run.seconds for run in watched)
        self._spent = median(run.processor_seconds for run in watched)
        return self._started

    def rate(self, source: Path, count: int, beam: int, *, alone: bool = False) -> dict[str, float]:
        """Of the first `count` lines."""
        watched = self._run(source, count, beam, alone=alone)
        self.translations = list(read_lines(self._output))
        if len(self.translations) != count:
            sys.exit(f"{self._name}: {len(self.translations)} translations of {count} lines")
        tokens = sum(len(line.split()) + 1 for line in self.translations)
        seconds = watched.seconds - self._started
        return {
            "sentences": count,
            "tokens_a_sentence": tokens / count,
            "sentences_per_second": (count - 1) / seconds,
            "tokens_per_second": tokens * (count - 1) / count / seconds,
            "processor_seconds": watched.processor_seconds - self._spent,
            "peak_memory_mb": watched.peak_mb,
            "cores_used_by_others": watched.others,
        }

    def _run(self, source: Path, count: int, beam: int, *, alone: bool) -> Watched:
        given = self._scratch / "input.txt"
        write_lines(given, itertools.islice(read_lines(source), count))
        self._output.unlink(missing_ok=True)
        print(f"{self._name}: {count} lines of {source.name}, beam {beam} ...", file=sys.stderr, flush=True)
        watched = watch(
            self._decoder.command(given, self._output, beam, alone),
            PATIENCE,
            folder=self._scratch,
            environment={"OMP_NUM_THREADS": str(self._threads), **self._decoder.environment},
            **({"stdin": given, "stdout": self._output} if self._decoder.streams else {}),
        )
        if watched.exit_code or not self._output.exists():
            sys.exit(f"{self._name} failed:\n" + "\n".join(line for _, line in watched.lines[-20:]))
        return watched


def bleu(translations: Sequence[str], text: Path) -> float:
    """BLEU of segmented translations of the first lines of the test set, joined, against the raw references."""
    model = sentencepiece.SentencePieceProcessor(model_file=str(text / "bpe.model"))
    references = list(itertools.islice(read_lines(text / "test.raw.de"), len(translations)))
    score: float = sacrebleu.corpus_bleu([model.decode(line.split()) for line in translations], [references]).score
    return score


def raw_text(peer: str, options: argparse.Namespace) -> dict[str, float]:
    """What somebody waits for who has one sentence of twelve words: raw text in and out, int8, beam 5."""
    folder = export_folder(run_folder(peer, options.model, options.scratch, "raw"), "int8")
    source = options.scratch / "text" / "twelve.raw.en"
    count = min(5 if options.quick else ALONE, sum(1 for _ in read_lines(source)))
    timed = Timed("raw text", dragoman_decoder(folder, options.threads), options)
    start = timed.start(source, STARTS)
    row = timed.rate(source, count, 5, alone=True)
    return {
        "start_seconds": start,
        "milliseconds_a_sentence": 1000 / row["sentences_per_second"],
        "processor_milliseconds_a_sentence": 1000 * row["processor_seconds"] / (count - 1),
        "cores_used_by_others": row["cores_used_by_others"],
    }


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
    search = run.config.search.model_copy(
        update={"beam": beam, "normalisation": "none", "max_factor": 1e-6, "max_extra": LONGEST}
    )
    lines = list(itertools.islice(read_lines(options.scratch / "text" / "test.en"), SENTENCES))
    counter = FlopCounterMode(display=False)
    with counter:
        found = [best for best, *_ in run.translator(search).translate_lines(lines)]
    return counter.get_total_flops() / sum(len(translation.tokens) + 1 for translation in found)


def add_shares(rows: dict[str, Any], megaflops: dict[int, float], peaks: dict[str, float]) -> None:
    """Of the fastest product measured in float32 or int8, and of the peer's rate."""
    reference = next(row for name, row in rows.items() if name in PEERS)
    for name, row in rows.items():
        for beam in BEAMS:
            measured = row[f"multi30k beam {beam}"]
            measured["ratio_to_peer"] = (
                measured["tokens_per_second"] / reference[f"multi30k beam {beam}"]["tokens_per_second"]
            )
            kind = "int8" if "int8" in name else "fp32"
            if best := max((rate for shape, rate in peaks.items() if shape.endswith(kind)), default=0):
                measured["share_of_product_peak"] = measured["tokens_per_second"] * megaflops[beam] / 1000 / best


def table(peer: str, rows: dict[str, Any]) -> str:
    """Output tokens a second, with BLEU, start and memory."""
    columns = [f"{corpus} beam {beam}" for corpus in ("multi30k", "tatoeba") for beam in BEAMS]
    columns += [f"multi30k beam {beam} one at a time" for beam in BEAMS]
    lines = [f"weights of {peer}; tokens/s: {', '.join(columns)}; BLEU 1, 5; start s; memory MB; ratio, peak at beam 5"]
    for name, row in rows.items():
        rates = "".join(f"{row[column]['tokens_per_second']:8.0f}" if column in row else " " * 8 for column in columns)
        best = row["multi30k beam 5"]
        scores = "".join(f"{row[f'multi30k beam {beam}']['bleu']:7.2f}" for beam in BEAMS)
        lines.append(
            f"{name:28}{rates}{scores}{row['start_seconds']:7.2f}{best['peak_memory_mb']:7.0f}"
            f"{best['ratio_to_peer']:7.2f}{best.get('share_of_product_peak', float('nan')):7.1%}"
        )
    return "\n".join(lines)


# Long inputs ---------------------------------------------------------------------------------------------------------


def measure_streams(options: argparse.Namespace) -> None:
    """Tatoeba's lines again and again, int8: rate and memory must not depend on how many there are."""
    peer = next(peer for peer in PEERS if run_folder(peer, options.model, options.scratch, "raw").is_dir())
    folder = export_folder(run_folder(peer, options.model, options.scratch, "raw"), "int8")
    endless = options.scratch / "endless.txt"
    lines = list(read_lines(options.scratch / "text" / "tatoeba.raw.en"))
    write_lines(endless, repeated(lines, options.lines))
    timed = Timed("stream", dragoman_decoder(folder, options.threads), options)
    timed.start(endless, STARTS)
    for count in sizes(options.lines):
        print(json.dumps(timed.rate(endless, count, options.beam)))


def repeated(lines: Sequence[str], count: int) -> Iterable[str]:
    """So many lines, the given ones over and over."""
    return itertools.islice(itertools.cycle(lines), count)


def sizes(most: int) -> list[int]:
    """1,000, ten times that, and so on, and `most`."""
    powers = itertools.takewhile(lambda size: size < most, (1000 * 10**power for power in itertools.count()))
    return [*powers, most]


if __name__ == "__main__":
    main()
