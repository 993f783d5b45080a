"""The tree of a search, against the search itself."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.config.schema import SearchConfig
from dragoman.search.beam import Finished, beam_search
from dragoman.search.trace import search_tree
from dragoman.text.vocabulary import BOS, EOS, PAD, UNK

SOURCE = [5, 6, 7, 4]


def walk(node, prefix=()):
    """(symbols, node) of all of a tree but the root."""
    for child in node.children:
        here = (*prefix, child.token)
        yield here, child
        yield from walk(child, here)


def best_of(engine, config):
    ids = [*SOURCE, EOS]
    return beam_search(engine, np.array([ids]), np.array([len(ids)]), config)[0][0]


@pytest.mark.parametrize("finish", ["refill", "shrink"])
@pytest.mark.parametrize("beam", [1, 2, 4])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_tree_is_that_of_the_search(toy_engine, finish, beam, seed):
    config = SearchConfig(beam=beam, finish=finish, max_length_factor=2)
    engine = toy_engine(9, seed)
    root, best = search_tree(engine, SOURCE, config, dropped=100)
    searched = best_of(toy_engine(9, seed), config)
    assert best.tokens == searched.tokens
    assert best.log_probability == searched.log_probability
    nodes = dict(walk(root))
    assert [symbols[-1] for symbols, node in nodes.items() if node.best] == best.tokens
    rows = [rows for rows, _ in engine.steps[1:]]
    for length, kept in enumerate(rows, 1):
        assert sum(node.fate == "kept" and len(symbols) == length for symbols, node in nodes.items()) == kept
    for symbols, node in nodes.items():
        logs, _ = engine.distribution((*SOURCE, EOS), (BOS, *symbols[:-1]))
        assert node.log_probability == pytest.approx(float(logs[symbols[-1]]), abs=1e-5)
        assert node.fate in ("finished", "cut off", "dropped") if node.token == EOS else node.fate != "finished"
        if node.fate != "kept":
            assert not node.children
        if node.children:
            assert node.total == pytest.approx(node.children[0].total - node.children[0].log_probability)
        assert [child.total for child in node.children] == sorted(
            (child.total for child in node.children), reverse=True
        )


def test_what_was_kept_is_better_than_what_was_dropped(toy_engine):
    root, _ = search_tree(toy_engine(9, 4), SOURCE, SearchConfig(beam=3), dropped=100)
    levels = {}
    for symbols, node in walk(root):
        levels.setdefault(len(symbols), []).append(node)
    for nodes in levels.values():
        kept = [node.total for node in nodes if node.fate in ("kept", "open")]
        # An end is never taken from below the K best, whatever takes the places of those that ended.
        dropped = [node.total for node in nodes if node.fate == "dropped" and node.token != EOS]
        assert not kept or not dropped or min(kept) >= max(dropped)
    assert any(node.fate == "dropped" for nodes in levels.values() for node in nodes)


def test_the_tree_has_the_requested_number_of_dropped_hypotheses(toy_engine):
    root, _ = search_tree(toy_engine(9, 4), SOURCE, SearchConfig(beam=3), dropped=2)
    lengths = [len(symbols) for symbols, node in walk(root) if node.fate == "dropped"]
    assert max(lengths.count(length) for length in set(lengths)) == 2
    none, _ = search_tree(toy_engine(9, 4), SOURCE, SearchConfig(beam=3), dropped=0)
    assert not any(node.fate == "dropped" for _, node in walk(none))


def test_an_unfinished_translation_is_marked_as_cut_off(toy_engine):
    engine = toy_engine(9, answer=lambda source, prefix: {4: 0.9, EOS: 0.1})
    root, best = search_tree(engine, SOURCE, SearchConfig(beam=1, max_length_factor=1, max_length_extra=0), dropped=3)
    assert not best.finished
    (end,) = (node for symbols, node in walk(root) if node.best and node.token == EOS)
    assert end.fate == "cut off"
    assert end.total == best.log_probability


def test_forbidden_symbols_are_not_in_the_tree(toy_engine):
    config = SearchConfig(beam=3, block_unknown=True, min_length_factor=0.5)
    root, _ = search_tree(toy_engine(9, 6), SOURCE, config, dropped=100)
    assert not any(node.token in (PAD, BOS, UNK) for _, node in walk(root))
    assert min(len(symbols) for symbols, node in walk(root) if node.token == EOS) > 2


@pytest.mark.parametrize(
    "settings", [{"diversity": 0.8}, {"diversity": 2.0, "finish": "shrink"}, {"no_repeat_ngram": 1}]
)
@pytest.mark.parametrize("seed", range(6))
def test_what_finished_is_what_finished_in_the_search(toy_engine, monkeypatch, settings, seed):
    finished = []
    add = Finished.add

    def noting(self, length, sentences, rows, log_probabilities, penalties, finished_):
        finished.extend((length + 1, round(each, 5)) for each in log_probabilities.tolist() if finished_)
        add(self, length, sentences, rows, log_probabilities, penalties, finished_)

    monkeypatch.setattr(Finished, "add", lambda self, *given, finished: noting(self, *given, finished))
    config = SearchConfig(beam=3, max_length_factor=2, **settings)
    root, _ = search_tree(toy_engine(9, seed), SOURCE, config, dropped=100)
    shown = [(len(symbols), round(node.total, 5)) for symbols, node in walk(root) if node.fate == "finished"]
    assert sorted(shown) == sorted(finished)
