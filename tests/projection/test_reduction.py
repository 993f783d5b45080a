"""Projections to the plane."""

import numpy as np
import pytest

from dragoman.errors import InputError
from dragoman.projection.reduction import project


def test_pca_is_that_of_the_singular_value_decomposition():
    vectors = np.random.default_rng(1).normal(size=(40, 6)).astype(np.float32) * [5, 3, 1, 1, 1, 1]
    projection = project(vectors.astype(np.float32), "pca")
    centred = vectors - vectors.mean(axis=0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(np.abs(projection.coordinates), np.abs(left[:, :2] * values[:2]), atol=1e-5)
    share = 100 * values[0] ** 2 / (values**2).sum()
    assert projection.axes[0] == f"first principal component, {share:.1f} % of the variance"


@pytest.mark.parametrize("size", [30, 200])
def test_tsne_keeps_clusters_together_and_is_repeatable(size):
    draw = np.random.default_rng(1)
    middles = draw.normal(size=(3, 60)) * 20
    cluster = np.arange(size) % 3
    vectors = (middles[cluster] + draw.normal(size=(size, 60))).astype(np.float32)
    places = project(vectors, "tsne", seed=3).coordinates
    assert np.array_equal(places, project(vectors, "tsne", seed=3).coordinates)
    nearest = [np.argsort(((places - place) ** 2).sum(axis=1))[1] for place in places]
    assert (cluster[nearest] == cluster).all()


@pytest.mark.parametrize(("method", "fewest"), [("pca", 3), ("tsne", 5)])
def test_too_few_points_are_an_error(method, fewest):
    vectors = np.eye(8, dtype=np.float32)
    assert project(vectors[:fewest], method).coordinates.shape == (fewest, 2)
    with pytest.raises(
        InputError, match=f"{fewest - 1} points are too few for a map by {method}; give at least {fewest}"
    ):
        project(vectors[: fewest - 1], method)


@pytest.mark.parametrize("method", ["pca", "tsne"])
def test_identical_points_are_an_error(method):
    with pytest.raises(InputError, match="all points have the same vector"):
        project(np.ones((6, 4), np.float32), method)


def test_one_dimension_is_not_projected():
    for method in ("pca", "tsne"):
        with pytest.raises(InputError, match="one dimension only"):
            project(np.arange(6, dtype=np.float32)[:, None], method)
