"""An ONNX graph written node by node, in float32 or with its matrix products in int8.

Values are written with as few words as in torch: `g.tanh(a) * b`. Sizes that batches change (B, S, R) are never
written into a graph, so one file serves all of them.

In int8, embeddings are kept as whole numbers, a scale a row, and products take them as they are. Of other rows x on the
left side of a product those that fill [-1, 1] and cannot leave it (states of most cells, what tanh gives, means of
such) become round(127 x), which is one operation; the others become round(127 x / max|x|). Each column of a weight is
rounded like the latter; the products are exact, in int32. A row's scale comes from that row alone: unlike with one
scale for a whole batch, its answer does not depend on the rows beside it. Weights go from -63 to 63 only, because
processors without VNNI add two products in 16 bits.
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
ROW_LEVELS, WEIGHT_LEVELS = 127, 63
_ZERO_POINT = 128
_SMALLEST = np.float32(1e-30)
"""Stands for the scale of a row of zeros."""
_BETWEEN_ONES = ("Tanh", "Sigmoid", "Softmax")
_KEEP_BETWEEN_ONES = {
    "Concat": None,
    **dict.fromkeys(("Gather", "Split", "Reshape", "Flatten", "Transpose", "ReverseSequence"), 1),
}
"""Operators whose results lie in [-1, 1] always, and if their first inputs do: how many, None for all.

