"""ONNX programs as they are drawn: every node is run at once by a reference, so the values that it gives are known.

The reference of a node is onnxruntime, and where that has no kernel the reference evaluator of the onnx package.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import ml_dtypes
import numpy as np
import onnx
import onnx.reference
import onnx.shape_inference
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper
from reference_runtime import onnxruntime_outputs

Array = NDArray[Any]
Dice = random.Random

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_EPSILON = {np.dtype(name): float(np.finfo(name).eps) for name in ("float16", "float32", "float64")} | {BFLOAT16: 2**-7}
_SPELLED: dict[str, Any] = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "bfloat16": BFLOAT16,
    "bool": np.bool_,
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
DTYPES = {f"tensor({spelled})": np.dtype(name) for spelled, name in _SPELLED.items()}
"""Those that programs are drawn of, as the standard spells them. Narrower ones come from casts and quantization."""
FLOATS = frozenset(_EPSILON)
LARGEST = 1e4
"""The magnitude of results with which a program goes on."""


class Redraw(Exception):
    """What was drawn cannot be run by a reference, or gives numbers that say nothing."""


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of the program: its numbers by the reference, and how far off others may be, relative to the largest."""

    name: str
    array: Array
    error: float

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def rank(self) -> int:
        return self.array.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype


def largest(array: Array) -> float:
    """The largest finite magnitude of floats, to which their errors are relative."""
    wide = array.astype(np.float64)
    return float(np.abs(wide, where=np.isfinite(wide), out=np.ones(wide.shape)).max(initial=1e-3))


def is_float(dtype: np.dtype[Any]) -> bool:
    return dtype in _EPSILON


