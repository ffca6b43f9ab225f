"""Schedules without a template, by TVM's names: the compiler's rows make them, and tuning decides their knobs.

>>> @auto_scheduler.register_workload
... def matmul(n): ...; return [A, B, C]
>>> task = auto_scheduler.create_task(matmul, (512,), "llvm")
>>> task.tune(auto_scheduler.TuningOptions(64, measure_callbacks=[auto_scheduler.RecordToFile("log.json")]))
>>> schedule, arguments = task.apply_best("log.json")

There are no sketches: what is searched is the space of knobs of `whence tune`. Lines of logs are AutoTVM's.
"""

from __future__ import annotations

from typing import Any

from whence.support.rooms import homes_in, name_in


def __getattr__(name: str) -> Any:
    return name_in(__name__, name)


def __dir__() -> list[str]:
    return sorted(homes_in(__name__))
