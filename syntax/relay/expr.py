"""Relay as it is written: expressions, in Python or in text, before types are known and ops exist.

Names and fields are TVM's. A node may have several readers (a graph); one with readers in a single scope belongs to it.
Each class of nodes has a row in the table of `nodes.py`. `elaborate.py` makes ops of expressions, `view.py` expressions
of ops; all passes work on ops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from ...dialects.relay.call_tir import HoldsKernel
from ...dialects.relay.traits import FusionPattern
from ...runtime.values.ndarray import shared_view
from ...support.dtypes import Array
from ...support.errors import FrontendError
from .attrs import Attrs, FunctionAttrs, operators
from .node import AnySpan as AnySpan
from .node import Node
from .op_attrs import NUM_INPUTS, is_intrinsic, op_attr, register_op_attr, reset_op_attr
from .texts import printer
from .tvm_forms import own_attributes
from .type_view import plain, view


@dataclass(eq=False, repr=False)
class Expr(Node):
    """Base of expressions. `==` compares identity; use `structural_equal` to compare contents."""

    type: Attribute | None = field(default=None, kw_only=True)
    """The inferred type, or None before type inference."""

    @property
    def inferred(self) -> Attribute:
        """The inferred type; raises FrontendError before type inference."""
        if self.type is None and isinstance(self, Function) and self.home is not None:
            self.home()
        if self.type is None:
            raise FrontendError(f"{type(self).__name__}: expected a type, got none: type inference did not run yet")
        return self.type

    @property
    def checked_type(self) -> Any:
        """The inferred type with TVM's fields."""
        return view(self.inferred)

    @property
    def struct_info(self) -> Any:
        """The type, as Relax calls it: the inferred one, or that of a variable's annotation."""
        return view(self.inferred) if self.type is not None else getattr(self, "type_annotation", None)

    ty = struct_info
    """The same, as newer releases of Relax call it."""

    @property
    def _checked_type_(self) -> Any:
        """The inferred type with TVM's fields, or None before type inference."""
        return None if self.type is None else view(self.type)

    def astext(self, show_meta_data: bool = True, annotate: Callable[[Expr], str] | None = None) -> str:
        """Return the expression as Relay text, with version line and metadata section."""
        return printer().astext(self, show_meta_data=show_meta_data, annotate=annotate)

    def __str__(self) -> str:
        return printer().pretty_print(self)

    __repr__ = __str__

    def __add__(self, other: Expr) -> Call:
        return _binary("add", self, other)

    def __sub__(self, other: Expr) -> Call:
        return _binary("subtract", self, other)

    def __mul__(self, other: Expr) -> Call:
        return _binary("multiply", self, other)

    def __truediv__(self, other: Expr) -> Call:
        return _binary("divide", self, other)

    def __lt__(self, other: Expr) -> Call:
        return _binary("less", self, other)

    def __gt__(self, other: Expr) -> Call:
        return _binary("greater", self, other)

    def __le__(self, other: Expr) -> Call:
        return _binary("less_equal", self, other)

    def __ge__(self, other: Expr) -> Call:
        return _binary("greater_equal", self, other)

    def __neg__(self) -> Call:
        return Call(Op("negative"), [self])

    def __call__(self, *args: Expr) -> Call:
        return Call(self, list(args))

    def astype(self, dtype: str) -> Call:
        """Return a cast of this tensor to another dtype."""
        return Call(Op("cast"), [self], {"dtype": dtype})


def _binary(op: str, lhs: Expr, rhs: object) -> Call:
    if not isinstance(rhs, Expr):
        raise TypeError(f'convert "{rhs}" with `const` first')
    return Call(Op(op), [lhs, rhs])


@dataclass(eq=False, repr=False)
class Constant(Expr):
    """A tensor of known values; its `data` has a method `numpy()`."""

    data: Array
    span: AnySpan = None

    def __post_init__(self) -> None:
        self.data = shared_view(np.asanyarray(self.data))


@dataclass(frozen=True)
class VirtualDevice:
    """The device of a value; -1 and "" leave it open. It has no effect, because there is only one device."""

    device_type: int = -1
    virtual_device_id: int = -1
    memory_scope: str = ""


