"""How many hypotheses a second rescoring scores, and what sharing between them is worth.

    python bench/rescoring.py --data ../shared/data [--threads 1] [--nbest LIST --source SRC --model RUN]
    python bench/rescoring.py --data ../shared/data --whole --sentences 600 --threads 2 [--nbest ...]

The model has 256 units, random weights (speed does not depend on them) and vocabularies of 8,000 words. Two kinds of
lists: those of Moses for five sentences, five runs put together, with all their repetitions; and 1000 distinct
variants of each of four short lines, words swapped and replaced, which share little. With `--nbest` a list of
one's own by a trained model. Compared are rescoring in both precisions, and the same with every distinct one as a
pair of its own. Counted is processor time, so that other programs may run.

With `--whole` a compressed list is rescored from file to file, as `dragoman rescore` does, once in each precision: that
of `--nbest`, or a made one of 1000 distinct variants of each of so many lines. Said are hypotheses a second, how many
operations of products that takes and their share of what a product alone reaches (by the clock, which means something
on a machine that does nothing else, and by processor time), and the most memory that the process had held after a tenth
of the sentences and at the end. Operations are counted on some 20 of the lists and taken to grow with the number of
distinct beginnings.

Results go to bench/results/rescoring.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from counting import product_counter

from dragoman.cli.main import KERNELS
from dragoman.config.building import override
from dragoman.config.schema import Config
from dragoman.engines.torch_engine import TorchEngine
from dragoman.model.assembly import build
from dragoman.model.translation import TranslationModel
from dragoman.runs.opening import open_run
from dragoman.scoring.lists import Sentence, add_features, forward_feature, with_sources
from dragoman.scoring.nbest import Entry, by_sentence, read_nbest
from dragoman.scoring.scorer import CandidateTranslations
from dragoman.scoring.scorer import Scorer as PairScorer
from dragoman.scoring.token_scores import log_probability
from dragoman.text.lines import read_lines, write_lines
from dragoman.text.segmentation.whitespace import WhitespaceSegmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary

RESULTS = Path(__file__).parent / "results" / "rescoring.json"
UNITS, WORDS = 256, 8000
VARIANTS = 1000
FEWEST_WORDS = 6
"""Of a line that has so many variants."""
COUNTED = 20
"""Lists on which operations are counted."""
PRECISIONS = {"fp32": None, "bf16": torch.bfloat16}


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--nbest", type=Path, help="a list of a decoder")
    parser.add_argument("--source", type=Path, help="its source lines")
    parser.add_argument("--model", type=Path, help="a run that scores it")
    parser.add_argument("--sentences", type=int, default=20, help="of that list, or of the made one of --whole")
    parser.add_argument(
        "--whole", action="store_true", help="rescore one file of lists once, not some lists repeatedly"
    )
    options = parser.parse_args()
    os.environ.update(KERNELS)  # as the command does, also for processes that are started from here
    torch.set_num_threads(options.threads)
    multi30k = [options.data / "multi30k-en-de-cs" / f"train.{language}.gz" for language in ("de", "en")]
    europarl = [next((options.data / "europarl-fr-en-10k-aligned").glob(f"train.{side}*")) for side in ("fr", "en")]
    result: dict[str, object] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    result |= {"machine": platform.processor() or platform.machine(), "units": UNITS}
    if options.whole:
        name = "whole file of made lists" if options.nbest is None else "whole file of a decoder's lists"
        result[name] = _whole(options, multi30k)
    elif options.nbest is not None:
        lists = _own_lists(options.nbest, options.source, options.sentences)
        result["lists of a decoder"] = _measured(Scorer.of_run(options.model), lists)
    else:
        lists = _real_lists(options.data / "moses-nbest-fr-en")
        result["lists of Moses"] = _measured(Scorer.with_random_weights(europarl), lists)
        lists = _made_lists(options.data / "multi30k-en-de-cs", random.Random(1))
        result["distinct variants"] = _measured(Scorer.with_random_weights(multi30k), lists)
    print(json.dumps(result, indent=2))
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


class Scorer(NamedTuple):
    """A model and its text sides."""

    model: TranslationModel
    source: TextSide
    target: TextSide

    @classmethod
    def of_run(cls, folder: Path) -> Scorer:
        """What was trained."""
        opened = open_run(folder, device="cpu", threads=torch.get_num_threads())
        return cls(opened.model(), opened.source, opened.target)

    @classmethod
    def with_random_weights(cls, text: Sequence[Path]) -> Scorer:
        """For a corpus."""
        source, target = (_side(path) for path in text)
        return cls(_model([len(side.vocabulary) for side in (source, target)]), source, target)

    def pair_scorer(self) -> PairScorer:
        """Of this model, in whatever precision it is."""
        return PairScorer(TorchEngine(self.model), self.source, self.target)


def _measured(scorer: Scorer, lists: list[CandidateTranslations]) -> dict[str, object]:
    model, target, pair_scorer = scorer.model, scorer.target, scorer.pair_scorer()
    pairs = [(line, text) for line, texts in lists for text in dict.fromkeys(texts)]
    scores, found = {}, {}
    for name, precision in PRECISIONS.items():
        model.set_precision(precision)
        scores[name] = [[log_probability(one) for one in group] for group in pair_scorer.score_lists(lists)]
        found[name] = _speed(pair_scorer, lists, pairs, precision or torch.float32)
    model.set_precision(None)
    apart = _seconds(lambda: list(pair_scorer.score(pairs)))[1]
    flat = [np.concatenate([np.array(group) for group in scores[name]]) for name in PRECISIONS]
    best = [[int(np.argmax(group)) for group in scores[name]] for name in PRECISIONS]
    return {
        "threads": torch.get_num_threads(),
        "load": os.getloadavg()[0],
        "lines": sum(len(targets) for _, targets in lists),
        "distinct": len(pairs),
        "words_per_hypothesis": sum(len(target.split()) for _, target in pairs) / len(pairs),
        "distinct_beginnings_per_hypothesis": _beginnings(target, lists) / len(pairs),
        "distinct_per_cpu_second_as_pairs": len(pairs) / apart,
        **found,
        "bf16_largest_difference": float(np.abs(flat[0] - flat[1]).max()),
        "bf16_same_best_hypothesis": float(np.mean(np.equal(*best))),
    }


def _whole(options: argparse.Namespace, multi30k: Sequence[Path]) -> dict[str, object]:
    """What a whole list takes, from file to file; each precision in a process of its own, for its memory."""
    with tempfile.TemporaryDirectory() as folder:
        nbest, lines = options.nbest or Path(folder) / "made.nbest.gz", options.source or Path(folder) / "source"
        if options.nbest is None:
            _write_made(nbest, lines, multi30k, options.sentences)
        work = Work(nbest, lines, options.sentences, options.threads, options.model, multi30k)
        about, operations = _asked(work)
        found: dict[str, object] = {}
        for name, precision in PRECISIONS.items():
            with ProcessPoolExecutor(1, get_context("spawn")) as apart:
                spent = apart.submit(_rescored, work, precision, Path(folder) / f"{name}.gz").result()
            wall, cpu = _product_speed(precision or torch.float32)
            found[name] = {
                **spent,
                "distinct_per_second": about["distinct"] / spent["seconds"],
                "distinct_per_cpu_second": about["distinct"] / spent["cpu_seconds"],
                "minutes_for_3000_sentences": spent["seconds"] / about["sentences"] * 3000 / 60,
                "gflops_in_products_per_second": operations / spent["seconds"] / 1e9,
                "gflops_of_a_product_alone_per_second": wall / 1e9,
                "share_of_peak": operations / spent["seconds"] / wall,
                "share_of_peak_by_cpu_seconds": operations / spent["cpu_seconds"] / cpu,
            }
    machine = {"threads": torch.get_num_threads(), "load": os.getloadavg()[0]}
    return {**machine, **about, "teraflop_in_products": operations / 1e12, **found}


class Work(NamedTuple):
    """What is to be rescored, and by what."""

    nbest: Path
    source: Path
    sentences: int
    threads: int
    run: Path | None
    """None for a model with random weights."""
    multi30k: Sequence[Path]

    def lists(self) -> Iterator[Sentence]:
        """The first of the file."""
        every = with_sources(by_sentence(read_nbest(self.nbest)), read_lines(self.source), str(self.source))
        return islice(every, self.sentences)

    def scorer(self) -> Scorer:
        """Made anew."""
        return Scorer.with_random_weights(self.multi30k) if self.run is None else Scorer.of_run(self.run)


def _asked(work: Work) -> tuple[dict[str, int], float]:
    """How much there is of everything, and the operations of products that it takes."""
    scorer = work.scorer()
    about = dict.fromkeys(("sentences", "lines", "distinct", "distinct_beginnings"), 0)
    sample: list[CandidateTranslations] = []
    for number, one in enumerate(map(_candidates, work.lists())):
        for name, more in zip(
            about, (1, len(one.targets), len(set(one.targets)), _beginnings(scorer.target, [one])), strict=True
        ):
            about[name] += more
        if number % max(1, work.sentences // COUNTED) == 0:
            sample.append(one)
    with product_counter() as counter:
        list(scorer.pair_scorer().score_lists(sample))
    return about, counter.get_total_flops() / _beginnings(scorer.target, sample) * about["distinct_beginnings"]


def _rescored(work: Work, precision: torch.dtype | None, out: Path) -> dict[str, float]:
    """Seconds for the lists with one more feature each; the process' most memory after a tenth of them and at last."""
    torch.set_num_threads(work.threads)
    scorer = work.scorer()
    scorer.model.set_precision(precision)
    pair_scorer = scorer.pair_scorer()
    list(pair_scorer.score_lists(map(_candidates, islice(work.lists(), 1))))  # first use compiles kernels
    held: list[float] = []

    def lines() -> Iterator[str]:
        changed = add_features(work.lists(), [("Neural", [forward_feature(pair_scorer, log_probability)])], "the list")
        for number, entries in enumerate(changed, 1):
            yield from map(_line, entries)
            if number == max(1, work.sentences // 10):
                held.append(_most_memory())

    wall, cpu = time.perf_counter(), time.process_time()
    write_lines(out, lines())
    spent = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    return {**spent, "most_mb_after_a_tenth": held[0], "most_mb": _most_memory()}


def _most_memory() -> float:
    """MB; not by `getrusage`, which in a new process begins with what its parent had."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) / 1024


def _line(entry: Entry) -> str:
    return entry.line


def _candidates(one: Sentence) -> CandidateTranslations:
    return CandidateTranslations(one.source, [entry.text for entry in one.entries])


def _write_made(nbest: Path, source: Path, multi30k: Sequence[Path], sentences: int) -> None:
    """Variants of the first lines that have enough, as a list of Moses."""
    pairs = zip(*(read_lines(path) for path in multi30k), strict=True)
    long = list(islice((pair for pair in pairs if len(set(pair[1].split())) >= FEWEST_WORDS), sentences))
    write_lines(source, (line for line, _ in long))
    draw = random.Random(1)
    write_lines(
        nbest,
        (
            f"{number} ||| {text} ||| LM0= {-len(text) / 4} WordPenalty0= -{len(text.split())} ||| {-len(text) / 8}"
            for number, (_, target) in enumerate(long)
            for text in _variants(target.split(), draw)
        ),
    )


def _beginnings(side: TextSide, lists: list[CandidateTranslations]) -> int:
    """The steps that are made: distinct beginnings of all hypotheses of a source."""
    ids = [{tuple(side.encode(text).ids) for text in texts} for _, texts in lists]
    return sum(len({one[:end] for one in group for end in range(len(one) + 1)}) for group in ids)


def _speed(
    pair_scorer: PairScorer, lists: list[CandidateTranslations], pairs: list[tuple[str, str]], precision: torch.dtype
) -> dict[str, float]:
    with product_counter() as counter:
        list(pair_scorer.score_lists(lists))
    cpu, product = _seconds(lambda: list(pair_scorer.score_lists(lists)))[1], _product_speed(precision)[1]
    return {
        "distinct_per_cpu_second": len(pairs) / cpu,
        "gflops_in_products_per_cpu_second": counter.get_total_flops() / cpu / 1e9,
        "gflops_of_a_product_alone_per_cpu_second": product / 1e9,
        "share_of_peak": counter.get_total_flops() / cpu / product,
    }


def _model(sizes: list[int]) -> TranslationModel:
    settings = [
        f"model.{part}={UNITS}" for part in ("embedding.source", "embedding.target", "encoder.size", "decoder.size")
    ]
    config = override(Config(), [*settings, f"model.attention.size={UNITS}", f"model.readout.size={UNITS}"])
    return build(config.model, *sizes).eval()


def _side(path: Path) -> TextSide:
    counts = Counter(word for line in read_lines(path) for word in line.split())
    return TextSide(WhitespaceSegmentation(), Vocabulary.from_counts(counts, WORDS))


def _real_lists(folder: Path) -> list[CandidateTranslations]:
    sources = list(read_lines(folder / "source.first5.fr.xz"))
    texts: list[list[str]] = [[] for _ in sources]
    for number in range(1, 6):
        for entry in read_nbest(folder / f"nbest.{number}.xz"):
            if entry.sentence < len(sources):
                texts[entry.sentence].append(entry.text)
    return [CandidateTranslations(source, targets) for source, targets in zip(sources, texts, strict=True)]


def _own_lists(nbest: Path, source: Path, sentences: int) -> list[CandidateTranslations]:
    lists = with_sources(by_sentence(read_nbest(nbest)), read_lines(source), str(source))
    return [_candidates(one) for one in islice(lists, sentences)]


def _made_lists(folder: Path, draw: random.Random) -> list[CandidateTranslations]:
    columns = [read_lines(folder / f"test_2016_flickr.{language}.gz") for language in ("de", "en")]
    pairs = islice(zip(*columns, strict=True), 4)
    return [CandidateTranslations(source, _variants(target.split(), draw)) for source, target in pairs]


def _variants(words: list[str], draw: random.Random) -> list[str]:
    texts: dict[str, None] = {}
    while len(texts) < VARIANTS:
        changed = words.copy()
        for _ in range(draw.randint(1, 4)):
            one, other = draw.randrange(len(changed)), draw.randrange(len(changed))
            changed[one], changed[other] = changed[other], changed[one]
            changed[draw.randrange(len(changed))] = draw.choice(words)
        if draw.random() < 0.3:
            del changed[draw.randrange(len(changed))]
        texts[" ".join(changed)] = None
    return list(texts)


def _seconds(work: Callable[[], object]) -> tuple[float, float]:
    """(wall, processor) seconds, each the least of three: what the machine's neighbours left."""
    walls, cpus = [], []
    for _ in range(3):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return min(walls), min(cpus)


def _product_speed(precision: torch.dtype) -> tuple[float, float]:
    """Operations per (wall, processor) second of products of a fitting size."""
    left, right = torch.randn(1024, 512, dtype=precision), torch.randn(512, 2048, dtype=precision)

    def ten() -> None:
        for _ in range(10):
            left @ right

    ten()
    wall, cpu = _seconds(ten)
    operations = 10 * 2 * 1024 * 512 * 2048
    return operations / wall, operations / cpu


if __name__ == "__main__":
    main()
