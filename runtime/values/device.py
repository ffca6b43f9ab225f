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
        """Return whether the machine has this device."""
        return True

    def __str__(self) -> str:
        return f"cpu({self.device_id})"

    __repr__ = __str__


def cpu(dev_id: int = 0) -> Device:
    """Return the CPU. Raises PipelineError for any number but 0."""
    if dev_id != 0:
        raise PipelineError(expectation("cpu", "number 0", str(dev_id)))
    return Device()


def device(name: str = "cpu", dev_id: int = 0) -> Device:
    """Return the device with a name, which is `cpu` or `llvm`."""
    if name not in ("cpu", "llvm"):
        raise PipelineError(expectation("device", "the CPU", name))
    return cpu(dev_id)


def check_cpu(device: object, who: str) -> Device:
    """Return the CPU; raises PipelineError unless `device` is it: a `Device`, a list of one, its name, or None."""
    if isinstance(device, list | tuple) and len(device) == 1:  # pyright: ignore[reportUnknownArgumentType]
        device = device[0]  # pyright: ignore[reportUnknownVariableType]
    if device is not None and "cpu" not in str(device):  # pyright: ignore[reportUnknownArgumentType]
        actual = str(device)  # pyright: ignore[reportUnknownArgumentType]
        raise PipelineError(expectation(who, "the CPU as device", actual))
    return Device()
