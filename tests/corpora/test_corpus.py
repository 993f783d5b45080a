from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from dragoman.config.schema import CleaningConfig
from dragoman.corpora.cleaning import REASONS, Cleaner
from dragoman.corpora.corpus import read_pairs, read_test_set
from dragoman.corpora.pair_files import KINDS
from dragoman.corpora.pairs import Pair
from dragoman.errors import InputError
from dragoman.text.lines import write_lines


def write(path: Path, *lines: str) -> Path:
    write_lines(path, lines)
    return path


def json_lines(*pairs: tuple[str, str]) -> list[str]:
    return [json.dumps({"source": source, "target": target, "id": 7}) for source, target in pairs]


def error_of(*files: Path) -> str:
    with pytest.raises(InputError) as caught:
        list(read_pairs([files]))
    return str(caught.value)


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst"])
def test_all_kinds_of_corpora_are_read_one_after_the_other(tmp_path: Path, suffix: str) -> None:
    source = write(tmp_path / f"train.en{suffix}", "a", "", "b\u2028")
    target = write(tmp_path / f"train.de{suffix}", "A", "", "B")
    tsv = write(tmp_path / f"more.tsv{suffix}", "c\tC", "\t")
    jsonl = write(tmp_path / f"more.jsonl{suffix}", *json_lines(("d\t\n", "D")))
    assert list(read_pairs([[source, target], [tsv], [jsonl]])) == [
        Pair("a", "A", f"{source}:1"),
        Pair("", "", f"{source}:2"),
        Pair("b\u2028", "B", f"{source}:3"),
        Pair("c", "C", f"{tsv}:1", corpus=1),
        Pair("", "", f"{tsv}:2", corpus=1),
        Pair("d\t\n", "D", f"{jsonl}:1", corpus=2),
    ]


@pytest.mark.parametrize(("source_count", "target_count"), [(2, 1200), (1200, 2), (3, 2), (0, 1)])
def test_unequal_counts_name_both_files_and_both_counts(tmp_path: Path, source_count: int, target_count: int) -> None:
    source = write(tmp_path / "train.en", *"a" * source_count)
    target = write(tmp_path / "train.de", *"A" * target_count)
    assert error_of(source, target) == (
        f"{source} has {source_count:,} lines but {target} has {target_count:,}; "
        "line k of one must be the translation of line k of the other"
    )


def test_an_empty_corpus_is_refused_wherever_it_stands(tmp_path: Path) -> None:
    source, target = write(tmp_path / "train.en"), write(tmp_path / "train.de")
    tsv = write(tmp_path / "more.tsv", "c\tC")
    pairs = read_pairs([[tsv], [source, target]])
    assert next(pairs).source == "c"
    with pytest.raises(InputError) as caught:
        next(pairs)
    assert str(caught.value) == f"{source} and {target}: no lines in it; a corpus needs at least one pair"


@pytest.mark.parametrize(
    ("line", "columns"), [("only", "1 tab-separated column;"), ("a\tb\tc", "3 tab-separated columns;")]
)
def test_a_wrong_number_of_columns_names_file_and_line(tmp_path: Path, line: str, columns: str) -> None:
    path = write(tmp_path / "train.tsv", "a\tA", line)
    assert error_of(path).startswith(f"{path}:2: {columns} a line must have 2, source and target")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", 'an empty line; a line must be an object with "source" and "target", so remove it'),
        (" \t", 'an empty line; a line must be an object with "source" and "target", so remove it'),
        ('{"source"', "not a JSON object: Expecting ':' delimiter, at character 10"),
        ('["a", "b"]', 'a JSON list; a line must be an object with "source" and "target"'),
        (
            '{"source": "a", "traget": "b"}',
            'no key "target"; the keys are "source", "traget"; --columns SOURCE TARGET chooses two',
        ),
        ("{}", 'no key "source"; the keys are none'),
        ('{"source": "a", "target": 7}', '"target" must be a string, not 7'),
        (
            '{"source": "a", "target": ["A"]}',
            '"target" must be a string, not ["A"]; only a test set has several references',
        ),
        (
            r'{"source": "a\ud83d", "target": ""}',
            '"source" has half of a surrogate pair, not a character; correct the \\u escape',
        ),
    ],
)
def test_a_bad_json_line_names_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "train.jsonl", *json_lines(("a", "A")), line)
    assert error_of(path) == f"{path}:2: {message}"


def test_json_nested_beyond_reason_is_a_bad_line_too(tmp_path: Path) -> None:
    path = write(tmp_path / "train.jsonl", "[" * 100_000)
    assert error_of(path).startswith(f"{path}:1: not a JSON object: ")


