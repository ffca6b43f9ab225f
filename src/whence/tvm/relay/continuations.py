"""Continuation-passing style: a function passes its value to a function that it gets, and returns the latter's result.

`to_cps` turns `fn (A) -> B` into `fn [answer](A, fn (B) -> answer) -> answer`, and `un_cps` turns it back. Between
them, partial evaluation sees calls and branches together with the rest of the computation.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.ir import Attribute

from whence import transform
from whence.dialects.relay import types
from whence.dialects.relay.types import TypeVar
from whence.relay.module import IRModule
from whence.support.errors import PipelineError
from whence.syntax.relay import spans
from whence.syntax.relay.expr import (
    Call,
    Clause,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from whence.syntax.relay.nodes import changed, children, post_order, with_vars
from whence.syntax.relay.type_view import plain
from whence.syntax.relay.walks import driven, each

ANSWER = "answer"
"""The type variable of the final answer."""
_ANSWER = TypeVar(StringAttr(ANSWER))
_SUFFIX = "_cps"


class _Task(NamedTuple):
    """An expression, and the continuation that gets its value; without one the value itself is wanted."""

    node: Expr
    then: Var | None


Walk: TypeAlias = Generator[_Task, Expr, Expr]


def cps_type(type_: Attribute) -> Attribute:
    """Return the type of the replacement of a value of a type."""
    if isinstance(type_, FunctionType):
        inputs = [cps_type(part) for part in type_.inputs]
        return FunctionType.from_lists([*inputs, _continuation(type_.outputs.data[0])], [_ANSWER])
    return types.mapped(type_, cps_type)


def _continuation(output: Attribute) -> Attribute:
    return FunctionType.from_lists([cps_type(output)], [_ANSWER])


def to_cps(func: Function, mod: IRModule | None = None) -> Function:
    """Return a function in continuation-passing style.

    mod: the module of the functions that it calls; it gets a function `<name>_cps` for each of these. Raises
    PipelineError for an expression that is not a function.
    """
    if not isinstance(func, Function):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PipelineError(f"to_cps: expected a function, got {type(func).__name__}")
    around = mod.shallow_copy() if mod is not None else IRModule()
    around["main"] = func
    program = transform.ToANormalForm()(around).typed()
    converted = _cps(program.functions["main"])
    stack = _called(program.functions["main"])
    while stack:
        name = stack.pop()
        if mod is not None and name + _SUFFIX not in mod:
            stack += _called(program.functions[name])
            mod[name + _SUFFIX] = _cps(program.functions[name])
    return converted


def un_cps(func: Function) -> Function:
    """Return the function with the identity as its continuation. Raises PipelineError where it has no continuation."""
    last = plain(func.params[-1].type_annotation) if func.params else None
    if not isinstance(last, FunctionType) or len(last.inputs) != 1:
        raise PipelineError("un_cps: expected a function whose last parameter is a continuation, got another one")
    output = last.inputs.data[0]
    bindings: dict[str, Attribute] = {}
    if isinstance(answer := last.outputs.data[0], TypeVar) and answer.hint.data in func.type_params:
        bindings[answer.hint.data] = output
    params: list[Var] = []
    for param in func.params[:-1]:
        annotation = (
            None if param.type_annotation is None else types.substituted(plain(param.type_annotation), bindings)
        )
        params.append(Var(param.name_hint, annotation, span=param.span))
    value = Var("value", types.substituted(output, bindings))
    body = Call(func, [*params, Function([value], value, value.type_annotation)])
    function = Function(
        params,
        body,
        value.type_annotation,
        [param_name for param_name in func.type_params if param_name not in bindings],
    )
    spans.fill_empty(function, func.span)
    return function


def _called(function: Function) -> list[str]:
    return list(dict.fromkeys(node.name_hint for node in post_order(function.body) if isinstance(node, GlobalVar)))


def _cps(function: Function) -> Function:
    converted = _Continuations().run(function)
    assert isinstance(converted, Function)
    whole = Function(
        converted.params, converted.body, converted.ret_type, [*function.type_params, ANSWER], function.attrs
    )
    spans.fill_empty(whole, function.span)
    return whole


class _Continuations:
    """The conversion of expressions in A-normal form; nested ones are handled on a separate stack."""

    def __init__(self) -> None:
        self.vars: dict[Var, Var] = {}

    def run(self, function: Function) -> Expr:
        return driven(_Task(function, None), self._visit)

    def _visit(self, task: _Task) -> Walk:
        result = yield from (self._value(task.node) if task.then is None else self._body(task.node, task.then))
        spans.fill_empty(result, task.node.span)
        return result

    def _body(self, node: Expr, then: Var) -> Walk:
        """Return the expression that passes the value of an expression to `then`."""
        lets: list[tuple[Let, Var]] = []
        while isinstance(node, Let):
            lets.append((node, self._var(node.var, node.value)))
            node = node.body
        result = yield from self._last(node, then)
        for let, var in reversed(lets):
            value = let.value
            if isinstance(value, If | Match):
                rest = Var("continue")
                branches = yield _Task(value, rest)
                result = Let(rest, Function([var], result, _ANSWER), branches, span=let.span)
            elif _is_function_call(value):
                result = yield from self._call(value, Function([var], result, _ANSWER))
            else:
                result = Let(var, (yield _Task(value, None)), result, span=let.span)
        return result

    def _last(self, node: Expr, then: Var) -> Walk:
        match node:
            case If():
                cond = yield _Task(node.cond, None)
                true = yield _Task(node.true_branch, then)
                return If(cond, true, (yield _Task(node.false_branch, then)), span=node.span)
            case Match():
                data = yield _Task(node.data, None)
                clauses: list[Clause] = []
                for clause in node.clauses:
                    pattern = with_vars(clause.lhs, self._var)
                    clauses.append(Clause(pattern, (yield _Task(clause.rhs, then))))
                return Match(data, clauses, node.complete, span=node.span)
            case Call() if _is_function_call(node):
                return (yield from self._call(node, then))
            case _:
                return Call(then, [(yield _Task(node, None))], span=node.span)

    def _call(self, node: Expr, then: Expr) -> Walk:
        assert isinstance(node, Call)
        callee = yield _Task(node.op, None)
        return Call(callee, [*(yield from _values(node.args)), then], span=node.span)

    def _value(self, node: Expr) -> Walk:
        """Return the replacement of a value that needs no call."""
        match node:
            case Var():
                return self.vars.get(node, node)
            case GlobalVar():
                return GlobalVar(node.name_hint + _SUFFIX, span=node.span)
            case Function():
                params = [self._var(param) for param in node.params]
                then = Var("then", _continuation(node.body.inferred))
                body = yield _Task(node.body, then)
                return Function([*params, then], body, _ANSWER, node.type_params, span=node.span)
            case Tuple() | TupleGetItem() | RefCreate() | RefRead() | RefWrite():
                parts = iter((yield from _values(children(node))))
                return replace(node, type=None, **changed(node, lambda _: next(parts)))
            case Call():
                arguments = [cps_type(plain(type_arg)) for type_arg in node.type_args]
                args = yield from _values(node.args)
                return Call(node.op, args, node.attrs, arguments, span=node.span)
            case _:
                return node

    def _var(self, var: Var, value: Expr | None = None) -> Var:
        type_ = var.type if value is None else value.type
        self.vars[var] = Var(var.name_hint, None if type_ is None else cps_type(type_), span=var.span)
        return self.vars[var]


def _values(nodes: Sequence[Expr]) -> Generator[_Task, Expr, list[Expr]]:
    return (yield from each(_Task(node, None) for node in nodes))


def _is_function_call(node: Expr) -> bool:
    return isinstance(node, Call) and not isinstance(node.op, Op | Constructor)
