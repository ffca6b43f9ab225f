"""The kernel that a block schedule works on, and what its handles stand for."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import pairwise
from numbers import Integral
from typing import NoReturn, TypeVar

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.traits import Pure

from ...dialects.tir import AllocOp, BlockOp, ForOp, IndexOp, PrimFuncOp, prim_funcs
from ...provenance.diagnostics import describe
from ...provenance.walk import walk
from ...support.errors import ScheduleError

OpT = TypeVar("OpT", bound=Operation)
ROOT = "root"
"""The name of the scope of a kernel's outermost blocks."""


def refuse(primitive: str, text: str, *ops: Operation, remedy: str = "") -> NoReturn:
    """Raise a ScheduleError: what was expected and is the case, the origin of the loops and blocks, and what helps."""
    lines = [f"{primitive}: {text}"]
    lines += [f"  {title(op)}{origin(op)}" for op in dict.fromkeys(ops[:4])]
    lines += [f"  would work: {remedy}"] if remedy else []
    raise ScheduleError("\n".join(lines))


def title(op: Operation) -> str:
    """`loop i_0`, `block C`."""
    match op:
        case BlockOp():
            return f"block {op.label.data}"
        case PrimFuncOp():
            return f"kernel {op.sym_name.data}"
        case _:
            return f"loop {name_of(op)}"


def origin(op: Operation) -> str:
    """The location of an op in brackets."""
    text = describe(op.location)
    return f" ({text})" if text else ""


def name_of(op: Operation) -> str:
    """The name of a loop's variable, or of the root."""
    if isinstance(op, PrimFuncOp):
        return ROOT
    return (op.var.name_hint or "a loop") if isinstance(op, ForOp) else op.name


