"""From the loops of a hybrid script to a body of tir."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any, NoReturn, cast

import numpy as np
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineConstantExpr

from ...dialects import tir
from ...dialects.affine import bounds as bounds_of_map
from ...dialects.element_types import DTYPES
from ...dialects.sizes import Size, SizeExpr, product, same
from ...dialects.sizes.kernel import affine_map, known
from ...dialects.tir.statements import ConditionOp
from ...provenance.builder import LocatedBuilder
from ...provenance.span import layer_location
from ...support.errors import ScheduleError
from . import math as functions
from .expr import Axis, Expr, Extent, Read, Select, binary, compare, convert
from .extents import Sizes, extent_value
from .hybrid_source import (
    Script,
    ScriptOp,
    allocation,
    called,
    loop_kind,
    outputs_of,
    scope_of,
    script_error,
    script_of,
    static,
    tensors_in,
)
from .script_scalars import TirEmitter, guards_of, inside
from .tensor import PlaceholderOp, Tensor, check_shape, tensor_of
from .walks import walk

_STACK_LIMIT = 1 << 18
"""An allocated tensor lives on the stack; this many bytes at most."""
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
    ast.BitXor: lambda a, b: a ^ b,
    ast.LShift: lambda a, b: a << b,
    ast.RShift: lambda a, b: a >> b,
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}


def output_names(script: Script) -> list[str]:
    """Return the names that a script has for its outputs."""
    last = script.tree.body[-1]
    assert isinstance(last, ast.Return)
    returned = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
    return [part.id for part in returned if isinstance(part, ast.Name)]


def hybrid_body(op: ScriptOp, sizes: Sizes) -> Block:
    """A block of tir on the buffers of the inputs and then of the outputs.

    Raises ScheduleError for what the language does not have.
    """
    return _Body(op, sizes).run()


class _Body:
    def __init__(self, op: ScriptOp, sizes: Sizes):
        self.op = op
        self.script = op.script
        self.sizes = sizes
        tensors = [*op.input_tensors, *op.outputs]
        shapes = [[extent_value(extent, sizes) for extent in tensor.shape] for tensor in tensors]
        types = [tir.BufferType.of(shape, DTYPES[t.dtype]) for shape, t in zip(shapes, tensors, strict=True)]
        self.block = Block(arg_types=types)
        self.builder = LocatedBuilder(self.block)
        self.buffers: dict[Tensor, SSAValue] = dict(zip(tensors, self.block.args, strict=True))
        for tensor, argument in zip(tensors, self.block.args, strict=True):
            argument.name_hint = tensor.name if SSAValue.is_valid_name(tensor.name) else None
        parameters = [argument.arg for argument in self.script.tree.args.args]
        self.values: dict[str, Any] = dict(zip(parameters, op.arguments, strict=True))
        self.outputs = dict(zip(output_names(op.script), op.outputs, strict=True))
        self.fixed: set[Tensor] = set(op.input_tensors)
        """The tensors that the script may not write."""
        self.axes: list[Axis] = []
        self.indices: list[SSAValue] = []
        # Whether the current statement runs, where that is no question of loop variables alone.
        self.condition: Expr | None = None
        self.scalars: dict[Tensor, int] = {}
        """Scalars, and how many parallel loops they were made in."""
        self.parallel = 0
        self.vectorized = 0
        """The number of vectorized loops around, in which a branch on values is taken lane by lane."""
        self.inner = False
        """True for a script that another one calls."""

    def _fail(self, node: ast.AST, text: str) -> NoReturn:
        raise ScheduleError(script_error(self.script, node, text))

    def run(self) -> Block:
        self._statements(self.script.tree.body)
        return self.block

    def _statements(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            line = statement.lineno + self.script.line
            location = layer_location(self.op.name, self.script.file, line)
            with self.builder.located(self.op.location if self.op.located else location):
                self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if called(call) in (
                "output_tensor",
                "allocate",
            ):
                self._allocate(name, call)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if called(call) == "view":
                self._view(name, call)
            case ast.Assign(targets=[target], value=ast.Call() as call) if (inner := self._script(call)) is not None:
                self._inner(inner, call, target)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                number = self._number(name, value)
                if number is None:
                    self._name(node, name, self._expr(value))
                else:
                    self.values[name] = number
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                self._store(target, self._expr(value))
            case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value) if type(op) in _BINARY:
                self._store(target, _BINARY[type(op)](self._expr(target), self._expr(value)))
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value) if type(op) in _BINARY:
                self._name(node, name, _BINARY[type(op)](self._expr(target), self._expr(value)))
            case ast.For(target=ast.Name(id=name), iter=ast.Call() as call, orelse=[]) if called(call) == "const_range":
                self._repeat(name, call, node.body)
            case ast.For(target=ast.Name(id=name), iter=ast.Call() as call, orelse=[]) if (
                kind := loop_kind(call)
            ) is not None:
                self._loop(name, call, kind, node.body)
            case ast.Assert(test=test, msg=text):
                self._assert(node, test, text)
            case ast.If(test=test) if (holds := self._static(test)) is not None:
                # In a const_range: one side is all there is.
                self._statements(node.body if holds else node.orelse)
            case ast.If(test=test):
                self._branch(self._expr(test), node.body, node.orelse)
            case ast.While(test=test, orelse=[]):
                self._while(node, test, node.body)
            case ast.Return() | ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case _:
                self._fail(
                    node, f"expected a statement of loops and elements, got '{ast.unparse(node).splitlines()[0]}'"
                )

    def _allocate(self, name: str, call: ast.Call) -> None:
        shape, dtype = allocation(self.script, call, self.values)
        if called(call) == "output_tensor":
            if (self.axes and not self.inner) or self.condition is not None:
                self._fail(call, "expected output_tensor outside of loops and branches")
            self.values[name] = self.outputs[name]
            return
        scope = scope_of(self.script, call, self.values)
        if scope in ("global", "shared") and self.parallel:
            self._fail(call, f"expected a local tensor in a parallel loop, got one in scope {scope}")
        self.values[name] = self._tensor(call, name, shape, dtype, "global" if scope == "shared" else scope or "local")

    def _tensor(self, node: ast.AST, name: str, shape: Sequence[Extent], dtype: str, scope: str) -> Tensor:
        """A tensor of the script's own."""
        tensor = PlaceholderOp(name, [shape], [dtype]).output(0)
        extents = [extent_value(extent, self.sizes) for extent in shape]
        type_ = tir.BufferType.of(extents, DTYPES[dtype], scope)
        if scope == "local" and type_.is_static and known(type_.nbytes) > _STACK_LIMIT:
            self._fail(node, f"expected an allocated tensor of at most {_STACK_LIMIT} bytes, got {type_.nbytes}")
        alloc = tir.AllocOp(type_)
        alloc.result.name_hint = name
        self.buffers[tensor] = self.builder.add(alloc).result
        return tensor

    def _view(self, name: str, call: ast.Call) -> None:
        """`v = view(t, shape)`: the elements of a tensor in row-major order, in another shape; no copy."""
        source = self._any(call.args[0]) if len(call.args) == 2 else None
        if not isinstance(source, Tensor):
            self._fail(call, f"expected a tensor and a shape, got '{ast.unparse(call)}'")
        buffer = self.buffers[source]
        type_ = tir.buffer_of(buffer)
        shape = check_shape(static(self.script, call.args[1], self.values), f"te.hybrid '{self.script.tree.name}'")
        extents = [extent_value(extent, self.sizes) for extent in shape]
        if not same(product(extents), type_.size):
            self._fail(call, f"expected a shape of {type_.size} elements, got {extents}")
        tensor = PlaceholderOp(name, [shape], [source.dtype]).output(0)
        view_type = tir.BufferType.of(extents, type_.element_type, type_.scope.data)
        start = affine_map(0, tuple(AffineConstantExpr(0) for _ in type_.get_shape()))
        view = tir.DeclBufferOp.make(buffer, start, [], view_type, view_type.strides)
        view.result.name_hint = name
        self.buffers[tensor] = self.builder.add(view).result
        self.values[name] = tensor
        if source in self.fixed:
            self.fixed.add(tensor)

    # Scripts in scripts

    def _script(self, call: ast.Call) -> Script | None:
        """The script that is called."""
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        return script_of(self.script.names.get(name)) if name not in self.values else None

    def _inner(self, inner: Script, call: ast.Call, target: ast.expr) -> None:
        """`c = script(a, b)`: its statements, on a tensor of this script's own for each output."""
        if self.condition is not None:
            self._fail(call, "expected scripts called outside of branches on values")
        names = [target_name for target_name in (target.elts if isinstance(target, ast.Tuple) else [target])]
        parameters = [argument.arg for argument in inner.tree.args.args]
        if len(parameters) != len(call.args):
            self._fail(call, f"expected {len(parameters)} arguments of '{inner.tree.name}', got {len(call.args)}")
        arguments = [self._any(argument) for argument in call.args]
        values: dict[str, Any] = dict(zip(parameters, arguments, strict=True))
        outputs = outputs_of(inner, values)
        if len(names) != len(outputs.returned) or not all(isinstance(target_name, ast.Name) for target_name in names):
            self._fail(call, f"expected {len(outputs.returned)} names for what '{inner.tree.name}' gives")
        tensors: list[Tensor] = []
        for name in outputs.returned:
            shape, dtype = outputs.declared[name]
            scope = "local" if self.parallel else "global"
            tensors.append(self._tensor(call, name, shape, dtype, scope))
        kept = self.script, self.values, self.outputs, self.fixed
        self.script, self.values = inner, values
        self.outputs = dict(zip(outputs.returned, tensors, strict=True))
        self.fixed = set(tensors_in(arguments))
        axes, self.inner = self.inner, True
        self._statements(inner.tree.body)
        self.inner = axes
        self.script, self.values, self.outputs, self.fixed = kept
        self.values |= {
            cast(ast.Name, target_name).id: tensor for target_name, tensor in zip(names, tensors, strict=True)
        }

    def _name(self, node: ast.AST, name: str, value: Expr) -> None:
        """A scalar under a name: a buffer of one element, made where the name is new."""
        variable = self.values.get(name)
        if isinstance(variable, Read) and variable.tensor in self.scalars:
            if self.parallel > self.scalars[tensor_of(variable)]:
                self._fail(
                    node, f"expected '{name}' set in the loops where it was made, got it in a parallel loop inside"
                )
            self._set(variable, value)
            return
        if name in self.values or self.condition is not None:
            self._fail(node, f"expected a scalar that is first set outside of branches under a new name, got '{name}'")
        self.values[name] = self._scalar(name, value)

    def _scalar(self, name: str, value: Expr) -> Expr:
        """A new scalar with a value."""
        tensor = PlaceholderOp(name, [()], [value.dtype]).output(0)
        alloc = tir.AllocOp(tir.BufferType.of((), DTYPES[value.dtype], "local"))
        alloc.result.name_hint = name
        self.buffers[tensor] = self.builder.add(alloc).result
        self.scalars[tensor] = self.parallel
        emitter = self._emitter()
        result = emitter.value(value, guarded=self.condition is not None)
        self.builder.add(tir.StoreOp.make(result, self.buffers[tensor], *emitter.access([])))
        return tensor[()]

    def _emitter(self) -> TirEmitter:
        return TirEmitter(self.builder, self.buffers, self.sizes, self.op.name, self.axes, self.indices)

    def _store(self, target: ast.Subscript, value: Expr) -> None:
        element = self._expr(target)
        if not isinstance(element, Read) or element.tensor in self.fixed:
            self._fail(target, f"expected an element of an output or allocated tensor, got '{ast.unparse(target)}'")
        self._set(element, value)

    def _set(self, element: Read, value: Expr) -> None:
        """Store an element. In a branch, the old value is stored if the branch is not taken."""
        value = value.astype(element.dtype)
        if self.condition is not None:
            value = Select(self.condition, value, element, True)
        emitter = self._emitter()
        point = [emitter.index(index) for index in element.indices]
        result = emitter.value(value)
        buffer = self.buffers[tensor_of(element)]
        map, operands = emitter.access(point)
        block = self.builder.block
        if self.condition is not None and point:
            # Where the branch is not taken, the element may lie outside.
            guard = affine_map(map.num_dims, inside(map, buffer))
            block = self.builder.add(tir.IfOp.make(guard, operands)).block
        with self.builder.at(block):
            self.builder.add(tir.StoreOp.make(result, buffer, map, operands))

    def _static(self, node: ast.expr) -> int | None:
        """The int that an expression is; None for everything else."""
        try:
            result = static(self.script, node, self.values)
        except (ScheduleError, TypeError):
            return None
        return result if isinstance(result, int) else None

    def _number(self, name: str, value: ast.expr) -> int | None:
        """Return the int that a name has throughout the script; None for any other value."""
        if name in self.values or (number := self._static(value)) is None:
            return None
        names = (node for node in ast.walk(self.script.tree) if isinstance(node, ast.Name) and node.id == name)
        return number if sum(isinstance(node.ctx, ast.Store) for node in names) == 1 else None

    def _assert(self, node: ast.AST, test: ast.expr, text: ast.expr | None) -> None:
        if self.vectorized:
            self._fail(node, "expected an assert outside of vectorized loops")
        words = ast.unparse(test) if text is None else static(self.script, text, self.values)
        holds = self._expr(test)
        if self.condition is not None:
            holds = functions.any(functions.logical_not(self.condition), holds)
        self.builder.add(tir.AssertOp.make(self._emitter().value(holds.astype("bool")), str(words)))

    def _loop(self, name: str, call: ast.Call, kind: str, body: list[ast.stmt]) -> None:
        ends = self._ends(call)
        (begin, _), (_, end) = (self._range(call, bound) for bound in ends)
        count = max(0, end - begin) if isinstance(begin, int) and isinstance(end, int) else end - begin
        axis = Axis(name, cast(Extent, count), start=cast(Extent, begin))
        loop = self.builder.add(tir.ForOp.make(count, kind, name))
        before = dict(self.values)
        self.values[name] = axis
        self.axes.append(axis)
        self.indices.append(loop.var)
        self.parallel += kind == "parallel"
        self.vectorized += kind == "vectorized"
        with self.builder.at(loop.block):
            tests = [compare("ge", axis, ends[0]), compare("lt", axis, ends[1])]
            # A bound that is no number is that of the widest loop, and a condition inside.
            tests = [test for test, bound in zip(tests, ends, strict=True) if self._moves(bound)]
            if tests:
                self._branch(functions.all(*tests), body, [])
            else:
                self._statements(body)
        self.parallel -= kind == "parallel"
        self.vectorized -= kind == "vectorized"
        self.axes.pop()
        self.indices.pop()
        self.values = before

    def _ends(self, call: ast.Call) -> tuple[Any, Any]:
        """Begin and end of what a loop runs over."""
        arguments = call.args[called(call) == "bind" :]
        bounds = [static(self.script, argument, self.values) for argument in arguments]
        kinds = (int, np.integer, Expr, SizeExpr)
        if len(bounds) not in (1, 2) or any(not isinstance(bound, kinds) for bound in bounds):
            self._fail(call, f"expected a loop over constants, got '{ast.unparse(call)}'")
        return (0, bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])

    def _moves(self, bound: int | Expr) -> bool:
        """Return whether a bound depends on loops."""
        return isinstance(bound, Expr) and any(isinstance(node, Axis) for node in walk([bound]))

    def _range(self, call: ast.Call, bound: int | Expr) -> tuple[Size, Size]:
        """The least and the greatest value of a loop's bound."""
        if not self._moves(bound):
            value = extent_value(bound, self.sizes)
            return value, value
        affine = self._emitter().affine(convert(bound))
        if affine is None:
            self._fail(call, f"expected bounds of numbers and loop variables, got '{ast.unparse(call)}'")
        return bounds_of_map(affine, [(0, extent_value(axis.extent, self.sizes) - 1) for axis in self.axes])

    def _repeat(self, name: str, call: ast.Call, body: list[ast.stmt]) -> None:
        """The statements for each number of a `const_range`."""
        numbers = [known(extent_value(bound, self.sizes)) for bound in self._ends(call)]
        for number in range(*numbers):
            before = dict(self.values)
            self.values[name] = number
            self._statements(body)
            self.values = before

    def _branch(self, test: Expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        """A condition becomes a `tir.if`; in a vectorized loop, of one on values each store knows it."""
        emitter = self._emitter()
        guards = guards_of(emitter, test)
        if guards is None and not self.vectorized:
            # 1 where it holds.
            guards = [emitter.index(test.astype("int64")) - 1]
        if guards is not None:
            branch = self.builder.add(tir.IfOp.make(*emitter.access(guards), orelse=bool(orelse)))
            before = dict(self.values)
            with self.builder.at(branch.block):
                self._statements(body)
            self.values = dict(before)
            if branch.orelse is not None:
                with self.builder.at(branch.orelse.block):
                    self._statements(orelse)
            self.values = before
            return
        outer = self.condition
        # The condition is that before the branch, which may change what it reads.
        condition = self._scalar("condition", test)
        for side, statements in ((condition, body), (functions.logical_not(condition), orelse)):
            self.condition = side if outer is None else functions.all(outer, side)
            self._statements(statements)
        self.condition = outer

    def _while(self, node: ast.AST, test: ast.expr, body: list[ast.stmt]) -> None:
        """The condition is computed anew before each iteration."""
        if self.vectorized:
            self._fail(node, "expected a while outside of vectorized loops")
        loop = self.builder.add(tir.WhileOp.make())
        before = dict(self.values)
        with self.builder.at(loop.before.block):
            holds = self._emitter().value(self._expr(test).astype("bool"))
            self.builder.add(ConditionOp.create(operands=[holds]))
        with self.builder.at(loop.block):
            self._statements(body)
        self.values = before

    # Expressions

    def _expr(self, node: ast.expr) -> Expr:
        value = self._any(node)
        if isinstance(value, Tensor):
            self._fail(node, f"expected a number, got tensor '{value.name}'")
        return convert(value)

    def _any(self, node: ast.expr) -> Any:
        match node:
            case ast.Subscript(value=owner, slice=index):
                tensor = self._any(owner)
                if not isinstance(tensor, Tensor):
                    return static(self.script, node, self.values)
                indices = index.elts if isinstance(index, ast.Tuple) else [index]
                return tensor(*(self._expr(part) for part in indices))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return _BINARY[type(op)](self._expr(left), self._expr(right))
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return binary("pow", self._expr(left), self._expr(right))
            case ast.UnaryOp(op=ast.USub(), operand=a):
                return -self._expr(a)
            case ast.UnaryOp(op=ast.Not(), operand=a):
                return functions.logical_not(self._expr(a))
            case ast.BoolOp(op=op, values=parts):
                join = functions.all if isinstance(op, ast.And) else functions.any
                return join(*(self._expr(part) for part in parts))
            case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARE for op in ops):
                sides = [self._expr(side) for side in (left, *others)]
                tests = [compare(_COMPARE[type(op)], a, b) for op, a, b in zip(ops, sides, sides[1:], strict=False)]
                return functions.all(*tests)
            case ast.IfExp(test=test, body=a, orelse=b):
                return functions.if_then_else(self._expr(test), self._expr(a), self._expr(b))
            case ast.Call(args=arguments) if (function := self._given(node)) is not None:
                values = [self._any(argument) for argument in arguments]
                return function(*(value if isinstance(value, Tensor) else convert(value) for value in values))
            case ast.Call(args=arguments) if (function := self._function(node)) is not None:
                return function(*(self._expr(argument) for argument in arguments))
            case _:
                return static(self.script, node, self.values)

    def _given(self, node: ast.Call) -> Callable[..., Any] | None:
        """A function of expressions and tensors that the script is called with."""
        function = self.values.get(node.func.id) if isinstance(node.func, ast.Name) else None
        return function if isinstance(function, FunctionType) and script_of(function) is None else None

    def _function(self, node: ast.Call) -> Callable[..., Any] | None:
        name = called(node) or ""
        if name in DTYPES:
            return partial(functions.cast, name)
        if name == "max_num_threads":
            # Blocks of threads have one each.
            return lambda *_: convert(1)
        renamed = {"max": "maximum", "min": "minimum", "ceil_div": "ceildiv"}.get(name, name)
        function = functions.FUNCTIONS.get(renamed) or getattr(functions, renamed, None)
        # Not what the module itself imports.
        return function if getattr(function, "__module__", None) == functions.__name__ else None
