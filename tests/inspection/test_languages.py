"""Lines that do not look like their side."""

import numpy as np
import pytest

from dragoman.inspection.languages import SideCounts, script_of, train_classifiers


def trained(sources, targets):
    counts = SideCounts(), SideCounts()
    counts[0].add(sources)
    counts[1].add(targets)
    return train_classifiers(counts, (sources, targets))


def test_lines_of_the_other_side_are_recognised(pairs):
    sources, targets = map(list, zip(*pairs, strict=True))
    sources[7], targets[7] = targets[7], sources[7]
    sources[30] = targets[30]
    source, target = trained(sources, targets)
    assert source.tells_sides_apart
    assert np.flatnonzero(source.classify(sources).other_side).tolist() == [7, 30]
    assert np.flatnonzero(target.classify(targets).other_side).tolist() == [7]


def test_labels_do_not_depend_on_the_other_lines(pairs):
    sources, targets = map(list, zip(*pairs, strict=True))
    sources[3:3] = ["", "x", targets[0]]
    sources[20] += "\nkotari"  # JSON lines can hold a line end
    source, _ = trained(sources, targets)
    together = source.classify(sources)
    alone = [source.classify([line]) for line in sources]
    for name in ("other_side", "unusual", "other_script"):
        assert getattr(together, name).tolist() == [bool(getattr(one, name)[0]) for one in alone]
    assert np.flatnonzero(together.other_side).tolist() == [5]


def test_a_third_language_is_unusual(pairs):
    sources, targets = map(list, zip(*pairs, strict=True))
    sources[9] = "zugluft zebu xylem quux mum buzz jump jugs vex dumb fjord pygmy nymph"
    source, _ = trained(sources, targets)
    labels = source.classify(sources)
    assert np.flatnonzero(labels.unusual).tolist() == [9]
    assert not labels.other_side.any()


def test_another_script_is_recognised(pairs):
    sources, targets = map(list, zip(*pairs, strict=True))
    sources[9] = "Привет, как дела kotari"
    sources[10] += " (σ)"
    source, _ = trained(sources, targets)
    assert np.flatnonzero(source.classify(sources).other_script).tolist() == [9]


def test_scripts_that_are_used_together_are_not_foreign_to_each_other(pairs):
    japanese = ["これはほんです、それもほんです"] * 300
    lines = ["コンサートホールレストラン", "日本国憲法前文", "한국어를 배우고 있어요"]
    source, _ = trained([*japanese, *lines], [target for _, target in pairs])
    assert source.classify(lines).other_script.tolist() == [False, False, True]


def test_sides_of_one_language_are_not_told_apart(pairs):
    sources = [source for source, _ in pairs]
    source, target = trained(sources[::2], sources[1::2])
    assert not source.tells_sides_apart
    assert not source.classify(sources).other_side.any()
    assert not target.classify(["hello world, this is English"]).other_side.any()


@pytest.mark.parametrize("lines", [[""], ["", ""], ["a"] * 50])
def test_too_little_text_gives_no_labels(lines):
    source, _ = trained(lines, lines)
    labels = source.classify([*lines, "some other text that is long enough"])
    assert not labels.other_side.any()
    assert not labels.unusual.any()


@pytest.mark.parametrize(
    ("letter", "script"),
    [("a", "latin"), ("ß", "latin"), ("я", "cyrillic"), ("漢", "cjk"), ("か", "hiragana"), ("5", None), ("µ", None)],
)
def test_scripts(letter, script):
    assert script_of(letter) == script
