"""Dimensionality reduction to the plane by PCA or Barnes-Hut t-SNE, both from scikit-learn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from dragoman.errors import InputError
from dragoman.requests.pictures import ReductionMethod

MIN_POINTS: dict[ReductionMethod, int] = {"pca": 3, "tsne": 5}
"""Minimum number of points of a meaningful map."""

PERPLEXITY = 30.0
"""Perplexity of t-SNE, about the number of neighbours of a point (van der Maaten and Hinton 2008 suggest 5 to 50). With
N < 91 points it is (N - 1) / 3."""

PCA_FIRST = 50
"""Maximum input dimension of t-SNE, after PCA, as in van der Maaten and Hinton 2008."""


class Projection(NamedTuple):
    """Points in the plane, float64 [N, 2], and the labels of the axes."""

    coordinates: NDArray[np.float64]
    axes: tuple[str, str]


def project(vectors: NDArray[np.float32], method: ReductionMethod, *, seed: int = 1) -> Projection:
    """Project `vectors` [N, W] to the plane: along the directions of largest variance (pca), or so that neighbours stay
    neighbours (tsne).

    Raises:
        InputError: there are too few points, they are all equal, or they have one dimension only.
    """
    if len(vectors) < MIN_POINTS[method]:
        raise InputError(
            f"{len(vectors)} points are too few for a map by {method}; give at least {MIN_POINTS[method]} lines"
        )
    if not np.ptp(vectors, axis=0).any():
        raise InputError("all points have the same vector, so there is nothing to draw; give texts that differ")
    if vectors.shape[1] < 2:
        raise InputError("the vectors have one dimension only; there is nothing to project")
    return _principal(vectors) if method == "pca" else _neighbourhoods(vectors, seed)


def _principal(vectors: NDArray[np.float32]) -> Projection:
    """Onto the two principal components of N vectors, [N, n] -> [N, 2]."""
    pca = PCA(2, svd_solver="full")
    coordinates = pca.fit_transform(vectors.astype(np.float64))
    first, second = (
        f"{ordinal} principal component, {100 * share:.1f} % of the variance"
        for ordinal, share in zip(("first", "second"), pca.explained_variance_ratio_, strict=True)
    )
    return Projection(coordinates, (first, second))


def _neighbourhoods(vectors: NDArray[np.float32], seed: int) -> Projection:
    """By t-SNE of the first principal components, [N, n] -> [N, 2]."""
    fewer = min(PCA_FIRST, len(vectors), vectors.shape[1])
    reduced = PCA(fewer, svd_solver="full").fit_transform(vectors.astype(np.float64))
    perplexity = min(PERPLEXITY, (len(vectors) - 1) / 3)
    tsne = TSNE(2, perplexity=perplexity, method="barnes_hut", init="pca", random_state=seed)
    return Projection(tsne.fit_transform(reduced), ("t-SNE, first axis", "t-SNE, second axis"))
