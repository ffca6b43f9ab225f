"""The source of hybrid scripts: their syntax trees, what stands in them before they run, and the call of one."""

from __future__ import annotations

import ast
import inspect
import operator
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType
from typing import Any, cast
from weakref import WeakKeyDictionary

from ...support.dtypes import check_dtype, fail
from ...support.errors import ScheduleError
from .expr import Axis, Expr, Extent
from .locations import is_located
from .tensor import Operation, Tensor, check_shape, current_tag

KINDS = {"range": "serial", "serial": "serial", "parallel": "parallel", "vectorize": "vectorized", "unroll": "unrolled"}
"""Loops by the function that they iterate over."""


def loop_kind(call: ast.Call) -> str | None:
    """Return the kind of a loop over a call, None where that makes no loop; one bound to blocks is parallel."""
    if called(call) == "bind" and len(call.args) == 2 and isinstance(tag := call.args[0], ast.Constant):
        return "parallel" if str(tag.value).startswith("blockIdx") else "serial"
    return KINDS.get(called(call) or "")


@dataclass(frozen=True)
class Script:
    """The source of a hybrid function, and the values of the names it uses."""

    function: FunctionType
    names: dict[str, Any]

    @cached_property
    def tree(self) -> ast.FunctionDef:
        """The syntax tree. Read when it is first needed: a model uses few of dozens of scripts."""
        tree = ast.parse(textwrap.dedent(inspect.getsource(self.function))).body[0]
        assert isinstance(tree, ast.FunctionDef)
        return tree

    @cached_property
    def file(self) -> str:
        return inspect.getsourcefile(self.function) or "?"

    @property
    def line(self) -> int:
        """The number to add to a line number of the tree to have that of the file."""
        return self.function.__code__.co_firstlineno - 1


class ScriptOp(Operation):
    """Tensors that a script's loops fill, as it is called: its source and its arguments."""

    def __init__(
        self, name: str, script: Script, inputs: Sequence[object], outputs: Sequence[tuple[tuple[Extent, ...], str]]
    ):
        super().__init__(name, [shape for shape, _ in outputs], [dtype for _, dtype in outputs])
        self.tag = current_tag()
        self.attrs: dict[str, Any] = {}
        self.script = script
        self.located = is_located()
        """True when its location was given; without one, each statement is at its line of the script."""
        self.arguments = list(inputs)
        """The arguments of the function: tensors, lists of them, numbers and sizes, functions of numbers."""

        self.axis = _loops_of(script, inputs)

    @property
    def input_tensors(self) -> list[Tensor]:
        return list(dict.fromkeys(tensors_in(self.arguments)))

    @property
    def inputs(self) -> list[Tensor]:
        return self.input_tensors


def _loops_of(script: Script, arguments: Sequence[object]) -> list[Axis]:
    """The loops that a script spells, from the outside in and in order; none where more are made of one.

    Those are the script's with `const_range`, and with scripts that it calls.
    """
    values: dict[str, Any] = dict(zip((parameter.arg for parameter in script.tree.args.args), arguments, strict=True))
    axes: list[Axis] = []
    for node in _in_order(script.tree):
        if isinstance(node, ast.Call) and (
            called(node) == "const_range" or script_of(script.names.get(called(node) or "")) is not None
        ):
            return []
        if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call) or loop_kind(node.iter) is None:
            continue
        name = node.target.id if isinstance(node.target, ast.Name) else ""
        try:
            ends = [static(script, end, values) for end in node.iter.args[called(node.iter) == "bind" :]]
            begin, end = (0, *ends) if len(ends) == 1 else ends
            values[name] = axis = Axis(name, end - begin, start=begin)
        except (ScheduleError, TypeError, ValueError):
            return []
        axes.append(axis)
    return axes


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)


def tensors_in(values: Sequence[object]) -> list[Tensor]:
    """The tensors among arguments, those in lists and tuples too."""
    tensors: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            tensors.append(value)
        elif isinstance(value, list | tuple):
            tensors += tensors_in(cast(Sequence[object], value))
    return tensors


@dataclass
class Outputs:
    """The outputs that a script's `output_tensor`s and `return` name."""

    declared: dict[str, tuple[tuple[Extent, ...], str]] = field(default_factory=dict[str, Any])
    returned: list[str] = field(default_factory=list[str])


PARSED: WeakKeyDictionary[Callable[..., Any], Script] = WeakKeyDictionary()


def script_of(value: object) -> Script | None:
    """Return the script of a name; None for any other value."""
    return PARSED.get(value) if isinstance(value, FunctionType) else None