def test_an_inflection_table_gives_lemma_and_tags_as_the_source(tmp_path: Path) -> None:
    path = write(tmp_path / "deu.trn.gz", "predigen\tpredig\tV;IMP;SG;2")
    assert [(pair.source, pair.target) for pair in read_pairs([[path]])] == [("predigen\tV;IMP;SG;2", "predig")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a\tb", "2 tab-separated columns; a line of an inflection table has 3: lemma, inflected form, tags"),
        (
            "gehen\tV;PST\tging",
            "the second column (V;PST) has semicolons, as tags have, and the third (ging) has none; the columns must "
            "be lemma, inflected form, tags",
        ),
    ],
)
def test_a_bad_line_of_an_inflection_table_names_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "deu.tst", "gehen\tging\tV;PST", line)
    assert error_of(path) == f"{path}:2: {message}"


def test_one_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "train.doc.gz", "a,b")
    assert error_of(path) == (
        f"{path}: a corpus in one file is {', '.join(KINDS)}, or an inflection table (.trn, .dev, .tst); also "
        ".gz, .xz, .zst; or give two files, source and target"
    )


def test_three_files_are_no_corpus() -> None:
    assert error_of(Path("a"), Path("b"), Path("c")) == "a corpus is one file or two (source and target), not 3: a b c"


def clean(pairs: list[tuple[str, str]], **settings: object) -> tuple[list[str | None], Cleaner, str]:
    """Reasons, cleaner and list of dropped pairs, with words between spaces as segments."""
    dropped = io.StringIO()
    cleaner = Cleaner(CleaningConfig(**settings), dropped)
    reasons = [
        cleaner.check(Pair(source, target, f"x:{number}"), len(source.split()), len(target.split()))
        for number, (source, target) in enumerate(pairs, 1)
    ]
    return reasons, cleaner, dropped.getvalue()


def test_each_reason_is_found_counted_and_listed() -> None:
    reasons, cleaner, dropped = clean(
        [("a b", "A B"), ("a", "\t "), ("", ""), ("a " * 5, "A"), ("a", "A A A"), ("a b", "A B"), ("a", "A A")],
        max_length=4,
        max_ratio=2.0,
    )
    assert reasons == [None, "empty side", "empty side", "too long", "length ratio", "duplicate", None]
    assert cleaner.counts == {"empty side": 2, "too long": 1, "length ratio": 1, "duplicate": 1}
    assert tuple(cleaner.counts) == REASONS
    assert dropped == (
        "x:2\tempty side\ta\t  \n"
        "x:3\tempty side\t\t\n"
        "x:4\ttoo long\ta a a a a \tA\n"
        "x:5\tlength ratio\ta\tA A A\n"
        "x:6\tduplicate\ta b\tA B\n"
    )


def test_limits_are_themselves_allowed() -> None:
    assert clean([("a a", "a a a"), ("a a a", "a a")], max_length=3, max_ratio=1.5)[0] == [None, None]


def test_without_limits_only_empty_sides_are_dropped() -> None:
    pairs = [("a", "A " * 100), ("a", "A " * 100), ("a", "")]
    assert clean(pairs, max_length=100, duplicates="keep")[0] == [None, None, "empty side"]


def test_a_duplicate_repeats_both_sides() -> None:
    pairs = [("ab", "c"), ("a", "bc"), ("ab", "C"), ("a b", "c"), ("c", "ab"), ("ab", "c")]
    assert clean(pairs)[0] == [None, None, None, None, None, "duplicate"]


@pytest.mark.parametrize("between", ["\0", "\r", "\x85", "\u2028", "\u2029", "\x1b"])
def test_a_pair_that_is_read_like_another_is_a_duplicate(between: str) -> None:
    pairs = [("a b", "A B"), (f"a{between}b", "A B"), ("a b", f" A{between}B{between}"), ("a\u00a0b", "A B")]
    assert clean(pairs)[0] == [None, "duplicate", "duplicate", None]


def test_a_pair_that_was_dropped_makes_no_later_one_a_duplicate() -> None:
    assert clean([("a a", "a"), ("a a", "a")], max_length=1)[0] == ["too long", "too long"]