Not the product of two such values: it is much smaller than 1, and a scale for [-1, 1] too coarse for it."""


class Quantised(NamedTuple):
    """x as uint8 [.., n] around 128, and what it counts in: [.., 1] a row, None where that is 1 / 127 for all."""

    whole: Value
    scale: Value | None


class Distinct(NamedTuple):
    """Numbers [N] without repetition: [M] ascending, and the place of each of the N among them."""

    numbers: Value
    places: Value


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


Step = Callable[["Graph", Sequence[Value], Sequence[Value]], Sequence[Value]]
"""The inner graph, states and what is read -> the next states."""


class Graph:
    """Nodes and weights so far."""

    def __init__(self, name: str, *, int8: bool = False, prefix: str = "") -> None:
        """`prefix` begins the names of all values, for a graph inside another."""
        self._name, self._int8, self._prefix = name, int8, prefix
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._constants: dict[object, Value] = {}
        self._kept: list[Array] = []  # what `_constants` knows by its id must stay alive
        self._quantised: dict[str, Quantised] = {}
        self._distinct: dict[str, Distinct] = {}
        self._once_each: dict[str, tuple[Value, Value]] = {}  # rows that stand once each, and which of them a value has
        self._bounded: set[str] = set()
        self._member = ""

    @property
    def int8(self) -> bool:
        """Whether products are in int8."""
        return self._int8

    @contextmanager
    def member(self, name: str) -> Iterator[None]:
        """While inside, KIND.REST of an input or output is called KIND.name.REST; "" leaves it as it is."""
        self._member = name
        yield
        self._member = ""

    def _called(self, name: str) -> str:
        kind, dot, rest = name.partition(".")
        return self._prefix + (f"{kind}.{self._member}.{rest}" if dot and self._member else name)

    def input(self, name: str, kind: str, shape: Sequence[int | str], *, bounded: bool = False) -> Value:
        """A tensor that is handed in; sizes that vary have a name. bounded: nothing in it leaves [-1, 1]."""
        value = Value(self, self._called(name))
        self._inputs.append(helper.make_tensor_value_info(value.name, _TYPES[kind], shape))
        return self.bound(value) if bounded else value

    def output(self, name: str, value: Value, kind: str, shape: Sequence[int | str]) -> None:
        """Hand a tensor out under a name."""
        name = self._called(name)
        self._nodes.append(helper.make_node("Identity", [value.name], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, _TYPES[kind], shape))

    def bound(self, value: Value) -> Value:
        """The same, known not to leave [-1, 1]."""
        self._bounded.add(value.name)
        return value

    def is_bounded(self, value: Value) -> bool:
        """Whether nothing in it can leave [-1, 1]."""
        return value.name in self._bounded

    def constant(self, array: Array) -> Value:
        """An array of the model; one that is used twice stands once."""
        key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)
        if key not in self._constants:
            self._kept.append(array)
            name = f"{self._prefix}constant{len(self._weights)}"
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
        outputs = [f"{self._prefix}{kind.lower()}{len(self._nodes)}.{index}" for index in range(count)]
        names = ["" if value is None else value.name for value in inputs]
        self._nodes.append(helper.make_node(kind, names, outputs, domain=domain, **attributes))
        if kind in _BETWEEN_ONES or (
            kind in _KEEP_BETWEEN_ONES and self._bounded.issuperset(names[: _KEEP_BETWEEN_ONES[kind]])
        ):
            self._bounded.update(outputs)
        return tuple(Value(self, name) for name in outputs)

    def is_quantised(self, value: Value) -> bool:
        """Whether it has been quantised already."""
        return value.name in self._quantised

    def scan(
        self, step: Step, states: Sequence[Value], read: Mapping[Value, str], *, backward: bool
    ) -> tuple[list[Value], Value]:
        """Run `step` over the first axis of what is read, or from its end.

        `step` makes the next states [B, H] of the states and of one entry of each thing read, in a graph of its own;
        if the first of these is known not to leave [-1, 1] at the start, it must not later either. Of what is read the
        type is given.

        Returns:
            the last states, and the first state after each step [S, B, H].
        """
        inner = Graph("scan", int8=self._int8, prefix=f"scan{len(self._nodes)}.")
        held = [inner.input(f"state{n}", "float", ["B", "H"], bounded=self.is_bounded(x)) for n, x in enumerate(states)]
        step_inputs = [inner.input(f"read{place}", kind, ["B", "G"]) for place, kind in enumerate(read.values())]
        after = step(inner, held, step_inputs)
        for place, value in enumerate(after):
            inner.output(f"after{place}", value, "float", ["B", "H"])
        inner.output("seen", after[0], "float", ["B", "H"])
        *last, seen = self.nodes(
            "Scan",
            len(states) + 1,
            *states,
            *read,
            body=inner._as_proto(),
            num_scan_inputs=len(read),
            scan_input_directions=[int(backward)] * len(read),
            scan_output_directions=[int(backward)],
        )
        if self.is_bounded(states[0]):
            self._bounded.update((last[0].name, seen.name))
        return last, seen

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

    def distinct(self, numbers: Value) -> Distinct:
        """Of int64 [N]."""
        if numbers.name not in self._distinct:
            different, _, places = self.nodes("Unique", 3, numbers, sorted=1)
            self._distinct[numbers.name] = Distinct(different, places)
        return self._distinct[numbers.name]

    def taken(self, x: Value, rows: Distinct) -> Value:
        """x [M', n] -> [N, n], its products made once for each different row."""
        return self.spread(self.gather(x, rows.numbers), rows.places)

    def spread(self, x: Value, places: Value) -> Value:
        """Rows of x [M, n] that stand in many places: [N, n], its products made once for each row of x."""
        value = self.gather(x, places)
        self._once_each[value.name] = x, places
        return value

    def where(self, condition: Value, x: Value, y: Value) -> Value:
        chosen = self.node("Where", condition, x, y)
        return self.bound(chosen) if self.is_bounded(x) and self.is_bounded(y) else chosen

    def reshape(self, x: Value, *shape: int | Value) -> Value:
        """0 keeps a size, -1 takes what is left, a Value is int64 [1]."""
        if all(isinstance(size, int) for size in shape):
            return self.node("Reshape", x, self.integers(*(size for size in shape if isinstance(size, int))))
        sizes = (size if isinstance(size, Value) else self.integers(size) for size in shape)
        return self.node("Reshape", x, self.concat(*sizes, axis=0))

    def flatten(self, x: Value, axis: int) -> Value:
        """[product of the axes before, product of the others]."""
        return self.node("Flatten", x, axis=axis)

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

    def look_up(self, table: Array, indices: Value, there: Value | None = None) -> Value:
        """Rows of a table [V, E], zero where `there`, bool of the shape of the indices, is false."""
        kept = None if there is None else self.unsqueeze(self.to(there, "float"), 1)
        if not self._int8:
            vectors = self.gather(self.constant(table), indices)
            return vectors if kept is None else vectors * kept
        numbers, scales = _quantise(table, ROW_LEVELS)
        whole = self.gather(self.constant((numbers.astype(np.int16) + _ZERO_POINT).astype(np.uint8)), indices)
        scale = self.gather(self.constant(scales[:, None]), indices)
        scale = scale if kept is None else scale * kept
        vectors = (self.to(whole, "float") - self.number(_ZERO_POINT)) * scale
        self._quantised[vectors.name] = Quantised(whole, scale)
        return vectors

    def product(self, x: Value, weight: Array, bias: Array | None = None, plus: Value | None = None) -> Value:
        """W x + b + plus for rows of x: [.., n_in] and W of [n_out, n_in] -> [.., n_out]; in float32 [N, n_in] only."""
        if x.name in self._once_each:
            rows, places = self._once_each[x.name]
            product = self.gather(self.product(rows, weight, bias), places)
            return product if plus is None else product + plus
        b = None if bias is None else self.constant(bias)
        if self._int8:
            columns, scales = quantise_columns(weight)
            product = self.quantised_matmul(self.quantise(x), self.constant(columns), self.constant(scales), b)
            return product if plus is None else product + plus
        if b is None or plus is None:
            return self.node("Gemm", x, self.constant(weight), plus if b is None else b, transB=1)
        return self.node("Gemm", x, self.constant(weight), b, transB=1) + plus

    def quantised_matmul(self, x: Quantised, columns: Value, scales: Value, bias: Value | None = None) -> Value:
        """The product of quantised rows with int8 columns [n_in, n_out], whose scales are [n_out]."""
        unit = self.number(1 / ROW_LEVELS if x.scale is None else 1.0)
        middle = self._once("zero point", np.array(_ZERO_POINT, np.uint8))
        inputs: list[Value | None] = [x.whole, columns, unit, scales, middle]
        if x.scale is None:
            added = [] if bias is None else [None, bias]
            return self.node("MatMulIntegerToFloat", *inputs, *added, domain="com.microsoft")
        product = self.node("MatMulIntegerToFloat", *inputs, domain="com.microsoft") * x.scale
        return product if bias is None else product + bias

    def quantise(self, x: Value) -> Quantised:
        """x in 8-bit integers; quantised once for all products of x.

        Not as int8: onnxruntime has no fast product of two signed matrices for x86.
        """
        if x.name not in self._quantised:
            self._quantised[x.name] = self._quantise_bounded(x) if self.is_bounded(x) else self._quantise_by_row(x)
        return self._quantised[x.name]

    def _quantise_bounded(self, x: Value) -> Quantised:
        middle = self._once("zero point", np.array(_ZERO_POINT, np.uint8))
        return Quantised(self.node("QuantizeLinear", x, self.number(1 / ROW_LEVELS), middle), None)

    def _quantise_by_row(self, x: Value) -> Quantised:
        """x of [N, n]."""
        largest = self.node("ReduceMax", self.node("Abs", x), self.integers(-1), keepdims=0)
        scale = self.node("Max", largest, self.number(float(_SMALLEST))) * self.number(1 / ROW_LEVELS)
        middle = numpy_helper.from_array(np.array([_ZERO_POINT], np.uint8))
        zero_points = self.node("ConstantOfShape", self.node("Shape", scale), value=middle)
        whole = self.node("QuantizeLinear", x, scale, zero_points, axis=0)
        return Quantised(whole, self.unsqueeze(scale, 1))

    def _used_nodes(self) -> tuple[list[onnx.NodeProto], set[str]]:
        """Those that an output needs, and the names of all values that these read."""
        used = {output.name for output in self._outputs}
        nodes = []
        for node in reversed(self._nodes):
            if used.intersection(node.output):
                nodes.append(node)
                used.update(node.input)
        return nodes[::-1], used

    def _as_proto(self) -> onnx.GraphProto:
        nodes, used = self._used_nodes()
        weights = [weight for weight in self._weights if weight.name in used]
        return helper.make_graph(nodes, self._name, self._inputs, self._outputs, weights)

    def serialise(self, facts: Mapping[str, str]) -> bytes:
        """The file of the graph, with facts about it.

        Raises:
            ConfigError: it is larger than 2 GB, which the format cannot hold.
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


def quantise_columns(weight: Array) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """W of [n_out, n_in] as what `Graph.int8_product` takes: [n_in, n_out], and what each column counts in."""
    whole, scales = _quantise(weight, WEIGHT_LEVELS)
    return np.ascontiguousarray(whole.T), scales


def _quantise(matrix: Array, levels: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Each row as whole numbers from -levels to levels, and what they count in."""
    scale = np.maximum(np.abs(matrix).max(axis=1), _SMALLEST) / levels
    return np.rint(matrix / scale[:, None]).astype(np.int8), scale.astype(np.float32)
