"""Gradients of programs with branches, recursion, closures, references and data types, in reverse mode.

As in TVM's higher-order gradient every tensor becomes a pair of itself and a reference to its gradient so far, and one
reference holds the function that takes gradients back: each operator, as it is computed, puts one in front that adds
to the gradients of its operands and then calls the one before. Nothing is known of the way that a run takes; the
functions that it met are called in the reverse order.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import FunctionType, TensorType, TupleType
from xdsl.ir import Attribute, TypeAttribute

from whence.dialects.element_types import is_integer
from whence.dialects.relay.types import UNIT, AdtType, Forall, RefType, adt_type, fields_of, function_type, tuple_type
from whence.frontends.relay import spans
from whence.frontends.relay.bind import substituted
from whence.frontends.relay.expr import (
    Call,
    Clause,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    Program,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    post_order,
    with_vars,
)
from whence.frontends.relay.places import location_of
from whence.frontends.relay.type_text import spelled
from whence.frontends.relay.type_view import plain
from whence.frontends.relay.walks import driven
from whence.provenance.diagnostics import message
from whence.support.errors import PipelineError

Walk: TypeAlias = Generator[Expr, Expr, Expr]
"""Asks for what bodies of functions, branches and clauses become, and gives what an expression does."""
Pullback: TypeAlias = Callable[[Call, Sequence[Attribute]], Function]
"""Of a call of an operator, a function from its operands and a gradient of each result to those of its operands."""
_BACK = RefType(cast(TypeAttribute, function_type([], [], UNIT)))


def is_first_order(function: Function) -> bool:
    """Return whether a function has operators, constants, tuples, lets and references only."""
    return not any(
        isinstance(node, If | Match | Function | GlobalVar) or (isinstance(node, Call) and not isinstance(node.op, Op))
        for node in post_order(function.body)
    )


def dual(type_: Attribute) -> Attribute:
    """Return the type of the replacement of a value of a type."""
    match type_:
        case TensorType():
            return tuple_type([type_, RefType(type_)])
        case TupleType():
            return tuple_type([dual(field) for field in type_.types])
        case FunctionType():
            return FunctionType.from_lists(
                [dual(part) for part in type_.inputs], [dual(part) for part in type_.outputs]
            )
        case Forall():
            return Forall(type_.params, cast(FunctionType, dual(type_.body)))
        case RefType():
            return RefType(cast(TypeAttribute, dual(type_.value)))
        case AdtType():
            return adt_type(type_.definition.string_value(), [dual(argument) for argument in type_.arguments])
        case _:
            return type_


def reverse_mode(name: str, program: Program, pullback: Pullback) -> Function:
    """The function that gives `(value, (gradients...))` of a function of a program in A-normal form, whose types are
    known; what it calls of the program becomes part of it.

    Raises PipelineError for functions that call each other in a circle, and for parameters and values that are no
    tensors or tuples of them.
    """
    return _Reverse(program, pullback).gradient(program.functions[name])


class _Reverse:
    def __init__(self, program: Program, pullback: Pullback):
        self.program = program
        self.pullback = pullback
        self.back = Var("backward", _BACK)
        self.vars: dict[Var, Var] = {}
        self.globals: dict[str, Var] = {}

    def gradient(self, function: Function) -> Function:
        span = function.span
        params = [Var(param.name_hint, param.inferred, span=param.span) for param in function.params]
        types = [param.inferred for param in function.params]
        output = function.body.inferred
        _check(output, function, "a value")
        lets: list[tuple[Var, Expr]] = [(self.back, RefCreate(Function([], Tuple([]), UNIT)))]
        for name in self._callees(function):
            callee = self.program.functions[name]
            self.globals[name] = Var(name, dual(callee.inferred))
            lets.append((self.globals[name], self.run(callee)))
        inputs = [Var(param.name_hint) for param in params]
        for copy_, param, type_ in zip(inputs, params, types, strict=True):
            _check(type_, param, "a parameter")
            lets.append((copy_, _mapped(param, type_, _pair)))
        result = Var("result")
        lets.append((result, Call(self.run(function), inputs)))
        for leaf in _leaves(result, output):
            lets.append((Var("_"), RefWrite(TupleGetItem(leaf, 1), Call(Op("ones_like"), [TupleGetItem(leaf, 0)]))))
        lets.append((Var("_"), Call(RefRead(self.back), [])))
        value = _mapped(result, output, lambda leaf: TupleGetItem(leaf, 0))
        read = [
            _mapped(copy_, type_, lambda leaf: RefRead(TupleGetItem(leaf, 1)))
            for copy_, type_ in zip(inputs, types, strict=True)
        ]
        whole = Function(params, _in_lets(lets, Tuple([value, Tuple(read)])), type_params=function.type_params)
        spans.fill_empty(whole, span)
        return whole

    def _callees(self, function: Function) -> list[str]:
        """Return the functions of the program that are called, each after its own callees."""
        callees: dict[str, None] = {}
        opened: dict[str, None] = {}
        stack: list[tuple[str, list[str]]] = [("", _called(function))]
        while stack:
            name, rest = stack[-1]
            if not rest:
                stack.pop()
                opened.pop(name, None)
                if name:
                    callees[name] = None
                continue
            inner = rest.pop()
            if inner in opened and inner != name:
                circle = ", ".join(f"@{callee}" for callee in (*opened, inner))
                raise PipelineError(message("gradient", "functions that call each other in no circle", circle))
            if inner not in callees and inner not in opened:
                opened[inner] = None
                stack.append((inner, _called(self.program.functions[inner])))
        return list(callees)

    def run(self, root: Expr) -> Expr:
        """Return the replacement of an expression. Scopes in it are handled on a separate stack."""
        return driven(root, self._visit)

    def _visit(self, node: Expr) -> Walk:
        match node:
            case Var():
                if node not in self.vars:
                    raise PipelineError(message("gradient", "no free variables", f"%{node.name_hint}"))
                return self.vars[node]
            case Constant():
                return _pair(node)
            case GlobalVar():
                return self.globals[node.name_hint]
            case Tuple():
                fields: list[Expr] = []
                for field in node.fields:
                    fields.append((yield field))
                return Tuple(fields)
            case TupleGetItem():
                return TupleGetItem((yield node.tuple_value), node.index)
            case RefCreate():
                return RefCreate((yield node.value))
            case RefRead():
                return RefRead((yield node.ref))
            case RefWrite():
                ref = yield node.ref
                return RefWrite(ref, (yield node.value))
            case If():
                cond, true = (yield node.cond), (yield node.true_branch)
                return If(TupleGetItem(cond, 0), true, (yield node.false_branch))
            case Match():
                data = yield node.data
                clauses: list[Clause] = []
                for clause in node.clauses:
                    pattern = with_vars(clause.lhs, self._var)
                    clauses.append(Clause(pattern, (yield clause.rhs)))
                return Match(data, clauses, node.complete)
            case Function():
                params = [self._var(param, dual(param.inferred)) for param in node.params]
                body = yield node.body
                return Function(params, body, dual(node.body.inferred), node.type_params, node.attrs)
            case Let():
                return (yield from self._lets(node))
            case Call():
                return (yield from self._call(node))
            case _:
                return node

    def _var(self, var: Var, type_: Attribute | None = None) -> Var:
        self.vars[var] = Var(var.name_hint, type_, span=var.span)
        return self.vars[var]

    def _lets(self, node: Let) -> Walk:
        lets: list[tuple[Var, Expr]] = []
        body: Expr = node
        while isinstance(body, Let):
            polymorphic = body.value.type is not None and isinstance(body.value.type, Forall)
            var = self._var(body.var, dual(body.value.inferred) if polymorphic else None)
            value = yield body.value
            spans.fill_empty(value, body.value.span)
            lets.append((var, value))
            body = body.body
        return _in_lets(lets, (yield body))

    def _call(self, node: Call) -> Walk:
        args: list[Expr] = []
        for arg in node.args:
            args.append((yield arg))
        if isinstance(node.op, Op):
            return self._operator(node, args)
        return Call((yield node.op), args, type_args=[dual(plain(type_arg)) for type_arg in node.type_args])

    def _operator(self, node: Call, args: Sequence[Expr]) -> Expr:
        """Return the value with a gradient of zeros, after pushing the step that takes the gradient to the operands."""
        types = [arg.inferred for arg in node.args]
        names = [Var("x") for _ in args]
        lets = list(zip(names, args, strict=True))
        pairs = zip(names, types, strict=True)
        values = [_mapped(name, type_, lambda leaf: TupleGetItem(leaf, 0)) for name, type_ in pairs]
        value, output = Var("value"), node.inferred
        lets.append((value, Call(node.op, values, node.attrs, span=node.span)))
        result = Var("pair")
        lets.append((result, _mapped(value, output, _pair)))
        leaves = [leaf for name, type_ in zip(names, types, strict=True) for leaf in _leaves(name, type_)]
        smooth = [leaf for leaf, type_ in zip(leaves, _tensors(types), strict=True) if _is_float(type_)]
        results = [
            leaf for leaf, type_ in zip(_leaves(result, output), _tensors([output]), strict=True) if _is_float(type_)
        ]
        if smooth and results:
            before, gradients = Var("before"), Var("gradients")
            rule = self.pullback(node, types)
            operands = [TupleGetItem(leaf, 0) for leaf in leaves]
            arguments: list[Expr] = [*operands, *(RefRead(TupleGetItem(leaf, 1)) for leaf in results)]
            inner: list[tuple[Var, Expr]] = [
                (gradients, substituted(rule.body, dict(zip(rule.params, arguments, strict=True))))
            ]
            for index, leaf in enumerate(smooth):
                total = Call(Op("add"), [RefRead(TupleGetItem(leaf, 1)), TupleGetItem(gradients, index)])
                inner.append((Var("_"), RefWrite(TupleGetItem(leaf, 1), total)))
            step = Function([], _in_lets(inner, Call(before, [])), UNIT)
            lets += [(before, RefRead(self.back)), (Var("_"), RefWrite(self.back, step))]
        return _in_lets(lets, result)


def _in_lets(lets: Sequence[tuple[Var, Expr]], body: Expr) -> Expr:
    for var, value in reversed(lets):
        body = Let(var, value, body)
    return body


def _pair(value: Expr) -> Expr:
    """Return a tensor with a gradient of zeros."""
    return Tuple([value, RefCreate(Call(Op("zeros_like"), [value]))])


def _mapped(value: Expr, type_: Attribute, make: Callable[[Expr], Expr]) -> Expr:
    """Return a value with `make` applied to each of its tensors, in the same tuples."""
    fields = fields_of(type_)
    if fields is None:
        return make(value)
    return Tuple([_mapped(TupleGetItem(value, index), field, make) for index, field in enumerate(fields)])


def _leaves(value: Expr, type_: Attribute) -> list[Expr]:
    """Return an expression for each tensor in a value."""
    fields = fields_of(type_)
    if fields is None:
        return [value]
    return [leaf for index, field in enumerate(fields) for leaf in _leaves(TupleGetItem(value, index), field)]


def _tensors(types: Sequence[Attribute]) -> list[Attribute]:
    """Return the types of the tensors in values of these types."""
    tensors: list[Attribute] = []
    for type_ in types:
        fields = fields_of(type_)
        tensors += [type_] if fields is None else _tensors(fields)
    return tensors


def _is_float(type_: Attribute) -> bool:
    return isinstance(type_, TensorType) and not is_integer(cast("TensorType[Attribute]", type_).element_type)


def _check(type_: Attribute, at: Expr, what: str) -> None:
    if not all(isinstance(leaf, TensorType) for leaf in _tensors([type_])):
        expected = f"{what} of tensors, or tuples of them, to take a gradient"
        raise PipelineError(message("gradient", expected, spelled(type_), location_of(at.span)))


def _called(function: Function) -> list[str]:
    return list(dict.fromkeys(node.name_hint for node in post_order(function.body) if isinstance(node, GlobalVar)))
