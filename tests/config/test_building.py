"""What is no YAML, or no value for its key, is refused in one line that says what is."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.config.building import build_config, override, parse_yaml
from dragoman.config.language_model import LanguageConfig, override_language
from dragoman.config.schema import Config, SideConfig, TextConfig
from dragoman.errors import ConfigError
from dragoman.text.items import KINDS


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a: [1", r"mine\.yaml, line 1: "),
        ('a: 1\nb: "x', r"mine\.yaml, line 2: "),
        ("a:\n\tb: 1", r"mine\.yaml, line 2: "),
        ("a: \x07", r"mine\.yaml, line 1: "),
        ("\ud800: 1", r"mine\.yaml, line 1: "),
        ("a: 1\nb: 2\na: 3", r"mine\.yaml, line 3: "),
    ],
)
def test_a_text_that_is_no_yaml_is_refused_by_line(text: str, where: str) -> None:
    with pytest.raises(ConfigError, match=f"^{where}not valid YAML: ") as caught:
        parse_yaml(text, "mine.yaml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["[", "\x01", "\udcff"])  # the last is how a byte that is no UTF-8 arrives
def test_a_setting_that_is_no_yaml_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match=r"^--set training\.epochs: .* is not a YAML value: "):
        override(Config(), [f"training.epochs={value}"])


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("search.beam=0", "search.beam: expected a whole number >= 1, not 0"),
        ("search.beam=2.5", "search.beam: expected a whole number, not 2.5"),
        ("search.beam=true", "search.beam: expected a whole number, not True"),
        ("search.beam=five", "search.beam: expected a whole number, not 'five'"),
        ("search.alpha=-1", "search.alpha: expected a number >= 0.0, not -1"),
        ("training.average_decay=1", "training.average_decay: expected a number < 1.0, not 1"),
        ("training.epochs=.nan", "training.epochs: expected a number > 0.0, not nan"),
        ("training.minutes=soon", "training.minutes: expected a number | null, not 'soon'"),
        ("training.seed=-1", "training.seed: expected a whole number >= 0, not -1"),
        (
            "training.seed=9223372036854775808",
            "training.seed: expected a whole number <= 9223372036854775807, not 92233",
        ),
        ("training.optimiser.betas=[1, 0.5]", "training.optimiser.betas[0]: expected a number < 1.0, not 1"),
        ("training.optimiser.betas=[0.9]", "training.optimiser.betas: expected a list of length 2, not [0.9]"),
        ("training.optimiser.betas=0.9", "training.optimiser.betas: expected a list, not 0.9"),
        ("search.block_unknown=1", "search.block_unknown: expected true or false, not 1"),
        ("text.source.language=no", "text.source.language: expected text | null, not False"),
        ("search.finish=refil", "search.finish: expected refill | shrink, not 'refil' (did you mean refill?)"),
        ("search.finish=3", "search.finish: expected refill | shrink, not 3"),
    ],
)
def test_a_value_that_a_key_cannot_have_is_refused_with_what_it_can(setting: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        override(Config(), [setting])
    assert str(caught.value).startswith(f"--set: {message}")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"search": {"beem": 3}}, "unknown key 'search.beem' (did you mean search.beam?)"),
        ({"beam": 3}, "unknown key 'beam' (did you mean search.beam?)"),
        ({3: 3}, "unknown key '3'"),
        ({"search": 3}, "search: expected keys and values, not 3"),
        ({"model": {"encoder": None}}, "model.encoder: expected keys and values, not None"),
    ],
)
def test_a_key_or_section_that_is_not_so_is_refused_by_its_whole_name(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_config(values, "mine.yaml")
    assert str(caught.value) == f"mine.yaml: {message}"


def test_lists_of_any_length_are_checked_by_element() -> None:
    with pytest.raises(ConfigError, match=r"model\.feed_forward\.layers\[1\]: expected a whole number >= 1, not 0$"):
        override_language(LanguageConfig(), ["model.feed_forward.layers=[8, 0]"])
    with pytest.raises(ConfigError, match=r"model\.feed_forward\.layers: expected a list of length >= 1, not \[\]$"):
        override_language(LanguageConfig(), ["model.feed_forward.layers=[]"])


def test_an_element_that_is_no_choice_is_refused_with_the_choices() -> None:
    with pytest.raises(ConfigError) as caught:
        override(Config(), ["text.protected=[email, urls]"])
    kinds = " | ".join(KINDS)
    expected = f"--set: text.protected[1]: expected {kinds} | name, not 'urls' (did you mean url?)"
    assert str(caught.value) == expected


def test_numbers_are_read_as_people_write_them() -> None:
    config = override(Config(), ["model.init_scale=1e-3", "training.minutes=2", "training.optimiser.betas=[0.5, 0]"])
    assert (config.model.init_scale, config.training.minutes, config.training.optimiser.betas) == (
        0.001,
        2.0,
        (0.5, 0.0),
    )
    assert isinstance(config.training.minutes, float)


def test_a_path_given_in_python_is_text() -> None:
    made = Config(text=TextConfig(source=SideConfig(model=Path("my.model"))))  # type: ignore[arg-type]
    assert build_config(made.values(), "config").text.source.model == "my.model"


def test_a_configuration_does_not_change() -> None:
    config = Config()
    with pytest.raises(AttributeError):
        config.search.beam = 3  # type: ignore[misc]
    assert config.search.replaced(beam=3).beam == 3
    assert config == Config()


def test_precisions_have_the_names_of_other_toolkits() -> None:
    names = {"float32": "fp32", "32": "fp32", "FP32": "fp32", "bfloat16": "bf16", "BF16": "bf16", "bf16-mixed": "bf16"}
    for name, meant in names.items():
        assert override(Config(), [f"training.precision={name}"]).training.precision == meant, name
        language = override_language(LanguageConfig(), [f"training.precision={name}"])
        assert language.training.precision == meant, name
    for name in ("fp16", "float16", "half", "16"):
        with pytest.raises(ConfigError) as caught:
            override(Config(), [f"training.precision={name}"])
        given = name if name == "16" else f"'{name}'"
        assert str(caught.value) == (
            f"--set: training.precision: expected fp32 | bf16 | auto, not {given}; float16 has too small a range "
            "without loss scaling, which is not implemented: use bf16"
        )
