"""Corpora in tables and JSON: separators, quotes, headers, columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.config.schema import SideConfig, TextConfig
from dragoman.corpora.corpus import read_pairs, read_test_set
from dragoman.corpora.pair_files import column_languages
from dragoman.corpora.reading import current_reading, reading_corpora
from dragoman.errors import InputError
from dragoman.text.lines import UndecodableLine, write_lines
from tests.corpora.pairs import error_of, read

SENTENCES = (("The sea is calm.", "바다가 잔잔하다."), ("It rains.", "비가 온다."), ("Come in.", "들어오세요."))


def write(path: Path, *lines: str) -> Path:
    write_lines(path, lines)
    return path


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_a_csv_file_is_read_with_its_separator_and_quotes(tmp_path: Path, separator: str, suffix: str) -> None:
    rows = [("id", "en", "ko"), ("1", f'"He said ""no""{separator} then left."', "아니"), ("2", "Yes.", "그래")]
    path = write(tmp_path / f"train.csv{suffix}", *(separator.join(row) for row in rows))
    pairs, said = read(path)
    assert pairs == [(f'He said "no"{separator} then left.', "아니"), ("Yes.", "그래")]
    assert said == [f"{path}: source en, target ko, of the columns id, en, ko; --columns SOURCE TARGET chooses others"]


@pytest.mark.parametrize(
    ("first", "separator"),
    [("sep=;", ";"), ("SEP=,", ","), ("sep=\t", "\t"), ("sep=\\t", "\t"), ('"sep=;"', ";"), ("sep=^", "^")],
)
def test_the_separator_that_a_csv_file_declares_is_used(tmp_path: Path, first: str, separator: str) -> None:
    rows = [("ko", "en"), ("하나, 둘", "one; two"), ("셋", "three")]
    path = write(tmp_path / "train.csv", first, *(separator.join(f'"{cell}"' for cell in row) for row in rows))
    assert read(path)[0] == [("하나, 둘", "one; two"), ("셋", "three")]
    assert [pair.origin for pair in read_pairs([[path]])] == [f"{path}:3", f"{path}:4"]


def test_a_cell_over_two_lines_is_one_sentence_and_origins_count_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "train.csv", "source,target", '"one', 'two","eins', ' zwei"', "", "three,drei")
    assert [(pair.source, pair.target, pair.origin) for pair in read_pairs([[path]])] == [
        ("one two", "eins zwei", f"{path}:2"),
        ("three", "drei", f"{path}:6"),
    ]


@pytest.mark.parametrize(
    ("header", "pair"),
    [
        ("source,target", (0, 1)),
        ("target,source", (1, 0)),
        ("한국어,영어", (0, 1)),
        ("English,Korean", (0, 1)),
        ("en-US,ko_KR", (0, 1)),
        ("sentence_en,sentence_ko", (0, 1)),
        ("번역문,원문", (1, 0)),
        ("english text,korean text", (0, 1)),  # Latin above Hangul
    ],
)
def test_a_header_is_no_pair_and_puts_the_columns_into_order(
    tmp_path: Path, header: str, pair: tuple[int, int]
) -> None:
    path = write(tmp_path / "train.csv", header, *(",".join(row) for row in SENTENCES))
    assert read(path)[0] == [(row[pair[0]], row[pair[1]]) for row in SENTENCES]


@pytest.mark.parametrize("header", ["문장,옮긴 문장", "문장,번역", "질문,답"])
def test_a_header_in_the_script_of_one_column_only_is_no_pair(tmp_path: Path, header: str) -> None:
    rows = [f"{korean},{english}" for english, korean in SENTENCES]
    pairs, said = read(write(tmp_path / "train.csv", header, *rows))
    assert pairs == [(korean, english) for english, korean in SENTENCES]
    assert "no header" not in said[0]
    untranslated = "서울,서울"
    assert read(write(tmp_path / "train.csv", untranslated, *rows))[0][0] == ("서울", "서울")


@pytest.mark.parametrize("first", ["German,Deutsch", "Hello,Hallo", "In English.,Auf Deutsch."])
def test_a_first_pair_is_no_header(tmp_path: Path, first: str) -> None:
    pairs, said = read(write(tmp_path / "train.csv", first, "No.,Nein."))
    assert pairs == [tuple(first.split(",")), ("No.", "Nein.")]
    assert "no header; source 1, target 2" in said[0]


def test_languages_put_columns_of_languages_into_order(tmp_path: Path) -> None:
    path = write(tmp_path / "train.csv", "id,en,de,ko", "1,a,b,c")
    assert read(path, languages=("ko", "en"))[0] == [("c", "a")]
    assert column_languages(write(tmp_path / "two.csv", "en-GB,ko", "a,b")) == ("en-GB", "ko")
    assert column_languages(write(tmp_path / "none.csv", "source,target", "a,b")) == (None, None)


def test_the_languages_of_a_model_put_columns_into_order_unless_others_are_given(tmp_path: Path) -> None:
    path = write(tmp_path / "train.csv", "en,ko", "a,b")
    model = TextConfig(source=SideConfig(language="ko"), target=SideConfig(language="en"))
    for given, source in ((None, "b"), (("en", "ko"), "a")):
        with reading_corpora(languages=given):
            current_reading().expect(model)
            assert next(read_pairs([[path]])).source == source
    current_reading().expect(model)
    assert next(read_pairs([[path]])).source == "a"  # outside of a block files have nothing to do with each other


@pytest.mark.parametrize("columns", [("ko", "en"), ("4", "2"), ("KO", "EN"), ("korean", "en-US")])
def test_columns_are_chosen_by_name_number_or_language(tmp_path: Path, columns: tuple[str, str]) -> None:
    path = write(tmp_path / "train.csv", "id,en,de,ko", "1,a,b,c")
    assert read(path, columns) == ([("c", "a")], [])


@pytest.mark.parametrize(
    ("header", "sides"),
    [
        ("Nr;Deutsch;Englisch", "source Deutsch, target Englisch"),
        ("Nr;Deutsch;Fassung", "source Deutsch, target Fassung"),
        ("Nr;Deutsch;Übersetzung", "source Deutsch, target Übersetzung"),
        ("Nr;Ziel;Quelle", "source Quelle, target Ziel"),
    ],
)
def test_a_column_of_numbers_is_no_language(tmp_path: Path, header: str, sides: str) -> None:
    rows = [f"{number};Satz {number}.;Sentence {number}." for number in range(3)]
    pairs, said = read(write(tmp_path / "train.csv", header, *rows))
    assert len(pairs) == 3
    assert sides in said[0]


def test_the_only_two_columns_of_text_are_taken(tmp_path: Path) -> None:
    rows = [f"{number},{english},{korean},news" for number, (english, korean) in enumerate(SENTENCES)]
    path = write(tmp_path / "train.csv", "nr,a,b,topic", *rows)
    assert read(path, ("a", "b"))[0] == list(SENTENCES)
    pairs, said = read(write(tmp_path / "bare.csv", *rows))
    assert pairs == list(SENTENCES)
    assert "no header; source 2, target 3, of the columns 1, 2, 3, 4" in said[0]


def test_columns_that_are_not_found_are_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "train.csv", "id,en,de,fr", "1,one cat,eine Katze,un chat")
    assert error_of(path) == (
        f"{path}: which columns are source and target? give --columns SOURCE TARGET; there are id ('1'); "
        "en ('one cat'); de ('eine Katze'); fr ('un chat')"
    )
    assert error_of(path, ("en", "it")) == f"{path}: --columns it: is not there; the columns are id, en, de, fr"


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (["en,de", "a,b,c"], ":2: 3 columns, but the first line has 2"),
        (["en,de", "a"], ":2: 1 column, but the first line has 2; is there a line break in a cell, or are empty cells"),
        (["en,de", "a,b", '"a,b', "c,d"], ":3: quotes that do not end"),
    ],
)
def test_a_bad_row_names_file_and_line(tmp_path: Path, lines: list[str], fault: str) -> None:
    path = write(tmp_path / "train.csv", *lines)
    assert error_of(path).startswith(f"{path}{fault}")


def test_a_tsv_file_without_a_header_stays_text_as_it_is(tmp_path: Path) -> None:
    path = write(tmp_path / "train.tsv", '"Yes," she said.\t"Ja", sagte sie.', "a\tb")
    assert read(path) == ([('"Yes," she said.', '"Ja", sagte sie.'), ("a", "b")], [])
    assert read(path, ("2", "1"))[0][1] == ("b", "a")
    assert read(path, ("en", "de"))[0][1] == ("a", "b")  # names are for the files that have them
    noted = write(tmp_path / "noted.tsv", "a\tb\tgood")
    assert error_of(noted).endswith(
        ", source and target; --columns SOURCE TARGET chooses two of them, by their numbers"
    )
    assert read(noted, ("1", "2"))[0] == [("a", "b")]


@pytest.mark.parametrize(
    ("cell", "text"), [('"Yes," she said.', '"Yes," she said.'), ('"He said ""no""."', 'He said "no".')]
)
def test_quotes_of_a_tsv_file_with_a_header(tmp_path: Path, cell: str, text: str) -> None:
    path = write(tmp_path / "train.tsv", "nr\ten\tde", f"1\t{cell}\tb")
    assert read(path)[0] == [(text, "b")]


def test_a_tsv_file_of_a_spreadsheet_has_cells_over_several_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "train.tsv", "nr\ten\tde", '1\t"He said: ""No', 'never."""\tb', "2\tc\td")
    assert read(path)[0] == [('He said: "No never."', "b"), ("c", "d")]
    even = write(tmp_path / "even.tsv", "nr\ten\tde", *(f'{number}\t"a\tb' for number in range(3)))
    assert read(even)[0] == [('"a', "b")] * 3


