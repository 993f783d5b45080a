"""Presets: what they hold, what stands on what, and what they say of their values."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import pytest

from dragoman.config import presets
from dragoman.config.presets import families, lineage, load_preset, preset_comments, preset_names, preset_title
from dragoman.config.schema import Config
from dragoman.errors import ConfigError

Shelf = Callable[[dict[str, str]], None]

OWN = ("standard", "characters", "demo")
"""Presets of no paper, whose values need no source."""

PAPERS = [name for name in preset_names() if name not in OWN]


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """Puts preset files, by name, in place of those of the package."""

    def put(files: dict[str, str]) -> None:
        monkeypatch.setattr(presets, "preset_text", lambda name: files[name])
        monkeypatch.setattr(presets, "preset_names", lambda: sorted(files))

    return put


def test_there_is_a_preset_for_every_variant_of_the_papers() -> None:
    scores = ("dot", "general", "concat")
    assert set(preset_names()) == {
        *OWN,
        *("cho2014", "cho2014-groundhog", "sutskever2014", "rnnencdec"),
        *("bahdanau2015", "bahdanau2015-appendix", "bahdanau2015-groundhog"),
        *(f"luong2015-{row}" for row in ("base", "reverse", "dropout", "location", "global-location")),
        *(f"luong2015-{scope}-{score}" for scope in ("global", "local-m", "local-p") for score in scores),
    }


def test_a_preset_knows_its_name_and_says_what_it_is() -> None:
    for name in preset_names():
        assert load_preset(name).preset == name
        assert len(preset_title(name)) > 20, name


def test_every_value_that_a_papers_preset_sets_has_its_source() -> None:
    for layer in sorted({layer for name in PAPERS for layer in lineage(name)}):
        own = presets._own_values(layer)
        own.pop("preset", None)
        missing = set(_leaves(own)) - preset_comments(layer).keys()
        assert not missing, f"{layer}: {sorted(missing)}"


def _leaves(values: dict[str, object], prefix: str = "") -> list[str]:
    return [
        key
        for name, value in values.items()
        for key in (_leaves(value, f"{prefix}{name}.") if isinstance(value, dict) else [f"{prefix}{name}"])
    ]


def test_no_preset_says_again_what_the_one_below_it_says() -> None:
    for name in preset_names():
        own, *below = lineage(name)
        said = {key for layer in below for key in _leaves(presets._own_values(layer))}
        for key in said & set(_leaves(presets._own_values(own))) - {"preset"}:
            assert _at(load_preset(own), key) != _at(load_preset(below[0]), key), f"{name} repeats {key}"


def _at(config: Config, key: str) -> object:
    value: object = config
    for part in key.split("."):
        value = getattr(value, part)
    return value


def test_each_row_of_luongs_ablation_changes_what_its_name_says() -> None:
    rows = [load_preset(f"luong2015-{row}") for row in ("base", "reverse", "dropout", "location", "global-location")]
    assert [row.model.encoder.direction for row in rows] == ["forward"] + ["reversed"] * 4
    assert [row.model.dropout.layers for row in rows] == [0, 0, 0.2, 0.2, 0.2]
    assert [row.model.decoder.context for row in rows] == ["none"] * 3 + ["attended"] * 2
    assert [row.model.decoder.input_feeding for row in rows] == [False] * 4 + [True]
    assert [(row.training.epochs, row.training.schedule.start) for row in rows] == [(10, 5)] * 2 + [(12, 8)] * 3


def test_luongs_presets_measure_which_word_their_weights_align() -> None:
    for name in preset_names():
        config = load_preset(name).model
        if name.startswith("luong2015") and config.decoder.context == "attended":
            assert config.attention.aligned_word == "measured", name
            assert name.split("-")[-1] in config.attention.score
            assert config.attention.scope in name or name == "luong2015-location"


def test_values_stand_over_those_of_the_preset_below(shelf: Shelf) -> None:
    shelf(
        {
            "low": "# Low.\nmodel:\n  encoder: {size: 7, cell: lstm}\nsearch: {beam: 2}\n",
            "middle": "# Middle.\npreset: low\nmodel:\n  encoder: {size: 8}\ntraining: {epochs: 3}\n",
            "high": "# High.\npreset: middle\nsearch: {beam: 4}\n",
        }
    )
    config = load_preset("high")
    assert (config.preset, config.model.encoder.cell, config.model.encoder.size) == ("high", "lstm", 8)
    assert (config.training.epochs, config.search.beam) == (3, 4)
    assert load_preset("low").model.encoder.size == 7
    assert lineage("high") == ["high", "middle", "low"]


def test_comments_are_those_of_the_nearest_file_that_sets_the_value(shelf: Shelf) -> None:
    shelf(
        {
            "low": "# Low.\nmodel:\n  encoder: {size: 7,   # section 1\n            cell: lstm}   # section 2\n"
            "  init_scale: 0.1   # section 3: U(-0.1, 0.1) # and more\nsearch: {beam: 2, finish: refill} # code\n",
            "high": "# High.\npreset: low # below\nmodel:\n  # apart\n  init_scale: 0.2\n"
            "search:\n  beam: 4 # section 9\n",
        }
    )
    assert preset_comments("low") == {
        "model.encoder.size": "section 1",
        "model.encoder.cell": "section 2",
        "model.init_scale": "section 3: U(-0.1, 0.1) # and more",
        "search.beam": "code",
        "search.finish": "code",
    }
    above = preset_comments("high")
    assert "model.init_scale" not in above  # the value is new, the old comment would be wrong
    assert (above["search.beam"], above["search.finish"]) == ("section 9", "code")


def test_presets_in_a_circle_are_refused(shelf: Shelf) -> None:
    shelf({name: f"# {name}\npreset: {below}\n" for name, below in (("a", "b"), ("b", "c"), ("c", "b"))})
    with pytest.raises(ConfigError, match=r"^preset a: presets are based on each other in a cycle: a -> b -> c -> b$"):
        load_preset("a")


def test_an_unknown_preset_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match=r"no preset named 'bahdanou2015' \(did you mean bahdanau2015 or "):
        load_preset("bahdanou2015")


def test_a_preset_is_found_by_the_beginning_of_its_name() -> None:
    three = "luong2015-base or luong2015-dropout or luong2015-global-concat"
    with pytest.raises(ConfigError, match=rf"no preset named 'luong' \(did you mean {three}\?\)"):
        load_preset("luong")


def test_families_hold_every_preset_after_the_one_it_stands_on() -> None:
    listed = list(chain.from_iterable(families()))
    assert sorted(listed) == preset_names()
    assert families()[0] == ["demo", "characters", "standard"]
    for family in families()[1:]:
        for name in family[1:]:
            assert family.index(lineage(name)[1]) < family.index(name)
