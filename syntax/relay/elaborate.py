"""Expressions -> ops: types are inferred, then every expression is computed once, where all its readers see it.

Lets become let-blocks with the ops that their values need, in pure and impure runs. A function that calls itself is a
let-block of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    DictionaryAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.element_types import dtype_name
from ...dialects.format import name_hint
from ...dialects.relay.attributes import to_attribute
from ...dialects.relay.binding import Flavour, IfOp, LetOp
from ...dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from ...dialects.relay.data_types import (
    ConstructOp,
    ConstructorPattern,
    MatchOp,
    TuplePattern,
    TypeDataOp,
    VarPattern,
    WildcardPattern,
)
from ...dialects.relay.elementwise import CastOp
from ...dialects.relay.functions import FnOp, GlobalOp, InvokeOp, YieldOp
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.relay.references import RefCreateOp, RefReadOp, RefWriteOp
from ...dialects.relay.size_ranges import SIZES, parse_ranges, ranges_attr
from ...dialects.relay.traits import Mark
from ...dialects.relay.transform import ReshapeOp
from ...dialects.relay.tuples import TupleGetItemOp, TupleOp
from ...dialects.relay.types import AdtType, fields_of, signature_of
from ...provenance.builder import fill
from ...provenance.diagnostics import message
from ...support.errors import FrontendError
from .adapted import adapted
from .composites import Composites, is_composite
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
    Var,
)
from .infer import infer
from .let_blocks import bound_in_blocks
from .nodes import children, free_vars, pattern_vars, scoped
from .operators import attributes_of, grouped, is_absent, name_of, operator_named
from .places import Places, location_of
from .purity import Purity
from .scopes import Scope, scopes_of
from .walks import driven, each

OpT = TypeVar("OpT", bound=Operation)
Walk: TypeAlias = "Generator[Expr, SSAValue, SSAValue]"


def elaborate(program: Program) -> ModuleOp:
    """Return the module of a program, typed and located.

    The location of an expression without a span is the name of its op and a number, `nn.conv2d_0`.
    Raises FrontendError when types do not fit.
    """
    infer(program)
    module = ModuleOp([])
    names, purity = Places(), Purity(program)
    composites = Composites(program.functions)
    for data in program.types.values():
        constructors = [(constructor.name_hint, list(constructor.inputs)) for constructor in data.constructors]
        op = TypeDataOp(data.header, list(data.type_vars), constructors)
        fill(op, names.named(None, data.header))
        module.body.block.add_op(op)
    for name, function in program.functions.items():
        _Elaborator(program, module, names, purity, composites).function(name, function)
    for name, kernel in program.kernels.items():
        op = kernel.op.clone()
        op.sym_name = StringAttr(name)
        module.body.block.add_op(op)
    try:
        module.verify()
    except VerifyException as error:
        raise FrontendError(str(error)) from None
    return module


class _Elaborator:
    """The ops of one function."""

    def __init__(self, program: Program, module: ModuleOp, names: Places, purity: Purity, composites: Composites):
        self.program = program
        self.composites = composites
        self.module = module
        self.names = names
        self.purity = purity
        self.values: dict[Expr, SSAValue] = {}
        self.blocks: dict[Scope, Block] = {}
        self.owner: LocationAttr = UNKNOWN_LOC
        """The location of the function, and of its let-blocks and ends of regions."""
        self.bound: dict[Block, dict[Operation, None]] = {}
        """The ops in lets, by block."""
        self.unpacked: dict[Block, dict[TupleOp, None]] = {}
        """The tuples whose fields have direct readers, by block."""
        self.inside: dict[Expr, Scope] = {}
        self.opened: dict[tuple[Expr, int], Scope] = {}

    def function(self, name: str, function: Function) -> FuncOp:
        """Add the op of a global function."""
        self.inside, self.opened = scopes_of(function)
        inputs = [param.inferred for param in function.params]
        signature = signature_of(function.inferred)
        assert signature is not None
        output = signature.outputs.data[0]
        fields = fields_of(output)
        flat = fields is not None and len(fields) != 1
        outputs = list(fields) if flat and fields is not None else [output]
        self.owner = self.names.named(function.span, name)
        func = FuncOp(name, inputs, outputs, type_params=function.type_params, location=self.owner)
        self._attributes(func, function)
        if func.attributes.pop("Primitive", None) is not None:
            func.properties["primitive"] = UnitAttr()
        self.module.body.block.add_op(func)
        self._parameters(function.params, func.block.args)
        func.attributes["input_names"] = ArrayAttr(StringAttr(param.name_hint) for param in function.params)
        if len(function.output_names) == len(outputs):
            func.attributes["output_names"] = ArrayAttr(map(StringAttr, function.output_names))
        self.blocks[self.opened[function, 0]] = func.block
        body = function.body
        if flat and isinstance(body, Tuple):
            returned = [self.emit(field) for field in body.fields]
            end = self.names.named(body.span, name)
        else:
            returned, end = [self.emit(body)], self.owner
            if flat:
                returned = self._unpacked(returned[0], func.block)
        return_op = ReturnOp(*returned)
        return_op.location = end
        func.block.add_op(return_op)
        self._finish(func.block, self.owner)
        return func

    def _finish(self, block: Block, location: LocationAttr) -> None:
        """Finish a complete block: drop the tuples that were only unpacked, and move its lets into let-blocks."""
        bound = self.bound.pop(block, {})
        for op in self.unpacked.pop(block, {}):
            if op.result.first_use is None and op.result.name_hint is None:
                bound.pop(op, None)
                op.detach()
                op.erase()
        bound_in_blocks(block, bound, location)

    def _unpacked(self, value: SSAValue, block: Block) -> list[SSAValue]:
        """Return the fields of a tuple."""
        if isinstance(op := value.owner, TupleOp):
            if (block_of_op := op.parent) is not None:
                self.unpacked.setdefault(block_of_op, {})[op] = None
            return list(op.fields)
        values: list[SSAValue] = []
        for index in range(len(fields_of(value.type) or ())):
            item = TupleGetItemOp(value, index)
            item.location = _location(value)
            block.add_op(item)
            values.append(item.result)
        return values

    def _parameters(self, params: Sequence[Var], arguments: Sequence[BlockArgument]) -> None:
        for param, argument in zip(params, arguments, strict=True):
            argument.name_hint = name_hint(param.name_hint)
            argument.location = self.names.named(param.span, param.name_hint)
            self.values[param] = argument

    def _attributes(self, op: Operation, function: Function) -> None:
        for key, value in function.attrs.items():
            op.attributes[key] = value if isinstance(value, Attribute) else _attribute(key, value, function)

    # The walk.

    def emit(self, root: Expr) -> SSAValue:
        """Return the value of an expression, computed at the end of its scope's block."""
        return driven(root, self._walk, self._at_hand)

    def _walk(self, node: Expr) -> Walk:
        value = self.values[node] = yield from _EMIT[type(node)](self, node)
        return value

    def _at_hand(self, node: Expr) -> SSAValue | None:
        """Return the value of an expression that is computed already or is a leaf; None for others."""
        if node not in self.values and (leaf := _LEAVES.get(type(node))) is not None:
            self.values[node] = leaf(self, node)
        return self.values.get(node)

    def add(self, op: OpT, node: Expr, name: str = "") -> OpT:
        """Append an op in the scope of its expression."""
        fill(op, self.names.of(node, name or op.name.removeprefix("relay.")))
        self.blocks[self.inside[node]].add_op(op)
        return op

    def _regions(self, node: Expr, location: LocationAttr) -> Generator[Expr, SSAValue, list[Block]]:
        """Return the regions of the scopes that a node opens."""
        blocks: list[Block] = []
        for index, result in enumerate(scoped(node)):
            variables = pattern_vars(node.clauses[index].lhs) if isinstance(node, Match) else []
            block = Block(arg_types=[var.inferred for var in variables])
            self.blocks[self.opened[node, index]] = block
            self._parameters(variables, block.args)
            self._close(block, (yield result), location)
            blocks.append(block)
        return blocks

    def _close(self, block: Block, value: SSAValue, location: LocationAttr) -> None:
        """End a region with the result `value`."""
        block.add_op(YieldOp(value, location=location))
        self._finish(block, location)

    def constant(self, node: Constant) -> SSAValue:
        op = self.add(ConstantOp.of(np.asarray(node.data), self.module, "const"), node, "const")
        op.result.name_hint = None
        return op.result

    def variable(self, node: Var) -> SSAValue:
        raise FrontendError(f"%{node.name_hint}: expected a variable that something binds, got a free one")

    def global_function(self, node: GlobalVar) -> SSAValue:
        return self.add(GlobalOp(node.name_hint, node.inferred), node).result

    def simple(self, node: Expr) -> Walk:
        values: list[SSAValue] = yield from each(children(node))
        return self.add(_SIMPLE[type(node)](node, values), node).results[0]

    def call(self, node: Call) -> Walk:
        if isinstance(node.op, Op):
            return (yield from self._operator(node, node.op))
        arguments: list[SSAValue] = yield from each(node.args)
        impure = not self.purity.is_pure_call(node)
        match node.op:
            case Constructor(name):
                return self.add(ConstructOp(name, arguments, cast(AdtType, node.inferred)), node, name).result
            case GlobalVar(name):
                if (fields := self._results(name, node.inferred)) is None:
                    return self.add(CallOp(name, arguments, [node.inferred], impure=impure), node, name).outputs[0]
                call = self.add(CallOp(name, arguments, fields, impure=impure), node, name)
                return self._tuple_of(list(call.outputs), node, call.location)
            case Function() if is_composite(node.op):
                call = self.add(self._composite(node.op, arguments, impure), node)
                outputs = list(call.outputs)
                return outputs[0] if len(outputs) == 1 else self._tuple_of(outputs, node, call.location)
            case _:
                callee = yield node.op
                return self.add(InvokeOp(callee, arguments, node.inferred, impure), node).result

    def _composite(self, function: Function, arguments: list[SSAValue], impure: bool) -> CallOp:
        """Return a call of a function that is written where it is called, and that becomes one of the module."""
        func = self.composites.ops.get(function)
        if func is None:
            inner = _Elaborator(self.program, self.module, self.names, self.purity, self.composites)
            func = self.composites.ops[function] = inner.function(self.composites.name(function), function)
        return CallOp(func.sym_name.data, arguments, list(func.function_type.outputs), impure=impure)

    def _results(self, name: str, type_: Attribute) -> Sequence[Attribute] | None:
        """Return the types of a call's results if the function declares several results or none; None if it has one.

        A polymorphic function that returns an `A` has one result, even if `A` is a tuple here.
        """
        signature = signature_of(self.program.functions[name].inferred)
        assert signature is not None
        declared = fields_of(signature.outputs.data[0])
        return None if declared is None or len(declared) == 1 else fields_of(type_)

    def _operator(self, node: Call, callee: Op) -> Walk:
        cls = operator_named(callee.name)
        if cls.has_trait(Mark) and len(node.args) == 1 and not _is_tensor(node.inferred):
            return self._marked((yield node.args[0]), cls, node)
        call = adapted(cls, node.attrs, [arg.inferred for arg in node.args])
        cls, declared = call.operator, call.operator.operand_groups()
        groups: list[list[SSAValue]] = []
        absent = [is_absent(arg) for arg in node.args]
        for group, arg in zip(declared, grouped(cls, list(node.args), absent), strict=True):
            if arg is None:
                groups.append([])
            elif not group.variadic:
                groups.append([(yield arg)])
            elif isinstance(arg, Tuple):
                groups.append((yield from each(arg.fields)))
            else:
                groups.append(self._unpacked((yield arg), self.blocks[self.inside[node]]))
        for index in call.casts:
            (value,) = groups[index]
            element = dtype_name(cast("TensorType[Attribute]", call.types[index]).element_type)
            groups[index] = [self.add(CastOp(value, dtype=element), node, "cast").result]
        for index in call.reshapes:
            (value,) = groups[index]
            groups[index] = [self.add(ReshapeOp(value, newshape=shape_of(call.types[index])), node, "reshape").result]
        fields = fields_of(node.inferred)
        types = [node.inferred] if fields is None else fields
        op = self.add(cls.of_types(groups, attributes_of(cls, call.attrs), types), node, callee.name)
        return op.results[0] if fields is None else self._tuple_of(list(op.results), node, op.location)

    def _marked(self, value: SSAValue, cls: type[Operator], node: Call) -> SSAValue:
        """Return a value with a mark on each tensor in it or its tuples; references, functions and data get none."""
        if _is_tensor(value.type):
            op = self.add(cls.of_types([[value]], attributes_of(cls, node.attrs), [value.type]), node, name_of(cls))
            return op.results[0]
        if fields_of(value.type) is None:
            return value
        parts = self._unpacked(value, self.blocks[self.inside[node]])
        fields = [self._marked(part, cls, node) for part in parts]
        return self._tuple_of(fields, node, self.names.of(node, name_of(cls)))

    def _tuple_of(self, values: Sequence[SSAValue], node: Expr, location: LocationAttr) -> SSAValue:
        """Return several results as one tuple, which they are in Relay."""
        tuple_op = TupleOp(values)
        tuple_op.location = location
        self.blocks[self.inside[node]].add_op(tuple_op)
        return tuple_op.result

    def constructor(self, node: Constructor) -> SSAValue:
        """Return a constructor as a value: the function that applies it."""
        signature = signature_of(node.inferred)
        assert signature is not None
        output = cast(AdtType, signature.outputs.data[0])
        op = self.add(FnOp(list(signature.inputs), output), node, node.name_hint)
        construct = ConstructOp(node.name_hint, list(op.block.args), output)
        op.block.add_ops([construct, YieldOp(construct.result)])
        fill(op, op.location)
        return op.result

    def closure(self, node: Function) -> Walk:
        signature = signature_of(node.inferred)
        assert signature is not None
        location = self.names.of(node, "fn")
        op = FnOp(list(signature.inputs), signature.outputs.data[0], node.type_params, location=location)
        self._attributes(op, node)
        self.blocks[self.opened[node, 0]] = op.block
        self._parameters(node.params, op.block.args)
        self._close(op.block, (yield node.body), location)
        self.blocks[self.inside[node]].add_op(op)
        return op.result

    def let(self, node: Let) -> Walk:
        block = self.blocks[self.inside[node]]
        bound = self.bound.setdefault(block, {})
        last = block.last_op
        if isinstance(node.value, Function) and node.var in free_vars(node.value):
            inner = Block(arg_types=[node.value.inferred])
            self._parameters([node.var], inner.args)
            value = yield node.value
            assert isinstance(value.owner, FnOp)
            value.owner.detach()
            value.name_hint = name_hint(node.var.name_hint)
            inner.add_ops([value.owner, YieldOp(value, location=value.owner.location)])
            op = LetOp(Flavour.REC, inner)
            op.location = value.owner.location
            block.add_op(op)
            value = op.outputs[0]
            # Readers that do not use the function's name read it here, too.
            self.values[node.value] = value
        else:
            value = yield node.value
        if isinstance(value.owner, Operation) and value.name_hint is None:
            value.name_hint = name_hint(node.var.name_hint)
        self.values[node.var] = value
        op = block.first_op if last is None else last.next_op
        while op is not None:
            bound[op] = None
            op = op.next_op
        return (yield node.body)

    def branch(self, node: If) -> Walk:
        condition = yield node.cond
        location = self.names.of(node, "if")
        then, otherwise = yield from self._regions(node, location)
        return self._placed(IfOp(condition, then, otherwise, node.inferred), node, location).result

    def match(self, node: Match) -> Walk:
        data = yield node.data
        location = self.names.of(node, "match")
        blocks = yield from self._regions(node, location)
        patterns = [_pattern(clause.lhs) for clause in node.clauses]
        op = MatchOp(data, list(zip(patterns, blocks, strict=True)), node.inferred, partial=not node.complete)
        return self._placed(op, node, location).result

    def _placed(self, op: OpT, node: Expr, location: LocationAttr) -> OpT:
        op.location = location
        self.blocks[self.inside[node]].add_op(op)
        return op


