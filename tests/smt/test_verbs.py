"""`dragoman smt`: from parallel text to tuned translations, on a language whose colours follow their nouns."""

from __future__ import annotations

import errno

import numpy as np
import pytest

from dragoman.cli.main import main
from dragoman.scoring.nbest import by_sentence, read_nbest
from dragoman.scoring.phrases import PhrasesOfText, read_table
from dragoman.smt.arpa import read_arpa
from dragoman.text.lines import read_lines, write_lines
from dragoman.text.links import read_links
from dragoman.tuning.feature_weights import read_weights

NOUNS = {"dog": "hund", "cat": "katze", "house": "haus", "tree": "baum", "car": "auto"}
COLOURS = {"red": "rot", "blue": "blau", "green": "gruen"}
WIDE = ("--stack", 300, "--pop-limit", 1000, "--threshold", 20)
VERBS = {"sees": "sieht", "likes": "mag"}


def sentences(count, seed):
    """(source, target, links) each: the source has a noun before its colour, the target behind it."""
    random = np.random.default_rng(seed)

    def phrase():
        noun, colour = random.choice(list(NOUNS)), random.choice([*COLOURS, ""])
        target = [noun] if not colour else [colour, noun]
        return [NOUNS[noun], *([COLOURS[colour]] if colour else [])], target

    for _ in range(count):
        (subject, one), verb, (object_, other) = phrase(), random.choice(list(VERBS)), phrase()
        source, target = [*subject, VERBS[verb], *object_], [*one, verb, *other]
        links = [(i, target.index(word)) for i, word in ((len(subject), verb),)]
        for words, start in ((subject, 0), (object_, len(subject) + 1)):
            links += [(start + i, start + len(words) - 1 - i) for i in range(len(words))]
        yield " ".join(source), " ".join(target), " ".join(f"{i}-{j}" for i, j in links)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("text")
    for name, count, seed in (("train", 200, 1), ("dev", 20, 2), ("test", 20, 3)):
        columns = list(zip(*sentences(count, seed), strict=True))
        for ending, lines in zip(("de", "en", "align"), columns, strict=True):
            write_lines(path / f"{name}.{ending}", lines)
    words = ["--train", str(path / "train.de"), str(path / "train.en"), "--alignments", str(path / "train.align")]
    assert main(["smt", "train", *words, "--out", str(path / "system"), "--order", "3", "--quiet"]) == 0
    return path


def smt(verb, folder, *more):
    return main(["smt", verb, str(folder / "system"), *map(str, more), "--quiet"])


def test_training_writes_the_files_of_moses(folder):
    assert {path.name for path in (folder / "system").iterdir()} == {
        "moses.ini",
        "phrase-table.gz",
        "reordering-table.wbe-msd-bidirectional-fe.gz",
        "lm.arpa",
        "aligned.txt",
    }
    rows = list(read_lines(folder / "system" / "phrase-table.gz"))
    assert any(row.startswith("haus rot ||| red house ||| 1 1 1 1 ||| 1-0 0-1 ||| ") for row in rows)
    assert [row.split(" ||| ")[:2] for row in rows] == [
        row.split(" ||| ")[:2] for row in read_lines(folder / "system" / "reordering-table.wbe-msd-bidirectional-fe.gz")
    ]
    assert list(read_links(folder / "system" / "aligned.txt")) == list(map(sorted, read_links(folder / "train.align")))


def test_an_aligner_finds_most_links(folder, tmp_path):
    words = ["--train", str(folder / "train.de"), str(folder / "train.en"), "--out", str(tmp_path / "new" / "system")]
    assert main(["smt", "train", *words, "--aligner", "hmm", "--symmetrize", "intersection", "--quiet"]) == 0
    both = zip(read_links(tmp_path / "new" / "system" / "aligned.txt"), read_links(folder / "train.align"), strict=True)
    right = [set(links) & set(given) == set(links) for links, given in both]
    assert sum(right) > 150


def test_lines_are_translated_with_their_links(folder, tmp_path):
    out, links = tmp_path / "out", tmp_path / "links"
    write_lines(tmp_path / "in", [*read_lines(folder / "test.de"), "", "hund  mag oma"])
    assert smt("translate", folder, "-i", tmp_path / "in", "-o", out, "--alignments", links) == 0
    assert list(read_lines(out)) == [*read_lines(folder / "test.en"), "", "dog likes oma"]
    assert list(read_links(links)) == [*map(sorted, read_links(folder / "test.align")), [], [(0, 0), (1, 1), (2, 2)]]


