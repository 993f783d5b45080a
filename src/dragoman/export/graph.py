"""An ONNX graph written node by node, in float32 or with its matrix products in int8.

Formulas are as short as in torch: `g.tanh(a) * b`. Sizes that differ between batches (B, S, R) are never constants of
a graph, so one file serves all batches.

In int8, products quantise both sides (quantisation.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from dragoman.errors import ConfigError
from dragoman.export.quantisation import (
    ROW_LEVELS,
    SMALLEST_MAXIMUM,
    ZERO_POINT,
    quantise_columns,
    quantise_table,
)

Array = NDArray[Any]

OPSET = 21
IR_VERSION = 10
_TYPES = {
    "float": TensorProto.FLOAT,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "bool": TensorProto.BOOL,
    "int8": TensorProto.INT8,
}
_BOUNDED = ("Tanh", "Sigmoid", "Softmax")
"""Operators whose results always lie in [-1, 1]."""
_KEEP_BOUNDED = {
    "Concat": None,
    **dict.fromkeys(("Gather", "Split", "Reshape", "Flatten", "Transpose", "ReverseSequence"), 1),
}
"""Operators whose results lie in [-1, 1] if their first inputs do, with the number of these inputs (None: all).

Mul is left out: the product of two such values is much smaller than 1, and the fixed scale for [-1, 1] too coarse."""


class Quantised(NamedTuple):
    """x as uint8 [.., n] around the zero point, and the scale of each row [.., 1]; None for the fixed scale 1 / 127."""

    values: Value
    scale: Value | None


class Distinct(NamedTuple):
    """The different values of int64 [N], ascending [M], and the index [N] of each of the N among them."""

    values: Value
    indices: Value


class Value:
    """A tensor of a graph, with arithmetic operators that add nodes."""

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


LoopStep = Callable[["Graph", Sequence[Value], Sequence[Value]], Sequence[Value]]
"""(graph of the loop's body, states, one entry of each sequence) -> next states."""


class Graph:
    """A graph under construction."""

    def __init__(self, name: str, *, int8: bool = False, prefix: str = "") -> None:
        """An empty graph.

        Args:
            name: the name in the ONNX file.
            int8: whether matrix products are quantised.
            prefix: the beginning of the names of all values, for the body of a loop.
        """
        self._name, self._int8, self._prefix = name, int8, prefix
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._constants: dict[object, Value] = {}
        self._kept: list[Array] = []  # keys of `_constants` are memory addresses, so these arrays must stay alive
        self._quantised: dict[str, Quantised] = {}
        self._distinct: dict[str, Distinct] = {}
        self._repeated: dict[str, tuple[Value, Value]] = {}  # value -> its different rows, and their indices
        self._bounded: set[str] = set()
        self._member = ""

    @property
    def int8(self) -> bool:
        """Whether products are in int8."""
        return self._int8

    @contextmanager
    def member(self, name: str) -> Iterator[None]:
        """Within this context an input or output KIND.REST is named KIND.name.REST; "" changes nothing."""
        self._member = name
        yield
        self._member = ""

    def _full_name(self, name: str) -> str:
        kind, dot, rest = name.partition(".")
        return self._prefix + (f"{kind}.{self._member}.{rest}" if dot and self._member else name)

    def input(self, name: str, kind: str, shape: Sequence[int | str], *, bounded: bool = False) -> Value:
        """Declare an input.

        Args:
            kind: the element type, such as float or int64.
            shape: a name for each size that varies.
            bounded: all its values lie in [-1, 1].
        """
        value = Value(self, self._full_name(name))
        self._inputs.append(helper.make_tensor_value_info(value.name, _TYPES[kind], shape))
        return self.bound(value) if bounded else value

    def output(self, name: str, value: Value, kind: str, shape: Sequence[int | str]) -> None:
        """Declare a value as an output."""
        name = self._full_name(name)
        self._nodes.append(helper.make_node("Identity", [value.name], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, _TYPES[kind], shape))

    def bound(self, value: Value) -> Value:
        """Mark a value as lying in [-1, 1]."""
        self._bounded.add(value.name)
        return value

    def is_bounded(self, value: Value) -> bool:
        """Whether the value is known to lie in [-1, 1]."""
        return value.name in self._bounded

    def constant(self, array: Array) -> Value:
        """Add an array of the model; one that is used twice is stored once."""
        key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)
        if key not in self._constants:
            self._kept.append(array)
            name = f"{self._prefix}constant{len(self._weights)}"
            self._weights.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
            self._constants[key] = Value(self, name)
        return self._constants[key]

    def integers(self, *numbers: int) -> Value:
        """A constant, int64 [n]."""
        return self._once(("integers", *numbers), np.array(numbers, np.int64))

    def index(self, number: int) -> Value:
        """A constant, int64 []."""
        return self._once(("index", number), np.array(number, np.int64))

    def number(self, number: float) -> Value:
        """A constant, float32 []."""
        return self._once(("number", number), np.array(number, np.float32))

    def _once(self, key: object, array: Array) -> Value:
        if key not in self._constants:
            self._constants[key] = self.constant(array)
        return self._constants[key]

    def node(self, kind: str, *inputs: Value | None, domain: str | None = None, **attributes: Any) -> Value:
        """Add a node with one output."""
        return self.nodes(kind, 1, *inputs, domain=domain, **attributes)[0]

    def nodes(
        self, kind: str, count: int, *inputs: Value | None, domain: str | None = None, **attributes: Any
    ) -> tuple[Value, ...]:
        """Add a node with several outputs; None is an omitted optional input."""
        outputs = [f"{self._prefix}{kind.lower()}{len(self._nodes)}.{index}" for index in range(count)]
        names = ["" if value is None else value.name for value in inputs]
        self._nodes.append(helper.make_node(kind, names, outputs, domain=domain, **attributes))
        if kind in _BOUNDED or (kind in _KEEP_BOUNDED and self._bounded.issuperset(names[: _KEEP_BOUNDED[kind]])):
            self._bounded.update(outputs)
        return tuple(Value(self, name) for name in outputs)

    def is_quantised(self, value: Value) -> bool:
        """Whether the value has been quantised already."""
        return value.name in self._quantised

    def scan(
        self, step: LoopStep, states: Sequence[Value], sequences: Mapping[Value, str], *, backward: bool
    ) -> tuple[list[Value], Value]:
        """Run `step` along the first axis of the sequences, from their end if `backward`.

        Args:
            step: builds the next states from the states and from one entry [B, G] of each sequence, in a graph of its
                own. Where the first initial state is bounded, its later values must be, too.
            states: the initial states, [B, H] each.
            sequences: [S, B, G] each, with their element types.

        Returns:
            the last states, and the first state after each step [S, B, H].
        """
        body = Graph("scan", int8=self._int8, prefix=f"scan{len(self._nodes)}.")
        current = [
            body.input(f"state{n}", "float", ["B", "H"], bounded=self.is_bounded(x)) for n, x in enumerate(states)
        ]
        entries = [body.input(f"entry{n}", kind, ["B", "G"]) for n, kind in enumerate(sequences.values())]
        following = step(body, current, entries)
        for n, value in enumerate(following):
            body.output(f"next{n}", value, "float", ["B", "H"])
        body.output("stacked", following[0], "float", ["B", "H"])
        *last, stacked = self.nodes(
            "Scan",
            len(states) + 1,
            *states,
            *sequences,
            body=body._as_proto(),
            num_scan_inputs=len(sequences),
            scan_input_directions=[int(backward)] * len(sequences),
            scan_output_directions=[int(backward)],
        )
        if self.is_bounded(states[0]):
            self._bounded.update((last[0].name, stacked.name))
        return last, stacked

    def tanh(self, x: Value) -> Value:
        """The hyperbolic tangent of each element."""
        return self.node("Tanh", x)

    def sigmoid(self, x: Value) -> Value:
        """1 / (1 + exp(-x)) of each element."""
        return self.node("Sigmoid", x)

    def matmul(self, x: Value, y: Value) -> Value:
        """The product of matrices, [..., m, k] and [..., k, n] -> [..., m, n]."""
        return self.node("MatMul", x, y)

    def concat(self, *parts: Value, axis: int) -> Value:
        """The parts side by side along an axis."""
        return self.node("Concat", *parts, axis=axis)

    def gather(self, x: Value, indices: Value, axis: int = 0) -> Value:
        """The entries of x at the indices of an axis."""
        return self.node("Gather", x, indices, axis=axis)

    def distinct(self, x: Value) -> Distinct:
        """The different values of int64 [N]."""
        if x.name not in self._distinct:
            values, _, indices = self.nodes("Unique", 3, x, sorted=1)
            self._distinct[x.name] = Distinct(values, indices)
        return self._distinct[x.name]

    def gather_distinct(self, x: Value, rows: Distinct) -> Value:
        """The rows of x, [M', n] -> [N, n]; linear layers are applied once to each different row."""
        return self.repeat_rows(self.gather(x, rows.values), rows.indices)

    def repeat_rows(self, x: Value, indices: Value) -> Value:
        """x[indices], [M, n] -> [N, n]; linear layers are applied to the rows of x and their results repeated."""
        value = self.gather(x, indices)
        self._repeated[value.name] = x, indices
        return value

    def where(self, condition: Value, x: Value, y: Value) -> Value:
        """x where the condition holds, y elsewhere; bounded if both are."""
        chosen = self.node("Where", condition, x, y)
        return self.bound(chosen) if self.is_bounded(x) and self.is_bounded(y) else chosen

    def reshape(self, x: Value, *shape: int | Value) -> Value:
        """x in another shape: 0 keeps a size, -1 is inferred, a Value is int64 [1]."""
        if all(isinstance(size, int) for size in shape):
            return self.node("Reshape", x, self.integers(*(size for size in shape if isinstance(size, int))))
        sizes = (size if isinstance(size, Value) else self.integers(size) for size in shape)
        return self.node("Reshape", x, self.concat(*sizes, axis=0))

    def flatten(self, x: Value, axis: int) -> Value:
        """x as a matrix: [product of the sizes before the axis, product of the others]."""
        return self.node("Flatten", x, axis=axis)

    def transpose(self, x: Value, *order: int) -> Value:
        """x with its axes in another order."""
        return self.node("Transpose", x, perm=order)

    def unsqueeze(self, x: Value, *axes: int) -> Value:
        """x with new axes of size 1 at these positions."""
        return self.node("Unsqueeze", x, self.integers(*axes))

    def size(self, x: Value, axis: int) -> Value:
        """The size of an axis, int64 [1]."""
        return self.node("Shape", x, start=axis, end=axis + 1)

    def columns(self, x: Value, start: int, end: int) -> Value:
        """x[..., start:end]."""
        return self.node("Slice", x, self.integers(start), self.integers(end), self.integers(-1))

    def narrowed(self, x: Value, width: Value) -> Value:
        """x[:, :width], width int64 [1]."""
        return self.node("Slice", x, self.integers(0), width, self.integers(1))

    def split(self, x: Value, *sizes: int) -> tuple[Value, ...]:
        """Split the last axis into parts of these sizes."""
        return self.nodes("Split", len(sizes), x, self.integers(*sizes), axis=-1)

    def total(self, x: Value, axis: int) -> Value:
        """The sum over an axis, which is kept with size 1."""
        return self.node("ReduceSum", x, self.integers(axis), keepdims=1)

    def to(self, x: Value, kind: str) -> Value:
        """x in another type, by its name in `_TYPES`."""
        return self.node("Cast", x, to=_TYPES[kind])

    def positions(self, x: Value, axis: int) -> Value:
        """0, 1, 2, ... along an axis of x: int64 [n]."""
        size = self.node("Squeeze", self.size(x, axis))
        return self.node("Range", self.index(0), size, self.index(1))

    def zeros(self, like: Value, size: int) -> Value:
        """Zeros, float32 [N, size], with as many rows as `like`."""
        return self.node("ConstantOfShape", self.concat(self.size(like, 0), self.integers(size), axis=0))

    def look_up(self, table: Array, indices: Value, mask: Value | None = None) -> Value:
        """Rows of a table [V, E]: indices [..] -> [.., E]; zero where the mask, bool [M] for indices [M], is false."""
        factor = None if mask is None else self.unsqueeze(self.to(mask, "float"), 1)  # [M] -> [M, 1]
        if not self._int8:
            vectors = self.gather(self.constant(table), indices)
            return vectors if factor is None else vectors * factor
        quantised, scales = quantise_table(table)
        values = self.gather(self.constant(quantised), indices)
        scale = self.gather(self.constant(scales), indices)  # [.., 1]
        scale = scale if factor is None else scale * factor
        vectors = (self.to(values, "float") - self.number(ZERO_POINT)) * scale
        self._quantised[vectors.name] = Quantised(values, scale)
        return vectors

    def linear(self, x: Value, weight: Array, bias: Array | None = None, plus: Value | None = None) -> Value:
        """W x + b + plus for W [n_out, n_in]: [.., n_in] -> [.., n_out]; in float32 x must be a matrix."""
        if x.name in self._repeated:
            rows, indices = self._repeated[x.name]
            y = self.gather(self.linear(rows, weight, bias), indices)
            return y if plus is None else y + plus
        b = None if bias is None else self.constant(bias)
        if self._int8:
            columns, scales = quantise_columns(weight)
            y = self.quantised_matmul(self.quantise(x), self.constant(columns), self.constant(scales), b)
            return y if plus is None else y + plus
        if b is None or plus is None:
            return self.node("Gemm", x, self.constant(weight), plus if b is None else b, transB=1)
        return self.node("Gemm", x, self.constant(weight), b, transB=1) + plus

    def quantised_matmul(self, x: Quantised, columns: Value, scales: Value, bias: Value | None = None) -> Value:
        """The product of quantised rows with int8 columns [n_in, n_out], whose scales are [n_out]."""
        unit = self.number(1 / ROW_LEVELS if x.scale is None else 1.0)
        zero_point = self._once("zero point", np.array(ZERO_POINT, np.uint8))
        inputs: list[Value | None] = [x.values, columns, unit, scales, zero_point]
        if x.scale is None:
            added = [] if bias is None else [None, bias]
            return self.node("MatMulIntegerToFloat", *inputs, *added, domain="com.microsoft")
        product = self.node("MatMulIntegerToFloat", *inputs, domain="com.microsoft") * x.scale
        return product if bias is None else product + bias

    def quantise(self, x: Value) -> Quantised:
        """Quantise the rows of x, once for all products of x.

        As uint8 instead of int8: onnxruntime has no fast product of two signed matrices for x86.
        """
        if x.name in self._quantised:
            return self._quantised[x.name]
        if self.is_bounded(x):
            zero_point = self._once("zero point", np.array(ZERO_POINT, np.uint8))
            quantised = Quantised(self.node("QuantizeLinear", x, self.number(1 / ROW_LEVELS), zero_point), None)
        else:
            largest = self.node("ReduceMax", self.node("Abs", x), self.integers(-1), keepdims=0)  # [N, n] -> [N]
            scale = self.node("Max", largest, self.number(float(SMALLEST_MAXIMUM))) * self.number(1 / ROW_LEVELS)
            zero_point_of_all = numpy_helper.from_array(np.array([ZERO_POINT], np.uint8))
            zero_points = self.node("ConstantOfShape", self.node("Shape", scale), value=zero_point_of_all)  # [N]
            values = self.node("QuantizeLinear", x, scale, zero_points, axis=0)
            quantised = Quantised(values, self.unsqueeze(scale, 1))  # [N] -> [N, 1]
        self._quantised[x.name] = quantised
        return quantised

    def _as_proto(self) -> onnx.GraphProto:
        """The graph with the nodes and the weights on which an output depends."""
        used = {output.name for output in self._outputs}
        nodes = []
        for node in reversed(self._nodes):
            if used.intersection(node.output):
                nodes.append(node)
                used.update(node.input)
        weights = [weight for weight in self._weights if weight.name in used]
        return helper.make_graph(nodes[::-1], self._name, self._inputs, self._outputs, weights)

    def serialise(self, facts: Mapping[str, str]) -> bytes:
        """Return the bytes of the ONNX file, with `facts` as its metadata.

        Raises:
            ConfigError: the graph is larger than 2 GiB, which an ONNX file cannot hold.
        """
        graph = self._as_proto()
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