def _attribute(key: str, value: Any, function: Function) -> Attribute:
    if key != SIZES or not isinstance(value, str):
        return to_attribute(value)
    try:
        return ranges_attr(parse_ranges(value)) or DictionaryAttr({})
    except ValueError as error:
        location = location_of(function.span)
        raise FrontendError(message(f"function attribute {SIZES}", "bounds of sizes", str(error), location)) from error


def _is_tensor(type_: Attribute) -> bool:
    return isinstance(type_, TensorType)


def _location(value: SSAValue) -> LocationAttr:
    return value.location if isinstance(value, BlockArgument) else cast(Operation, value.owner).location


def _pattern(pattern: Pattern) -> Attribute:
    match pattern:
        case PatternVar():
            return VarPattern()
        case PatternConstructor(constructor, patterns):
            return ConstructorPattern(SymbolRefAttr(constructor.name_hint), ArrayAttr(map(_pattern, patterns)))
        case PatternTuple(patterns):
            return TuplePattern(ArrayAttr(map(_pattern, patterns)))
        case _:
            return WildcardPattern()


_LEAVES: dict[type[Expr], Callable[[_Elaborator, Any], SSAValue]] = {
    Constant: _Elaborator.constant,
    Var: _Elaborator.variable,
    GlobalVar: _Elaborator.global_function,
    Constructor: _Elaborator.constructor,
}
_SIMPLE: dict[type[Expr], Callable[[Any, list[SSAValue]], Operation]] = {
    Tuple: lambda _, fields: TupleOp(fields),
    TupleGetItem: lambda node, parts: TupleGetItemOp(parts[0], node.index),
    RefCreate: lambda _, parts: RefCreateOp(*parts),
    RefRead: lambda _, parts: RefReadOp(*parts),
    RefWrite: lambda _, parts: RefWriteOp(*parts),
}
_EMIT: dict[type[Expr], Callable[[_Elaborator, Any], Walk]] = {
    **dict.fromkeys(_SIMPLE, _Elaborator.simple),
    Call: _Elaborator.call,
    Function: _Elaborator.closure,
    Let: _Elaborator.let,
    If: _Elaborator.branch,
    Match: _Elaborator.match,
}
