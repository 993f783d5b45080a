"""Facts in words."""

import pytest

from dragoman.report.facts import duration, language_name, machine_name, training_facts


def facts(**changes):
    values = {
        "preset": "standard",
        "pairs": 28961,
        "dropped": {"empty side": 0, "too long": 1234, "duplicate": 2},
        "parameters": 12345678,
        "updates": 5000,
        "seconds": 1204.3,
        "machine": "a machine",
    }
    return training_facts(**{**values, **changes})


def test_training_facts_in_words():
    assert facts() == {
        "Preset": "standard",
        "Training pairs": "28,961",
        "Pairs dropped": "too long 1,234; duplicate 2",
        "Parameters": "12,345,678",
        "Updates": "5,000",
        "Training time": "20 min 4 s",
        "Machine": "a machine",
    }


def test_that_no_pair_was_dropped_is_shown_and_an_unnamed_preset_is_not():
    shown = facts(dropped={"empty side": 0}, preset="")
    assert shown["Pairs dropped"] == "none"
    assert "Preset" not in shown


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (3599.7, "1 h 0 min"), (9000, "2 h 30 min")]
)
def test_durations(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("code", "name"),
    [("ko", "Korean"), ("pt_BR", "Portuguese (Brazil)"), ("pt-BR", "Portuguese (Brazil)"), ("xx", "xx"), ("?!", "?!")],
)
def test_languages_have_names(code, name):
    assert language_name(code) == name


def test_machine_name_counts_cores():
    assert " core" in machine_name()
