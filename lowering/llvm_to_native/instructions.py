"""The spelling of each op of the llvm and llvm_ext dialects as LLVM instructions: one table, by op type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, StringAttr
from xdsl.ir import Operation, SSAValue

from ...dialects import llvm_ext
from ...provenance.diagnostics import fail
from .floats import Lanes, convert, element, is_half
from .opcodes import BINARY, CONVERSIONS, FLOAT_BINARY, FLOAT_CONVERSIONS, INTRINSICS
from .text import Soft, constant_text, parameters_text, suffix, symbol_text, type_text
from .writer import Spelling, Writer, widened, with_elements


def _flags(op: Operation) -> str:
    """Fast math flags of a float op; wrapping, exact, disjoint and sign flags of an integer op."""
    properties = op.properties
    if not properties:
        return ""
    if (fast := properties.get("fastmathFlags")) is not None:
        flags = cast(llvm.FastMathAttr, fast).data
        return f" {' '.join([flag.value for flag in flags])}" if flags else ""
    words: list[str] = []
    match properties.get("overflowFlags"):
        case IntegerAttr(value=bits):
            words += [word for bit, word in ((2, "nuw"), (1, "nsw")) if bits.data & bit]
        case llvm.OverflowAttr(data=flags):
            words += [flag.value for flag in flags]
        case _:
            pass
    words += [word for key, word in _UNIT_FLAGS if key in properties]
    return f" {' '.join(words)}" if words else ""


_UNIT_FLAGS = (("isExact", "exact"), ("isDisjoint", "disjoint"), ("nonNeg", "nneg"))


def _binary(opcode: str) -> Spelling:
    def spell(w: Writer, op: Operation) -> None:
        lhs, rhs = op.operands
        names = w.names
        w.put(f"{names[op.results[0]]} = {opcode}{_flags(op)} {w.type(lhs)} {names[lhs]}, {names[rhs]}")

    return spell


def _conversion(opcode: str) -> Spelling:
    def spell(w: Writer, op: Operation) -> None:
        value, result = op.operands[0], op.results[0]
        w.put(f"{w.names[result]} = {opcode}{_flags(op)} {w.type(value)} {w.names[value]} to {w.type(result)}")

    return spell


def _float_conversion(opcode: str) -> Spelling:
    plain = _conversion(opcode)

    def spell(w: Writer, op: Operation) -> None:
        value, result = op.operands[0], op.results[0]
        if not w.exact or not (is_half(value.type) or is_half(result.type)):
            plain(w, op)
            return
        lanes = Lanes.like(w, result.type)
        convert(lanes, opcode, w.names[value], (element(value.type), element(result.type)), w.soft)
        lanes.finish(w.names[result])

    return spell


def _typed(w: Writer, values: Sequence[SSAValue]) -> str:
    return ", ".join([f"{w.type(value)} {w.names[value]}" for value in values])


def _plain(opcode: str) -> Spelling:
    """An instruction that lists its operands with their types."""

    def spell(w: Writer, op: Operation) -> None:
        w.put(f"{w.names[op.results[0]]} = {opcode}{_flags(op)} {_typed(w, op.operands)}")

    return spell


def _icmp(w: Writer, op: Operation) -> None:
    assert isinstance(op, llvm.ICmpOp)
    predicate = llvm.ALL_ICMP_FLAGS[op.predicate.value.data].value
    w.put(f"{w.names[op.res]} = icmp {predicate} {w.type(op.lhs)} {w.names[op.lhs]}, {w.names[op.rhs]}")


def _fcmp(w: Writer, op: Operation) -> None:
    if isinstance(op, llvm.FCmpOp):
        predicate = llvm.ALL_FCMP_FLAGS[op.predicate.value.data].value.removeprefix("_")
    else:
        assert isinstance(op, llvm_ext.FCmpOp)
        predicate = op.predicate.data
    lhs, rhs = op.operands
    w.put(f"{w.names[op.results[0]]} = fcmp{_flags(op)} {predicate} {w.type(lhs)} {w.names[lhs]}, {w.names[rhs]}")


def _splat(w: Writer, op: Operation) -> None:
    value, result = op.operands[0], op.results[0]
    vector, single = w.type(result), w.fresh()
    w.put(f"{single} = insertelement {vector} poison, {w.type(value)} {w.names[value]}, i64 0")
    lanes = vector[1:].split(" ", 1)[0]
    w.put(f"{w.names[result]} = shufflevector {vector} {single}, {vector} poison, <{lanes} x i32> zeroinitializer")


def _shuffle(w: Writer, op: Operation) -> None:
    assert isinstance(op, llvm.ShuffleVectorOp)
    mask = [f"i32 {lane}" if lane >= 0 else "i32 poison" for lane in op.mask.get_values()]
    w.put(f"{w.names[op.res]} = shufflevector {_typed(w, op.operands)}, <{len(mask)} x i32> <{', '.join(mask)}>")


def _aggregate(opcode: str) -> Spelling:
    def spell(w: Writer, op: Operation) -> None:
        position = cast(DenseArrayBase[IntegerType], op.properties["position"]).get_values()
        w.put(f"{w.names[op.results[0]]} = {opcode} {_typed(w, op.operands)}, {', '.join(map(str, position))}")

    return spell


def _alignment(op: Operation) -> str:
    value = op.properties.get("alignment")
    return f", align {value.value.data}" if isinstance(value, IntegerAttr) else ""


def _no_ordering(op: Operation) -> None:
    ordering = op.properties.get("ordering")
    if isinstance(ordering, IntegerAttr) and ordering.value.data:
        fail(op, "an access that is not atomic", f"ordering {ordering.value.data}")


def _load(w: Writer, op: Operation) -> None:
    _no_ordering(op)
    result = op.results[0]
    w.put(f"{w.names[result]} = load {w.type(result)}, ptr {w.names[op.operands[0]]}{_alignment(op)}")


def _store(w: Writer, op: Operation) -> None:
    _no_ordering(op)
    value, pointer = op.operands
    volatile = " volatile" if "volatile_" in op.properties else ""
    w.put(f"store{volatile} {w.type(value)} {w.names[value]}, ptr {w.names[pointer]}{_alignment(op)}")


def _gep(w: Writer, op: Operation) -> None:
    pointer, *dynamic = op.operands
    element, constants = op.properties["elem_type"], op.properties["rawConstantIndices"]
    values = iter(dynamic)
    indices: list[str] = []
    for index in cast(DenseArrayBase[IntegerType], constants).get_values():
        if index == llvm.GEP_USE_SSA_VAL:
            value = next(values)
            indices.append(f"{w.type(value)} {w.names[value]}")
        else:
            indices.append(f"i32 {index}")
    inbounds = " inbounds" if "inbounds" in op.properties else ""
    address = f"ptr {w.names[pointer]}, {', '.join(indices)}"
    w.put(f"{w.names[op.results[0]]} = getelementptr{inbounds} {type_text(element, w.soft)}, {address}")


def _addresses(w: Writer, op: Operation) -> None:
    assert isinstance(op, llvm_ext.AddressesOp)
    w.put(f"{w.names[op.result]} = getelementptr {type_text(op.element, w.soft)}, {_typed(w, op.operands)}")


def _alloca(w: Writer, op: Operation) -> None:
    element = type_text(op.properties["elem_type"], w.soft)
    w.put(f"{w.names[op.results[0]]} = alloca {element}, {_typed(w, op.operands)}{_alignment(op)}")


def _br(w: Writer, op: Operation) -> None:
    w.put(f"br label %{w.label(op.successors[0])}{_loop_hint(w, op)}")


def _cond_br(w: Writer, op: Operation) -> None:
    then, orelse = op.successors
    if then is orelse and then.args:
        fail(op, "two blocks, or one without arguments", "one block with arguments")
    condition = w.names[op.operands[0]]
    w.put(f"br i1 {condition}, label %{w.label(then)}, label %{w.label(orelse)}{_loop_hint(w, op)}")


def _loop_hint(w: Writer, op: Operation) -> str:
    match op.attributes.get(llvm_ext.UNROLL):
        case StringAttr(data=word):
            return w.loop(word)
        case IntegerAttr(value=count):
            return w.loop(count.data)
        case _:
            return ""


def _return(w: Writer, op: Operation) -> None:
    w.put(f"ret {_typed(w, op.operands)}" if op.operands else "ret void")


def _unreachable(w: Writer, op: Operation) -> None:
    w.put("unreachable")


def _call(w: Writer, op: Operation) -> None:
    assert isinstance(op, llvm.CallOp)
    if op.op_bundle_operands:
        fail(op, "no operand bundles", f"{len(op.op_bundle_operands)} operands in bundles")
    arguments = list(op.args)
    if op.callee is not None:
        callee = symbol_text(op.callee.string_value())
    else:
        callee = w.names[arguments.pop(0)]
    result = w.type(op.results[0]) if op.results else "void"
    if (type_ := op.var_callee_type) is not None:
        result += f" ({parameters_text([type_text(t, w.soft) for t in type_.inputs], type_)})"
    _put_call(w, op, result, callee, arguments, _tail(op))


def _tail(op: llvm.CallOp) -> str:
    kind = op.properties.get("TailCallKind")
    return f"{kind.data} " if isinstance(kind, llvm.TailCallKindAttr) and kind.data != llvm.TailCallKind.NONE else ""


def _put_call(
    w: Writer, op: Operation, result: str, callee: str, arguments: Sequence[SSAValue], tail: str = ""
) -> None:
    name = f"{w.names[op.results[0]]} = " if op.results else ""
    w.put(f"{name}{tail}call{_flags(op)} {result} {callee}({_typed(w, arguments)})")


def _call_intrinsic(w: Writer, op: Operation) -> None:
    name = cast(StringAttr, op.properties["intrin"]).data
    if name.startswith("llvm.masked."):
        _intrinsic(w, op, with_elements(w, name, "i16"))
    else:
        widened(lambda w, op: _intrinsic(w, op, with_elements(w, name, "f32")))(w, op)


def _intrinsic(w: Writer, op: Operation, name: str) -> None:
    result = w.type(op.results[0]) if op.results else "void"
    w.declare(name, result, [w.type(value) for value in op.operands])
    _put_call(w, op, result, f"@{name}", op.operands)


def _overloaded(name: str) -> Spelling:
    """An intrinsic named after the type of its first operand."""
    return lambda w, op: _intrinsic(w, op, f"{name}.{suffix(w.type(op.operands[0]))}")


def operand_text(op: Operation, soft: Soft) -> str | None:
    """The spelling of an op that stands for a constant, None for any other."""
    match op:
        case llvm.ConstantOp():
            return constant_text(op.value, op.result.type, soft)
        case llvm.UndefOp():
            return "undef"
        case llvm_ext.PoisonOp():
            return "poison"
        case llvm.ZeroOp():
            return "null" if isinstance(op.res.type, llvm.LLVMPointerType) else "zeroinitializer"
        case llvm.AddressOfOp():
            return symbol_text(op.global_name.string_value())
        case _:
            return None


CONSTANTS: frozenset[type[Operation]] = frozenset(
    {llvm.ConstantOp, llvm.UndefOp, llvm_ext.PoisonOp, llvm.ZeroOp, llvm.AddressOfOp}
)
"""Ops that are no instructions: their result is spelled where it is used."""

INSTRUCTIONS: dict[type[Operation], Spelling] = {
    **{kind: _binary(opcode) for kind, opcode in BINARY.items()},
    **{kind: widened(_binary(opcode)) for kind, opcode in FLOAT_BINARY.items()},
    **{kind: _conversion(opcode) for kind, opcode in CONVERSIONS.items()},
    **{kind: _float_conversion(opcode) for kind, opcode in FLOAT_CONVERSIONS.items()},
    **{kind: widened(_overloaded(f"llvm.{kind.name.removeprefix('llvm.intr.')}")) for kind in INTRINSICS},
    llvm.FNegOp: widened(_plain("fneg")),
    llvm.ICmpOp: _icmp,
    llvm.FCmpOp: widened(_fcmp),
    llvm_ext.FCmpOp: widened(_fcmp),
    llvm.SelectOp: _plain("select"),
    llvm_ext.SelectOp: _plain("select"),
    llvm_ext.SplatOp: _splat,
    llvm.InsertElementOp: _plain("insertelement"),
    llvm_ext.ExtractElementOp: _plain("extractelement"),
    llvm.ShuffleVectorOp: _shuffle,
    llvm.ExtractValueOp: _aggregate("extractvalue"),
    llvm.InsertValueOp: _aggregate("insertvalue"),
    llvm.LoadOp: _load,
    llvm.StoreOp: _store,
    llvm.GEPOp: _gep,
    llvm_ext.AddressesOp: _addresses,
    llvm.AllocaOp: _alloca,
    llvm.BrOp: _br,
    llvm.CondBrOp: _cond_br,
    llvm.ReturnOp: _return,
    llvm.UnreachableOp: _unreachable,
    llvm.CallOp: _call,
    llvm.CallIntrinsicOp: _call_intrinsic,
}
