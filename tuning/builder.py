"""Candidates made into machine code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future

from xdsl.utils.exceptions import VerifyException

from ..lowering.llvm_to_native.compile import Native
from ..lowering.llvm_to_native.compilers import Compile, compilers
from ..support.errors import ScheduleError
from .jobs import Code, Failed
from .tasks import Task


def default_code(task: Task) -> Code:
    """The kernel as the compiler makes it by itself."""
    return Code(task.kernel.symbol, task.kernel.object, task.kernel.workspace)


def build(task: Task, decided: Sequence[Mapping[str, int]]) -> list[Code | Failed | int]:
    """The code of a kernel for each of some decisions.

    A number in its place: it is the same code as that of an earlier one, of that index; -1: the default's. Failed: its
    schedule does not lower.
    """
    target = task.target
    seen = {_body(task.kernel.tir, task.kernel.symbol): -1}
    built: list[Future[Code] | Failed | int] = []
    with compilers(target) as workers:
        for decisions in decided:
            try:
                draft = task.draft(decisions)
            except (ScheduleError, VerifyException) as error:
                built.append(Failed("error", str(error)))
                continue
            body = _body(draft.tir, draft.symbol)
            if body in seen:
                built.append(seen[body])
                continue
            seen[body] = len(built)

            def finish(
                compile: Compile, text: str = draft.llvm, symbol: str = draft.symbol, size: int = draft.workspace
            ):
                native: Native = compile(text, target)
                return Code(symbol, native.object, size)

            built.append(workers.submit(finish))
        return [code.result() if isinstance(code, Future) else code for code in built]


def _body(tir: str, symbol: str) -> str:
    """The printed loops without the kernel's name."""
    return tir.replace(symbol, "")
