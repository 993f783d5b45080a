"""The estimator against a plain reading of the equations, KenLM's own estimator, and KenLM's view of its files."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dragoman.smt.arpa import read_arpa, write_arpa
from dragoman.smt.kenlm_model import KenlmModel
from dragoman.smt.kneser_ney import FALLBACK, discounts, estimate
from dragoman.text.lines import read_lines

TEXT = [line.split() for line in ("a b c a", "b a", "", "c c c a b", "a b", "d", "b c a b a")]


BY_LMPLZ = Path(__file__).parent / "lmplz.arpa"
"""What KenLM's estimator wrote for lmplz.txt; its first lines say which version, and how it was called."""


def random_text(seed, sentences=300, words=30):
    """Sentences of words of which some are frequent and most are not."""
    random = np.random.default_rng(seed)
    lengths = random.integers(0, 9, size=sentences)
    return [[f"w{min(words, number)}" for number in random.zipf(1.6, size=length)] for length in lengths]


class Plainly:
    """Interpolated modified Kneser-Ney, word by word (Chen and Goodman 1998, equations 22 to 26), nothing shared."""

    def __init__(self, sentences, order):
        self.order = order
        padded = [("<s>", *words, "</s>") for words in sentences]
        self.words = {word for words in padded for word in words} - {"<s>"} | {"<unk>"}
        raw = Counter(
            words[start:end]
            for words in padded
            for start in range(len(words))
            for end in range(start + 1, min(len(words), start + order) + 1)
        )
        before = Counter(ngram[1:] for ngram in raw if len(ngram) > 1)
        self.counts = {
            ngram: count if len(ngram) == order or ngram[0] == "<s>" else before[ngram]
            for ngram, count in raw.items()
            if ngram != ("<s>",)
        }
        self.discounts = {size: self._discounts(size) for size in range(1, order + 1)}

    def _discounts(self, size):
        n = Counter(count for ngram, count in self.counts.items() if len(ngram) == size)
        if not (n[1] and n[2] and n[3]):
            return FALLBACK
        y = n[1] / (n[1] + 2 * n[2])
        found = (1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3])
        return found if all(0 < value <= k for k, value in enumerate(found, 1)) else FALLBACK

    def probability(self, word, context):
        if len(context) >= self.order:
            context = context[len(context) - self.order + 1 :]
        size = len(context) + 1
        below = 1 / len(self.words) if not context else self.probability(word, context[1:])
        followers = {n: count for n, count in self.counts.items() if len(n) == size and n[:-1] == context}
        if not followers:
            return below
        total = sum(followers.values())
        share = sum(self.discounts[size][min(count, 3) - 1] for count in followers.values()) / total
        count = followers.get((*context, word), 0)
        return (count - (self.discounts[size][min(count, 3) - 1] if count else 0)) / total + share * below


@pytest.fixture
def load(tmp_path):
    def load(sentences, order):
        write_arpa(tmp_path / "lm.arpa", estimate(sentences, order))
        return KenlmModel(tmp_path / "lm.arpa")

    return load


def after(model, context):
    """The state after a context that begins with <s> or does not."""
    begins = context[:1] == ("<s>",)
    return model.extend(model.begin if begins else model.null_context, context[begins:])[1]


@pytest.mark.parametrize(("text", "order"), [(TEXT, 2), (TEXT, 4), (random_text(1), 2), (random_text(2), 3)])
def test_probabilities_follow_the_equations(text, order, load):
    plainly, model = Plainly(text, order), load(text, order)
    contexts = {ngram[:-1] for ngram in plainly.counts} | {("a", "d"), ("<s>", "c")}
    assert len(contexts) >= 8
    for context, word in itertools.product(sorted(contexts)[:60], sorted(plainly.words)):
        found = model.extend(after(model, context), [word])[0]
        assert found == pytest.approx(math.log(plainly.probability(word, context)), abs=2e-5), (context, word)