def integer(primitive: str, what: str, value: object) -> int:
    """An int, also of numpy, that a user passes. Raises ScheduleError for bools, floats and texts."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ScheduleError(f"{primitive}: expected an int as {what}, got {value!r}")
    return value if isinstance(value, int) else int(value)


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """The one of some names that is most like another, whatever the case; none if that is like none."""
    by = {each.casefold(): each for each in names}
    return [by[each] for each in get_close_matches(name.casefold(), by, 1, 0.4)]


def _by_position(op: BlockOp | PrimFuncOp) -> str:
    """The call that gives one of the outermost blocks, whatever its name; nothing for other blocks."""
    outermost = blocks_in(function_of(op))
    return f's.get_child_blocks("{ROOT}")[{outermost.index(op)}]' if isinstance(op, BlockOp) and op in outermost else ""


class Handle:
    """A block or a loop of a schedule, whatever primitives do around it."""

    kind = "handle"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(0x{id(self):x})"


class BlockRV(Handle):
    """A block of a schedule."""

    kind = "block"


class LoopRV(Handle):
    """A loop of a schedule, or a place for a block beside loops."""

    kind = "loop"

    def __init__(self, place: str = ""):
        self.place = place
        """`root`: where the block is; `inline`: in the blocks that read it. Empty for a loop."""


class State:
    """Kernels under way, and the op of each handle."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self.ops: dict[Handle, Operation] = {}
        self.gone: dict[Handle, str] = {}
        """The primitive by which a handle lost its op."""
        self.heirs: dict[Handle, list[Handle]] = {}
        """The handles that the primitive gave in the place of one that is gone."""
        self.attempts = 0
        """The number of times that the kernels may have changed."""
        for func in prim_funcs(module):
            _hoist_constants(func)

    def copy(self) -> State:
        """Return a copy of the kernels, of which the handles are handles, too."""
        made = State.__new__(State)
        made.attempts = self.attempts
        made.module, made.gone, made.heirs = self.module.clone(), dict(self.gone), dict(self.heirs)
        copies = dict(zip(walk(self.module), walk(made.module), strict=True))
        made.ops = {handle: copies[op] for handle, op in self.ops.items()}
        return made

    def handle(self, op: Operation) -> BlockRV | LoopRV:
        """Return a new handle of a block or a loop."""
        handle = LoopRV() if isinstance(op, ForOp) else BlockRV()
        self.ops[handle] = op
        return handle

    def handle_of(self, op: Operation) -> Handle:
        """Return a handle of a block or a loop, one that there is if possible."""
        known = next((handle for handle, other in self.ops.items() if other is op), None)
        return known or self.handle(op)

    def block(self, primitive: str, handle: object) -> BlockOp:
        """The block that a handle or a name stands for. Raises ScheduleError if it is gone, or is something else."""
        op = self.scope(primitive, handle)
        if not isinstance(op, BlockOp):
            raise ScheduleError(f"{primitive}: expected a block in the kernel, got its root")
        return op

    def scope(self, primitive: str, handle: object) -> BlockOp | PrimFuncOp:
        """The block of a handle, or the kernel of one of its root. Raises ScheduleError for anything else."""
        op = self._op(primitive, handle, "block")
        assert isinstance(op, BlockOp | PrimFuncOp)
        return op

    def loop(self, primitive: str, handle: object) -> ForOp:
        """The loop of a handle. Raises ScheduleError if it is gone, or is something else."""
        op = self._op(primitive, handle, "loop")
        assert isinstance(op, ForOp)
        return op

    def _op(self, primitive: str, handle: object, kind: str) -> Operation:
        if not isinstance(handle, Handle) or handle.kind != kind:
            found = f"a {handle.kind}" if isinstance(handle, Handle) else repr(handle)
            raise ScheduleError(f"{primitive}: expected a {kind} of the schedule, got {found}")
        if isinstance(handle, LoopRV) and handle.place:
            raise ScheduleError(f"{primitive}: expected a loop of the schedule, got the place '{handle.place}'")
        if (by := self.gone.get(handle)) is not None:
            places = ", ".join(self._places(handle))
            instead = f"\n  in its place: {places}" if places else ""
            text = f"expected a {kind} that is there, got one that {by} did away with{instead}"
            raise ScheduleError(f"{primitive}: {text}")
        if (op := self.ops.get(handle)) is None:
            raise ScheduleError(f"{primitive}: expected a {kind} of this schedule, got one of another")
        return op

    def inherit(self, handles: list[Handle]) -> None:
        """Let handles stand for those of their kind that are gone since the last time."""
        for handle in self.gone.keys() - self.heirs.keys():
            self.heirs[handle] = [each for each in handles if each.kind == handle.kind]

    def _places(self, handle: Handle) -> list[str]:
        """Return how to get the loops that are there in place of a handle."""
        loop = self.ops.get(handle)
        if isinstance(loop, ForOp) and (inside := blocks_in(loop)):
            return [f's.get_loops("{inside[0].label.data}")[{len(loops_of(loop))}]']
        return [place for heir in self.heirs.get(handle, ()) for place in self._places(heir)]

    def named(self, primitive: str, name: str, function: str | None) -> BlockOp | PrimFuncOp:
        """The one block of a name, or the kernel for "root". Raises ScheduleError for none, or several."""
        funcs = [f for f in prim_funcs(self.module) if function is None or f.sym_name.data == function]
        if not funcs:
            names = ", ".join(f.sym_name.data for f in prim_funcs(self.module))
            raise ScheduleError(f"{primitive}: expected a function among {names}, got {function}")
        blocks = [op for func in funcs for op in walk(func) if isinstance(op, BlockOp)]
        found = [op for op in blocks if op.label.data == name] or (funcs if name == ROOT else [])
        if len(found) != 1:
            labels = list(dict.fromkeys(op.label.data for op in blocks))
            if found:
                remedy = _by_position(found[-1])
                refuse(primitive, f"expected one block of name '{name}', got {len(found)} of it", *found, remedy=remedy)
            count = f"none; there are {', '.join(labels) or 'none'}"
            if labels:
                count += f'\n  would work: s.get_sblock("{(nearest(name, labels) or labels)[0]}")'
            raise ScheduleError(f"{primitive}: expected one block of name '{name}', got {count}")
        return found[0]

    def consume(self, primitive: str, *ops: Operation) -> None:
        """Let the handles of ops be gone."""
        for handle, op in list(self.ops.items()):
            if op in ops:
                del self.ops[handle]
                self.gone[handle] = primitive

    def move(self, old: Operation, new: Operation) -> None:
        """Let the handles of an op be those of another."""
        for handle, op in self.ops.items():
            if op is old:
                self.ops[handle] = new

    def fresh(self, name: str) -> str:
        """A label that no block has: `name`, or `name_1`, .."""
        taken = {op.label.data for op in walk(self.module) if isinstance(op, BlockOp)}
        label, count = name, 0
        while label in taken:
            count += 1
            label = f"{name}_{count}"
        return label

    @contextmanager
    def attempt(self) -> Generator[None]:
        """Within this scope the kernels change all or not at all: after an error they are as before."""
        self.attempts += 1
        ops = list(walk(self.module))
        copy = self.module.clone()
        handles, gone = dict(self.ops), dict(self.gone)
        try:
            yield
            self.module.verify()
        except BaseException:
            self.module, self.gone = copy, gone
            copies = dict(zip(ops, walk(copy), strict=True))
            self.ops = {handle: copies[op] for handle, op in handles.items()}
            raise


