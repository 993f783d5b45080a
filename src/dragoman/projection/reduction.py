"""Many dimensions to two: principal components, or neighbourhoods by Barnes-Hut t-SNE; both by scikit-learn."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from dragoman.errors import InputError

Method = Literal["pca", "tsne"]

FEWEST: dict[Method, int] = {"pca": 3, "tsne": 5}
"""Points that a map must have to mean anything."""

PERPLEXITY = 30.0
"""Of t-SNE: about how many neighbours a point looks to (van der Maaten and Hinton 2008 name 5 to 50). With fewer than
91 points it is a third of them less one."""

PCA_FIRST = 50
"""Dimensions that t-SNE is given at most: the first principal components, as van der Maaten and Hinton do."""


class Projection(NamedTuple):
    """Points in the plane, float64 [N, 2], and what the axes are."""

    places: NDArray[np.float64]
    axes: tuple[str, str]


def project(vectors: NDArray[np.float32], method: Method, *, seed: int = 1) -> Projection:
    """The plane in which `vectors` [N, W] are spread most widely (pca), or in which neighbours stay neighbours (tsne).

    Raises:
        InputError: there are too few points, or they are all the same.
    """
    if len(vectors) < FEWEST[method]:
        raise InputError(
            f"{len(vectors)} points are too few for a map by {method}; give at least {FEWEST[method]} lines"
        )
    if not np.ptp(vectors, axis=0).any():
        raise InputError("all points have the same vector, so there is nothing to draw; give texts that differ")
    return _principal(vectors) if method == "pca" else _neighbourhoods(vectors, seed)


def _principal(vectors: NDArray[np.float32]) -> Projection:
    if vectors.shape[1] < 2:
        raise InputError("the vectors have one dimension only; there is nothing to project")
    pca = PCA(2, svd_solver="full")
    places = pca.fit_transform(vectors.astype(np.float64))
    first, second = (
        f"{place} principal component, {100 * share:.1f} % of the variance"
        for place, share in zip(("first", "second"), pca.explained_variance_ratio_, strict=True)
    )
    return Projection(places, (first, second))


def _neighbourhoods(vectors: NDArray[np.float32], seed: int) -> Projection:
    fewer = min(PCA_FIRST, len(vectors), vectors.shape[1])
    reduced = PCA(fewer, svd_solver="full").fit_transform(vectors.astype(np.float64))
    perplexity = min(PERPLEXITY, (len(vectors) - 1) / 3)
    tsne = TSNE(2, perplexity=perplexity, method="barnes_hut", init="pca", random_state=seed)
    return Projection(tsne.fit_transform(reduced), ("t-SNE, first axis", "t-SNE, second axis"))
