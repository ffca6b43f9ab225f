"""The contents of a model file as plain data: subgraphs of tensors and operators, decoded on access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np
import tflite as _tflite
from flatbuffers import number_types

from ...dialects.relay.numerics import AnyArray
from ...support.errors import FrontendError
from .verify import verify

_MOST_PER_BYTE = 16
"""The greatest number of decoded numbers per byte of the file, in which tables and vectors may be shared."""

_NUMBERS: Any = number_types
Flat: TypeAlias = Any
"""A table of the schema's classes, which state no types."""
tflite: Any = _tflite


def _names(enum: Flat) -> dict[int, str]:
    return {value: name for name, value in cast("dict[str, object]", vars(enum)).items() if isinstance(value, int)}


OPERATORS = _names(tflite.BuiltinOperator)
_OPTIONS = _names(tflite.BuiltinOptions)
_MORE_OPTIONS = _names(tflite.BuiltinOptions2)
_CUSTOM = 32
_VERSION = 3
_BUILTIN_CODE = 10
"""The slot of an operator's number, which may exceed a byte; the accessor of the class guesses."""
TYPES = _names(tflite.TensorType)
"""Number -> name of an element type: `FLOAT32`."""


@dataclass(frozen=True)
class Quantization:
    """The quantisation of numbers q for `scale * (q - zero_point)`, with one scale, or one per index of `axis`."""

    scale: AnyArray
    """float32, 1-d."""
    zero_point: AnyArray
    """int64, as many as scales."""
    axis: int


@dataclass(frozen=True, eq=False)
class TensorInfo:
    """A tensor of a subgraph."""

    index: int
    name: str
    shape: tuple[int, ...]
    """The shape in the file, in which an open extent is 1."""
    open: tuple[bool, ...]
    """True for each open extent."""
    type: str
    buffer: int
    quantization: Quantization | None
    is_variable: bool
    sparsity: Flat


@dataclass(frozen=True, eq=False)
class OperatorInfo:
    """An operator of a subgraph; -1 is an optional tensor that is left out."""

    index: int
    op: str
    """`CONV_2D`, or `CUSTOM <name>` for a custom operator."""
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    intermediates: tuple[int, ...]
    options: Flat
    custom: bytes


@dataclass(frozen=True, eq=False)
class Subgraph:
    index: int
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    tensors: Sequence[TensorInfo]
    operators: Sequence[OperatorInfo]


@dataclass(frozen=True)
class Signature:
    """The signature's own names of inputs and outputs of a subgraph."""

    key: str
    subgraph: int
    inputs: dict[str, int]
    outputs: dict[str, int]