def _hoist_constants(func: PrimFuncOp) -> None:
    """Move constants between loops to the top: what is left in a nest are loops, blocks, and what depends on them."""
    top = func.block.first_op
    for op in list(walk(func)):
        if isinstance(op, ConstantOp) and op.parent is not func.block and not _in_block(op):
            op.detach()
            assert top is not None
            func.block.insert_op_before(op, top)


def _in_block(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, BlockOp):
        parent = parent.parent_op()
    return parent is not None


def loops_of(op: Operation) -> list[ForOp]:
    """The loops around a block or loop in its scope, outermost first."""
    loops: list[ForOp] = []
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, BlockOp | PrimFuncOp):
        if isinstance(parent, ForOp):
            loops.append(parent)
        parent = parent.parent_op()
    return loops[::-1]


def function_of(op: Operation) -> PrimFuncOp:
    """The kernel that an op is in, or is."""
    parent: Operation | None = op
    while not isinstance(parent, PrimFuncOp):
        assert parent is not None
        parent = parent.parent_op()
    return parent


def blocks_in(op: Operation) -> list[BlockOp]:
    """The blocks of an op that are in no other block of it, in order; of a block those inside."""
    found: list[BlockOp] = []
    pending = [inner for region in reversed(op.regions) for inner in reversed(list(region.block.ops))]
    while pending:
        inner = pending.pop()
        if isinstance(inner, BlockOp):
            found.append(inner)
        else:
            pending += [each for region in reversed(inner.regions) for each in reversed(list(region.block.ops))]
    return found


def steps_in(op: ForOp) -> list[Operation]:
    """The ops of a loop's body that do something: without numbers that are computed on the way."""
    return [inner for inner in op.block.ops if not (isinstance(inner, IndexOp | AllocOp) or inner.has_trait(Pure))]


def only_child(op: ForOp) -> Operation | None:
    """The one thing that a loop does; None if there are several."""
    steps = steps_in(op)
    return steps[0] if len(steps) == 1 else None


def chain(primitive: str, loops: Sequence[ForOp]) -> list[ForOp]:
    """All loops from the outermost to the innermost of `loops`. Raises ScheduleError if they are no chain."""
    inner = max(loops, key=lambda loop: len(loops_of(loop)))
    around = [*loops_of(inner), inner]
    for loop in loops:
        if loop not in around:
            refuse(
                primitive, f"expected loops in one nest, got {name_of(loop)} and {name_of(inner)} apart", loop, inner
            )
    outermost = min(around.index(loop) for loop in loops)
    result = around[outermost:]
    for loop, below in pairwise(result):
        if only_child(loop) is not below:
            text = f"expected {name_of(below)} to be all that is in {name_of(loop)}, got other statements beside it"
            refuse(primitive, text, loop, below)
    return result


def between(primitive: str, loops: Sequence[ForOp]) -> list[Operation]:
    """The statements in each of `loops` beside the next one, where they do nothing else.

    Raises ScheduleError for a buffer, which iterations of the inner loop may share.
    """
    ops = [op for loop in loops[:-1] for op in loop.block.ops if not isinstance(op, ForOp)]
    if any(isinstance(op, AllocOp) for op in ops):
        refuse(primitive, "expected no buffer that is allocated between the loops, got one", *loops)
    return ops