@dataclass(eq=False, repr=False)
class Var(Expr):
    """A variable that a function, a let or a pattern binds, or a free one."""

    name_hint: str
    type_annotation: Any = None
    """A type with TVM's fields, or None."""
    span: AnySpan = None
    virtual_device: VirtualDevice | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.type_annotation is not None:
            self.type_annotation = view(self.type_annotation)

    @property
    def name(self) -> str:
        """The name, as newer releases of Relax call it."""
        return self.name_hint

    @property
    def vid(self) -> Var:
        """The identity of the variable in TVM: here, the variable itself."""
        return self


@dataclass(eq=False, repr=False)
class GlobalVar(Expr):
    """A function of the module, by name."""

    name_hint: str
    span: AnySpan = field(default=None, kw_only=True)


@dataclass(eq=False, repr=False)
class Op(Expr):
    """An operator, by TVM's name: `nn.conv2d`. Operators with equal names are equal."""

    name: str
    span: AnySpan = field(default=None, kw_only=True)

    @staticmethod
    def get(name: str) -> Op:
        """Return the operator, or the intrinsic (`tir.exp`), with a name; raises FrontendError for an unknown one."""
        if name not in operators() and not is_intrinsic(name):
            raise FrontendError(f"expected the name of an operator, got '{name}'")
        return Op(name)

    @property
    def num_inputs(self) -> int:
        """The largest number of arguments of a call; -1 for an intrinsic for which nobody says it."""
        if is_intrinsic(self.name):
            inputs = op_attr(self.name, NUM_INPUTS)
            return -1 if inputs is None else inputs
        return len(operators()[self.name].operand_groups())

    def get_attr(self, attr_name: str) -> Any:
        """Return the attribute that `register_op_attr` set under a key, or its `TOpPattern`; None without either."""
        attribute = op_attr(self.name, attr_name)
        if attribute is not None or attr_name != "TOpPattern" or is_intrinsic(self.name):
            return attribute
        pattern = operators()[self.name].get_trait(FusionPattern)
        return None if pattern is None else int(pattern.kind)

    def has_attr(self, attr_name: str) -> bool:
        return self.get_attr(attr_name) is not None

    def set_attr(self, attr_name: str, value: Any, plevel: int = 10) -> None:
        """Set an attribute of the operator; the highest level wins."""
        register_op_attr(self.name, attr_name, value, plevel)

    def reset_attr(self, attr_name: str) -> None:
        """Remove the attribute set under a key."""
        reset_op_attr(self.name, attr_name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Op) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(eq=False, repr=False)
class Tuple(Expr):
    """Expressions as one value."""

    fields: Sequence[Expr]
    span: AnySpan = None

    def __getitem__(self, index: int) -> Expr:
        """Return the field with an index; raises IndexError beyond the last one."""
        if not -len(self.fields) <= index < len(self.fields):
            raise IndexError("Tuple index out of range")
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def astype(self, dtype: str) -> Call:
        raise TypeError("astype cannot be used on tuple")


@dataclass(eq=False, repr=False)
class TupleGetItem(Expr):
    """One field of a tuple."""

    tuple_value: Expr
    index: int
    span: AnySpan = None


@dataclass(eq=False, repr=False)
class Call(Expr):
    """An operator, a constructor or a function applied to arguments. `attrs` are an operator's explicit attributes."""

    op: Expr
    args: Sequence[Expr]
    attrs: Any = field(default_factory=lambda: dict[str, Any]())
    type_args: Sequence[Any] = ()
    """Types, with TVM's fields, for the type variables of the callee; in a typed call of an operator, the types of its
    arguments."""
    span: AnySpan = None
    stated: Sequence[Attribute | None] = field(default=(), kw_only=True)
    """The types of results that a call of a kernel states, None for any; type inference compares them."""

    def __post_init__(self) -> None:
        self.attrs = self.attrs or {}
        self.type_args = [view(type_) for type_ in self.type_args] if self.type_args else ()
        if isinstance(self.op, Op):
            self.attrs = Attrs(self.op.name, own_attributes(self.op.name, self.attrs) if self.attrs else {})


