"""How many hypotheses a second rescoring scores, and what sharing between them is worth.

    python bench/rescoring.py --data ../shared/data [--threads 1] [--nbest LIST --source SRC --model RUN]

The model has 256 units, random weights (speed does not depend on them) and vocabularies of 8,000 words. Two kinds of
lists: those of Moses for five sentences, five runs put together, with all their repetitions; and 1000 distinct
variants of each of four short lines, words swapped and replaced, which share little. With `--nbest` a list of
one's own by a trained model. Compared are the rescorer in both precisions, and the same with every distinct one as a
pair of its own. Counted is processor time, so that other programs may run. Results go to bench/results/rescoring.json.
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

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from dragoman.config.building import override
from dragoman.config.schema import Config
from dragoman.model.assembly import build
from dragoman.model.translation import TranslationModel
from dragoman.run import open_run
from dragoman.scoring.lists import with_sources
from dragoman.scoring.nbest import by_sentence, read_nbest
from dragoman.scoring.rescoring import Rescorer, Translations, log_probability
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
    parser.add_argument("--nbest", type=Path, help="a list of a decoder")
    parser.add_argument("--source", type=Path, help="its source lines")
    parser.add_argument("--model", type=Path, help="a run that scores it")
    parser.add_argument("--sentences", type=int, default=20, help="of that list")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    multi30k = [options.data / "multi30k-en-de-cs" / f"train.{language}.gz" for language in ("de", "en")]
    europarl = [next((options.data / "europarl-fr-en-10k-aligned").glob(f"train.{side}*")) for side in ("fr", "en")]
    result: dict[str, object] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    result |= {"machine": platform.processor() or platform.machine(), "threads": options.threads, "units": UNITS}
    if options.nbest is not None:
        lists = _own_lists(options.nbest, options.source, options.sentences)
        opened = open_run(options.model, device="cpu", threads=options.threads)
        assert isinstance(opened.engine, TorchEngine), "a run folder"
        result["lists of a decoder"] = _measured(opened.engine.model, opened.source, opened.target, lists)
    else:
        lists = _real_lists(options.data / "moses-nbest-fr-en")
        result["lists of Moses"] = _with_random_model(europarl, lists)
        lists = _made_lists(options.data / "multi30k-en-de-cs", random.Random(1))
        result["distinct variants"] = _with_random_model(multi30k, lists)
    print(json.dumps(result, indent=2))
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def _with_random_model(text: list[Path], lists: list[Translations]) -> dict[str, object]:
    source, target = (_side(path) for path in text)
    return _measured(_model([len(side.vocabulary) for side in (source, target)]), source, target, lists)


def _measured(
    model: TranslationModel, source: TextSide, target: TextSide, lists: list[Translations]
) -> dict[str, object]:
    rescorer = Rescorer(TorchEngine(model), source, target)
    pairs = [(line, text) for line, texts in lists for text in dict.fromkeys(texts)]
    precisions = {"fp32": None, "bf16": torch.bfloat16}
    scores, found = {}, {}
    for name, precision in precisions.items():
        model.set_precision(precision)
        scores[name] = [[log_probability(one) for one in group] for group in rescorer.score(lists)]
        found[name] = _speed(rescorer, lists, pairs, precision or torch.float32)
    model.set_precision(None)
    apart = _seconds(lambda: list(rescorer.score_pairs(pairs)))[1]
    flat = [np.concatenate([np.array(group) for group in scores[name]]) for name in precisions]
    best = [[int(np.argmax(group)) for group in scores[name]] for name in precisions]
    return {
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


def _beginnings(side: TextSide, lists: list[Translations]) -> int:
    """The steps that are made: distinct beginnings of all hypotheses of a source."""
    ids = [{tuple(side.encode(text).ids) for text in texts} for _, texts in lists]
    return sum(len({one[:end] for one in group for end in range(len(one) + 1)}) for group in ids)


def _speed(
    rescorer: Rescorer, lists: list[Translations], pairs: list[tuple[str, str]], precision: torch.dtype
) -> dict[str, float]:
    with FlopCounterMode(display=False) as counter:
        list(rescorer.score(lists))
    cpu, product = _seconds(lambda: list(rescorer.score(lists)))[1], _product_speed(precision)
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
    return TextSide(Blanks(), Vocabulary.from_counts(counts, WORDS))


def _real_lists(folder: Path) -> list[Translations]:
    sources = list(read_lines(folder / "source.first5.fr.xz"))
    texts: list[list[str]] = [[] for _ in sources]
    for number in range(1, 6):
        for entry in read_nbest(folder / f"nbest.{number}.xz"):
            if entry.sentence < len(sources):
                texts[entry.sentence].append(entry.text)
    return [Translations(source, targets) for source, targets in zip(sources, texts, strict=True)]


def _own_lists(nbest: Path, source: Path, sentences: int) -> list[Translations]:
    lists = with_sources(by_sentence(read_nbest(nbest)), read_lines(source), str(source))
    return [Translations(one.source, [entry.text for entry in one.entries]) for one in islice(lists, sentences)]


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


def _product_speed(precision: torch.dtype) -> float:
    """Operations per processor second of products of a fitting size."""
    left, right = torch.randn(1024, 512, dtype=precision), torch.randn(512, 2048, dtype=precision)

    def ten() -> None:
        for _ in range(10):
            left @ right

    ten()
    return 10 * 2 * 1024 * 512 * 2048 / _seconds(ten)[1]


if __name__ == "__main__":
    main()
