"""Calls with arguments that make no sense: primitives, arrays, files of parameters and exported models."""

from __future__ import annotations

import io
import random
import tarfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, cast

import numpy as np
from damaged_tflite import damaged
from onnx import GraphProto, ModelProto, TensorProto, helper
from random_graphs import random_graph
from random_primitives import draw
from xdsl.utils.exceptions import VerifyException

import whence
from whence import runtime, te
from whence.kernels import lower
from whence.runtime.loading.sealed import seal
from whence.runtime.values.params import load_param_dict, read_params, write_params
from whence.te.schedule.schedule import Schedule

Dice = random.Random
SEAL = 64
"""Bytes of the checksum at the end of a file."""


def _odd(dice: Dice, schedule: Schedule) -> Any:
    """A value that a primitive may have no use for."""
    stage = dice.choice(schedule.stages)
    values: tuple[Any, ...] = (
        *(0, -1, 1, 2**70, 1.5, float("nan"), True, None, "", "local", "x", b"x", [], (), {}, object(), np.int64(3)),
        *(np.zeros(3), stage, stage.label, schedule, te.thread_axis("threadIdx.x"), te.var("n"), print, int),
        *stage.all_iter_vars,
        *stage.outputs,
        [*stage.leaf, None],
    )
    return dice.choice(values)


_STAGE = (
    *("split", "fuse", "reorder", "tile", "unroll", "vectorize", "parallel", "bind", "pragma", "prefetch", "tensorize"),
    *("compute_at", "compute_inline", "compute_root", "set_scope", "storage_align", "double_buffer", "rolling_buffer"),
    *("transform_layout", "set_store_predicate", "set_axis_separators", "env_threads", "handle", "axis_of"),
)
_SCHEDULE = ("cache_write", "cache_read", "rfactor", "create_group", "snapshot", "__getitem__", "tensor_of")


def schedules(dice: Dice) -> Callable[[], object]:
    graph = random_graph(dice.randrange(200))
    schedule = te.create_schedule([v.tensor for v in graph.outputs], inputs=[v.tensor for v in graph.inputs])
    names = [
        (dice.choice(("stage", "stage", "schedule", "drawn", "drawn")), dice.random())
        for _ in range(dice.randint(1, 4))
    ]

    def call() -> None:
        for where, _ in names:
            if where == "drawn":
                draw(dice, schedule)[1]()
                continue
            target: Any = schedule if where == "schedule" else dice.choice(schedule.stages)
            method = getattr(target, dice.choice(_SCHEDULE if where == "schedule" else _STAGE))
            method(*[_odd(dice, schedule) for _ in range(dice.randint(0, 4))])
        if dice.random() < 0.5:
            try:
                lower(schedule).verify()
            except VerifyException as error:
                raise AssertionError(f"lowered to what does not verify: {error}") from error

    return call


def _model(graph: GraphProto) -> ModelProto:
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])


@cache
def _executables() -> list[whence.Executable]:
    value = helper.make_tensor_value_info
    fixed, opened, dynamic = [2, 3], ["n", 3], ["n", "m"]
    made: list[whence.Executable] = []
    for shape, dtype in ((fixed, TensorProto.FLOAT), (opened, TensorProto.FLOAT), (fixed, TensorProto.INT8)):
        nodes = [helper.make_node("Add", ["x", "z"], ["y"])]
        inputs = [value(name, dtype, shape) for name in ("x", "z")]
        graph = helper.make_graph(nodes, "g", inputs, [value("y", dtype, None)])
        made.append(whence.compile(_model(graph), threads=1, tier="symbolic" if shape is opened else "auto"))
    nodes = [helper.make_node("NonZero", ["x"], ["k"]), helper.make_node("Cast", ["k"], ["y"], to=TensorProto.FLOAT)]
    graph = helper.make_graph(
        nodes, "g", [value("x", TensorProto.FLOAT, dynamic)], [value("y", TensorProto.FLOAT, None)]
    )
    made.append(whence.compile(_model(graph), threads=1))
    return made


_DTYPES = ("float32", ">f4", "float64", "float16", "int8", "int64", "bool", "complex64", "object", "U3", "M8[s]", "V4")