def test_bytes_that_are_not_utf8_belong_to_their_pair(tmp_path: Path) -> None:
    path = tmp_path / "train.csv"
    path.write_bytes(b"en,de\na,b\nc,\xfc\ne,f\n")
    bad: list[UndecodableLine] = []
    found = [len(bad) for _ in read_pairs([[path]], on_undecodable=bad.append)]
    assert found == [0, 1, 1]
    assert bad[0].number == 3


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    "wrap", [lambda entries: entries, lambda entries: {"name": "x", "tags": ["a"], "data": entries}]
)
def test_json_objects_are_read_from_their_list(tmp_path: Path, wrap: object, suffix: str) -> None:
    entries = [{"sn": str(number), "ko": korean, "en": english} for number, (english, korean) in enumerate(SENTENCES)]
    assert callable(wrap)
    path = write(tmp_path / f"train.json{suffix}", *json.dumps(wrap(entries), indent=1).splitlines())
    pairs, said = read(path)
    assert pairs == [(korean, english) for english, korean in SENTENCES]
    assert said == [f"{path}: source ko, target en, of the keys sn, ko, en; --columns SOURCE TARGET chooses others"]
    assert next(read_pairs([[path]])).origin == f"{path}, object 1"


def test_keys_of_objects_within_objects(tmp_path: Path) -> None:
    path = write(tmp_path / "train.jsonl", '{"id": 1, "translation": {"en": "a", "de": "b"}}')
    assert read(path, ("translation.de", "translation.en"))[0] == [("b", "a")]
    assert read(path)[0] == [("a", "b")]


