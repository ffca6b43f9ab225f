"""tir-verify-memory: buffers are written before they are read, inside their bounds, and by one iteration at a time."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from ...dialects.affine import below
from ...dialects.tir import (
    AllocOp,
    ForOp,
    IfOp,
    LoadOp,
    PrimFuncOp,
    WhileOp,
    prim_funcs,
)
from ...dialects.tir.index_maps import Ranges, blocks_of
from ...provenance.diagnostics import message
from ...provenance.walk import walk
from ...support.errors import ScheduleError
from .analysis import out_of_range
from .analysis.accesses import name_of
from .analysis.dependence import carried
from .analysis.effects import writes
from .analysis.meetings import DATA
from .analysis.touches import unwritten


def errors_of(func: PrimFuncOp) -> list[str]:
    """Return the memory errors of one kernel: order of accesses and races, then bounds, each as in the text."""
    check = _Check()
    check.block(func.block, {})
    return [*check.errors, *out_of_range.errors_of(func)]


def run(func: PrimFuncOp) -> None:
    """Raise VerifyException, with all that is wrong, if anything is."""
    _report([*errors_of(func), *unwritten(func)])


def broken(before: PrimFuncOp, after: PrimFuncOp) -> list[str]:
    """Return the memory errors that a kernel has and had not before: of races, order, bounds and missing stores."""
    errors = [*errors_of(after), *unwritten(after)]
    return [error for error in errors if error not in (*errors_of(before), *unwritten(before))] if errors else []


def check_bounds(func: PrimFuncOp) -> None:
    """Raise ScheduleError about the first access that is sure to leave its buffer, if any is."""
    for error in out_of_range.errors_of(func):
        raise ScheduleError(error)


def check_races(func: PrimFuncOp) -> None:
    """Raise ScheduleError about the first parallel loop of which two iterations touch one element, if any is.

    Loops of which that is not decided pass, as those of open sizes may be cut into pieces that cannot be analysed.
    """
    check = _Check(proven=True)
    for op in walk(func):
        if isinstance(op, ForOp) and _is_parallel(op):
            check.races(op)
    for error in check.errors:
        raise ScheduleError(error)


def _is_parallel(op: ForOp) -> bool:
    return op.kind.data == "parallel" and not below(op.trip_count, 2)


def _report(errors: list[str]) -> None:
    if errors:
        raise VerifyException("\n  ".join(["Memory verification failed with the following errors:", *errors]))


class _Check:
    def __init__(self, *, proven: bool = False) -> None:
        """proven: only those races are errors for which there are two iterations."""
        self.errors: list[str] = []
        self.proven = proven

    def fail(self, op: Operation, expected: str, found: str) -> None:
        self.errors.append(message(op.name, expected, found, op.location))

    def block(self, block: Block, ranges: Ranges) -> None:
        for op in block.ops:
            if isinstance(op, AllocOp):
                self.definition(op)
            for inner, inner_ranges in blocks_of(op, ranges):
                if not isinstance(op, ForOp) or op.is_run():
                    self.block(inner, inner_ranges)
            if isinstance(op, ForOp) and _is_parallel(op):
                self.races(op)

    def definition(self, alloc: AllocOp) -> None:
        """The first access of a buffer that runs must not be a load."""
        written = False
        for op in alloc.parent.walk() if alloc.parent is not None else ():
            if writes(op, alloc.result):
                written = True
            elif isinstance(op, LoadOp) and op.buffer is alloc.result and not written:
                if not _may_follow_store(op, alloc):
                    self.fail(op, f"a store to {name_of(alloc.result)} before it is read", "none")
                    return

    def races(self, loop: ForOp) -> None:
        """Two iterations of a parallel loop must not touch one element, unless both read it."""
        verdict = carried(loop)
        expected = f"iterations of a parallel loop over {_hint(loop.var)} that touch different elements"
        if (conflict := verdict.conflict) is not None:
            self.fail((conflict.first if conflict.first.writes else conflict.second).op, expected, str(conflict))
        elif not self.proven and (undecided := verdict.undecided) is not None and undecided.reason != DATA:
            self.fail(loop, expected, "accesses of which that cannot be shown")


def _may_follow_store(load: LoadOp, alloc: AllocOp) -> bool:
    """Return whether a load before all stores in the text may run after one: not at first, but in a later iteration
    of a loop."""
    conditional = load.guard is not None
    op: Operation = load
    while op.parent is not alloc.parent:
        parent = op.parent_op()
        assert parent is not None
        conditional = conditional or isinstance(parent, IfOp | WhileOp)
        if isinstance(parent, ForOp | WhileOp) and conditional:
            if any(writes(inner, alloc.result) for inner in walk(parent)):
                return True
        op = parent
    return False


def _hint(value: SSAValue) -> str:
    return f"%{value.name_hint}" if value.name_hint else "its variable"


@dataclass(frozen=True)
class TirVerifyMemoryPass(ModulePass):
    """Checks how kernels use memory; changes nothing.

    Raises VerifyException with the text `Memory verification failed with the following errors:` and a line for each,
    which names op, buffer and layer, when
    - a buffer that the kernel allocates is read before anything was written to it;
    - a load or store leaves its buffer in an iteration that is sure to come, by the bounds of the loops, the branches
      and guards around it, or a constant index (`whence.lower`, `build` and `compile` check this of every kernel);
    - two iterations of a parallel loop write one element of a buffer from outside of it, or one reads what another
      writes: the error has two such iterations, and the sizes of such a call; also if that they do not is not shown;
    - no store writes some element of a result: the error has that element. The passes that users add to the pipeline
      (`tir.add_lower_pass`) are checked for this, as for all the others, after each of them.
    What only data or called functions decide is taken to be right, and so are missing stores where sizes of a call
    decide, or more than a million points.

    Before and after: any kernels, the same.
    Locations: as they were.

    ```mlir
    tir.for parallel %i in 4 {
      tir.for %j in 4 {
        %0 = tir.load %a[%i + %j] : !tir.buffer<7xf32> -> f32
        tir.store %0, %b[%i * 4 + %j] : f32, !tir.buffer<16xf32>
      }
    }
    // becomes
    tir.for parallel %i in 4 {
      tir.for %j in 4 {
        %0 = tir.load %a[%i + %j] : !tir.buffer<7xf32> -> f32
        tir.store %0, %b[%i * 4 + %j] : f32, !tir.buffer<16xf32>
      }
    }
    // and with a store to %b[%i * 3 + %j] it fails:
    //   tir.store: expected iterations of a parallel loop over %i that touch different elements,
    //   got iterations i=0, j=3 and i=1, j=0 write %b[3]
    ```
    """

    name = "tir-verify-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _report([error for func in prim_funcs(op) for error in (*errors_of(func), *unwritten(func))])