def _array(dice: Dice) -> Any:
    """An array of any dtype, shape, byte order and strides; or what is none."""
    if dice.random() < 0.15:
        odd: tuple[Any, ...] = (
            None,
            3,
            2.5,
            "text",
            b"bytes",
            [[1, 2, 3], [4, 5]],
            object(),
            {},
            [[1, 2, 3]] * 2,
            np.float32(1),
        )
        return dice.choice(odd)
    shape = dice.choice(((2, 3), (2, 3), (3,), (), (0, 3), (2, 3, 1), (1, 3), (3, 2), (2, 0)))
    array = np.zeros(shape, dice.choice(("float32", *_DTYPES)))
    if array.dtype.kind == "f" and dice.random() < 0.3:
        array[...] = dice.choice((np.nan, np.inf, -0.0))
    change: tuple[Callable[[Any], Any], ...] = (
        lambda a: a,
        lambda a: a,
        lambda a: np.repeat(a, 2, -1)[..., ::2] if a.ndim else a,
        lambda a: a[::-1] if a.ndim else a,
        lambda a: np.asfortranarray(a),
        lambda a: np.broadcast_to(a, (2, *a.shape)),
        lambda a: (
            np.frombuffer(bytes(a.nbytes + 1), np.uint8)[1:].view(a.dtype).reshape(a.shape)
            if a.dtype.kind in "fi"
            else a
        ),
        lambda a: np.ma.masked_array(a),
        lambda a: a.view(np.matrix) if a.ndim == 2 and a.dtype.kind == "f" else a,
        lambda a: a.tolist(),
    )
    return dice.choice(change)(array)


def arrays(dice: Dice) -> Callable[[], object]:
    executable = dice.choice(_executables())
    names = [spec.name for spec in executable.inputs]
    drawn = [_array(dice) for _ in names]
    kind = dice.random()

    def call() -> object:
        if kind < 0.4:
            return executable(*(drawn if kind < 0.3 else drawn[1:]))
        if kind < 0.45:
            return executable.run(cast(Any, drawn))
        keys: list[Any] = names if kind < 0.9 else [dice.choice((3, None, "no", names[0])) for _ in names]
        return executable.run(dict(zip(keys, drawn, strict=True)))

    return call


@cache
def _params() -> bytes:
    stream = io.BytesIO()
    write_params({"w": np.ones((2, 3), np.float32), "b": np.zeros(3, np.int8), "s": np.ones((), np.float16)}, stream)
    return stream.getvalue()


def params(dice: Dice) -> Callable[[], object]:
    data = damaged(_params(), np.random.default_rng(dice.randrange(1 << 30)))
    read: Callable[[bytes], object] = dice.choice((read_params, load_param_dict))
    return lambda: read(data)


@cache
def _exported(suffix: str) -> bytes:
    path = Path(mkdtemp()) / f"m{suffix}"
    _executables()[0].export_library(path)
    return path.read_bytes()


def _rearchived(data: bytes, dice: Dice) -> bytes:
    """An archive whose members are damaged, and which is an archive still."""
    source, target = io.BytesIO(data), io.BytesIO()
    with tarfile.open(fileobj=source) as old, tarfile.open(fileobj=target, mode="w") as new:
        for member in old.getmembers():
            stream = old.extractfile(member)
            content = stream.read() if stream is not None else b""
            if dice.random() < 0.5 and len(content) > 8:
                content = damaged(content, np.random.default_rng(dice.randrange(1 << 30)))
            member.size = len(content)
            if dice.random() < 0.9:
                new.addfile(member, io.BytesIO(content))
    return target.getvalue()


def exported(dice: Dice) -> Callable[[], object]:
    suffix, draw = dice.choice((".tar", ".so")), dice.random()
    data, rng = _exported(suffix), np.random.default_rng(dice.randrange(1 << 30))
    if draw < 0.5 or suffix == ".so":
        data = damaged(data, rng)
    else:
        # What is damaged is sealed again, so that what reads the inside meets it. A library is the system's to open.
        inside = data[:-SEAL]
        inside = _rearchived(inside, dice) if draw < 0.8 else damaged(inside, rng)
        data = inside + seal(memoryview(inside))

    def call() -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder) / f"m{dice.choice((suffix, suffix, suffix, '.o', '.tar', '.so', ''))}"
            path.write_bytes(data)
            runtime.load_module(path)

    return call


KINDS = {"schedules": schedules, "arrays": arrays, "params": params, "exported": exported}
