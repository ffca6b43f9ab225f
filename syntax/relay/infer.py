"""Type inference of expressions: unification for the language, type rules of the operators for tensors.

It walks an expression once, without recursion: each kind of node has a generator that asks for the types of its parts.
Operators with operands of unknown types wait. In the end they are asked again, and weights without annotations get the
types that their operators imply (`implied.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import reduce
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import LocationAttr, StringAttr, TensorType, i1
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ...dialects.element_types import tensor_type
from ...dialects.relay.call_tir import check_stated, linked
from ...dialects.relay.operator import Operator
from ...dialects.relay.signature import Tensor
from ...dialects.relay.traits import Mark
from ...dialects.relay.types import TypeVar, adt_type, fields_of, function_type, joined, tuple_type
from ...provenance.diagnostics import message
from ...support.errors import FrontendError
from .adapted import adapted
from .expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    Program,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    TypeData,
    Var,
)
from .implied import implied
from .nodes import scoped
from .operators import attributes_of, grouped, is_absent, name_of, operator_named
from .places import location_of
from .type_text import spelled
from .type_view import plain
from .unify import Compound, Hole, Mismatch, Term, check_size, instance, pruned, resolved, shown, term_of, unify
from .walks import driven, each

Walk: TypeAlias = "Generator[Expr, Term, Term]"

_BOOL = TensorType(i1, [])


def infer(program: Program) -> None:
    """Find the type of every expression of a program, and store it in `type`.

    Raises FrontendError, with operator, layer and the two types, when they do not fit or cannot be found.
    """
    inference = Inference(program)
    inference.run(list(program.functions.values()))


def infer_expr(expr: Expr, program: Program | None = None) -> Attribute:
    """Return the type of an expression among the functions and data types of a program."""
    inference = Inference(program or Program())
    inference.run([expr])
    assert expr.type is not None
    return expr.type


class Inference:
    """The type terms of expressions, as far as they are known."""

    def __init__(self, program: Program):
        self.program = program
        self.terms: dict[Expr, Term] = {}
        self._declared: dict[str, Term] = {}
        self._waiting: dict[Expr, Hole] = {}
        """The expressions that are typed as soon as their parts are, with a hole for the type."""
        self._typed: list[Expr] = []
        self._vars: dict[Var, None] = {}

    def run(self, roots: Sequence[Expr]) -> None:
        self.solve(roots)
        for expr in (*self._vars, *self._typed):
            expr.type = self._final(expr)

    def solve(self, roots: Sequence[Expr]) -> None:
        """Find the terms, and leave the expressions as they are."""
        for root in roots:
            driven(root, self._visit, self._at_hand)
        for name, function in self.program.functions.items():
            if function in self.terms and name in self._declared:
                self.unify(self._declared[name], self.terms[function], function, f"@{name}")
        self._settle()

    def _final(self, expr: Expr) -> Attribute:
        if (type_ := resolved(self.terms[expr])) is None:
            name = f"%{expr.name_hint}" if isinstance(expr, Var) else _name(expr)
            expected = "a type annotation or a use that tells the type"
            raise FrontendError(message(name, expected, shown(self.terms[expr], spelled), location_of(expr.span)))
        return type_

    def _at_hand(self, node: Expr) -> Term | None:
        """Return the type of an expression that is typed already or is a leaf; None for others."""
        if node in self.terms or (leaf := _LEAVES.get(type(node))) is None:
            return self.terms.get(node)
        term = leaf(self, node)
        if not isinstance(node, Var):
            self.terms[node] = term
            self._typed.append(node)
        return term

    def _visit(self, node: Expr) -> Walk:
        term = self.terms[node] = yield from _VISITS[type(node)](self, node)
        if isinstance(term, Compound):
            check_size(term, _name(node), location_of(node.span))
        self._typed.append(node)
        return term

    def unify(self, expected: Term, actual: Term, at: Expr, what: str = "") -> None:
        try:
            unify(expected, actual)
        except Mismatch:
            raise FrontendError(
                message(what or _name(at), shown(expected, spelled), shown(actual, spelled), location_of(at.span))
            ) from None

    def var_term(self, var: Var) -> Term:
        if var not in self.terms:
            self._vars[var] = None
            self.terms[var] = Hole() if var.type_annotation is None else term_of(plain(var.type_annotation))
        return self.terms[var]

    # One generator per kind of node.

    def global_function(self, node: GlobalVar) -> Term:
        function = self.program.functions.get(node.name_hint)
        if function is None:
            raise FrontendError(
                message(f"@{node.name_hint}", "a function of the module", "none", location_of(node.span))
            )
        return self._declaration(node.name_hint, function)

    def _declaration(self, name: str, function: Function) -> Term:
        if name not in self._declared:
            inputs = [self.var_term(param) for param in function.params]
            output = Hole() if function.ret_type is None else term_of(plain(function.ret_type))
            known = [resolved(term) for term in (*inputs, output)]
            if all(t is not None for t in known):
                types = cast(list[Attribute], known)
                self._declared[name] = function_type(function.type_params, types[:-1], types[-1])
            else:
                self._declared[name] = Compound("function", (*inputs, output))
        return self._declared[name]

    def operator(self, node: Op) -> Term:
        raise FrontendError(
            message(node.name, "a call of the operator", "the operator as a value", location_of(node.span))
        )

    def constructor(self, node: Constructor) -> Term:
        return instance(self._constructed(node))

    def _constructed(self, node: Constructor) -> Attribute:
        """Return the polymorphic type of a constructor."""
        data = self.data(node.belong_to, node)
        variables = [TypeVar(StringAttr(name)) for name in data.type_vars]
        return function_type(data.type_vars, list(node.inputs), adt_type(data.header, variables))

    def data(self, name: str, at: Expr) -> TypeData:
        if name not in self.program.types:
            raise FrontendError(message(name, "a data type of the module", "none", location_of(at.span)))
        return self.program.types[name]

    def tuple_of(self, node: Tuple) -> Walk:
        return Compound("tuple", tuple((yield from each(node.fields))))

    def field(self, node: TupleGetItem) -> Walk:
        yield node.tuple_value
        return self._later(node)

    def _part(self, node: TupleGetItem) -> Term | None:
        """Return the type of a field; None while the type of the tuple is not known."""
        term = pruned(self.terms[node.tuple_value])
        if isinstance(term, Hole):
            return None
        parts = term.parts if isinstance(term, Compound) and term.kind == "tuple" else None
        if isinstance(term, Attribute):
            parts = fields_of(term)
        if parts is None:
            raise FrontendError(message("tuple_get_item", "a tuple", shown(term, spelled), location_of(node.span)))
        if not 0 <= node.index < len(parts):
            expected = f"an index in [0, {len(parts)})"
            raise FrontendError(message("tuple_get_item", expected, str(node.index), location_of(node.span)))
        return parts[node.index]

    def call(self, node: Call) -> Walk:
        args: list[Term] = yield from each(node.args)
        if isinstance(node.op, Op):
            return args[0] if operator_named(node.op.name).has_trait(Mark) and len(args) == 1 else self._later(node)
        # A constructor is polymorphic: each call is an instance of it.
        callee = self.instance(
            node, self._constructed(node.op) if isinstance(node.op, Constructor) else pruned((yield node.op))
        )
        result = Hole()
        function = pruned(callee)
        if isinstance(function, Compound) and function.kind == "function" and len(function.parts) != len(args) + 1:
            expected = f"{len(function.parts) - 1} arguments"
            raise FrontendError(message(_name(node), expected, str(len(args)), location_of(node.span)))
        self.unify(callee, Compound("function", (*args, result)), node)
        return result

    def instance(self, node: Call, callee: Term) -> Term:
        """Return the type of the callee in a call."""
        arguments = list(map(plain, node.type_args))
        try:
            return instance(callee, arguments) if isinstance(callee, Attribute) else callee
        except Mismatch as mismatch:
            expected, actual = (str(text) for text in mismatch.args)
            raise FrontendError(message(_name(node), expected, actual, location_of(node.span))) from None

    def _applied(self, node: Call, op: Op) -> Attribute | None:
        """Return the type of an operator's call; None while the type of an operand is not known."""
        operator = operator_named(op.name)
        types = [resolved(self.terms[arg]) for arg in node.args]
        if any(t is None for t in types):
            return None
        location = location_of(node.span)
        call = adapted(operator, node.attrs, cast(list[Attribute], types))
        operator = call.operator
        try:
            attributes = attributes_of(operator, call.attrs, location)
            groups = operand_types(operator, call.types, [is_absent(a) for a in node.args], location)
            signature = operator.signature_for(groups, attributes, location)
            signature = linked(signature, self.program.kernels)
            results = operator.inferred(signature)
            check_stated(signature, node.stated, results)
        except VerifyException as error:
            raise FrontendError(str(error)) from None
        return tuple_type(results) if operator.gives_tuple(len(results)) else results[0]

    def function(self, node: Function) -> Walk:
        inputs = [self.var_term(param) for param in node.params]
        body = yield node.body
        if node.ret_type is not None:
            annotation = plain(node.ret_type)
            self.unify(term_of(annotation), body, node, "function result")
            output = term_of(annotation) if _is_whole(annotation) else body
        else:
            output = body
        types = [resolved(term) for term in (*inputs, output)]
        if node.type_params:
            if any(t is None for t in types):
                self._settle(partly=True)
                types = [resolved(term) for term in (*inputs, output)]
            if any(t is None for t in types):
                raise FrontendError(
                    message("function", "types of all parameters of a polymorphic one", "_", location_of(node.span))
                )
            known = cast(list[Attribute], types)
            return function_type(node.type_params, known[:-1], known[-1])
        return Compound("function", (*inputs, output))

    def let(self, node: Let) -> Walk:
        var = self.var_term(node.var)
        value = yield node.value
        self.unify(var, value, node.value, f"let %{node.var.name_hint}")
        return (yield node.body)

    def branch(self, node: If) -> Walk:
        self.unify(_BOOL, (yield node.cond), node.cond, "if")
        yield node.true_branch
        yield node.false_branch
        return self._later(node)

    def ref_create(self, node: RefCreate) -> Walk:
        return Compound("reference", ((yield node.value),))

    def ref_read(self, node: RefRead) -> Walk:
        value = Hole()
        self.unify(Compound("reference", (value,)), (yield node.ref), node, "ref_read")
        return value

    def ref_write(self, node: RefWrite) -> Walk:
        reference = yield node.ref
        value = yield node.value
        self.unify(reference, Compound("reference", (value,)), node, "ref_write")
        return Compound("tuple", ())

    def match(self, node: Match) -> Walk:
        data = yield node.data
        for clause in node.clauses:
            self.pattern(clause.lhs, data, node)
            yield clause.rhs
        if not node.clauses:
            raise FrontendError(message("match", "at least one clause", "none", location_of(node.span)))
        return self._later(node)

    def pattern(self, pattern: Pattern, data: Term, at: Match) -> None:
        """Unify a pattern and its variables with the data."""
        match pattern:
            case PatternVar(var):
                self.unify(self.var_term(var), data, at, f"match: %{var.name_hint}")
            case PatternTuple(patterns):
                parts = tuple(Hole() for _ in patterns)
                self.unify(data, Compound("tuple", parts), at, "match: tuple pattern")
                for inner, part in zip(patterns, parts, strict=True):
                    self.pattern(inner, part, at)
            case PatternConstructor(constructor, patterns):
                adt = self.data(constructor.belong_to, at)
                holes: dict[str, Term] = {name: Hole() for name in adt.type_vars}
                self.unify(data, Compound(adt.header, tuple(holes.values())), at, f"match: {constructor.name_hint}")
                if len(patterns) != len(constructor.inputs):
                    expected = f"{len(constructor.inputs)} patterns in {constructor.name_hint}"
                    raise FrontendError(message("match", expected, str(len(patterns)), location_of(at.span)))
                for inner, type_ in zip(patterns, constructor.inputs, strict=True):
                    self.pattern(inner, term_of(type_, holes), at)
            case _:
                return

    # Expressions that wait.

    def _later(self, node: Expr) -> Term:
        """Return the type of a node if its parts decide it; else a hole, and let the node wait."""
        if (term := self._of_parts(node)) is not None:
            return term
        self._waiting[node] = Hole()
        return self._waiting[node]

    def _of_parts(self, node: Expr) -> Term | None:
        match node:
            case TupleGetItem():
                return self._part(node)
            case Call(op=Op() as op):
                return self._applied(node, op)
            case _:
                types = [resolved(self.terms[branch]) for branch in scoped(node)]
                known = [type_ for type_ in types if type_ is not None]
                return reduce(joined, known) if len(known) == len(types) and self._agree(node) else None

    def _agree(self, node: Expr) -> bool:
        """Unify the types of a conditional's branches, up to open extents."""
        first, *others = scoped(node)
        for branch in others:
            self.unify(self.terms[first], self.terms[branch], branch, _name(node))
        return True

    def _settle(self, partly: bool = False) -> None:
        """Type the waiting expressions whose operands are known by now; then use the types that operators imply, and
        those of other branches.

        Raises FrontendError for expressions that remain, unless `partly`.
        """
        while self._waiting:
            typed = [(node, term) for node in self._waiting if (term := self._of_parts(node)) is not None]
            for node, term in typed:
                self.unify(self._waiting.pop(node), term, node)
            if not typed and not any(map(self._implied, self._waiting)) and not self._agreed():
                if partly:
                    return
                raise self._unknown(next(iter(self._waiting)))

    def _unknown(self, node: Expr) -> FrontendError:
        if not isinstance(node, Call):
            return FrontendError(message("tuple_get_item", "a tuple", "_", location_of(node.span)))
        unknown = next(arg for arg in node.args if resolved(self.terms[arg]) is None)
        at = location_of(unknown.span or node.span)
        return FrontendError(message(_name(node), "operands of known types", f"{_name(unknown)} of type _", at))

    def _implied(self, node: Expr) -> bool:
        """Set the types that an operator implies of its unknown operands; return whether there are any."""
        if not isinstance(node, Call) or not isinstance(node.op, Op):
            return False
        types = [resolved(self.terms[arg]) for arg in node.args]
        changed = False
        for index, type_ in implied(operator_named(node.op.name), types, node.attrs).items():
            if types[index] is None:
                self.unify(self.terms[node.args[index]], type_, node)
                changed = True
        return changed

    def _agreed(self) -> bool:
        """Give a waiting conditional, and its branches, the type of its first branch; return whether there is one."""
        node = next((node for node in self._waiting if isinstance(node, If | Match)), None)
        if node is None:
            return False
        self._agree(node)
        self.unify(self._waiting.pop(node), self.terms[scoped(node)[0]], node)
        return True


