from __future__ import annotations

import pytest
import torch
from torch import Tensor

from dragoman.model.dropout import Dropout, DropUnits
from dragoman.model.fast.dropout import dropout
from dragoman.model.translation import TranslationModel
from tests.compositions import PAIRS, make_batch, model_config, random_model
from tests.model.forms import both_forms, in_form


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5])
def test_about_as_many_units_are_dropped_and_the_mean_stays(probability: float) -> None:
    torch.manual_seed(1)
    y = dropout(torch.ones(200, 500), probability)
    assert (y == 0).float().mean().item() == pytest.approx(probability, abs=0.005)
    assert y.mean().item() == pytest.approx(1, abs=0.01)


def test_kept_units_are_scaled_by_the_exact_inverse_of_the_rounded_probability() -> None:
    y = dropout(torch.ones(1000), 0.3)
    assert y.unique().tolist() == pytest.approx([0, 256 / (256 - 77)])


def test_gradient_goes_through_kept_units_alone() -> None:
    x = torch.randn(1000, dtype=torch.float64, requires_grad=True)
    y = dropout(x, 0.5)
    y.sum().backward()
    torch.testing.assert_close(x.grad, torch.where(y == 0, 0.0, 2.0).double())


@pytest.mark.parametrize(("probability", "training"), [(0.5, False), (0.0, True)])
@both_forms
def test_nothing_changes_outside_training_or_at_zero(probability: float, training: bool, fast: bool) -> None:
    x = torch.randn(1, 2, 5)
    assert in_form(Dropout(probability), fast).train(training)(x) is x


def test_masks_follow_from_the_seed_and_differ_from_call_to_call() -> None:
    x = torch.ones(100)
    torch.manual_seed(5)
    first, second = dropout(x, 0.5), dropout(x, 0.5)
    torch.manual_seed(5)
    assert torch.equal(dropout(x, 0.5), first)
    assert not torch.equal(first, second)


def test_every_shape_gets_a_mask_of_its_own_size() -> None:
    for shape in [(1,), (7,), (3, 5), (2, 3, 4)]:
        assert dropout(torch.ones(shape), 0.5).shape == shape


@both_forms
def test_variational_masks_are_the_same_at_every_step_of_a_sentence_and_differ_between_sentences(fast: bool) -> None:
    torch.manual_seed(1)
    place = in_form(Dropout(0.5, variational=True), fast).train()
    y = place(torch.ones(3, 4, 100))
    for sentence in range(3):
        assert all(torch.equal(y[sentence, step], y[sentence, 0]) for step in range(4))
    assert not torch.equal(y[0], y[1])
    assert not torch.equal(place(torch.ones(3, 4, 100)), y)  # another batch, other masks


@both_forms
def test_variational_masks_hold_for_one_unrolling_whatever_rows_a_sentence_has(fast: bool) -> None:
    torch.manual_seed(1)
    drop = in_form(Dropout(0.5, variational=True), fast).train().prepare(2)
    steps = [drop(torch.ones(rows, 100)) for rows in (2, 2, 6)]
    assert torch.equal(steps[0], steps[1])
    assert torch.equal(steps[2], steps[0].repeat_interleave(3, dim=0))


@both_forms
def test_other_masks_differ_from_step_to_step(fast: bool) -> None:
    torch.manual_seed(1)
    y = in_form(Dropout(0.5), fast).train()(torch.ones(3, 4, 100))
    assert len({tuple(step.tolist()) for sentence in y for step in sentence}) == 12


@pytest.mark.parametrize("variational", [False, True])
@both_forms
def test_the_mean_over_many_masks_is_what_went_in(variational: bool, fast: bool) -> None:
    torch.manual_seed(1)
    x = torch.randn(1, 3, 5).expand(20000, -1, -1)
    y = in_form(Dropout(0.3, variational=variational), fast).train()(x)
    torch.testing.assert_close(y.mean(0), x[0], atol=0.05, rtol=0)
    assert (y == 0).float().mean().item() == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize("variational", [False, True])