def test_lists_are_what_the_other_verbs_read_and_totals_are_linear_in_what_is_printed(folder, tmp_path):
    lists, out = tmp_path / "test.nbest.gz", tmp_path / "out"
    assert smt("nbest", folder, "-i", folder / "test.de", "-o", lists, "--nbest", 20, *WIDE) == 0
    weights = read_weights(folder / "system" / "moses.ini")
    entries = list(by_sentence(read_nbest(lists)))
    assert len(entries) == 20
    for one in entries:
        assert len(one) == 20
        totals = [entry.total for entry in one]
        assert totals == sorted(totals, reverse=True)
        for entry in one:
            assert list(entry.features) == list(weights) or entry.features.keys() == weights.keys()
            expected = sum(w * v for name in weights for w, v in zip(weights[name], entry.features[name], strict=True))
            assert entry.total == pytest.approx(expected, rel=1e-8)
    assert main(["rerank", str(lists), "-o", str(out)]) == 0
    assert list(read_lines(out)) == list(read_lines(folder / "test.en"))
    needed = ["--reference", str(folder / "test.en"), "--runs", "1", "--quiet"]
    assert main(["tune", str(lists), *needed, "-o", str(tmp_path / "weights")]) == 0
    more = ("--feature-weights", tmp_path / "weights")
    assert smt("translate", folder, "-i", folder / "test.de", "-o", out, *more) == 0
    assert list(read_lines(out)) == list(read_lines(folder / "test.en"))


def test_distinct_lists_and_links_as_a_column(folder, tmp_path):
    lists, plain = tmp_path / "list", tmp_path / "plain"
    assert smt("nbest", folder, "-i", folder / "test.de", "-o", lists, "--distinct", "--with-alignments", *WIDE) == 0
    assert smt("nbest", folder, "-i", folder / "test.de", "-o", plain, "--nbest", 1, *WIDE) == 0
    for one, (best,), links in zip(
        by_sentence(read_nbest(lists)), by_sentence(read_nbest(plain)), read_lines(folder / "test.align"), strict=True
    ):
        texts = [entry.text for entry in one]
        assert 1 < len(texts) == len(set(texts)) <= 100
        assert (one[0].text, one[0].features, one[0].total) == (best.text, best.features, best.total)
        assert sorted(one[0].fields[4].split()) == sorted(links.split())


RESERVED = ("|", "hund|N|x", "|||", "x|||y", "[X]", "[NP]", "[]", "[a|b]", "<s>", "</s>", "<unk>", "<UNK>")
"""Words with a meaning in Moses or in language models."""
PLAIN = ("[", "]", "[x", "x]", "<b>", "&amp;", "&apos;s", "&#91;", "&lt;")
"""Words without, two of them as escape-special-chars.perl writes them."""


@pytest.fixture(scope="module")
def reserved(tmp_path_factory):
    """Text of such words, twice a line and all in one, and a system that copies it."""
    path = tmp_path_factory.mktemp("reserved")
    words = [*RESERVED, *PLAIN]
    lines = [*([word, word] for word in words), words]
    write_lines(path / "in", map(" ".join, lines))
    write_lines(path / "links", (" ".join(f"{i}-{i}" for i in range(len(line))) for line in lines))
    text = ["--train", str(path / "in"), str(path / "in"), "--alignments", str(path / "links")]
    more = ["--monolingual", str(path / "in"), "--order", "2", "--max-phrase-length", "1"]
    assert main(["smt", "train", *text, *more, "--out", str(path / "system"), "--quiet"]) == 0
    return path


def test_the_tables_have_no_word_that_moses_refuses(reserved):
    system = reserved / "system"
    rows = [
        line.split(" ||| ") for name in ("phrase-table", "reordering") for line in read_lines(*system.glob(f"{name}*"))
    ]
    words = {word for row in rows for phrase in row[:2] for word in phrase.split()}
    words |= {word for ngram in read_arpa(system / "lm.arpa") for word in ngram.words} - {"<s>", "</s>", "<unk>"}
    assert words >= {"&#124;", "hund&#124;N&#124;x", "&#91;NP&#93;", "&lt;s&gt;", *PLAIN}
    assert not {word for word in words if "|" in word or (word[0] + word[-1] == "[]" and word != "[")}
    assert not words & {*RESERVED}


