"""relay -> te: one primitive function becomes one te.func.

Each operator is a function from the te tensors of its operands to that of its result, in the te language. Every stage,
scalar ops inside included, is located at the operator it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from types import FrameType

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import SSAValue

from ... import te
from ...dialects.element_types import dtype_name, is_small
from ...dialects.relay.constants import literal_value
from ...dialects.relay.core import ConstantOp, FuncOp, ReturnOp
from ...dialects.relay.elementwise import CastLikeOp, CastOp, CopyOp, ReinterpretOp
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.relay.qnn import DequantizeOp, QuantizeOp
from ...dialects.relay.traits import OpPattern
from ...dialects.sizes import SizeExpr, symbols_of
from ...dialects.sizes.types import SizesAttr
from ...dialects.te import FuncOp as TeFuncOp
from ...provenance.diagnostics import describe, fail
from ...support.doors import find_with
from ...support.dtypes import storage
from ...te import Tensor
from ...te.language.emit import build_function
from ...te.language.extents import SymbolSizes
from ...te.language.tensor import FullOp, PlaceholderOp
from .joined_axes import join_axes
from .op_strategy import lowering_of_users
from .stages import compute, shape

Lowering = Callable[..., Tensor | tuple[Tensor, ...]]
"""(operator, tensor of each declared operand) -> tensor of the result, or of each.

Of an optional operand that is missing it gets None, of a variadic one a tuple.
"""

_ELSEWHERE = {
    "activation": ("logic",),
    "annotation": (),
    "collapse": ("reduce",),
    "dynamic": (),
    "dynamic_sizes": (),
    "elementwise": ("elementwise", "fast_math", "logic"),
    "matmul": ("nn", "elementwise"),
    "normalization": ("normalization", "nn"),
    "packed_call": (),
    "qnn_elementwise": ("qnn",),
    "transform": ("transform", "elementwise"),
}
"""Module of `dialects/relay/` -> those here that lower its operators, where that is not the one of its name."""


class Table(dict[type[Operator], Lowering]):
    """Operator -> what it computes. Modules of lowerings are loaded for the first operator that is looked up."""

    def __missing__(self, operator: type[Operator]) -> Lowering:
        package, _, name = operator.__module__.rpartition(".")
        if package == ConstantOp.__module__.rpartition(".")[0]:
            for home in _ELSEWHERE.get(name, (name,)):
                table: Mapping[type[Operator], Lowering] = import_module(f".{home}", __package__).TABLE
                if operator in table:
                    return self.setdefault(operator, table[operator])
        raise KeyError(operator)

    def __contains__(self, operator: object) -> bool:
        with suppress(KeyError):
            return isinstance(operator, type) and self[operator] is not None
        return False


TABLE = Table()


CASTS = (CastLikeOp, CastOp, CopyOp, DequantizeOp, QuantizeOp, ReinterpretOp)
"""Besides what only moves elements, the operators that read and make small ones."""


def lower_function(func: FuncOp, *, join: bool = True) -> TeFuncOp:
    """The te.func of a primitive relay function, with its name; of a function of known sizes with joined axes.

    join: False leaves the axes, and so the shapes of arguments and results, as they are.

    Raises VerifyException for operators that have no lowering; inference passes rewrite those before.
    """
    tensors: dict[SSAValue, Tensor] = {}
    for index, argument in enumerate(func.block.args):
        with te.located(argument.location):
            dtype = storage(dtype_name(element_of(argument)))
            tensors[argument] = te.placeholder(shape_of(argument), dtype, name=f"p{index}")
    arguments = list(tensors.values())
    results = lower_ops(func, tensors)
    sizes = SymbolSizes(_symbols(func))
    out, _ = build_function(results, arguments, func.sym_name.data, sizes if sizes else None)
    if sizes:
        out.properties["sizes"] = ArrayAttr(map(StringAttr, sizes))
    out.location = func.location
    if func.block.last_op is not None:
        out.return_op.location = func.block.last_op.location
    if join and not sizes:
        join_axes(out)
    return out


def lower_ops(func: FuncOp, tensors: dict[SSAValue, Tensor], *, ours: bool = False) -> list[Tensor]:
    """The tensors that a function of operators returns, of those of its arguments; `tensors` gets that of each value.

    ours: by the compiler's lowerings only, whatever the user registered.

    A tensor that is returned as it was given is copied: a result has to be a stage of its own.
    """
    for op in func.block.ops:
        with te.located(op.location):
            match op:
                case ConstantOp():
                    tensors[op.result] = _scalar(op)
                case Operator():
                    _check_small(op)
                    operands = op.signature.arguments([tensors[operand] for operand in op.operands])
                    results = _lowering(op, ours)(op, *operands)
                    tensors.update(zip(op.results, results if isinstance(results, tuple) else (results,), strict=True))
                case ReturnOp():
                    return [_result(tensors[value]) for value in op.values]
                case _:
                    fail(op, "an operator inside a primitive function", op.name)
    return []


@find_with
def _lowering_at(frame: FrameType) -> tuple[str, str]:
    """The operator that a frame lowers, and its kernel."""
    op, func = frame.f_locals.get("op"), frame.f_locals.get("func")
    if frame.f_code is not lower_ops.__code__ or not isinstance(op, Operator) or not isinstance(func, FuncOp):
        return "", ""
    return f"lowering of {op.name.removeprefix('relay.')} in kernel '{func.sym_name.data}'", describe(op.location)


def _symbols(func: FuncOp) -> list[str]:
    """The symbols in shapes and attributes, in order: those of a kernel in that of their numbers."""
    ops = list(func.block.ops)
    shapes = [shape_of(value) for value in (*func.block.args, *(value for op in ops for value in op.results))]
    shapes += [value.sizes for op in ops for value in op.properties.values() if isinstance(value, SizesAttr)]
    names = [name for shape in shapes for size in shape if isinstance(size, SizeExpr) for name in symbols_of(size)]
    numbers = [int(name[1:]) for name in names if name[0] == "s" and name[1:].isdigit()]
    return names if len(numbers) < len(names) else [f"s{number}" for number in range(max(numbers, default=-1) + 1)]


def _check_small(op: Operator) -> None:
    """Fail where small numbers, which lie there as bytes, would be computed with as if they were those."""
    small = [value.type for value in (*op.operands, *op.results) if is_small(element_of(value))]
    moves = op.pattern() is OpPattern.INJECTIVE and not op.is_pointwise()
    if small and not moves and not isinstance(op, CASTS):
        fail(op, "operands that a cast has made numbers of", str(small[0]))


def _lowering(op: Operator, ours: bool) -> Lowering:
    if not ours and (own := lowering_of_users(op)) is not None:
        return own
    if type(op) not in TABLE:
        fail(op, "an operator with a lowering to te", "none (simplify-inference removes training operators)")
    return TABLE[type(op)]


def _scalar(op: ConstantOp) -> Tensor:
    if op.literal is None or (value := literal_value(op.literal)).size != 1:
        fail(op, "constants of one element inside a primitive function", str(op.result.type))
    return te.full(shape_of(op.result), value.reshape(-1)[0].item(), dtype_name(element_of(op.result)))


def _result(tensor: Tensor) -> Tensor:
    return _copied(tensor) if isinstance(tensor.op, PlaceholderOp | FullOp) else tensor


def _copied(tensor: Tensor) -> Tensor:
    return compute(shape(tensor), lambda *i: tensor(*i), "copy")
