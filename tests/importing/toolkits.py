"""Models with the parameters and the equations of JoeyNMT 2.x and OpenNMT-py 3.x, made of the library's modules.

They are no copies: a sentence at a time, a step at a time. Their parameters have the toolkits' names, so that what they
save is what the toolkits would.
"""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import Tensor, nn

WORDS = ["der", "Hund", "läuft", "@-@", "x", "y", "."]


class JoeyNMT(nn.Module):
    """h_t = f([y; a]), c_t from h_t, a_t = tanh(W [h_t; c_t] + b); the source ends with EOS."""

    specials = ("<unk>", "<pad>", "<s>", "</s>")

    def __init__(
        self,
        *,
        rnn: str = "gru",
        layers: int = 1,
        attention: str = "bahdanau",
        feed: bool = False,
        initial: str = "bridge",
        size: int = 5,
        scale: bool = False,
        tied: bool = False,
        shared: bool = False,
    ) -> None:
        super().__init__()
        self.source_words, self.target_words = [*self.specials, *WORDS], [*self.specials, "a", "b", "c"]
        if shared:
            self.target_words = self.source_words
        kind, words = {"gru": nn.GRU, "lstm": nn.LSTM}[rnn], size if tied else 4
        self.initial, self.feed, self.scale, self.tied, self.rnn = initial, feed, scale, tied, rnn
        self.src_embed, self.trg_embed, self.encoder, self.decoder = (nn.Module() for _ in range(4))
        self.src_embed.lut = nn.Embedding(len(self.source_words), 4)
        self.trg_embed.lut = nn.Embedding(len(self.target_words), words)
        self.encoder.rnn = kind(4, 3, layers, batch_first=True, bidirectional=True)
        self.decoder.rnn = kind(words + feed * size, size, layers, batch_first=True)
        self.decoder.att_vector_layer = nn.Linear(size + 6, size)
        self.decoder.output_layer = nn.Linear(size, len(self.target_words), bias=False)
        self.decoder.attention = nn.Module()
        self.decoder.attention.key_layer = nn.Linear(6, size, bias=False)
        if attention == "bahdanau":
            self.decoder.attention.query_layer = nn.Linear(size, size, bias=False)
            self.decoder.attention.energy_layer = nn.Linear(size, 1, bias=False)
        if initial == "bridge":
            self.decoder.bridge_layer = nn.Linear(6, size)
        _draw(self)
        if shared:
            self.trg_embed.lut = self.src_embed.lut
        if tied:
            self.decoder.output_layer.weight = self.trg_embed.lut.weight

    @torch.no_grad()
    def log_probabilities(self, source: Sequence[str], target: Sequence[str]) -> Tensor:
        """Of each target word and of the end of sentence, [T + 1]."""
        ids = _ids(self.source_words, [*source, "</s>"])
        known = _ids(self.target_words, ["<s>", *target, "</s>"])
        root = math.sqrt(self.trg_embed.lut.weight.shape[1]) if self.scale else 1.0
        annotations, last = self.encoder.rnn(self.src_embed.lut(ids)[None] * (2.0 if self.scale else 1.0))
        last = last[0] if self.rnn == "lstm" else last
        state = self._first(torch.cat((last[-2], last[-1]), dim=1))
        keys, decoder = self.decoder.attention.key_layer(annotations), self.decoder
        fed = annotations.new_zeros(1, decoder.att_vector_layer.out_features)
        logs = []
        for previous, word in pairwise(known):
            vector = self.trg_embed.lut(previous[None]) * root
            output, state = decoder.rnn(torch.cat((vector, fed), dim=1)[None] if self.feed else vector[None], state)
            query = output[:, 0]
            if hasattr(decoder.attention, "query_layer"):
                inner = torch.tanh(decoder.attention.query_layer(query)[:, None] + keys)
                energies = decoder.attention.energy_layer(inner)[..., 0]
            else:
                energies = torch.einsum("bh,bsh->bs", query, keys)
            context = torch.einsum("bs,bsw->bw", energies.softmax(1), annotations)
            fed = torch.tanh(decoder.att_vector_layer(torch.cat((query, context), dim=1)))
            logs.append(decoder.output_layer(fed).log_softmax(1)[0, word])
        return torch.stack(logs)

    def _first(self, last: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        size, layers = self.decoder.rnn.hidden_size, self.decoder.rnn.num_layers
        if self.initial == "bridge":
            hidden = torch.tanh(self.decoder.bridge_layer(last))
        elif self.initial == "last":
            hidden = last[:, :size]  # all of it, or the forward half
        else:
            hidden = last.new_zeros(1, size)
        hidden = hidden.expand(layers, 1, size).contiguous()
        return (hidden, hidden) if self.rnn == "lstm" else hidden

    def save(self, folder: Path, **settings: Any) -> Path:
        """What the toolkit writes into its model folder; `settings` replace sections of its configuration."""
        folder.mkdir(parents=True, exist_ok=True)
        embedding = {"embedding_dim": 4, "scale": self.scale}
        config = {
            "data": {"src": {"lang": "de", "level": "word"}, "trg": {"lang": "en", "level": "word"}},
            "model": {
                "encoder": {"type": "recurrent", "embeddings": embedding},
                "decoder": {"type": "recurrent", "embeddings": embedding, "init_hidden": self.initial},
            },
            **settings,
        }
        (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        for name, words in (("src_vocab.txt", self.source_words), ("trg_vocab.txt", self.target_words)):
            (folder / name).write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
        state = {"model_state": self.state_dict(), "optimizer_state": {}, "stats_state": {"steps": 7}}
        torch.save(state, folder / "7.ckpt")
        return folder / "7.ckpt"


class OpenNMT(nn.Module):
    """h_t = f([y; a]), c_t from h_t, a_t = tanh(W [c_t; h_t]), or without the tanh; the source has no EOS."""

    specials = ("<unk>", "<blank>", "<s>", "</s>")

    def __init__(
        self,
        *,
        rnn: str = "LSTM",
        layers: int = 1,
        attention: str = "general",
        feed: bool = True,
        both: bool = True,
        tied: bool = False,
    ) -> None:
        super().__init__()
        self.source_words = [*self.specials, *WORDS]
        self.target_words = self.source_words if tied else [*self.specials, "a", "<pad>", "b", "averyunlikelytoken0"]
        self.rnn, self.attention, self.feed, self.both, size = rnn, attention, feed, both, 6
        words = size if tied else 4
        self.encoder, self.decoder = nn.Module(), nn.Module()
        self.encoder.embeddings, self.decoder.embeddings = (
            _lookup(len(entries), words) for entries in (self.source_words, self.target_words)
        )
        kind = getattr(nn, rnn)
        width = size // 2 if both else size
        self.encoder.rnn = kind(words, width, layers, batch_first=True, bidirectional=both)
        if feed:
            cell = nn.LSTMCell if rnn == "LSTM" else nn.GRUCell
            self.decoder.rnn = nn.Module()
            inputs = [words + size, *[size] * (layers - 1)]
            self.decoder.rnn.layers = nn.ModuleList([cell(n_in, size) for n_in in inputs])
        else:
            self.decoder.rnn = kind(words, size, layers, batch_first=True)
        self.decoder.attn = nn.Module()
        if attention == "general":
            self.decoder.attn.linear_in = nn.Linear(size, size, bias=False)
        elif attention == "mlp":
            self.decoder.attn.linear_context = nn.Linear(size, size, bias=False)
            self.decoder.attn.linear_query = nn.Linear(size, size)
            self.decoder.attn.v = nn.Linear(size, 1, bias=False)
        self.decoder.attn.linear_out = nn.Linear(2 * size, size, bias=attention == "mlp")
        self.generator = nn.Linear(size, len(self.target_words))
        _draw(self)
        if tied:
            shared = self.encoder.embeddings.make_embedding.emb_luts[0].weight
            self.decoder.embeddings.make_embedding.emb_luts[0].weight = self.generator.weight = shared

    @torch.no_grad()
    def log_probabilities(self, source: Sequence[str], target: Sequence[str]) -> Tensor:
        """Of each target word and of the end of sentence, [T + 1]."""
        ids, known = _ids(self.source_words, source), _ids(self.target_words, ["<s>", *target, "</s>"])
        annotations, last = self.encoder.rnn(self.encoder.embeddings.make_embedding.emb_luts[0](ids)[None])
        state = [self._side_by_side(part) for part in (last if self.rnn == "LSTM" else (last,))]
        fed = annotations.new_zeros(1, 6)
        logs = []
        for previous, word in pairwise(known):
            vector = self.decoder.embeddings.make_embedding.emb_luts[0](previous[None])
            query, state = self._update(torch.cat((vector, fed), dim=1) if self.feed else vector, state)
            fed = self._look(query, annotations)
            logs.append(self.generator(fed).log_softmax(1)[0, word])
        return torch.stack(logs)

    def _side_by_side(self, part: Tensor) -> Tensor:
        return torch.cat((part[0::2], part[1::2]), dim=2) if self.both else part

    def _update(self, x: Tensor, state: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        lstm = self.rnn == "LSTM"
        if not self.feed:
            output, after = self.decoder.rnn(x[None], tuple(state) if lstm else state[0])
            return output[:, 0], list(after) if lstm else [after]
        after = []
        for number, cell in enumerate(self.decoder.rnn.layers):
            before = [part[number] for part in state]
            new = cell(x, tuple(before)) if lstm else (cell(x, before[0]),)
            after.append(new)
            x = new[0]
        return x, [torch.stack(parts) for parts in zip(*after, strict=True)]

    def _look(self, query: Tensor, annotations: Tensor) -> Tensor:
        attn = self.decoder.attn
        if self.attention == "mlp":
            inner = torch.tanh(attn.linear_query(query)[:, None] + attn.linear_context(annotations))
            energies = attn.v(inner)[..., 0]
        else:
            compared = attn.linear_in(query) if self.attention == "general" else query
            energies = torch.einsum("bh,bsh->bs", compared, annotations)
        context = torch.einsum("bs,bsw->bw", energies.softmax(1), annotations)
        mixed: Tensor = attn.linear_out(torch.cat((context, query), dim=1))
        return mixed if self.attention == "mlp" else torch.tanh(mixed)

    def save(self, folder: Path, **options: Any) -> Path:
        """What the toolkit writes; `options` replace its own."""
        folder.mkdir(parents=True, exist_ok=True)
        own = {
            "model_task": "seq2seq",
            "encoder_type": "brnn" if self.both else "rnn",
            "decoder_type": "rnn",
            "rnn_type": self.rnn,
            "global_attention": self.attention,
            "transforms": [],
        }
        state = {name: tensor for name, tensor in self.state_dict().items() if "generator" not in name}
        vocabularies = {"src": self.source_words, "tgt": self.target_words, "decoder_start_token": "<s>"}
        checkpoint = {
            "model": state,
            "generator": self.generator.state_dict(),
            "vocab": vocabularies,
            "opt": Namespace(**{**own, **options}),
        }
        torch.save(checkpoint, folder / "m_step_7.pt")
        return folder / "m_step_7.pt"


def _lookup(entries: int, size: int) -> nn.Module:
    module = nn.Module()
    module.make_embedding = nn.Module()
    module.make_embedding.emb_luts = nn.ModuleList([nn.Embedding(entries, size)])
    return module


def _draw(module: nn.Module) -> None:
    torch.manual_seed(1)
    for parameter in module.parameters():
        nn.init.uniform_(parameter, -1, 1)  # large enough that gates, tanh and softmax all matter


def _ids(entries: Sequence[str], words: Sequence[str]) -> Tensor:
    return torch.tensor([entries.index(word) if word in entries else entries.index("<unk>") for word in words])
