"""An imported model: its vocabulary converted, and how it is written as a run folder.

Special symbols of another toolkit's vocabulary get Dragoman's ids; all other entries stay in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dragoman.config.building import build_config
from dragoman.errors import InputError, RunError
from dragoman.model.assembly import assemble
from dragoman.model.weights import restore_weights, save_weights, weights_of
from dragoman.runs.layout import RunFolder
from dragoman.runs.new_run import NewRun
from dragoman.runs.parts import is_marked
from dragoman.stored_files import read_regular
from dragoman.text.segmentation import train_segmentation
from dragoman.text.side import TextSide
from dragoman.text.vocabulary import SPECIALS, Vocabulary


class SpecialSymbols(NamedTuple):
    """A toolkit's spelling of the special symbols, in the order of Dragoman's ids."""

    pad: str
    unknown: str
    begin: str
    end: str


class ImportedVocabulary(NamedTuple):
    """A converted vocabulary with the original ids of its entries.

    pieces: the entries without special symbols, in the order of their new ids
    rows:   the toolkit's id for each new id, special symbols included, int64 [V]
    where:  the vocabulary's name in error messages
    """

    pieces: list[str]
    rows: Tensor
    where: str

    def arrange(self, parameter: Tensor) -> Tensor:
        """Reorder a parameter with one row for each entry, [V, ...] -> [V, ...], to the new ids.

        Raises:
            InputError: the parameter has another number of rows.
        """
        if len(parameter) != len(self.rows):
            raise InputError(
                f"{self.where}: has {len(self.rows):,} entries, but the model has {len(parameter):,}; it belongs to "
                "another model"
            )
        return parameter[self.rows]


def read_vocabulary_lines(path: Path) -> list[str]:
    """Read the lines of a vocabulary file.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        return read_regular(path).decode().removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise InputError(f"{path}: cannot read the vocabulary: {reason}") from None


def import_vocabulary(tokens: Sequence[str], symbols: SpecialSymbols, where: str) -> ImportedVocabulary:
    """Reorder the entries of a vocabulary; `where` names it in error messages.

    An entry that a vocabulary file cannot represent, or that is spelled like a special symbol without being one, keeps
    its row under a name that occurs in no text: it must stay in the softmax.

    Raises:
        InputError: a special symbol is missing.
    """
    known = {token: index for index, token in reversed(list(enumerate(tokens)))}
    for symbol in symbols:
        if symbol not in known:
            raise InputError(f"{where}: has no {symbol}, which the model cannot do without")
    special = [known[symbol] for symbol in symbols]
    others = [index for index in range(len(tokens)) if index not in special]
    taken = set(SPECIALS)
    pieces = []
    for index in others:
        piece = tokens[index]
        pieces.append(f"<entry {index}>" if not piece or "\n" in piece or piece in taken else piece)
        taken.add(piece)
    return ImportedVocabulary(pieces, torch.tensor(special + others), where)


class ImportedSide(NamedTuple):
    """The vocabulary and segmentation of one side; `text` has keys of `text.source`."""

    entries: ImportedVocabulary
    text: dict[str, Any]


class ImportedModel(NamedTuple):
    """A converted model of another toolkit.

    model, search: keys of the configuration
    weights:       by parameter name; a tied matrix may stand under each of its names
    notes:         messages for the user, a line each
    """

    source: ImportedSide
    target: ImportedSide
    model: dict[str, Any]
    search: dict[str, Any]
    weights: dict[str, Tensor]
    notes: list[str]


def embedding_keys(embeddings: Sequence[Tensor], output: Tensor, *, joint: bool) -> dict[str, Any]:
    """Return the keys of `model.embedding` from the embeddings [V, E] of both sides and the output matrix [V, O].

    Args:
        joint: whether both sides have the same vocabulary.
    """
    source, target = embeddings
    tied = "none"
    if torch.equal(target, output):
        tied = "all" if joint and torch.equal(source, output) else "output"
    return {"source": source.shape[1], "target": target.shape[1], "tied": tied}


def write_run(imported: ImportedModel, checkpoint: Path, out: Path, *, overwrite: bool = False) -> RunFolder:
    """Write config.yaml, text/ and the weights into the folder `out`; an older run there is whole until all is written.

    Raises:
        ConfigError: no configuration describes the model.
        RunError: as for `runs.new_run.require_free`, or the weights have the wrong shapes.
        InputError: a file cannot be written, or a SentencePiece model cannot be used.
    """
    sides = [{**side.text, "vocabulary": max(len(side.entries.rows), 8)} for side in (imported.source, imported.target)]
    joint = imported.source.entries.pieces == imported.target.entries.pieces
    text = {"source": sides[0], "target": sides[1], "joint": joint}
    config = build_config({"text": text, "model": imported.model, "search": imported.search}, str(checkpoint))
    vocabularies = [Vocabulary(side.entries.pieces) for side in (imported.source, imported.target)]
    model = assemble(config.model, *map(len, vocabularies))
    own = {name: imported.weights[name] for name in weights_of(model) if name in imported.weights}
    restore_weights(model, own, checkpoint)
    segmentations = [train_segmentation(side, ()) for side in (config.text.source, config.text.target)]
    if is_marked(out) and not overwrite:
        raise RunError(f"{out}: a run is there already; --overwrite replaces it, or give another path")
    with NewRun(out, config, overwrite=overwrite, inputs=[checkpoint]) as new:
        TextSide(segmentations[0], vocabularies[0]).save(new.folder.text, "source")
        TextSide(segmentations[1], vocabularies[1]).save(new.folder.text, "target")
        save_weights(new.folder.weights, weights_of(model))
        return new.take_place()
