"""The ahead-of-time main program as llvm dialect: one native call per inference.

It calls the kernels in order, with pointers into what `runtime/program/program.py` says of its arguments:

    %0 = llvm.getelementptr %io[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr       loc("conv1"("resnet.onnx":4:0))
    %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr                                 loc("conv1"("resnet.onnx":4:0))
    ...
    llvm.call @fused_nn_conv2d_nn_relu(%1, %3, %4, %5, %pool)                  loc(fused["relu1"..., "conv1"...])
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    ModuleOp,
    UnitAttr,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

from ..provenance.builder import LocatedBuilder
from ..provenance.span import fuse
from ..runtime.program.program import ENTRY, NEED_TILES, Call, Copy, Slot
from ..runtime.program.sizes import Number, Value
from ..runtime.values.tensors import ALIGNMENT
from .artifact import Assembly
from .size_code import add_sizes_function, value_at

CALLS_PER_FUNCTION = 2000
"""A longer program is cut into parts, since some of LLVM's passes are not linear in the length of a function."""

_PTR = llvm.LLVMPointerType()
# Callees see nothing of the stack. LLVM finds that out, too, in a pass.
_TAIL = llvm.TailCallKindAttr(llvm.TailCallKind.TAIL)
_ARGUMENTS = ("io", "params", "arena", "pool")
# Constant indices have 32 bits: counted in 64-byte granules they reach 128 GiB.
_GRANULE = llvm.LLVMArrayType(ALIGNMENT, i8)
_UNITS: dict[str, tuple[Attribute, int]] = {"io": (_PTR, 1), "param": (_PTR, 1), "arena": (_GRANULE, ALIGNMENT)}


class _Work(NamedTuple):
    """A call or copy, and for whose sake it is done."""

    item: Call | Copy
    location: LocationAttr


def main_program(assembly: Assembly) -> ModuleOp:
    """The module with `@whence_main`, and declarations of the kernels; in a program with sizes `@whence_sizes`, too.

    Locations: the ops of a call have the call's; a function has the fuse of what it holds, a declaration that of the
    calls which use it. Functions of parts are marked `no_inline`.
    """
    module = ModuleOp([])
    top = LocatedBuilder(module.body.block)
    symbols = [kernel.symbol for kernel in assembly.program.kernels]
    work = [_Work(call.run, call.location) for call in assembly.calls]
    users: dict[int, list[LocationAttr]] = {}
    for call in assembly.calls:
        users.setdefault(call.kernel, []).append(call.location)
    counts = {call.kernel: (len(call.inputs) + len(call.outputs), len(call.sizes)) for call in assembly.program.calls}
    sized = assembly.program.sizes is not None
    for kernel, locations in sorted(users.items()):
        buffers, sizes = counts[kernel]
        type_ = llvm.LLVMFunctionType([*[_PTR] * buffers, *[i64] * sizes, _PTR, _PTR])
        with top.located(fuse(locations)):
            top.add(llvm.FuncOp(symbols[kernel], type_, llvm.LinkageAttr("external")))

    if assembly.program.sizes is not None:
        add_sizes_function(top, assembly.program.sizes.symbols, assembly.formulas)
    work += [_Work(copy, assembly.returned) for copy in assembly.program.copies]
    tiled = [call.location for call in assembly.calls if assembly.program.kernels[call.kernel].tiles]
    if tiled:
        with top.located(fuse(tiled)):
            top.add(llvm.FuncOp(NEED_TILES, llvm.LLVMFunctionType([]), llvm.LinkageAttr("external")))

    def entry(location: LocationAttr) -> _Function:
        function = _Function(top, ENTRY, location, sized=sized)
        if tiled:
            function.need_tiles(fuse(tiled))
        return function

    cuts = range(0, max(len(work), 1), CALLS_PER_FUNCTION)
    if len(cuts) == 1:
        entry(fuse(step.location for step in work)).run(work, symbols)
        return module
    parts: list[tuple[str, LocationAttr]] = []
    for start in cuts:
        part = work[start : start + CALLS_PER_FUNCTION]
        name, location = f"{ENTRY}_{len(parts)}", fuse(step.location for step in part)
        _Function(top, name, location, internal=True, sized=sized).run(part, symbols)
        parts.append((name, location))
    entry(fuse(location for _, location in parts)).run_parts(parts)
    return module