class ModelFile:
    """A checked file."""

    def __init__(self, data: bytes, file: str):
        verify(data, file)
        self.data = data
        self.file = file
        self._flat: Flat = tflite.Model.GetRootAsModel(data, 0)
        if (version := self._flat.Version()) != _VERSION:
            raise self.fail(f"a model of version {_VERSION} of the schema", f"version {version}")
        if not self._flat.BuffersLength():
            raise self.fail("a model with buffers", "none")
        self._budget = _MOST_PER_BYTE * len(data)
        self._subgraphs: dict[int, Subgraph] = {}

    def fail(self, expected: str, actual: str) -> FrontendError:
        return FrontendError(f"{self.file}: expected {expected}, got {actual}")

    def _spend(self, count: int) -> None:
        self._budget -= count + 1
        if self._budget < 0:
            raise self.fail("a TFLite model", "one whose parts are shared so often that it is larger than its file")

    def _ints(self, flat: Flat, name: str) -> tuple[int, ...]:
        """Return a vector of integers, () if it is missing."""
        self._spend(getattr(flat, f"{name}Length")())
        numbers = getattr(flat, f"{name}AsNumpy")()
        return () if isinstance(numbers, int) else tuple(int(number) for number in numbers.tolist())

    @property
    def description(self) -> str:
        return (self._flat.Description() or b"").decode()

    @property
    def subgraph_count(self) -> int:
        return self._flat.SubgraphsLength()

    @cached_property
    def _codes(self) -> list[tuple[str, int]]:
        """Return the name and version of each operator code."""
        codes: list[tuple[str, int]] = []
        for index in range(self._flat.OperatorCodesLength()):
            self._spend(1)
            flat = self._flat.OperatorCodes(index)
            table = flat._tab  # pyright: ignore[reportPrivateUsage]
            offset = table.Offset(_BUILTIN_CODE)
            new = table.Get(_NUMBERS.Int32Flags, table.Pos + offset) if offset else 0
            code = max(flat.DeprecatedBuiltinCode(), new)
            name = OPERATORS.get(code, f"operator {code}")
            if code == _CUSTOM:
                name = f"CUSTOM {(flat.CustomCode() or b'').decode()}"
            codes.append((name, flat.Version()))
        return codes

    def subgraph(self, index: int) -> Subgraph:
        """Return a subgraph; raises FrontendError if it is missing or broken."""
        if not 0 <= index < self.subgraph_count:
            raise self.fail(f"a subgraph among {self.subgraph_count}", f"subgraph {index}")
        if index not in self._subgraphs:
            flat = self._flat.Subgraphs(index)
            tensors = [self._tensor(flat.Tensors(at), at) for at in range(flat.TensorsLength())]
            operators = [self._operator(flat.Operators(at), at) for at in range(flat.OperatorsLength())]
            name = (flat.Name() or b"").decode()
            subgraph = Subgraph(
                index, name, self._ints(flat, "Inputs"), self._ints(flat, "Outputs"), tensors, operators
            )
            self._check(subgraph)
            self._subgraphs[index] = subgraph
        return self._subgraphs[index]

    def _check(self, graph: Subgraph) -> None:
        """Raise FrontendError for references to missing tensors."""
        count = len(graph.tensors)
        for subject, indices, least in (
            ("an input of the graph", graph.inputs, 0),
            ("an output of the graph", graph.outputs, 0),
            *((f"an input of operator {op.index}", op.inputs, -1) for op in graph.operators),
            *((f"an output of operator {op.index}", op.outputs, 0) for op in graph.operators),
            *((f"an intermediate of operator {op.index}", op.intermediates, -1) for op in graph.operators),
        ):
            for index in indices:
                if not least <= index < count:
                    raise self.fail(f"{subject} among {count} tensors", f"tensor {index}")

    def _tensor(self, flat: Flat, index: int) -> TensorInfo:
        self._spend(1)
        shape, signature = self._ints(flat, "Shape"), self._ints(flat, "ShapeSignature")
        name = (flat.Name() or b"").decode()
        if any(extent < 0 for extent in shape):
            raise self.fail(f"extents of at least 0 of tensor '{name}'", str(list(shape)))
        if not 0 <= flat.Buffer() < self._flat.BuffersLength():
            raise self.fail(f"a buffer among {self._flat.BuffersLength()} of tensor '{name}'", str(flat.Buffer()))
        open_axes = tuple(extent < 0 for extent in signature) if len(signature) == len(shape) else (False,) * len(shape)
        return TensorInfo(
            index,
            name,
            shape,
            open_axes,
            TYPES.get(flat.Type(), f"type {flat.Type()}"),
            buffer=flat.Buffer(),
            quantization=self._quantization(flat.Quantization(), name, shape),
            is_variable=bool(flat.IsVariable()),
            sparsity=flat.Sparsity(),
        )

    def _quantization(self, flat: Flat, name: str, shape: tuple[int, ...]) -> Quantization | None:
        if flat is None or not flat.ScaleLength():
            return None
        self._spend(flat.ScaleLength() + flat.ZeroPointLength())
        scale: AnyArray = flat.ScaleAsNumpy().astype(np.float32)
        zero_point: AnyArray = (
            flat.ZeroPointAsNumpy().astype(np.int64) if flat.ZeroPointLength() else np.zeros(0, np.int64)
        )
        axis = flat.QuantizedDimension()
        if len(zero_point) == 1 < len(scale):
            zero_point = np.repeat(zero_point, len(scale))
        if len(zero_point) != len(scale):
            raise self.fail(f"as many zero points as scales of tensor '{name}'", f"{len(zero_point)}, {len(scale)}")
        if len(scale) > 1 and not (0 <= axis < len(shape) and shape[axis] == len(scale)):
            raise self.fail(f"one scale, or one per index of axis {axis} of {list(shape)} of '{name}'", str(len(scale)))
        if not np.isfinite(scale).all() or (scale < 0).any():
            raise self.fail(f"positive scales of tensor '{name}'", str(scale[~(np.isfinite(scale) & (scale >= 0))][0]))
        return Quantization(scale, zero_point, axis)

    def _operator(self, flat: Flat, index: int) -> OperatorInfo:
        self._spend(1)
        if not 0 <= flat.OpcodeIndex() < len(self._codes):
            raise self.fail(f"an operator code among {len(self._codes)}", str(flat.OpcodeIndex()))
        op, version = self._codes[cast("int", flat.OpcodeIndex())]
        return OperatorInfo(
            index,
            op,
            version,
            inputs=self._ints(flat, "Inputs"),
            outputs=self._ints(flat, "Outputs"),
            intermediates=self._ints(flat, "Intermediates"),
            options=_options(flat),
            custom=flat.CustomOptionsAsNumpy().tobytes() if flat.CustomOptionsLength() else b"",
        )

    def raw(self, index: int) -> AnyArray | None:
        """Return the bytes of a buffer, uint8; None if it has none."""
        if not index:
            return None
        flat = self._flat.Buffers(index)
        if flat.DataLength():
            return flat.DataAsNumpy()
        offset, size = flat.Offset(), flat.Size()
        if offset <= 1:
            return None
        if offset + size > len(self.data):
            raise self.fail(f"buffer {index} inside the file of {len(self.data)} bytes", f"bytes {offset} + {size}")
        return np.frombuffer(self.data, np.uint8, size, offset)

    def signatures(self) -> list[Signature]:
        """Return the signatures of the model, in order."""
        signatures: list[Signature] = []
        for number in range(self._flat.SignatureDefsLength()):
            flat = self._flat.SignatureDefs(number)
            graph = self.subgraph(flat.SubgraphIndex())
            maps: list[dict[str, int]] = []
            for side in ("Inputs", "Outputs"):
                self._spend(getattr(flat, f"{side}Length")())
                entries = [getattr(flat, side)(at) for at in range(getattr(flat, f"{side}Length")())]
                maps.append({(entry.Name() or b"").decode(): entry.TensorIndex() for entry in entries})
            if any(not 0 <= at < len(graph.tensors) for indices in maps for at in indices.values()):
                raise self.fail("a signature of tensors of its subgraph", str(maps))
            signatures.append(Signature((flat.SignatureKey() or b"").decode(), graph.index, maps[0], maps[1]))
        return signatures


def _options(flat: Flat) -> Flat:
    """Return the options of an operator as an instance of their class; None if it has none."""
    table, name = flat.BuiltinOptions(), _OPTIONS.get(flat.BuiltinOptionsType(), "NONE")
    if table is None or name == "NONE":
        table, name = flat.BuiltinOptions2(), _MORE_OPTIONS.get(flat.BuiltinOptions2Type(), "NONE")
    if table is None or name == "NONE" or not hasattr(tflite, name):
        return None
    options = getattr(tflite, name)()
    options.Init(table.Bytes, table.Pos)
    return options
