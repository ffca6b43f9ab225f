"""The context of a converter: one node, its inputs, and how to emit relay ops or complain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NoReturn, Self, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.relay.attributes import Value
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.creation import SizesOp
from ...dialects.relay.elementwise import CastOp
from ...dialects.relay.index_bounds import IndexBound
from ...dialects.relay.operator import Operator
from ...dialects.relay.transform import ExpandDimsOp, ReshapeOp, SqueezeOp
from ...dialects.sizes import Size, SizeExpr, UndecidedSize, decide, range_for, size_max, symbols_of
from ...dialects.sizes.types import is_open
from ...provenance.builder import LocatedBuilder
from ...provenance.diagnostics import message
from ...support.dtypes import Array
from ...support.errors import FrontendError
from .attributes import Attributes
from .limits import excess, expectation
from .node_parts import Asked, NodePart
from .tensor import Tensor, Undecided, dtype_of, shape_of, size_in

Operands: TypeAlias = SSAValue | Sequence[SSAValue] | None
"""The arguments that may stand for one operand that an operator declares."""


def _tensors() -> list[Tensor]:
    return []


def _sizes() -> list[Size]:
    return []


def _bounds() -> list[IndexBound]:
    return []


_MOVES = (CastOp, ReshapeOp, ExpandDimsOp, SqueezeOp)
"""Operators that leave indices as they are."""


@dataclass(eq=False, kw_only=True)
class Context(Attributes):
    """One node under conversion. Inputs and outputs are counted from 0; absent optional inputs are None."""

    op_type: str
    """The model's name of the operator."""
    leaf: LocationAttr
    """The node's layer, for errors; the builder is located at it already (or at nothing, with spans off)."""
    inputs: Sequence[Tensor | None]
    builder: LocatedBuilder
    module: ModuleOp
    read: list[Tensor] = field(default_factory=_tensors)
    """The tensors whose values were looked at."""
    required: list[Size] = field(default_factory=_sizes)
    """Expressions that no call may make negative."""
    bounds: list[IndexBound] = field(default_factory=_bounds)
    """The bounds of indices that are inputs of the program."""
    asked: Asked = field(default_factory=Asked)
    """The inputs and attributes that the converter asked for."""

    def require(self, size: Size) -> None:
        """Have every call checked: its sizes must not make this one negative."""
        self.required.append(size)

    def require_indices(self, index: int, extents: Sequence[Size], ignored: tuple[int, ...] | None = None) -> None:
        """Have every call checked: elements of input `index` must lie from `-extent` to `extent - 1`.

        extents: one for all elements, or one for each place along the last axis. ignored: of classes, which lie from 0
        to `extent - 1`, values that stand for none. Only an input of the program, or what is one in another shape or
        integer dtype, can be checked before anything runs; other indices are brought inside.
        """
        value = self.tensor(index).value
        while len(extents) == 1 and value is not None and isinstance(value.owner, _MOVES):
            value = value.owner.operands[0]
        if isinstance(value, BlockArgument) and dtype_of(value).kind in "iu":
            self.bounds.append(IndexBound(value.index, tuple(extents), self.leaf, ignored))

    def require_least(self, size: Size, least: Size, what: str) -> None:
        """Have every call checked: `size`, which `what` says, must be `least` or more.

        Raises UndecidedSize where a symbol can be bounded for that.
        """
        if decide(least, "<=", size) is None:
            sides = (size, size_max(size, least))
            if range_for(*sides) is not None:
                raise UndecidedSize(f"{self.op_type}: {what}", sides)
            self.require(size - least)

    def require_equal(self, a: Size, b: Size) -> None:
        """Raise UndecidedSize where it depends on the call whether two sizes are equal, as they have to be."""
        if decide(a, "==", b) is None:
            raise UndecidedSize(f"whether {a} == {b} depends on the values of sizes", (a, b), needed=True)

    def require_multiple(self, size: Size, divisor: int, expected: str) -> None:
        """Have every call checked: `size` must be a multiple. Raises FrontendError where it surely is none."""
        if decide(size % divisor, "==", 0) is False:
            self.fail(expected, str(size))
        if decide(size % divisor, "==", 0) is None:
            self.require(-(size % divisor))

    def require_shape(self, index: int, shape: Sequence[Size], what: str) -> None:
        """Have input `index`, called `what`, be of a shape, as `require_equal` has sizes.

        Raises FrontendError where it surely is none.
        """
        own: Sequence[Size] = self.shape(index)
        wrong = len(own) != len(shape) or any(decide(a, "==", b) is False for a, b in zip(own, shape, strict=True))
        if wrong:
            self.fail(f"{what} of shape [{', '.join(map(str, shape))}]", f"[{', '.join(map(str, own))}]")
        for a, b in zip(own, shape, strict=True):
            self.require_equal(a, b)

    def fail(self, expected: str, found: str) -> NoReturn:
        """Raise a FrontendError about this node."""
        raise FrontendError(message(self.op_type, expected, found, self.leaf))

    # Inputs.

    def input(self, index: int) -> Tensor | None:
        """Input `index`, or None where it is absent. Converters reach `inputs` through here only."""
        self.asked.inputs.add(index)
        return self.inputs[index] if index < len(self.inputs) else None

    def inputs_from(self, first: int) -> list[Tensor | None]:
        """The inputs from `first` on; None for those that are absent."""
        return [self.input(index) for index in range(first, len(self.inputs))]

    def with_inputs(self, inputs: Sequence[Tensor | None], **changes: Any) -> Self:
        """The same node with other inputs, and other fields, for the converter of another operator.

        That converter asks for these inputs, and for the attributes of the node: `Converter.apply` checks it.
        """
        return replace(self, inputs=inputs, asked=Asked(attributes=self.asked.attributes), **changes)

    def index_of(self, name: str, position: int) -> int | None:
        """The number of the input that a row calls `name`, its `position`-th; None where it is left out."""
        return position if self.has(position) else None

    def indices_of(self, name: str, position: int) -> Sequence[int]:
        """The numbers of the inputs that a row calls `name`: those from the `position`-th on, or of a list."""
        return range(position, len(self.inputs))

    def has(self, index: int) -> bool:
        """Return whether input `index` is given."""
        return self.input(index) is not None

    def tensor(self, index: int) -> Tensor:
        """Input `index`, which must be given."""
        tensor = self.input(index)
        if tensor is None:
            self.fail(f"an input {index}", "none")
        return tensor

    def value(self, index: int) -> SSAValue:
        """Input `index` as a relay value; a known one becomes a constant at its first use."""
        return self.tensor(index).materialise(self.builder, self.module)

    def values(self) -> list[SSAValue]:
        """All inputs as relay values."""
        return [self.value(index) for index in range(len(self.inputs))]

    def shape(self, index: int) -> tuple[int, ...]:
        tensor = self.tensor(index)
        if tensor.array is not None:
            return tensor.array.shape
        assert tensor.value is not None
        return shape_of(tensor.value)

    def dtype(self, index: int) -> np.dtype[np.generic]:
        tensor = self.tensor(index)
        dtype = tensor.dtype
        assert dtype is not None
        return dtype

    def known(self, index: int) -> Array | None:
        """The values of input `index` if they are known at import, as numbers."""
        tensor = self.tensor(index)
        if tensor.symbolic:
            return None
        if tensor.array is not None:
            self.read.append(tensor)
        return tensor.array

    def array(self, index: int, what: str) -> Array:
        """The values of input `index`, called `what`, which must be known at import."""
        array = self.known(index)
        if array is None:
            tensor = self.tensor(index)
            found = f"'{tensor.name}', which is computed at run time"
            raise Undecided(message(self.op_type, f"{what} known at import", found, self.leaf), tensor)
        return array

    def known_ints(self, index: int, what: str) -> tuple[int, ...]:
        """The integers in input `index`, called `what`, which must be known at import; symbolic sizes among them."""
        tensor = self.tensor(index)
        if tensor.symbolic and tensor.array is not None and tensor.array.ndim < 2 and tensor.counts.kind in "iu":
            self.read.append(tensor)
            return tuple(tensor.array.reshape(-1).tolist())
        array = self.array(index, what)
        if array.dtype.kind not in "iu" or array.ndim > 1:
            self.fail(f"{what} as a list of integers", f"{array.dtype}{list(array.shape)}")
        return tuple(int(v) for v in array.reshape(-1).tolist())

    def size(self, index: int, what: str) -> int:
        """The one whole number in input `index`, called `what`, which must be known at import; a size, too.

        Also one in floats, as exporters have for a Range.
        """
        if (found := size_in(self.tensor(index))) is not None:
            self.read.append(self.tensor(index))
            return found
        number = self.single(index, what)
        if not np.isfinite(number):
            self.fail(f"{what} that is finite", str(number))
        return int(number)

    def exact(self, index: int, what: str) -> Fraction | Size:
        """The one number in input `index`, called `what`, which must be known at import: a fraction, or a size."""
        if size_in(self.tensor(index)) is not None:
            return self.size(index, what)
        number = self.single(index, what)
        if not np.isfinite(number):
            self.fail(f"{what} that is finite", str(number))
        return Fraction(number)

    def single(self, index: int, what: str) -> float:
        """The one number in input `index`, called `what`, which must be known at import."""
        array = self.array(index, what)
        if array.size != 1 or array.dtype.kind in "OSU":
            self.fail(f"{what} that is one number", f"{array.dtype}{list(array.shape)}")
        return array.item()

    # What the node states.

    def parts(self) -> Iterable[NodePart]:
        """The inputs and attributes that a node has and a converter must ask for; none where a frontend lists none."""
        return ()

    def input_parts(self, names: Sequence[str] = ()) -> Iterator[NodePart]:
        """The inputs that are present, called by these names as far as there are."""
        for index, tensor in enumerate(self.inputs):
            if tensor is not None:
                yield NodePart(index, "input", names[index] if index < len(names) else "", f"'{tensor.name}'")

    def refuse_unread(self, unread: Mapping[str, str]) -> None:
        """Raise FrontendError for a part of the node that the converter never asked for.

        unread: the names of the parts that do not change what the converter computes, with the reasons.
        """
        for part in self.parts():
            if part not in self.asked and part.name not in unread:
                self.fail(f"no {part}, which is not supported", part.value)

    # Results.

    def fits(self, shape: Sequence[int], dtype: np.dtype[np.generic]) -> None:
        """Complain when a tensor is larger than the memory."""
        if not any(map(symbols_of, shape)) and (too_big := excess(shape, dtype.itemsize)):
            self.fail(expectation(), too_big)

    def emit(self, op: type[Operator], *operands: Operands, **attributes: Value) -> SSAValue:
        """Add an op and return its first result."""
        return self.emit_all(op, *operands, **attributes)[0]

    def emit_all(self, op: type[Operator], *operands: Operands, **attributes: Value) -> tuple[SSAValue, ...]:
        """Add an op and return its results. An operand that is missing is None, a variadic one a list."""
        made = op(*operands, location=None, **attributes)
        try:
            self._check(made)
        except (UndecidedSize, VerifyException, FrontendError):
            # What is not added must not look like a reader of its operands.
            made.drop_all_references()
            raise
        self.builder.add(made)
        return tuple(made.results)

    def _check(self, made: Operator) -> None:
        """Raise what there is to complain of an op's sizes."""
        if any(is_open(result.type) for result in made.results):
            made.infer(made.signature)  # which sizes would have to be equal, it says best
            types = ", ".join(str(operand.type) for operand in made.operands)
            raise Undecided(message(self.op_type, "sizes that follow from the inputs'", types, self.leaf), None)
        self.required += made.check_sizes()
        for result in made.results:
            self.fits(shape_of(result), dtype_of(result))

    def constant(self, array: Array, hint: str) -> SSAValue:
        """Add a constant."""
        return self.builder.add(ConstantOp.of(array, self.module, hint)).result

    def scalar(self, value: float | Size, like: SSAValue) -> SSAValue:
        """Add a scalar of the element type of `like`: a constant, or a size."""
        if isinstance(value, SizeExpr):
            return self.emit(SizesOp, values=[cast("int", value)], shape=(), dtype=dtype_of(like).name)
        return self.constant(np.asarray(value).astype(dtype_of(like)), "scalar")
