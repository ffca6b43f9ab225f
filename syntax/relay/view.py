"""Ops -> expressions, for printing and for callers that work on a program with TVM's classes.

In a let-block, an op whose result has a name is a let; every other op is a node of the graph, which its readers share.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ...dialects.relay.attributes import to_python
from ...dialects.relay.binding import Flavour, IfOp, LetOp, resolved
from ...dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from ...dialects.relay.data_types import ConstructOp, ConstructorPattern, MatchOp, TuplePattern, TypeDataOp, VarPattern
from ...dialects.relay.functions import FnOp, GlobalOp, InvokeOp, YieldOp
from ...dialects.relay.index_bounds import INDEX_BOUNDS
from ...dialects.relay.operator import Operator
from ...dialects.relay.references import RefCreateOp, RefReadOp, RefWriteOp
from ...dialects.relay.size_ranges import NARROWED_BY, REQUIRED_BY, ranges_in, spell_ranges
from ...dialects.relay.tuples import TupleGetItemOp, TupleOp
from ...dialects.relay.types import Forall, fields_of, function_type, tuple_type, type_arguments
from ...runtime.values.ndarray import NDArray
from ...runtime.values.ndarray import view as of_array
from ...support.dtypes import Array
from .expr import (
    AnySpan,
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    Program,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    TypeData,
    Var,
)
from .operators import call_of
from .places import span_of
from .type_view import plain
from .type_view import view as type_view
from .walks import driven, each

Walk: TypeAlias = Generator[Block, Expr, Expr]
"""A walk that asks for the expressions of blocks, and returns an expression."""
Steps: TypeAlias = Generator[Block, Expr, None]

_INTERNAL = ("input_names", "output_names", REQUIRED_BY, NARROWED_BY, INDEX_BOUNDS)
"""The attributes that the compiler adds to a function and that the language does not know."""


def view(module: ModuleOp, params: Mapping[str, Sequence[Var]] | None = None, at_calls: bool = True) -> Program:
    """Return the program of a module.

    at_calls: show primitive and composite functions where they are called, as TVM does, except those for external
    compilers; otherwise all functions are functions of the program.

    params: variables by the names of functions; they become the parameters again if names and types still agree. So if
    you make a module of an expression, you find your variables in the result of passes.
    """
    viewer = _Viewer(module, params or {}, at_calls)
    for op in module.ops:
        if isinstance(op, TypeDataOp):
            viewer.type_data(op)
    for op in module.ops:
        if isinstance(op, FuncOp) and not (viewer.shows_at_calls(op) and viewer.is_called(op)):
            viewer.program.functions[op.sym_name.data] = viewer.function(op)
    return viewer.program


def operator_call(op: Operator, values: Mapping[SSAValue, Expr]) -> Call:
    """Return an op as a call of the expressions for its operands, with the attributes that differ from the defaults."""
    callee, operand_indices, attrs = call_of(op)
    args: list[Expr] = []
    for indices in operand_indices:
        if isinstance(indices, int):
            args.append(values[op.operands[indices]])
            continue
        operands = [op.operands[index] for index in indices or ()]
        fields, type_ = [values[operand] for operand in operands], tuple_type([operand.type for operand in operands])
        call = _call_of(list(map(resolved, operands)), fields)
        args.append(call or Tuple(fields, type=type_, span=_span(op) if operands else None))
    types = list(op.result_types)
    return Call(
        callee,
        args,
        attrs,
        type_args=[arg.type for arg in args if arg.type is not None],
        type=tuple_type(types) if op.gives_tuple(len(types)) else types[0],
    )


class _Viewer:
    """The expressions for the ops of a module, as far as they exist."""

    def __init__(self, module: ModuleOp, params: Mapping[str, Sequence[Var]], at_calls: bool):
        self.module = module
        self._at_calls = at_calls
        self._params = params
        self.program = Program()
        self.values: dict[SSAValue, Expr] = {}
        self._constructors: dict[str, Constructor] = {}
        self._functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
        self._primitive: dict[str, Function] = {}
        self._units: dict[Operation, Expr] = {}
        """Calls without results, by the empty tuples that stand for their values."""
        self._arrays: dict[int, tuple[Array, NDArray]] = {}
        self._called = {op.callee.string_value() for op in module.walk() if isinstance(op, CallOp)}

    def shows_at_calls(self, op: FuncOp) -> bool:
        kernel = op.primitive is not None or "Composite" in op.attributes
        return self._at_calls and kernel and "Compiler" not in op.attributes

    def is_called(self, op: FuncOp) -> bool:
        return op.sym_name.data in self._called

    def type_data(self, op: TypeDataOp) -> None:
        name = op.sym_name.data
        constructors = [
            Constructor(constructor, list(inputs), name, tag)
            for tag, (constructor, inputs) in enumerate(zip(op.names(), op.inputs, strict=True))
        ]
        self._constructors.update({item.name_hint: item for item in constructors})
        self.program.types[name] = TypeData(name, op.type_names(), constructors)

    def function(self, op: FuncOp) -> Function:
        outputs = op.function_type.outputs.data
        output = outputs[0] if len(outputs) == 1 else tuple_type(outputs)
        attrs = {key: _attribute(value) for key, value in op.attributes.items() if key not in _INTERNAL}
        if op.primitive is not None:
            attrs["Primitive"] = 1
        params = self.variables(op.block.args, _names(op), self._params.get(op.sym_name.data, ()))
        outputs_of = op.attributes.get("output_names")
        named = [str(name) for name in cast("Sequence[Any]", _attribute(outputs_of) if outputs_of else ())]
        function = Function(params, _NOTHING, output, op.type_names(), attrs, output_names=named, span=_span(op))
        function.type = function_type(op.type_names(), [a.type for a in op.block.args], output)
        function.body = self.block(op.block)
        return function

    def variables(
        self, arguments: Sequence[BlockArgument], names: Sequence[str] = (), before: Sequence[Var] = ()
    ) -> list[Var]:
        """Return variables for a block's arguments, under the source's names if it has any.

        before: the variables that the arguments came from, reused where they still agree.
        """
        variables: list[Var] = []
        for index, argument in enumerate(arguments):
            name = names[index] if index < len(names) else argument.name_hint or f"p{index}"
            var = before[index] if len(before) == len(arguments) else None
            if var is None or var.name_hint != name or plain(var.type_annotation) != argument.type:
                var = Var(name, argument.type, span=span_of(argument.location))
            var.type = argument.type
            self.values[argument] = var
            variables.append(var)
        return variables

    def block(self, root: Block) -> Expr:
        """Return the result of a block. A stack, not recursion, converts the blocks within it first."""
        return driven(root, self._block)

    def _block(self, block: Block) -> Walk:
        lets: list[tuple[Var, Expr, AnySpan]] = []
        yield from self._ops(block, lets, False)
        last = block.last_op
        values = [self.values[value] for value in last.operands] if last is not None else []
        body = values[0] if len(values) == 1 else self._together(values, last)
        for var, value, span in reversed(lets):
            body = Let(var, value, body, span=span, type=body.type)
        return body

    def _together(self, values: list[Expr], last: Operation | None) -> Expr:
        parent = last.parent_op() if last is not None else None
        has_location = last is not None and parent is not None and last.location != parent.location
        if last is not None and not has_location:
            if (call := _call_of(last.operands, values)) is not None:
                return call
            if (unpacked := _unpacked(last.operands)) is not None:
                return self.values[unpacked]
        result = Tuple(values)
        result.type = tuple_type([value.inferred for value in values])
        if last is not None and has_location:
            result.span = _span(last)
        return result

    def _ops(self, block: Block, lets: list[tuple[Var, Expr, AnySpan]], bound: bool) -> Steps:
        ordered = _ordered(block)
        for op in block.ops:
            if isinstance(op, ReturnOp | YieldOp):
                break
            if isinstance(op, LetOp):
                yield from self._let_block(op, lets)
                continue
            self._open(op)
            blocks: list[Expr] = yield from each(region.block for region in op.regions)
            node = self._node(op, blocks)
            self._give(op, node)
            if (unit := _unit_of(op)) is not None:
                self._units[unit] = node
                continue
            self._bind(op, node, lets, bound, op in ordered or op in self._units)

    def _let_block(self, op: LetOp, lets: list[tuple[Var, Expr, AnySpan]]) -> Steps:
        if op.kind is Flavour.REC:
            yield from self._recursive(op, lets)
            return
        last = op.block.last_op
        for inner, outer in zip(last.operands if last is not None else (), op.outputs, strict=True):
            # Readers know the name outside.
            if outer.name_hint is not None:
                inner.name_hint = inner.name_hint and outer.name_hint
        yield from self._ops(op.block, lets, True)
        for inner, outer in zip(last.operands if last is not None else (), op.outputs, strict=True):
            self.values[outer] = self.values[inner]

    def _recursive(self, op: LetOp, lets: list[tuple[Var, Expr, AnySpan]]) -> Steps:
        variables = self.variables(op.block.args)
        yield from self._ops(op.block, lets, False)
        last = op.block.last_op
        assert last is not None
        for var, argument, inner, outer in zip(variables, op.block.args, last.operands, op.outputs, strict=True):
            var.name_hint = outer.name_hint or argument.name_hint or var.name_hint
            lets.append((var, self.values[inner], _span(op)))
            self.values[outer] = var

    def _bind(
        self, op: Operation, node: Expr, lets: list[tuple[Var, Expr, AnySpan]], bound: bool, ordered: bool
    ) -> None:
        """Add a let for an op that is one, for an ordered op, and for an op with effects that nobody reads."""
        read = any(result.first_use is not None for result in op.results)
        named = bound and len(op.results) == 1 and op.results[0].name_hint is not None
        if not named and not ordered and (read or is_side_effect_free(op)):
            return
        name = op.results[0].name_hint or "x" if read or named else "_"
        var = Var(name or "x", span=_span(op), type=node.type)
        lets.append((var, node, _span(op)))
        if not _is_tuple(op):
            self.values[op.results[0]] = var
            return
        for index, result in enumerate(op.results):
            self.values[result] = TupleGetItem(var, index, span=_span(op), type=result.type)

    def _open(self, op: Operation) -> None:
        """Create the variables that the regions of an op bind."""
        match op:
            case FnOp():
                self.variables(op.block.args)
            case MatchOp():
                for region in op.clauses:
                    self.variables(region.block.args)
            case _:
                return

    def _give(self, op: Operation, node: Expr) -> None:
        """Record the expressions that stand for the results of an op."""
        if _is_tuple(op):
            for index, result in enumerate(op.results):
                self.values[result] = TupleGetItem(node, index, span=_span(op), type=result.type)
        elif op.results:
            self.values[op.results[0]] = node

    def _node(self, op: Operation, blocks: list[Expr]) -> Expr:
        node = (
            _NODES[type(op)](self, op, blocks) if type(op) in _NODES else operator_call(cast(Operator, op), self.values)
        )
        node.span = _span(op)
        if node.type is None:
            node.type = op.results[0].type if len(op.results) == 1 else tuple_type([r.type for r in op.results])
        return node

    def args(self, values: Sequence[SSAValue]) -> list[Expr]:
        return [self.values[value] for value in values]

    def constant(self, op: ConstantOp, _: list[Expr]) -> Expr:
        array = op.value(self.module)
        # An array stays one object, however many constants share it.
        return Constant(self._arrays.setdefault(id(array), (array, of_array(array)))[1])

    def call(self, op: CallOp, _: list[Expr]) -> Expr:
        name = op.callee.string_value()
        target = self._functions.get(name)
        result = Call(GlobalVar(name), self.args(op.arguments))
        if target is not None:
            outputs = target.function_type.outputs.data
            output = outputs[0] if len(outputs) == 1 else tuple_type(outputs)
            result.op.type = function_type(target.type_names(), target.function_type.inputs.data, output)
            result.type_args = _type_arguments(result.op.type, op.operand_types, op.result_types)
            if self.shows_at_calls(target):
                if name not in self._primitive:
                    self._primitive[name] = self.function(target)
                result.op = self._primitive[name]
        return result

    def fn(self, op: FnOp, blocks: list[Expr]) -> Expr:
        params = [cast(Var, self.values[argument]) for argument in op.block.args]
        attrs = {key: _attribute(value) for key, value in op.attributes.items()}
        return Function(params, blocks[0], op.signature.outputs.data[0], op.type_names(), attrs)

    def invoke(self, op: InvokeOp, _: list[Expr]) -> Expr:
        types = _type_arguments(op.function.type, op.arguments.types, op.result_types)
        return Call(self.values[op.function], self.args(op.arguments), type_args=types)

    def tuple_of(self, op: TupleOp, _: list[Expr]) -> Expr:
        if op in self._units:
            return self._units[op]
        fields = self.args(op.fields)
        if (call := _whole(op, fields)) is not None:
            return call
        return Tuple(fields)

    def construct(self, op: ConstructOp, _: list[Expr]) -> Expr:
        constructor = self._constructors[op.constructor.string_value()]
        return Call(constructor, self.args(op.arguments), type_args=list(op.result.type.arguments))

    def match(self, op: MatchOp, blocks: list[Expr]) -> Expr:
        clauses: list[Clause] = []
        for pattern, region, body in zip(op.patterns, op.clauses, blocks, strict=True):
            variables = iter([cast(Var, self.values[argument]) for argument in region.block.args])
            clauses.append(Clause(self._pattern(pattern, variables), body))
        return Match(self.values[op.data], clauses, op.partial is None)

    def _pattern(self, pattern: Attribute, variables: Iterator[Var]) -> Pattern:
        match pattern:
            case VarPattern():
                return PatternVar(next(variables))
            case ConstructorPattern():
                inner = [self._pattern(p, variables) for p in pattern.patterns]
                return PatternConstructor(self._constructors[pattern.constructor.string_value()], inner)
            case TuplePattern():
                return PatternTuple([self._pattern(p, variables) for p in pattern.patterns])
            case _:
                return PatternWildcard()


_NOTHING = Tuple([])


def _is_tuple(op: Operation) -> bool:
    """Return whether the value of an op's expression is a tuple of its results."""
    if isinstance(op, Operator):
        return op.gives_tuple(len(op.results))
    return isinstance(op, CallOp) and len(op.outputs) != 1


