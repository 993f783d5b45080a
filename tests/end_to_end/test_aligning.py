"""`dragoman align` and `symmetrize`, with all their options."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from dragoman.alignment.formats import read_alignments
from dragoman.cli.main import main
from dragoman.text.lines import read_lines
from dragoman.text.links import read_links

from .conftest import SMALL, Corpus

ONE_THREAD = ["--threads", "1", "--device", "cpu", "--quiet"]


@pytest.fixture(scope="module")
def reverse_run(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the other direction that has hardly learnt anything: its links differ from those of `run_folder`."""
    out = tmp_path_factory.mktemp("runs") / "reverse"
    text = ["--train", *map(str, corpus.train[::-1]), "--dev", *map(str, corpus.dev[::-1])]
    options = ["--preset", "demo", "--out", str(out), "--threads", "1", "--quiet"]
    assert main(["train", *options, *text, "--set", *SMALL, "training.epochs=1"]) == 0
    return out


@pytest.fixture
def files(corpus: Corpus) -> list[str]:
    return [str(path) for path in corpus.test]


def test_a_matrix_has_a_row_for_each_target_word_and_the_end_apart(
    run_folder: Path, files: list[str], tmp_path: Path
) -> None:
    out, matrix = tmp_path / "links", tmp_path / "weights.npz"
    assert main(["align", str(run_folder), *files, "-o", str(out), "--matrix", str(matrix), *ONE_THREAD]) == 0
    arrays = np.load(matrix)
    assert sorted(arrays.files) == sorted([str(n) for n in range(20)] + [f"{n}.eos" for n in range(20)])
    text = [Path(name).read_text(encoding="utf-8").splitlines() for name in files]
    for number, links in enumerate(read_links(out)):
        weights, end = arrays[str(number)], arrays[f"{number}.eos"]
        assert weights.shape == (len(text[1][number].split()), len(text[0][number].split()))
        np.testing.assert_allclose(weights.sum(axis=1) + end, 1, atol=1e-5)
        assert [(int(source), target) for target, source in enumerate(weights.argmax(axis=1))] == sorted(
            links, key=lambda link: link[1]
        )


def test_links_lie_within_words_separated_by_spaces_and_tabs(run_folder: Path, tmp_path: Path) -> None:
    draw = random.Random(1)
    spaces = [chr(code) for code in range(0x110000) if chr(code).isspace() and chr(code) not in "\n\r"]

    def line() -> str:
        """Letters that the model knows, between spaces of all kinds and characters of all planes."""
        return "".join(
            draw.choice("abcdef")
            if draw.random() < 0.5
            else draw.choice([*spaces, " ", " ", "\t", any_character(draw)])
            for _ in range(draw.randint(0, 12))
        )

    files = [tmp_path / "source", tmp_path / "target"]
    for path in files:
        path.write_text("".join(f"{line()}\n" for _ in range(150)), encoding="utf-8")
    translated, links, aligned = tmp_path / "translated", tmp_path / "links", tmp_path / "aligned"
    options = [*ONE_THREAD, "-o"]
    translate = ["translate", str(run_folder), "-i", str(files[0]), "--beam", "1", "--alignments", str(links)]
    assert main([*translate, *options, str(translated)]) == 0
    assert main(["align", str(run_folder), *map(str, files), *options, str(aligned)]) == 0
    linked = 0
    for pharaoh, target in ((links, translated), (aligned, files[1])):
        for source_line, target_line, found in zip(
            read_lines(files[0]), read_lines(target), read_links(pharaoh), strict=True
        ):
            counts = [len(re.findall("[^ \t]+", text)) for text in (source_line, target_line)]
            assert all(i < counts[0] and j < counts[1] for i, j in found), (source_line, target_line, found)
            linked += len(found)
    assert linked > 300
    assert main(["dictionary", *map(str, files), str(aligned), "--min-count", "1", "-o", str(tmp_path / "words")]) == 0


def any_character(draw: random.Random) -> str:
    """A character of any plane but "\\n", "\\r" and surrogates."""
    code = draw.choice([draw.randrange(0x20, 0xD800), draw.randrange(0xE000, 0x110000)])
    return chr(code)


