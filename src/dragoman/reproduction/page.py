"""The page of an experiment, as Markdown and as one HTML file: our table beside the paper's, claims, figures.

Both are made from the JSON of the result alone, so that they can be written again from it.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Literal

from dragoman.reproduction.decisions import LEAST_SEEDS, METRICS

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
       color: #1b1b1b; background: #fff; }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { padding: .25rem .75rem; border-bottom: 1px solid #ccc; text-align: left; vertical-align: top; }
code { background: #f2f2f2; padding: 0 .2rem; overflow-wrap: anywhere; }
img { max-width: 100%; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #161616; } code { background: #2a2a2a; } th, td { border-color: #444; }
  img { background: #fff; }
}
"""

HALF = 0.5
"""Our effect is called as large as the paper's from this share of it on."""

_NO_PHRASES = "The table has too few targets of the chosen source phrases to compare them."

_NO_SCORE: Mapping[str, Any] = {"mean": None, "deviation": None, "paper": None, "values": [], "not run": 0}

Table = Sequence[Sequence[str]]
"""Rows of cells, the heading first."""


Block = tuple[Literal["h1", "h2", "text", "table", "image"], Any]
"""A part of a page: a heading, a paragraph, a `Table`, or the alternative text and the address of an image."""


def markdown_page(result: Mapping[str, Any], images: Mapping[str, str]) -> str:
    """The page as Markdown; `images` has the file of each figure and heat map."""
    write: Mapping[str, Callable[[Any], str]] = {
        "h1": lambda text: f"# {text}",
        "h2": lambda text: f"## {text}",
        "text": str,
        "table": markdown_table,
        "image": lambda image: f"![{image[0]}]({image[1]})",
    }
    return "\n\n".join(write[kind](content) for kind, content in _blocks(result, images)) + "\n"


def html_page(result: Mapping[str, Any], images: Mapping[str, str]) -> str:
    """The page as HTML; `images` has the address of each figure and heat map."""
    write: Mapping[str, Callable[[Any], str]] = {
        "h1": lambda text: f"<h1>{html.escape(text)}</h1>",
        "h2": lambda text: f"<h2>{html.escape(text)}</h2>",
        "text": lambda text: f"<p>{_inline(text)}</p>",
        "table": _html_table,
        "image": lambda image: f'<img src="{image[1]}" alt="{html.escape(image[0])}">',
    }
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{html.escape(result["title"])}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{_STYLE}</style>\n'
        + "\n".join(write[kind](content) for kind, content in _blocks(result, images))
        + "\n</html>\n"
    )


def _blocks(result: Mapping[str, Any], images: Mapping[str, str]) -> Iterator[Block]:
    """What both pages show, in its order."""
    yield "h1", result["title"]
    yield from (("text", text) for text in (result["note"], *_facts(result)) if text)
    yield from (("h2", "Table"), ("table", scores_table(result)))
    sets = test_sets_table(result)
    if len(sets[0]) > 1:
        yield from (("h2", "Each test set"), ("table", sets))
    if result["claims"]:
        yield from (("h2", "Claims"), ("table", claims_table(result)))
    for name, figure in result["figures"].items():
        yield "h2", figure["title"]
        yield ("image", (figure["title"], images[name])) if name in images else ("text", "No data.")
    for label, phrases in result["phrases"].items():
        yield "h2", f"Phrases, {label}"
        yield ("table", phrases_table(phrases)) if phrases else ("text", _NO_PHRASES)
    for sample in result["samples"]:
        yield from (("h2", f"Line {sample['line']} of the test set"), ("table", sample_table(sample)))
    for model, pictures in images_of_heat_maps(result, images).items():
        yield "h2", f"Alignment weights of {model}"
        yield from (("image", ("alignment weights", picture)) for picture in pictures)
    yield from (("h2", "Trainings"), ("table", models_table(result)))
    yield from (("text", f"Failed: `{name}`: {message}") for name, message in result["failed"].items())