def _type_arguments(callee: Attribute, inputs: Sequence[Attribute], outputs: Sequence[Attribute]) -> list[Any]:
    """Return the types for the type variables of a callee in a call; an empty list if they are open."""
    if not isinstance(callee, Forall):
        return []
    output = outputs[0] if len(outputs) == 1 else tuple_type(outputs)
    arguments = type_arguments(callee, FunctionType.from_lists(list(inputs), [output]))
    names = [name.data for name in callee.params]
    return [type_view(arguments[name]) for name in names] if arguments.keys() == set(names) else []


def _whole(op: TupleOp, fields: Sequence[Expr]) -> Expr | None:
    """Return the call whose value is exactly this tuple, if they have the same location."""
    values = list(map(resolved, op.fields))
    call = _call_of(values, fields)
    return call if call is not None and cast(Operation, values[0].owner).location == op.location else None


def _unit_of(op: Operation) -> TupleOp | None:
    """Return the empty tuple right after a call without results, which stands for its value."""
    if not isinstance(op, CallOp) or op.results:
        return None
    following = op.next_op
    if isinstance(following, YieldOp) and isinstance(parent := op.parent_op(), LetOp):
        following = parent.next_op
    if isinstance(following, LetOp):
        following = following.block.first_op
    if isinstance(following, TupleOp) and not following.operands and following.location == op.location:
        return following
    return None


