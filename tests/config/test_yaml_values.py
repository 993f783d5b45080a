"""YAML gives plain values, and whatever it cannot give is one problem with its line."""

from __future__ import annotations

import random
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dragoman.config.building import override, parse_yaml
from dragoman.config.files import load_config
from dragoman.config.language_model import LanguageConfig, override_language
from dragoman.config.schema import Config
from dragoman.config.yaml_values import (
    MAX_BYTES,
    YamlProblem,
    load_yaml,
    read_yaml_text,
)
from dragoman.errors import ConfigError

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc:{}# '", max_size=5), inner)
)


@given(_VALUES)
def test_what_yaml_writes_is_read_as_the_same_value(value: Any) -> None:
    assert load_yaml(yaml.safe_dump(value)) == value


def test_presets_and_aliases_and_merge_keys_are_read_as_the_library_reads_them() -> None:
    for text in (
        "a: &x {p: 1, q: [2, 3]}\nb: *x\nc: {<<: *x, p: 4}",
        "a: {<<: [{p: 1}, {p: 2, q: 3}], r: 4}",
        "[0x1f, 017, 0b11, 1_000, 1:30, 190:20:30.15, 1.5e+3, -.inf, ~, yes, Off, '5', 1e3]",
        "? 1\n: 2",
        "",
        "\ufeffa: 1",
        "a: |\n  x\n   y\nb: >\n  p\n  q",
    ):
        assert load_yaml(text) == yaml.safe_load(text), text


def test_a_date_is_text_whether_or_not_the_calendar_has_it() -> None:
    assert load_yaml("[2026-11-23, 2026-13-45, 2026-02-30 25:61:61]") == [
        "2026-11-23",
        "2026-13-45",
        "2026-02-30 25:61:61",
    ]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a: 1\nb: !!int x", 2, "x is not a number, or too large"),
        ("!!python/object/apply:os.system [ls]", 1, "tags such as !!python/object/apply:os.system are not supported"),
        ("[" * 5000, None, "nested more than 32 levels deep"),
        ("- " * 5000, None, "nested more than 32 levels deep"),
        ("9" * 5000, 1, "is not a number, or too large"),
        ("0x" + "f" * 5000, 1, "is not a number, or too large for 64 bits"),
        ("0x_", 1, "0x_ is not a number, or too large"),
        ("a: 1\nb: {c: 1, 'c': 2}", 2, "the key 'c' is given twice"),
        ("a: 1\na: 2", 2, "the key 'a' is given twice"),
        ("? [1]\n: 2", 1, "a mapping or list is not supported as a key"),
        ("[" * 34 + "]" * 34, 1, "nested more than 32 levels deep"),
        ("&a [*a]", 1, "nested more than 32 levels deep"),
        ("[*a]", 1, "found undefined alias 'a'"),
        ("<<: 3", 1, "expected a mapping or list of mappings for merging"),
        ("--- 1\n--- 2", 2, "but found another document"),
        ("a: 1\nb: \0", 2, "the character U+0000 is not allowed"),
        ("a:\n\tb: 1", 2, "found character '\\t' that cannot start any token"),
        ('"\\ud800"', 1, "half a character"),
        ('"\\UFFFFFFFF"', None, "too large"),
    ],
)
def test_what_is_no_plain_value_is_a_problem_with_its_line(text: str, line: int | None, problem: str) -> None:
    with pytest.raises(YamlProblem) as caught:
        load_yaml(text)
    assert problem in str(caught.value)
    assert caught.value.line == line
    assert len(str(caught.value)) < 200


def test_aliases_count_as_often_as_they_are_used() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]" for before, name in pairwise("abcdefghi")]
    with pytest.raises(YamlProblem, match="more than 100,000 values; an alias counts as often as it is used"):
        load_yaml("\n".join(lines))


def test_any_scalar_under_any_tag_is_a_value_or_a_problem() -> None:
    """Seeded: scalars of all types, some cut or mixed, under all tags of YAML, for a key of each type."""
    draw = random.Random(20)
    tags = ["int", "float", "bool", "null", "str", "timestamp", "binary", "set", "omap", "pairs", "map", "seq", "value"]
    scalars = [
        "2026-13-45",
        "x",
        "1:99:1e9",
        "0b2",
        ".inf",
        ".nan",
        "1e999",
        "[",
        "{a",
        "~",
        "&a",
        "*a",
        "'",
        "0x",
        "|",
    ]
    keys = ["training.seed", "training.epochs", "training.minutes", "search.block_unknown", "text.source.language"]
    for _ in range(2000):
        word = "".join(draw.choices(scalars, k=draw.randint(1, 3)))
        value = draw.choice(["", f"!!{draw.choice(tags)} ", "!x ", "! ", "&a "]) + word
        with_key = f"{draw.choice(keys)}={value}"
        for configure in (
            lambda text=with_key: override(Config(), [text]),
            lambda text=with_key: override_language(LanguageConfig(), [text]),
            lambda text=value: parse_yaml(f"training: {text}", "mine.yaml"),
        ):
            with suppress(ConfigError):
                configure()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("training.seed=2026-13-45", "--set: training.seed: expected a whole number, not '2026-13-45'"),
        ("training.seed=!!int x", "--set training.seed: '!!int x' is not a YAML value: x is not a number"),
        ("training.epochs=.inf", "--set: training.epochs: expected a finite number, not inf"),
        ("training.epochs=1e999", "--set: training.epochs: expected a finite number, not inf"),
        ("training.minutes=.nan", "--set: training.minutes: expected a number > 0.0"),
        ("search.word_penalty=.nan", "--set: search.word_penalty: expected a finite number, not nan"),
        (
            "text.source.language=../../x",
            "--set: text.source.language: expected a language code of letters, such as de or pt-BR, not '../../x'",
        ),
        ("model.encoder.layers=101", "--set: model.encoder.layers: expected a whole number <= 100, not 101"),
        (
            "search.beam=1000000000000000000",
            "--set: search.beam: expected a whole number <= 1000, not 1000000000000000000",
        ),
    ],
)
def test_a_setting_that_no_key_can_have_is_named(setting: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        override(Config(), [setting])
    assert str(caught.value).startswith(message)


def test_a_long_value_is_repeated_in_part() -> None:
    for value in ("[" * 5000, "9" * 5000, "x" * 5000):
        with pytest.raises(ConfigError) as caught:
            override(Config(), [f"training.seed={value}"])
        assert len(str(caught.value)) < 400


def test_a_file_that_is_no_text_or_too_large_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"training:\n  epochs: \xff\n")
    with pytest.raises(
        ConfigError, match=r"mine\.yaml, line 2: cannot read the configuration: not UTF-8 \(byte 0xff\)"
    ):
        load_config(path)
    path.write_bytes(b" " * (MAX_BYTES + 1))
    with pytest.raises(ConfigError, match=r"mine\.yaml: cannot read the configuration: it is larger than 1,048,576"):
        load_config(path)
    with pytest.raises(ConfigError, match="cannot read the configuration"):
        read_yaml_text(Path("a\0b"), "the configuration")