def test_words_with_a_meaning_in_moses_are_translated_as_themselves(reserved, tmp_path):
    write_lines(tmp_path / "in", [*read_lines(reserved / "in"), "neu|neu [neu]"])
    for verb, more in (("translate", ()), ("nbest", ("--nbest", 3))):
        assert smt(verb, reserved, "-i", tmp_path / "in", "-o", tmp_path / verb, *more) == 0
    assert list(read_lines(tmp_path / "translate")) == list(read_lines(tmp_path / "in"))
    assert main(["rerank", str(tmp_path / "nbest"), "-o", str(tmp_path / "out")]) == 0
    assert list(read_lines(tmp_path / "out")) == list(read_lines(tmp_path / "in"))


def test_pairs_and_filters_have_the_words_of_the_text(reserved, tmp_path):
    assert (
        main(["phrase-table", str(reserved / "system"), "--write-pairs", str(tmp_path / "pairs.tsv"), "--quiet"]) == 0
    )
    assert {*read_lines(tmp_path / "pairs.tsv")} == {f"{word}\t{word}" for word in (*RESERVED, *PLAIN)}
    text = PhrasesOfText(["a [X] hund|N|x"])
    assert [row.target for row in read_table(reserved / "system" / "phrase-table.gz", text)] == ["[X]", "hund|N|x"]


def test_monolingual_text_trains_the_language_model_and_limits_are_kept(folder, tmp_path):
    write_lines(tmp_path / "more", ["granny sees"] * 3)
    words = ["--train", str(folder / "train.de"), str(folder / "train.en"), "--alignments", str(folder / "train.align")]
    more = ["--monolingual", str(tmp_path / "more"), "--out", str(tmp_path / "system"), "--order", "2", "--quiet"]
    assert main(["smt", "train", *words, *more, "--max-phrase-length", "2", "--distortion-limit", "0"]) == 0
    assert list(read_links(tmp_path / "system" / "aligned.txt")) == list(
        map(sorted, read_links(folder / "train.align"))
    )
    assert ("granny", "sees") in {ngram.words for ngram in read_arpa(tmp_path / "system" / "lm.arpa")}
    rows = [row.split(" ||| ")[:2] for row in read_lines(tmp_path / "system" / "phrase-table.gz")]
    assert max(len(phrase.split()) for row in rows for phrase in row) == 2
    assert "[distortion-limit]\n0\n" in (tmp_path / "system" / "moses.ini").read_text()


def test_monolingual_text_is_read_before_words_are_aligned(folder, tmp_path, capsys):
    words = ["--train", str(folder / "dev.de"), str(folder / "dev.en"), "--monolingual", str(tmp_path / "missing")]
    assert main(["smt", "train", *words, "--out", str(tmp_path / "system")]) == 2
    said = capsys.readouterr().err
    assert f"{tmp_path}/missing: does not exist" in said
    assert "aligning" not in said


