"""What is no YAML is refused in one line, whatever bytes it came from."""

from __future__ import annotations

import pytest

from dragoman.config.building import override, parse_yaml
from dragoman.config.schema import Config
from dragoman.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a: [1", r"mine\.yaml, line 1: "),
        ('a: 1\nb: "x', r"mine\.yaml, line 2: "),
        ("a:\n\tb: 1", r"mine\.yaml, line 2: "),
        ("a: \x07", r"mine\.yaml: "),
        ("\ud800: 1", r"mine\.yaml: "),
    ],
)
def test_a_text_that_is_no_yaml_is_refused_by_line(text: str, where: str) -> None:
    with pytest.raises(ConfigError, match=f"^{where}not valid YAML: ") as caught:
        parse_yaml(text, "mine.yaml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["[", "\x01", "\udcff"])  # the last is how a byte that is no UTF-8 arrives
def test_a_setting_that_is_no_yaml_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match=r"^--set training\.epochs=.* is not a YAML value$"):
        override(Config(), [f"training.epochs={value}"])
