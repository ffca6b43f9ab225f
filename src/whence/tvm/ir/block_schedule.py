"""`tir.Schedule`: schedules of kernels that hold blocks, on functions and modules as TVM's users hold them."""

from __future__ import annotations

from typing import Self

from whence.dialects.schedule import SequenceOp
from whence.dialects.tir import BlockOp, ForOp, PrimFuncOp
from whence.provenance.walk import walk
from whence.relay.module import IRModule
from whence.support.errors import ScheduleError
from whence.te.blocks.schedule import BlockSchedule
from whence.te.blocks.state import ROOT, BlockRV, Handle, function_of
from whence.te.language.blocks import Block, in_order
from whence.te.language.statements import For
from whence.tir.function import PrimFunc

DETAILS = ("detail", "fast", "none")


class Schedule(BlockSchedule):
    """A schedule of a kernel or a module of kernels, which stay as they are.

    mod: a `PrimFunc`, which is `main` then, or an `IRModule`. seed: of the samples, None or -1 for one of its own.
    error_render_level: with "detail" an error ends with a call that would work, which takes some calls to find.
    debug_mask, enable_check: ignored, as each primitive is checked. Raises ScheduleError for anything else.
    """

    def __init__(
        self,
        mod: IRModule | PrimFunc,
        *,
        seed: int | None = None,
        debug_mask: str | int = "none",
        error_render_level: str = "detail",
        enable_check: bool = True,
    ):
        del debug_mask, enable_check
        if error_render_level not in DETAILS:
            expected = ", ".join(DETAILS)
            raise ScheduleError(f"Schedule: expected an error level among {expected}, got {error_render_level!r}")
        if not hasattr(mod, "module"):
            raise ScheduleError(f"Schedule: expected a PrimFunc or an IRModule, got {type(mod).__name__}")
        self._given: IRModule = IRModule({"main": mod}) if isinstance(mod, PrimFunc) else mod
        super().__init__(self._given.module)
        self.explains = error_render_level == "detail"
        self.seed(seed)

    @property
    def mod(self) -> IRModule:
        """The kernels as they are now, as a module; those that primitives changed have the note `tir.is_scheduled`."""
        return self._given.holding(self.module.clone())

    def get(self, handle: Handle | int) -> Block | For | int:
        """Return the statement of a block or loop as it is now, or the number that a choice is decided to be.

        That of a kernel's root is a block without variables. Raises ScheduleError for a handle whose loop or block is
        gone.
        """
        if isinstance(handle, int):
            return int(handle)
        op = self.state.scope("get", handle) if isinstance(handle, BlockRV) else self.state.loop("get", handle)
        func = function_of(op)
        body = PrimFunc.of(func).body
        if isinstance(op, PrimFuncOp):
            return Block([], None, None, ROOT, body)
        number = [one for one in walk(func) if isinstance(one, ForOp | BlockOp)].index(op)
        return [stmt for stmt in in_order(body) if isinstance(stmt, For | Block)][number]

    def show(self, version: str = "0.27") -> None:
        """Print the kernels as TVMScript."""
        print(self.mod.script(version))

    def copy(self) -> Schedule:
        """Return an independent copy of the schedule, with the same record."""
        return self.snapshot()

    def _replayed(self, sequence: SequenceOp, count: int | None = None) -> Self:
        made = super()._replayed(sequence, count)
        made.__dict__["_given"] = self._given
        return made

    def __str__(self) -> str:
        return str(self.sequence)
