"""Graphs and shortlists that fit their digests but are not what `dragoman export` wrote."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from dragoman.engines.onnx_engine import OnnxEngine, refers_to_files
from dragoman.engines.shortlist import Shortlist
from dragoman.errors import RunError
from dragoman.export.writing import Graphs, make_graphs

from ..compositions import small_model

SOURCE = np.array([[4, 5, 3]]), np.array([3])


@pytest.fixture(scope="module")
def graphs() -> Graphs:
    return make_graphs([small_model("rnnsearch").float()])


def changed(graph: bytes, change: Callable[[onnx.ModelProto], object]) -> bytes:
    model = onnx.load_from_string(graph)
    change(model)
    return model.SerializeToString()


def external(model: onnx.ModelProto, path: str = "secret") -> None:
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=path)


def test_a_tensor_in_another_file_is_refused(graphs: Graphs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("secret").write_bytes(bytes(1 << 20))
    step = changed(graphs.step, external)
    Path("step.onnx").write_bytes(step)
    Path("long.onnx").write_bytes(step.replace(b"\x0a\x08location", b"\x0a\x88\x00location"))
    for graph in (step, Path("step.onnx"), Path("long.onnx")):
        with pytest.raises(RunError, match="cannot be used: a tensor lies in another file; export the run again"):
            OnnxEngine(graphs.encoder, graph, threads=1)
    assert not refers_to_files(graphs.step)
    assert not refers_to_files(graphs.encoder)


def test_onnxruntime_refuses_external_data_without_a_location(graphs: Graphs) -> None:
    """So that the absence of the key "location" is enough."""
    step = changed(graphs.step, external).replace(b"\x0a\x08location", b"\x0a\x08locatiox")
    with pytest.raises(RunError, match=r"onnxruntime .*model format error"):
        OnnxEngine(graphs.encoder, step, threads=1)


def test_the_names_of_location_attention_are_not_mistaken() -> None:
    graphs = make_graphs([small_model("location").float()])
    assert not refers_to_files(graphs.encoder)
    assert not refers_to_files(graphs.step)


def _rename(kind: str, old: str, new: str) -> Callable[[onnx.ModelProto], None]:
    def rename(model: onnx.ModelProto) -> None:
        for value in getattr(model.graph, kind):
            value.name = new if value.name == old else value.name
        for node in model.graph.node:
            for names in (node.input, node.output):
                for place, name in enumerate(names):
                    names[place] = new if name == old else name

    return rename


@pytest.mark.parametrize(
    ("which", "change", "message"),
    [
        (
            "encoder",
            _rename("input", "source", "x"),
            "the encoder graph: .* has 'source' as tensor.int64., this one as",
        ),
        ("encoder", _rename("output", "memory.mask", "mask"), "'mask' as nothing, this one as tensor.bool."),
        ("step", _rename("input", "time", "t"), "the step graph: .* has 't' as nothing, this one as tensor.int64."),
        ("step", _rename("output", "words", "w"), "has 'w' as nothing"),
        ("step", _rename("output", "logits", "l"), "has 'l' as nothing"),
        ("step", lambda model: model.metadata_props.pop(), "does not state its"),
        ("step", lambda model: setattr(model.metadata_props[0], "value", "x" * 50), "does not state its"),
        ("step", lambda model: model.graph.ClearField("node"), "onnxruntime"),
    ],
)
def test_a_graph_that_is_no_exported_model_is_refused(
    graphs: Graphs, which: str, change: Callable[[onnx.ModelProto], object], message: str
) -> None:
    altered = graphs._replace(**{which: changed(getattr(graphs, which), change)})
    with pytest.raises(RunError, match=rf"{message}.*; export the run again$"):
        OnnxEngine(*altered, threads=1)


def test_a_graph_that_fails_when_it_is_run_is_an_error(graphs: Graphs) -> None:
    def shrink(model: onnx.ModelProto) -> None:
        """Cut a matrix of the step to one column."""
        for tensor in model.graph.initializer:
            if len(tensor.dims) == 2 and min(tensor.dims) > 4:
                array = onnx.numpy_helper.to_array(tensor)
                tensor.CopyFrom(onnx.numpy_helper.from_array(np.ascontiguousarray(array[:, :1]), tensor.name))
                return

    try:
        engine = OnnxEngine(graphs.encoder, changed(graphs.step, shrink), threads=1)
    except RunError:
        return  # newer versions of ONNX Runtime find it when they load the graph
    state = engine.start(*SOURCE)
    with pytest.raises(RunError, match="the step graph: cannot be used: "):
        engine.step(state, np.array([0]), np.array([2]), 3)


def test_a_fifo_in_place_of_a_graph_does_not_hang(graphs: Graphs, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "step.onnx")
    with pytest.raises(RunError, match="it cannot be read: it is a FIFO, not a regular file"):
        OnnxEngine(graphs.encoder, tmp_path / "step.onnx", threads=1)


def _archive(compression: int = zipfile.ZIP_STORED, **changes: object) -> bytes:
    """A shortlist of 3 words for all sentences and 2 others, of 4 source words, with entries changed."""
    arrays = {
        "always": np.array([0, 1, 2]),
        "offsets": np.array([0, 1, 1, 2, 2]),
        "words": np.array([0, 1]),
        "weight0": np.ones((6, 2), np.float32),
        "bias0": np.ones(2, np.float32),
        **changes,
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, array in arrays.items():
            content = array
            if not isinstance(content, bytes):
                entry = io.BytesIO()
                np.lib.format.write_array(entry, np.asarray(content), allow_pickle=True)
                content = entry.getvalue()
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


HEADER = b"\x93NUMPY\x01\x00"
HUGE = HEADER + b"\x4f\x00" + b"{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(78) + b"\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (_archive(words=np.array([0, object()])), "type object"),
        (_archive(words=np.array([0, 2])), "words does not fit"),
        (_archive(words=np.array([-1, 1])), "words does not fit"),
        (_archive(words=np.array([0.0, 1.0])), "words does not fit"),
        (_archive(always=np.array([0, 1, 9])), "always does not fit"),
        (_archive(always=np.array([2, 1, 0])), "always does not fit"),
        (_archive(offsets=np.array([0, 2, 1, 2, 2])), "offsets does not fit"),
        (_archive(offsets=np.array([0, 3, 3, 3, 3])), "offsets does not fit"),
        (_archive(weight0=np.ones((6, 3), np.float32)), "weight0 does not fit"),
        (_archive(bias0=np.ones((2, 2), np.float32)), "it has no output layer"),
        (_archive(bias0=np.ones(2, np.float64)), "bias0 does not fit"),
        (_archive(zipfile.ZIP_DEFLATED), "is compressed"),
        (_archive(words=HEADER + b"\x10\x00{'descr': '<i8'("), "it"),
        (_archive(words=HEADER + b"\x40\x00" + b"{'descr':" + b"[" * 55), "it"),
        (_archive(words=HUGE), "has 0 bytes"),
        (_archive()[:-30], "it is damaged"),
    ],
)  # fmt: skip
def test_an_archive_that_is_no_shortlist_is_refused(content: bytes, reason: str) -> None:
    assert Shortlist.from_bytes(_archive()).sizes == (4, 5, 3)
    with pytest.raises(RunError, match=f"the shortlist cannot be used: .*{reason}.*; export the run again"):
        Shortlist.from_bytes(content)
