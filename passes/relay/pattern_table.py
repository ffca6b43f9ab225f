"""The abilities of external compilers: a table of patterns for each, and operators that they take one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from xdsl.ir import Operation

from ...dialects.relay.core import CallOp, FuncOp
from ...dialects.relay.operator import Operator
from ...support.errors import PipelineError
from ...syntax.relay.op_attrs import TARGET, op_attr
from ..functions import COMPOSITE, text_of
from .dataflow_pattern.groups import Check, always
from .dataflow_pattern.patterns import DFPattern

Entry: TypeAlias = tuple[str, DFPattern] | tuple[str, DFPattern, Check]
"""The name of a composite function (`onnxruntime.dense`), its pattern, and what says of a match if it is wanted."""
Table: TypeAlias = Sequence[Entry]
Supported = Callable[[Operator], bool]

_tables: dict[str, Callable[[], Table]] = {}
_supported: dict[tuple[str, str], Supported] = {}


def register_pattern_table(compiler: str, table: Callable[[], Table] | None = None) -> Any:
    """Make the patterns of an external compiler known; without `table`, a decorator of a function that gives them.

    >>> @register_pattern_table("mine")
    ... def patterns():
    ...     return [("mine.dense_relu", is_op("nn.relu")(is_op("nn.dense")(wildcard(), is_constant())))]
    """

    def register(given: Callable[[], Table]) -> Callable[[], Table]:
        _tables[compiler] = given
        return given

    return register if table is None else register(table)


def get_pattern_table(compiler: str) -> Table | None:
    """The patterns of an external compiler, the first ones tried first; None when it has none."""
    return _tables[compiler]() if compiler in _tables else None


def register_supported(compiler: str, operator: str, check: Supported | None = None) -> Any:
    """Say that an external compiler takes an operator as it is (TVM: `register_op_attr(operator, "target.compiler")`).

    check: says it of one op. Without it, a decorator of such a function.
    """

    def register(given: Supported) -> Supported:
        _supported[compiler, operator] = given
        return given

    return register if check is None else register(check)


def checked(entry: Entry) -> tuple[str, DFPattern, Check]:
    """An entry of a table with its check; raises PipelineError for what is none."""
    parts = cast("tuple[object, ...]", entry)
    match parts:
        case (str() as name, DFPattern() as pattern):
            return name, pattern, always
        case (str() as name, DFPattern() as pattern, check) if callable(check):
            return name, pattern, cast(Check, check)
        case _:
            raise PipelineError(f"pattern table: expected (name, pattern) or (name, pattern, check), got {entry!r}")


def takes(compiler: str, op: Operation, callee: FuncOp | None) -> bool:
    """Return whether an external compiler takes an op: an operator it supports, or a call of its composite function.

    callee: the function, of a call.
    """
    if isinstance(op, CallOp):
        return callee is not None and text_of(callee, COMPOSITE).startswith(f"{compiler}.")
    if not isinstance(op, Operator):
        return False
    name = op.name.removeprefix("relay.")
    if (check := _supported.get((compiler, name))) is not None:
        return bool(check(op))
    support = op_attr(name, TARGET + compiler)
    return support is not None and bool(support(_call(op)) if callable(support) else support)


def _call(op: Operator) -> object:
    """An op as the call that TVM shows to checks."""
    from .op_hooks import written

    return written(op).call