@dataclass(eq=False, repr=False)
class Function(Expr):
    """A function."""

    params: Sequence[Var]
    body: Expr
    ret_type: Any = None
    """A type with TVM's fields, or None."""
    type_params: Sequence[str] = ()
    attrs: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any]())
    span: AnySpan = None
    output_names: Sequence[str] = field(default=(), kw_only=True)
    """The model's names of the results; the text does not have them."""
    home: Callable[[], object] | None = field(default=None, kw_only=True)
    """Infers the types of the program that the function is from; called when somebody asks for them."""

    def __post_init__(self) -> None:
        type_params: Any = self.type_params or ()
        if self.ret_type is not None:
            self.ret_type = view(self.ret_type)
        # Type variables are accepted themselves, too: they are nothing but their names.
        self.type_params = [param if isinstance(param, str) else param.hint.data for param in type_params]
        self.attrs = FunctionAttrs(self.attrs or {})

    def without_attr(self, key: str) -> Function:
        """Return the same function without an attribute."""
        return replace(self, attrs={name: value for name, value in self.attrs.items() if name != key})

    def with_attr(self, key: str | Mapping[str, Any], value: Any = None) -> Function:
        """Return the same function with one or several additional attributes."""
        attrs = {key: value} if isinstance(key, str) else dict(key)
        return replace(self, attrs={**self.attrs, **attrs})


@dataclass(eq=False, repr=False)
class Let(Expr):
    """A name for a value in `body`; a function may call itself by it."""

    var: Var
    value: Expr
    body: Expr
    span: AnySpan = None


@dataclass(eq=False, repr=False)
class If(Expr):
    """One of two expressions; only that one is evaluated."""

    cond: Expr
    true_branch: Expr
    false_branch: Expr
    span: AnySpan = None


@dataclass(eq=False, repr=False)
class RefCreate(Expr):
    """A new reference."""

    value: Expr
    span: AnySpan = None


@dataclass(eq=False, repr=False)
class RefRead(Expr):
    """The value that a reference holds."""

    ref: Expr
    span: AnySpan = None


@dataclass(eq=False, repr=False)
class RefWrite(Expr):
    """A write of a new value to a reference; its value is `()`."""

    ref: Expr
    value: Expr
    span: AnySpan = None


@dataclass(eq=False, repr=False)
class Constructor(Expr):
    """A constructor of the data type `belong_to`; `inputs` are the types of its fields."""

    name_hint: str
    inputs: Sequence[Attribute]
    belong_to: str
    tag: int = -1
    span: AnySpan = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self.inputs = [plain(value) for value in self.inputs]


@dataclass(eq=False, repr=False)
class Pattern:
    """Base of patterns."""


@dataclass(eq=False, repr=False)
class PatternWildcard(Pattern):
    """A pattern that fits anything."""


@dataclass(eq=False, repr=False)
class PatternVar(Pattern):
    """A pattern that fits anything and names it."""

    var: Var


@dataclass(eq=False, repr=False)
class PatternConstructor(Pattern):
    """A pattern for values of a constructor whose fields fit `patterns`."""

    constructor: Constructor
    patterns: Sequence[Pattern] = ()


@dataclass(eq=False, repr=False)
class PatternTuple(Pattern):
    """A pattern for tuples whose fields fit `patterns`."""

    patterns: Sequence[Pattern] = ()


@dataclass(eq=False, repr=False)
class Clause:
    """A case of a match: the result for values that fit a pattern."""

    lhs: Pattern
    rhs: Expr


@dataclass(eq=False, repr=False)
class Match(Expr):
    """The value of the first clause that fits; a `complete` one has a clause for every value."""

    data: Expr
    clauses: Sequence[Clause]
    complete: bool = True
    span: AnySpan = field(default=None, kw_only=True)


@dataclass(eq=False, repr=False)
class TypeData:
    """An algebraic data type; one without constructors is defined elsewhere."""

    header: str
    type_vars: Sequence[str]
    constructors: Sequence[Constructor]


@dataclass(eq=False, repr=False)
class Program:
    """The functions and data types of a module, by name, in the order of the source."""

    functions: dict[str, Function] = field(default_factory=lambda: dict[str, Function]())
    types: dict[str, TypeData] = field(default_factory=lambda: dict[str, TypeData]())
    kernels: Mapping[str, HoldsKernel] = field(default_factory=lambda: dict[str, HoldsKernel]())
    """The kernels that calls name."""