def _call_of(values: Sequence[SSAValue], fields: Sequence[Expr]) -> Expr | None:
    """Return the call, of an operator or function with several results, whose results are exactly these values."""
    owners = {value.owner for value in values}
    if len(owners) != 1 or not isinstance(owner := owners.pop(), Operator | CallOp):
        return None
    first = fields[0]
    return first.tuple_value if tuple(owner.results) == tuple(values) and isinstance(first, TupleGetItem) else None


def _unpacked(values: Sequence[SSAValue]) -> SSAValue | None:
    """Return the tuple whose fields are exactly these values, in order, if nobody else reads them."""
    tuples: set[SSAValue] = set()
    for index, value in enumerate(values):
        op = value.owner
        if not isinstance(op, TupleGetItemOp) or op.index.value.data != index or not value.has_one_use():
            return None
        tuples.add(op.tuple_value)
    if len(tuples) != 1:
        return None
    (tuple_value,) = tuples
    return tuple_value if len(fields_of(tuple_value.type) or ()) == len(values) else None


def _ordered(block: Block) -> set[Operation]:
    """Return the ops with an effect that precede let-blocks or other ops with an effect."""
    ops: set[Operation] = set()
    follows = False
    for op in reversed(list(block.ops)):
        if isinstance(op, ReturnOp | YieldOp):
            continue
        if not is_side_effect_free(op):
            if follows:
                ops.add(op)
            follows = True
        follows = follows or isinstance(op, LetOp)
    return ops


