"""What a glossary costs and gives: terms placed, BLEU and time with and without it.

    python bench/glossary.py RUN --train train.en train.de --test test.en test.de

Terms come from the training text alone: IBM model 1 links its words, and a term is a source word of four letters or
more, seen 5 to 100 times, whose most frequent target word is as long and has half of its links or more. Two glossaries
are measured on the test set: all terms, as a user would write them without having seen the text, and those of each line
whose translation its reference has (Dinu et al. 2019), which shows what the constraints themselves cost. A term is
placed if its translation is among the words of the output. Results go to bench/results/glossary.json.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dragoman.alignment.dictionary import learn_dictionary, strip_punctuation
from dragoman.alignment.statistical import align_statistically
from dragoman.evaluation.metrics import bleu
from dragoman.model.devices import set_threads
from dragoman.progress import Console
from dragoman.report.facts import machine_name
from dragoman.runs.opening import open_run
from dragoman.text.corpus import Pair, read_pairs
from dragoman.text.words import words_in
from dragoman.translation.glossary import make_glossary
from dragoman.translation.line_constraints import TextConstraints
from dragoman.translation.translator import Translator

RESULTS = Path(__file__).parent / "results" / "glossary.json"
FEWEST, MOST, LETTERS, SHARE = 5, 100, 4, 0.5


def main() -> None:
    """Measure three searches over the test set; write and print the results."""
    options = parse()
    set_threads(1)
    train, test = (list(read_pairs([files])) for files in (options.train, options.test))
    test = test[: options.lines]
    terms = learned_terms(train)
    run = open_run(options.run, device="cpu", threads=1)
    plain = run.translator(run.config.search.replaced(beam=options.beam))
    found = make_glossary(terms, run.source)
    print(len(terms), "terms, such as", dict(list(terms.items())[:20]), file=sys.stderr, flush=True)
    wanted = [[term.translation for term in found.find(pair.source)] for pair in test]
    kept = [[term for term in line if term in words(pair.target)] for line, pair in zip(wanted, test, strict=True)]
    rows = {
        "none": measured(plain, test, wanted, kept, None),
        "all terms": measured(plain.with_options(glossary=terms), test, wanted, kept, None),
        "terms of the reference": measured(plain, test, wanted, kept, kept),
    }
    result: dict[str, Any] = {
        "command": f"python bench/glossary.py RUN --train ... --test ... --lines {len(test)} --beam {options.beam}",
        "machine": {"processor": machine_name(), "threads": 1},
        "lines": len(test),
        "terms": len(terms),
        "found": sum(map(len, wanted)),
        "found in the reference": sum(map(len, kept)),
        "rows": rows,
    }
    RESULTS.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1, ensure_ascii=False))


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("run", help="run folder of a translator")
    for name in ("train", "test"):
        parser.add_argument(f"--{name}", nargs=2, required=True, metavar="FILE")
    parser.add_argument("--lines", type=int, help="lines of the test set from its beginning (default: all)")
    parser.add_argument("--beam", type=int, default=5)
    return parser.parse_args()


def learned_terms(train: Sequence[Pair]) -> dict[str, str]:
    """Return the source words that the training text links to one target word, with that word."""
    links = align_statistically(
        [(words_in(pair.source), words_in(pair.target)) for pair in train], "ibm1", console=Console(quiet=True)
    )
    aligned = [(pair.source, pair.target, linked) for pair, linked in zip(train, links, strict=True)]
    learnt = learn_dictionary(aligned, FEWEST).words
    seen = Counter(strip_punctuation(word) for pair in train for word in words_in(pair.source))
    return {
        word: target
        for word, (target, count) in learnt.items()
        if all(len(one) >= LETTERS and one.isalpha() for one in (word, target))
        and seen[word] <= MOST
        and count >= SHARE * seen[word]
    }


def measured(
    translator: Translator,
    test: Sequence[Pair],
    wanted: Sequence[Sequence[str]],
    kept: Sequence[Sequence[str]],
    constraints: Sequence[Sequence[str]] | None,
) -> dict[str, float]:
    """Translate the test set; return the shares of terms placed, BLEU and seconds of processor time."""
    began = time.process_time()
    given = None if constraints is None else iter([TextConstraints(phrases=line) for line in constraints])
    hypotheses = [
        best.text for best, *_ in translator.translate_lines((pair.source for pair in test), constraints=given)
    ]
    return {
        "seconds": round(time.process_time() - began, 1),
        "BLEU": round(bleu(hypotheses, [pair.target for pair in test]), 2),
        "placed, all": placed(hypotheses, wanted),
        "placed, of the reference": placed(hypotheses, kept),
    }


def placed(hypotheses: Sequence[str], terms: Sequence[Sequence[str]]) -> float:
    """Return the percentage of terms that are among the words of their lines' outputs."""
    hits = [term in words(line) for line, wanted in zip(hypotheses, terms, strict=True) for term in wanted]
    return round(100 * sum(hits) / max(1, len(hits)), 1)


def words(line: str) -> set[str]:
    """Return the words of a line without punctuation around them."""
    return set(_words(line))


def _words(line: str) -> Iterator[str]:
    return map(strip_punctuation, words_in(line))


if __name__ == "__main__":
    main()