@both_forms
def test_a_share_of_the_strength_drops_a_share_of_the_units(variational: bool, fast: bool) -> None:
    torch.manual_seed(1)
    place = in_form(Dropout(0.5, variational=variational), fast).train()
    place.strength = 0.5
    y = place(torch.ones(2000, 1, 50))
    assert (y == 0).float().mean().item() == pytest.approx(0.25, abs=0.01)
    assert y.mean().item() == pytest.approx(1, abs=0.02)
    place.strength = 0.0
    x = torch.ones(2, 1, 5)
    assert place(x) is x


def test_the_strength_is_that_of_all_places_and_of_word_dropout() -> None:
    settings = ["dropout.embedding=0.5", "dropout.readout=0.5", "dropout.recurrent=0.5", "dropout.words=0.5"]
    model = random_model(model_config(settings)).train()
    batch = make_batch(model, PAIRS)
    model.set_dropout_strength(0.0)
    assert torch.equal(model.loss(batch).nll, model.eval().loss(batch).nll)
    model.train().set_dropout_strength(1.0)
    losses = {model.loss(batch).nll.item() for _ in range(3)}
    assert len(losses) == 3


class Recording(Dropout):
    """Remembers the mask of every call, by unrolling: what came out over what went in."""

    def __init__(self, place: Dropout) -> None:
        super().__init__(place.probability, variational=place.variational)
        self.dropout = place.dropout
        self.unrollings: list[list[Tensor]] = []

    def prepare(self, sentences: int) -> DropUnits:
        drop, masks = super().prepare(sentences), []
        self.unrollings.append(masks)

        def recorded(x: Tensor) -> Tensor:
            y = drop(x)
            masks.append(torch.where(x == 0, torch.nan, (y != 0).double()))  # a zero says nothing of its mask
            return y

        return recorded


def agree(ours: Tensor, others: Tensor) -> bool:
    both = ~(ours.isnan() | others.isnan())
    assert both.any()
    return torch.equal(ours[both], others[both])


@pytest.mark.parametrize("order", ["look-then-update", "update-then-look", "two-step"])
def test_recurrent_dropout_drops_the_same_units_at_every_step_of_encoder_and_decoder(order: str) -> None:
    layers = ["encoder.layers=2", f"decoder.layers={1 if order == 'two-step' else 2}"]
    settings = [*layers, f"decoder.order={order}", "dropout.recurrent=0.5", "decoder.size=40", "encoder.size=20"]
    model = random_model(model_config(settings)).train()
    encoder = model.encoder.recurrent_dropout = Recording(model.encoder.recurrent_dropout)
    decoder = model.decoder.recurrent_dropout = Recording(model.decoder.recurrent_dropout)
    torch.manual_seed(1)
    batch = make_batch(model, PAIRS)
    model.loss(batch).objective.backward()
    for place, steps in ((encoder, batch.source.shape[1]), (decoder, batch.target.shape[1])):
        assert len(place.unrollings) == 2  # a layer each, or the two cells of a step
        assert all(len(masks) == steps for masks in place.unrollings)
        for masks in place.unrollings:
            assert all(agree(mask, masks[1]) for mask in masks[1:])
            rows = masks[-1].flatten(0, -2)  # sentences, or sentences of each direction
            assert not any(agree(rows[0], row) for row in rows[1:])
        first, second = (masks[-1] for masks in place.unrollings)
        assert not agree(first, second)