class TestLinks:
    def read(self, tmp_path: Path, lines: list[str], corpus: list[str] = ["a b\tA B C", "c\tC", "\t"]) -> list[Pair]:  # noqa: B006
        tsv, links = write(tmp_path / "train.tsv", *corpus), write(tmp_path / "links", *lines)
        return list(read_pairs([[tsv]], [links]))

    def error(self, tmp_path: Path, lines: list[str]) -> str:
        with pytest.raises(InputError) as caught:
            self.read(tmp_path, lines)
        return str(caught.value).replace(f"{tmp_path}/", "")

    def test_they_come_with_their_pairs(self, tmp_path: Path) -> None:
        assert [pair.links for pair in self.read(tmp_path, ["1-2 0-0 1-2", "0-0", ""])] == [
            [(0, 0), (1, 2)],
            [(0, 0)],
            [],
        ]

    def test_each_corpus_has_its_own_file(self, tmp_path: Path) -> None:
        first, second = write(tmp_path / "1.tsv", "a\tA"), write(tmp_path / "2.tsv", "b\tB", "c\tC")
        links = [write(tmp_path / "1", "0-0"), write(tmp_path / "2", "", "0-0")]
        assert [pair.links for pair in read_pairs([[first], [second]], links)] == [[(0, 0)], [], [(0, 0)]]

    def test_without_a_file_there_are_none(self, tmp_path: Path) -> None:
        assert [pair.links for pair in read_pairs([[write(tmp_path / "1.tsv", "a\tA")]])] == [None]

    @pytest.mark.parametrize("count", [1, 2, 4, 1500])
    def test_another_number_of_lines_names_both_counts(self, tmp_path: Path, count: int) -> None:
        assert self.error(tmp_path, [""] * count) == (
            f"links has {count:,} lines but the corpus train.tsv has 3 pairs; "
            "line k must hold the links of pair k, and be empty where there are none"
        )

    def test_what_is_no_link_is_named_with_its_line(self, tmp_path: Path) -> None:
        assert self.error(tmp_path, ["", "0:0", ""]).startswith(
            "links:2: '0:0' is not an alignment link; Pharaoh lines"
        )

    @pytest.mark.parametrize(
        ("lines", "expected"),
        [
            (["0-0 2-0", "", ""], "links:1: the link 2-0 names source word 2, but train.tsv:1 has 2 source words"),
            (["", "0-1", ""], "links:2: the link 0-1 names target word 1, but train.tsv:2 has 1 target words"),
            (["", "", "0-0"], "links:3: the link 0-0 names source word 0, but train.tsv:3 has 0 source words"),
        ],
    )
    def test_a_link_beyond_the_sentence_is_named_with_its_line(
        self, tmp_path: Path, lines: list[str], expected: str
    ) -> None:
        assert self.error(tmp_path, lines) == f"{expected}; words are counted from 0 and separated by spaces"


def test_a_test_set_has_several_references(tmp_path):
    contents = {"s": "a\nb\nc\n", "r0": "A\n\nC\n", "r1": "AA\nB\n\n", "r2": "A A\n\n\n"}
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "t.tsv").write_text("a\tA\tAA\tA A\nb\t\tB\nc\tC\n")
    (tmp_path / "t.jsonl").write_text(
        '{"source": "a", "target": ["A", "AA", "A A"]}\n{"source": "b", "target": ["", "B"]}\n'
        '{"source": "c", "target": "C"}\n'
    )
    for files in (["s", "r0", "r1", "r2"], ["t.tsv"], ["t.jsonl"]):
        pairs = list(read_test_set([tmp_path / name for name in files]))
        assert [pair.source for pair in pairs] == ["a", "b", "c"]
        assert [pair.references for pair in pairs] == [("A", "AA", "A A"), ("B",), ("C",)], files


def test_references_that_do_not_fit_are_refused(tmp_path):
    for name, text in (("s", "a\nb\n"), ("r0", "A\nB\n"), ("r1", "A\n"), ("t.tsv", "a\n"), ("n.tsv", "")):
        (tmp_path / name).write_text(text)
    cases = {
        ("s", "r0", "r1"): "s has 2 lines but .*r1 has 1",
        ("t.tsv",): "t.tsv:1: 1 tab-separated column; a line must have a source and its references",
        ("n.tsv",): "no lines in it; a test set needs at least one pair",
    }
    for files, message in cases.items():
        with pytest.raises(InputError, match=message):
            list(read_test_set([tmp_path / name for name in files]))


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("[]", '"target" is an empty list; give at least one reference'),
        ("7", '"target" must be a string or a list of strings, not 7'),
        ('["A", 7]', '"target" must be a list of strings only, not 7'),
    ],
)
def test_references_of_another_type_are_refused(tmp_path: Path, target: str, message: str) -> None:
    path = write(tmp_path / "t.jsonl", f'{{"source": "a", "target": {target}}}')
    with pytest.raises(InputError) as caught:
        list(read_test_set([path]))
    assert str(caught.value) == f"{path}:1: {message}"


@pytest.mark.parametrize("files", ["test.tsv", Path("test.tsv"), [["test.de", "test.en"]]])
def test_a_test_set_is_a_list_of_files(files):
    with pytest.raises(TypeError, match=r"stands where a list of files is expected: \[source, reference, ...\]"):
        next(read_test_set(files))
