from __future__ import annotations

import math

import pytest

from dragoman.errors import InputError
from dragoman.smt.system import PhraseSystem
from dragoman.smt.translation_options import PhraseOptions

from .conftest import PHRASES, REORDERING


def options(system, limit=0):
    configuration = system.configuration
    return PhraseOptions(
        system._tables, system._language_model, configuration.features.feature_weights(configuration.weights, ""), limit
    )


def test_spans_are_table_entries_and_single_words(system):
    found = {(span.start, span.end): span.options for span in options(system).of(["a", "b", "d", "e"])}
    assert found.keys() == {(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)}
    assert [option.words for option in found[2, 3]] == [("d",)]  # a longer phrase has it, but alone it is unknown
    assert found[2, 3][0].unknown
    assert found[2, 3][0].links == [(0, 0)]
    assert not found[2, 4][0].unknown
    assert found[2, 4][0].orientations == (0.0,) * 6  # the reordering table lacks it


def test_the_table_limit_keeps_the_best_options(system):
    everything = options(system).of(["a"])[0].options
    assert len(everything) == 2
    estimates = [option.estimate for option in everything]
    assert estimates == sorted(estimates, reverse=True)
    (best,) = options(system, 1).of(["a"])[0].options
    assert (best.words, best.estimate) == (everything[0].words, everything[0].estimate)


def test_logarithms_are_limited_to_minus_100(make_system):
    system = PhraseSystem.open(make_system(phrases=["a ||| A ||| 1e-50 0 0.5 1 ||| 0-0"]))
    ((option,),) = [span.options for span in options(system).of(["a"])]
    assert option.scores == (-100.0, -100.0, pytest.approx(math.log(0.5)), 0.0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"phrases": [*PHRASES, "a ||| Z ||| 1 1 1 1"]},
            "phrase-table.gz:11: the phrase 'a' stands also in line 1, wi",
        ),
        ({"phrases": [*PHRASES, "f F 1 1 1 1"]}, "phrase-table.gz:11: no triple bar; expected `source ||| target"),
        ({"phrases": []}, "phrase-table.gz: no phrases in it"),
        ({"phrases": ["a ||| A"]}, "phrase-table.gz:1: 2 of at least 3 fields between triple bars"),
        ({"phrases": ["a ||| A ||| 1 1 1"]}, "phrase-table.gz:1: 3 scores, but moses.ini has num-features=4"),
        ({"phrases": ["a ||| A ||| 1 1 x 1"]}, "phrase-table.gz:1: a score is 'x', not a finite number"),
        ({"phrases": ["a ||| A ||| 1 1 -1 1"]}, "phrase-table.gz:1: the score -1 is below 0; tables hold probab"),
        ({"phrases": ["a ||| A ||| 1 1 1 1 ||| 0:0"]}, "phrase-table.gz:1: '0:0' is not an alignment link"),
        ({"phrases": ["a ||| A ||| 1 1 1 1 ||| 0-1"]}, "phrase-table.gz:1: the link 0-1 leads out of the phrases"),
        ({"reordering": ["a ||| A ||| 1 1 1"]}, "reordering-table.gz:1: 3 scores, not 6 of msd-bidirectional-fe"),
        ({"reordering": [*REORDERING, "f"]}, "reordering-table.gz:10: no triple bar; expected `source ||| target"),
    ],
)
def test_a_malformed_table_is_reported_with_its_line(changes, said, make_system):
    folder = make_system(**changes)
    with pytest.raises(InputError) as caught:
        options(PhraseSystem.open(folder)).of(["a"])
    assert str(caught.value).startswith(f"{folder}/{said}")
