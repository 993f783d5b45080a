"""Writes docs/papers/results.md and a page for each paper from the results of the papers' experiments that are kept.

    python bench/reproduction_page.py

The first page has the main claims (bench/headlines.yaml), one a line, with the paper's difference beside ours, and all
claims below them; docs/ko/papers/results.md has the main claims in Korean. The page of a paper (docs/papers/results)
has our tables beside the paper's, the figures with the paper's axes, and what differs. What has not run is named in one
line. tests/reproduction/test_results_page.py fails if the pages are not those of the results.
"""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from dragoman.errors import ConfigError
from dragoman.reproduction.comparison import WHOLE, parse_comparison
from dragoman.reproduction.decisions import LEAST_SEEDS, METRICS, Verdict
from dragoman.reproduction.experiment import Experiment, experiment_names, load_experiment
from dragoman.reproduction.page import (
    HALF,
    markdown_table,
    models_table,
    phrases_table,
    rows_not_run,
    scores_table,
    test_sets_table,
)

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results" / "reproduction" / "captions-and-manual"
SECOND = RESULTS.with_name("manual-and-sentences-fr")
"""Results of a second pair of languages, English to French."""
HEADLINES = ROOT / "bench" / "headlines.yaml"
PAGE = ROOT / "docs" / "papers" / "results.md"
KOREAN_PAGE = ROOT / "docs" / "ko" / "papers" / "results.md"
PAPERS = ("cho2014", "sutskever2014", "bahdanau2015", "luong2015")
"""Beginnings of the names of experiments, and names of the papers' pages, in their order."""
LARGER_TEXT = ("luong2015-reversal", "sutskever2014-reversal")
"""Experiments that repeat rows of others for a corpus larger than the one here."""
EARLIER = "9f638f7"
"""The commit that still has the results of the runs before this one."""
PICTURES = {
    "bahdanau2015-figure3": [
        (f"The weights of RNNsearch-50 for sentence {number}", f"bahdanau2015-figure-3-{number}.png")
        for number in range(1, 5)
    ]
}
"""Titles and files of pictures in docs/images; they have sentences of our own."""
OWN_SENTENCES = (
    "Rows are words of the translation, columns words of the source; white is a weight of 1. These sentences are our "
    "own, and their translations the model's ([`bench/heat_map_pictures.py`](../../../bench/heat_map_pictures.py)), "
    "for those of the corpora are not ours to publish. Of the page that `dragoman reproduce` writes:"
)
NOT_RUN = "not run yet"
NOT_DECIDED = "not decided"
VERDICTS = (str(Verdict.HOLDS), str(Verdict.DOES_NOT_HOLD), NOT_DECIDED, NOT_RUN)
MOST_SEEDS = 100
"""Nobody trains more than these, so that their number is not told."""
VERDICT = 4
"""The column of the verdict in a row of a main claim."""

Result = Mapping[str, Any]


