"""The input of an operator's type rule and meaning: the operands' types and the attributes' values."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import LocationAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...provenance.diagnostics import message
from ..element_types import DTYPES
from ..sizes import Size, UndecidedSize, decide, product, proves, size_min
from ..sizes.types import extents_of
from .attributes import to_python
from .traits import Kind

Tensor: TypeAlias = TensorType[Attribute]
T = TypeVar("T")

_required: ContextVar[list[Size] | None] = ContextVar("required", default=None)


@contextmanager
def requirements() -> Generator[list[Size]]:
    """The sizes that type rules asked inside need not to be negative, where only a call knows whether they are."""
    sizes: list[Size] = []
    before = _required.set(sizes)
    try:
        yield sizes
    finally:
        _required.reset(before)


def shape_of(value: SSAValue | Attribute) -> tuple[int, ...]:
    """The shape of a tensor value or type; xDSL's DYNAMIC_INDEX stands for a dimension that nothing tells.

    An extent with symbols is a SizeExpr, which takes part in arithmetic of integers as one does.
    """
    return cast("tuple[int, ...]", extents_of(as_tensor(value)))


def element_of(value: SSAValue | Attribute) -> Attribute:
    """The element type of a tensor value or type."""
    return as_tensor(value).element_type


def as_tensor(value: SSAValue | Attribute) -> Tensor:
    type_ = value.type if isinstance(value, SSAValue) else value
    if not isinstance(type_, TensorType):
        raise VerifyException(f"expected a tensor, got {type_}")
    return cast(Tensor, type_)


def is_tensor_of(type_: Tensor, element: Attribute, shape: Sequence[Size]) -> bool:
    """Return whether a type is of these elements and this shape.

    Raises UndecidedSize where sizes of the call decide that.
    """
    return type_.element_type == element and extents_of(type_) == tuple(shape)


@dataclass(frozen=True)
class Group:
    """A declared operand of an operator: a single value, one that may be missing, or any number of values."""

    name: str
    optional: bool = False
    variadic: bool = False

    @property
    def single(self) -> bool:
        return not self.optional and not self.variadic


@dataclass(frozen=True)
class Signature:
    """The input of `infer`: operand types and attribute values, and how to complain."""

    op: str
    types: tuple[Tensor, ...]
    attributes: Mapping[str, Attribute]
    location: LocationAttr | None = None
    groups: Mapping[Group, int] | None = None
    """The number of operands in each group."""

    def arguments(self, values: Sequence[T]) -> list[T | tuple[T, ...] | None]:
        """Return an entry for each declared operand: its value, None if it is missing, a tuple for a variadic one."""
        rest = iter(values)
        arguments: list[T | tuple[T, ...] | None] = []
        for group, size in (self.groups or {}).items():
            members = tuple(next(rest) for _ in range(size))
            arguments.append(members if group.variadic else members[0] if members else None)
        return arguments

    def operand(self, name: str) -> tuple[Tensor, ...]:
        """The types in one group; none when an optional operand is missing."""
        start = 0
        for group, size in (self.groups or {}).items():
            if group.name == name:
                return self.types[start : start + size]
            start += size
        raise KeyError(name)

    def shape(self, index: int) -> tuple[int, ...]:
        """The shape of operand `index`, as `shape_of` gives it."""
        return cast("tuple[int, ...]", extents_of(self.types[index]))

    def get(self, name: str) -> Any:
        """The Python value of an attribute; None when it is absent."""
        attribute = self.attributes.get(name)
        return None if attribute is None else to_python(attribute)

    def ints(self, name: str) -> tuple[int, ...]:
        return cast(tuple[int, ...], self.get(name))

    def int(self, name: str) -> int:
        """An attribute that is one number, or one size."""
        value = self.get(name)
        return cast(int, value[0] if isinstance(value, tuple) else value)

    def str(self, name: str) -> str:
        return cast(str, self.get(name))

    def spatial(self, name: str, rank: int) -> tuple[int, ...]:
        """An attribute of `rank` ints, one per spatial axis."""
        values = self.ints(name)
        if len(values) != rank:
            self.fail(f"{name} of {rank} int{'s' * (rank > 1)}", str(list(values)))
        return values

    def pair(self, name: str) -> tuple[int, int]:
        """An attribute of two ints, one per spatial axis."""
        first, second = self.spatial(name, 2)
        return first, second

    def rank(self, index: int, *allowed: int) -> tuple[int, ...]:
        """The shape of operand `index`, whose rank must be one of `allowed`."""
        shape = self.shape(index)
        if len(shape) not in allowed:
            wanted = " or ".join(f"{n}-d" for n in allowed)
            self.fail(f"a {wanted} operand {index}", str(self.types[index]))
        return shape

    def of(self, kind: Kind, index: int = 0) -> None:
        """Complain unless operand `index` is of a kind."""
        if not kind.holds(self.types[index].element_type):
            self.fail(kind.noun, str(self.types[index]))

    def vector(self, index: int, axis: int, what: str) -> None:
        """Complain unless operand `index`, called `what`, has an element for each place of operand 0 along `axis`."""
        extent = self.shape(0)[axis]
        if self.rank(index, 1) != (extent,):
            self.fail(f"{what} of {extent} elements", str(self.types[index]))

    def same_element(self) -> Attribute:
        """The one element type of all operands."""
        first = self.types[0].element_type
        for index, other in enumerate(self.types):
            if other.element_type != first:
                self.fail(f"operand {index} of element type {first}", str(other))
        return first

    def product_element(self) -> Attribute:
        """The element type of products: `out_dtype`, which operands are converted to first, or that of all operands."""
        if not (dtype := self.str("out_dtype")):
            return self.same_element()
        if dtype not in DTYPES:
            self.fail(f"an out_dtype among {', '.join(DTYPES)}", repr(dtype))
        return DTYPES[dtype]

    def require(self, size: Size, expected: str, found: str) -> None:
        """Complain where a size is surely negative; where sizes of the call decide that, every call is checked."""
        if proves(size, "<", 0):
            self.fail(expected, found)
        if not proves(size, ">=", 0) and (sizes := _required.get()) is not None:
            sizes.append(size)

    def require_equal(self, a: Size, b: Size, expected: str, found: str) -> None:
        """Complain where two sizes surely differ; raise UndecidedSize where sizes of the call decide that."""
        fits = decide(a, "==", b)
        if fits is None:
            raise UndecidedSize(f"whether {a} == {b} depends on the values of sizes", (a, b), needed=True)
        if not fits:
            self.fail(expected, found)

    def require_source(self, index: int, extents: Sequence[Size], reads: Sequence[Size]) -> None:
        """Complain where elements are read of an operand that has none; where calls decide that, each is checked.

        extents: of the axes along which is read, wherever indices point. reads: as many are read, or none.
        """
        some = size_min(product(reads), 1)
        self.require(product(extents) - some, f"an operand {index} with elements to read", str(self.types[index]))

    def require_scalar(self, index: int, what: str) -> None:
        """Complain unless operand `index`, called `what`, is one number; raise UndecidedSize where a call decides."""
        self.require_equal(product(self.shape(index)), 1, f"one number as {what}", str(self.types[index]))

    def axis(self, axis: int, rank: int, name: str = "axis") -> int:
        """A possibly negative axis made non-negative."""
        if not -rank <= axis < rank:
            self.fail(f"{name} in [{-rank}, {rank})", str(axis))
        return axis % rank

    def fail(self, expected: str, found: str) -> NoReturn:
        raise VerifyException(message(self.op, expected, found, self.location))
