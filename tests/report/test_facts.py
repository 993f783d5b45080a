"""Facts in words."""

import pytest

from dragoman.report.facts import duration, language_name, machine_name, processor_name, training_facts


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


@pytest.mark.parametrize(
    ("described", "name"),
    [
        (
            "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n\nprocessor\t: 1\nmodel\t: 18\n",
            "AMD EPYC (family 25, model 17)",
        ),
        ("cpu family\t: 6\nmodel\t\t: 142\nmodel name\t: Intel(R) Core(TM) i7-8565U\n", "Intel(R) Core(TM) i7-8565U"),
        ("model name\t: A series\n", "A series"),
        ("processor\t: 0\nBogoMIPS\t: 108.00\n", ""),  # as on ARM
    ],
)
def test_family_and_model_stand_in_for_the_number_that_a_virtual_machine_hides(described, name):
    assert processor_name(described) == name
