"""Functions that users registered for operators, which get and give expressions, as patterns on ops.

`syntax/relay/op_attrs.py` has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp, TupleType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects.relay.constants import module_of
from ...dialects.relay.core import ConstantOp, FuncOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.transform import LayoutTransformOp
from ...provenance.diagnostics import message
from ...support.errors import PipelineError
from ...syntax.relay.attrs import Attrs
from ...syntax.relay.bind import substituted
from ...syntax.relay.elaborate import elaborate
from ...syntax.relay.expr import Call, Constant, Expr, Function, Op, Program, Var
from ...syntax.relay.operators import name_of
from ...syntax.relay.type_view import view
from ...syntax.relay.view import operator_call

_LAYOUTS = ("data_layout", "kernel_layout")


@dataclass
class Written:
    """An op as a call that a user may look at: constants are those, other values variables, all of them typed."""

    call: Call
    values: dict[Expr, SSAValue]
    """The value of each expression."""

    @property
    def types(self) -> list[Any]:
        """The types of the arguments, with TVM's fields."""
        return [arg.checked_type for arg in self.call.args]


def written(op: Operator) -> Written:
    """The call that an op is; `attrs` has all attributes, those that were left out with their defaults."""
    shown: dict[SSAValue, Expr] = {}
    for value in op.operands:
        maker = value.owner
        if isinstance(maker, ConstantOp):
            shown[value] = Constant(maker.value(module_of(op)), type=value.type)
        else:
            shown[value] = Var(value.name_hint or "x", value.type, type=value.type)
    call = operator_call(op, shown)
    defaults = {key: op.signature.get(key) for key in type(op).declared_attributes() if key != "sections"}
    attrs = {**{key: value for key, value in defaults.items() if value is not None}, **call.attrs}
    return Written(replace(call, attrs=attrs), {expr: value for value, expr in shown.items()})


def computed(expr: Expr, values: Mapping[Expr, SSAValue], module: ModuleOp) -> tuple[list[Operation], list[SSAValue]]:
    """New ops that compute an expression, in which some stand for values, and their results."""
    places = {source: Var("p", value.type) for source, value in values.items()}
    main = Function(list(places.values()), substituted(expr, places))
    module_of_it = elaborate(Program({"main": main}))
    func = next(source for source in module_of_it.ops if isinstance(source, FuncOp))
    copies: dict[SSAValue, SSAValue] = dict(zip(func.block.args, values.values(), strict=True))
    ops: list[Operation] = []
    for inner in func.block.ops:
        if inner is func.block.last_op:
            break
        if isinstance(inner, ConstantOp):
            copy: Operation = ConstantOp.of(inner.value(module_of_it), module, inner.hint)
        else:
            copy = inner.clone(copies)
        for part in copy.walk():
            # The driver tells what it stands for.
            part.location = UNKNOWN_LOC
        copies.update(zip(inner.results, copy.results, strict=True))
        ops.append(copy)
    return ops, [copies.get(value, value) for value in func.return_op.values]


def _ops_of(expr: Expr, source: Written, op: Operator, module: ModuleOp) -> tuple[list[Operation], list[SSAValue]]:
    """New ops that compute an expression on the operands of `op`, and their results, of the types of `op`'s."""
    ops, results = computed(expr, source.values, module)
    if [value.type for value in results] != list(op.result_types):
        expected = ", ".join(map(str, op.result_types))
        types = ", ".join(str(value.type) for value in results)
        raise PipelineError(message(f"hook of {name_of(type(op))}", expected, types, op.location))
    return ops, results


def in_layouts(given: Expr, before: Call) -> Expr:
    """A call in other layouts than the operator's before, between transforms; any other expression as it is."""
    if not isinstance(given, Call) or not isinstance(given.op, Op):
        return given
    old, new = before.attrs, given.attrs
    if all(hasattr(attrs, "data_layout") for attrs in (old, new)):
        names: Sequence[str] = _LAYOUTS
    elif all(hasattr(attrs, "layout") for attrs in (old, new)):
        names = ("layout",)
    else:
        return given
    args = list(given.args)
    for index, name in enumerate(names):
        args[index] = _transformed(args[index], getattr(old, name), getattr(new, name))
    changed = Call(given.op, args, dict(given.attrs), span=given.span)
    return _transformed(changed, _result(new, names[0]), _result(old, names[0]))


def _result(attrs: Any, name: str) -> str:
    return getattr(attrs, "out_layout", "") or getattr(attrs, name)


def _transformed(expr: Expr, source: str, target: str) -> Expr:
    if source == target:
        return expr
    return Call(Op("layout_transform"), [expr], {"src_layout": source, "dst_layout": target})


@dataclass
class ApplyHooks(RewritePattern):
    """An operator becomes the expression that its function gives; where that gives None, it stays."""

    hooks: Mapping[str, Callable[[Written], object]]
    """Operator -> what it becomes."""
    module: ModuleOp
    layouts: bool = False
    """True when an operator in other layouts stands between transforms."""
    back: set[Operation] = field(default_factory=lambda: set[Operation]())
    """The transforms behind those operators."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Operator) or (hook := self.hooks.get(name_of(type(op)))) is None:
            return
        source = written(op)
        answer = hook(source)
        if hasattr(answer, "astuple"):
            answer = cast(Any, answer).astuple()
        if answer is None or answer is source.call:
            return
        if not isinstance(answer, Expr):
            type_name = type(answer).__name__
            raise PipelineError(
                message(f"hook of {name_of(type(op))}", "an expression or None", type_name, op.location)
            )
        ops, results = _ops_of(in_layouts(answer, source.call) if self.layouts else answer, source, op, self.module)
        if ops and isinstance(ops[-1], LayoutTransformOp):
            self.back.add(ops[-1])
        rewriter.replace(op, ops, results)


@dataclass
class Unless(RewritePattern):
    """A pattern, but not on operators of these names."""

    names: frozenset[str]
    pattern: RewritePattern

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if op.name.removeprefix("relay.") not in self.names:
            self.pattern.match_and_rewrite(op, rewriter)


def output_types(call: Call) -> Any:
    """The type of a call's result with TVM's fields."""
    return view(cast(Attribute, call.type))


def flat_types(source: Written) -> list[Any]:
    """The types of the arguments, those in tuples one by one, as TVM gives them to functions on layouts."""
    types: list[Any] = []
    for arg in source.call.args:
        types += arg.checked_type.fields if isinstance(arg.type, TupleType) else [arg.checked_type]
    return types


def attributes(source: Written) -> Attrs:
    return cast(Attrs, source.call.attrs)