def test_lines_with_the_usual_keys_need_no_choice(tmp_path: Path) -> None:
    path = write(tmp_path / "dev.jsonl", '{"source": "a", "target": "b", "origin": "c"}')
    assert read(path, ("de", "en")) == ([("a", "b")], [])
    assert read(path, ("origin", "target")) == ([("c", "b")], [])


def test_objects_without_a_side_are_left_out_and_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "train.json", '[{"en": "a", "de": "b"}, {"en": "c", "de": null}, {"en": "d"}]')
    pairs, said = read(path)
    assert pairs == [("a", "b")]
    assert said[1:] == [f"{path}: 2 of 3 records left out: 2 without de"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", ": not JSON"),
        ('[{"en": "a", "de": "b"}, {"en"', ": not JSON after object 1"),
        ("{}", ": no list of objects in it"),
        ("[1, 2]", ": no list of objects in it"),
        ('[{"en": "a", "de": "b"}, 2]', ", object 2: not an object"),
        ('{"a": [{"en": "a"}], "b": [{"en": "a"}]}', ': "a" and "b" are lists of objects; a corpus has one'),
        ('[{"en": "a", "de": ["b"]}]', ', object 1: "de" must be a string, not ["b"]'),
        ("[" * 100_000, ": nested more than 50 levels deep"),
        ('[{"en": ' + '{"a": ' * 100_000, ": nested more than 50 levels deep"),
    ],
)
def test_bad_json_names_file_and_object(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "train.json"
    path.write_text(text, encoding="utf-8")
    assert error_of(path).startswith(f"{path}{fault}")


def test_a_test_set_in_json_may_have_several_references(tmp_path: Path) -> None:
    path = write(tmp_path / "test.json", '[{"en": "a", "de": ["b", "c"]}]')
    assert [pair.references for pair in read_test_set([path])] == [("b", "c")]


@pytest.fixture
def elsewhere() -> Iterator[None]:
    with reading_corpora(("ko", "en")):
        yield


def test_a_choice_ends_with_its_block(tmp_path: Path, elsewhere: None) -> None:
    path = write(tmp_path / "train.csv", "en,ko", "a,b")
    with reading_corpora():
        assert next(read_pairs([[path]])).source == "a"
    assert next(read_pairs([[path]])).source == "b"


def test_a_file_with_both_sides_stands_alone(tmp_path: Path) -> None:
    path, other = write(tmp_path / "a.csv", "en,de"), write(tmp_path / "a.de", "b")
    with pytest.raises(InputError, match=r"a\.csv: holds both sides of a corpus; give it without .*a\.de"):
        list(read_pairs([[path, other]]))


def test_the_command_says_what_it_takes_and_refuses_with_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "train.csv", "nr,en,ko", *(f"{number},a {number},나 {number}" for number in range(9)))
    assert main(["inspect", str(path), "--json"]) == 0
    out, said = capsys.readouterr()
    assert json.loads(out)["pairs"] == 9
    assert said == f"{path}: source en, target ko, of the columns nr, en, ko; --columns SOURCE TARGET chooses others\n"
    assert main(["inspect", str(path), "--columns", "ko", "en", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["inspect", str(path), "--columns", "ko", "de"]) == 2
    assert capsys.readouterr().err == (
        f"dragoman: error: {path}: --columns de: is not there; the columns are nr, en, ko\n"
    )
