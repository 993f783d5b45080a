"""How good a run is: a test set translated and measured against its references."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dragoman.config.schema import SearchConfig, SideConfig
from dragoman.errors import ConfigError, InputError
from dragoman.evaluation.evaluate import Evaluation, Perplexity, Slice, SliceTable, evaluate
from dragoman.evaluation.metrics import Preparation, Tokenizer
from dragoman.evaluation.slices import (
    GROUP,
    Slicing,
    by_length,
    by_length_groups,
    by_length_window,
    by_rarity,
    mean_ranks,
)
from dragoman.progress import Console
from dragoman.runs.opening import Run
from dragoman.text.corpus import Pair
from dragoman.text.segmentation import train_segmentation
from dragoman.text.vocabulary import SPECIALS, UNK
from dragoman.translation.translator import Translation

SLICES: dict[str, Callable[[Sequence[Pair], int], Slicing]] = {
    "source-length": lambda pairs, size: by_length([pair.source for pair in pairs], "source"),
    "reference-length": lambda pairs, size: by_length([pair.target for pair in pairs], "reference"),
    "source-groups": lambda pairs, size: by_length_groups([pair.source for pair in pairs], "source", size),
    "reference-groups": lambda pairs, size: by_length_groups([pair.target for pair in pairs], "reference", size),
    "source-window": lambda pairs, size: by_length_window([pair.source for pair in pairs], "source"),
    "reference-window": lambda pairs, size: by_length_window([pair.target for pair in pairs], "reference"),
}
"""Ways to divide a test set, given also the sentences of a group; `rarity` is one more that needs word frequencies."""


@dataclass(frozen=True)
class Measuring:
    """What to measure besides the figures of the whole test set."""

    slices: Sequence[str] = ("source-length",)
    """Names out of `SLICES`, or `rarity`."""
    group: int = GROUP
    """Sentences of a group."""
    ranks: Mapping[str, int] | None = None
    """Frequency ranks of source words for `rarity`; None for those of the run's source vocabulary."""
    without_unknown: bool = False
    """Also the pairs in which neither side has an unknown word, translated with it blocked."""
    tokenizer: Tokenizer = "13a"
    language: str | None = None
    """Of the references, for the tokens of tokenised BLEU; None for the run's."""


@dataclass(frozen=True)
class Quality:
    """A test set, its translations and what they are worth."""

    search: SearchConfig
    """How the translations were looked for."""
    references: Sequence[str]
    translations: Sequence[Translation]
    evaluation: Evaluation


def measure(
    run: Run,
    pairs: Sequence[Pair],
    *,
    beam: int | None = None,
    measuring: Measuring | None = None,
    console: Console | None = None,
) -> Quality:
    """Translate the sources and measure the translations; also the perplexity of the references.

    Args:
        beam: hypotheses kept; None for the run's own number.

    Raises:
        InputError: there are no pairs.
    """
    _require_pairs(pairs)
    console, measuring = console or Console(), measuring or Measuring()
    search = run.config.search if beam is None else run.config.search.replaced(beam=beam)
    translations = translate(run, [pair.source for pair in pairs], search, console)
    evaluation = measure_given([translation.text for translation in translations], pairs, run, measuring)
    if measuring.without_unknown:
        evaluation = _with_known(evaluation, run, pairs, search, measuring, console)
    return Quality(search, [pair.target for pair in pairs], translations, evaluation)


def measure_given(
    hypotheses: Sequence[str], pairs: Sequence[Pair], run: Run | None = None, measuring: Measuring | None = None
) -> Evaluation:
    """Measure translations, whoever made them; with a run also its perplexity of the references.

    Raises:
        InputError: there are no pairs, or another number of translations than of pairs.
        ConfigError: slices by rarity are asked for, and there are neither frequencies nor a run.
    """
    _require_pairs(pairs)
    measuring = measuring or Measuring()
    return evaluate(
        hypotheses,
        [pair.target for pair in pairs],
        slicings=[_slicing(name, pairs, run, measuring) for name in measuring.slices],
        perplexity=None if run is None else _perplexity(run, ((pair.source, pair.target) for pair in pairs)),
        tokenizer=measuring.tokenizer,
        tokenised=bleu_preparation(measuring, run),
    )


def translate(run: Run, sources: Sequence[str], search: SearchConfig, console: Console) -> list[Translation]:
    """The best translation of each line."""
    translations = []
    with console.counter("translated", total=len(sources)) as progress:
        for n_best in run.translator(search).translate_lines(sources):
            translations.append(n_best[0])
            progress(len(translations))
    return translations


def bleu_preparation(measuring: Measuring, run: Run | None = None) -> Preparation | None:
    """How text is tokenised for tokenised BLEU: as it is, or by the Moses rules; None for scripts without blanks."""
    if measuring.tokenizer == "none":
        return Preparation("as-given", str)
    if measuring.tokenizer in ("zh", "char"):
        return None
    language = measuring.language or ("en" if run is None else run.config.text.target.language)
    words = train_segmentation(SideConfig(segmentation="words", language=language), [])
    return Preparation(f"moses-{language}", lambda line: " ".join(words.segment(line).pieces))


def _require_pairs(pairs: Sequence[Pair]) -> None:
    if not pairs:
        raise InputError("the test set is empty; it needs at least one pair")


def _slicing(name: str, pairs: Sequence[Pair], run: Run | None, measuring: Measuring) -> Slicing:
    if name != "rarity":
        return SLICES[name](pairs, measuring.group)
    if measuring.ranks is not None:
        return by_rarity(mean_ranks((pair.source.split() for pair in pairs), measuring.ranks), measuring.group)
    if run is None:
        raise ConfigError("slices by rarity need the frequencies of words: give a run, or a file of frequencies")
    # The vocabulary is in the order of frequencies, after the special symbols.
    segments = [run.source.encode(pair.source).ids for pair in pairs]
    rarest = len(run.source.vocabulary)
    ranks = [[rarest if index == UNK else index - len(SPECIALS) + 1 for index in ids] for ids in segments]
    return by_rarity([sum(line) / len(line) if line else 0.0 for line in ranks], measuring.group)


def _with_known(
    evaluation: Evaluation,
    run: Run,
    pairs: Sequence[Pair],
    search: SearchConfig,
    measuring: Measuring,
    console: Console,
) -> Evaluation:
    """One slicing more: all pairs, and those without an unknown word, translated without producing one.

    Bahdanau et al. 2015, table 1. The references keep their true words (papers.md, pitfall 17).
    """
    known = [
        pair
        for pair in pairs
        if UNK not in run.source.encode(pair.source).ids and UNK not in run.target.encode(pair.target).ids
    ]
    slices = [Slice("all", evaluation.sentences, evaluation.scores)]
    if known:
        blocked = search.replaced(block_unknown=True)
        found = [translation.text for translation in translate(run, [pair.source for pair in known], blocked, console)]
        language = measuring.language or run.config.text.target.language
        of_known = measure_given(found, known, None, replace(measuring, slices=(), language=language))
        slices.append(Slice("without, none produced", len(known), of_known.scores))
    return replace(evaluation, slicings=(*evaluation.slicings, SliceTable("unknown words", tuple(slices))))


def _perplexity(run: Run, pairs: Iterable[tuple[str, str]]) -> Perplexity:
    nll, tokens, sentences = 0.0, 0, 0
    for scored in run.scorer().score(pairs):
        nll -= scored.log_probability
        tokens += len(scored.token_log_probabilities)
        sentences += 1
    return Perplexity(nll, tokens, sentences)