class Results:
    """The experiments of the package, and the results of those that have run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        loaded = [load_experiment(name) for name in experiment_names() if name not in LARGER_TEXT]
        self.experiments = {
            one.name: one
            for paper in PAPERS
            for one in sorted(loaded, key=lambda one: (one.based_on is not None, "table" not in one.name))
            if one.name.startswith(paper)
        }
        self.found: dict[str, Result] = {}
        for name in self.experiments:
            path = folder / name / "result.json"
            if path.exists():
                result = json.loads(path.read_text(encoding="utf-8"))
                if any(_seeds(system) for system in result["systems"].values()):
                    self.found[name] = result

    def claim(self, name: str) -> Mapping[str, Any] | None:
        """A claim such as luong2015-table1/feed-bleu with its comparisons; None where the experiment has not run.

        Raises:
            ConfigError: no experiment makes it.
        """
        experiment, _, claim = name.partition("/")
        if experiment not in self.experiments or claim not in self.experiments[experiment].claims:
            raise ConfigError(f"{HEADLINES.name}: no claim named {name}")
        found = self.found.get(experiment)
        return found["claims"].get(claim) if found else None

    def of(self, paper: str) -> tuple[list[Result], list[Experiment]]:
        """The results of a paper, and its experiments without one."""
        names = [name for name in self.experiments if name.startswith(paper)]
        found = [self.found[name] for name in names if name in self.found]
        return found, [self.experiments[name] for name in names if name not in self.found]


def main() -> None:
    """Write the pages."""
    for path, text in pages(RESULTS, SECOND).items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def pages(folder: Path, second: Path) -> dict[Path, str]:
    """The text of each page, from the results in a folder and those of a second pair of languages."""
    results, texts = Results(folder), yaml.safe_load(HEADLINES.read_text(encoding="utf-8"))
    written = {PAGE.with_suffix("") / f"{paper}.md": paper_page(paper, results, texts["differs"]) for paper in PAPERS}
    korean = korean_page(results, texts)
    return {PAGE: first_page(results, Results(second), texts), KOREAN_PAGE: korean, **written}


def first_page(results: Results, second: Results, texts: Mapping[str, Any]) -> str:
    """The page with the main claims and all claims."""
    rows = main_claims(results, texts["headlines"])
    verdicts = Counter(row[VERDICT].split(":")[0] for row in rows)
    heading = ["", "claim", "paper", "ours (95 % interval)", "verdict", "size of the effect"]
    table, left = claims(results)
    blocks = [
        "# The papers' claims, reproduced",
        wrapped(
            "The claims of the four papers, tested with small models of one text. A difference is the mean over seeds; "
            "with two seeds or more it has an interval. [Reproduction](../reproduction.md#the-rule) states the rule: "
            f"fewer than {LEAST_SEEDS} seeds decide nothing. The rule asks for the sign; the last column says whether "
            "the effect is at least half as large as the paper's, perplexities by their logarithms. A share of BLEU is "
            "compared by its logarithm, too: +0.36 is a share 1.4 times as large. Tables, figures and what differs are "
            "on the pages of [Cho et al.](results/cho2014.md), [Sutskever et al.](results/sutskever2014.md), "
            "[Bahdanau et al.](results/bahdanau2015.md) and [Luong et al.](results/luong2015.md)."
        ),
        "## The main claims",
        counted(verdicts, "main claims"),
        markdown_table([heading, *rows]),
        *second_pair(second, texts, heading),
        "## All claims",
        table,
        left,
        *explained(texts["explanations"], results),
        "## How it was made",
        wrapped(
            "[`bench/reproduce_papers.sh`](../../bench/reproduce_papers.sh) trains and measures, "
            "[`bench/reproduction_page.py`](../../bench/reproduction_page.py) writes these pages. Earlier runs, whose "
            "models stopped after 2,000 updates, before they had learnt to translate, are in commit "
            f"`{EARLIER}` (`bench/results/reproduction`)."
        ),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def main_claims(results: Results, headlines: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """A row for each main claim: number, claim, the paper's difference, ours, verdict, size of the effect."""
    rows = []
    for number, headline in enumerate(headlines, 1):
        deciding = [results.claim(name) for name in headline["claims"]]
        effects = [effect for name in headline["claims"] for effect in effects_of(results, name)]
        parts = headline.get("parts", [""])
        columns = zip(*effects, strict=True)
        cells = [
            "; ".join(f"{part}: {one}".removeprefix(": ") for part, one in zip(parts, column, strict=True) if one)
            for column in columns
        ]
        for label, name in headline.get("reported", {}).items():
            if beside := "; ".join(ours for _, ours in effects_of(results, name) if ours):
                cells[1] += f" ({label}: {beside})"
        rows.append([str(number), headline["headline"], *cells, verdict_of(deciding), size_of(deciding)])
    return rows


def second_pair(results: Results, texts: Mapping[str, Any], heading: list[str]) -> list[str]:
    """The main claims that the second pair of languages decides, where any has run."""
    rows = [row for row in main_claims(results, texts["headlines"]) if row[VERDICT] != NOT_RUN]
    if not rows:
        return []
    pairs = next(iter(results.found.values()))["corpus"]["train"]["pairs"]
    return ["## English to French", wrapped(texts["second"].format(pairs=pairs)), markdown_table([heading, *rows])]