def test_a_threshold_links_all_weights_from_there_on(run_folder: Path, files: list[str], tmp_path: Path) -> None:
    out, matrix = tmp_path / "links", tmp_path / "weights.npz"
    options = ["-o", str(out), "--matrix", str(matrix), "--threshold", "0.02", *ONE_THREAD]
    assert main(["align", str(run_folder), *files, *options]) == 0
    arrays = np.load(matrix)
    found = list(read_links(out))
    for number, links in enumerate(found):
        targets, sources = np.nonzero(arrays[str(number)] >= 0.02)
        assert links == sorted(zip(sources.tolist(), targets.tolist(), strict=True))
    words = sum(len(line.split()) for line in Path(files[1]).read_text(encoding="utf-8").splitlines())
    assert sum(map(len, found)) > words


@pytest.mark.parametrize("options", [["--format", "naacl"], ["--format", "talp"], ["--one-based"]])
def test_every_format_says_the_same(options: list[str], run_folder: Path, files: list[str], tmp_path: Path) -> None:
    plain, out = tmp_path / "plain", tmp_path / "links"
    assert main(["align", str(run_folder), *files, "-o", str(plain), *ONE_THREAD]) == 0
    assert main(["align", str(run_folder), *files, "-o", str(out), *options, *ONE_THREAD]) == 0
    assert plain.read_bytes() != out.read_bytes()
    found = read_alignments(out, one_based=True)
    assert found.format == ("naacl" if "naacl" in options else "talp")
    assert [sorted(marked.sure) for marked in found.sentences] == list(read_links(plain))


@pytest.mark.parametrize("method", [None, "intersection", "union", "grow-diag", "grow-diag-final"])
def test_two_runs_are_joined_as_their_two_files_are(
    method: str | None, run_folder: Path, reverse_run: Path, files: list[str], tmp_path: Path
) -> None:
    ahead, back, both, joined = (tmp_path / name for name in ("ahead", "back", "both", "joined"))
    assert main(["align", str(run_folder), *files, "-o", str(ahead), *ONE_THREAD]) == 0
    assert main(["align", str(reverse_run), *files[::-1], "-o", str(back), *ONE_THREAD]) == 0
    how = [] if method is None else ["--symmetrize", method]
    assert (
        main(["align", str(run_folder), *files, "--reverse", str(reverse_run), *how, "-o", str(both), *ONE_THREAD]) == 0
    )
    how = [] if method is None else ["--symmetrize", method]
    assert main(["symmetrize", str(ahead), str(back), "--swapped", *how, "-o", str(joined), "--quiet"]) == 0
    assert list(read_links(both)) == list(read_links(joined))
    assert ahead.read_bytes() != joined.read_bytes()


def test_symmetrize_joins_lines_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ahead, back = tmp_path / "ahead", tmp_path / "back"
    ahead.write_text("0-0 1-1\n\n0-0 0-1\n", encoding="utf-8")
    back.write_text("0-0\n0-0\n0-0\n", encoding="utf-8")
    assert main(["symmetrize", str(ahead), str(back), "--symmetrize", "intersection"]) == 0
    assert capsys.readouterr().out == "0-0\n\n0-0\n"
    assert main(["symmetrize", str(ahead), str(back)]) == 0
    assert capsys.readouterr().out == "0-0 1-1\n0-0\n0-0 0-1\n"


def test_symmetrize_refuses_files_of_unequal_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ahead, back = tmp_path / "ahead", tmp_path / "back"
    ahead.write_text("0-0\n0-0\n", encoding="utf-8")
    back.write_text("0-0\n", encoding="utf-8")
    assert main(["symmetrize", str(ahead), str(back)]) == 2
    assert f"{back}: ends after line 1, but the other file goes on" in capsys.readouterr().err


def test_symmetrizing_needs_a_second_run(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["align", "run", *files, "--symmetrize", "union"]) == 2
    assert "give it with --reverse RUN2" in capsys.readouterr().err


# Statistical aligners ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("aligner", ["ibm1", "ibm2", "hmm", "fast-align", "eflomal"])
def test_every_statistical_aligner_learns_a_corpus_of_one_to_one_words(
    aligner: str, corpus: Corpus, tmp_path: Path, files: list[str]
) -> None:
    pytest.importorskip("thot", reason="needs the extra `align`")
    out, text = tmp_path / "links", [str(path) for path in corpus.train]
    assert main(["align", *files, "--aligner", aligner, "--train", *text, "-o", str(out), "--quiet"]) == 0
    found = list(read_links(out))
    words = [len(line.split()) for line in Path(files[0]).read_text(encoding="utf-8").splitlines()]
    right = sum(len({(i, i) for i in range(count)} & set(links)) for count, links in zip(words, found, strict=True))
    assert all(len({target for _, target in links}) == len(links) for links in found)
    assert right > 0.85 * sum(words)


