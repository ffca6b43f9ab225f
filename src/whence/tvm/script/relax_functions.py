"""Functions of a Relax text: parameters, bindings, dataflow blocks, branches and functions inside.

A binding of a dataflow block is an expression of a graph, one outside is a let, and what a branch ends with is its
value. So the printer's text gives the form back that was printed.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.context import Context
from xdsl.ir import Attribute
from xdsl.utils.exceptions import ParseError

from whence.dialects.location_text import LocationParser
from whence.dialects.relay.call_tir import HoldsKernel
from whence.relay.own_kernels import kernel_text
from whence.script.names import POISON
from whence.script.relax_calls import CALLS
from whence.script.relax_types import UNKNOWN, contradicts, type_text
from whence.script.relax_values import Special, Values
from whence.script.source import Mistake, Source
from whence.support.dtypes import Array
from whence.support.errors import WhenceError
from whence.syntax.relax.expansions import contracted
from whence.syntax.relax.rows import Shape
from whence.syntax.relax.terms import infer_shallow
from whence.syntax.relay.attrs import operators
from whence.syntax.relay.expr import Call, Expr, Function, GlobalVar, If, Let, Op, Program, Tuple, Var
from whence.syntax.relay.nodes import post_order
from whence.syntax.relay.places import span_of
from whence.syntax.relay.tvm_forms import own_attributes
from whence.tir.function import PrimFunc

_LOCATION = re.compile(r"# (?:(\w+): )?(loc\(.*\))\s*$")
_MEANING = re.compile(r"# relay\.([\w.]+\(.*?\))(?=  # loc\(|\s*$)")
_SIZES = ("T.int64", "T.var", "T.int32")


@dataclass
class _Bindings:
    """The lets of a body so far."""

    lets: list[tuple[Var, Expr]] = field(default_factory=list[tuple[Var, Expr]])

    def around(self, result: Expr) -> Expr:
        for var, value in reversed(self.lets):
            result = Let(var, value, result, span=getattr(value, "span", None))
        return result


class Functions(Values):
    """The functions of a module, each read once, in the order of the text or when one before it calls it."""

    def __init__(
        self,
        source: Source,
        captured: Callable[[str], Any],
        letter: Callable[[str], str],
        metadata: Mapping[str, Sequence[Array]],
        kernel: Callable[[str], PrimFunc],
    ):
        super().__init__(source, captured, letter)
        self.program = Program()
        self.metadata = metadata
        self._outer: dict[str, Any] = {}
        self._kernel = kernel
        self._spoken_for: set[str] = set()
        """Kernels that are those of operators."""
        self._comments = _comments(source.text)
        self._bindings = _Bindings()

    def read(
        self,
        nodes: Mapping[str, ast.FunctionDef],
        module: str,
        outside: Mapping[str, Any],
        kernels: Mapping[str, HoldsKernel],
    ) -> Program:
        """Return the functions of a module of a name. outside: sizes that are declared before it."""
        self.program.kernels = kernels
        self._outer, self.module = dict(outside), module
        for name, node in nodes.items():
            # Calls need the types of functions that come later in the text.
            with self._kept():
                self.program.functions[name] = self._declared(node)
        for name, node in nodes.items():
            with self._kept():
                self.program.functions[name] = self.function(node)
        if self._spoken_for:
            self._drop_kernels()
        return self.program

    @contextmanager
    def _kept(self) -> Generator[None]:
        """A scope whose mistakes end with it, as they are recorded."""
        self.names, self.symbols, self.bound = dict(self._outer), {}, set()
        try:
            yield
        except Mistake:
            return

    def _declared(self, node: ast.FunctionDef) -> Function:
        params = self._params(node)
        returns = UNKNOWN if node.returns is None else self.type(node.returns)
        return Function(params, Tuple([]), None if returns == UNKNOWN else returns)

    def _params(self, node: ast.FunctionDef) -> list[Var]:
        arguments = node.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
            self.source.refuse(node, "expected parameters with a type each, without defaults or stars")
        for stmt in node.body:
            self._size_declared(stmt)
        params: list[Var] = []
        for argument in (*arguments.posonlyargs, *arguments.args):
            try:
                params.append(self._param(argument))
                self.names[argument.arg] = params[-1]
            except Mistake:
                self.names[argument.arg] = POISON
        if len(params) < len(arguments.posonlyargs) + len(arguments.args):
            raise Mistake
        return params

    def _param(self, argument: ast.arg) -> Var:
        if argument.annotation is None:
            self.source.refuse(argument, f"expected a type of the parameter {argument.arg}, such as R.Tensor")
        type_ = self.type(argument.annotation, binds=True)
        if type_ == UNKNOWN:
            expected = "a tensor of known rank and dtype, or tuples and functions of these, as parameter"
            self.source.refuse(argument.annotation, f"expected {expected}, got {ast.unparse(argument.annotation)}")
        var = Var(argument.arg, type_)
        var.type = type_
        with self.layer(argument.arg):
            self.locate(var, argument)
        return var

    def _is_size(self, node: ast.expr) -> bool:
        return (
            isinstance(node, ast.Call)
            and self.word(node.func) in _SIZES
            and (not node.args or self.word(node.func) == "T.var")
        )

    def _size_declared(self, stmt: ast.stmt) -> bool:
        """Read `n = T.int64()`; return whether the statement is one."""
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if self._is_size(value):
                self.names[name] = self.symbol(stmt, name)
                return True
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if any(
                map(self._is_size, values)
            ):
                for target, value in zip(names, values, strict=False):
                    if isinstance(target, ast.Name):
                        self.names[target.id] = (
                            self.symbol(stmt, target.id) if self._is_size(value) else self.value(value)
                        )
                return True
            case _:
                return False

    def function(self, node: ast.FunctionDef, is_inner: bool = False) -> Function:
        """Return a function; raises Mistake if it has none of the forms."""
        self.source.layer = node.name
        params = self._params(node)
        for param in params:
            self._placed(param, self._line_of(node, param.name_hint))
        attrs: dict[str, Any] = {}
        before, self._bindings = self._bindings, _Bindings()
        try:
            result = self._body(node, attrs)
        finally:
            bindings, self._bindings = self._bindings, before
        body = bindings.around(result)
        if not is_inner:
            self._check_bound()
        self.typed(node, body)
        self._check_returned(node, body)
        names, outputs = attrs.pop("input_names", None), attrs.pop("output_names", ())
        if isinstance(names, list) and len(cast("list[Any]", names)) == len(params):
            for param, name in zip(params, cast("list[str]", names), strict=True):
                param.name_hint = str(name)
        function = Function(params, body, attrs=attrs, output_names=outputs)
        if is_inner:
            self.locate(function, node)
        return function

    def _check_bound(self) -> None:
        for name, node in self.symbols.items():
            if name not in self.bound:
                self.source.record(
                    getattr(node, "lineno", 1),
                    getattr(node, "col_offset", 0) + 1,
                    f"expected a size that a parameter or R.match_cast binds, got {name}",
                )

    def _check_returned(self, node: ast.FunctionDef, body: Expr) -> None:
        if node.returns is not None:
            self._check_type(node.returns, self.type(node.returns), body)

    def _check_type(self, node: ast.expr, annotation: Attribute, value: Expr) -> None:
        actual = self.typed(node, value)
        calls = isinstance(value, Call) and not isinstance(value.op, Op)
        if contradicts(annotation, actual, sizes=not calls):
            self.source.refuse(
                node, f"expected the type that follows, {type_text(actual)}, got {type_text(annotation)}"
            )

    # Statements

    def _body(self, node: ast.FunctionDef, attrs: dict[str, Any]) -> Expr:
        result: Expr | None = None
        for stmt in node.body:
            if result is not None:
                self.source.refuse(stmt, "expected nothing after the return")
            try:
                match stmt:
                    case ast.Return(value=ast.expr() as value):
                        result = self.expression(value)
                    case ast.Expr(value=ast.Call(func=func, args=[ast.Dict() as notes])) if (
                        self.word(func) == "R.func_attr"
                    ):
                        attrs.update(self._notes(notes))
                    case _:
                        self._statement(stmt)
            except Mistake:
                self._poison(stmt)
        if result is None and any(isinstance(stmt, ast.Return) for stmt in node.body):
            raise Mistake
        if result is None:
            self.source.refuse(node, f"expected a return of {node.name}, got none")
        return result

    def _notes(self, notes: ast.Dict) -> dict[str, Any]:
        pairs = zip(notes.keys, notes.values, strict=True)
        return {
            str(key.value): self._notes(value) if isinstance(value, ast.Dict) else self.value(value)
            for key, value in pairs
            if isinstance(key, ast.Constant)
        }

    def _statement(self, stmt: ast.stmt) -> None:
        match stmt:
            case ast.With(items=[ast.withitem(context_expr=ast.Call(func=func))]) if self.word(func) == "R.dataflow":
                self._dataflow(stmt)
            case ast.If():
                self._branch(stmt)
            case ast.FunctionDef():
                self._inner(stmt)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=module)) if module == self.module:
                self.names[name] = "module"
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if not self._size_declared(stmt):
                    self._bind(stmt, name, value, None)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                if not self._size_declared(stmt):
                    self._unpack(stmt, targets, value)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=ast.expr() as value):
                self._bind(stmt, name, value, annotation)
            case ast.Expr(value=ast.Call(func=func)) if self.word(func) in ("R.output", "R.func_attr"):
                pass
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call() as call):
                self.value(call)
            case _:
                self.source.refuse(stmt, f"expected a binding, got {ast.unparse(stmt).splitlines()[0]}")

    def _bind(self, stmt: ast.stmt, name: str, node: ast.expr, annotation: ast.expr | None) -> None:
        with self.layer(name):
            value = self.value(node)
            if isinstance(value, Shape | int | float | str):
                self.names[name] = value
                return
            expr = self._meant(stmt, self.as_expression(node, value))
        self._placed(expr, stmt.lineno)
        if annotation is not None:
            self._check_type(annotation, self.type(annotation), expr)
        self.names[name] = expr if self.in_dataflow else self._let(name, expr)

    def _let(self, name: str, value: Expr) -> Var:
        var = Var(name, span=getattr(value, "span", None))
        var.type = value.type
        self._bindings.lets.append((var, value))
        return var

    def _unpack(self, stmt: ast.Assign, targets: Sequence[ast.expr], value: ast.expr) -> None:
        parts = self.value(value)
        for index, target in enumerate(targets):
            if not isinstance(target, ast.Name):
                self.source.refuse(target, f"expected a name, got {ast.unparse(target)}")
            item = ast.copy_location(ast.Subscript(value, ast.Constant(index)), value)
            ast.copy_location(item.slice, value)
            with self.layer(target.id):
                expr = self.expression(item) if isinstance(parts, Expr) else parts[index]
            self.names[target.id] = expr if self.in_dataflow else self._let(target.id, expr)

    def _dataflow(self, stmt: ast.With) -> None:
        if self.in_dataflow:
            self.source.refuse(stmt, "expected bindings in a dataflow block, got another block")
        self.in_dataflow = True
        before = set(self.names)
        outputs: set[str] | None = None
        try:
            for inner in stmt.body:
                try:
                    match inner:
                        case ast.If():
                            self.source.refuse(inner, "expected bindings in a dataflow block, got a branch")
                        case ast.Expr(value=ast.Call(func=func, args=args)) if self.word(func) == "R.output":
                            outputs = {arg.id for arg in args if isinstance(arg, ast.Name)}
                            for arg in args:
                                self.value(arg)
                        case _:
                            self._statement(inner)
                except Mistake:
                    self._poison(inner)
        finally:
            self.in_dataflow = False
        if outputs is not None:
            # What is no output cannot be seen behind the block.
            for name in set(self.names) - before - outputs:
                if self.names[name] is not POISON:
                    del self.names[name]

    def _branch(self, stmt: ast.If) -> None:
        condition = self.expression(stmt.test)
        ends = [_assigned(body[-1]) if body else "" for body in (stmt.body, stmt.orelse)]
        if not ends[0] or ends[0] != ends[1]:
            self.source.refuse(stmt, "expected two branches that end with a binding of the same name")
        branches = [self._branch_body(body) for body in (stmt.body, stmt.orelse)]
        expr = If(condition, branches[0], branches[1])
        self._placed(expr, stmt.lineno)
        with self.layer(ends[0]):
            self.as_expression(stmt, expr)
        self.names[ends[0]] = expr

    def _branch_body(self, body: Sequence[ast.stmt]) -> Expr:
        """Return the value of a branch: that of its last binding."""
        before, names, self._bindings = self._bindings, dict(self.names), _Bindings()
        try:
            for stmt in body[:-1]:
                self._statement(stmt)
            last = body[-1]
            if isinstance(last, ast.If):
                self._branch(last)
                result = cast(Expr, self.names[_assigned(last)])
            else:
                assert isinstance(last, ast.Assign | ast.AnnAssign)
                assert last.value is not None
                with self.layer(_assigned(last)):
                    result = self._meant(last, self.expression(last.value))
                self._placed(result, last.lineno)
                if isinstance(last, ast.AnnAssign):
                    self._check_type(last.annotation, self.type(last.annotation), result)
            body_expr = self._bindings.around(result)
            self.typed(body[-1], body_expr)
            return body_expr
        finally:
            self._bindings, self.names = before, names

    def _inner(self, node: ast.FunctionDef) -> None:
        names, layer = dict(self.names), self.source.layer
        dataflow, self.in_dataflow = self.in_dataflow, False
        try:
            function = self.function(node, is_inner=True)
        finally:
            self.names, self.source.layer, self.in_dataflow = names, layer, dataflow
        self.typed(node, function)
        self.names[node.name] = function if self.in_dataflow else self._let(node.name, function)

    def _poison(self, stmt: ast.stmt) -> None:
        """Have names that a mistaken statement binds be none of the reader's further business."""
        for node in ast.walk(stmt):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id not in self.names:
                self.names[node.id] = POISON

    def special(self, name: str) -> Special | None:
        """Return the reader of a word that is no operator; None for others."""
        return CALLS.get(name) or super().special(name)

    # Comments

    def _line_of(self, node: ast.FunctionDef, name: str) -> int:
        """Return the line of the comment about a parameter, 0 without one."""
        for line in range(node.lineno, node.body[-1].lineno + 1):
            match = _LOCATION.search(self._comments.get(line, ""))
            if match is not None and match[1] == name:
                return line
        return 0

    def _placed(self, expr: Expr, line: int) -> None:
        """Give the location in the comment of a line to an expression."""
        match = _LOCATION.search(self._comments.get(line, ""))
        if match is None or isinstance(expr, GlobalVar):
            return
        try:
            location = LocationParser(Context(), match[2], self.source.file).parse_optional_location()
        except ParseError:
            return
        if location is not None:
            cast(Any, expr).span = span_of(location)

    def _is_kernel_call(self, expr: Expr) -> bool:
        return isinstance(expr, Call) and expr.op == Op("call_tir")

    def _of_kernel(self, call: Call, kernel_call: Expr) -> Call | None:
        """Return a call of an operator if a kernel that is called is that of the operator; None if it is another."""
        name = str(cast(Call, kernel_call).attrs["callee"])
        infer_shallow(call)
        text = kernel_text(call, name, "0.27")
        if text is None or call.inferred != kernel_call.inferred:
            return None
        own, given = (cast("PrimFunc", kernel) for kernel in (self._kernel(text), self.program.kernels[name]))
        if own.script("0.27") != given.script("0.27"):
            return None
        self._spoken_for.add(name)
        return call

    def _drop_kernels(self) -> None:
        """Forget kernels of operators that nothing calls but what became calls of these operators."""
        calls = [node for function in self.program.functions.values() for node in post_order(function)]
        called = {str(node.attrs["callee"]) for node in calls if isinstance(node, Call) and self._is_kernel_call(node)}
        dropped = self._spoken_for - called
        self.program.kernels = {name: k for name, k in self.program.kernels.items() if name not in dropped}

    def _meant(self, stmt: ast.stmt, expr: Expr) -> Expr:
        """Return the call of relay in the comment of a binding, if the binding means it."""
        match = _MEANING.search(self._comments.get(stmt.lineno, ""))
        if match is None:
            return expr
        name = match[1].partition("(")[0]
        try:
            node = ast.parse(match[1], mode="eval").body
        except SyntaxError:
            return expr
        if not isinstance(node, ast.Call) or name not in operators():
            return expr
        for part in ast.walk(node):
            ast.copy_location(part, stmt)
        mistakes = dict(self.source.mistakes)
        try:
            args = [self.expression(arg) for arg in node.args]
            attrs = {str(word.arg): self.value(word.value) for word in node.keywords}
            call = Call(Op(name), args, own_attributes(name, attrs), span=getattr(expr, "span", None))
            meant = self._of_kernel(call, expr) if self._is_kernel_call(expr) else contracted(call, expr)
        except (Mistake, WhenceError):
            # A comment that is none of ours says nothing.
            self.source.mistakes = mistakes
            return expr
        if meant is None:
            return expr
        self.typed(stmt, meant)
        return meant


def _assigned(stmt: ast.stmt) -> str:
    match stmt:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return name
        case ast.If(body=[*_, last]):
            return _assigned(last)
        case _:
            return ""


def _comments(text: str) -> dict[int, str]:
    """Return the comments of a text by line."""
    found: dict[int, str] = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found[token.start[0]] = token.string
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return found
    return found
