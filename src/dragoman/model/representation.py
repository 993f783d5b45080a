"""Vector representations of whole sources: the summary, and the final encoder states."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.model.encoder import Annotations
from dragoman.model.translation import TranslationModel


@torch.inference_mode()
def summaries(model: TranslationModel, source: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
    """The summary c of each source of a batch: [B, S] -> [B, W] (Cho et al. 2014, section 2.2 and appendix)."""
    return _array(model.bridge(_annotations(model, source, lengths)).summary)


@torch.inference_mode()
def final_states(model: TranslationModel, source: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
    """The states of all layers after the last symbol, side by side: [B, S] -> [B, layers * parts * W]."""
    last = _annotations(model, source, lengths).last
    return _array(torch.cat([part for state in last for part in state], dim=1))


def _annotations(model: TranslationModel, source: NDArray[np.int64], lengths: NDArray[np.int64]) -> Annotations:
    """The annotations of a source batch [B, S], without dropout."""
    assert not model.training, "dropout is off, so that representations are deterministic"
    vectors = model.source(torch.from_numpy(source).to(model.device))
    annotations: Annotations = model.encoder(vectors, torch.from_numpy(lengths))
    return annotations


def _array(tensor: torch.Tensor) -> NDArray[np.float32]:
    return np.asarray(tensor.float().cpu().numpy(), np.float32)
