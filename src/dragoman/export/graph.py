"""An ONNX graph written node by node, in float32 or with its matrix products in int8.

Values are written with as few words as in torch: `g.tanh(a) * b`. Sizes that batches change (B, S, R) are never
written into a graph, so one file serves all of them.

In int8, embeddings are kept as whole numbers, a scale a row. Products take each row x of the left side as whole
numbers round(127 x / max|x|) and each column of the weight likewise, and multiply exactly in int32. A row's scale
comes from that row alone: unlike with one scale for a whole batch, its answer does not depend on the rows beside it.
Weights go from -63 to 63 only, because processors without VNNI add two products in 16 bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from dragoman.errors import ConfigError

Array = NDArray[Any]

OPSET = 21
IR_VERSION = 10
_TYPES = {
    "float": TensorProto.FLOAT,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "bool": TensorProto.BOOL,
}
ROW_LEVELS, WEIGHT_LEVELS = 127, 63
_ZERO_POINT = 128
_SMALLEST = np.float32(1e-30)
"""Stands for the scale of a row of zeros."""


class Value:
    """A tensor of a graph, to compute with."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def __add__(self, other: Value) -> Value:
        return self.graph.node("Add", self, other)

    def __sub__(self, other: Value) -> Value:
        return self.graph.node("Sub", self, other)

    def __mul__(self, other: Value) -> Value:
        return self.graph.node("Mul", self, other)

    def __truediv__(self, other: Value) -> Value:
        return self.graph.node("Div", self, other)


