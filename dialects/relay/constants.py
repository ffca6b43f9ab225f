"""Weights stay out of the IR: `relay.constant` holds a key into the module's ConstantPool of numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from pathlib import Path
from typing import cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyDenseElement,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Data, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ...provenance.diagnostics import fail
from ...support.dtypes import Array
from ...support.errors import PipelineError
from ..element_types import numpy_dtype, tensor_type

LITERAL_LIMIT = 8
"""Constants of at most this many elements are spelled in the text; larger ones live in the pool."""

_POOL = "relay.params"


class ConstantPool:
    """Named numpy arrays, shared by a module and its clones. Arrays are read-only once added."""

    def __init__(self, path: Path | None = None):
        self._arrays: dict[str, Array] = {}
        self.path = path
        """The file the arrays come from, if any."""
        self._away: set[str] = set()
        self._again: Callable[[], ConstantPool] | None = None

    def add(self, hint: str, array: Array) -> str:
        """Keep `array` under `hint`, or `hint_1`, ... when that is taken by another array; return the key."""
        key, count = hint, 0
        while key in self and self._arrays.get(key) is not array:
            count += 1
            key = f"{hint}_{count}"
        self._arrays[key] = array
        return key

    def share(self, key: str, array: Array) -> None:
        """Hold an equal array in the place of the one under a key."""
        self._arrays[key] = array

    def keep(self, keys: Set[str], away: Set[str], again: Callable[[], ConstantPool]) -> None:
        """Let go of the arrays under other keys; `again` gives a pool with those of `away`, if they are needed."""
        self._away = set(away - keys)
        self._arrays = {key: array for key, array in self._arrays.items() if key in keys}
        self._again = again

    def __contains__(self, key: str) -> bool:
        return key in self._arrays or key in self._away

    def __iter__(self) -> Iterator[str]:
        return iter([*self._arrays, *self._away])

    def __getitem__(self, key: str) -> Array:
        """The array of a key; raises PipelineError when its values are not at hand."""
        if key in self._away and self._again is not None:
            pool = self._again()
            self._arrays |= {name: pool[name] for name in self._away}
            self._away.clear()
        if key not in self._arrays:
            where = f"looked in {self.path}" if self.path else "the module has no params file beside it"
            raise PipelineError(f"constant '{key}': its values are needed here but missing ({where})")
        return self._arrays[key]


@irdl_attr_definition
class PoolAttr(Data[ConstantPool]):
    """Ties a module to its pool: `relay.params = #relay.pool<"out.params">`."""

    name = "relay.pool"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ConstantPool:
        with parser.in_angle_brackets():
            path = parser.parse_str_literal()
            return ConstantPool(Path(path) if path else None)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(str(self.data.path) if self.data.path else "")


def module_of(op: Operation) -> ModuleOp:
    """Return the outermost module around `op`, which holds the pool of its constants.

    Raises VerifyException when it stands in none.
    """
    top = op
    while (outer := top.parent_op()) is not None:
        top = outer
    if not isinstance(top, ModuleOp):
        fail(op, "a module around it", "none")
    return top


def has_pool(module: ModuleOp) -> bool:
    """Return whether a module has a pool, or names the file of one."""
    return isinstance(module.attributes.get(_POOL), PoolAttr)


def pool_of(module: ModuleOp) -> ConstantPool:
    """The pool of a module, made on first use."""
    attribute = module.attributes.get(_POOL)
    if not isinstance(attribute, PoolAttr):
        attribute = PoolAttr(ConstantPool())
        module.attributes[_POOL] = attribute
    return attribute.data


def set_pool(module: ModuleOp, pool: ConstantPool) -> None:
    """Make `pool` the pool of `module`."""
    module.attributes[_POOL] = PoolAttr(pool)


def literal(array: Array) -> DenseIntOrFPElementsAttr:
    """The dense attribute of a small array."""
    data = np.ascontiguousarray(array)
    if data.dtype == np.bool_:
        bits: list[int] = [int(bit) for bit in data.reshape(-1)]
        return DenseIntOrFPElementsAttr.from_list(TensorType(i1, array.shape), bits)
    return DenseIntOrFPElementsAttr(cast(TensorType[AnyDenseElement], tensor_type(array)), BytesAttr(data.tobytes()))


def literal_value(value: DenseIntOrFPElementsAttr) -> Array:
    """The array of a dense attribute."""
    type_ = cast(TensorType[Attribute], value.type)
    element = type_.element_type
    shape = type_.get_shape()
    if element == i1:
        return np.array([bool(v) for v in value.get_values()], dtype=np.bool_).reshape(shape)
    dtype = numpy_dtype(element)
    flat = np.frombuffer(value.data.data, dtype=dtype)
    return np.broadcast_to(flat.reshape(()), shape) if flat.size == 1 else flat.reshape(shape)
