"""`--scale`: all sizes of a model together."""

from __future__ import annotations

import pytest

from dragoman.config.building import build_config, override
from dragoman.config.presets import load_preset, preset_names
from dragoman.config.scaling import SIZES, scale, scaled_values
from dragoman.config.schema import Config
from dragoman.errors import ConfigError


def _sizes(config: Config) -> dict[str, int | None]:
    return {f"{part}.{key}": getattr(getattr(config.model, part), key) for part, key in SIZES}


def test_sizes_stay_multiples_of_the_heads() -> None:
    for factor in (0.01, 0.15, 0.6, 1.5):
        model = scale(override(load_preset("standard"), ["model.attention.heads=4"]), factor).model
        assert model.decoder.size % 4 == model.encoder.size % 4 == 0
        assert model.embedding.source == round(256 * factor)


def test_every_preset_keeps_its_ratios() -> None:
    for name in preset_names():
        before = load_preset(name)
        full = _sizes(before)
        for factor in (0.25, 0.1, 2):
            for key, size in _sizes(scale(before, factor)).items():
                case, whole = (name, factor, key), full[key]
                assert (size is None) == (whole is None), case
                # states are divided among the heads of the attention
                step = before.model.attention.heads if key in ("encoder.size", "decoder.size") else 1
                assert size is None or whole is None or abs(size - whole * factor) <= step / 2, case


def test_with_sizes_only_nothing_else_changes() -> None:
    for name in preset_names():
        before, after = load_preset(name).values(), scale(load_preset(name), 0.25, sizes_only=True).values()
        for part, key in SIZES:
            after["model"][part][key] = before["model"][part][key]
        assert after == before, name


def test_initial_values_with_a_stated_range_grow_as_the_square_root_of_the_sizes_shrinks() -> None:
    for name in preset_names():
        before, after = load_preset(name).model, scale(load_preset(name), 0.25).model
        absolute = before.initialisation != "lecun"
        assert absolute == (name not in ("standard", "demo", "characters"))
        assert after.init_scale == (2 * before.init_scale if absolute else before.init_scale), name
        assert after.initialisation == before.initialisation, name
    assert scale(load_preset("luong2015-base"), 0.128).model.init_scale == 0.2795
    assert scale(load_preset("sutskever2014"), 4).model.init_scale == 0.04


def test_plain_sgd_is_clipped_at_a_norm_that_follows_the_sizes_and_keeps_its_rate() -> None:
    for name in preset_names():
        before, after = load_preset(name).training.optimiser, scale(load_preset(name), 0.25).training.optimiser
        assert after.learning_rate == before.learning_rate, name
        norm = before.max_gradient_norm
        assert norm is not None
        assert after.max_gradient_norm == (norm / 2 if before.name == "sgd" else norm), name
    assert scale(load_preset("luong2015-base"), 0.128).training.optimiser.max_gradient_norm == 1.789
    unclipped = override(load_preset("luong2015-base"), ["training.optimiser.max_gradient_norm=null"])
    assert scale(unclipped, 0.25).training.optimiser.max_gradient_norm is None


def test_the_window_of_local_m_follows_the_sentences_of_the_training_text() -> None:
    for name in preset_names():
        attention = scale(load_preset(name), 0.25).model.attention
        assert attention.reference_length == (25.8 if "local-m" in name else None), name
        assert attention.window == 10, name


def test_every_change_is_noted_with_its_reason() -> None:
    before = load_preset("luong2015-local-m-dot")
    notes = dict(scaled_values(before, scale(before, 0.128), 0.128))
    assert notes["model.encoder.size"] == "--scale 0.128: 1000 units x 0.128"
    assert notes["model.init_scale"] == "--scale 0.128: 0.1 / sqrt(0.128); --sizes-only keeps it"
    assert notes["training.optimiser.max_gradient_norm"] == "--scale 0.128: 5 x sqrt(0.128); --sizes-only keeps it"
    assert "mean source length" in notes["model.attention.reference_length"]
    assert "model.readout.rank" not in notes
    assert scaled_values(before, scale(before, 1, sizes_only=True), 1) == []


def test_the_papers_sizes_stay_in_proportion() -> None:
    assert set(_sizes(scale(load_preset("bahdanau2015-groundhog"), 0.1)).items()) == {
        *(("embedding.source", 62), ("embedding.target", 62), ("encoder.size", 100), ("decoder.size", 100)),
        *(("attention.size", 100), ("readout.size", 50), ("readout.rank", 62)),
    }


def test_no_size_falls_below_one() -> None:
    assert set(_sizes(scale(load_preset("cho2014"), 1e-6)).values()) == {1}


def test_rounding_that_breaks_a_relation_is_told() -> None:
    sizes = {"encoder": {"size": 250, "direction": "both"}, "decoder": {"size": 500}, "attention": {"score": "dot"}}
    config = build_config({"model": sizes}, "test")
    assert scale(config, 0.5).model.decoder.size == 250  # 124.999... and 125 would not do
    with pytest.raises(ConfigError, match=r"^--scale 0\.33: model\.attention\.score: dot multiplies states of 165"):
        scale(config, 0.33)
