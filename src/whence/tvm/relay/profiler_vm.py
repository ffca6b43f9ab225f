"""A virtual machine that takes the time of every kernel call, by TVM's name `runtime.profiler_vm`.

>>> machine = VirtualMachineProfiler(relay.vm.compile(mod))
>>> print(machine.profile(x, func_name="main"))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whence.executables.profiling import profiled
from whence.relay.vm import VirtualMachine
from whence.runtime.debugger.report import Report
from whence.support.errors import PipelineError, expectation


def enabled() -> bool:
    """Return whether there is a profiler: always."""
    return True


class VirtualMachineProfiler(VirtualMachine):
    """A `VirtualMachine` whose `profile` measures a call, kernel by kernel."""

    def profile(
        self, *args: Any, func_name: str = "main", collectors: Sequence[object] | None = None, **kwargs: Any
    ) -> Report:
        """Return the calls of one run of a function with their times, after a run that warms up and compiles.

        Durations are CPU time of all threads. The total includes control flow and operators in numpy, which belong to
        no call. Raises PipelineError for collectors, which are not supported.
        """
        if collectors:
            raise PipelineError(expectation("profile", "no collectors", str(collectors)))
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        arguments = self._inputs.get(func_name, ())
        self.invoke(func_name, *arguments)
        return profiled(self.executable, func_name, arguments)
