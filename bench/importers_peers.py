"""Scores and translations by a toolkit's own code, for importers.py; runs in the toolkit's environment, prints JSON.

    PYTHON importers_peers.py joeynmt|opennmt CHECKPOINT SOURCE TARGET --beam K --longest N

Prints for each pair of lines the log-probability of the target (EOS included), the best translation with beam K without
length normalisation, and its log-probability.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch

SENTENCES = 16
"""Batch size of scoring; padding must not matter."""


def main() -> None:
    """Score, translate, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("toolkit", choices=("joeynmt", "opennmt"))
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--beam", type=int, required=True)
    parser.add_argument("--longest", type=int, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    source, target = (path.read_text(encoding="utf-8").splitlines() for path in (options.source, options.target))
    toolkit = {"joeynmt": joeynmt, "opennmt": opennmt}[options.toolkit]
    result = toolkit(options.checkpoint.resolve(), source, target, options.beam, options.longest)
    print(json.dumps(result))


def joeynmt(checkpoint: Path, source: list[str], target: list[str], beam: int, longest: int) -> dict[str, Any]:
    """Score and translate with JoeyNMT's own batches, model and beam search."""
    from importlib.metadata import version

    from joeynmt.batch import Batch
    from joeynmt.config import load_config, parse_global_args
    from joeynmt.helpers import load_checkpoint
    from joeynmt.model import build_model
    from joeynmt.search import search
    from joeynmt.vocabulary import build_vocab

    cpu = torch.device("cpu")
    settings = parse_global_args(load_config(checkpoint.parent / "config.yaml"), rank=0, mode="test")
    source_vocabulary, target_vocabulary = build_vocab(settings.data, model_dir=checkpoint.parent)
    model = build_model(settings.model, source_vocabulary, target_vocabulary)
    model.load_state_dict(load_checkpoint(checkpoint, map_location=cpu)["model_state"])
    model.eval()
    scores, translations, log_probabilities = [], [], []
    for first in range(0, len(source), SENTENCES):
        lines = [line.split(" ") for line in source[first : first + SENTENCES]]
        known = [line.split(" ") for line in target[first : first + SENTENCES]]
        ids, lengths, _ = source_vocabulary.sentences_to_ids(lines, bos=False, eos=True)
        known_ids, _, _ = target_vocabulary.sentences_to_ids(known, bos=True, eos=True)
        batch = Batch(
            src=torch.tensor(ids),
            src_length=torch.tensor(lengths),
            src_prompt_mask=None,
            trg=torch.tensor(known_ids),
            trg_prompt_mask=None,
            indices=torch.arange(len(lines)),
            device=cpu,
            pad_index=model.pad_index,
            eos_index=model.eos_index,
            is_train=False,
        )
        order = batch.sort_by_src_length()
        logits, _, _, _ = model._encode_decode(**vars(batch))
        logs = logits.log_softmax(-1).gather(2, batch.trg.unsqueeze(2)).squeeze(2)
        scores += (logs.double() * (batch.trg != model.pad_index)).sum(1)[order].tolist()
        found, totals, _ = search(model, batch, longest, beam, -1, return_prob="hyp", generate_unk=False)
        for words in target_vocabulary.arrays_to_sentences(found[order], cut_at_eos=True):
            translations.append(" ".join(words[:-1] if words[-1] == "</s>" else words))
        log_probabilities += totals[order, 0].tolist()
    name = f"JoeyNMT {version('joeynmt')}, torch {version('torch')}"
    return {"version": name, "scores": scores, "translations": translations, "log_probabilities": log_probabilities}


def opennmt(checkpoint: Path, source: list[str], target: list[str], beam: int, longest: int) -> dict[str, Any]:
    """Score padded batches with OpenNMT-py's model, and translate with its own inference engine."""
    from importlib.metadata import version

    from onmt.bin.translate import _get_parser
    from onmt.inference_engine import InferenceEnginePY
    from onmt.utils.parse import ArgumentParser

    words = [
        *("-model", str(checkpoint), "-src", "none", "-beam_size", str(beam), "-n_best", "1"),
        *("-length_penalty", "none", "-max_length", str(longest), "-max_length_ratio", "0", "-ban_unk_token"),
        *("-batch_size", "1", "-batch_type", "sents", "-output", "/dev/null"),
    ]
    options = _get_parser().parse_args(words)
    ArgumentParser.validate_translate_opts(options)
    ArgumentParser._get_all_transform_translate(options)
    ArgumentParser._validate_transforms_opts(options)
    ArgumentParser.validate_translate_opts_dynamic(options)
    engine = InferenceEnginePY(options)
    model, vocabularies = engine.translator.model, engine.vocabs
    scores = []
    for first in range(0, len(source), SENTENCES):
        lines = [vocabularies["src"](line.split(" ")) for line in source[first : first + SENTENCES]]
        known = [vocabularies["tgt"](["<s>", *line.split(" "), "</s>"]) for line in target[first : first + SENTENCES]]
        padding = vocabularies["tgt"]["<blank>"]
        words_in, words_out = padded(lines, vocabularies["src"]["<blank>"]), padded(known, padding)
        readouts, _ = model(words_in.unsqueeze(2), words_out.unsqueeze(2), torch.tensor([len(line) for line in lines]))
        logs = model.generator(readouts).log_softmax(-1).gather(2, words_out[:, 1:, None]).squeeze(2)
        scores += (logs.double() * (words_out[:, 1:] != padding)).sum(1).tolist()
    totals, found = engine.infer_list(source)
    name = f"OpenNMT-py {version('OpenNMT-py')}, torch {version('torch')}"
    return {
        "version": name,
        "scores": scores,
        "translations": [n_best[0] for n_best in found],
        "log_probabilities": [float(n_best[0]) for n_best in totals],
    }


def padded(rows: list[list[int]], padding: int) -> torch.Tensor:
    """Pad rows of ids to one tensor, [B, T]."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[padding] * (longest - len(row))] for row in rows])


if __name__ == "__main__":
    main()
