"""Devices by TVM's names; the CPU is the only one."""

from __future__ import annotations

from dataclasses import dataclass

from ...support.errors import PipelineError, expectation


@dataclass(frozen=True)
class Device:
    """A device that runs models."""

    device_type: int = 1
    device_id: int = 0

    @property
    def exist(self) -> bool:
        """Return whether the machine has it."""
        return True

    def __str__(self) -> str:
        return f"cpu({self.device_id})"

    __repr__ = __str__


def cpu(dev_id: int = 0) -> Device:
    """The CPU. Raises PipelineError for another number than 0."""
    if dev_id != 0:
        raise PipelineError(expectation("cpu", "number 0", str(dev_id)))
    return Device()


def device(name: str = "cpu", dev_id: int = 0) -> Device:
    """The device of a name, `cpu` or `llvm`."""
    if name not in ("cpu", "llvm"):
        raise PipelineError(expectation("device", "the CPU", name))
    return cpu(dev_id)


def check_cpu(given: object, who: str) -> Device:
    """The CPU, where it is what was given: a `Device`, a list of one, text, or None; raises PipelineError else."""
    if isinstance(given, list | tuple) and len(given) == 1:  # pyright: ignore[reportUnknownArgumentType]
        given = given[0]  # pyright: ignore[reportUnknownVariableType]
    if given is not None and "cpu" not in str(given):  # pyright: ignore[reportUnknownArgumentType]
        raise PipelineError(expectation(who, "the CPU as device", str(given)))  # pyright: ignore[reportUnknownArgumentType]
    return Device()
