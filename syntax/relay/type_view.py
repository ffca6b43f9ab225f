"""Types with TVM's fields: `.shape`, `.dtype`, `.arg_types`, `.fields`, ..

A view stands for the xDSL attribute that ops have: it is equal to the attribute, and has all its fields, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any as Anything
from typing import ClassVar, cast

from xdsl.dialects import builtin
from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, StringAttr
from xdsl.ir import Attribute, TypeAttribute

from ...dialects.element_types import DTYPES, dtype_name
from ...dialects.relay import types
from ...dialects.sizes import Size, SizeExpr
from ...dialects.sizes.text import parse_size
from ...dialects.sizes.types import extents_of, tensor_of
from ...support.errors import FrontendError
from .type_text import spelled


class Any:
    """An extent that only a run decides: `relay.TensorType((relay.Any(), 4))`."""

    def __repr__(self) -> str:
        return "?"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Any)

    def __hash__(self) -> int:
        return hash(Any)

    def _unknown(self, other: object) -> Any:
        """Return the extent that arithmetic with an unknown one gives, which is unknown as well."""
        del other
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = _unknown


class Extent(int):
    """A known extent: an int with TVM's fields of integers."""

    dtype: ClassVar[str] = "int32"

    @property
    def value(self) -> int:
        return int(self)


class TypeView:
    """Base of views; `attribute` is the type."""

    span: ClassVar[None] = None

    def __init__(self, attribute: Attribute):
        self.attribute = attribute

    def __getattr__(self, name: str) -> Anything:
        if name == "attribute" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.attribute, name)

    def __eq__(self, other: object) -> bool:
        attribute = plain(other)
        if self.attribute == attribute:
            return True
        return isinstance(attribute, Attribute) and types.numbered(self.attribute) == types.numbered(attribute)

    def __hash__(self) -> int:
        return hash(types.numbered(self.attribute))

    def __str__(self) -> str:
        return spelled(self.attribute)

    __repr__ = __str__

    @classmethod
    def over(cls, attribute: Attribute) -> TypeView:
        """Return the view of an attribute."""
        instance = cls.__new__(cls)
        TypeView.__init__(instance, attribute)
        return instance


SPELLINGS: list[Callable[[object], Size | None]] = []
"""Readers of extents in other levels' languages; each returns None for extents that it does not know."""


_SHORT = {"uint1": "bool", "int": "int32", "uint": "uint32", "float": "float32"}
"""Other names that TVM accepts for a dtype; without a number of bits, there are 32."""


def tensor_type(shape: Sequence[Anything], dtype: str = "float32") -> builtin.TensorType[Attribute]:
    """Return the type of a tensor. An extent may be a size, `te.size_var("n") + 1`, or its text, `"n + 1"`; any other
    object that is no number, such as `relay.Any()`, is an open extent.

    Raises FrontendError for an unknown dtype and a text that is no size.
    """
    dtype = _SHORT.get(dtype, dtype)
    if dtype not in DTYPES:
        raise FrontendError(f"TensorType: expected a dtype among {', '.join(DTYPES)}, got {dtype}")
    return tensor_of(DTYPES[dtype], [_size(extent) for extent in shape])


def _size(extent: Anything) -> Size:
    match extent:
        case int():
            return int(extent)
        case SizeExpr():
            return extent
        case str():
            try:
                return parse_size(extent)
            except ValueError as error:
                raise FrontendError(f"TensorType: {error}") from error
        case _:
            read_item = getattr(extent, "item", None)
            extents = (size for read in SPELLINGS if (size := read(extent)) is not None)
            return read_item() if read_item is not None else next(extents, DYNAMIC_INDEX)