@pytest.mark.parametrize("order", [2, 3, 5])
def test_probabilities_after_any_context_sum_to_one(order, load):
    text = random_text(3)
    model = load(text, order)
    words = sorted({word for sentence in text for word in sentence})
    for context in ((), ("<s>",), ("w1",), ("w1", "w1", "w1"), ("<s>", "w2"), ("w30", "w1"), ("never",)):
        state = after(model, context)
        total = sum(math.exp(model.extend(state, [word])[0]) for word in (*words, "</s>", "<unk>"))
        assert total == pytest.approx(1, abs=1e-5)


def test_two_words_by_hand(tmp_path):
    # Bigrams: <s> a 2, a a 1, a </s> 2. Words before: a 2 (<s>, a), </s> 1; too few to tell discounts.
    # p(a) = (2 - 1) / 3 + (1 + 0.5) / 3 * 1/3 = 1/2; p(</s>) = (1 - 0.5) / 3 + 1/6 = 1/3; p(<unk>) = 1/6.
    # p(a | a) = (1 - 0.5) / 3 + (0.5 + 1) / 3 * 1/2 = 5/12; p(</s> | a) = (2 - 1) / 3 + 1/2 * 1/3 = 1/2.
    # p(a | <s>) = (2 - 1) / 2 + 1/2 * 1/2 = 3/4.
    model = estimate([["a", "a"], ["a"]], 2)
    assert model.fallback_orders == [1, 2]
    write_arpa(tmp_path / "lm.arpa", model)
    found = {ngram.words: (10**ngram.log_probability, 10**ngram.backoff) for ngram in read_arpa(tmp_path / "lm.arpa")}
    assert found == {
        ("<unk>",): pytest.approx((1 / 6, 1)),
        ("<s>",): pytest.approx((1, 1 / 2)),
        ("</s>",): pytest.approx((1 / 3, 1)),
        ("a",): pytest.approx((1 / 2, 1 / 2)),
        ("<s>", "a"): pytest.approx((3 / 4, 1)),
        ("a", "a"): pytest.approx((5 / 12, 1)),
        ("a", "</s>"): pytest.approx((1 / 2, 1)),
    }


def test_estimates_equal_those_of_lmplz(tmp_path):
    model = estimate([line.split() for line in read_lines(BY_LMPLZ.with_suffix(".txt"))], 4)
    assert model.fallback_orders == [4]
    write_arpa(tmp_path / "lm.arpa", model)
    ours, theirs = (
        {ngram.words: (ngram.log_probability, ngram.backoff) for ngram in read_arpa(path)}
        for path in (tmp_path / "lm.arpa", BY_LMPLZ)
    )
    assert len(theirs) == 272
    assert ours == {words: pytest.approx(values, rel=0, abs=1e-5) for words, values in theirs.items()}


def test_discounts_follow_equation_26():
    # n1 = 4, n2 = 2, n3 = 1, n4 = 1: Y = 1/2.
    assert discounts(np.array([1, 1, 1, 1, 2, 2, 3, 4, 9])) == (1 - 1 * 2 / 4, 2 - 1.5 * 1 / 2, 3 - 2 * 1 / 1)
    assert discounts(np.array([1, 1, 2, 4])) is None  # none of count 3
    assert discounts(np.array([1, 2, 3, 4, 4, 4])) is None  # less than nothing would be taken off 3
    assert discounts(np.array([1, 2, 3, 3])) is None  # nothing would be taken off 2, which lmplz allows


def test_a_sentence_scores_the_sum_of_its_words(load):
    model = load(TEXT, 3)
    total, state = 0.0, model.begin
    for word in ("a", "b", "zzz", "c"):
        gain, state = model.extend(state, [word])
        total += gain
    whole, end = model.extend(model.begin, ("a", "b", "zzz", "c"))
    assert whole == pytest.approx(total, abs=1e-5)
    assert end == state
    assert model.extend(end, ["</s>"])[0] == model.end(end) < 0