def korean_page(results: Results, texts: Mapping[str, Any]) -> str:
    """The page with the main claims in Korean."""
    korean = texts["korean"]
    translated = [
        {
            **headline,
            "headline": headline["korean"],
            "parts": headline.get("korean parts", headline.get("parts", [""])),
            "reported": {
                korean["words"].get(label, label): name for label, name in headline.get("reported", {}).items()
            },
        }
        for headline in texts["headlines"]
    ]
    rows = main_claims(results, translated)
    counts = Counter(row[VERDICT].split(":")[0] for row in rows)
    for row in rows:
        row[3] = row[3].replace(" to ", "~")  # intervals
        for column in range(VERDICT, len(row)):
            row[column] = ": ".join(_translated(korean["words"], part) for part in row[column].split(": "))
    verdicts = ", ".join(f"{korean['words'][verdict]} {counts[verdict]}" for verdict in VERDICTS if counts[verdict])
    counted = korean["counted"].format(claims=len(rows), verdicts=verdicts)
    before, after = korean["before"].strip(), korean["after"].strip()
    table = markdown_table([["", *korean["heading"]], *rows])
    return f"# {korean['title']}\n\n{before}\n\n{table}\n\n{counted} {after}\n"


def _translated(words: Mapping[str, str], text: str) -> str:
    """A verdict, a reason or a size in other words, which have N for a number."""
    number = re.search(r"\d+", text)
    return words[text] if number is None else words[text.replace(number[0], "N")].replace("N", number[0])


def paper_page(paper: str, results: Results, differs: Mapping[str, Sequence[str]]) -> str:
    """The page of a paper: its experiments, and what has not run."""
    found, missing = results.of(paper)
    title = next(one.paper for one in results.experiments.values() if one.name.startswith(paper))
    blocks = [
        f"# {title}: our tables beside the paper's",
        wrapped(
            f"The [model](../{paper}.md), the [claims](../results.md) and [how to run this](../../reproduction.md) "
            "have pages of their own. What differs from the paper:"
        ),
        "\n".join(wrapped(line, "- ") for line in differs[title]),
    ]
    for result in found:
        blocks += section(result, results)
    if missing:
        names = "; ".join(f"{one.item} (`{one.name}`)" for one in missing)
        blocks += ["## Not run yet", wrapped(f"{names[0].upper()}{names[1:]}.")]
    return "\n\n".join(block for block in blocks if block) + "\n"


def section(result: Result, results: Results) -> list[str]:
    """The section of an experiment: tables, figures, pictures, facts of the trainings.

    Rows and trainings that it has from the one that it is based on are not repeated.
    """
    folder, family = results.folder, results.experiments[result["experiment"]].family
    before = results.found.get(family) if family != result["experiment"] else None
    tables = []
    if before is None or not set(result["shown"]) <= set(before["shown"]):
        tables = [markdown_table(with_seeds(result)), wrapped(rows_not_run(result))]
        if result["corpus"].get("test sets") and "BLEU" in " ".join(result["metrics"].values()):
            tables.append(markdown_table(each_test_set(result)))
    budget, corpus = result["budget"], result["corpus"]
    source = f"../../../bench/results/reproduction/{folder.name}/{result['experiment']}"
    title = str(result["title"]).partition(": ")[0].removeprefix(result["paper"]).strip(" ,") or result["item"]
    seeds = max(_seeds(result["systems"][name]) for name in result["shown"])
    few = f" Fewer than {LEAST_SEEDS} seeds decide nothing." if seeds < LEAST_SEEDS else ""
    blocks = [
        f"## {title[0].upper()}{title[1:]}: {str(result['title']).partition(': ')[2]}",
        wrapped(
            f"`dragoman reproduce {result['experiment']}`, scale {budget['scale']:g}, at most {budget['updates']:,} "
            f"updates, {corpus['train']['pairs']:,} pairs.{few} [All numbers]({source}/result.json)."
        ),
        *tables,
    ]
    for name, figure in result["figures"].items():
        if (folder / result["experiment"] / f"{name}.svg").exists():
            blocks.append(f"![{figure['title']}]({source}/{name}.svg)")
    blocks += [markdown_table(phrases_table(phrases)) for phrases in result["phrases"].values() if phrases]
    for title, picture in PICTURES.get(result["experiment"], ()):
        blocks.append(f"![{title}](../../images/{picture})")
    if result["experiment"] in PICTURES:
        blocks.append(wrapped(OWN_SENTENCES))
    return [*blocks, wrapped(result["note"]), *trainings(result, before)]


