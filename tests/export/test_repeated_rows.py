"""Rows that occur in a step many times, states of one parent or one word, are multiplied once each."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from dragoman.export.graph import Graph

DRAW = np.random.default_rng(3)
STATES, WEIGHT, PLUS = (DRAW.uniform(-1, 1, shape).astype(np.float32) for shape in ((4, 6), (5, 6), (6, 5)))
BIAS = np.arange(5, dtype=np.float32)
PARENTS = np.array([3, 0, 3, 3, 1, 0])


def _session(*, int8: bool, bounded: bool) -> onnxruntime.InferenceSession:
    """states[parents] W^T + b + plus, and the number of rows that were multiplied."""
    g = Graph("repeated", int8=int8)
    parents, plus = g.input("parents", "int64", ["N"]), g.input("plus", "float", ["N", 5])
    rows = g.gather_distinct(g.input("states", "float", ["M", 6], bounded=bounded), g.distinct(parents))
    products = []
    node = g.node

    def recording_node(kind, *inputs, **attributes):  # type: ignore[no-untyped-def]
        value = node(kind, *inputs, **attributes)
        if kind in ("Gemm", "MatMulIntegerToFloat"):
            products.append(value)
        return value

    g.node = recording_node  # type: ignore[method-assign]
    g.output("sums", g.linear(rows, WEIGHT, BIAS, plus), "float", ["N", 5])
    g.output("rows", rows, "float", ["N", 6])
    (product,) = products
    g.output("multiplied", g.size(product, 0), "int64", [1])
    return onnxruntime.InferenceSession(g.serialise({}), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize(("int8", "bounded"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("parents", [PARENTS, np.arange(4), np.array([2])], ids=["repeated", "all", "one"])
def test_each_different_row_is_multiplied_once(parents: np.ndarray, int8: bool, bounded: bool) -> None:
    plus = PLUS[: len(parents)]
    feed = {"parents": parents, "states": STATES, "plus": plus}
    sums, rows, multiplied = _session(int8=int8, bounded=bounded).run(["sums", "rows", "multiplied"], feed)
    assert (rows == STATES[parents]).all()
    assert multiplied == len(set(parents.tolist()))
    expected = STATES[parents] @ WEIGHT.T + BIAS + plus
    np.testing.assert_allclose(sums, expected, atol=0.05 if int8 else 1e-6)
