"""A command does not replace what it reads, and every module that opens files tells `inputs`."""

from __future__ import annotations

import ast
import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dragoman
from dragoman.alignment.dictionary import read_dictionary
from dragoman.alignment.formats import read_alignments
from dragoman.corpora.corpus import read_pairs
from dragoman.errors import ConfigError, InputError
from dragoman.evaluation.slices import read_ranks
from dragoman.inputs import inputs_protected, note_input_at, owning
from dragoman.scoring.nbest import read_nbest
from dragoman.scoring.phrases import read_table
from dragoman.stored_files import read_regular
from dragoman.text.folders import new_folder
from dragoman.text.lines import read_lines, write_lines
from dragoman.text.links import read_links
from dragoman.translation.glossary import read_glossary
from dragoman.tuning.feature_weights import read_weights
from dragoman.tuning.pool import read_references

REFUSED = "is both an input and an output, so it would be destroyed; give another file"
NAMES: dict[str, Callable[[Path, Path], object]] = {
    "symbolic link": lambda link, file: link.symlink_to(file),
    "hard link": lambda link, file: link.hardlink_to(file),
    "link to a link": lambda link, file: (
        file.with_name("between").symlink_to(file),
        link.symlink_to(file.with_name("between")),
    ),
}


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text("mine\n")
    return path


@pytest.fixture(params=[None, *NAMES])
def other(request: pytest.FixtureRequest, text: Path) -> Path:
    """The same file by another name."""
    if request.param is None:
        return text.parent / "." / "text"
    link = text.with_name("link")
    NAMES[request.param](link, text)
    return link


def test_a_file_that_was_read_is_not_replaced(text: Path, other: Path) -> None:
    before = sorted(os.listdir(text.parent))
    with inputs_protected([]):
        assert list(read_lines(text)) == ["mine"]
        with pytest.raises(ConfigError, match=REFUSED):
            write_lines(other, ["new"])
    assert text.read_text() == "mine\n"
    assert sorted(os.listdir(text.parent)) == before


def test_a_file_that_is_read_after_the_output_was_opened_is_not_replaced(text: Path, other: Path) -> None:
    with inputs_protected([]), pytest.raises(ConfigError, match=REFUSED):
        write_lines(other, read_lines(text))
    assert text.read_text() == "mine\n"


def test_a_file_that_is_to_be_written_is_not_read(text: Path, other: Path) -> None:
    with inputs_protected([str(other)]):
        for read in (lambda: list(read_lines(text)), lambda: read_regular(text)):
            with pytest.raises(ConfigError, match=REFUSED):
                read()


def test_an_output_whose_folder_does_not_exist_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    missing = pytest.raises(InputError, match="none/out: cannot be written: No such file or directory")
    with missing, inputs_protected([str(tmp_path / "none" / "out")]):
        pytest.fail("the command has begun")


def test_an_output_that_becomes_a_link_to_an_input_is_refused(text: Path) -> None:
    out = text.with_name("out")

    def lines() -> Iterator[str]:
        yield from read_lines(text)
        out.symlink_to(text)

    with inputs_protected([str(out)]), pytest.raises(ConfigError, match=REFUSED):
        write_lines(out, lines())
    assert text.read_text() == "mine\n"


def test_standard_input_is_an_input(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(text, "rb") as file:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
        with inputs_protected([str(text)]), pytest.raises(ConfigError, match=REFUSED):
            list(read_lines("-"))


def test_standard_input_is_one_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nA\nb\nB\n")))
    with inputs_protected([]), pytest.raises(ConfigError, match="standard input is read twice; give a file for all"):
        list(read_pairs([[Path("-"), Path("-")]]))


@pytest.mark.parametrize("names", [("-", "{}"), ("{}", "-"), ("{}", "{}")])
def test_a_pipe_is_one_input_under_all_its_names(monkeypatch: pytest.MonkeyPatch, names: tuple[str, str]) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"a\nA\n")
    os.close(writing)
    with open(reading) as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        files = [Path(name.format(f"/dev/fd/{reading}")) for name in names]
        refused = pytest.raises(ConfigError, match=f"{files[1]}: is a pipe that is read twice; give a file for all but")
        with inputs_protected([]), refused:
            list(read_pairs([files]))


