"""Arithmetic of sizes as llvm ops: `@whence_sizes` computes, once for all calls with the same sizes, what follows.

%0 = llvm.load %values : !llvm.ptr -> i64                                  loc("embed"("bert.onnx":4:0))
%1 = llvm.mul %0, %c768 : i64                                              loc("embed"("bert.onnx":4:0))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from ..dialects.sizes import SizeExpr
from ..dialects.sizes.terms import Atom, Polynomial
from ..provenance.builder import LocatedBuilder
from ..provenance.span import fuse
from ..runtime.program.program import SIZES_ENTRY
from ..runtime.values.tensors import ALIGNMENT
from .size_values import Formula, Group

_PTR = llvm.LLVMPointerType()


def value_at(builder: LocatedBuilder, values: SSAValue, number: int) -> SSAValue:
    """Value `number` of those that `values` points to."""
    address, load = _reading(number)
    pointer = builder.add(llvm.GEPOp.create(operands=[values], result_types=[_PTR], properties=dict(address))).result
    read = llvm.LoadOp.create(operands=[pointer], result_types=[i64], properties=dict(load))
    return builder.add(read).dereferenced_value


@lru_cache(maxsize=1 << 10)
def _reading(number: int) -> tuple[Mapping[str, Attribute], Mapping[str, Attribute]]:
    """The properties of the ops that read a value: constructors convert and check theirs, at many calls."""
    address = llvm.GEPOp(Block(arg_types=[_PTR]).args[0], [number], i64)
    return address.properties, llvm.LoadOp(address.result, i64).properties


def add_sizes_function(top: LocatedBuilder, symbols: Sequence[str], formulas: Sequence[Formula]) -> None:
    """`@whence_sizes`, which writes the values of formulas behind those of the symbols."""
    block = Block(arg_types=[_PTR])
    location = fuse(formula.location for formula in formulas)
    with top.located(location):
        function_type = llvm.LLVMFunctionType([_PTR])
        top.add(llvm.FuncOp(SIZES_ENTRY, function_type, llvm.LinkageAttr("external"), body=Region(block)))
    block.args[0].name_hint, block.args[0].location = "values", location
    emitter = _Emitter(LocatedBuilder(block), block.args[0], symbols)
    for number, formula in enumerate(formulas, len(symbols)):
        with emitter.builder.located(formula.location):
            emitter.store(number, emitter.formula(formula))
    with emitter.builder.located(location):
        emitter.builder.add(llvm.ReturnOp())


class _Emitter:
    """Ops of one function; each atom is computed once."""

    def __init__(self, builder: LocatedBuilder, values: SSAValue, symbols: Sequence[str]):
        self.builder = builder
        self.values = values
        self.symbols = {name: number for number, name in enumerate(symbols)}
        self.atoms: dict[Atom, SSAValue] = {}
        self.stored: dict[int, SSAValue] = {}

    def store(self, number: int, value: SSAValue) -> None:
        pointer = self.builder.add(llvm.GEPOp(self.values, [number], i64)).result
        self.builder.add(llvm.StoreOp(value, pointer))
        self.stored[number] = value

    def formula(self, formula: Formula) -> SSAValue:
        match formula.what:
            case Group():
                return self.end_of(formula.what)
            case SizeExpr():
                return self.polynomial(formula.what.terms)
            case int():
                return self.number(formula.what)

    def end_of(self, group: Group) -> SSAValue:
        """Return the end of a group: its start plus the greatest of its members, rounded up to the alignment."""
        most = self.value(group.members[0])
        for member in group.members[1:]:
            most = self.extreme("max", most, self.value(member))
        units = self.of(llvm.SDivOp, self.of(llvm.AddOp, most, self.number(ALIGNMENT - 1)), self.number(ALIGNMENT))
        return self.of(llvm.AddOp, self.value(group.start), self.of(llvm.MulOp, units, self.number(ALIGNMENT)))

    def value(self, number: int) -> SSAValue:
        return self.stored[number] if number in self.stored else value_at(self.builder, self.values, number)

    def number(self, number: int) -> SSAValue:
        return self.builder.add(llvm.ConstantOp(IntegerAttr(number, i64), i64)).result

    def of(self, op: Any, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.builder.add(op(a, b)).res

    def polynomial(self, terms: Polynomial) -> SSAValue:
        total: SSAValue | None = None
        for factors, coefficient in terms.items():
            term = self.number(coefficient) if coefficient != 1 or not factors else None
            for atom in factors:
                term = self.atom(atom) if term is None else self.of(llvm.MulOp, term, self.atom(atom))
            assert term is not None
            total = term if total is None else self.of(llvm.AddOp, total, term)
        return self.number(0) if total is None else total

    def atom(self, atom: Atom) -> SSAValue:
        if atom not in self.atoms:
            self.atoms[atom] = self._atom(atom)
        return self.atoms[atom]

    def _atom(self, atom: Atom) -> SSAValue:
        if not atom.kind:
            return self.value(self.symbols[atom.text])
        parts = [self.polynomial(arg) for arg in atom.args]
        if atom.kind in ("min", "max"):
            value = parts[0]
            for part in parts[1:]:
                value = self.extreme(atom.kind, value, part)
            return value
        quotient = self.floordiv(*parts)
        if atom.kind == "floordiv":
            return quotient
        return self.of(llvm.SubOp, parts[0], self.of(llvm.MulOp, quotient, parts[1]))

    def floordiv(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Rounded down; for a divisor of 0, where no size makes sense, by 1."""
        zero, one = self.number(0), self.number(1)
        divisor = self.select("eq", b, zero, one, b)
        quotient = self.of(llvm.SDivOp, a, divisor)
        rest = self.of(llvm.SubOp, a, self.of(llvm.MulOp, quotient, divisor))
        # Rounded towards zero, it is one too much where the rest has another sign than the divisor.
        signs = self.of(llvm.MulOp, rest, divisor)
        return self.select("slt", signs, zero, self.of(llvm.SubOp, quotient, one), quotient)

    def extreme(self, kind: str, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.select("slt" if kind == "min" else "sgt", a, b, a, b)

    def select(self, predicate: str, a: SSAValue, b: SSAValue, then: SSAValue, other: SSAValue) -> SSAValue:
        condition = self.builder.add(llvm.ICmpOp(a, b, IntegerAttr(llvm.ICmpPredicateFlag(predicate).to_int(), i64)))
        return self.builder.add(llvm.SelectOp(condition.res, then, other)).res
