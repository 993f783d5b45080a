"""Writes docs/papers/results.md from the results of the papers' experiments that are kept.

    python bench/reproduction_page.py

A table of all claims with their verdicts, then why claims do not hold (bench/results/reproduction/explanations.yaml),
then a section for each experiment with our table beside the paper's and what is remarked about it (remarks.yaml).
tests/reproduction/test_results_page.py fails if the page is not that of the results.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from dragoman.reproduction.page import markdown_table, scores_table

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results" / "reproduction"
PAGE = ROOT / "docs" / "papers" / "results.md"
FOLDERS = {"captions": "Captions of Multi30k, English to German", "kftt": "KFTT, Japanese to English"}
"""Folders of results, in the order of the page, and their corpora."""
EXPLAINED = "captions"
"""The folder whose results are explained; experiments in it that no paper has are part of the explanations."""
REPEATED = {
    "captions-6000-updates": "The same with three times as many updates",
    "captions-12000-updates": "Phrases with three times as many updates",
    "captions-3000-pairs": "The same with a tenth of the captions",
    "europarl": "The same with sentences of Europarl, which are long by nature",
    "tatoeba": "The same with everyday sentences of Tatoeba",
}
"""Folders of experiments that were run again on other terms, to explain results, and their headings."""
EXPERIMENTS = ("cho2014", "sutskever2014", "bahdanau2015", "luong2015")
"""Beginnings of their names, in the order of the page."""

UNDECIDED = "not decided at this size"
"""The verdict on a claim that the measurements do not decide."""

Result = Mapping[str, Any]


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The whole page as Markdown."""
    found = list(results())
    remarks: dict[str, str] = _yaml("remarks.yaml") or {}
    blocks = [
        "# The papers' tables, reproduced: results",
        "This page is written by [`bench/reproduction_page.py`](../../bench/reproduction_page.py); "
        "[Reproduction](../reproduction.md) says how experiments are run, and which rule decides about a claim. Models "
        "and corpora are a small part of the papers' in size: a claim that does not hold here is not refuted.",
        "**These are the results of an earlier run**, with the script and the claims of commit `cc482cb`. Its models "
        "stopped after 2,000 updates, before they had learnt to translate. Two verdicts are not those of their words: "
        "the ensemble of table 1 of Luong et al. was compared with its weakest member (the best one, input feeding "
        "with unknown-word replacement, has 5.95 BLEU, the ensemble 5.88), and the claims in BLEU of their table 3 "
        "also asked for a lower perplexity. The present claims are mended; a run of models that train until they stop "
        "improving ([`bench/reproduce_papers.sh`](../../bench/reproduce_papers.sh)) will take the place of this page.",
        summary(found),
        "## All claims",
        claims(found),
        *explained(found),
        *repeated(),
    ]
    for folder, result in found:
        blocks += section(folder, result, remarks.get(f"{folder}/{result['experiment']}", ""))
    for result in results_in(EXPLAINED):
        if not result["experiment"].startswith(EXPERIMENTS):
            blocks += [*section(EXPLAINED, result, ""), claims([(EXPLAINED, result)])]
    return "\n\n".join(block for block in blocks if block) + "\n"


def results() -> Iterator[tuple[str, Result]]:
    """(folder, result) of each experiment that has been run, in the order of the page."""
    for folder in FOLDERS:
        for paper in EXPERIMENTS:
            for result in results_in(folder):
                if result["experiment"].startswith(paper):
                    yield folder, result