@pytest.mark.parametrize(
    ("read", "content"),
    [
        (lambda: list(read_pairs([["-", os.devnull]])), "a"),
        (lambda: list(read_pairs([["-", "-.b"]])), ""),
        (lambda: list(read_links("-")), "x"),
        (lambda: read_alignments("-"), "x"),
        (lambda: read_alignments("-"), "1-1"),
        (lambda: list(read_table("-")), "x"),
        (lambda: list(read_nbest("-")), ""),
        (lambda: read_weights("-"), "x"),
        (lambda: read_dictionary("-"), "x"),
        (lambda: list(read_glossary("-")), "x"),
        (lambda: read_ranks("-"), ""),
        (lambda: read_references(["-", os.devnull]), "a"),
    ],
)
def test_messages_say_standard_input(
    read: Callable[[], object], content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-.b").touch()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    with pytest.raises(InputError) as found:
        read()
    assert str(found.value).startswith("standard input")


def test_a_pipe_that_is_only_looked_at_can_be_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with inputs_protected([]), open(pipe, "r+b", buffering=0) as writer:
        writer.write(b"a\n")
        note_input_at(pipe)
        note_input_at(pipe)
        assert next(read_lines(pipe)) == "a"


@pytest.mark.parametrize("second", ["./out", "link"])
def test_one_file_for_two_outputs_is_refused(tmp_path: Path, second: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("link").symlink_to("out")
    refused = pytest.raises(ConfigError, match=f"{second}: is given for two outputs; each needs a file of its own")
    with refused, inputs_protected(["out", second]):
        pass


def test_what_the_command_wrote_it_may_replace(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with inputs_protected([str(out)]):
        for text in ("first", "second"):
            write_lines(out, [text])
            assert list(read_lines(out)) == [text]


def test_another_file_with_the_number_of_a_removed_input_may_be_replaced(text: Path) -> None:
    out = text.with_name("out")
    with inputs_protected([]):
        list(read_lines(text))
        text.rename(out)  # the number stays with the file
        write_lines(out, ["new"])
    assert out.read_text() == "new\n"


def test_a_locked_folder_may_be_rewritten_but_not_onto_files_from_outside(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "state").write_text("old\n")
    (tmp_path / "text").write_text("mine\n")
    (folder / "linked").hardlink_to(tmp_path / "text")
    with inputs_protected([]):
        assert [list(read_lines(path)) for path in (folder / "state", tmp_path / "text")] == [["old"], ["mine"]]
        with pytest.raises(ConfigError, match=REFUSED):
            write_lines(folder / "state", ["new"])
        with owning(folder):
            write_lines(folder / "state", ["new"])
            with pytest.raises(ConfigError, match=REFUSED):
                write_lines(folder / "linked", ["new"])
        with pytest.raises(ConfigError, match=REFUSED):
            write_lines(folder / "linked", ["new"])
    assert (folder / "state").read_text() == "new\n"


@pytest.mark.parametrize("first", [False, True])
def test_a_folder_with_an_input_is_not_replaced(tmp_path: Path, first: bool) -> None:
    folder = tmp_path / "model"
    (folder / "text").mkdir(parents=True)
    (folder / "text" / "words").write_text("mine\n")
    with inputs_protected([]):
        if first:
            list(read_lines(folder / "text" / "words"))
        with pytest.raises(ConfigError, match=REFUSED), new_folder(folder, replace=True):
            list(read_lines(folder / "text" / "words"))
    assert (folder / "text" / "words").read_text() == "mine\n"


def test_a_program_may_read_and_replace_a_file(text: Path) -> None:
    write_lines(text, [line.upper() for line in read_lines(text)])
    assert text.read_text() == "MINE\n"


# The modules that open files ----------------------------------------------------------------------------------------

READERS = {"config.yaml_values", "stored_files", "text.lines"}
"""They open the files that users name for reading, and note them."""

WRITERS = {"text.lines", "text.temporary"}
"""They open the files that users name for writing, and ask first."""

OWN_FILES = {
    *("text.locks", "runs.exported"),  # a folder that is locked, a folder that is prepared
    *("training.log", "data.store_writer", "data.segment_journal"),  # in a run that is locked
    *("export.writing", "website.site", "website.runtime"),  # in a folder that is prepared, by `new_folder`
    "cluster.outputs",  # in a folder of outputs that is locked
    "text.journal",  # known by its head, such as TABLE2.scores
    "learning.log",  # the corrections of a folder of what was learnt
    *("reproduction.steps", "reproduction.corpus", "reproduction.reproduce"),  # in the folder of an experiment
    "workflows.smt_features",  # the text of runs, which were noted when they were opened
}
"""They open files of our own by our names."""

ELSEWHERE = {
    *("page.files", "config.presets", "report.page", "reproduction.experiment", "training.joining"),  # of the package
    *("model.fast.linear", "systems"),  # /proc and the like
    *("cli.shared.streams", "cluster.ray_pool", "data.processes", "serving.worker"),  # /dev/null, standard streams
    *("alignment.formats", "corpora.spreadsheets"),  # entries of an archive, which is opened by text.lines
}


def _opens_files(path: Path) -> bool:
    """Whether a module opens files without those of `READERS` and `WRITERS`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id == "open":
            return True
        if isinstance(node.func, ast.Attribute):
            modes = [word.value for word in node.args if isinstance(word, ast.Constant) and isinstance(word.value, str)]
            if node.func.attr == "open" and (modes or ast.unparse(node.func.value) == "os"):
                return True
            if node.func.attr in ("read_text", "read_bytes", "write_text", "write_bytes"):
                return ast.unparse(node.func.value) != "outputs"  # of the command line, not a path
    return False


def test_files_are_opened_where_inputs_are_told() -> None:
    package = Path(dragoman.__file__).parent
    found = {
        ".".join(path.relative_to(package).with_suffix("").parts)
        for path in package.rglob("*.py")
        if _opens_files(path)
    }
    known = READERS | WRITERS | OWN_FILES | ELSEWHERE
    assert found == known, "read with read_lines or open_regular, write with replace_file"
