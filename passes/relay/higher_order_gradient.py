"""Gradients of programs with branches, recursion, closures, references and data types, in reverse mode.

As in TVM's higher-order gradient every tensor becomes a pair of itself and a reference to its gradient so far, and one
reference holds the function that takes gradients back: each operator, as it is computed, puts one in front that adds
to the gradients of its operands and then calls the one before. Nothing is known of the way that a run takes; the
functions that it met are called in the reverse order.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from ...dialects.relay.binding import Flavour, IfOp, LetOp, resolved
from ...dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from ...dialects.relay.data_types import ConstructOp, MatchOp, type_data
from ...dialects.relay.elementwise import AddOp, OnesLikeOp, ZerosLikeOp
from ...dialects.relay.functions import FnOp, GlobalOp, InvokeOp, YieldOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.references import RefCreateOp, RefReadOp, RefWriteOp
from ...dialects.relay.tuples import TupleGetItemOp, TupleOp
from ...dialects.relay.types import UNIT, AdtType, RefType, fields_of, function_type, mapped, tuple_type
from ...provenance.builder import LocatedBuilder
from ...provenance.diagnostics import fail
from ...syntax.relay.walks import driven, each
from .analysis.traversal import functions_of, pre_order
from .cloning import clone_op
from .gradients.site import is_smooth
from .gradients.table import operand_gradients

Walk: TypeAlias = Generator[Block, Block, Block]
"""Asks for the replacements of inner blocks, and gives that of one."""


def dual(type_: Attribute) -> Attribute:
    """The type of the replacement of a value of a type."""
    match type_:
        case TensorType():
            return tuple_type([type_, RefType(type_)])
        case _:
            return mapped(type_, dual)


def higher_order_gradient(func: FuncOp, module: ModuleOp) -> FuncOp:
    """The function that gives `(value, (gradients...))` of `func`, which stays; what it calls is part of it.

    The gradients are those of the value, or of its first field where it is a tuple.

    module: has the functions that are called, and its pool gets constants. Raises VerifyException for functions that
    call each other in a circle, for parameters and values that are no tensors or tuples of them, and for operators
    without a rule.
    """
    values = [*func.block.args, *func.return_op.values]
    for value in values:
        _check(func, value, "a parameter" if isinstance(value, BlockArgument) else "a value")
    gradient = FuncOp(
        func.sym_name.data, func.function_type.inputs.data, [], type_params=func.type_names(), location=func.location
    )
    for old, new in zip(func.block.args, gradient.block.args, strict=True):
        new.name_hint, new.location = old.name_hint, old.location
    builder = LocatedBuilder(gradient.block, func.location)
    reverse = _Reverse(module, builder)
    for callee in dict.fromkeys([*_callees(func, functions_of(module)), func]):
        reverse.closure(callee)
    pairs = [_mapped(argument, argument.type, builder, _pair) for argument in gradient.block.args]
    output = _output(func)
    result = builder.add(InvokeOp(reverse.closures[func], pairs, dual(output), impure=True)).result
    first, type_ = result, output
    while fields := fields_of(type_):
        first, type_ = _part(first, 0, builder), fields[0]
    _seed(first, builder)
    builder.add(InvokeOp(builder.add(RefReadOp(reverse.back)), [], UNIT, impure=True))
    with builder.located(func.return_op.location):
        value = _mapped(result, output, builder, _first)
        inputs = zip(pairs, func.function_type.inputs, strict=True)
        builder.add(ReturnOp(value, builder.add(TupleOp([_mapped(pair, t, builder, _held) for pair, t in inputs]))))
    gradient.update_type()
    return gradient


def _output(func: FuncOp) -> Attribute:
    outputs = func.function_type.outputs.data
    return outputs[0] if len(outputs) == 1 else tuple_type(outputs)


def _callees(func: FuncOp, functions: dict[str, FuncOp]) -> list[FuncOp]:
    """The functions that are called, each after its own callees."""
    callees: dict[str, None] = {}
    opened: dict[str, None] = {}
    stack: list[tuple[str, list[str]]] = [("", _called(func))]
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
            fail(func, "functions that call each other in no circle", circle)
        if inner not in callees and inner not in opened:
            opened[inner] = None
            stack.append((inner, _called(functions[inner])))
    return [functions[name] for name in callees]


def _called(func: FuncOp) -> list[str]:
    names: dict[str, None] = {}
    for op in pre_order(func):
        if isinstance(op, CallOp | GlobalOp):
            names[(op.callee if isinstance(op, CallOp) else op.symbol).string_value()] = None
    return list(names)


class _Reverse:
    """The replacements of values, in which each tensor is a pair of itself and the reference to its gradient."""

    def __init__(self, module: ModuleOp, builder: LocatedBuilder):
        self.module = module
        self.values: dict[SSAValue, SSAValue] = {}
        self.functions = functions_of(module)
        self.closures: dict[FuncOp, SSAValue] = {}
        """The closures that take the place of functions of the module."""
        nothing = LocatedBuilder(Block())
        nothing.add(YieldOp(nothing.add(TupleOp([]))))
        self.back = builder.add(RefCreateOp(builder.add(_fn(nothing.block, UNIT)))).result
        """Holds the function that takes gradients back."""
        self.outermost = builder

    def closure(self, func: FuncOp) -> None:
        """Add the closure that takes the place of a function; one that calls itself is a let-block."""
        name, output = func.sym_name.data, dual(_output(func))
        type_ = function_type(func.type_names(), [dual(argument.type) for argument in func.block.args], output)
        recursive = name in _called(func)
        inner = Block(arg_types=[type_] if recursive else [])
        if recursive:
            self.closures[func] = inner.args[0]
        fn = _fn(driven(func.block, self._block), output, func.type_names())
        with self.outermost.located(func.location):
            if recursive:
                inner.add_ops([fn, YieldOp(fn.result)])
                self.closures[func] = self.outermost.add(LetOp(Flavour.REC, inner)).outputs[0]
            else:
                self.closures[func] = self.outermost.add(fn).result
        self.closures[func].name_hint = name

    def _block(self, block: Block) -> Walk:
        new = Block(arg_types=[dual(argument.type) for argument in block.args])
        for old, argument in zip(block.args, new.args, strict=True):
            argument.name_hint, argument.location = old.name_hint, old.location
            self.values[old] = argument
        last = cast(Operation, block.last_op)
        builder = LocatedBuilder(new, last.location)
        for op in _flat(block):
            blocks: list[Block] = yield from each(region.block for region in op.regions)
            with builder.located(op.location):
                self._op(op, blocks, builder)
        values = [self._value(value) for value in last.operands]
        if isinstance(last, ReturnOp) and len(values) != 1:
            values = [builder.add(TupleOp(values)).result]
        builder.add(YieldOp(*values))
        return new

    def _value(self, value: SSAValue) -> SSAValue:
        return self.values[resolved(value)]

    def _op(self, op: Operation, blocks: Sequence[Block], builder: LocatedBuilder) -> None:
        match op:
            case ConstantOp():
                results = [_pair(builder.add(clone_op(op, {})).results[0], builder)]
            case GlobalOp():
                results = [self._closure(op.symbol)]
            case CallOp():
                results = self._call(op, builder)
            case Operator():
                results = self._operator(op, builder)
            case _:
                _check_data(op)
                operands = [self._value(value) for value in op.operands]
                if isinstance(op, IfOp):
                    operands = [_part(operands[0], 0, builder)]
                properties = op.properties.copy()
                if isinstance(op, InvokeOp):
                    properties["impure"] = UnitAttr()
                new = type(op).create(
                    operands=operands,
                    result_types=[dual(type_) for type_ in op.result_types],
                    attributes=op.attributes.copy(),
                    properties=properties,
                    regions=[Region(block) for block in blocks],
                )
                results = list(builder.add(new).results)
        self.values.update(zip(op.results, results, strict=True))

    def _closure(self, symbol: SymbolRefAttr) -> SSAValue:
        return self.closures[self.functions[symbol.string_value()]]

    def _call(self, op: CallOp, builder: LocatedBuilder) -> list[SSAValue]:
        types, arguments = [dual(type_) for type_ in op.result_types], [self._value(value) for value in op.arguments]
        output = types[0] if len(types) == 1 else tuple_type(types)
        results = builder.add(InvokeOp(self._closure(op.callee), arguments, output, impure=True)).result
        return [results] if len(types) == 1 else [_part(results, index, builder) for index in range(len(types))]

    def _operator(self, op: Operator, builder: LocatedBuilder) -> list[SSAValue]:
        """Compute the results, with gradients of zeros, and push the step that takes these to the operands."""
        pairs = [self._value(value) for value in op.operands]
        values = [_first(pair, builder) for pair in pairs]
        new = builder.add(clone_op(op, dict(zip(op.operands, values, strict=True))))
        assert isinstance(new, Operator)
        results = [_pair(result, builder) for result in new.results]
        if not any(map(is_smooth, values)) or not any(map(is_smooth, new.results)):
            return results
        step = LocatedBuilder(Block(), op.location)
        smooth = zip(map(is_smooth, new.results), results, strict=True)
        seeds = [_held(pair, step) if is_float else None for is_float, pair in smooth]
        for index, gradient in operand_gradients(new, seeds, self.module, step):
            _add(pairs[index], gradient, step)
        before = builder.add(RefReadOp(self.back))
        step.add(YieldOp(step.add(InvokeOp(before, [], UNIT, impure=True))))
        builder.add(RefWriteOp(self.back, builder.add(_fn(step.block, UNIT))))
        return results


def _fn(block: Block, output: Attribute, names: Sequence[str] = ()) -> FnOp:
    return FnOp.create(
        properties={"type_params": ArrayAttr(map(StringAttr, names))} if names else {},
        regions=[Region(block)],
        result_types=[function_type(names, [argument.type for argument in block.args], output)],
    )


def _flat(block: Block) -> Iterator[Operation]:
    """The ops of a block but its last, and in the place of let-blocks what is in them, recursive ones apart."""
    stack = [iter(block.ops)]
    while stack:
        op = next(stack[-1], None)
        if op is None or isinstance(op, ReturnOp | YieldOp):
            stack.pop()
        elif isinstance(op, LetOp) and op.kind is not Flavour.REC:
            stack.append(iter(op.block.ops))
        else:
            yield op


def _part(tuple_value: SSAValue, index: int, builder: LocatedBuilder) -> SSAValue:
    if isinstance(op := tuple_value.owner, TupleOp):
        return op.fields[index]
    return builder.add(TupleGetItemOp(tuple_value, index)).result


def _pair(value: SSAValue, builder: LocatedBuilder) -> SSAValue:
    """A tensor with a gradient of zeros."""
    return builder.add(TupleOp([value, builder.add(RefCreateOp(builder.add(ZerosLikeOp(value)))).result])).result


def _first(pair: SSAValue, builder: LocatedBuilder) -> SSAValue:
    return _part(pair, 0, builder)


def _held(pair: SSAValue, builder: LocatedBuilder) -> SSAValue:
    """The gradient of a pair so far."""
    return builder.add(RefReadOp(_part(pair, 1, builder))).result


def _add(pair: SSAValue, gradient: SSAValue, builder: LocatedBuilder) -> SSAValue:
    total = builder.add(AddOp(_held(pair, builder), gradient))
    return builder.add(RefWriteOp(_part(pair, 1, builder), total)).result


def _seed(pair: SSAValue, builder: LocatedBuilder) -> SSAValue:
    """Have every element of a result count 1."""
    return _add(pair, builder.add(OnesLikeOp(_first(pair, builder))).result, builder)


def _mapped(
    value: SSAValue,
    type_: Attribute,
    builder: LocatedBuilder,
    make: Callable[[SSAValue, LocatedBuilder], SSAValue],
) -> SSAValue:
    """A value of a type, or what takes its place, with `make` applied to each tensor, in the same tuples."""
    fields = fields_of(type_)
    if fields is None:
        return make(value, builder)
    parts = [_mapped(_part(value, index, builder), field, builder, make) for index, field in enumerate(fields)]
    return builder.add(TupleOp(parts)).result


def _check(func: FuncOp, value: SSAValue, what: str) -> None:
    stack = [value.type]
    while stack:
        type_ = stack.pop()
        fields = fields_of(type_)
        stack += fields or ()
        if fields is None and not isinstance(type_, TensorType):
            fail(func, f"{what} of tensors, or tuples of them, to take a gradient", str(value.type))


def _check_data(op: Operation) -> None:
    """Raise VerifyException for values of a data type that names tensors: pairs have no place in them."""
    value = op.data if isinstance(op, MatchOp) else op.result if isinstance(op, ConstructOp) else None
    if value is not None and isinstance(value.type, AdtType):
        data = type_data(op, value.type.definition.string_value())
        if any(dual(type_) != type_ for inputs in data.inputs for type_ in inputs):
            fail(op, "data types of type variables, to take a gradient", data.sym_name.data)
