"""The metrics against published vectors and against sacreBLEU's own corpus scores."""

import math
import random

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER

from dragoman.errors import InputError
from dragoman.evaluation.metrics import (
    ExactMatch,
    Preparation,
    bleu,
    bleu_metric,
    chrf,
    chrf_metric,
    corpus_score,
    ter_metric,
    tokenised_bleu_metric,
)
from dragoman.evaluation.tokenizers import TOKENIZERS

EIGHT_WORDS = "the cat sat on the red mat today"
NINE_WORDS = "the cat sat on the red mat yesterday evening"


def random_corpus(sentences: int) -> tuple[list[str], list[str]]:
    """References, and hypotheses that share most of their words; blank lines among both."""
    draw = random.Random(7)
    words = ["ein", "Hund", "läuft", "über", "die", "Wiese", ",", "und", "bellt", "laut", "3.5", "(Katze)"]
    references = [" ".join(draw.choices(words, k=draw.randrange(0, 14))) for _ in range(sentences)]
    hypotheses = [
        " ".join(word if draw.random() < 0.8 else draw.choice(words) for word in reference.split())
        for reference in references
    ]
    return hypotheses, references


def test_bleu_of_the_worked_example():
    # 7/8, 6/7, 5/6, 4/5 of the n-grams match, brevity penalty exp(1 - 9/8).
    expected = 100 * math.exp(1 - 9 / 8) * (7 / 8 * 6 / 7 * 5 / 6 * 4 / 5) ** 0.25
    assert bleu([EIGHT_WORDS], [NINE_WORDS], tokenizer="none") == pytest.approx(expected)
    assert round(expected, 2) == 74.21


def test_brevity_penalty_is_exponential():
    # All n-grams match, one word is missing: what is left is the penalty alone, 0.8825, not 8/9.
    assert bleu(["a b c d e f g h"], ["a b c d e f g h i"]) == pytest.approx(88.25, abs=0.005)


def test_default_bleu_splits_punctuation_and_none_does_not():
    hypotheses, references = ["Yes, the cat sat here ."], ["Yes, the cat sat here."]
    assert bleu(hypotheses, references) == pytest.approx(100)
    assert bleu(hypotheses, references, tokenizer="none") < 80


def test_bleu_is_case_sensitive():
    assert bleu(["The Cat Sat Here Now"], ["the cat sat here now"]) == 0


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (bleu_metric(), BLEU()),
        (bleu_metric("none"), BLEU(tokenize="none", force=True)),
        (chrf_metric(), CHRF()),
        (ter_metric(), TER()),
    ],
    ids=["bleu", "bleu-none", "chrf", "ter"],
)
def test_summed_statistics_score_as_sacrebleu_scores_the_corpus(ours, theirs):
    hypotheses, references = random_corpus(60)
    assert corpus_score(ours, hypotheses, references) == pytest.approx(
        theirs.corpus_score(hypotheses, [references]).score
    )
    assert ours.signature() == str(theirs.get_signature())


@pytest.mark.parametrize("metric", [bleu_metric(), chrf_metric(), ter_metric(), ExactMatch()], ids=lambda m: m.name)
def test_statistics_of_a_part_are_the_rows_of_the_whole(metric):
    hypotheses, references = random_corpus(20)
    whole = metric.statistics(hypotheses, references)
    part = metric.statistics(hypotheses[5:9], references[5:9])
    np.testing.assert_array_equal(whole[5:9], part)


def test_signatures_name_the_settings():
    assert "case:mixed" in _signature(bleu_metric())
    assert "tok:13a" in _signature(bleu_metric())
    assert "tok:none" in _signature(bleu_metric("none"))
    assert "smooth:exp" in _signature(bleu_metric())
    assert "nc:6" in _signature(chrf_metric())
    assert "tok:tercom" in _signature(ter_metric())


def _signature(metric) -> str:
    metric.statistics(["a"], ["a"])
    return metric.signature()


def test_ter_counts_a_moved_block_as_one_edit():
    # Snover et al. 2006: moving "d e" is one shift, so one edit over five reference words.
    assert corpus_score(ter_metric(), ["d e a b c"], ["a b c d e"]) == pytest.approx(20)


def test_exact_match_is_a_percentage_and_ignores_outer_spaces_only():
    score = corpus_score(ExactMatch(), ["a b", " a b ", "a  b", "A b"], ["a b"] * 4)
    assert score == 50