def with_seeds(result: Result) -> list[list[str]]:
    """The table beside the paper's, with the number of seeds that each row has; rows without any are left out."""
    heading, *rows = (list(row) for row in scores_table(result))
    counts = [_seeds(result["systems"][name]) for name in result["shown"]]
    shown = [[row[0], str(count), *row[1:]] for row, count in zip(rows, counts, strict=True) if count]
    return [[heading[0], "seeds", *heading[1:]], *shown]


def each_test_set(result: Result) -> list[list[str]]:
    """BLEU of each test set, or what else is measured, of the rows that have a value."""
    shown = [name for name in result["shown"] if _seeds(result["systems"][name])]
    heading, *rows = test_sets_table({**result, "shown": shown})
    bleu = [0, *(place for place, head in enumerate(heading) if head.startswith("BLEU"))]
    cells = ([row[place] for place in bleu] for row in (heading, *rows))
    return [row for row in cells if any(row[1:])]


def trainings(result: Result, before: Result | None) -> list[str]:
    """A table of the trainings of rows with a value that were not shown before, and the machines on which they ran."""
    shown, systems = before["models"] if before else {}, result["systems"].values()
    waiting = {model for system in systems for model in system["models"]}
    waiting -= {model for system in systems if _seeds(system) for model in system["models"]}
    found = [name for name, facts in result["models"].items() if facts["updates"] is not None]
    new = [name for name in found if name not in shown and name not in waiting]
    if not new:
        return []
    heading, *rows = ([row[0], *row[2:]] for row in models_table(result))  # without the settings
    machines = sorted({machine for name in new for machine in result["models"][name]["machines"]})
    table = markdown_table([heading, *(row for row in rows if row[0] in new)])
    return [
        table,
        wrapped(f"Trained on: {'; '.join(machines)}. Minutes are of the clock, beside other work.") if machines else "",
    ]


def claims(results: Results) -> tuple[str, str]:
    """A table with a row for each claim of the experiments that have run, and a line that names the others."""
    rows = [["claim", "of", "paper", "ours (95 % interval)", "verdict", "size of the effect"]]
    verdicts: Counter[str] = Counter()
    for name, result in results.found.items():
        for key, claim in result["claims"].items():
            verdict = verdict_of([claim])
            verdicts[verdict.split(":")[0]] += 1
            if verdict != NOT_RUN:
                place = f"{result['paper']}, {claim['where']}"
                paper, ours = zip(*effects_of(results, f"{name}/{key}"), strict=True)
                effects = ["; ".join(one or "-" for one in paper) if any(paper) else "", "; ".join(filter(None, ours))]
                rows.append([claim["claim"], place, *effects, verdict, size_of([claim])])
    missing = [one for one in results.experiments.values() if one.name not in results.found]
    verdicts[NOT_RUN] += sum(len(one.claims) for one in missing)
    left = [f"{one.name} ({len(one.claims)})" for one in missing if one.claims]
    left += [
        f"{name} ({count} of {len(result['claims'])})"
        for name, result in results.found.items()
        if (count := sum(verdict_of([claim]) == NOT_RUN for claim in result["claims"].values()))
    ]
    names = wrapped(f"Claims of experiments without all their rows: {', '.join(left)}.") if left else ""
    table = markdown_table(rows) if len(rows) > 1 else ""
    return f"{counted(verdicts, 'claims')}\n\n{table}".strip(), names


def explained(explanations: Mapping[str, str], results: Results) -> list[str]:
    """Why claims do not hold, by the names of the claims."""
    blocks = []
    for name, why in explanations.items():
        claim = results.claim(name)
        if claim:
            blocks.append(wrapped(f"**{claim['claim']}**: {why.strip()}"))
    return ["## Claims that do not hold, and why", *blocks] if blocks else []


def counted(verdicts: Mapping[str, int], what: str) -> str:
    """How many claims have which verdict."""
    several = {str(Verdict.HOLDS): "hold", str(Verdict.DOES_NOT_HOLD): "do not hold"}
    counts = [(verdicts[verdict], verdict) for verdict in VERDICTS if verdicts.get(verdict)]
    parts = [f"{count} {verdict if count == 1 else several.get(verdict, verdict)}" for count, verdict in counts]
    return wrapped(f"Of {sum(verdicts.values())} {what}: {', '.join(parts)}.")


