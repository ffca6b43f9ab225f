"""The state of the lowering of one prim_func, which the tables of handlers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.sizes import Size, SizeExpr
from ...dialects.sizes.kernel import at_least, number_of, whole_of
from ...dialects.sizes.terms import Atom
from ...provenance.diagnostics import fail
from ...runtime.program.program import ALLOC_REFUSED
from .builder import LLVMBuilder
from .types import PTR, VOID


class Lowering(LLVMBuilder):
    """Walks tir, op by op: each goes to its handler in the table, which adds llvm ops and maps the results."""

    symbol: str
    workspace: int
    """Bytes of workspace that global buffers take so far."""
    parallel: int
    """Parallel loops outlined so far."""
    pool: SSAValue | None
    """The thread pool, where a loop may run in parallel."""
    globals: list[llvm.GlobalOp]
    """Constants of the module."""
    _handlers: Mapping[type[Operation], Handler]
    _given: Mapping[Operation, int]
    _externs: dict[str, tuple[Attribute, ...]]

    def __init__(self, symbol: str, handlers: Mapping[type[Operation], Handler], lines: Mapping[Operation, int]):
        super().__init__()
        self.symbol = symbol
        self.workspace = self.parallel = 0
        self.pool = None
        self.globals = []
        self._handlers = handlers
        self._given = lines
        self._externs = {}

    def lower(self, block: Block) -> None:
        """Lower the ops of a tir block at the current place."""
        for op in block.ops:
            if (handler := self._handlers.get(type(op))) is None:
                fail(op, "an op with a lowering to LLVM", op.name)
            self.place(op)
            handler(self, op)

    def give_back(self) -> None:
        """Free what the current function took, and release the tiles that it configured."""
        if self.frame.tiles is not None:
            self.intrinsic("llvm.x86.tilerelease", (), None)
        for pointer in reversed(self.frame.heap):
            self.extern("free", (PTR,), VOID)
            self.call("free", (pointer,))

    def check_taken(self) -> None:
        """Have the current function, which is built, return where it gets no memory, when it has said so."""
        pointers = list(self.frame.heap)
        for number, pointer in enumerate(pointers):
            call = pointer.owner
            assert isinstance(call, llvm.CallOp)
            holding, following = call.parent_block(), call.next_op
            assert holding is not None
            assert following is not None
            rest, refused = holding.split_before(following), self.new_block()
            self.location, self.line = call.location, self.lines.get(call)
            self.start(refused)
            self.extern(ALLOC_REFUSED, (i64,), VOID)
            self.call(ALLOC_REFUSED, (call.args[1],))
            for memory in reversed(pointers[:number]):
                self.extern("free", (PTR,), VOID)
                self.call("free", (memory,))
            self.emit(llvm.ReturnOp, ())
            self.block = holding
            null = self.value(llvm.ZeroOp, (), PTR)
            self.branch_if(self.icmp("eq", pointer, null), refused, rest)

    def take(self, nbytes: Size) -> SSAValue:
        """Memory for the rest of the function, 64-byte aligned; taken once, at its top."""
        self.extern("aligned_alloc", (i64, i64), PTR)
        rounded = self.size((nbytes + 63) // 64 * 64)
        with self.hoisted(self.frame.scopes[0]):
            pointer = self.call("aligned_alloc", (self.index(64), rounded), PTR).results[0]
        self.frame.heap.append(pointer)
        return pointer

    def place(self, op: Operation) -> None:
        """Set the op of tir that everything added from now on comes from."""
        self.location = op.location
        self.line = self._given.get(op)

    def size(self, size: Size) -> SSAValue:
        """A size as an i64, computed at the top of the function, once."""
        if isinstance(size, int):
            return self.index(size)
        scope, key = self.frame.scopes[0], ("size", str(size))
        if (value := self.known(scope.known, key)) is None:
            with self.hoisted(scope):
                value = scope.known[key] = self._sum(size)
        return value

    def divisor(self, size: Size) -> SSAValue:
        """A size to divide by: 1 where it is 0, and so nothing is computed with what the division gives."""
        value = self.size(size)
        if at_least(size, 1):
            return value
        scope, key = self.frame.scopes[0], ("divisor", value)
        if (divisor := self.known(scope.known, key)) is None:
            with self.hoisted(scope):
                divisor = scope.known[key] = self.extreme("smax", value, self.index(1))
        return divisor

    def extreme(self, name: str, first: SSAValue, second: SSAValue) -> SSAValue:
        """The `smin` or `smax` of two indices."""
        return self.intrinsic(f"llvm.{name}.i64", (first, second), i64).results[0]

    def _sum(self, size: SizeExpr) -> SSAValue:
        total: SSAValue | None = None
        for factors, coefficient in size.terms.items():
            parts = [self._part(atom) for atom in factors]
            if coefficient != 1 or not parts:
                parts.append(self.index(coefficient))
            term = reduce(self.times, parts)
            total = term if total is None else self.plus(total, term)
        assert total is not None
        return total

    def _part(self, atom: Atom) -> SSAValue:
        """A symbol, quotient, rest, minimum or maximum."""
        if not atom.kind:
            return self.frame.sizes[number_of(atom.text)]
        sizes = [whole_of(terms) for terms in atom.args]
        if atom.kind in ("min", "max"):
            return reduce(partial(self.extreme, f"s{atom.kind}"), map(self.size, sizes))
        divide = self.floordiv if atom.kind == "floordiv" else self.floormod
        return divide(self.size(sizes[0]), self.divisor(sizes[1]), positive=at_least(sizes[0], 0))

    def get(self, value: SSAValue) -> SSAValue:
        """Return the value in the current function that stands for a scalar or vector of tir."""
        return self.frame.values[value]

    def set(self, value: SSAValue, lowered: SSAValue) -> None:
        self.frame.values[value] = lowered

    def extern(self, name: str, types: tuple[Attribute, ...], result: Attribute) -> None:
        """Make sure that a C function is declared.

        Raises VerifyException when it was declared with other types.
        """
        signature = (*types, result)
        if (declared := self._externs.get(name)) is None:
            self._externs[name] = signature
            self.function(name, types, result=result, body=False)
        elif declared != signature:
            fail(self.functions[0], f"one signature of {name}", f"{declared} and {signature}")


Handler: TypeAlias = Callable[[Lowering, Operation], None]
