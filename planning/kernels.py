"""From a fused module to its distinct kernels, each from the cache or compiled."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from typing import Any, NamedTuple, TypeVar, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from ..dialects.relay.core import FuncOp
from ..dialects.relay.size_ranges import is_sized as is_module_sized
from ..lowering.cache import KernelCache, decode, encode
from ..lowering.kernel.families import Family, Member, members_of
from ..lowering.kernel.key import code_key
from ..lowering.kernel.printing import printed
from ..lowering.kernel.record import Draft, Kernel
from ..lowering.kernel.sizes import is_sized, with_kernel_sizes
from ..lowering.kernel.slots import anonymous
from ..lowering.kernel.tuned import Applied, Tuned, workload_key
from ..lowering.llvm_to_native.compile import Native
from ..lowering.llvm_to_native.compilers import Compile, Compilers, compilers
from ..lowering.llvm_to_native.target import Target
from ..passes.functions import COMPILER, text_of
from ..provenance.diagnostics import describe
from ..provenance.ledger import Ledger, recording
from ..provenance.span import fuse
from ..support.context import PassContext
from ..support.errors import ScheduleError, ScheduleWarning
from .sources import source_folder, write_source

_log = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]
"""Callback with the work being done, how many pieces are done, and of how many."""
_APART = b"apart"
"""Kept of a family whose members have kernels of their own."""


class Kernels(NamedTuple):
    """The compiled kernels of a module."""

    kernels: list[Kernel]
    """Distinct ones."""
    kernel_of: dict[str, int]
    """Primitive function -> the index of its kernel."""
    applied: dict[str, Applied]
    """Symbol of a kernel -> what tuning decided about it."""
    sizes: dict[str, tuple[int, ...]]
    """Primitive function -> the number that is the size of its kernel, where it shares that with others."""


def primitive_functions(module: ModuleOp) -> list[FuncOp]:
    """The primitive functions of a fused module that are kernels of ours."""
    return [
        op for op in module.ops if isinstance(op, FuncOp) and op.primitive is not None and not text_of(op, COMPILER)
    ]


def compile_kernels(
    module: ModuleOp, target: Target, cache: KernelCache, tell: Progress, tuned: Tuned | None = None
) -> Kernels:
    """Compile the kernels of a fused module.

    tuned: the records by which knobs are set. They are about kernels of known extents; without records, functions that
    differ in one extent share a kernel (see families.py).

    Where an instrument is to see every kernel, those that are in the cache are lowered as well, each with a ledger of
    its own; their machine code is the cache's.

    Lowering is Python and LLVM releases its lock, so that LLVM works on some kernels while the next is lowered.
    """
    functions = primitive_functions(module)
    copies = [anonymous(func) for func in functions]
    shared = members_of(copies) if tuned is None and not is_module_sized(module) else {}
    sizes: dict[str, tuple[int, ...]] = {}
    with compilers(target) as workers:
        work = _Work(target, cache, workers, tuned)
        for number, (func, copy) in enumerate(zip(functions, copies, strict=True)):
            name, member = func.sym_name.data, shared.get(number)
            if member is not None and work.share(name, member):
                sizes[name] = (member.extent,)
            else:
                work.compile(name, func, copy)
            tell("kernels", number + 1, len(functions))
        kernels = [job.result() for job in work.jobs]
    _warn(functions, kernels, work.kernel_of)
    used = {
        kernel.symbol: applied
        for kernel, applied in zip(kernels, work.applied, strict=True)
        if applied is not None and kernel.decisions == dict(applied.decisions)
    }
    return Kernels(kernels, work.kernel_of, used, sizes)


class _Work:
    """The distinct kernels of a module so far."""

    def __init__(self, target: Target, cache: KernelCache, workers: Compilers, tuned: Tuned | None):
        self.target, self.cache, self.workers, self.tuned = target, cache, workers, tuned
        self.jobs: list[Future[Kernel]] = []
        self.applied: list[Applied | None] = []
        self.index: dict[str, int] = {}
        self.kernel_of: dict[str, int] = {}
        self.families: dict[Family, int | None] = {}
        """The index of the kernel of a family; None where each member has one of its own."""
        self.sources = source_folder(cache.folder)
        self.curious = [instrument for instrument in PassContext.current().instruments if instrument.every_kernel]
        """The instruments that are to see every kernel."""

    def compile(self, name: str, func: FuncOp, copy: FuncOp) -> None:
        """Have a function compiled of which `copy` is anonymous."""
        text = printed(copy)
        applied = _applied(self.tuned, copy, text, self.target, self.cache)
        key = code_key(self.target, text, applied.text if applied is not None else "")
        if key not in self.index:
            with recording(Ledger(), "lower") if self.curious else nullcontext():
                job = self._stored(key, copy) or self._submit(key, self._draft(func, copy, key, applied))
            self._add(key, job, applied)
        self.kernel_of[name] = self.index[key]

    def share(self, name: str, member: Member) -> bool:
        """Let a function have the kernel of its family; False where that has none."""
        if member.family not in self.families:
            self.families[member.family] = self._family(member.family)
        if (number := self.families[member.family]) is None:
            return False
        self.kernel_of[name] = number
        return True

    def _family(self, family: Family) -> int | None:
        key = code_key(self.target, f"{printed(family.function)}\nas\n{printed(family.typical)}")
        if self.cache.get(key) == _APART:
            return None
        job = self._stored(key)
        if job is None:
            from ..lowering.kernel.draft import draft_shared

            try:
                # Whether it fits is seen first, and only what does is for instruments.
                with PassContext.current().unwatched():
                    draft = draft_shared(family, self.target, key, self.sources)
            except (VerifyException, ScheduleError):
                self.cache.put(key, _APART)
                return None
            job = self._submit(key, draft)
        if PassContext.current().instruments and not (job.done() and self._known(job.result())):
            from ..lowering.kernel.draft import redraft_shared

            with recording(Ledger(), "lower") if self.curious else nullcontext():
                redraft_shared(family, self.target, key)
        return self._add(key, job, None)

    def _add(self, key: str, job: Future[Kernel], applied: Applied | None) -> int:
        number = self.index[key] = len(self.jobs)
        self.jobs.append(job)
        self.applied.append(applied)
        return number

    def _stored(self, key: str, copy: FuncOp | None = None) -> Future[Kernel] | None:
        """The kernel that the cache has under a key; `copy` is what instruments are to see."""
        if (stored := stored_record(self.cache, key, Kernel)) is None:
            return None
        if self.curious and copy is not None and not self._known(stored):
            from ..lowering.kernel.draft import redraft_kernel

            redraft_kernel(copy, self.target, key, stored.decisions)
        done: Future[Kernel] = Future()
        write_source(stored, self.sources)
        done.set_result(stored)
        return done

    def _known(self, kernel: Kernel) -> bool:
        """Return whether no instrument needs to see a kernel of the cache once more."""
        # Each of them is asked.
        return bool(self.curious) and all([instrument.knows(kernel) for instrument in self.curious])

    def _draft(self, original: FuncOp, func: FuncOp, key: str, applied: Applied | None) -> Draft:
        """Lower an anonymous function; `original` is the one that knows its layers.

        applied: what tuning decided; decisions that its knobs do not allow are left out.
        """
        # All that lowering stands on is loaded where there is something to lower.
        from ..lowering.kernel.draft import draft_kernel

        try:
            try:
                decisions = applied.decisions if applied is not None else None
                return draft_kernel(func, self.target, key, self.sources, decisions)
            except ScheduleError as error:
                if applied is None:
                    raise
                _log.warning("%s: what was tuned, %s, is left out: %s", func.sym_name.data, applied.text, error)
                return draft_kernel(func, self.target, key, self.sources)
        except Exception:
            # Once more, for an error that names layers instead of slots, also if code of the user's raised it.
            draft_kernel(with_kernel_sizes(original) if is_sized(original) else original, self.target, key)
            raise

    def _submit(self, key: str, draft: Draft) -> Future[Kernel]:
        def finish(compile: Compile) -> Kernel:
            kernel = draft.finish(compile(draft.llvm, self.target, draft.lines))
            self.cache.put(key, encode(vars(kernel)))
            write_source(kernel, self.sources)
            return kernel

        return self.workers.submit(finish)


def _warn(functions: Sequence[FuncOp], kernels: Sequence[Kernel], kernel_of: Mapping[str, int]) -> None:
    """Say which kernels have the plain schedule, of which layers, and why."""
    for number, kernel in enumerate(kernels):
        if kernel.refusal:
            sources = [func for func in functions if kernel_of[func.sym_name.data] == number]
            layers = describe(fuse([op.location for func in sources for op in func.block.ops]))
            text = f"kernel '{kernel.symbol}' is slow, as it has the plain schedule; of others: {kernel.refusal}"
            warnings.warn(f"{text} ({layers})", ScheduleWarning, stacklevel=2)


def _applied(tuned: Tuned | None, func: FuncOp, text: str, target: Target, cache: KernelCache) -> Applied | None:
    """Return the decisions of tuning about an anonymous function, of which `text` is printed."""
    if tuned is None:
        return None

    def space() -> str:
        name = code_key(target, f"space\n{text}")
        if (stored := cache.get(name)) is not None:
            return stored.decode(errors="replace")
        from ..lowering.kernel.space import kernel_space

        key = kernel_space(func, target.hardware).key
        cache.put(name, key.encode())
        return key

    try:
        return tuned.find(workload_key(text), target, space)
    except (VerifyException, ScheduleError):
        return None  # drafting the kernel says what is wrong with it, and in which layers


RecordT = TypeVar("RecordT", Kernel, Native)


def stored_record(cache: KernelCache, key: str, kind: type[RecordT]) -> RecordT | None:
    """Return what the cache holds under a key, if that is a record of this kind."""
    if (data := cache.get(key)) is None:
        return None
    try:
        return kind(**cast(dict[str, Any], decode(data)))
    except (ValueError, TypeError):  # bytes that are no record, or fields of another kind's
        return None
