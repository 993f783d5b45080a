"""By which score should search choose? BLEU, chrF and length of translations under several normalisations.

    python bench/search_scores.py --run "en-de" RUN val.en val.de --run "fr-en" RUN2 dev.fr dev.en

Each run (a name, its folder, sources and references of a dev set) translates with a beam of 5 by each score of
`SCORES`, on one thread. Measured are cased BLEU, chrF, the words of the translations as a share of the references',
and processor seconds. Results go to bench/results/search-scores.json after every run; runs that are there are not
repeated. A table goes to standard output.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import sacrebleu

from dragoman.report.facts import machine_name
from dragoman.runs.opening import open_run
from dragoman.text.lines import read_lines

RESULTS = Path(__file__).parent / "results" / "search-scores.json"
BEAM = 5
SCORES: dict[str, dict[str, Any]] = {
    "divided by the length": {"normalisation": "mean"},
    **{f"by length^{alpha}": {"normalisation": "power", "alpha": alpha} for alpha in (1.2, 1.4, 1.6)},
    **{f"reward of {reward}": {"normalisation": "none", "word_penalty": -reward} for reward in (0.5, 0.75, 1.0)},
    "divided by the length, reward of 0.02": {"normalisation": "mean", "word_penalty": -0.02},
}
"""The settings of search by the names of the rows; a reward is for each segment."""

Row = dict[str, float]


def main() -> None:
    """Measure the runs that are missing, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    four = ("NAME", "RUN", "SOURCE", "REFERENCE")
    parser.add_argument("--run", nargs=4, action="append", default=[], metavar=four, help="a run and its dev set")
    result = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"runs": {}}
    for name, folder, source, reference in parser.parse_args().run:
        if name not in result["runs"]:
            result |= {"machine": machine_name(), "date": time.strftime("%Y-%m-%d"), "beam": BEAM}
            result["runs"][name] = measured(folder, list(read_lines(source)), list(read_lines(reference)))
            RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(table(result["runs"]))


def measured(folder: str, sources: list[str], references: list[str]) -> dict[str, Row]:
    """The row of each score, for the best weights of a run."""
    run = open_run(folder, device="cpu", threads=1)
    rows = {}
    for name, settings in SCORES.items():
        search = run.config.search.replaced(**{"word_penalty": 0.0, **settings, "beam": BEAM})
        began = time.process_time()
        found = [best.text for best, *_ in run.translator(search).translate_lines(sources)]
        seconds = time.process_time() - began
        bleu = sacrebleu.corpus_bleu(found, [references])
        rows[name] = {
            "BLEU": round(bleu.score, 2),
            "chrF": round(sacrebleu.corpus_chrf(found, [references]).score, 2),
            "length": round(bleu.sys_len / bleu.ref_len, 3),
            "seconds": round(seconds, 2),
        }
    return rows


def table(runs: dict[str, dict[str, Row]]) -> str:
    """A Markdown table: BLEU of each run, and the means of BLEU, chrF, length and seconds over the runs."""
    means = ("BLEU", "chrF", "length", "seconds")
    heads = ("score", *runs, *(f"{key}, mean" for key in means))
    lines = [f"| {' | '.join(heads)} |", f"| --- |{' --: |' * (len(heads) - 1)}"]
    for name in SCORES:
        rows = [found[name] for found in runs.values()]
        averages = (statistics.mean(row[key] for row in rows) for key in means) if rows else ()
        cells = (*(f"{row['BLEU']:.1f}" for row in rows), *(f"{average:.2f}" for average in averages))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
