from __future__ import annotations

import io
import json
import math
import sys
from pathlib import Path

import pytest

from dragoman.alignment.aer import agreement
from dragoman.alignment.formats import MarkedLinks, read_alignments
from dragoman.cli.main import main
from dragoman.errors import InputError

PUBLISHED = [
    # Figures of the aligners' authors, in points; precision and recall were computed by others from the same files.
    ("align-en-fr-hansards", "enfr.gold", "enfr.awesome-align", 0.9627, 0.9542, 4.1),
    ("align-en-fr-hansards", "enfr.gold", "enfr.cross-align", 0.9737, 0.9559, 3.4),
    ("align-de-en-rwth", "deen.gold", "deen.cross-align", 0.9195, 0.8148, 13.6),
    ("align-zh-en-tsinghua", "zhen.gold", "zhen.awesome-align", 0.8668, 0.8670, 13.4),
    ("align-zh-en-tsinghua", "zhen.cross-align.gold", "zhen.cross-align", 0.8906, 0.9080, 10.1),
    ("align-ja-en-kftt", "jaen.gold", "jaen.awesome-align", 0.7274, 0.5501, 37.4),
    ("align-ja-en-kftt", "jaen.cross-align.gold", "jaen.cross-align", 0.8100, 0.5372, 35.4),
]


def all_sure(*links: tuple[int, int]) -> MarkedLinks:
    return MarkedLinks(frozenset(links), frozenset(links))


def test_partly_correct_links() -> None:
    # the figure is NLTK's
    result = agreement([all_sure((0, 0), (1, 1), (2, 2))], [[(0, 0), (1, 2), (2, 1)]])
    assert result.aer == pytest.approx(0.6667, abs=5e-5)
    assert result.precision == result.recall == result.f == pytest.approx(1 / 3)


def test_possible_links_help_precision_and_never_recall() -> None:
    gold = MarkedLinks(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1), (1, 2), (2, 1)}))
    result = agreement([gold], [[(0, 0), (1, 2), (5, 5)]])
    assert (result.links, result.sure, result.possible, result.links_sure, result.links_possible) == (3, 2, 4, 1, 2)
    assert result.precision == pytest.approx(2 / 3)
    assert result.recall == pytest.approx(1 / 2)
    assert result.f == pytest.approx(4 / 7)
    assert result.aer == pytest.approx(1 - (1 + 2) / (3 + 2))


def test_possible_links_with_all_sure_links_have_aer_0() -> None:
    gold = MarkedLinks(frozenset({(0, 0)}), frozenset({(0, 0), (1, 1)}))
    assert agreement([gold], [[(0, 0)]]).aer == 0
    assert agreement([gold], [[(0, 0), (1, 1)]]).aer == 0


def test_counts_are_summed_before_the_measures_are_computed() -> None:
    gold = [all_sure((0, 0)), all_sure((0, 0), (1, 1), (2, 2))]
    result = agreement(gold, [[], [(0, 0), (1, 1), (2, 2)]])
    assert result.recall == pytest.approx(3 / 4)
    assert result.precision == 1
    assert result.aer == pytest.approx(1 / 7)


def test_a_repeated_link_counts_once() -> None:
    assert agreement([all_sure((0, 0))], [[(0, 0), (0, 0)]]).precision == 1


def test_a_measure_without_counts_is_nan() -> None:
    result = agreement([all_sure((0, 0))], [[]])
    assert math.isnan(result.precision)
    assert (result.recall, result.aer) == (0, 1)
    assert result.to_json()["precision"] is None
    assert "precision" in result.table()
    assert "nan" not in result.table()
    assert math.isnan(agreement([all_sure()], [[]]).aer)


@pytest.mark.parametrize(("gold", "found", "message"), [(2, 1, "2 sentences of gold"), (0, 0, "nothing to compare")])
def test_unequal_numbers_of_sentences_are_an_error(gold: int, found: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        agreement([all_sure()] * gold, [[]] * found)


@pytest.mark.parametrize(("folder", "gold", "system", "precision", "recall", "aer"), PUBLISHED)
def test_published_figures_are_reproduced(
    folder: str, gold: str, system: str, precision: float, recall: float, aer: float,
    shared_data: Path, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    files = [str(shared_data / folder / f"{gold}.xz"), str(shared_data / folder / f"{system}.out.xz")]
    assert main(["aer", *files, "--one-based", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["precision"] == pytest.approx(precision, abs=5e-5)
    assert figures["recall"] == pytest.approx(recall, abs=5e-5)
    assert 100 * figures["aer"] == pytest.approx(aer, abs=0.1)


def test_one_gold_alignment_in_two_formats_is_the_same(shared_data: Path) -> None:
    folder = shared_data / "align-en-fr-hansards"
    naacl, talp = read_alignments(folder / "test.en-fr.naacl.xz"), read_alignments(folder / "enfr.gold.xz", "talp")
    assert naacl.format == "naacl"
    assert naacl.sentences == talp.sentences
    assert (len(naacl.sentences), sum(len(marked.sure) for marked in naacl.sentences)) == (447, 4038)


# The command ---------------------------------------------------------------------------------------------------------


def test_the_command_prints_measures_and_detected_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold, found = tmp_path / "gold", tmp_path / "found"
    gold.write_text("1 1 1 S\n1 2 2 P\n2 1 1 S\n", encoding="utf-8")
    found.write_text("0-0 1-1\n0-1\n\n", encoding="utf-8")  # the third sentence has no gold link
    assert main(["aer", str(gold), str(found)]) == 0
    printed = capsys.readouterr()
    lines = [line.split() for line in printed.out.splitlines()]
    assert ["AER", "0.4000"] in lines
    assert ["precision", "0.6667"] in lines
    assert ["recall", "0.5000"] in lines
    assert ["sentences", "3"] in lines
    assert printed.out.endswith("gold naacl, hypothesis pharaoh\n")
    assert printed.err == ""


@pytest.mark.parametrize(
    ("gold", "options", "message"),
    [
        ("1-1\n", [], "no link has word 0, so words may be counted from 0 or from 1; give its format (--gold-format"),
        ("0-0\n", ["--gold-format", "talp"], ":1: has word 0, but Talp counts words from 1; pharaoh counts from 0"),
        ("1-1 x\n", [], ":1: 'x' is not an alignment link"),
        ("1 1 1 S\n1 1\n", [], ":2: '1 1' is not a NAACL link"),
        ("0 1 1 S\n", [], ":1: sentence 0; the NAACL format counts sentences from 1"),
        ("0-0\n0-0\n", [], "2 sentences of gold alignments cannot be compared with 1 of the hypothesis"),
    ],
)
def test_an_unreadable_file_gives_one_line_and_exit_code_2(
    gold: str, options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gold").write_text(gold, encoding="utf-8")
    (tmp_path / "found").write_text("0-0\n", encoding="utf-8")
    assert main(["aer", str(tmp_path / "gold"), str(tmp_path / "found"), *options]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert (printed.out, printed.err.count("\n")) == ("", 1)


def test_two_files_cannot_both_be_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb in "aer", "symmetrize":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"0-0\n0-0\n")))
        assert main([verb, "-", "-"]) == 2
        printed = capsys.readouterr()
        assert (printed.out, "standard input is read twice" in printed.err) == ("", True)