def verdict_of(tested: Sequence[Mapping[str, Any] | None]) -> str:
    """The verdict on claims together: all must hold; one that does not is enough for none."""
    found = [claim for claim in tested if claim is not None]
    counts = [len(comparison["values"]) for claim in found for comparison in claim["comparisons"]]
    verdicts = {claim["verdict"] for claim in found}
    if not any(counts):
        return NOT_RUN
    if str(Verdict.DOES_NOT_HOLD) in verdicts:
        return str(Verdict.DOES_NOT_HOLD)
    if len(found) == len(tested) and verdicts == {str(Verdict.HOLDS)}:
        return str(Verdict.HOLDS)
    if len(found) < len(tested) or not all(counts):
        return f"{NOT_DECIDED}: rows are missing"
    if min(counts) < LEAST_SEEDS:
        return f"{NOT_DECIDED}: {_number_of(min(counts), 'seed')}"
    needed = [
        one["seeds that would decide"]
        for claim in found
        for one in claim["comparisons"]
        if one["verdict"] == str(Verdict.NOT_DECIDED)
    ]
    if None in needed:
        return f"{NOT_DECIDED}: the test sentences are too few"
    seeds = str(max(needed)) if max(needed) <= MOST_SEEDS else f"more than {MOST_SEEDS}"
    return f"{NOT_DECIDED}: {seeds} seeds would"


def size_of(tested: Sequence[Mapping[str, Any] | None]) -> str:
    """Whether effects are as large as in the paper, at least half of it; "" where values of ours or all of the paper's
    are missing.
    """
    comparisons = [comparison for claim in tested if claim for comparison in claim["comparisons"]]
    shares = [
        effect["ours"] / effect["paper"] if effect["paper"] else math.inf
        for effect in (one["effect"] for one in comparisons)
        if effect
    ]
    if not shares or None in tested or not all(one["values"] for one in comparisons):
        return ""
    return "as large" if min(shares) >= HALF else "smaller" if min(shares) > 0 else "opposite"


def effects_of(results: Results, name: str) -> list[tuple[str, str]]:
    """The paper's difference and ours of each comparison of a claim; "" where a value is missing."""
    experiment, claim = results.experiments[name.partition("/")[0]], results.claim(name)
    expected = experiment.claims[name.partition("/")[2]].expect
    ours = differences(claim) if claim else [""] * len(expected)
    return [(paper_difference(experiment, text), own) for text, own in zip(expected, ours, strict=True)]


def paper_difference(experiment: Experiment, text: str) -> str:
    """What the paper has for a comparison, in the units of its metric; "" where a value is missing."""
    comparison = parse_comparison(text)
    total = comparison.constant
    for weight, value in comparison.terms:
        scores = [experiment.systems[system].paper.get(value.metric) for system in value.systems]
        known = [score for score in scores if isinstance(score, float)]
        if value.part != WHOLE or not known:
            return ""
        total += weight * (min if METRICS[value.metric].lower_is_better else max)(known)
    return f"{round(total, 3):+g}"


def differences(claim: Mapping[str, Any]) -> list[str]:
    """Our difference of each comparison of a claim, with its interval where there is more than one seed."""
    shown = []
    for comparison in claim["comparisons"]:
        low, high = comparison["interval"]
        interval = f" ({signed(low)} to {signed(high)})" if len(comparison["values"]) > 1 else ""
        shown.append(signed(comparison["mean"]) + interval if comparison["values"] else "")
    return shown


def signed(value: float) -> str:
    """A difference with its sign, which a bound of an interval keeps where its digits are zeros."""
    decimals = 3 if abs(value) < 1 else 2 if abs(value) < 10 else 1
    return f"{value:+.{decimals}f}"


def wrapped(text: str, first: str = "") -> str:
    """Text in lines that fit a terminal; links and code are not broken."""
    return textwrap.fill(
        text,
        99,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _seeds(system: Mapping[str, Any]) -> int:
    """Seeds for which a row has a value."""
    return max((sum(value is not None for value in score["values"]) for score in system["scores"].values()), default=0)


def _number_of(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


if __name__ == "__main__":
    main()