def script_error(script: Script, node: ast.AST, text: str) -> str:
    line = getattr(node, "lineno", 0) + script.line
    return f"te.hybrid '{script.tree.name}': {text} ({script.file}:{line})"


def called(node: ast.expr) -> str | None:
    """The last name of what a call calls: `te.exp(x)` -> `exp`."""
    if not isinstance(node, ast.Call):
        return None
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)


_COMPARE: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def static(script: Script, node: ast.expr, values: dict[str, Any]) -> Any:
    """The value of an expression of names, numbers, tuples, `len(t)`, `t.shape[i]`, arithmetic and comparisons."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in values or name in script.names:
            return values.get(name, script.names.get(name))
        case ast.Tuple(elts=parts):
            return tuple(static(script, part, values) for part in parts)
        case ast.Attribute(value=owner, attr="shape" | "dtype" | "ndim" as attribute):
            if isinstance(result := static(script, owner, values), Tensor | Expr) and hasattr(result, attribute):
                return getattr(result, attribute)
        case ast.Subscript(value=owner, slice=index):
            result, position = static(script, owner, values), static(script, index, values)
            # Index nested lists like a tensor.
            for item in cast(Sequence[Any], position if isinstance(position, tuple) else (position,)):
                result = result[item]
            return result
        case ast.Call(args=[item]) if called(node) == "len":
            result = static(script, item, values)
            return result.shape[0] if isinstance(result, Tensor) else len(result)
        case ast.UnaryOp(op=ast.USub(), operand=a):
            return -static(script, a, values)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
            a, b = static(script, left, values), static(script, right, values)
            if isinstance(a, int) and isinstance(b, int):
                return _COMPARE[type(op)](a, b)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = static(script, left, values), static(script, right, values)
            table: dict[type[ast.operator], Callable[[], Any]] = {
                ast.Add: lambda: a + b,
                ast.Sub: lambda: a - b,
                ast.Mult: lambda: a * b,
                ast.FloorDiv: lambda: a // b,
                ast.Mod: lambda: a % b,
            }
            if type(op) in table:
                return table[type(op)]()
        case _:
            pass
    fail(script_error(script, node, f"expected a size or constant, got '{ast.unparse(node)}'"))


def allocation(script: Script, node: ast.Call, values: dict[str, Any]) -> tuple[tuple[Extent, ...], str]:
    """Shape and dtype of `output_tensor(shape, dtype)` or `allocate(shape, dtype, scope)`."""
    arguments = _given(script, node, values, 2 if called(node) == "output_tensor" else 3)
    dtype = check_dtype(arguments.get("dtype", "float32"), f"te.hybrid '{script.tree.name}'")
    return check_shape(arguments["shape"], f"te.hybrid '{script.tree.name}'"), dtype


def scope_of(script: Script, node: ast.Call, values: dict[str, Any]) -> str | None:
    """The scope of an `allocate`; None where it says none."""
    scope = _given(script, node, values, 3).get("scope")
    if scope not in (None, "global", "shared", "local"):
        fail(script_error(script, node, f"expected a scope among global, shared and local, got {scope!r}"))
    return scope


def _given(script: Script, node: ast.Call, values: dict[str, Any], count: int) -> dict[str, Any]:
    """The arguments of an allocation by name."""
    names = ("shape", "dtype", "scope")[:count]
    arguments = dict(zip(names, node.args, strict=False)) | {word.arg or "": word.value for word in node.keywords}
    if len(node.args) > count or "shape" not in arguments or not set(arguments) <= set(names):
        fail(script_error(script, node, f"expected {', '.join(names)}, got '{ast.unparse(node)}'"))
    return {name: static(script, value, values) for name, value in arguments.items()}


def outputs_of(script: Script, values: dict[str, Any]) -> Outputs:
    """The outputs of a script for its arguments; raises ScheduleError unless it returns all that it declares."""
    outputs = Outputs()
    for statement in script.tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if called(call) == "output_tensor":
                outputs.declared[name] = allocation(script, call, values)
            case ast.Return(value=ast.Name(id=name)):
                outputs.returned = [name]
            case ast.Return(value=ast.Tuple(elts=parts)):
                outputs.returned = [part.id for part in parts if isinstance(part, ast.Name)]
            case _:
                pass
    if not outputs.returned or any(name not in outputs.declared for name in outputs.returned):
        text = f"expected a return of output tensors ({', '.join(outputs.declared) or 'there are none'})"
        fail(script_error(script, script.tree.body[-1], text))
    if set(outputs.returned) != set(outputs.declared):
        fail(script_error(script, script.tree.body[-1], f"expected all of {', '.join(outputs.declared)} returned"))
    return outputs
