"""The decoder by itself: gradients of everything that enters it, what is fed, and what each order lets a step know."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from dragoman.model.decoder import Decoder, DecoderOutput, DecoderState
from dragoman.model.encoder import Annotations, InitialState
from dragoman.model.translation import TranslationModel
from tests.compositions import PAIRS, make_batch, model_config, random_model
from tests.model.gradients import assert_gradients

TINY = [
    "embedding.source=2",
    "embedding.target=2",
    "encoder.direction=forward",
    "encoder.size=2",
    "decoder.size=2",
    "attention.size=2",
    "readout.size=2",
    "bridge.kind=zero",
]
B, T, S = 2, 3, 3

DECODERS = {
    "look, then update": [],
    "the state before is read": ["decoder.readout_state=prev"],
    "groundhog": ["decoder.order=groundhog"],
    "two-step": ["decoder.order=two-step", "decoder.reset=after", "decoder.update=keep"],
    "update, then look": ["decoder.order=update-then-look", "attention.score=general", "readout.kind=attentional"],
    "local-p, fed": [
        "decoder.order=update-then-look",
        "decoder.cell=lstm",
        "decoder.layers=2",
        "decoder.input_feeding=true",
        "attention.score=dot",
        "attention.scope=local-p",
        "attention.window=1",
        "readout.kind=attentional",
    ],
    "covered": ["attention.coverage=true"],
    "fixed, in the bracket": [
        "decoder.context=fixed",
        "decoder.reset=after",
        "decoder.update=keep",
        "decoder.context_in_reset=true",
    ],
    "fixed, groundhog, fed": ["decoder.context=fixed", "decoder.order=groundhog", "decoder.input_feeding=true"],
    "nothing of the source, residual": ["decoder.context=none", "decoder.layers=3", "decoder.first_residual_layer=2"],
}


@pytest.mark.parametrize("name", DECODERS)
def test_gradients_of_parameters_words_first_states_and_annotations(name: str) -> None:
    model = random_model(model_config([*TINY, *DECODERS[name]]))
    decoder = model.decoder
    words, initial, annotations = _inputs(model)

    def run() -> torch.Tensor:
        return _unroll(decoder, words, initial, annotations).readout

    tensors = {f"state {number}": part for number, state in enumerate(initial.layers) for part in state[:1]}
    if any("fixed" in setting for setting in DECODERS[name]):
        tensors["summary"] = initial.summary
    elif "decoder.context=none" not in DECODERS[name]:
        tensors["annotations"] = annotations.vectors
    assert_gradients(run, {**dict(decoder.named_parameters()), **tensors, "words": words})


def test_the_first_fed_readout_is_zero_and_the_next_is_the_readout_of_the_step_before() -> None:
    model = random_model(model_config([*TINY, *DECODERS["local-p, fed"]]))
    words, initial, annotations = _inputs(model)
    decoder = model.decoder
    state = decoder.initial_state(initial)
    assert state.input_feed is not None
    assert torch.equal(state.input_feed, torch.zeros(B, 2, dtype=torch.float64))
    bound = decoder.prepare(decoder.precompute(annotations, initial), B)
    output, state = decoder.step(decoder.words(words[:, 0]), state, bound)
    assert state.input_feed is not None
    assert torch.equal(state.input_feed, output.readout)


def test_without_feeding_there_is_one_layer_into_four_gates_less() -> None:
    counts = []
    for fed in ("true", "false"):
        settings = [*TINY, *DECODERS["local-p, fed"], f"decoder.input_feeding={fed}"]
        counts.append(sum(p.numel() for p in random_model(model_config(settings)).parameters()))
    assert counts[0] - counts[1] == 4 * 2 * 2


@pytest.mark.parametrize("order", ["look-then-update", "groundhog"])
def test_a_fixed_context_enters_every_step_and_every_readout(order: str) -> None:
    """With the first state frozen, another context changes every probability (Cho et al. 2014)."""
    model = random_model(model_config([*TINY, "decoder.context=fixed", f"decoder.order={order}"]))
    words, initial, annotations = _inputs(model)
    other = InitialState(initial.layers, initial.summary + 0.1)
    ours, theirs = (
        model.output.log_probabilities(_unroll(model.decoder, words, start, annotations).readout).view(B, T, -1)
        for start in (initial, other)
    )
    assert ((ours - theirs).abs().amax(dim=2) > 1e-4).all()
    # the readout alone, and the state alone
    for part in ("decoder.readout.context.weight", "decoder.context.weight"):
        with torch.no_grad():
            held = dict(model.named_parameters())[part]
            before = held.clone()
            held.zero_()
        outputs = [
            _unroll(model.decoder, words, start, annotations).readout.view(B, T, -1) for start in (initial, other)
        ]
        changed = ((outputs[0] - outputs[1]).abs().amax(dim=2) > 1e-6).all(dim=0).tolist()
        first_state_is_read = order == "groundhog" and part.startswith("decoder.readout")
        assert changed == [not first_state_is_read, True, True]
        with torch.no_grad():
            held.copy_(before)


def test_the_three_readouts_of_rnnsearch_give_different_losses() -> None:
    losses = set()
    for settings in ([], ["decoder.readout_state=prev"], ["decoder.order=groundhog"]):
        model = random_model(model_config(settings))
        losses.add(round(model.loss(make_batch(model, PAIRS)).nll.item(), 3))
    assert len(losses) == 3


@pytest.mark.parametrize(
    ("settings", "first", "later"),
    [
        ([], False, True),  # the query of step t is s_{t-1}, which has read y_{t-2}
        (["decoder.order=groundhog"], True, True),
        (["decoder.order=two-step"], True, True),
        (["decoder.order=update-then-look"], True, True),
    ],
    ids=["look-then-update", "groundhog", "two-step", "update-then-look"],
)
def test_what_a_look_knows_of_the_words_before(settings: list[str], first: bool, later: bool) -> None:
    """Whether weights of step 1 depend on the word read at step 1, and those of step 2 on that same word."""
    model = random_model(model_config([*TINY, *settings]))
    words, initial, annotations = _inputs(model)
    other = words.clone()
    other[:, 1] += 1
    weights = [_weights(_unroll(model.decoder, x, initial, annotations)) for x in (words, other)]
    differ = [bool((a != b).any()) for a, b in zip(weights[0].unbind(1), weights[1].unbind(1), strict=True)]
    assert differ == [False, first, later]


def test_rows_of_a_state_are_repeated_and_dropped_together() -> None:
    rows = torch.tensor([2, 0, 0])
    tensors = [torch.randn(3, 2) for _ in range(5)]
    state = DecoderState(((tensors[0], tensors[1]),), 4, tensors[2], tensors[3], tensors[4])
    selected = state.select(rows)
    assert selected.time == 4
    found: list[Any] = [*selected.layers[0], selected.input_feed, selected.context, selected.coverage]
    for ours, before in zip(found, tensors, strict=True):
        assert torch.equal(ours, before[rows])


def _weights(output: DecoderOutput) -> torch.Tensor:
    assert output.weights is not None
    return output.weights.view(B, T, S)


def _unroll(decoder: Decoder, words: torch.Tensor, initial: InitialState, annotations: Annotations) -> DecoderOutput:
    """All steps from the beginning."""
    memory, state = decoder.precompute(annotations, initial), decoder.initial_state(initial)
    return decoder.unroll_from(words, memory, state, len(words))


def _inputs(model: TranslationModel) -> tuple[torch.Tensor, InitialState, Annotations]:
    """Previous words, first states, annotations of two sentences of different lengths."""
    torch.manual_seed(2)
    draw = {"dtype": torch.float64}
    words, vectors = torch.randn(B, T, 2, **draw), torch.randn(B, S, 2, **draw)
    mask = torch.arange(S) < torch.tensor([3, 2])[:, None]
    layers = tuple(layer.cell.state(torch.randn(B, 2, **draw)) for layer in model.decoder.layers)
    return words, InitialState(layers, torch.randn(B, 2, **draw)), Annotations(vectors, mask, (), vectors[:, 0])


@pytest.mark.parametrize("fed", ["true", "false"])
@pytest.mark.parametrize("scope", ["local-p", "local-m"])
def test_the_centres_of_local_attention_come_out_one_for_each_target_word(scope: str, fed: str) -> None:
    """No weight lies outside [floor(p_t) - D, floor(p_t) + D], and stepping finds the same p_t as unrolling."""
    settings = [*DECODERS["local-p, fed"], f"attention.scope={scope}", f"decoder.input_feeding={fed}"]
    model = random_model(model_config([*TINY, *settings]))
    words, initial, annotations = _inputs(model)
    output = _unroll(model.decoder, words, initial, annotations)
    assert output.centres is not None
    assert output.weights is not None
    centres = output.centres.view(B, T)
    distances = (torch.arange(S) - centres.floor().unsqueeze(2)).abs()
    assert (distances[output.weights.view(B, T, S) > 0] <= 1).all()
    if scope == "local-m":
        last = annotations.mask.sum(dim=1, keepdim=True) - 1
        assert torch.equal(centres.long(), torch.minimum(torch.arange(T), last))
    bound = model.decoder.prepare(model.decoder.precompute(annotations, initial), B)
    state = model.decoder.initial_state(initial)
    for time in range(T):
        step, state = model.decoder.step(model.decoder.words(words[:, time]), state, bound)
        assert step.centres is not None
        torch.testing.assert_close(step.centres, centres[:, time], check_dtype=False)


def test_global_attention_has_no_centres() -> None:
    model = random_model(model_config(TINY))
    assert _unroll(model.decoder, *_inputs(model)).centres is None