class _Function:
    """Builds one function of (io, params, arena, pool), and of values where the program has sizes.

    xDSL's constructors convert and check their arguments, for 30 to 60 us an op. A program may have 100,000 calls, so
    ops are made once as templates and then by `create` with shared properties.
    """

    def __init__(
        self, top: LocatedBuilder, name: str, location: LocationAttr, *, internal: bool = False, sized: bool = False
    ):
        arguments = (*_ARGUMENTS, "values") if sized else _ARGUMENTS
        block = Block(arg_types=[_PTR] * len(arguments))
        function = llvm.FuncOp(
            name,
            llvm.LLVMFunctionType([_PTR] * len(arguments)),
            llvm.LinkageAttr("internal" if internal else "external"),
            body=Region(block),
            other_props={"no_inline": UnitAttr()} if internal else None,
        )
        for argument, hint in zip(block.args, arguments, strict=True):
            argument.name_hint = hint
        with top.located(location):
            top.add(function)
        for argument in block.args:
            argument.location = location
        self.location = location
        self.builder = LocatedBuilder(block)
        io, params, arena, self.pool = block.args[: len(_ARGUMENTS)]
        self.values = block.args[-1] if sized else None
        self.bases: dict[str, SSAValue] = {"io": io, "param": params, "arena": arena}
        self.gep = {kind: dict(llvm.GEPOp(io, [0], unit).properties) for kind, (unit, _) in _UNITS.items()}
        somewhere = llvm.ConstantOp(IntegerAttr(0, i64), i64).result
        self.at_value = dict(llvm.GEPOp(io, [llvm.GEP_USE_SSA_VAL], i8, ssa_indices=[somewhere]).properties)
        self.load = dict(llvm.LoadOp(io, _PTR).properties)
        self.calls: dict[str, dict[str, Attribute]] = {}

    def need_tiles(self, location: LocationAttr) -> None:
        """A call that ends a process without the permission to use tiles."""
        with self.builder.located(location):
            self.builder.add(llvm.CallOp(NEED_TILES)).properties["TailCallKind"] = _TAIL

    def run(self, work: Sequence[_Work], symbols: Sequence[str]) -> None:
        """The calls and copies, in order, and the return."""
        for item, location in work:
            with self.builder.located(location):
                if isinstance(item, Call):
                    self._call(item, symbols[item.kernel])
                else:
                    self._copy(item)
        self._return()

    def run_parts(self, parts: Sequence[tuple[str, LocationAttr]]) -> None:
        """Calls of the functions of parts, and the return."""
        for name, location in parts:
            with self.builder.located(location):
                self.builder.add(llvm.CallOp(name, *self.builder.block.args)).properties["TailCallKind"] = _TAIL
        self._return()

    def _return(self) -> None:
        with self.builder.located(self.location):
            self.builder.add(llvm.ReturnOp())

    def _pointer(self, slot: Slot) -> SSAValue:
        if isinstance(slot.at, Value):
            offset = self._number(slot.at)
            gep = llvm.GEPOp.create(
                operands=[self.bases["arena"], offset], result_types=[_PTR], properties=dict(self.at_value)
            )
            return self.builder.add(gep).result
        properties = dict(self.gep[slot.kind])
        properties["rawConstantIndices"] = _index(slot.at // _UNITS[slot.kind][1])
        address = self.builder.add(
            llvm.GEPOp.create(operands=[self.bases[slot.kind]], result_types=[_PTR], properties=properties)
        )
        if slot.kind == "arena":
            return address.result
        load = llvm.LoadOp.create(operands=[address.result], result_types=[_PTR], properties=dict(self.load))
        return self.builder.add(load).dereferenced_value

    def _call(self, call: Call, symbol: str) -> None:
        arguments = [self._pointer(slot) for slot in chain(call.inputs, call.outputs)]
        arguments += map(self._number, call.sizes)
        if call.workspace is not None:
            arguments.append(self._pointer(call.workspace))
        else:
            arguments.append(self.builder.add(llvm.ZeroOp.create(result_types=[_PTR])).res)
        arguments.append(self.pool)
        if symbol not in self.calls:
            self.calls[symbol] = {**llvm.CallOp(symbol, *arguments).properties, "TailCallKind": _TAIL}
        self.builder.add(llvm.CallOp.create(operands=arguments, properties=dict(self.calls[symbol])))

    def _number(self, number: Number) -> SSAValue:
        if isinstance(number, Value):
            assert self.values is not None
            return value_at(self.builder, self.values, number.place)
        return self.builder.add(llvm.ConstantOp(IntegerAttr(number, i64), i64)).result

    def _copy(self, copy: Copy) -> None:
        target, source = self._pointer(copy.target), self._pointer(copy.source)
        size = self._number(copy.nbytes)
        volatile = self.builder.add(llvm.ConstantOp(IntegerAttr(0, i1), i1)).result
        self.builder.add(llvm.CallIntrinsicOp("llvm.memcpy.p0.p0.i64", [target, source, size, volatile], []))


@lru_cache(maxsize=1 << 12)
def _index(value: int) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i32, [value])