def scores_table(result: Mapping[str, Any]) -> Table:
    """A row for each system: our mean and deviation, and the paper's value, of each metric."""
    metrics = [
        (name, heading)
        for name, heading in result["metrics"].items()
        if any(name in system["scores"] for system in result["systems"].values())
    ]
    heads = ["system", *(f"{heading}, {whose}" for _, heading in metrics for whose in ("ours", "paper"))]
    rows = [heads]
    for name in result["shown"]:
        system = result["systems"][name]
        cells = [system["label"]]
        for metric, _ in metrics:
            score = system["scores"].get(metric, _NO_SCORE)
            cells += [_mean(score, METRICS[metric].decimals), "" if score["paper"] is None else str(score["paper"])]
        rows.append(cells)
    empty = [column for column in range(len(heads)) if column and not any(row[column] for row in rows[1:])]
    return [[cell for column, cell in enumerate(row) if column not in empty] for row in rows]


def test_sets_table(result: Mapping[str, Any]) -> Table:
    """A row for each system: mean BLEU and perplexity on each of the test sets that were given."""
    sets = {
        name: f"{_stem(one['files'])} ({one['pairs']:,})" for name, one in result["corpus"].get("test sets", {}).items()
    }
    metrics = [name for name in ("perplexity", "bleu") if name in result["metrics"]]
    rows = [["system", *(f"{METRICS[name].heading}, {heading}" for heading in sets.values() for name in metrics)]]
    for name in result["shown"]:
        system = result["systems"][name]
        rows.append([system["label"]])
        for part in sets:
            for metric in metrics:
                mean = system["scores"].get(metric, {}).get("test sets", {}).get(part)
                rows[-1].append("" if mean is None else f"{mean:.{METRICS[metric].decimals}f}")
    return rows


def _stem(files: Sequence[str]) -> str:
    """The common part of the names of the files of a test set, or all names."""
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*files, strict=False))
    common = "".join(letters[0] for letters in alike).strip(".-_") if len(files) > 1 else ""
    return common or " ".join(files)


def claims_table(result: Mapping[str, Any]) -> Table:
    """A row for each comparison of each claim."""
    rows = [["claim", "in the paper", "expected", "difference (95 % interval)", "each seed", "verdict", "size"]]
    for claim in result["claims"].values():
        for index, comparison in enumerate(claim["comparisons"]):
            low, high = comparison["interval"]
            verdict = comparison["verdict"]
            if comparison["seeds that would decide"]:
                verdict += f" ({comparison['seeds that would decide']} seeds like these would decide)"
            if len(claim["comparisons"]) > 1 and index == 0:
                verdict += f"; claim: {claim['verdict']}"
            rows.append(
                [
                    claim["claim"] if index == 0 else "",
                    claim["where"] if index == 0 else "",
                    f"`{comparison['expected']}`",
                    f"{_signed(comparison['mean'])} ({_signed(low)} to {_signed(high)})",
                    ", ".join(map(_signed, comparison["values"])),
                    verdict,
                    effect_text(comparison.get("effect")),
                ]
            )
    return rows


def effect_text(effect: Mapping[str, float] | None) -> str:
    """Compare our effect with the paper's: at least half as large, smaller, or in the other direction."""
    if effect is None:
        return ""
    ours, paper = effect["ours"], effect["paper"]
    share = ours / paper if paper else math.inf
    size = "as large" if share >= HALF else "smaller" if share > 0 else "opposite"
    return f"{size} ({ours:+.2f}, paper {paper:+.2f})"


def models_table(result: Mapping[str, Any]) -> Table:
    """A row for each model with the facts of its trainings."""
    rows = [["model", "preset and settings", "updates", "epochs", "minutes", "dev perplexity"]]
    for name, model in result["models"].items():
        settings = " ".join([model["preset"], *(f"{key}={value}" for key, value in model["set"].items())])
        rows.append(
            [name, f"`{settings}`"]
            + [
                "" if model[key] is None else f"{model[key]:,.{digits}f}"
                for key, digits in (("updates", 0), ("epochs", 2), ("minutes", 1), ("dev perplexity", 2))
            ]
        )
    return rows


