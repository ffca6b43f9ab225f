"""The state of the lowering of one prim_func, which the tables of handlers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from xdsl.dialects import llvm
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...provenance.diagnostics import fail
from .builder import LLVMBuilder


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

    def place(self, op: Operation) -> None:
        """What is added from now on comes from this op of tir."""
        self.location = op.location
        self.line = self._given.get(op)

    def get(self, value: SSAValue) -> SSAValue:
        """What a scalar or vector of tir is in the current function."""
        return self.frame.values[value]

    def set(self, value: SSAValue, lowered: SSAValue) -> None:
        self.frame.values[value] = lowered

    def extern(self, name: str, types: tuple[Attribute, ...], result: Attribute) -> None:
        """Make sure that a C function is declared.

        Raises VerifyException when it was declared with other types.
        """
        signature = (*types, result)
        if (known := self._externs.get(name)) is None:
            self._externs[name] = signature
            self.function(name, types, result=result, body=False)
        elif known != signature:
            fail(self.functions[0], f"one signature of {name}", f"{known} and {signature}")


Handler: TypeAlias = Callable[[Lowering, Operation], None]