def operand_types(
    operator: type[Operator], types: Sequence[Attribute], absent: Sequence[bool], location: LocationAttr
) -> list[list[Tensor]]:
    """Return the tensor types in each declared operand, for the types of a call's arguments."""
    groups: list[list[Tensor]] = []
    for declared, type_ in zip(operator.operand_groups(), grouped(operator, types, absent, location), strict=True):
        tensors = () if type_ is None else fields_of(type_) if declared.variadic else (type_,)
        if tensors is None or not all(isinstance(t, TensorType) for t in tensors):
            expected = "a tuple of tensors" if declared.variadic else "a tensor"
            actual = spelled(type_) if type_ is not None else "nothing"
            raise FrontendError(message(name_of(operator), f"{expected} as {declared.name}", actual, location))
        groups.append([cast(Tensor, t) for t in tensors])
    return groups


def _is_whole(type_: Attribute) -> bool:
    """Return whether an annotation has no holes."""
    return isinstance(term_of(type_), Attribute)


def _name(node: Expr) -> str:
    """Return the name of an expression in errors."""
    match node:
        case Var():
            return f"%{node.name_hint}"
        case Call(op=Op(name)):
            return name
        case Call(op=GlobalVar(name)):
            return f"call of @{name}"
        case Call(op=Constructor(name)):
            return name
        case _:
            return type(node).__name__.lower()


_LEAVES: dict[type[Expr], Callable[[Inference, Any], Term]] = {
    Constant: lambda _, node: tensor_type(node.data),
    Var: Inference.var_term,
    GlobalVar: Inference.global_function,
    Op: Inference.operator,
    Constructor: Inference.constructor,
}
_VISITS: dict[type[Expr], Callable[[Inference, Any], Walk]] = {
    Tuple: Inference.tuple_of,
    TupleGetItem: Inference.field,
    Call: Inference.call,
    Function: Inference.function,
    Let: Inference.let,
    If: Inference.branch,
    RefCreate: Inference.ref_create,
    RefRead: Inference.ref_read,
    RefWrite: Inference.ref_write,
    Match: Inference.match,
}