def test_both_directions_of_a_statistical_aligner_are_joined(tmp_path: Path, corpus: Corpus) -> None:
    pytest.importorskip("thot", reason="needs the extra `align`")
    files = [str(path) for path in corpus.train]
    names = {name: tmp_path / name for name in ("ahead", "back", "both", "joined")}
    for pair, name in ((files, "ahead"), (files[::-1], "back")):
        assert main(["align", *pair, "--aligner", "ibm1", "-o", str(names[name]), "--quiet"]) == 0
    how = ["--aligner", "ibm1", "--symmetrize", "union", "-o", str(names["both"]), "--quiet"]
    assert main(["align", *files, *how]) == 0
    join = ["--swapped", "--symmetrize", "union", "-o", str(names["joined"])]
    assert main(["symmetrize", str(names["ahead"]), str(names["back"]), *join]) == 0
    assert names["both"].read_bytes() == names["joined"].read_bytes()


def test_the_word_null_is_a_word_like_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("thot", reason="needs the extra `align`")
    (tmp_path / "pairs.tsv").write_text("a NULL\tA NULL\na b\tA B\nNULL\tNULL\n", encoding="utf-8")
    assert main(["align", str(tmp_path / "pairs.tsv"), "--aligner", "ibm1", "--quiet"]) == 0
    assert capsys.readouterr().out == "0-0 1-1\n0-0 1-1\n0-0\n"


def test_a_statistical_aligner_keeps_blank_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("thot", reason="needs the extra `align`")
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a b\tA B\n\tA\na\tA\nb\tB\n\t\n", encoding="utf-8")
    empty = tmp_path / "empty.tsv"
    empty.write_text("\t\n", encoding="utf-8")
    for path, expected in ((pairs, "0-0 1-1\n\n0-0\n0-0\n\n"), (empty, "\n")):
        source, target = tmp_path / "s", tmp_path / "t"
        lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
        source.write_text("".join(f"{line[0]}\n" for line in lines), encoding="utf-8")
        target.write_text("".join(f"{line[1]}\n" for line in lines), encoding="utf-8")
        for files in ([source, target], [path]):
            assert main(["align", *map(str, files), "--aligner", "hmm", "--quiet"]) == 0
            assert capsys.readouterr().out == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--aligner", "hmm", "--threshold", "0.5"], "--threshold has no effect with --aligner"),
        (["--aligner", "hmm", "--reverse", "R"], "--reverse has no effect with --aligner"),
        (["--train", "a", "b"], "--train requires a statistical aligner; choose one with --aligner"),
    ],
)
def test_options_of_the_other_way_are_refused(
    options: list[str], message: str, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["align", *files, *options]) == 2
    assert message in capsys.readouterr().err


def test_a_missing_aligner_is_named(
    files: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "thot", None)
    monkeypatch.delitem(sys.modules, "dragoman.alignment.statistical", raising=False)
    assert main(["align", *files, "--aligner", "hmm"]) == 2
    assert "--aligner needs sil-thot, which is not installed; pip install 'dragoman[align]'" in capsys.readouterr().err


