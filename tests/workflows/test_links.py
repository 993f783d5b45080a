"""What the verbs on links do, called from Python with a request."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.requests.alignment import AerRequest, DictionaryRequest, SymmetrizationRequest
from dragoman.workflows.links import compare_links, make_dictionary, symmetrize_files


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Two lines of text with links, and links of the other direction."""
    texts = {"source": "a b\nb c\n", "target": "A B\nB C\n", "links": "0-0 1-1\n0-0\n", "back": "0-0\n0-0 1-1\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return {name: str(tmp_path / name) for name in (*texts, "ours", "theirs")}


def test_links_of_two_files_agree_as_far_as_the_verb_says(
    files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    result, formats = compare_links(AerRequest(gold=files["links"], hypothesis=files["back"]))
    assert set(formats.values()) == {"pharaoh"}
    assert main(["aer", files["links"], files["back"]]) == 0
    assert capsys.readouterr().out.startswith(result.table())


def test_a_request_writes_what_the_verb_writes(files: dict[str, str]) -> None:
    ours, theirs = Path(files["ours"]), Path(files["theirs"])
    given = files["links"], files["back"]
    symmetrize_files(SymmetrizationRequest(forward=given[0], backward=given[1], symmetrize="union", output=str(ours)))
    assert main(["symmetrize", *given, "--symmetrize", "union", "-o", str(theirs)]) == 0
    assert ours.read_text() == theirs.read_text() == "0-0 1-1\n0-0 1-1\n"
    texts = files["source"], files["target"], files["links"]
    make_dictionary(DictionaryRequest(source=texts[0], target=texts[1], links=texts[2], min_count=1, output=str(ours)))
    assert main(["dictionary", *texts, "--min-count", "1", "-o", str(theirs)]) == 0
    assert ours.read_text() == theirs.read_text() == "a\tA\t1\nb\tB\t2\n"
