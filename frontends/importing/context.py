"""The context of a converter: one node, its inputs, and functions that emit relay ops or raise errors."""

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
from ...provenance.ledger import LayerFacts
from ...support.dtypes import Array
from ...support.errors import FrontendError
from .attributes import Attributes
from .limits import excess, expectation
from .node_parts import Asked, NodePart
from .tensor import Tensor, Undecided, dtype_of, shape_of, size_in

Operands: TypeAlias = SSAValue | Sequence[SSAValue] | None
"""The arguments for one operand that an operator declares."""


def _tensors() -> list[Tensor]:
    return []


def _sizes() -> list[Size]:
    return []


def _bounds() -> list[IndexBound]:
    return []


_MOVES = (CastOp, ReshapeOp, ExpandDimsOp, SqueezeOp)
"""The operators that do not change indices."""


@dataclass(eq=False, kw_only=True)
class Context(Attributes):
    """A node under conversion. Inputs and outputs are numbered from 0; absent optional inputs are None."""

    op_type: str
    """The model's name of the operator."""
    leaf: LocationAttr
    """The node's layer, for errors; the builder's location is the same (or unknown, with spans off)."""
    inputs: Sequence[Tensor | None]
    builder: LocatedBuilder
    module: ModuleOp
    read: list[Tensor] = field(default_factory=_tensors)
    """The tensors whose values the converter read."""
    required: list[Size] = field(default_factory=_sizes)
    """Expressions that no call may make negative."""
    bounds: list[IndexBound] = field(default_factory=_bounds)
    """The bounds of indices that are inputs of the program."""
    asked: Asked = field(default_factory=Asked)
    """The inputs and attributes that the converter asked for."""

    def require(self, size: Size) -> None:
        """Let every call check that its sizes do not make this one negative."""
        self.required.append(size)

    def require_indices(self, value: SSAValue, extents: Sequence[Size], ignored: tuple[int, ...] | None = None) -> None:
        """Let every call check that elements of a value lie from `-extent` to `extent - 1`.

        extents: one for all elements, or one for each position along the last axis. ignored: for classes, which lie
        from 0 to `extent - 1`, the values that mean no class. Only inputs of the program, perhaps in another shape or
        integer dtype, can be checked before anything runs; computed indices are clipped.
        """
        while len(extents) == 1 and isinstance(value.owner, _MOVES):
            value = value.owner.operands[0]
        if isinstance(value, BlockArgument) and dtype_of(value).kind in "iu":
            self.bounds.append(IndexBound(value.index, tuple(extents), self.leaf, ignored))

    def require_least(self, size: Size, least: Size, what: str) -> None:
        """Let every call check that `size`, described by `what`, is `least` or more.

        Raises UndecidedSize if bounds of a symbol can ensure that.
        """
        if decide(least, "<=", size) is None:
            sides = (size, size_max(size, least))
            if range_for(*sides) is not None:
                raise UndecidedSize(f"{self.op_type}: {what}", sides)
            self.require(size - least)

    def require_equal(self, a: Size, b: Size) -> None:
        """Raise UndecidedSize if it depends on the call whether two sizes are equal, as they have to be."""
        if decide(a, "==", b) is None:
            raise UndecidedSize(f"whether {a} == {b} depends on the values of sizes", (a, b), needed=True)

    def require_multiple(self, size: Size, divisor: int, expected: str) -> None:
        """Let every call check that `size` is a multiple. Raises FrontendError if it never is."""
        if decide(size % divisor, "==", 0) is False:
            self.fail(expected, str(size))
        if decide(size % divisor, "==", 0) is None:
            self.require(-(size % divisor))

    def require_shape(self, index: int, shape: Sequence[Size], what: str) -> None:
        """Require a shape of input `index`, called `what`, as `require_equal` does of sizes.

        Raises FrontendError if it never has the shape.
        """
        actual: Sequence[Size] = self.shape(index)
        if len(actual) != len(shape) or any(decide(a, "==", b) is False for a, b in zip(actual, shape, strict=True)):
            self.fail(f"{what} of shape [{', '.join(map(str, shape))}]", f"[{', '.join(map(str, actual))}]")
        for a, b in zip(actual, shape, strict=True):
            self.require_equal(a, b)

    def fail(self, expected: str, actual: str) -> NoReturn:
        """Raise a FrontendError about this node."""
        raise FrontendError(message(self.op_type, expected, actual, self.leaf))

    # Inputs.

    def input(self, index: int) -> Tensor | None:
        """Return input `index`, or None if it is absent. Converters access `inputs` only through this."""
        self.asked.inputs.add(index)
        return self.inputs[index] if index < len(self.inputs) else None

    def inputs_from(self, first: int) -> list[Tensor | None]:
        """Return the inputs from `first` on; None for absent ones."""
        return [self.input(index) for index in range(first, len(self.inputs))]

    def with_inputs(self, inputs: Sequence[Tensor | None], **changes: Any) -> Self:
        """Return the same node with other inputs, and other fields, for the converter of another operator.

        That converter must ask for these inputs, and for the attributes of the node, as `Converter.apply` checks.
        """
        return replace(self, inputs=inputs, asked=Asked(attributes=self.asked.attributes), **changes)

    def index_of(self, name: str, position: int) -> int | None:
        """Return the number of the input that a row calls `name`, at `position` in the row; None if it is omitted."""
        return position if self.has(position) else None

    def indices_of(self, name: str, position: int) -> Sequence[int]:
        """The numbers of the inputs that a row calls `name`: those from the `position`-th on, or of a list."""
        return range(position, len(self.inputs))

    def has(self, index: int) -> bool:
        """Return whether input `index` is present."""
        return self.input(index) is not None

    def tensor(self, index: int) -> Tensor:
        """Return input `index`, which must be present."""
        tensor = self.input(index)
        if tensor is None:
            self.fail(f"an input {index}", "none")
        return tensor

    def value(self, index: int) -> SSAValue:
        """Return input `index` as a relay value; a known one becomes a constant at its first use."""
        return self.tensor(index).materialise(self.builder, self.module)

    def values(self) -> list[SSAValue]:
        """Return all inputs as relay values."""
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
        """Return the values of input `index` if they are numbers known at import, else None."""
        tensor = self.tensor(index)
        if tensor.symbolic:
            return None
        if tensor.array is not None:
            self.read.append(tensor)
        return tensor.array

    def array(self, index: int, what: str) -> Array:
        """Return the values of input `index`, called `what`, which must be known at import."""
        array = self.known(index)
        if array is None:
            tensor = self.tensor(index)
            actual = f"'{tensor.name}', which is computed at run time"
            raise Undecided(message(self.op_type, f"{what} known at import", actual, self.leaf), tensor)
        return array

    def known_ints(self, index: int, what: str) -> tuple[int, ...]:
        """Return the integers or sizes in input `index`, called `what`, which must be known at import."""
        tensor = self.tensor(index)
        if tensor.symbolic and tensor.array is not None and tensor.array.ndim < 2 and tensor.counts.kind in "iu":
            self.read.append(tensor)
            return tuple(tensor.array.reshape(-1).tolist())
        array = self.array(index, what)
        if array.dtype.kind not in "iu" or array.ndim > 1:
            self.fail(f"{what} as a list of integers", f"{array.dtype}{list(array.shape)}")
        return tuple(int(v) for v in array.reshape(-1).tolist())

    def known_pairs(self, index: int, what: str) -> tuple[tuple[int, int], ...]:
        """The pairs of integers in input `index`, called `what`, which must be known at import; sizes among them."""
        tensor = self.tensor(index)
        if tensor.symbolic and tensor.array is not None:
            self.read.append(tensor)
            table = tensor.array
        else:
            table = self.array(index, what)
        if table.ndim != 2 or table.shape[1] != 2 or table.dtype.kind not in "iuO":
            self.fail(f"{what} of shape [.., 2]", f"{table.dtype}{list(table.shape)}")
        return tuple((before, after) for before, after in table.tolist())

    def size(self, index: int, what: str) -> int:
        """Return the one whole number or size in input `index`, called `what`, which must be known at import.

        It may be a float, as exporters write it for a Range.
        """
        if (size := size_in(self.tensor(index))) is not None:
            self.read.append(self.tensor(index))
            return size
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
        """Return the one number in input `index`, called `what`, which must be known at import."""
        array = self.array(index, what)
        if array.size != 1 or array.dtype.kind in "OSU":
            self.fail(f"{what} that is one number", f"{array.dtype}{list(array.shape)}")
        return array.item()

    # Parts of the node.

    def parts(self) -> Iterable[NodePart]:
        """Return the inputs and attributes for which a converter must ask; none if a frontend lists none."""
        return ()

    def input_parts(self, names: Sequence[str] = ()) -> Iterator[NodePart]:
        """Yield the inputs that are present, with these names as far as there are names."""
        for index, tensor in enumerate(self.inputs):
            if tensor is not None:
                yield NodePart(index, "input", names[index] if index < len(names) else "", f"'{tensor.name}'")

    def facts(self, outputs: Sequence[str], names: Sequence[str] = ()) -> LayerFacts:
        """Return what the model says of a converted node: the roles of its inputs, and its attributes.

        outputs: the names of its outputs. names: of its inputs, in a row of the operator. A role is the name in the
        operator's schema, else in the row that converted the node, else the one of `names`.
        """
        parts = list(self.parts())
        roles = dict(enumerate(names)) | self.asked.names
        roles |= {part.key: part.name for part in parts if isinstance(part.key, int) and part.name}
        present = ((at, tensor) for at, tensor in enumerate(self.inputs) if tensor is not None)
        inputs = tuple((roles.get(at, ""), tensor.leaf, tensor.name) for at, tensor in present)
        attributes = tuple((part.name, part.value) for part in parts if isinstance(part.key, str))
        return LayerFacts(inputs, tuple(outputs), attributes)

    def refuse_unread(self, unread: Mapping[str, str]) -> None:
        """Raise FrontendError for a part of the node that the converter never asked for.

        unread: the names of the parts that do not change the results, with the reasons.
        """
        for part in self.parts():
            if part not in self.asked and part.name not in unread:
                self.fail(f"no {part}, which is not supported", part.value)

    # Results.

    def fits(self, shape: Sequence[int], dtype: np.dtype[np.generic]) -> None:
        """Raise FrontendError for a tensor that is larger than the memory."""
        if not any(map(symbols_of, shape)) and (too_big := excess(shape, dtype.itemsize)):
            self.fail(expectation(), too_big)

    def emit(self, op: type[Operator], *operands: Operands, **attributes: Value) -> SSAValue:
        """Add an op and return its first result."""
        return self.emit_all(op, *operands, **attributes)[0]

    def emit_all(self, op: type[Operator], *operands: Operands, **attributes: Value) -> tuple[SSAValue, ...]:
        """Add an op and return its results. A missing operand is None, a variadic one a list."""
        new_op = op(*operands, location=None, **attributes)
        try:
            self._check(new_op)
        except (UndecidedSize, VerifyException, FrontendError):
            # An op that is not added must not look like a reader of its operands.
            new_op.drop_all_references()
            raise
        self.builder.add(new_op)
        return tuple(new_op.results)

    def _check(self, new_op: Operator) -> None:
        """Raise an error if the sizes of an op's operands do not fit, or do not determine those of its results."""
        if any(is_open(result.type) for result in new_op.results):
            new_op.infer(new_op.signature)  # its error names the sizes that would have to be equal
            types = ", ".join(str(operand.type) for operand in new_op.operands)
            raise Undecided(message(self.op_type, "sizes that follow from the inputs'", types, self.leaf), None)
        self.required += new_op.check_sizes()
        for result in new_op.results:
            self.fits(shape_of(result), dtype_of(result))

    def constant(self, array: Array, hint: str) -> SSAValue:
        """Add a constant."""
        return self.builder.add(ConstantOp.of(array, self.module, hint)).result

    def scalar(self, value: float | Size, like: SSAValue) -> SSAValue:
        """Add a scalar of the element type of `like`: a constant, or a size."""
        if isinstance(value, SizeExpr):
            return self.emit(SizesOp, values=[cast("int", value)], shape=(), dtype=dtype_of(like).name)
        return self.constant(np.asarray(value).astype(dtype_of(like)), "scalar")