def sample_table(sample: Mapping[str, Any]) -> Table:
    """Source, reference and translations of one sentence."""
    rows = [["", "text"], ["source", sample["source"]], ["reference", sample["reference"]]]
    return [*rows, *([label, text] for label, text in sample["translations"].items())]


def phrases_table(phrases: Sequence[Mapping[str, Any]]) -> Table:
    """A row for each source phrase: the best targets by the table and by the network, and samples of the network."""
    rows = [["group", "source (occurrences)", "phrase table", "network", "samples (times)"]]
    for one in phrases:
        samples = " · ".join(f"{text or 'empty'} ({count})" for text, count in one["samples"])
        best = (" · ".join(one[whose]) for whose in ("table", "network"))
        rows.append([one["group"], f"{one['source']} ({one['occurrences']})", *best, samples])
    return rows


def images_of_heat_maps(result: Mapping[str, Any], images: Mapping[str, str]) -> dict[str, list[str]]:
    """Model -> the addresses of its heat maps."""
    return {
        model: [images[picture] for picture in pictures if picture in images]
        for model, pictures in result["heat maps"].items()
    }


def _facts(result: Mapping[str, Any]) -> list[str]:
    budget, corpus = result["budget"], result["corpus"]
    least = f"Fewer than {LEAST_SEEDS} seeds decide no claim." if budget["seeds"] < LEAST_SEEDS else ""
    if budget["quick"]:
        least = "A first look (`--quick`), which decides nothing: its differences may point the wrong way."
    length = f"{budget['updates']:,} updates" if budget["updates"] else f"{budget['minutes']:g} minutes"
    joined = f" Longer pairs are joined from up to {corpus['join']} pairs of the corpus." if corpus["join"] > 1 else ""
    sets = ", ".join(
        f"{name} {corpus[name]['pairs']:,} ({corpus[name]['source']['words']:.1f} words a source)"
        for name in ("train", "dev", "test")
    )
    names = {system["scores"].get("bleu", {}).get("tokenizer") for system in result["systems"].values()} - {None}
    tokenizers = f" BLEU tokenizer: {', '.join(sorted(names))}." if names else ""
    return [
        f"{result['paper']}, {result['item']}. Scale {budget['scale']:g}, {length}, {budget['seeds']} seeds. "
        f"Pairs: {sets}.{joined}{tokenizers}",
        f"Command: `{result['command']}`",
        least,
        rows_not_run(result),
    ]


def rows_not_run(result: Mapping[str, Any]) -> str:
    """A line that names the rows of the table that have no value of any seed because nothing was run; or ""."""
    labels = [
        system["label"]
        for system in map(result["systems"].__getitem__, result["shown"])
        # A score without values is the paper's alone.
        if all(score["mean"] is None and score["not run"] for score in system["scores"].values() if score["values"])
    ]
    return f"Not run yet: {'; '.join(labels)}." if labels else ""


def _mean(score: Mapping[str, Any], decimals: int) -> str:
    failed = sum(value is None for value in score["values"]) - score["not run"]
    if score["mean"] is None:
        return "failed" if failed else ""
    shown = f"{score['mean']:.{decimals}f}"
    if score["deviation"] is not None:
        shown += f" ± {score['deviation']:.{decimals}f}"
    return shown + (f" ({failed} failed)" if failed else "")


def _signed(value: float | None) -> str:
    return "none" if value is None else f"{value:+.3g}"


def markdown_table(table: Table) -> str:
    """A table as Markdown."""
    lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in table]
    return "\n".join(f"| {line} |" for line in (lines[0], " | ".join("---" for _ in table[0]), *lines[1:]))


def _html_table(table: Table) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{_inline(cell)}</{tag}>" for cell in cells) + "</tr>"

    return "\n".join(["<table>", row(table[0], "th"), *(row(cells, "td") for cells in table[1:]), "</table>"])


def _inline(text: str) -> str:
    """Escaped text, with what is between backquotes as code."""
    parts = html.escape(text).split("`")
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))
