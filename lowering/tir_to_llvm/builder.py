"""Builds llvm ops at the location and the source line of the tir op that is being lowered."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Final

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects import llvm_ext
from ...provenance.builder import LocatedBuilder
from ...provenance.span import fuse
from .frame import Frame, Scope
from .types import PTR, VOID, like, number_attribute

NSW: Final[Mapping[str, Attribute]] = {"overflowFlags": IntegerAttr(1, i32)}
NO_FLAGS: Final[Mapping[str, Attribute]] = {}
_DYNAMIC = DenseArrayBase.from_list(i32, [llvm.GEP_USE_SSA_VAL])
_NO_WRAP_FLAGS = IntegerAttr(0, i32)
_PREDICATES = {flag.value: IntegerAttr(index, i64) for index, flag in enumerate(llvm.ALL_ICMP_FLAGS)}
_ALIGNMENTS = {bytes_: IntegerAttr(bytes_, i64) for bytes_ in (1, 2, 4, 8, 16, 32, 64)}
_CCC = llvm.CallingConventionAttr("ccc")


@cache
def _sizes(*counts: int) -> DenseArrayBase[IntegerType]:
    """Return the numbers of operands in each group of an op."""
    return DenseArrayBase.from_list(i32, counts)


@cache
def _i64(value: int) -> IntegerAttr[IntegerType]:
    return IntegerAttr(value, i64)


class LLVMBuilder(LocatedBuilder):
    """A LocatedBuilder that also notes the line of each op it adds, and that shares constants within a function."""

    line: int | None
    lines: dict[Operation, int]
    functions: list[llvm.FuncOp]
    """The functions made so far, in order."""
    _frames: list[Frame]
    _anchor: Operation | None
    _names: dict[str, StringAttr]

    def __init__(self) -> None:
        super().__init__(Block())
        self.line = None
        self.lines = {}
        self.functions = []
        self._frames = []
        self._anchor = None
        self._names = {}

    @property
    def frame(self) -> Frame:
        """The function under construction."""
        return self._frames[-1]

    def emit(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute | None = None,
        properties: Mapping[str, Attribute] = NO_FLAGS,
        successors: Sequence[Block] = (),
        attributes: Mapping[str, Attribute] = NO_FLAGS,
    ) -> Operation:
        """Add an op at the current place."""
        op = self._make(kind, operands, result, properties, successors, attributes)
        if self._anchor is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self._anchor)
        return op

    @contextmanager
    def hoisted(self, scope: Scope) -> Generator[None]:
        """Within this context ops go to the block that opens `scope`, which dominates all of it."""
        previous = self.block, self._anchor
        if scope.block is not self.block:
            self.block, self._anchor = scope.block, scope.block.last_op
        try:
            yield
        finally:
            self.block, self._anchor = previous

    @contextmanager
    def before(self, op: Operation) -> Generator[None]:
        """Within this context ops go before `op`."""
        previous = self.block, self._anchor
        block = op.parent_block()
        assert block is not None
        self.block, self._anchor = block, op
        try:
            yield
        finally:
            self.block, self._anchor = previous

    def value(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        properties: Mapping[str, Attribute] = NO_FLAGS,
    ) -> SSAValue:
        return self.emit(kind, operands, result, properties).results[0]

    def _make(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute | None,
        properties: Mapping[str, Attribute],
        successors: Sequence[Block] = (),
        attributes: Mapping[str, Attribute] = NO_FLAGS,
    ) -> Operation:
        op = kind.create(
            operands=operands,
            result_types=() if result is None else (result,),
            properties=properties,
            attributes=attributes,
            successors=successors,
            location=self.location,
        )
        if self.line is not None:
            self.lines[op] = self.line
        return op

    # Constants

    def constant(self, value: Attribute, type_: Attribute) -> SSAValue:
        """The constant at the top of the function; the layers that share it are fused in its location."""
        key = (value, type_)
        return self.known(self.frame.constants, key) or self._constant(value, type_, key)

    def known(self, values: Mapping[object, SSAValue], key: object) -> SSAValue | None:
        """The value under `key`, if there is one; it now serves the current layers too."""
        if (value := values.get(key)) is None:
            return None
        owner = value.owner
        if isinstance(owner, Operation) and owner.location is not self.location:
            owner.location = fuse((owner.location, self.location))
        return value

    def _constant(self, value: Attribute, type_: Attribute, key: object) -> SSAValue:
        op = self._make(llvm.ConstantOp, (), type_, {"value": value})
        entry = self.frame.entry
        if (first := entry.first_op) is None:
            entry.add_op(op)
        else:
            entry.insert_op_before(op, first)
        self.frame.constants[key] = op.results[0]
        return op.results[0]

    def number(self, value: float, type_: Attribute) -> SSAValue:
        """A number as a scalar or, in all lanes, as a vector."""
        key = (repr(value), type_)
        return self.known(self.frame.constants, key) or self._constant(number_attribute(value, type_), type_, key)

    def index(self, value: int) -> SSAValue:
        """An i64 constant."""
        return self.known(self.frame.constants, value) or self._constant(_i64(value), i64, value)

    def poison(self, type_: Attribute) -> SSAValue:
        return self.value(llvm_ext.PoisonOp, (), type_)

    # Integers

    def plus(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """The sum of two indices, which never overflows."""
        return self.value(llvm.AddOp, (lhs, rhs), i64, NSW)

    def times(self, value: SSAValue, factor: SSAValue) -> SSAValue:
        return self.value(llvm.MulOp, (value, factor), i64, NSW)

    def floordiv(self, value: SSAValue, by: SSAValue, *, positive: bool) -> SSAValue:
        """The quotient by a number above 0, rounded down. positive: `value` is at least 0."""
        if positive:
            return self.value(llvm.UDivOp, (value, by), i64)
        quotient = self.value(llvm.SDivOp, (value, by), i64)
        rest = self.value(llvm.SRemOp, (value, by), i64)
        negative = self.value(llvm.SExtOp, (self.icmp("slt", rest, self.index(0)),), i64)
        return self.plus(quotient, negative)

    def floormod(self, value: SSAValue, by: SSAValue, *, positive: bool) -> SSAValue:
        """Return the remainder of a division as above."""
        if positive:
            return self.value(llvm.URemOp, (value, by), i64)
        rest = self.value(llvm.SRemOp, (value, by), i64)
        shifted = self.plus(rest, by)
        return self.value(llvm.SelectOp, (self.icmp("slt", rest, self.index(0)), shifted, rest), i64)

    def icmp(self, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        properties = {"predicate": _PREDICATES[predicate]}
        return self.value(llvm.ICmpOp, (lhs, rhs), like(lhs.type, i1), properties)

    # Memory

    def gep(self, pointer: SSAValue, index: SSAValue, element: Attribute) -> SSAValue:
        """The address of an element. Not inbounds: the base may point before its buffer."""
        properties = {"elem_type": element, "rawConstantIndices": _DYNAMIC, "noWrapFlags": _NO_WRAP_FLAGS}
        return self.value(llvm.GEPOp, (pointer, index), PTR, properties)

    def load(self, pointer: SSAValue, type_: Attribute, alignment: int) -> SSAValue:
        return self.value(llvm.LoadOp, (pointer,), type_, {"alignment": _ALIGNMENTS[alignment]})

    def store(self, value: SSAValue, pointer: SSAValue, alignment: int) -> None:
        self.emit(llvm.StoreOp, (value, pointer), None, {"alignment": _ALIGNMENTS[alignment]})

    def alloca(self, element: Attribute, count: int) -> SSAValue:
        """Stack memory of the function, 64-byte aligned; taken once, at its top."""
        size = self.index(count)
        op = self._make(llvm.AllocaOp, (size,), PTR, {"elem_type": element, "alignment": _ALIGNMENTS[64]})
        assert isinstance(size.owner, Operation)
        self.frame.entry.insert_op_after(op, size.owner)
        return op.results[0]

    # Vectors

    def splat(self, value: SSAValue, type_: Attribute) -> SSAValue:
        return self.value(llvm_ext.SplatOp, (value,), type_)

    def shuffle(self, first: SSAValue, second: SSAValue, places: Sequence[int], type_: Attribute) -> SSAValue:
        """Elements of two vectors by their places in both, one behind the other; any for a place below 0."""
        mask = DenseArrayBase.from_list(i32, list(places))
        return self.value(llvm.ShuffleVectorOp, (first, second), type_, {"mask": mask})

    def extract(self, vector: SSAValue, lane: int, element: Attribute) -> SSAValue:
        return self.value(llvm_ext.ExtractElementOp, (vector, self.index(lane)), element)

    def insert(self, vector: SSAValue, value: SSAValue, lane: int) -> SSAValue:
        return self.value(llvm.InsertElementOp, (vector, value, self.index(lane)), vector.type)

    # Control flow

    def start(self, block: Block) -> None:
        """Append a block to the function and go on in it."""
        self.frame.function.body.add_block(block)
        self.block = block

    def new_block(self, *types: Attribute) -> Block:
        block = Block(arg_types=types)
        for argument in block.args:
            argument.location = self.location
        return block

    def branch(self, to: Block, *values: SSAValue) -> None:
        self.emit(llvm.BrOp, values, successors=(to,))

    def branch_if(
        self,
        condition: SSAValue,
        then: Block,
        orelse: Block,
        *,
        passed: tuple[Sequence[SSAValue], Sequence[SSAValue]] = ((), ()),
        attributes: Mapping[str, Attribute] = NO_FLAGS,
    ) -> None:
        first, second = passed
        sizes = _sizes(1, len(first), len(second))
        operands = (condition, *first, *second)
        self.emit(llvm.CondBrOp, operands, None, {"operandSegmentSizes": sizes}, (then, orelse), attributes)

    # Calls

    def call(self, name: str, arguments: Sequence[SSAValue], result: Attribute | None = None) -> Operation:
        """A direct call of an LLVM function of this module."""
        sizes = _sizes(len(arguments), 0)
        return self.emit(llvm.CallOp, arguments, result, {"callee": SymbolRefAttr(name), "operandSegmentSizes": sizes})

    def intrinsic(
        self,
        name: str,
        arguments: Sequence[SSAValue],
        result: Attribute | None,
        properties: Mapping[str, Attribute] = NO_FLAGS,
    ) -> Operation:
        """A call of an LLVM intrinsic by its full name."""
        if (interned := self._names.get(name)) is None:
            interned = self._names[name] = StringAttr(name)
        sizes = _sizes(len(arguments), 0)
        all_properties = {"intrin": interned, "operandSegmentSizes": sizes, **properties}
        return self.emit(llvm.CallIntrinsicOp, arguments, result, all_properties)

    # Functions

    def function(
        self,
        name: str,
        parameters: Sequence[Attribute],
        *,
        parameter_attributes: Sequence[Mapping[str, Attribute]] | None = None,
        internal: bool = False,
        no_inline: bool = False,
        result: Attribute = VOID,
        body: bool = True,
    ) -> llvm.FuncOp:
        """Make a function, to be built `inside`; a declaration if it has no body."""
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "function_type": llvm.LLVMFunctionType(list(parameters), result),
            "CConv": _CCC,
            "linkage": llvm.LinkageAttr("internal" if internal else "external"),
            "no_unwind": UnitAttr(),
        }
        if no_inline:
            properties["no_inline"] = UnitAttr()
        if parameter_attributes is not None:
            properties["arg_attrs"] = ArrayAttr([DictionaryAttr(dict(entry)) for entry in parameter_attributes])
        region = Region([self.new_block(*parameters)] if body else [])
        op = llvm.FuncOp.create(properties=properties, regions=[region], location=self.location)
        if self.line is not None:
            self.lines[op] = self.line
        self.functions.append(op)
        return op

    @contextmanager
    def inside(self, function: llvm.FuncOp) -> Generator[Frame]:
        """Within this context `function` is built, from its top on."""
        previous = self.block, self._anchor
        self._frames.append(Frame(function, [Scope(function.body.block)]))
        self.block, self._anchor = function.body.block, None
        try:
            yield self.frame
        finally:
            self._frames.pop()
            self.block, self._anchor = previous
