"""How many hypotheses a second rescoring scores, and what sharing between them is worth.

    python bench/rescoring.py --data ../shared/data [--threads 1]

The model has 256 units, random weights (speed does not depend on them) and vocabularies of 8,000 words. Two kinds of
lists: those of Moses for five sentences, five runs put together, with all their repetitions; and 1000 distinct
variants of each of four short lines, words swapped and replaced, which share little. Compared are the rescorer, and
the same with every distinct hypothesis as a pair of its own. Results go to bench/results/rescoring.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import time
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import torch
from torch.utils.flop_counter import FlopCounterMode

from dragoman.config.building import override
from dragoman.config.schema import Config
from dragoman.model.assembly import build
from dragoman.model.translation import TranslationModel
from dragoman.scoring.nbest import read_nbest
from dragoman.scoring.rescoring import Rescorer, Translations
from dragoman.search.torch_engine import TorchEngine
from dragoman.text.lines import read_lines
from dragoman.text.segmentation.blanks import Blanks
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import Vocabulary

RESULTS = Path(__file__).parent / "results" / "rescoring.json"
UNITS, WORDS = 256, 8000


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    multi30k = [options.data / "multi30k-en-de-cs" / f"train.{language}.gz" for language in ("de", "en")]
    europarl = [next((options.data / "europarl-fr-en-10k-aligned").glob(f"train.{side}*")) for side in ("fr", "en")]
    result = {
        "machine": platform.processor() or platform.machine(),
        "threads": options.threads,
        "units": UNITS,
        "lists of Moses": _measured(europarl, _real_lists(options.data / "moses-nbest-fr-en")),
        "distinct variants": _measured(multi30k, _made_lists(options.data / "multi30k-en-de-cs", random.Random(1))),
    }
    print(json.dumps(result, indent=2))
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def _measured(text: list[Path], lists: list[Translations]) -> dict[str, float]:
    sides = [_side(path) for path in text]
    rescorer = Rescorer(TorchEngine(_model([len(side.vocabulary) for side in sides])), *sides)
    pairs = [(source, target) for source, targets in lists for target in dict.fromkeys(targets)]
    lines = sum(len(targets) for _, targets in lists)
    with FlopCounterMode(display=False) as counter:
        list(rescorer.score(lists))  # warm, too
    product = _product_speed()
    seconds, cpu = _seconds(lambda: list(rescorer.score(lists)))
    apart, apart_cpu = _seconds(lambda: list(rescorer.score_pairs(pairs)))
    return {
        "load": os.getloadavg()[0],
        "lines": lines,
        "distinct": len(pairs),
        "words_per_hypothesis": sum(len(target.split()) for _, target in pairs) / len(pairs),
        "lines_per_second": lines / seconds,
        "distinct_per_second": len(pairs) / seconds,
        "distinct_per_cpu_second": len(pairs) / cpu,
        "distinct_per_second_as_pairs": len(pairs) / apart,
        "distinct_per_cpu_second_as_pairs": len(pairs) / apart_cpu,
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
    return TextSide(Blanks(), Vocabulary.from_counts(counts, WORDS))


def _real_lists(folder: Path) -> list[Translations]:
    sources = list(read_lines(folder / "source.first5.fr.xz"))
    texts: list[list[str]] = [[] for _ in sources]
    for number in range(1, 6):
        for entry in read_nbest(folder / f"nbest.{number}.xz"):
            if entry.sentence < len(sources):
                texts[entry.sentence].append(entry.text)
    return [Translations(source, targets) for source, targets in zip(sources, texts, strict=True)]


def _made_lists(folder: Path, draw: random.Random) -> list[Translations]:
    columns = [read_lines(folder / f"test_2016_flickr.{language}.gz") for language in ("de", "en")]
    made = []
    for source, target in islice(zip(*columns, strict=True), 4):
        words, texts = target.split(), {}
        while len(texts) < 1000:
            changed = words.copy()
            for _ in range(draw.randint(1, 4)):
                one, other = draw.randrange(len(changed)), draw.randrange(len(changed))
                changed[one], changed[other] = changed[other], changed[one]
                changed[draw.randrange(len(changed))] = draw.choice(words)
            if draw.random() < 0.3:
                del changed[draw.randrange(len(changed))]
            texts[" ".join(changed)] = None
        made.append(Translations(source, list(texts)))
    return made


def _seconds(work: Callable[[], object]) -> tuple[float, float]:
    """(wall, processor) seconds, each the least of three: what the machine's neighbours left."""
    walls, cpus = [], []
    for _ in range(3):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return min(walls), min(cpus)


def _product_speed() -> float:
    """Operations per processor second of float32 products of a fitting size."""
    left, right = torch.randn(1024, 512), torch.randn(512, 2048)

    def ten() -> None:
        for _ in range(10):
            left @ right

    ten()
    return 10 * 2 * 1024 * 512 * 2048 / _seconds(ten)[1]


if __name__ == "__main__":
    main()