def test_characters_and_segments_are_linked_in_place_of_words(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs, tokens = tmp_path / "pairs.tsv", tmp_path / "tokens"
    pairs.write_text("ab c\tAB C\n\tA\nfe\tFE\n", encoding="utf-8")
    cases = {
        "characters": (["ab c\tAB C", "\tA", "fe\tFE"], ["0-0 1-1", "", "0-0"]),  # Latin letters keep their words
        "segments": (["a b ▁ c\tA B ▁ C", "\tA", "f e\tF E"], ["0-0 1-1 2-2 3-3", "", "0-0 1-1"]),
    }
    for unit, (expected, links) in cases.items():
        assert (
            main(["align", str(run_folder), str(pairs), f"--{unit}", "--write-tokens", str(tokens), *ONE_THREAD]) == 0
        )
        assert tokens.read_text(encoding="utf-8").splitlines() == expected
        assert capsys.readouterr().out.splitlines() == links  # the model copies


def test_characters_divide_each_side_by_its_own_script(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs, tokens = tmp_path / "pairs.tsv", tmp_path / "tokens"
    pairs.write_text("彼らはabc。\tAB C\nAB\t犬だ 猫\n", encoding="utf-8")
    assert main(["align", str(run_folder), str(pairs), "--characters", "--write-tokens", str(tokens), *ONE_THREAD]) == 0
    assert tokens.read_text(encoding="utf-8").splitlines() == ["彼 ら は abc。\tAB C", "AB\t犬 だ 猫"]
    links = [
        [tuple(map(int, link.split("-"))) for link in line.split()] for line in capsys.readouterr().out.splitlines()
    ]
    assert [target for _, target in links[0]] == [0, 1]  # one link for each target word
    assert links[1] == [(0, 0), (0, 1), (0, 2)]


def test_words_may_end_at_any_unicode_space(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs, tokens = tmp_path / "pairs.tsv", tmp_path / "tokens"
    pairs.write_text("ab\xa0c\u3000d e\tAB C D E\n", encoding="utf-8")
    given = ["align", str(run_folder), str(pairs), "--write-tokens", str(tokens), *ONE_THREAD]
    for more, source, last in (([], "ab\xa0c\u3000d e", 1), (["--unicode-spaces"], "ab c d e", 3)):
        assert main([*given, *more]) == 0
        assert tokens.read_text(encoding="utf-8") == f"{source}\tAB C D E\n"
        links = capsys.readouterr().out.split()
        assert max(int(link.split("-")[0]) for link in links) <= last
        assert [int(link.split("-")[1]) for link in links] == [0, 1, 2, 3]
    assert main([*given, "--unicode-spaces", "--segments"]) == 2
    assert "--segments: not allowed with argument --unicode-spaces" in capsys.readouterr().err


def test_a_statistical_aligner_links_characters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("thot")
    source, target, tokens = tmp_path / "s", tmp_path / "t", tmp_path / "tokens"
    source.write_text("犬\n犬 猫\n猫\n" * 5, encoding="utf-8")
    target.write_text("dog\ndog cat\ncat\n" * 5, encoding="utf-8")
    options = ["--aligner", "ibm1", "--characters", "--write-tokens", str(tokens), "--quiet"]
    assert main(["align", str(source), str(target), *options]) == 0
    assert tokens.read_text(encoding="utf-8").splitlines()[1] == "犬 猫\tdog cat"
    assert len(capsys.readouterr().out.splitlines()) == 15


UNSEGMENTED = ("道元は鎌倉時代の初期の禅僧である。", "曹洞宗の開祖とされる人物である。")


def test_lines_that_are_one_word_are_warned_of(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target, links = tmp_path / "s", tmp_path / "t", tmp_path / "links"
    source.write_text("".join(f"{line}\n" for line in UNSEGMENTED), encoding="utf-8")
    target.write_text("A B\nC D\n", encoding="utf-8")
    links.write_text("0-0 0-1\n0-0\n", encoding="utf-8")
    warning = "the source lines have no spaces between words, so a word of an alignment is a whole phrase or line; "
    threads = ONE_THREAD[:-1]
    for command, advice in (
        (["align", str(run_folder), str(source), str(target), *threads], "--segments or --characters links smaller"),
        (["translate", str(run_folder), "-i", str(source), "--alignments", str(tmp_path / "out"), *threads],
         "`dragoman align --segments` or --characters"),
        (["dictionary", str(source), str(target), str(links)], "segment the text before it is aligned"),
    ):  # fmt: skip
        assert main(command) == 0
        printed = capsys.readouterr().err
        assert printed.count(warning + advice) == 1, command
    assert main(["align", str(run_folder), str(source), str(target), "--characters", *threads]) == 0
    assert capsys.readouterr().err == ""


def test_segments_need_one_model(run_folder: Path, files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for options, message in (
        (["--reverse", str(run_folder)], "--segments has no meaning with --reverse"),
        (["--aligner", "ibm1"], "--segments has no effect with --aligner ibm1"),
    ):
        assert main(["align", str(run_folder), *files, "--segments", *options]) == 2
        assert message in capsys.readouterr().err


def test_an_empty_dictionary_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / name for name in ("source", "target", "links")]
    for path, line in zip(paths, ("der Hund", "the dog", "0-0 1-1"), strict=True):
        path.write_text(f"{line}\n" * 3)
    command = ["dictionary", *map(str, paths), "-o", str(tmp_path / "words")]
    assert main(command) == 0
    said = capsys.readouterr().err
    assert said == "dictionary: 2 source words, of pairs with 1 or more links in 3 lines\n"
    assert (tmp_path / "words").read_text() == "Hund\tdog\t3\nder\tthe\t3\n"
    assert main([*command, "--min-count", "4"]) == 0
    said = capsys.readouterr().err
    assert "the dictionary is empty: the most frequent pair of words has 3 of 4 links; lower --min-count" in said
    paths[2].write_text("\n" * 3)
    assert main(command) == 0
    assert "the dictionary is empty: the most frequent pair of words has 0 of 1 links; the" in capsys.readouterr().err
