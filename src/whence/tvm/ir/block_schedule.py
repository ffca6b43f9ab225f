"""`tir.Schedule`: schedules of kernels that hold blocks, on functions and modules as TVM's users hold them."""

from __future__ import annotations

from typing import Self, cast

from xdsl.ir import Operation

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


class StmtSRef:
    """The place of a block or loop in a schedule, whatever primitives do around it."""

    def __init__(self, schedule: Schedule, handle: Handle):
        self._schedule, self._handle = schedule, handle

    def _op(self) -> Operation | None:
        return self._schedule.state.ops.get(self._handle)

    @property
    def stmt(self) -> Block | For | None:
        """The statement that is there now; None where a primitive did away with it."""
        return None if self._op() is None else cast("Block | For", self._schedule.get(self._handle))

    @property
    def parent(self) -> StmtSRef | None:
        """The loop or block around it; None for the root, and where there is no statement any more."""
        op = self._op()
        op = None if op is None or isinstance(op, PrimFuncOp) else op.parent_op()
        while op is not None and not isinstance(op, ForOp | BlockOp | PrimFuncOp):
            op = op.parent_op()
        return None if op is None else StmtSRef(self._schedule, self._schedule.state.handle_of(op))

    def same_as(self, other: object) -> bool:
        """Return whether this is the same place of the same schedule."""
        return isinstance(other, StmtSRef) and self._schedule is other._schedule and self._op() is other._op()


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

        It is the same object until a primitive is applied. That of a kernel's root is a block without variables. Raises
        ScheduleError for a handle whose loop or block is gone.
        """
        if isinstance(handle, int):
            return int(handle)
        op = self.state.scope("get", handle) if isinstance(handle, BlockRV) else self.state.loop("get", handle)
        return self._statements(function_of(op))[op]

    def _statements(self, func: PrimFuncOp) -> dict[Operation, Block | For]:
        """The statements of the loops and blocks of a kernel, and its root."""
        attempts, views = self.__dict__.get("_views", (None, {}))
        if attempts != self.state.attempts:
            self.__dict__["_views"] = self.state.attempts, (views := {})
        if func not in views:
            body = PrimFunc.of(func).body
            ops = [one for one in walk(func) if isinstance(one, ForOp | BlockOp)]
            stmts = [stmt for stmt in in_order(body) if isinstance(stmt, For | Block)]
            views[func] = {func: Block([], None, None, ROOT, body), **dict(zip(ops, stmts, strict=True))}
        return cast("dict[Operation, For | Block]", views[func])

    def show(self, version: str = "0.27") -> None:
        """Print the kernels as TVMScript."""
        print(self.mod.script(version))

    def get_sref(self, handle: Handle) -> StmtSRef:
        """Return the place of a block or loop. Raises ScheduleError for a handle of another schedule."""
        if isinstance(handle, BlockRV):
            self.state.scope("get_sref", handle)
        else:
            self.state.loop("get_sref", handle)
        return StmtSRef(self, handle)

    def _replayed(self, sequence: SequenceOp, count: int | None = None) -> Self:
        made = super()._replayed(sequence, count)
        made.__dict__["_given"] = self._given
        return made

    def __str__(self) -> str:
        return str(self.sequence)