@pytest.mark.parametrize("order", ["look-then-update", "update-then-look"])
@pytest.mark.parametrize("variational", [True, False])
def test_layers_of_a_decoder_have_masks_of_their_own(variational: bool, order: str) -> None:
    settings = [f"dropout.variational={str(variational).lower()}", "dropout.layers=0.5", f"decoder.order={order}"]
    model = random_model(model_config([*settings, "decoder.layers=3", "decoder.size=40"])).train()
    place = model.decoder.dropout = Recording(model.decoder.dropout)
    torch.manual_seed(1)
    batch = make_batch(model, PAIRS)
    model.loss(batch)
    steps = batch.target.shape[1]
    by_layer = [torch.stack([m.view(len(PAIRS), -1, 40) for m in masks]) for masks in place.unrollings]
    by_layer = [masks.transpose(0, 1).reshape(len(PAIRS), steps, 40) for masks in by_layer]
    assert len(by_layer) == 2
    assert not agree(by_layer[0], by_layer[1])
    for masks in by_layer:
        assert not agree(masks[0], masks[1])
        same = [agree(masks[sentence, 0], masks[sentence, t]) for sentence in range(4) for t in range(1, steps)]
        assert all(same) if variational else not any(same)


def test_layers_of_an_encoder_drop_the_same_units_at_every_word_where_that_is_asked_for() -> None:
    settings = ["dropout.variational=true", "dropout.layers=0.5", "encoder.layers=3", "encoder.size=20"]
    model = random_model(model_config(settings)).train()
    place = model.encoder.dropout = Recording(model.encoder.dropout)
    torch.manual_seed(1)
    model.loss(make_batch(model, PAIRS))
    assert len(place.unrollings) == 2
    for (mask,) in place.unrollings:
        assert all(agree(mask[:, 0], mask[:, t]) for t in range(1, mask.shape[1]))
        assert not agree(mask[0], mask[1])
    assert not agree(place.unrollings[0][0], place.unrollings[1][0])


PLACES = ["embedding", "layers", "annotations", "readout", "input_feed", "words", "recurrent"]
DEEP = [
    "encoder.layers=2",
    "decoder.layers=2",
    "decoder.cell=lstm",
    "decoder.input_feeding=true",
    "bridge.kind=mean",
]


@pytest.mark.parametrize("variational", ["true", "false"])
@pytest.mark.parametrize("place", PLACES)
def test_every_place_drops_in_training_and_nothing_outside_it(place: str, variational: str) -> None:
    plain = random_model(model_config(DEEP))
    model = random_model(model_config([*DEEP, f"dropout.{place}=0.5", f"dropout.variational={variational}"]))
    batch = make_batch(model, PAIRS)
    expected = plain.loss(batch).nll.item()
    assert model.eval().loss(batch).nll.item() == expected
    assert len({model.train().loss(batch).nll.item() for _ in range(3)} | {expected}) == 4


def test_whole_words_are_dropped_about_as_often_as_they_should_be() -> None:
    model: TranslationModel = random_model(model_config(["dropout.words=0.25"])).train()
    words = torch.full((40, 100), 5)
    torch.manual_seed(1)
    vectors = model._drop_words(model.source(words), words)
    zero = (vectors == 0).all(dim=-1)
    assert torch.equal(vectors[~zero], model.source(words)[~zero])  # not scaled up
    assert zero.double().mean().item() == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("settings", [[], ["decoder.order=update-then-look", "dropout.variational=true"]])
def test_gradients_under_dropout_are_those_of_the_masks_that_were_drawn(settings: list[str]) -> None:
    """The same seed draws the same masks, so that finite differences make sense."""
    places = [f"dropout.{place}=0.3" for place in PLACES]
    model = random_model(model_config([*DEEP, *places, *settings])).train()
    batch = make_batch(model, PAIRS)

    def loss() -> Tensor:
        torch.manual_seed(5)
        return model.loss(batch, 0.1).objective

    loss().backward()
    generator = torch.Generator().manual_seed(7)
    for name, parameter in model.named_parameters():
        direction = torch.randn(parameter.shape, dtype=torch.float64, generator=generator)
        if name in ("source.weight", "target.weight"):
            direction[0] = 0  # padding
        ends = []
        for step in (1e-6, -1e-6):
            with torch.no_grad():
                parameter += step * direction
                ends.append(loss().item())
                parameter -= step * direction
        assert parameter.grad is not None
        along = (parameter.grad * direction).sum().item()
        assert along == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-6), name
