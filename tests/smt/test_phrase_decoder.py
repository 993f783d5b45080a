"""Search against the enumeration of all derivations, and against Moses itself."""

from __future__ import annotations

import itertools
import math
import random
from types import SimpleNamespace

import pytest

from dragoman.requests.smt import DecoderSettings
from dragoman.smt.features import total
from dragoman.smt.phrase_decoder import PhraseDecoder, _future_cost_table
from dragoman.smt.search_graph import best_derivations, n_best
from dragoman.smt.system import PhraseSystem
from dragoman.smt.translation_options import PhraseOptions, SpanOptions
from dragoman.text.lines import read_lines

from .conftest import PHRASES, REORDERING

WIDE = DecoderSettings(stack=10**6, pop_limit=10**6, threshold=1e9)
SENTENCES = ("a b c", "c b a", "a", "a b c d", "b zzz a", "a b d e", "c a b c")


def rows(lines):
    table = {}
    for line in lines:
        source, target, scores, *_ = line.split(" ||| ")
        table.setdefault(source, {})[target] = [math.log(float(score)) for score in scores.split()]
    return table


class Everything:
    """All derivations of a sentence with all their features, by their definitions; shares nothing but KenLM."""

    def __init__(self, system, limit):
        self.limit = limit
        self.phrases, self.reordering = rows(PHRASES), rows(REORDERING)
        self.language_model = system._language_model

    def of(self, words):
        """[(text, features by name)]"""
        found = []
        for order in self._orders(len(words), (0,) * len(words), 0, ()):
            choices = [self._targets(words[start:end]) for start, end in order]
            for targets in itertools.product(*choices):
                found.append((" ".join(targets), self._features(words, order, targets)))
        return found

    def _orders(self, length, done, end, so_far):
        if all(done):
            yield so_far
            return
        gap = done.index(0)
        for start in range(length):
            for stop in range(start + 1, min(length, start + 2) + 1):
                if any(done[start:stop]) or abs(start - end) > self.limit:
                    continue
                if start != gap and stop - gap > self.limit:
                    continue
                now = done[:start] + (1,) * (stop - start) + done[stop:]
                yield from self._orders(length, now, stop, (*so_far, (start, stop)))

    def _targets(self, words):
        known = self.phrases.get(" ".join(words), {})
        return list(known) or (list(words) if len(words) == 1 else [])

    def _features(self, words, order, targets):
        text = " ".join(targets).split()
        orientations, scores, jumps, unknown, end = [0.0] * 6, [0.0] * 4, 0, 0, 0
        for number, ((start, stop), target) in enumerate(zip(order, targets, strict=True)):
            source = " ".join(words[start:stop])
            jumps += abs(start - end)
            before = order[number - 1] if number else (None, 0)
            turn = 0 if start == before[1] else 1 if number and stop == before[0] else 2
            orientations[turn] += self.reordering.get(source, {}).get(target, [0] * 6)[turn]
            if number:
                previous = " ".join(words[slice(*before)])
                orientations[3 + turn] += self.reordering.get(previous, {}).get(targets[number - 1], [0] * 6)[3 + turn]
            found = self.phrases.get(source, {}).get(target)
            unknown += found is None
            scores = [one + other for one, other in zip(scores, found or [0] * 4, strict=True)]
            end = stop
        return {
            "LexicalReordering0": tuple(orientations),
            "Distortion0": (-jumps,),
            "LM0": (self.language_model.extend(self.language_model.begin, (*text, "</s>"))[0],),
            "WordPenalty0": (-len(text),),
            "PhrasePenalty0": (len(order),),
            "TranslationModel0": tuple(scores),
            "UnknownWordPenalty0": (-100 * unknown,),
        }


def search(system, words, limit, settings=WIDE):
    configuration = system.configuration
    feature_weights = configuration.features.feature_weights(configuration.weights, "")
    options = PhraseOptions(system._tables, system._language_model, feature_weights, 0)
    return PhraseDecoder(system._language_model, feature_weights, limit, settings).search(len(words), options.of(words))


@pytest.mark.parametrize("limit", [0, 1, 2, 6])
@pytest.mark.parametrize("sentence", SENTENCES)
def test_all_derivations_are_enumerated_in_order_with_their_features(sentence, limit, system):
    words = sentence.split()
    weights, features = system.configuration.weights, system.configuration.features
    expected = [(total(values, weights), text, values) for text, values in Everything(system, limit).of(words)]
    found = list(best_derivations(search(system, words, limit)))
    assert len(found) == len(expected) > 0
    scores = [derivation.score for derivation in found]
    assert scores == sorted(scores, reverse=True)
    assert scores == pytest.approx(sorted((score for score, _, _ in expected), reverse=True), abs=1e-4)
    remaining = {(" ".join(one.words), rounded(one.values(features))) for one in found}
    assert remaining == {(text, rounded(values)) for _, text, values in expected}
    for one in found:
        assert total(one.values(features), weights) == pytest.approx(one.score, abs=1e-9)


def rounded(values):
    return tuple(round(float(value), 3) + 0.0 for row in values.values() for value in row)


def test_a_negative_distortion_limit_is_unlimited(make_system):
    system = PhraseSystem.open(make_system())
    words = ["a", "b", "c", "d", "e"]
    assert search(system, words, -1).score == search(system, words, len(words)).score > search(system, words, 0).score


