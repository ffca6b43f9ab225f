"""Checks of block schedules for tests, by the names of `tvm.tir.schedule.testing`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whence.ir import assert_structural_equal
from whence.ir.block_schedule import Schedule
from whence.provenance.diagnostics import message
from whence.relay.module import IRModule
from whence.support.errors import ScheduleError
from whence.te.blocks.trace import Trace
from whence.tir.function import PrimFunc

FORMATS = ("json", "python")


def assert_structural_equal_ignore_global_symbol(func1: PrimFunc, func2: PrimFunc, *args: Any, **kwargs: Any) -> None:
    """Raise ValueError unless two kernels are structurally equal, whatever their names are."""
    first, second = (func.with_attr("global_symbol", "main") for func in (func1, func2))
    assert_structural_equal(first, second, *args, **kwargs)


def verify_trace_roundtrip(
    sch: Schedule,
    mod: IRModule | PrimFunc,
    *,
    debug_mask: str | int = "all",
    text_format: str | Sequence[str] = ("python", "json"),
) -> Schedule:
    """Return a schedule of `mod` to which the trace of `sch` was applied, as each text says it.

    Raises ValueError where the kernels differ then, and ScheduleError where the traces do, and for an unknown format.
    """
    formats = [text_format] if isinstance(text_format, str) else list(text_format)
    if not formats or any(name not in FORMATS for name in formats):
        expected = f"formats among {', '.join(FORMATS)}"
        raise ScheduleError(message("verify_trace_roundtrip", expected, ", ".join(formats) or "none"))
    return [_repeated(sch, mod, debug_mask, name) for name in formats][-1]


def _repeated(sch: Schedule, mod: IRModule | PrimFunc, debug_mask: str | int, text_format: str) -> Schedule:
    made = Schedule(mod, debug_mask=debug_mask)
    if text_format == "json":
        Trace.apply_json_to_schedule(sch.trace.as_json(), made)
    else:
        # The text is what the trace prints of itself: calls of primitives on `sch`.
        exec("\n".join(sch.trace.as_python()), {"sch": made})
    assert_structural_equal(made.mod, sch.mod)
    lines, again = sch.trace.as_python(), made.trace.as_python()
    if lines != again:
        number = next((n for n, (a, b) in enumerate(zip(lines, again, strict=False)) if a != b), -1)
        ours, theirs = (text[number] if text else "nothing" for text in (lines, again))
        raise ScheduleError(message("verify_trace_roundtrip", f"the same trace, with {ours}", theirs))
    return made
