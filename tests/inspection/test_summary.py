"""What a run keeps of the inspection of its text."""

import pytest

from dragoman.errors import RunError
from dragoman.inspection import summary
from dragoman.inspection.summary import load_summary, save_summary, summarise


@pytest.fixture
def files(tmp_path):
    def write(name: str, lines: list[str]):
        paths = tmp_path / f"{name}.a", tmp_path / f"{name}.b"
        for path in paths:
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return paths

    return write


def test_figures_and_advice_come_back_as_they_were(files, tmp_path):
    found = summarise([files("train", ["one two three four", "five six"])], [files("dev", ["one two three four", "x"])])
    assert found.facts["Inspected"] == "all 2 pairs"
    assert found.facts["Findings"] == "copied 2"
    assert any(sentence.startswith("dev: 1 of 2 pairs") for sentence in found.advice)
    path = tmp_path / "inspection.json"
    assert load_summary(path) is None
    save_summary(path, found)
    loaded = load_summary(path)
    assert loaded is not None
    assert (loaded.facts, loaded.advice) == (found.facts, found.advice)


def test_of_several_dev_sets_each_has_its_name(files):
    dev = [files("one", ["seven eight nine ten"]), files("two", ["one two three four"])]
    advice = summarise([files("train", ["one two three four", "five six"])], dev).advice
    assert any(sentence.startswith("dev 2: 1 of 1 pair") for sentence in advice)
    assert not any(sentence.startswith("dev 1") for sentence in advice)


def test_only_the_beginning_of_a_large_text_is_inspected(files, monkeypatch):
    monkeypatch.setattr(summary, "INSPECTED", 3)
    found = summarise([files("train", ["a b", "c d", "e f", "g h"])], [])
    assert found.facts["Inspected"] == "the first 3 pairs"


@pytest.mark.parametrize("text", ["{", "[]", '{"facts": 1}', '{"facts": [], "advice": []}'])
def test_a_damaged_file_is_named(tmp_path, text):
    path = tmp_path / "inspection.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RunError, match=rf"{path}: is damaged: .*; delete it"):
        load_summary(path)