@pytest.mark.parametrize("tokenizer", [name for name in TOKENIZERS if "mecab" not in name])
def test_every_tokenizer_gives_identical_text_the_best_score(tokenizer):
    line = "She paid 3.50, then left; 他们 去 北京 了。"
    assert bleu([line], [line], tokenizer=tokenizer) == pytest.approx(100)


@pytest.mark.parametrize("score", [bleu, chrf])
def test_unequal_counts_are_an_error_that_names_both(score):
    with pytest.raises(InputError, match="2 translations cannot be compared with 3 references"):
        score(["a", "b"], ["a", "b", "c"])


@pytest.mark.parametrize("score", [bleu, chrf])
def test_nothing_to_score_is_an_error(score):
    with pytest.raises(InputError, match="nothing to evaluate: 0 translations and 0 references"):
        score([], [])


def test_empty_lines_are_scored_without_a_warning():
    assert bleu(["", ""], ["", ""]) == 0
    assert chrf(["", "a"], ["a", ""]) == 0


def multi_bleu(hypotheses, references):
    """BLEU as multi-bleu.perl defines it, for one reference: written anew from its description."""
    matches, totals, length, reference_length = [0] * 4, [0] * 4, 0, 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        words, wanted = hypothesis.split(), reference.split()
        length, reference_length = length + len(words), reference_length + len(wanted)
        for n in range(1, 5):
            found = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
            there = [tuple(wanted[i : i + n]) for i in range(len(wanted) - n + 1)]
            matches[n - 1] += sum(min(found.count(gram), there.count(gram)) for gram in set(found))
            totals[n - 1] += len(found)
    if not all(matches):
        return 0.0
    penalty = min(1.0, math.exp(1 - reference_length / length))
    return 100 * penalty * math.exp(sum(math.log(m / t) for m, t in zip(matches, totals, strict=True)) / 4)


def test_tokenised_bleu_is_that_of_multi_bleu():
    draw = random.Random(3)
    references = [" ".join(draw.choices(["a", "b", "c", "d", ",", "."], k=draw.randint(4, 12))) for _ in range(40)]
    hypotheses = [" ".join(word for word in line.split() if draw.random() < 0.85) for line in references]
    expected = multi_bleu(hypotheses, references)
    assert 20 < expected < 90
    assert corpus_score(tokenised_bleu_metric(), hypotheses, references) == pytest.approx(expected)


def test_tokenised_bleu_of_the_vector_with_a_brevity_penalty():
    hypothesis, reference = "the cat sat on the red mat today", "the cat sat on the red mat yesterday evening"
    assert corpus_score(tokenised_bleu_metric(), [hypothesis], [reference]) == pytest.approx(74.21, abs=0.005)


def test_tokenised_bleu_is_not_smoothed_and_keeps_case_and_punctuation():
    metric = tokenised_bleu_metric()
    assert corpus_score(metric, ["a b c x"], ["a b c d"]) == 0
    assert corpus_score(metric, ["A b c d"], ["a b c d"]) == 0
    assert corpus_score(metric, ["a b c d e."], ["a b c d e ."]) < 100


def test_a_preparation_is_applied_to_both_sides():
    metric = tokenised_bleu_metric(Preparation("apart", lambda line: line.replace(".", " .")))
    assert corpus_score(metric, ["a b c d."], ["a b c d ."]) == pytest.approx(100)
    assert metric.prepared(["x."]) == ["x ."]
    assert metric.signature().endswith("|text:apart")


@pytest.mark.parametrize("metric", [bleu_metric, chrf_metric, ter_metric])
def test_several_references_score_as_sacrebleu_scores_them(metric):
    references, hypotheses = random_corpus(30)
    second = [f"{line} indeed" if number % 3 else None for number, line in enumerate(hypotheses)]
    given = [(first,) if other is None else (first, other) for first, other in zip(references, second, strict=True)]
    ours = metric()
    expected = {"BLEU": BLEU(force=True), "chrF": CHRF(), "TER": TER()}[ours.name].corpus_score(
        hypotheses, [references, second]
    )
    assert corpus_score(ours, hypotheses, given) == pytest.approx(expected.score)
    assert "nrefs:var" in ours.signature()
    assert corpus_score(ours, hypotheses, [(line,) for line in references]) == corpus_score(
        metric(), hypotheses, references
    )


def test_an_exact_match_equals_one_of_the_references():
    metric = ExactMatch()
    assert corpus_score(metric, ["a", "b", "c"], [("x", "a "), ("b",), ("d", "e", "f")]) == pytest.approx(200 / 3)
    assert metric.signature().startswith("nrefs:var|")
