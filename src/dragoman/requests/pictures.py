"""Requests for pictures: heat maps, search trees, learning curves, maps of vectors."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from dragoman.config.section import Count, doc
from dragoman.errors import ConfigError
from dragoman.requests.shared import (
    CORPORA,
    GENERAL,
    INPUT,
    PAIRS,
    PRINTED,
    SEARCH_HEADING,
    Compute,
    CorpusOptions,
    Quiet,
    Request,
    Rule,
    Run,
    SearchOptions,
    Unsigned,
    output,
)

PictureFormat = Literal["png", "svg", "pdf"]
Scale = Literal["paper", "modern"]
CurveName = Literal["perplexity", "bleu", "chrf", "accuracy", "loss", "training-perplexity"]
Along = Literal["updates", "epochs", "minutes"]
"""The x axis of a learning curve."""
ReductionMethod = Literal["pca", "tsne"]

MOST_HEAT_MAPS = 20
"""Lines drawn without `lines`."""


def _line_numbers(text: str) -> list[int]:
    """Parse a list of line numbers such as "1,5-8" into ascending numbers from 1."""
    numbers: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last or last - first >= 10_000:
            raise ConfigError(f"{text!r} is not a list of line numbers such as 1,5-8")
        numbers.update(range(first, last + 1))
    return sorted(numbers)


class HeatMapRequest(Request, kw_only=True):
    """Heat maps of the alignment weights of translations."""

    run: Run
    files: Annotated[
        tuple[str, ...], doc(f"SRC to translate (default: standard input); or given pairs: {PAIRS}", positional=True)
    ] = ()
    out: Annotated[str, doc("folder for the images", metavar="DIR", kind="folder")]
    format: Annotated[
        tuple[Literal[PictureFormat, "html"], ...],
        doc("png, svg, pdf or html; several may be given (default: png)", metavar="FORMAT"),
    ] = ()
    colormap: Annotated[Scale, doc("paper: grey, 0 black and 1 white (Bahdanau et al. 2015); modern: viridis")] = (
        "paper"
    )
    segments: Annotated[bool, doc("show the model's segments and EOS instead of words")] = False
    lines: Annotated[
        tuple[int, ...] | None,
        doc(
            f"line numbers to draw, for example 1,5-8 (default: the first {MOST_HEAT_MAPS} lines)",
            metavar="LIST",
            nargs=None,
            kind=_line_numbers,
        ),
    ] = None
    corpora: CORPORA = CorpusOptions()
    general: GENERAL = Compute()

    rules: ClassVar = (
        Rule(
            ("segments",),
            lambda values: "html" in values["format"],
            "{option} has no effect on {format} html, which shows words; leave one of them out",
        ),
    )


class SearchTreeRequest(Request, kw_only=True):
    """The search for one translation."""

    run: Run
    text: Annotated[str | None, doc("sentence to translate", metavar="LINE", one_of="sentence")] = None
    input: Annotated[str, doc("text; its first line is translated", one_of="sentence", **INPUT)] = "-"
    pruned: Annotated[Unsigned, doc("pruned hypotheses to show at each step, best first")] = 3
    output: Annotated[str, output("the tree")] = "-"
    searching: Annotated[SearchOptions, doc(SEARCH_HEADING)] = SearchOptions()
    general: GENERAL = Compute()

    rules: ClassVar = (
        Rule(("search_again",), lambda _: True, "{option} has no effect: the tree is that of the first search"),
    )


class CurvesRequest(Request, kw_only=True):
    """The learning curves of several runs."""

    runs: Annotated[tuple[str, ...], doc("run folders; the legend shows their names", metavar="RUN", positional=True)]
    metric: Annotated[
        CurveName,
        doc("y axis: perplexity, bleu, chrf or accuracy on the dev set; loss or perplexity of the training text"),
    ] = "perplexity"
    x_axis: Annotated[Along, doc("x axis")] = "updates"
    output: Annotated[str, doc("figure to write: .png, .svg or .pdf", short="-o", kind="output")]
    general: PRINTED = Quiet()


class MapRequest(Request, kw_only=True):
    """A map of the vectors that a model computes for texts."""

    run: Annotated[str, doc("run folder", metavar="RUN", positional=True)]
    input: Annotated[str | None, doc("texts, one a line; - for standard input", **INPUT)] = None
    of: Annotated[Literal["words", "phrases", "sentences"], doc("vectors to project")]
    method: Annotated[
        ReductionMethod | None,
        doc("PCA or Barnes-Hut t-SNE (default: pca for sentences, tsne otherwise, as in the papers)"),
    ] = None
    side: Annotated[Literal["source", "target"] | None, doc("embedding matrix for --of words (default: source)")] = None
    limit: Annotated[Count, doc("maximum number of texts")] = 2000
    seed: Annotated[Unsigned, doc("seed of t-SNE")] = 1
    output: Annotated[
        tuple[str, ...],
        doc("file to write: .html, .svg, .png or .tsv; may be repeated", short="-o", repeat=True, kind="output"),
    ]
    general: GENERAL = Compute()

    rules: ClassVar = (
        Rule(
            ("of",),
            lambda values: values["of"] != "words" and values["input"] is None,
            "{option} {values[of]} requires -i FILE with {values[of]}, one a line",
        ),
        Rule(
            ("side",),
            lambda values: values["of"] != "words",
            "{option} requires {of} words; {values[of]} are always source text",
        ),
    )