class TensorType(TypeView):
    """A tensor."""

    def __init__(self, shape: Sequence[Anything] | None, dtype: str = "float32", *, ndim: int = -1):
        """ndim: the number of extents, all of them open, where `shape` is None, as in Relax."""
        if shape is None and ndim < 0:
            raise FrontendError("TensorType: expected a shape or a number of dimensions, got none")
        super().__init__(tensor_type([Any()] * ndim if shape is None else shape, dtype))

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def dtype(self) -> str:
        return dtype_name(self._tensor.element_type)

    @property
    def shape(self) -> list[Anything]:
        """The extents: ints, `Any()` for one that only a run decides, or a size by its name."""
        return [_extent(extent) for extent in extents_of(self._tensor)]

    @property
    def concrete_shape(self) -> tuple[int, ...]:
        """The shape as ints; raises TypeError if an extent is open."""
        return tuple(int(extent) for extent in self.shape)

    @property
    def _tensor(self) -> builtin.TensorType[Attribute]:
        return cast("builtin.TensorType[Attribute]", self.attribute)


def _extent(size: Anything) -> Anything:
    if not isinstance(size, int):
        return size
    return Any() if size == DYNAMIC_INDEX else Extent(size)


class TupleType(TypeView):
    """A tuple."""

    def __init__(self, fields: Sequence[Anything]):
        super().__init__(types.tuple_type([plain(field) for field in fields]))

    @property
    def fields(self) -> list[Anything]:
        return [view(field) for field in types.fields_of(self.attribute) or ()]


class FuncType(TypeView):
    """A function; a polymorphic one if it has type variables."""

    def __init__(
        self,
        arg_types: Sequence[Anything],
        ret_type: Anything,
        type_params: Sequence[Anything] | None = None,
        type_constraints: Sequence[object] | None = None,
    ):
        names = [plain(param).hint.data for param in type_params or ()]
        super().__init__(types.function_type(names, [plain(arg) for arg in arg_types], plain(ret_type)))

    @property
    def arg_types(self) -> list[Anything]:
        return [view(arg) for arg in self._signature.inputs]

    @property
    def ret_type(self) -> Anything:
        return view(self._signature.outputs.data[0])

    @property
    def type_params(self) -> list[Anything]:
        """The type variables of a polymorphic function."""
        names = self.attribute.params if isinstance(self.attribute, types.Forall) else ()
        return [view(types.TypeVar(name)) for name in names]

    @property
    def type_constraints(self) -> list[Anything]:
        """No constraints: only operators have type relations."""
        return []

    @property
    def _signature(self) -> FunctionType:
        signature = types.signature_of(self.attribute)
        assert signature is not None
        return signature


class RefType(TypeView):
    """A reference."""

    def __init__(self, value: Anything):
        super().__init__(types.RefType(cast(TypeAttribute, plain(value))))

    @property
    def value(self) -> Anything:
        return view(cast(types.RefType, self.attribute).value)


class TypeCall(TypeView):
    """A data type applied to types."""

    def __init__(self, func: str, args: Sequence[Anything] = ()):
        super().__init__(types.adt_type(func, [plain(arg) for arg in args]))

    @property
    def func(self) -> str:
        """The name of the data type."""
        return cast(types.AdtType, self.attribute).definition.string_value()

    @property
    def args(self) -> list[Anything]:
        return [view(arg) for arg in cast(types.AdtType, self.attribute).arguments]


class TypeVar(TypeView):
    """A variable that stands for a type."""

    kind: int = 0
    """TVM's number for its kind, as the caller gave it; types do not keep it."""

    def __init__(self, name: str, kind: int = 0):
        super().__init__(types.TypeVar(StringAttr(name)))
        self.kind = kind

    @property
    def name_hint(self) -> str:
        return cast(types.TypeVar, self.attribute).hint.data


_VIEWS: dict[type[Attribute], type[TypeView]] = {
    builtin.TensorType: TensorType,
    builtin.TupleType: TupleType,
    FunctionType: FuncType,
    types.Forall: FuncType,
    types.RefType: RefType,
    types.AdtType: TypeCall,
    types.TypeVar: TypeVar,
}


def view(type_: Attribute | TypeView) -> Anything:
    """Return a type with TVM's fields."""
    if isinstance(type_, TypeView):
        return type_
    kind = _VIEWS.get(type(type_))
    return type_ if kind is None else kind.over(type_)


def plain(type_: Anything) -> Anything:
    """Return the attribute behind a view; anything else unchanged."""
    return type_.attribute if isinstance(type_, TypeView) else type_
