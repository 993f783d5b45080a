"""Models that are one model said in two ways, and what follows from the papers' equations without computing them."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from dragoman.model.assembly import build
from dragoman.model.attention import AttentionMemory, AttentionResult
from dragoman.model.encoder import Annotations, InitialState
from dragoman.model.translation import TranslationModel
from tests.compositions import COMPOSITIONS, PAIRS, make_batch, model_config, random_model

LSTM = [*COMPOSITIONS["no attention"], "decoder.first_input=bos"]
LUONG_DOT = [*COMPOSITIONS["luong"], "attention.score=dot"]
"""Global attention over a reversed source: what reversal does to positions, nothing in it can see."""


class ForcedContext(torch.nn.Module):
    """In place of attention: at every step [last forward state; zeros], whatever the query."""

    def __init__(self, forward_size: int) -> None:
        super().__init__()
        self.forward_size = forward_size

    def precompute(self, annotations: Annotations, initial: InitialState) -> AttentionMemory:
        lengths = annotations.mask.sum(dim=1)
        last = annotations.vectors[torch.arange(len(lengths)), lengths - 1]
        context = torch.cat((last[:, : self.forward_size], torch.zeros_like(last[:, self.forward_size :])), dim=1)
        return AttentionMemory(context[:, None], annotations.mask[:, :1], context[:, None])

    def prepare(self, memory: AttentionMemory) -> Callable[..., AttentionResult]:
        return lambda queries, times, coverage=None: AttentionResult(
            memory.vectors[:, 0].repeat_interleave(len(queries) // len(memory.vectors), dim=0), None
        )


@pytest.mark.parametrize("order", ["look-then-update", "groundhog"])
@pytest.mark.parametrize("reads", ["current", "prev"])
def test_rnnsearch_with_its_context_forced_to_the_last_forward_state_is_rnnencdec(order: str, reads: str) -> None:
    """C loses the columns of the backward states; the first state comes from the forward one in both."""
    if order == "groundhog" and reads == "prev":
        return  # its readout sees the state before in any case
    common = [f"decoder.order={order}", f"decoder.readout_state={reads}", "bridge.kind=tanh-last"]
    search = random_model(model_config(common))
    plain = random_model(model_config([*common, "encoder.direction=forward", "decoder.context=fixed"]), seed=4)
    size = plain.encoder.layers[0].cell.size
    weights = dict(search.named_parameters())
    with torch.no_grad():
        search.bridge.maps[0].weight[:, size:] = 0
        for name, parameter in plain.named_parameters():
            of_search = weights[name]
            if name.startswith("encoder."):
                of_search = of_search[0]
            if name in ("decoder.context.weight", "decoder.readout.context.weight", "bridge.maps.0.weight"):
                of_search = of_search[:, :size]
            parameter.copy_(of_search)
    free = _log_probabilities(search)
    search.decoder.attention = ForcedContext(size)
    forced = _log_probabilities(search)
    torch.testing.assert_close(forced, _log_probabilities(plain), atol=1e-12, rtol=0)
    assert not torch.allclose(free, forced, atol=1e-3)


@pytest.mark.parametrize("settings", [LSTM, [*LSTM, "source_eos=false"], LUONG_DOT, [*LUONG_DOT, "source_eos=true"]])
def test_a_source_reversed_by_hand_and_read_forward_is_that_source_read_backwards(settings: list[str]) -> None:
    """The end mark stays last."""
    backward = random_model(model_config(settings))
    forward = random_model(model_config([*settings, "encoder.direction=forward"]))
    forward.load_state_dict(backward.state_dict())
    turned = [(source[::-1], target) for source, target in PAIRS]
    by_hand = forward.force(make_batch(forward, turned)).log_probabilities
    torch.testing.assert_close(_log_probabilities(backward), by_hand, atol=1e-12, rtol=0)
    assert not torch.allclose(by_hand, _log_probabilities(forward), atol=1e-3)


@pytest.mark.parametrize("name", ["rnnsearch", "cho", "two-step, gru", "groundhog, fixed, fed"])
def test_a_model_that_keeps_is_one_that_writes_with_its_update_gates_negated(name: str) -> None:
    settings = {**COMPOSITIONS, "two-step, gru": ["decoder.order=two-step"]}[name]
    keep, write = (
        random_model(model_config([*settings, f"encoder.update={update}", f"decoder.update={update}"]))
        for update in ("keep", "write")
    )
    write.load_state_dict(keep.state_dict())
    with torch.no_grad():
        for key, parameter in write.named_parameters():
            rows = parameter.dim() - (1 if key.endswith("bias") else 2)
            if key.endswith("recurrent_gates.weight"):  # r, z
                parameter.chunk(2, rows)[1].neg_()
            elif ".inputs." in key or key in ("decoder.context.weight", "decoder.feed.weight"):  # r, z, candidate
                parameter.chunk(3, rows)[1].neg_()
    torch.testing.assert_close(_log_probabilities(keep), _log_probabilities(write), atol=1e-12, rtol=0)


@pytest.mark.parametrize(
    ("fused", "plain"),
    [
        (
            ["encoder.cell=lstm-fused", "encoder.layers=2", "decoder.cell=lstm-fused", "decoder.layers=2"],
            ["encoder.cell=lstm", "encoder.layers=2", "decoder.cell=lstm", "decoder.layers=2"],
        ),
        (
            ["encoder.cell=gru-fused", "decoder.cell=gru-fused"],
            ["encoder.cell=gru", "decoder.cell=gru"],
        ),
    ],
    ids=["lstm", "gru"],
)
@pytest.mark.parametrize("direction", ["forward", "reversed", "both"])
def test_fused_cells_are_the_written_out_ones(fused: list[str], plain: list[str], direction: str) -> None:
    """In encoder and decoder, in a padded batch, with the same gradients; a GRU's inner bias is zero here, since what
    is written out has none (test_encoder has the kernel against the cell with it)."""
    common = [f"encoder.direction={direction}", "bridge.kind=mean", "decoder.input_feeding=true"]
    if "gru" in fused[0]:
        common += [f"{part}.{switch}" for part in ("encoder", "decoder") for switch in ("reset=after", "update=keep")]
    ours = random_model(model_config([*fused, *common]))
    theirs = random_model(model_config([*plain, *common]))
    with torch.no_grad():
        for name, parameter in ours.named_parameters():
            if name.endswith("recurrent.bias"):
                parameter.zero_()
    theirs.load_state_dict({name: x for name, x in ours.state_dict().items() if not name.endswith("recurrent.bias")})
    gradients = []
    for model in (ours, theirs):
        model.loss(make_batch(model, PAIRS)).objective.backward()
        gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
    torch.testing.assert_close(_log_probabilities(ours), _log_probabilities(theirs), atol=1e-12, rtol=0)
    for name, expected in gradients[1].items():
        torch.testing.assert_close(gradients[0][name], expected, atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize("part", ["encoder", "decoder"])
def test_a_residual_layer_that_does_nothing_is_not_there(part: str) -> None:
    """A tanh layer of zero weights has output zero; added to its input, it is the input."""
    common = ["encoder.cell=tanh", "decoder.cell=tanh", "bridge.kind=zero", "decoder.order=update-then-look"]
    deep = random_model(model_config([*common, f"{part}.layers=2", f"{part}.first_residual_layer=2"]))
    with torch.no_grad():
        for parameter in (deep.encoder if part == "encoder" else deep.decoder).layers[1].parameters():
            parameter.zero_()
    flat = random_model(model_config(common))
    flat.load_state_dict({name: x for name, x in deep.state_dict().items() if f"{part}.layers.1." not in name})
    torch.testing.assert_close(_log_probabilities(deep), _log_probabilities(flat), atol=1e-12, rtol=0)


@pytest.mark.parametrize("settings", [["decoder.context=fixed"], ["decoder.context=none"], ["decoder.order=groundhog"]])
def test_a_tanh_cell_without_recurrent_weights_has_no_memory(settings: list[str]) -> None:
    """Two targets that differ in their first word have the same probabilities from the third on."""
    model = random_model(
        model_config(
            [*settings, "encoder.cell=tanh", "decoder.cell=tanh", "encoder.direction=forward", "bridge.kind=tanh-last"]
        )
    )
    if settings == ["decoder.order=groundhog"]:
        with torch.no_grad():
            model.decoder.context.weight.zero_()  # what was seen depends on the state
    with torch.no_grad():
        model.decoder.layers[0].cell.recurrent.weight.zero_()
    ones = model.force(make_batch(model, [([4, 5, 6], [7, 8, 9, 10])])).log_probabilities
    others = model.force(make_batch(model, [([4, 5, 6], [11, 8, 9, 10])])).log_probabilities
    assert torch.equal(ones[0, 2:], others[0, 2:])
    assert not torch.isclose(ones[0, 1], others[0, 1])


@pytest.mark.parametrize("name", ["rnnsearch", "cho", "luong", "two-step"])
def test_probabilities_of_all_strings_up_to_two_words_sum_to_less_than_one(name: str) -> None:
    """Three words and the four symbols that every vocabulary has; with what begins but does not end, to one."""
    torch.manual_seed(3)
    model = build(model_config(COMPOSITIONS[name]), 7, 7).double().eval()
    strings = [list(words) for length in range(3) for words in itertools.product((4, 5, 6), repeat=length)]
    assert len(strings) == 13
    scores = model.force(make_batch(model, [([4, 6], string) for string in strings])).log_probabilities.sum(1)
    assert 0 < scores.exp().sum().item() < 1
    everything = [list(words) for length in range(3) for words in itertools.product(range(7), repeat=length)]
    everything = [string for string in everything if 3 not in string]
    logs = model.force(make_batch(model, [([4, 6], string) for string in everything])).log_probabilities
    ended = logs.sum(1).exp().sum()
    begun = sum(logs[row, :2].sum().exp() for row, string in enumerate(everything) if len(string) == 2)
    ended_by_two = sum(logs[row].sum().exp() for row, string in enumerate(everything) if len(string) == 2)
    assert (ended - ended_by_two + begun).item() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("name", ["rnnsearch", "luong"])
def test_a_batch_twice_has_twice_the_summed_gradient_and_as_many_sentences(name: str) -> None:
    """So divided by sentences it stays, as in Sutskever et al. 2014; a token more is no sentence more."""
    gradients, sentences = [], []
    for pairs in (PAIRS, PAIRS * 2):
        model = random_model(model_config(COMPOSITIONS[name]))
        loss = model.loss(make_batch(model, pairs))
        (loss.objective / loss.sentences).backward()
        sentences.append(loss.sentences)
        gradients.append([parameter.grad for parameter in model.parameters()])
    assert sentences == [4, 8]
    for once, twice in zip(*gradients, strict=True):
        torch.testing.assert_close(once, twice, atol=1e-12, rtol=1e-10)


def _log_probabilities(model: TranslationModel) -> Tensor:
    return model.force(make_batch(model, PAIRS)).log_probabilities