def test_tuning_is_reproducible_and_improves_bad_weights(folder, tmp_path, capsys):
    bad = tmp_path / "bad"
    weights = read_weights(folder / "system" / "moses.ini")
    write_lines(bad, (f"{name}= {' '.join('-0.1' for _ in row)}" for name, row in weights.items()))
    needed = ["--source", folder / "dev.de", "--reference", folder / "dev.en", "--initial-weights", bad, "--nbest", 10]
    before = (folder / "system" / "moses.ini").read_bytes()
    for name in ("one", "two"):
        words = [str(folder / "system"), *map(str, needed), "-o", str(tmp_path / name), "--restarts", "1"]
        assert main(["smt", "tune", *words]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[: len(said) // 2] == said[len(said) // 2 :]
    first, best = (float(line.partition("BLEU ")[2].partition(";")[0]) for line in (said[0], said[-1]))
    assert first < 50 < 99 < best
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (folder / "system" / "moses.ini").read_bytes() == before
    tuned = read_weights(tmp_path / "one")
    assert tuned["UnknownWordPenalty0"] == (-0.1,)
    out = tmp_path / "out"
    assert smt("translate", folder, "-i", folder / "dev.de", "-o", out, "--feature-weights", tmp_path / "one") == 0
    assert list(read_lines(out)) == list(read_lines(folder / "dev.en"))


def test_tuning_writes_into_the_system(folder, tmp_path):
    needed = ["--source", folder / "dev.de", "--reference", folder / "dev.en", "--nbest", 5, "--iterations", 2]
    before = read_weights(folder / "system" / "moses.ini")
    assert smt("tune", folder, *needed, "-o", tmp_path / "weights", "--seed", 4) == 0
    copy = tmp_path / "system"
    copy.mkdir()
    for path in (folder / "system").iterdir():
        (copy / path.name).symlink_to(path) if path.name != "moses.ini" else (copy / path.name).write_bytes(
            path.read_bytes()
        )
    assert smt("tune", tmp_path, *needed, "--seed", 4) == 0
    assert read_weights(copy / "moses.ini") == read_weights(tmp_path / "weights")
    assert read_weights(folder / "system" / "moses.ini") == before


TUNE = ("smt", "tune", "{0}/system", "--source", "{0}/dev.de", "--reference", "{0}/dev.en")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["smt", "train", "--train", "{0}/train.de", "{0}/train.en", "--out", "{0}/system"], "system: exists already"),
        (["smt", "train", "--train", "{0}/train.de", "{0}/dev.en", "--out", "{1}/no/new"], "train.de"),
        (["smt", "train", "--train", "{1}/vt", "{1}/vt", "--out", "{1}/new"], "vt:2: the word 'b\\x0bc' has a control"),
        (
            ["smt", "train", "--train", "{0}/dev.de", "{0}/dev.en", "--alignments", "{1}/links", "--out", "{1}/new"],
            "no phrase pairs: the links of the training text allow none",
        ),
        (
            ["smt", "train", "--train", "a", "b", "--alignments", "c", "--alignments", "d", "--out", "{1}/new"],
            "--alignments: 2 files for 1 of --train; give one for each",
        ),
        (["smt", "translate", "{1}/new"], "new: does not exist"),
        (["smt", "translate", "{0}/system", "--feature-weights", "{1}/weights"], "weights: there is no feature X here"),
        (["smt", "nbest", "{0}/system", "-i", "{1}/nowhere", "-o", "{1}/new"], "nowhere: does not exist"),
        (["smt", "tune", "{0}/system", "--source", "{0}/dev.de", "--reference", "{0}/train.en"], "has 20 lines but"),
        (["smt", "tune", "{0}/system", "--source", "{1}/empty", "--reference", "{1}/empty"], "empty: empty file"),
        ([*TUNE, "--initial-weights", "{1}/weights", "-o", "{1}/new"], "weights: there is no feature X here"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing_behind(words, said, folder, tmp_path, capsys):
    write_lines(tmp_path / "vt", ["a", "b\vc"])
    write_lines(tmp_path / "weights", ["X= 1"])
    write_lines(tmp_path / "links", [""] * 20)
    write_lines(tmp_path / "empty", [])
    before = sorted(path.name for path in tmp_path.iterdir())
    assert main([*(word.format(folder, tmp_path) for word in words), "--quiet"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("dragoman: error: ")
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_an_output_of_tuning_that_cannot_be_written_is_refused_before_any_round(folder, tmp_path, capsys, monkeypatch):
    needed = ["--source", str(folder / "dev.de"), "--reference", str(folder / "dev.en")]
    assert main(["smt", "tune", str(folder / "system"), *needed, "-o", str(tmp_path / "none" / "w")]) == 2
    assert (
        capsys.readouterr().err == f"dragoman: error: {tmp_path}/none/w: cannot be written: No such file or directory\n"
    )

    def read_only(final):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("dragoman.text.lines.create_temporary_file", read_only)
    assert main(["smt", "tune", str(folder / "system"), *needed]) == 2
    ini = folder / "system" / "moses.ini"
    assert capsys.readouterr().err == f"dragoman: error: {ini}: cannot be written: Read-only file system\n"


def test_an_empty_line_has_a_list_of_one_empty_text(folder, tmp_path):
    write_lines(tmp_path / "in", ["hund", "", "katze"])
    assert smt("nbest", folder, "-i", tmp_path / "in", "-o", tmp_path / "list", "--with-alignments") == 0
    (blank,) = [entry for entry in read_nbest(tmp_path / "list") if entry.sentence == 1]
    assert (blank.text, blank.features["WordPenalty0"]) == ("", (0.0,))
    assert main(["rerank", str(tmp_path / "list"), "-o", str(tmp_path / "out")]) == 0
    assert list(read_lines(tmp_path / "out")) == ["dog", "", "cat"]


def test_tuning_on_references_without_four_tokens_is_warned_of(folder, tmp_path, capsys):
    write_lines(tmp_path / "source", ["hund", "katze rot"])
    write_lines(tmp_path / "reference", ["dog", "red cat"])
    files = ("--source", tmp_path / "source", "--reference", tmp_path / "reference", "-o", tmp_path / "weights")
    assert main(["smt", "tune", str(folder / "system"), *map(str, files)]) == 0
    assert "BLEU is 0.00 with all weights that were tried" in capsys.readouterr().err
    assert read_weights(tmp_path / "weights") == read_weights(folder / "system" / "moses.ini")