def results_in(folder: str) -> list[Result]:
    """The results that a folder has, by the names of the experiments."""
    paths = sorted((RESULTS / folder).glob("*/result.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def summary(found: list[tuple[str, Result]]) -> str:
    """How many claims were tested and decided."""
    counts = Counter(claim["verdict"] for _, result in found for claim in result["claims"].values())
    undecided = sum(counts.values()) - counts["holds"] - counts["does not hold"]
    return (
        f"{sum(counts.values())} claims of {len(found)} tables and figures: {counts['holds']} hold, "
        f"{counts['does not hold']} do not hold, {undecided} are not decided at this size."
    )


def claims(found: list[tuple[str, Result]]) -> str:
    """A row for each claim."""
    rows = [["claim", "of", "ours: difference (95 % interval)", "verdict"]]
    for folder, result in found:
        for claim in result["claims"].values():
            corpus = ", on KFTT" if folder == "kftt" else ""
            rows.append([claim["claim"], place(result, claim) + corpus, differences(claim), verdict(claim)])
    return markdown_table(rows)


def verdict(claim: Mapping[str, Any]) -> str:
    """The verdict on a claim; where it is not decided, with how many seeds like these it would be."""
    if claim["verdict"] != UNDECIDED:
        return str(claim["verdict"])
    needed = [one["seeds that would decide"] for one in claim["comparisons"] if one["verdict"] == UNDECIDED]
    if None in needed:
        return "not decided: for any number of seeds, the test sentences are too few"
    return f"not decided: {max(needed):,} seeds would"


def explained(found: list[tuple[str, Result]]) -> list[str]:
    """For each group of claims that do not hold, why.

    Raises:
        KeyError: explanations.yaml has a claim that no result has.
    """
    of_name = {
        f"{folder}/{result['experiment']}/{name}": f"{claim['claim']} ({place(result, claim)})"
        for folder, result in found
        for name, claim in result["claims"].items()
    }
    blocks = ["## Claims that do not hold, and why"]
    for group in _yaml("explanations.yaml"):
        blocks += ["\n".join(f"- {of_name[name]}" for name in group["claims"]), group["why"].strip()]
    return blocks


def place(result: Result, claim: Mapping[str, Any]) -> str:
    """Where a paper makes a claim."""
    return f"{result['paper']}, {claim['where']}"


def differences(claim: Mapping[str, Any]) -> str:
    """The difference of each comparison of a claim; with its interval, where there is more than one seed."""
    shown = []
    for comparison in claim["comparisons"]:
        low, high = comparison["interval"]
        several = len(comparison["values"]) > 1
        shown.append(signed(comparison["mean"]) + (f" ({signed(low)} to {signed(high)})" if several else ""))
    return "; ".join(shown)


def repeated() -> list[str]:
    """For each folder of `REPEATED` the claims that it has, beside the same differences before."""
    before = {
        (result["paper"], claim["claim"]): differences(claim)
        for result in results_in(EXPLAINED)
        for claim in result["claims"].values()
    }
    blocks = []
    for folder, heading in REPEATED.items():
        rows = [["claim", "of", "before", "then", "seeds", "verdict then"]]
        links = []
        for result in results_in(folder):
            links.append(
                f"[{result['title']}](../../bench/results/reproduction/{folder}/{result['experiment']}/result.json)"
            )
            seeds = str(result["budget"]["seeds"])
            for claim in result["claims"].values():
                earlier, later = before.get((result["paper"], claim["claim"]), ""), differences(claim)
                rows.append([claim["claim"], place(result, claim), earlier, later, seeds, claim["verdict"]])
        if len(rows) > 1:
            blocks += [f"## {heading}", markdown_table(rows), f"All numbers: {'; '.join(links)}."]
    return blocks


def section(folder: str, result: Result, remark: str) -> list[str]:
    """The section of an experiment."""
    budget, corpus = result["budget"], result["corpus"]
    pairs = ", ".join(f"{name} {corpus[name]['pairs']:,} pairs" for name in ("train", "dev", "test"))
    source = f"../../bench/results/reproduction/{folder}/{result['experiment']}"
    return [
        f"## {result['title']}",
        f"`dragoman reproduce {result['experiment']}`, scale {budget['scale']:g}, {budget['updates']:,} updates, "
        f"{budget['seeds']} seeds. {FOLDERS[folder]}: {pairs}. [All numbers]({source}/result.json).",
        markdown_table(scores_table(result)),
        *(
            f"![{figure['title']}]({source}/{name}.svg)"
            for name, figure in result["figures"].items()
            if (RESULTS / folder / result["experiment"] / f"{name}.svg").exists()
        ),
        "What differs: " + result["note"] if result["note"] else "",
        remark.strip(),
    ]


def _yaml(name: str) -> Any:
    return yaml.safe_load((RESULTS / name).read_text(encoding="utf-8"))


def signed(value: float | None) -> str:
    """A difference with its sign."""
    return "none" if value is None else f"{value:+.3g}"


if __name__ == "__main__":
    main()