def _span(op: Operation) -> AnySpan:
    return span_of(op.location)


def _names(op: FuncOp) -> list[str]:
    names = op.attributes.get("input_names")
    return [name.data for name in cast("ArrayAttr[StringAttr]", names)] if isinstance(names, ArrayAttr) else []


def _attribute(value: Attribute) -> Any:
    if isinstance(value, ArrayAttr):
        names = cast("ArrayAttr[Attribute]", value).data
        return [name.data for name in names if isinstance(name, StringAttr)]
    if isinstance(value, DictionaryAttr):
        return spell_ranges(ranges_in(value))
    try:
        return to_python(value)
    except TypeError:
        return value


_NODES: dict[type[Operation], Callable[[_Viewer, Any, list[Expr]], Expr]] = {
    ConstantOp: _Viewer.constant,
    CallOp: _Viewer.call,
    FnOp: _Viewer.fn,
    GlobalOp: lambda _viewer, op, _blocks: GlobalVar(op.symbol.string_value()),
    InvokeOp: _Viewer.invoke,
    IfOp: lambda viewer, op, blocks: If(viewer.values[op.condition], blocks[0], blocks[1]),
    TupleOp: _Viewer.tuple_of,
    TupleGetItemOp: lambda viewer, op, _blocks: TupleGetItem(viewer.values[op.tuple_value], op.index.value.data),
    RefCreateOp: lambda viewer, op, _blocks: RefCreate(viewer.values[op.value]),
    RefReadOp: lambda viewer, op, _blocks: RefRead(viewer.values[op.ref]),
    RefWriteOp: lambda viewer, op, _blocks: RefWrite(viewer.values[op.ref], viewer.values[op.value]),
    ConstructOp: _Viewer.construct,
    MatchOp: _Viewer.match,
}