@pytest.mark.parametrize("size", [1, 3, 7, 50])
def test_distinct_lists_have_the_best_derivation_of_each_text(size, system):
    words = ["c", "b", "a"]
    everything = Everything(system, 6).of(words)
    weights = system.configuration.weights
    best: dict[str, float] = {}
    for text, values in everything:
        best[text] = max(best.get(text, -math.inf), total(values, weights))
    found = n_best(search(system, words, 6), size, distinct=True, patience=1000)
    assert [" ".join(one.words) for one in found] == sorted(best, key=lambda text: -best[text])[:size]
    assert [one.score for one in found] == pytest.approx(sorted(best.values(), reverse=True)[:size], abs=1e-4)
    assert len(best) > 7


def test_recombination_keeps_the_other_edges(system):
    final = search(system, ["a", "b", "c", "d"], 6)
    seen, waiting, several = set(), [final], 0
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        scores = [edge.origin.score + edge.score for edge in one.edges]
        assert one.score == pytest.approx(max(scores, default=0.0))
        assert not scores or scores[0] == max(scores)
        several += len(one.edges) > 1
        waiting.extend(edge.origin for edge in one.edges)
    assert several > 5


@pytest.mark.parametrize("sentence", ["a b c d e a b", "c b a c b a b c"])
def test_wider_beams_are_not_worse_and_narrow_ones_still_finish(sentence, system):
    words = sentence.split()
    beams = (
        *(
            DecoderSettings(stack=stack, pop_limit=limit, threshold=threshold)
            for stack, limit, threshold in ((1, 1, 0.001), (2, 8, 0.5), (20, 60, 2.0))
        ),
        WIDE,
    )
    scores = [search(system, words, 3, beam).score for beam in beams]
    assert scores[-1] == max(scores)
    assert all(map(math.isfinite, scores))
    assert scores[2] == pytest.approx(scores[-1], abs=0.5)


def test_scaling_the_weights_changes_no_translation(make_system):
    system = PhraseSystem.open(make_system())
    lines = ["a b c d e a b", "c b a c b a b c"]
    weights = system.configuration.weights
    scaled = {name: tuple(0.01 * value for value in row) for name, row in weights.items()}
    beam = DecoderSettings(stack=3, pop_limit=10, threshold=0.2)
    found = [[one.text for one in system.searcher(given, "", beam).translate(lines)] for given in (weights, scaled)]
    assert found[0] == found[1]


def test_links_of_phrases_are_shifted_to_their_places(system):
    links = {" ".join(one.words): one.links for one in best_derivations(search(system, ["a", "zzz", "b", "c"], 3))}
    assert links["X Y zzz C B"] == [(0, 0), (0, 1), (1, 2), (2, 4), (3, 3)]
    assert links["B zzz A C"] == [(0, 2), (1, 1), (2, 0), (3, 3)]
    assert len(links) > 20


CONFIGURATION = """\
[distortion-limit]
6
[feature]
UnknownWordPenalty
WordPenalty
PhrasePenalty
Distortion
PhraseDictionaryMemory name=TranslationModel0 num-features=5 path={folder}/fr-en.lexreo.phrase-table.xz table-limit=20
LexicalReordering type=wbe-msd-bidirectional-fe-allff path={folder}/fr-en.lexreo.reordering-table.xz
KENLM name=LM0 path=lm.arpa
[weight]
UnknownWordPenalty0= 1
WordPenalty0= -1
PhrasePenalty0= 0
Distortion0= 0.5
TranslationModel0= 0.2 0.2 0.2 0.2 0.2
LexicalReordering0= 0.3 0.3 0.3 0.3 0.3 0.3
LM0= 0.5
"""


def test_translations_and_scores_of_a_moses_system_are_reproduced(shared_data, tmp_path):
    folder = shared_data / "moses-phrase-tables"
    (tmp_path / "moses.ini").write_text(CONFIGURATION.format(folder=folder))
    (tmp_path / "lm.arpa").write_text("\n".join(read_lines(folder / "fr-en.lexreo.en.lm.arpa.xz")) + "\n")
    expected = list(read_lines(folder / "fr-en.lexreo.moses-output.txt.xz"))
    system = PhraseSystem.open(tmp_path)
    searcher = system.searcher(system.configuration.weights, "", DecoderSettings())
    found = list(searcher.translate(read_lines(folder / "fr-en.lexreo.input.fr.xz")))
    assert len(found) == 5
    for number, one in enumerate(found):
        assert one.text == expected[number].partition("=")[2].strip()
        assert one.total == pytest.approx(float(expected[5 + number].partition("=")[2]), abs=1e-3)


def test_estimates_of_what_is_left_are_those_of_the_best_division_into_phrases():
    draw = random.Random(5)
    places = [(start, end) for start in range(9) for end in range(start + 1, min(start + 3, 9) + 1)]
    best = {place: draw.uniform(-9, 0) for place in places if place[1] - place[0] == 1 or draw.random() < 0.7}
    spans = [SpanOptions(*place, [SimpleNamespace(estimate=score)]) for place, score in best.items()]
    table = _future_cost_table(9, spans)

    def divided(start, end):
        if start == end:
            return 0.0
        firsts = [middle for middle in range(start + 1, end + 1) if (start, middle) in best]
        return max(best[start, middle] + divided(middle, end) for middle in firsts)

    for start in range(9):
        for end in range(start + 1, 10):
            assert table[start][end] == pytest.approx(divided(start, end), abs=1e-12)