class Graph:
    """Nodes and weights so far."""

    def __init__(self, name: str, *, int8: bool = False) -> None:
        self._name, self._int8 = name, int8
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._constants: dict[object, Value] = {}
        self._kept: list[Array] = []  # what `_constants` knows by its id must stay alive
        self._rounded: dict[str, tuple[Value, Value]] = {}

    def input(self, name: str, kind: str, shape: Sequence[int | str]) -> Value:
        """A tensor that is handed in; sizes that vary have a name."""
        self._inputs.append(helper.make_tensor_value_info(name, _TYPES[kind], shape))
        return Value(self, name)

    def output(self, name: str, value: Value, kind: str, shape: Sequence[int | str]) -> None:
        """Hand a tensor out under a name."""
        self._nodes.append(helper.make_node("Identity", [value.name], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, _TYPES[kind], shape))

    def constant(self, array: Array) -> Value:
        """An array of the model; one that is used twice stands once."""
        key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)
        if key not in self._constants:
            self._kept.append(array)
            name = f"constant{len(self._weights)}"
            self._weights.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
            self._constants[key] = Value(self, name)
        return self._constants[key]

    def integers(self, *numbers: int) -> Value:
        """int64 [n]."""
        return self._once(("integers", *numbers), np.array(numbers, np.int64))

    def index(self, number: int) -> Value:
        """int64 []."""
        return self._once(("index", number), np.array(number, np.int64))

    def number(self, number: float) -> Value:
        """float32 []."""
        return self._once(("number", number), np.array(number, np.float32))

    def _once(self, key: object, array: Array) -> Value:
        if key not in self._constants:
            self._constants[key] = self.constant(array)
        return self._constants[key]

    def node(self, kind: str, *inputs: Value | None, domain: str | None = None, **attributes: Any) -> Value:
        """A node with one output."""
        return self.nodes(kind, 1, *inputs, domain=domain, **attributes)[0]

    def nodes(
        self, kind: str, count: int, *inputs: Value | None, domain: str | None = None, **attributes: Any
    ) -> tuple[Value, ...]:
        """A node with several outputs; None stands for an input that is left out."""
        outputs = [f"{kind.lower()}{len(self._nodes)}.{index}" for index in range(count)]
        names = ["" if value is None else value.name for value in inputs]
        self._nodes.append(helper.make_node(kind, names, outputs, domain=domain, **attributes))
        return tuple(Value(self, name) for name in outputs)

    def tanh(self, x: Value) -> Value:
        return self.node("Tanh", x)

    def sigmoid(self, x: Value) -> Value:
        return self.node("Sigmoid", x)

    def matmul(self, x: Value, y: Value) -> Value:
        return self.node("MatMul", x, y)

    def concat(self, *parts: Value, axis: int) -> Value:
        return self.node("Concat", *parts, axis=axis)

    def gather(self, x: Value, indices: Value, axis: int = 0) -> Value:
        return self.node("Gather", x, indices, axis=axis)

    def where(self, condition: Value, x: Value, y: Value) -> Value:
        return self.node("Where", condition, x, y)

    def reshape(self, x: Value, *shape: int | Value) -> Value:
        """0 keeps a size, -1 takes what is left, a Value is int64 [1]."""
        if all(isinstance(size, int) for size in shape):
            return self.node("Reshape", x, self.integers(*(size for size in shape if isinstance(size, int))))
        sizes = (size if isinstance(size, Value) else self.integers(size) for size in shape)
        return self.node("Reshape", x, self.concat(*sizes, axis=0))

    def transpose(self, x: Value, *order: int) -> Value:
        return self.node("Transpose", x, perm=order)

    def unsqueeze(self, x: Value, *axes: int) -> Value:
        return self.node("Unsqueeze", x, self.integers(*axes))

    def size(self, x: Value, axis: int) -> Value:
        """int64 [1]."""
        return self.node("Shape", x, start=axis, end=axis + 1)

    def columns(self, x: Value, start: int, end: int) -> Value:
        """x[..., start:end]."""
        return self.node("Slice", x, self.integers(start), self.integers(end), self.integers(-1))

    def narrowed(self, x: Value, width: Value) -> Value:
        """x[:, :width], width int64 [1]."""
        return self.node("Slice", x, self.integers(0), width, self.integers(1))

    def split(self, x: Value, *sizes: int) -> tuple[Value, ...]:
        """Parts of the last axis."""
        return self.nodes("Split", len(sizes), x, self.integers(*sizes), axis=-1)

    def total(self, x: Value, axis: int) -> Value:
        """The sum over an axis, which stays with size 1."""
        return self.node("ReduceSum", x, self.integers(axis), keepdims=1)

    def to(self, x: Value, kind: str) -> Value:
        return self.node("Cast", x, to=_TYPES[kind])

    def positions(self, x: Value, axis: int) -> Value:
        """0, 1, 2, ... along an axis of x: int64 [n]."""
        size = self.node("Squeeze", self.size(x, axis))
        return self.node("Range", self.index(0), size, self.index(1))

    def zeros(self, like: Value, size: int) -> Value:
        """float32 [N, size] with as many rows as `like`."""
        return self.node("ConstantOfShape", self.concat(self.size(like, 0), self.integers(size), axis=0))

    def look_up(self, table: Array, indices: Value) -> Value:
        """Rows of a table [V, E]; in int8 each has a scale of its own."""
        if not self._int8:
            return self.gather(self.constant(table), indices)
        whole, scale = _in_whole_numbers(table, ROW_LEVELS)
        rows = self.to(self.gather(self.constant(whole), indices), "float")
        return rows * self.gather(self.constant(scale[:, None]), indices)

    def product(self, x: Value, weight: Array, plus: Value | None = None) -> Value:
        """x W^T + plus: [N, n_in] and W of [n_out, n_in] -> [N, n_out]."""
        if self._int8:
            return self._int8_product(x, weight, plus)
        return self.node("Gemm", x, self.constant(weight), plus, transB=1)

    def _int8_product(self, x: Value, weight: Array, plus: Value | None) -> Value:
        rows, scale = self._rounded_rows(x)
        whole, column_scale = _in_whole_numbers(weight, WEIGHT_LEVELS)
        product = self.node(
            "MatMulIntegerToFloat",
            rows,
            self.constant(np.ascontiguousarray(whole.T)),
            self.number(1.0),
            self.constant(column_scale),
            self._once("zero point", np.array(_ZERO_POINT, np.uint8)),
            domain="com.microsoft",
        )
        scaled = product * scale
        return scaled if plus is None else scaled + plus

    def _rounded_rows(self, x: Value) -> tuple[Value, Value]:
        """x as uint8 [N, n] around 128 and the scale of each row, [N, 1]; done once for all products of x.

        Not as int8: onnxruntime has no fast product of two signed matrices for x86.
        """
        if x.name not in self._rounded:
            largest = self.node("ReduceMax", self.node("Abs", x), self.integers(-1), keepdims=0)
            scale = self.node("Max", largest, self.number(float(_SMALLEST))) * self.number(1 / ROW_LEVELS)
            middle = numpy_helper.from_array(np.array([_ZERO_POINT], np.uint8))
            zero_points = self.node("ConstantOfShape", self.node("Shape", scale), value=middle)
            whole = self.node("QuantizeLinear", x, scale, zero_points, axis=0)
            self._rounded[x.name] = whole, self.unsqueeze(scale, 1)
        return self._rounded[x.name]

    def serialise(self, facts: Mapping[str, str]) -> bytes:
        """The file of the graph, with facts about it.

        Raises:
            ConfigError: it is larger than 2 GB, which the format cannot hold.
        """
        graph = helper.make_graph(self._nodes, self._name, self._inputs, self._outputs, self._weights)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="dragoman")
        helper.set_model_props(model, dict(facts))
        if model.ByteSize() >= 2**31:
            raise ConfigError(
                f"the {self._name} graph is {model.ByteSize() / 2**30:.1f} GiB, and an ONNX file holds less than 2; "
                "a smaller vocabulary makes it smaller, --int8 too"
            )
        data: bytes = model.SerializeToString()
        return data


def _in_whole_numbers(matrix: Array, levels: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Each row as whole numbers from -levels to levels, and what they count in."""
    scale = np.maximum(np.abs(matrix).max(axis=1), _SMALLEST) / levels
    return np.rint(matrix / scale[:, None]).astype(np.int8), scale.astype(np.float32)
