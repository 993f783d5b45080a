"""Loading runs for Python: a translator that also scores and evaluates given translations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

from dragoman.config.schema import Combination
from dragoman.corpora.pairs import Pair
from dragoman.errors import InputError
from dragoman.requests.shared import Compute, EnsembleOptions
from dragoman.runs.opening import Run, open_models
from dragoman.systems import DeviceName
from dragoman.translation.translator import Translator

if TYPE_CHECKING:
    from dragoman.evaluation.evaluate import Evaluation
    from dragoman.scoring.scorer import Scorer


class LoadedTranslator(Translator):
    """What `dragoman.load` makes: a `Translator` that also scores and evaluates.

    >>> translator = dragoman.load("RUN")
    >>> isinstance(translator, dragoman.Translator), translator.score("ab", "AB") > translator.score("ab", "AC")
    (True, True)
    """

    _run: Run
    _scorer: Scorer
    _alone: bool

    @property
    def languages(self) -> tuple[str | None, str | None]:
        """The codes of the source and the target language in the configuration of the (first) run.

        >>> dragoman.load("RUN").languages
        (None, None)
        """
        return self._run.config.text.languages

    @overload
    def score(self, source: str, target: str) -> float: ...  # type: ignore[overload-overlap]  # as for `translate`
    @overload
    def score(self, source: Iterable[str], target: Iterable[str]) -> list[float]: ...
    def score(self, source: str | Iterable[str], target: str | Iterable[str]) -> float | list[float]:
        """Return the log-probability of a given translation, or of several, as `dragoman score` prints it.

        It is not the `score` of a `Translation`, which is normalised by length for ranking.

        Args:
            source: a line, or several.
            target: its translation, or one for each line.

        Returns:
            the natural logarithm of the probability of the target given the source, EOS included; of several a list.

        Raises:
            TypeError: one of both is a string, and the other is not.
            InputError: there are more or fewer targets than sources.
            RunError: the model's log-probabilities are NaN.

        >>> translator = dragoman.load("RUN")
        >>> right, wrong = translator.score(["ab c", "ab c"], ["AB C", "AB D"])
        >>> 0 > right > wrong
        True
        """
        if isinstance(source, str) != isinstance(target, str):
            raise TypeError("source and target must both be a string, or both several")
        if isinstance(source, str):
            return self.score([source], [target])[0]  # type: ignore[list-item]
        sources, targets = list(source), list(target)
        if len(sources) != len(targets):
            raise InputError(f"{len(sources)} sources cannot be scored with {len(targets)} targets; give one for each")
        return [scored.log_probability for scored in self._scorer.score(zip(sources, targets, strict=True))]

    def evaluate(self, sources: Iterable[str], references: Iterable[str | Sequence[str]]) -> Evaluation:
        """Translate lines, and score the translations against references; `dragoman.measure` has more options.

        Args:
            sources: the lines.
            references: for each line a reference, or a list of several.

        Returns:
            all scores of `dragoman evaluate`: `evaluation.score("BLEU")` is one, `evaluation.table()` shows them. An
            ensemble has no perplexity.

        Raises:
            TypeError: `sources` or `references` is one string.
            InputError: there are no lines, more or fewer references than lines, or a line without any.
            RunError: the model's log-probabilities are NaN.

        >>> evaluation = dragoman.load("RUN").evaluate(["ab c", "fe d"], ["AB C", ["FE D", "FED"]])
        >>> evaluation.sentences, evaluation.score("exact match")
        (2, 100.0)
        """
        if isinstance(sources, str) or isinstance(references, str):
            raise TypeError("sources or references are one string; give a list of lines for each")
        from dragoman.workflows.evaluation import MeasureOptions, measure_given, symbols_for, tokenizer_of

        lines = list(sources)
        given = [(one,) if isinstance(one, str) else tuple(one) for one in references]
        if len(lines) != len(given):
            raise InputError(
                f"{len(lines)} lines cannot be evaluated with references of {len(given)}; give one for each"
            )
        for number, one in enumerate(given, 1):
            if not one:
                raise InputError(f"line {number} has no reference")
        pairs = [
            Pair(line, first, f"line {number}", other_references=tuple(others))
            for number, (line, (first, *others)) in enumerate(zip(lines, given, strict=True), 1)
        ]
        hypotheses = [n_best[0].text for n_best in self.translate_lines(lines)]
        config = self._run.config
        options = MeasureOptions(
            tokenizer=tokenizer_of(config), language=config.text.target.language, symbols=symbols_for(config)
        )
        return measure_given(hypotheses, pairs, self._run if self._alone else None, options)


def load(
    path: str | Path,
    *more: str | Path,
    device: DeviceName = "auto",
    threads: int | None = None,
    shortlist: bool = True,
    combine: Combination = "probabilities",
    weights: Sequence[float] | None = None,
) -> LoadedTranslator:
    """The translator of a run folder or an exported folder; several form an ensemble.

    Args:
        path, more: the folders. The search settings are those of the configuration of the first.
        device: "cpu", "cuda", or "auto" for the GPU if there is one.
        threads: CPU threads; None for one per core.
        shortlist: False ignores the shortlist of an exported folder, so that all target words are scored. An ensemble
            never uses one.
        combine: quantity of an ensemble that is averaged at each step: "probabilities", "log-probabilities", "logits".
        weights: weight of each model of an ensemble; None weights them equally.

    Returns:
        the translator, which also has `score` and `evaluate`; the model is in memory.

    Raises:
        RunError: a folder does not exist, lacks a part, has a newer format, or is damaged.
        ConfigError: the device is not available; the models have different target vocabularies; the number of weights
            is wrong.

    >>> translator = dragoman.load("RUN", device="cpu")
    >>> translator("ab c").text
    'AB C'
    """
    names = [str(path), *map(str, more)]
    ensemble = EnsembleOptions(combine=combine, weights=None if weights is None else tuple(weights))
    models = open_models(names, ensemble, Compute(device=device, threads=threads), shortlist=shortlist)
    translator = models.translator_of(LoadedTranslator)
    translator._run, translator._alone = models.first, not more
    translator._scorer = models.scorer()
    return translator