class Program:
    """What is drawn so far: `dice` decides, `numbers` are the elements of inputs."""

    def __init__(self, seed: int):
        self.dice = Dice(seed)
        self.numbers = np.random.default_rng(seed)
        self.opset = self.dice.randint(13, 22)
        self.open = self.dice.random() < 0.15
        """Whether the model leaves dimensions of its inputs open."""
        self.nodes: list[NodeProto] = []
        self.inputs: list[Value] = []
        self.constants: list[Value] = []
        self.made: list[Value] = []
        """Results of nodes."""
        self.operators: set[str] = set()
        self._count = 0

    # Drawing.

    def chance(self, probability: float) -> bool:
        return self.dice.random() < probability

    def choice(self, options: Sequence[Any]) -> Any:
        return self.dice.choice(list(options))

    def name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def size(self, most: int = 7, least: int = 1) -> int:
        """An extent: odd ones, ones."""
        return least if self.chance(0.15) else self.dice.randint(least, most)

    def shape(self, least: int = 0, most: int = 4, empty: bool = True) -> tuple[int, ...]:
        """A shape of up to 2,000 elements; now and then one without any."""
        dims = [self.size(self.choice((3, 5, 7, 17))) for _ in range(self.dice.randint(least, most))]
        while int(np.prod(dims)) > 2000:
            dims[dims.index(max(dims))] //= 2
        if empty and dims and self.chance(0.03):
            dims[self.dice.randrange(len(dims))] = 0
        return tuple(dims)

    def partner(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape that broadcasts with this one."""
        dims = [1 if self.chance(0.3) else n for n in shape]
        dims = [self.size(4) if n == 1 and m == 1 and self.chance(0.5) else n for n, m in zip(dims, shape, strict=True)]
        return tuple(dims[self.dice.randint(0, len(dims)) :] if self.chance(0.4) else dims)

    def axis(self, rank: int) -> int:
        return self.dice.randint(-rank, rank - 1)

    def takes(self, op: str, param: str = "T") -> list[np.dtype[Any]]:
        """The dtypes of an operator's type parameter."""
        for constraint in self.schema(op).type_constraints:
            if constraint.type_param_str == param:
                return [DTYPES[one] for one in constraint.allowed_type_strs if one in DTYPES]
        raise Redraw

    def dtype(self, op: str, param: str = "T", among: Callable[[np.dtype[Any]], bool] | None = None) -> np.dtype[Any]:
        """One of them: float32 most often, bfloat16 seldom."""
        options = [d for d in self.takes(op, param) if among is None or among(d)]
        if np.dtype(np.float32) in options and self.chance(0.4):
            return np.dtype(np.float32)
        if len(options) > 1 and self.chance(0.8):
            options = [d for d in options if d != BFLOAT16]
        if not options:
            raise Redraw
        return self.choice(options)

    def schema(self, op: str) -> Any:
        try:
            return cast(Any, onnx.defs).get_schema(op, self.opset, "")
        except onnx.defs.SchemaError as error:
            raise Redraw from error

    def attributed(self, op: str, name: str) -> bool:
        return name in self.schema(op).attributes

    # Values.

    def array(self, shape: Sequence[int], dtype: Any, low: float | None = None, high: float | None = None) -> Array:
        """Random elements; without bounds a few around 0."""
        dtype = np.dtype(dtype)
        if dtype == np.bool_:
            return self.numbers.random(shape) < 0.5
        if is_float(dtype):
            bottom, top = -3.0 if low is None else low, 3.0 if high is None else high
            array = self.numbers.uniform(bottom, top, shape)
            if self.chance(0.2):
                array = np.clip(np.round(array * 4) / 4, bottom, top)
            return np.asarray(array).astype(dtype)
        info = np.iinfo(dtype)
        bottom = max(info.min, -6 if low is None else int(np.ceil(low)))
        top = min(info.max, 9 if high is None else int(np.floor(high)))
        return np.asarray(self.numbers.integers(bottom, top, shape, dtype=np.int64, endpoint=True)).astype(dtype)

    def given(self, array: Array, constant: float = 0.3) -> Value:
        """An input of the program, or with some probability a constant of it."""
        value = Value(self.name("x"), array, 0.0)
        if not self.chance(constant):
            self.inputs.append(value)
        elif self.chance(0.7) or array.dtype == BFLOAT16:
            self.constants.append(value)
        else:
            attribute = numpy_helper.from_array(array, "")
            self.nodes.append(helper.make_node("Constant", [], [value.name], value=attribute))
            self.operators.add("Constant")
        return value

    def fresh(self, shape: Sequence[int], dtype: Any, low: float | None = None, high: float | None = None) -> Value:
        return self.given(self.array(shape, dtype, low, high))

    def tensor(
        self,
        dtype: Any,
        low: float | None = None,
        high: float | None = None,
        rank: tuple[int, int] = (0, 4),
        exact: bool = False,
        empty: bool = True,
    ) -> Value:
        """A result of an earlier node if one fits, else a fresh tensor. exact: its elements are no roundings."""
        dtype = np.dtype(dtype)
        fitting = [
            value
            for value in (*self.made, *self.made, *self.inputs)
            if value.dtype == dtype
            and rank[0] <= value.rank <= rank[1]
            and (empty or value.array.size)
            and (not exact or value.error == 0)
            and _within(value.array, low, high)
        ]
        if fitting and self.chance(0.75):
            return self.choice(fitting)
        return self.fresh(self.shape(*rank, empty), dtype, low, high)

    def known(self, values: Any, dtype: Any = np.int64) -> Value:
        """What an operator reads as sizes, axes or the like: a constant, an input, or computed from shapes."""
        array = np.asarray(values, dtype)
        if array.ndim == 1 and array.size and array.dtype == np.int64 and self.chance(0.15):
            return self._of_shapes(array)
        return self.given(array, 0.9)

    def _of_shapes(self, wanted: Array) -> Value:
        """The same numbers, where possible by Shape and Gather."""
        parts: list[Value] = []
        for number in wanted.tolist():
            places = [(v, at) for v in (*self.inputs, *self.made) for at, n in enumerate(v.shape) if n == number]
            if places:
                value, at = self.choice(places)
                (dims,) = self.emit("Shape", value, exact=True)
                (one,) = self.emit("Gather", dims, self.given(np.asarray([at], np.int64), 1.0), exact=True)
                parts.append(one)
            else:
                parts.append(self.given(np.asarray([number], np.int64), 1.0))
        return self.emit("Concat", *parts, axis=0, exact=True)[0]

    # Nodes.

    def emit(
        self,
        op: str,
        *inputs: Value | None,
        wanted: Sequence[bool] = (True,),
        exact: bool = False,
        gain: float = 2.0,
        steps: float = 8.0,
        finite: bool = True,
        evaluator: bool = False,
        attributes: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> list[Value]:
        """A node, and the values of its wanted outputs.

        exact: it moves elements and rounds none. gain: how much larger than those of its inputs its errors may be;
        steps: its own, in roundings. evaluator: onnxruntime is not asked. Attributes, those by `attributes` and `more`,
        are left out when they are None or the opset does not have them.
        """
        known = self.schema(op).attributes
        named = {k: v for k, v in {**(attributes or {}), **more}.items() if v is not None and k in known}
        outputs = [self.name("y") if there else "" for there in wanted]
        names = [value.name if value is not None else "" for value in inputs]
        while names and not names[-1]:
            names.pop()
        layer = self.name(op.lower()) if self.chance(0.5) else ""
        node = helper.make_node(op, names, outputs, layer, **named)
        present = [value for value in inputs if value is not None]
        return self.add([node], present, [name for name in outputs if name], exact, gain, steps, finite, evaluator)

    def add(
        self,
        nodes: Sequence[NodeProto],
        reads: Sequence[Value],
        outputs: Sequence[str],
        exact: bool = False,
        gain: float = 2.0,
        steps: float = 8.0,
        finite: bool = True,
        evaluator: bool = False,
    ) -> list[Value]:
        """Nodes that belong together, which read these values; as `emit`."""
        arrays = run(nodes, {value.name: value.array for value in reads}, outputs, self.opset, evaluator)
        inexact = max((value.error for value in reads), default=0.0)
        noise = max((value.error * largest(value.array) for value in reads if value.error), default=0.0)
        values: list[Value] = []
        for name, array in zip(outputs, arrays, strict=True):
            if finite and is_float(array.dtype) and not _within(array, -LARGEST, LARGEST):
                raise Redraw
            error = 0.0
            if is_float(array.dtype):
                # What is left of a tensor has its roundings, however large the elements were that they come from.
                error = (
                    max(inexact, noise / largest(array)) if exact else gain * inexact + steps * _EPSILON[array.dtype]
                )
            values.append(Value(name, array, error))
        self.nodes += nodes
        self.made += values
        self.operators |= {node.op_type for node in nodes}
        return values

    # The whole.

    def model(self) -> tuple[onnx.ModelProto, dict[str, Array], list[Value]]:
        """The model, its inputs by name and what its outputs should be: all that nobody reads, and some more."""
        read = {name for node in self.nodes for name in _reads(node)}
        outputs = [v for v in self.made if v.name not in read or self.chance(0.15)]
        inputs = [v for v in self.inputs if v.name in read]
        graph = helper.make_graph(
            self.nodes,
            "program",
            [_declared(v, self._dims(v)) for v in inputs],
            [_declared(v, None) for v in outputs],
            [numpy_helper.from_array(v.array, v.name) for v in self.constants if v.name in read],
        )
        return _model(graph, self.opset), {v.name: v.array for v in inputs}, outputs

    def _dims(self, value: Value) -> list[int | str]:
        if not self.open:
            return list(value.shape)
        return [f"{value.name}_{at}" if self.chance(0.5) else n for at, n in enumerate(value.shape)]


def _reads(node: NodeProto) -> set[str]:
    inner = {name for a in node.attribute for one in a.g.node for name in _reads(one)}
    return {*node.input, *inner, *(value.name for a in node.attribute for value in a.g.output)}


def _within(array: Array, low: float | None, high: float | None) -> bool:
    if not array.size or array.dtype == np.bool_:
        return True
    wide = array.astype(np.float64) if is_float(array.dtype) else array
    bottom, top = wide.min(), wide.max()
    return bool(bottom >= (-np.inf if low is None else low) and top <= (np.inf if high is None else high))


def _declared(value: Value, dims: Sequence[int | str] | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(value.name, helper.np_dtype_to_tensor_dtype(value.dtype), dims)


def _model(graph: onnx.GraphProto, opset: int) -> onnx.ModelProto:
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


_BOXED = frozenset(
    helper.tensor_dtype_to_np_dtype(kind)
    for kind in (TensorProto.BFLOAT16, TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2, TensorProto.INT4)
)
"""Dtypes that onnxruntime does not take from numpy."""


def run(
    nodes: Sequence[NodeProto], given: Mapping[str, Array], outputs: Sequence[str], opset: int, evaluator: bool = False
) -> list[Array]:
    """What a reference gives for nodes. Raises Redraw when none runs them."""
    inputs = [_declared(Value(name, array, 0.0), list(array.shape)) for name, array in given.items()]
    open_outputs = [onnx.ValueInfoProto(name=name) for name in outputs]
    model = _model(helper.make_graph(list(nodes), "node", inputs, open_outputs), opset)
    refused: Exception | None = None
    if not evaluator and not any(array.dtype in _BOXED for array in given.values()):
        try:
            return [np.asarray(array) for array in onnxruntime_outputs(model, given, quiet=True)]
        except Exception as error:
            refused = error
    try:
        with np.errstate(all="ignore"):
            found: Any = cast(Any, onnx.reference.ReferenceEvaluator(model)).run(None, dict(given))
            arrays = [np.asarray(array) for array in found]
    except Exception as error:
        raise Redraw from refused or error
    # Some results that are not of the standard's dtype come from numpy.
    typed = onnx.shape_inference.infer_shapes(model).graph.output
    for array, value in zip(arrays, typed, strict=True):
        kind = value.type.tensor_type.elem_type
        if kind and helper.tensor_dtype_to_np_dtype(kind) != array.dtype:
            raise Redraw
    return arrays
