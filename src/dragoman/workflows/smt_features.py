"""Models opened as the features of n-best lists and the columns of phrase tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dragoman.errors import ConfigError
from dragoman.requests.rescoring import RescoringFeatures
from dragoman.runs.opening import Run, open_run
from dragoman.scoring.given_targets import TokenScores, log_probability, mean_log_probability
from dragoman.scoring.lists import (
    Feature,
    ensemble_feature,
    length_feature,
    of_joined_words,
    probability_feature,
)
from dragoman.scoring.phrase_scores import Column, probability_column, unknown_word_penalty
from dragoman.systems import DeviceName
from dragoman.translation.ensemble import require_same_target


def open_features(
    wanted: RescoringFeatures, *, device: DeviceName = "auto", threads: int | None = None
) -> list[tuple[str, Sequence[Feature]]]:
    """The features to add, by name.

    Raises:
        RunError: a folder does not exist, lacks a part, or is damaged.
        ConfigError: members of an ensemble differ in target vocabulary or segmentation.
    """

    def opened(path: str) -> Run:
        run = open_run(path, device=device, threads=threads)
        if wanted.precision != "fp32":  # an exported model needs no torch
            model = run.model()

            from dragoman.model.devices import choose_precision

            model.set_precision(choose_precision(wanted.precision, model.device))
        return run

    def language_feature(path: str, value: Callable[[TokenScores], float]) -> Feature:
        from dragoman.model.devices import choose_precision
        from dragoman.runs.language_model import open_language_run
        from dragoman.scoring.language_model import language_model_feature

        run = open_language_run(path, device=device, threads=threads)
        run.model.set_precision(choose_precision(wanted.precision, run.model.device))
        return language_model_feature(run.scorer(), value)

    value = mean_log_probability if wanted.normalised else log_probability
    features: list[tuple[str, Sequence[Feature]]] = []
    runs = [opened(path) for path in wanted.model]
    scorers = [one.scorer() for one in runs]
    if wanted.ensemble:
        _require_one_vocabulary(runs, wanted.model)
        features.append((wanted.feature, [ensemble_feature(scorers, value)]))
    elif runs:
        features.append((wanted.feature, [probability_feature(scorer.score_lists, value) for scorer in scorers]))
    if wanted.reverse:
        others = [opened(path).scorer() for path in wanted.reverse]
        reverse = [probability_feature(scorer.score_sources, value) for scorer in others]
        features.append((f"{wanted.feature}Reverse", reverse))
    if wanted.tokenised is not None:
        from dragoman.text.segmentation.words import WordSegmentation

        join = WordSegmentation(wanted.tokenised).detokenise
        features = [(name, [of_joined_words(one, join) for one in group]) for name, group in features]
    if wanted.lm:
        features.append((f"{wanted.feature}LM", [language_feature(path, value) for path in wanted.lm]))
    if wanted.length:
        features.append((f"{wanted.feature}Length", [length_feature]))
    return features


def open_columns(
    model: Sequence[str],
    reverse: Sequence[str],
    *,
    unknown: bool,
    device: DeviceName = "auto",
    threads: int | None = None,
) -> list[Column]:
    """The columns to add to a phrase table: of each model, of each reverse model, and the unknown-word penalty.

    Raises:
        RunError: a folder does not exist, lacks a part, or is damaged.
    """
    models = [open_run(path, device=device, threads=threads) for path in model]
    others = [open_run(path, device=device, threads=threads) for path in reverse]
    columns = [probability_column(one.scorer().score_lists) for one in models]
    columns += [probability_column(one.scorer().score_sources) for one in others]
    return columns + ([unknown_word_penalty(models[0].target)] if unknown else [])


def _require_one_vocabulary(runs: Sequence[Run], names: Sequence[str]) -> None:
    """Refuse runs that differ in target vocabulary or segmentation."""
    require_same_target(names, [one.target.vocabulary for one in runs])
    files = [{path.name: path.read_bytes() for path in one.folder.text.glob("target.*")} for one in runs]
    for other, name in zip(files, names, strict=True):
        if other != files[0]:
            raise ConfigError(
                f"--ensemble: {name} and {names[0]} segment target text differently; leave --ensemble out and "
                "weight their features instead"
            )
