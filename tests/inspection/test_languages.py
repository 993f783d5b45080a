"""Lines that do not look like their side."""

import numpy as np
import pytest

from dragoman.inspection.languages import SideCounts, judges, script_of


def learnt(sources, targets):
    counts = SideCounts(), SideCounts()
    counts[0].add(sources)
    counts[1].add(targets)
    return judges(counts, (sources, targets))


def test_lines_of_the_other_side_are_recognised(pairs):
    sources, targets = map(list, zip(*pairs, strict=True))
    sources[7], targets[7] = targets[7], sources[7]
    sources[30] = targets[30]
    source, target = learnt(sources, targets)
    assert source.tells_sides_apart
    assert np.flatnonzero(source.judge(sources).others).tolist() == [7, 30]
    assert np.flatnonzero(target.judge(targets).others).tolist() == [7]


def test_a_line_is_judged_alike_in_any_company(pairs):
    sources, targets = map(list, zip(*pairs, strict=True))
    sources[3:3] = ["", "x", targets[0]]
    sources[20] += "\nkotari"  # JSON lines can hold a line end
    source, _ = learnt(sources, targets)
    together = source.judge(sources)
    alone = [source.judge([line]) for line in sources]
    for name in ("others", "unusual", "strange_script"):
        assert getattr(together, name).tolist() == [bool(getattr(one, name)[0]) for one in alone]
    assert np.flatnonzero(together.others).tolist() == [5]


def test_a_third_language_is_unusual(pairs):
    sources, targets = map(list, zip(*pairs, strict=True))
    sources[9] = "zugluft zebu xylem quux mum buzz jump jugs vex dumb fjord pygmy nymph"
    source, _ = learnt(sources, targets)
    judged = source.judge(sources)
    assert np.flatnonzero(judged.unusual).tolist() == [9]
    assert not judged.others.any()


def test_another_script_is_recognised(pairs):
    sources, targets = map(list, zip(*pairs, strict=True))
    sources[9] = "Привет, как дела kotari"
    sources[10] += " (σ)"
    source, _ = learnt(sources, targets)
    assert np.flatnonzero(source.judge(sources).strange_script).tolist() == [9]


def test_scripts_that_are_written_together_are_not_strange_to_each_other(pairs):
    japanese = ["これはほんです、それもほんです"] * 300
    lines = ["コンサートホールレストラン", "日本国憲法前文", "한국어를 배우고 있어요"]
    source, _ = learnt([*japanese, *lines], [target for _, target in pairs])
    assert source.judge(lines).strange_script.tolist() == [False, False, True]


def test_sides_of_one_language_are_not_told_apart(pairs):
    sources = [source for source, _ in pairs]
    source, target = learnt(sources[::2], sources[1::2])
    assert not source.tells_sides_apart
    assert not source.judge(sources).others.any()
    assert not target.judge(["hello world, this is English"]).others.any()


@pytest.mark.parametrize("lines", [[""], ["", ""], ["a"] * 50])
def test_too_little_text_says_nothing(lines):
    source, _ = learnt(lines, lines)
    judged = source.judge([*lines, "some other text that is long enough"])
    assert not judged.others.any()
    assert not judged.unusual.any()


@pytest.mark.parametrize(
    ("letter", "script"),
    [("a", "latin"), ("ß", "latin"), ("я", "cyrillic"), ("漢", "cjk"), ("か", "hiragana"), ("5", None), ("µ", None)],
)
def test_scripts(letter, script):
    assert script_of(letter) == script
